//! Filters that name files of sets: options are others once a file has changed.

use apps::{Filter, Match};
use engine::Class;
use std::fs;
use std::path::PathBuf;

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_changed_file_makes_another_filter() {
    let path = file("filter-set", "10.0.0.1\n");
    let text = format!("src host in {{@{}}}", path.display());
    let old = Filter::new(text.as_str());
    drop(old.review().unwrap());
    assert_eq!(old, Filter::new(text.as_str()));
    fs::write(&path, "10.0.0.1\n10.0.0.2\n").unwrap();
    assert_ne!(old, Filter::new(text.as_str()), "the file has changed");
    let new = Filter::new(text.as_str());
    drop(new.review().unwrap());
    assert_eq!(new, Filter::new(text.as_str()));
    fs::remove_file(&path).unwrap();
    assert_ne!(new, Filter::new(text.as_str()), "there is no file any more");
}

#[test]
fn the_same_of_lists_and_programs() {
    let path = file("match-set", "10.0.0.1\n");
    let filter = format!("src host in {{@{}}}", path.display());
    let program = format!("match {{ {filter} => a }}");
    let options = || [Match::new([("a", filter.as_str())]), Match::program(&program)];
    let old = options();
    old.iter().for_each(|options| drop(options.review().unwrap()));
    assert_eq!(old, options());
    fs::write(&path, "10.0.0.1\n10.0.0.2\n").unwrap();
    let new = options();
    assert!(old[0] != new[0] && old[1] != new[1]);
}
