//! Where captures are read and written: nothing that is read is lost, and nothing is written over.

use crate::exit::Failure;
use capture::Input;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What is appended to an input is read again, without end.
pub(super) fn refuse_to_append(inputs: &[Input]) -> Result<(), Failure> {
    if let Some(input) = inputs.iter().find(|input| input.is_same_file(Path::new(STDOUT))) {
        let name = match input {
            Input::File(path) => format!("the input {}", path.display()),
            _ => "what is read from standard input".to_owned(),
        };
        return Err(Failure::lost_input(format_args!("standard output is {name}")));
    }
    Ok(())
}

/// An output that is also an input would be emptied before it is read, and two filters that write to one file would
/// write over each other.
pub(super) fn refuse_to_lose(outputs: &[&Path], inputs: &[Input]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        if inputs.iter().any(|input| input.is_same_file(output)) {
            return Err(Failure::lost_input(format_args!("{} is both input and output", output.display())));
        }
        if outputs[..i].iter().any(|other| is_one_place(other, output)) {
            return Err(Failure::user(format!(
                "{} is the output of two filters: each would write over the other",
                output.display()
            ))
            .help("give each filter a file of its own, or join the filters by `or`"));
        }
    }
    Ok(())
}

/// Whether what is written there comes out of standard output.
pub(super) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || !is_device(path) && is_same(path, Path::new(STDOUT))
}

const STDOUT: &str = "/dev/stdout";

/// Whether captures written to both would be mixed up; devices such as /dev/null do not mind.
fn is_one_place(a: &Path, b: &Path) -> bool {
    if is_stdout(a) || is_stdout(b) {
        return is_stdout(a) && is_stdout(b);
    }
    !is_device(a) && (capture::place_of(a) == capture::place_of(b) || is_same(a, b))
}

fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_char_device())
}

/// Whether both are there, and are one file or pipe.
fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}
