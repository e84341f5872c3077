//! Arguments of EAL: those that are ours to set, and those that a user may add.

use engine::OptionError;

/// Those that sluss sets itself, for reasons of its own, and what else would contradict them.
const OURS: [&str; 22] = [
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
    "-r",
    "-s",
    "-S",
    "-h",
    "-v",
];

/// Whether an argument has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Never,
    /// It may, and only behind `=`.
    Behind,
    Always,
}

/// Those that EAL has besides, in 22.11: an unknown one would make it print its help.
const KNOWN: [(&str, Value); 28] = [
    ("--base-virtaddr", Value::Always),
    ("--block", Value::Always),
    ("--create-uio-dev", Value::Never),
    ("--file-prefix", Value::Always),
    ("--force-max-simd-bitwidth", Value::Always),
    ("--huge-dir", Value::Always),
    ("--huge-worker-stack", Value::Behind),
    ("--iova-mode", Value::Always),
    ("--legacy-mem", Value::Never),
    ("--match-allocations", Value::Never),
    ("--mbuf-pool-ops-name", Value::Always),
    ("--no-hpet", Value::Never),
    ("--no-huge", Value::Never),
    ("--single-file-segments", Value::Never),
    ("--socket-limit", Value::Always),
    ("--socket-mem", Value::Always),
    ("--syslog", Value::Always),
    ("--trace", Value::Always),
    ("--trace-bufsz", Value::Always),
    ("--trace-dir", Value::Always),
    ("--trace-mode", Value::Always),
    ("--vdev", Value::Always),
    ("--vfio-intr", Value::Always),
    ("--vfio-vf-token", Value::Always),
    ("--vmware-tsc-map", Value::Never),
    ("-b", Value::Always),
    ("-d", Value::Always),
    ("-n", Value::Always),
];

/// What is known of an argument by its name.
fn value_of(name: &str) -> Option<Value> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

/// Whether a user may add these. A value stands behind `=`, or in an argument of its own; that of a name of one letter always does.
pub(super) fn check(arguments: &[String]) -> Result<(), OptionError> {
    OptionError::all(arguments.iter().enumerate().map(|(index, argument)| {
        let (name, has_value) =
            argument.split_once('=').map_or((argument.as_str(), false), |(name, _)| (name, true));
        let refused = |why: String| Err(OptionError::new(&format!("eal[{index}]"), why));
        if argument.contains('\0') {
            return refused("has a zero in it".to_owned());
        }
        if !argument.starts_with('-') {
            // A name that is wrong has been told of, and what may be its value need not be.
            let has_name =
                index.checked_sub(1).map(|before| arguments[before].as_str()).is_some_and(|before| {
                    before.starts_with('-')
                        && !before.contains('=')
                        && value_of(before).is_none_or(|value| value == Value::Always)
                });
            return if has_name { Ok(()) } else { refused(format!("`{argument}` is no argument of EAL")) };
        }
        if OURS.contains(&name) {
            return refused(format!("`{name}` is set by sluss itself: leave it out"));
        }
        match value_of(name) {
            None => {
                let known = KNOWN.map(|(name, _)| name).join("`, `");
                refused(format!("`{name}` is no argument of EAL; there are `{known}`"))
            }
            Some(Value::Never) if has_value => refused(format!("`{name}` has no value")),
            Some(Value::Always) if has_value && !name.starts_with("--") => {
                refused(format!("the value of `{name}` is an argument of its own, without `=`"))
            }
            Some(Value::Always)
                if !has_value && arguments.get(index + 1).is_none_or(|next| next.starts_with('-')) =>
            {
                refused(format!("`{name}` needs a value"))
            }
            Some(_) => Ok(()),
        }
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
        assert_eq!(check(&["--no-huge=1", "-r", "2", "-n"]), wrong(&["eal[0]", "eal[1]", "eal[3]"]));
        assert_eq!(check(&["-n", "--no-huge", "1", "-n=4"]), wrong(&["eal[0]", "eal[2]", "eal[3]"]));
    }
}
