//! The names of this system, for filters: its files first, the resolver only when asked for.

use crate::shared::set_changes;
use classify::lists::text_of;
use pflang::{FileNames, HostAddrs, Names, Service};
use std::collections::HashMap;
use std::io::{self, Read};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Mutex, OnceLock, PoisonError};

/// So much of a set file is read: a device has no end, and the compiler refuses more than 64 MiB.
const SET_FILE_MAX: u64 = 64 << 20;

/// hosts(5), networks(5), ethers(5), services(5), protocols(5); read when the first name is asked for.
#[derive(Debug)]
pub struct SystemNames {
    files: OnceLock<FileNames>,
    resolve: bool,
    /// What the resolver answered: a filter is looked at more than once, and the resolver may take long.
    answers: Mutex<HashMap<String, Result<HostAddrs, String>>>,
    /// The texts of set files, for the same reason: a pipe can be read once.
    set_files: Mutex<HashMap<String, String>>,
}

impl SystemNames {
    /// With `resolve`, hosts that the files do not know are asked of the system's resolver.
    pub fn new(resolve: bool) -> Self {
        SystemNames {
            files: OnceLock::new(),
            resolve,
            answers: Mutex::default(),
            set_files: Mutex::default(),
        }
    }

    /// Asks the resolver once, and keeps its answer, or its reason if it has none.
    fn resolved(&self, name: &str) -> Option<HostAddrs> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = || {
            resolved(name).map_err(|error| {
                let error = error.to_string();
                let answer = error.strip_prefix("failed to lookup address information: ").unwrap_or(&error);
                format!("the lookup failed: {answer}")
            })
        };
        answers.entry(name.to_owned()).or_insert_with(ask).clone().ok()
    }

    fn files(&self) -> &FileNames {
        // A file that is absent or unreadable knows no names, as for the C library.
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        self.files.get_or_init(|| {
            FileNames::new()
                .hosts(&read("/etc/hosts"))
                .networks(&read("/etc/networks"))
                .ethers(&read("/etc/ethers"))
                .services(&read("/etc/services"))
                .protocols(&read("/etc/protocols"))
        })
    }
}

impl Names for SystemNames {
    fn host(&self, name: &str) -> Option<HostAddrs> {
        self.files().host(name).or_else(|| if self.resolve { self.resolved(name) } else { None })
    }

    fn why_no_host(&self, name: &str) -> Option<String> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(name)?.clone().err()
    }

    fn net(&self, name: &str) -> Option<u32> {
        self.files().net(name)
    }

    fn ether(&self, name: &str) -> Option<[u8; 6]> {
        self.files().ether(name)
    }

    fn service(&self, name: &str) -> Option<Service> {
        self.files().service(name)
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        self.files().protocol(name)
    }

    fn set_file(&self, path: &str) -> Result<String, String> {
        let mut read = self.set_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = read.get(path) {
            return Ok(text.clone());
        }
        let bytes = text_of(path, |path| {
            let mut bytes = Vec::new();
            std::fs::File::open(path)
                .and_then(|file| file.take(SET_FILE_MAX + 1).read_to_end(&mut bytes))
                .map_err(|error| format!("cannot read `{path}`: {error}"))?;
            Ok(bytes)
        })?;
        // What is not UTF-8 is no entry, and told as any other that is wrong, with its line.
        let text = set_changes::applied(path, String::from_utf8_lossy(&bytes).into_owned())?;
        read.insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

fn resolved(name: &str) -> io::Result<HostAddrs> {
    let mut addresses = HostAddrs::default();
    for address in (name, 0).to_socket_addrs()? {
        match address.ip() {
            IpAddr::V4(v4) if !addresses.v4.contains(&v4) => addresses.v4.push(v4),
            IpAddr::V6(v6) if !addresses.v6.contains(&v6) => addresses.v6.push(v6),
            _ => {}
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that holds a set is read once, however often the filter is looked at.
    #[test]
    fn a_set_file_is_read_once() {
        let path = std::env::temp_dir().join(format!("sluss-set-{}", std::process::id()));
        let name = path.to_string_lossy().into_owned();
        std::fs::write(&path, "10.0.0.1\n").unwrap();
        let names = SystemNames::new(false);
        let first = names.set_file(&name);
        std::fs::remove_file(&path).unwrap();
        assert_eq!((names.set_file(&name), first.as_deref()), (first.clone(), Ok("10.0.0.1\n")));
        assert!(SystemNames::new(false).set_file(&name).is_err());
    }
}
