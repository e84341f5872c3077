//! Arguments of EAL: those that are ours to set, and those that a user may add.

use engine::OptionError;

/// Those that sluss sets itself, for reasons of its own, and what else would contradict them.
const OURS: [&str; 19] = [
    "--allow",
    "--in-memory",
    "--lcores",
    "--log-level",
    "--main-lcore",
    "--no-pci",
    "--no-shconf",
    "--no-telemetry",
    "--proc-type",
    "--huge-unlink",
    "--telemetry",
    "--help",
    "--version",
    "-a",
    "-c",
    "-l",
    "-m",
    "-h",
    "-v",
];

/// Those that EAL has besides, in 22.11: an unknown one would make it print its help.
const KNOWN: [&str; 28] = [
    "--base-virtaddr",
    "--block",
    "--create-uio-dev",
    "--file-prefix",
    "--force-max-simd-bitwidth",
    "--huge-dir",
    "--huge-worker-stack",
    "--iova-mode",
    "--legacy-mem",
    "--match-allocations",
    "--mbuf-pool-ops-name",
    "--no-hpet",
    "--no-huge",
    "--single-file-segments",
    "--socket-limit",
    "--socket-mem",
    "--syslog",
    "--trace",
    "--trace-bufsz",
    "--trace-dir",
    "--trace-mode",
    "--vdev",
    "--vfio-intr",
    "--vfio-vf-token",
    "--vmware-tsc-map",
    "-b",
    "-d",
    "-n",
];

/// Whether a user may add these. A value stands behind `=`, or in an argument of its own.
pub(super) fn check(arguments: &[String]) -> Result<(), OptionError> {
    OptionError::all(arguments.iter().enumerate().map(|(index, argument)| {
        let name = argument.split('=').next().unwrap_or_default();
        let refused = |why: String| Err(OptionError::new(&format!("eal[{index}]"), why));
        if argument.contains('\0') {
            return refused("has a zero in it".to_owned());
        }
        if !argument.starts_with('-') {
            let has_name = index.checked_sub(1).is_some_and(|before| arguments[before].starts_with('-'));
            return if has_name { Ok(()) } else { refused(format!("`{argument}` is no argument of EAL")) };
        }
        if OURS.contains(&name) {
            return refused(format!("`{name}` is set by sluss itself: leave it out"));
        }
        if KNOWN.contains(&name) {
            return Ok(());
        }
        refused(format!("`{name}` is no argument of EAL; there are `{}`", KNOWN.join("`, `")))
    }))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn arguments_that_are_ours_or_nobodys_are_refused() {
        let check = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
            check(&arguments)
                .map_err(|error| error.each().map(|error| error.option.clone()).collect::<Vec<_>>())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["--iova-mode=va", "-n", "4", "--file-prefix", "mine"]), Ok(()));
        let wrong = |places: &[&str]| Err(places.iter().map(|&place| Some(place.into())).collect::<Vec<_>>());
        assert_eq!(check(&["--in-memory", "-n", "4", "--lcores=0"]), wrong(&["eal[0]", "eal[3]"]));
        assert_eq!(check(&["va", "--nonsense", "a\0"]), wrong(&["eal[0]", "eal[1]", "eal[2]"]));
    }
}
