//! The last word of the system about a file that was written.

use std::fs::File;
use std::io;

/// Asks what close(2) says of a file, which stays open: a file system may write, and find its disk or quota full, only when a descriptor is
/// closed. Linux asks it at each close of a duplicate, so that one is made and closed.
///
/// ```
/// let file = std::fs::File::create(std::env::temp_dir().join("sluss-close-example"))?;
/// capture::close(&file)?;
/// # std::fs::remove_file(std::env::temp_dir().join("sluss-close-example"))?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of close(2), or if the process has no descriptor left.
#[cfg(unix)]
pub fn close(file: &File) -> io::Result<()> {
    Ok(nix::unistd::close(file.try_clone()?)?)
}

#[cfg(not(unix))]
pub fn close(_: &File) -> io::Result<()> {
    Ok(())
}
