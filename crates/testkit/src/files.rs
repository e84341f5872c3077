//! Folders for the files of tests, which go away with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder of its own for a test. It goes away with this value, also where the test fails.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one, below the system's folder for such.
    ///
    /// # Panics
    /// If it cannot be made.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sluss-test-{}-{number}", std::process::id()));
        // A process that was killed may have left one with the same number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for tests");
        Scratch(folder)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it, which need not be there.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file in it, or in a folder below, that holds these bytes.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder for tests");
        fs::write(&path, bytes).expect("a file for tests");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
