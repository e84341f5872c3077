//! Words to inputs, inputs to one stream.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use capture::{ByteOrder, Error, ErrorKind, Input, NoFiles, Stream, expand};
use common::*;

/// A folder of its own that goes away again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("sluss-inputs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The names of what words in this folder stand for.
    fn expand(&self, words: &[&str]) -> Result<Vec<String>, Error> {
        let expansion = expand(words.iter().map(|word| self.0.join(word)))?;
        Ok(expansion.inputs.iter().map(|input| self.name(input)).collect())
    }

    fn name(&self, input: &Input) -> String {
        match input {
            Input::File(path) => path.strip_prefix(&self.0).unwrap().to_string_lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pcap(mark: u8) -> Vec<u8> {
    pcap_header(ByteOrder::Little, MICRO, (2, 4), 100, 1).u32(1).u32(0).u32(1).u32(1).raw(&[mark]).bytes
}

#[test]
fn folders_hold_captures_in_the_order_of_their_names() {
    let folder = Folder::new("order");
    for name in ["d/b", "d/a.pcap", "d/sub/2", "d/sub/1", "d/zz", "d/.hidden", "d/sub/deep/er/x"] {
        folder.file(name, &pcap(0));
    }
    assert_eq!(
        folder.expand(&["d"]).unwrap(),
        ["d/a.pcap", "d/b", "d/sub/1", "d/sub/2", "d/sub/deep/er/x", "d/zz"]
    );
}

#[test]
fn what_is_not_a_capture_in_a_folder_is_left_out_and_named() {
    let folder = Folder::new("stray");
    let others: [(&str, &[u8]); 4] = [
        ("d/README.pcap", b"no capture, whatever it is called"),
        ("d/e/hi", b"hi"),
        ("d/empty.pcap", b""),
        ("d/notes.zst", &zstd::encode_all(&b"some text"[..], 1).unwrap()),
    ];
    let captures: [(&str, &[u8]); 7] = [
        ("d/a", &pcap(0)),
        ("d/cut-in-its-header", &pcap(0)[..10]),
        ("d/cut-in-its-magic", &pcap(0)[..3]),
        ("d/damaged.zst", &zstd::encode_all(&pcap(0)[..], 1).unwrap()[..9]),
        // It may be a capture, and is not read.
        ("d/old.cap", b"snoop\0\0\0\0\0\0\x02"),
        ("d/packed.xz", b"\xfd7zXZ\0\0\x04"),
        ("d/z", &pcap(0)),
    ];
    for (name, bytes) in captures.iter().chain(&others) {
        folder.file(name, bytes);
    }
    let expansion = expand([folder.0.join("d")]).unwrap();
    assert_eq!(expansion.inputs, captures.map(|(name, _)| Input::File(folder.0.join(name))));
    assert_eq!(expansion.left_out, others.map(|(name, _)| folder.0.join(name)));
    // What is named is an input, whatever it holds.
    assert_eq!(folder.expand(&["d/e/hi", "d/R*"]).unwrap(), ["d/e/hi", "d/README.pcap"]);
}

#[test]
fn rings_of_links_end() {
    let folder = Folder::new("ring");
    folder.file("d/x", &pcap(0));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.0.join("d"), folder.0.join("d/again")).unwrap();
        std::os::unix::fs::symlink(folder.0.join("d/x"), folder.0.join("d/y")).unwrap();
        assert_eq!(folder.expand(&["d"]).unwrap(), ["d/x", "d/y"]);
    }
}

#[test]
fn patterns_match_segment_by_segment() {
    let folder = Folder::new("pattern");
    for name in
        ["a1.pcap", "a2.pcap", "b1.pcap", "x/a1.pcap", "y/a1.pcap", "y/c.pcap", ".a3.pcap", "odd[1].pcap"]
    {
        folder.file(name, &pcap(0));
    }
    for (words, expected) in [
        (&["a*.pcap"][..], &["a1.pcap", "a2.pcap"][..]),
        (&["?1.pcap", "a2.pcap"], &["a1.pcap", "b1.pcap", "a2.pcap"]),
        (&["[!a]*.pcap"], &["b1.pcap", "odd[1].pcap"]),
        (&["*/a*"], &["x/a1.pcap", "y/a1.pcap"]),
        (&["odd[1].pcap"], &["odd[1].pcap"]),
        (&[".a*"], &[".a3.pcap"]),
        (&["[xy]"], &["x/a1.pcap", "y/a1.pcap", "y/c.pcap"]),
    ] {
        assert_eq!(folder.expand(words).unwrap(), expected, "{words:?}");
    }
}

#[test]
fn two_stars_match_folders_at_any_depth() {
    let folder = Folder::new("depth");
    let files = [
        "a.pcap",
        "b.cap",
        "x/a.pcap",
        "x/y/a.pcap",
        "x/y/z/b.cap",
        "x.d/a.pcap",
        ".h/a.pcap",
        "x/.h/a.pcap",
    ];
    for name in files {
        folder.file(name, &pcap(0));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.0.join("x"), folder.0.join("x/y/ring")).unwrap();
        std::os::unix::fs::symlink(folder.0.join("x/y"), folder.0.join("link")).unwrap();
    }
    for (word, expected) in [
        ("**/a.pcap", &["a.pcap", "x/a.pcap", "x/y/a.pcap", "x.d/a.pcap"][..]),
        ("**/*.cap", &["b.cap", "x/y/z/b.cap"]),
        ("x/**/*.cap", &["x/y/z/b.cap"]),
        ("**/y/**/b*", &["x/y/z/b.cap"]),
        ("**/**/**/**/b*", &["b.cap", "x/y/z/b.cap"]),
        ("*/**/.h/*", &["x/.h/a.pcap"]),
        ("link/**/b*", &["link/z/b.cap"]),
        // A folder stands for all in it, and nothing is found twice.
        ("**/y", &["x/y/a.pcap", "x/y/z/b.cap"]),
        ("x/**", &["x/a.pcap", "x/y/a.pcap", "x/y/z/b.cap"]),
        ("x*/**/*", &["x/a.pcap", "x/y/a.pcap", "x/y/z/b.cap", "x.d/a.pcap"]),
        ("**x/a*", &["x/a.pcap"]),
        // Several folders have one above them.
        ("x/**/../a.pcap", &["x/../a.pcap", "x/y/../a.pcap", "x/y/z/../a.pcap"]),
        ("x*/../a.pcap", &["x/../a.pcap"]),
        ("x/y/**/../y", &["x/y/../y/a.pcap", "x/y/../y/z/b.cap"]),
        ("x/y/**/../**/../z/b.cap", &["x/y/../y/z/../z/b.cap"]),
    ] {
        assert_eq!(folder.expand(&[word]).unwrap(), expected, "{word}");
    }
}

/// Each `**` walks the tree once: what it finds does not multiply.
#[test]
fn many_double_stars_are_soon_done() {
    let folder = Folder::new("stars");
    folder.file(&format!("{}x", "d/".repeat(40)), &pcap(0));
    let word = format!("{}x", "**/d/".repeat(20) + "**/");
    assert_eq!(folder.expand(&[&word]).unwrap(), [format!("{}x", "d/".repeat(40))]);
}

#[test]
fn nothing_is_an_error() {
    let folder = Folder::new("nothing");
    folder.file("d/text", b"text");
    for (word, expected) in [("*.pcap", NoFiles::Pattern), ("d", NoFiles::Folder)] {
        let error = folder.expand(&[word]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoFiles(n) if *n == expected), "{error}");
        assert!(error.input().unwrap().ends_with(word));
    }
}

/// One of several words that stands for nothing costs the others nothing.
#[test]
fn the_others_are_read_where_one_word_stands_for_nothing() {
    let folder = Folder::new("others");
    folder.file("a.pcap", &pcap(1));
    folder.file("d/text", b"text");
    let words = ["d", "a.pcap", "*.cap"].map(|word| folder.0.join(word));
    let inputs = expand(&words).unwrap().inputs;
    assert_eq!(inputs, words.map(Input::File));
    assert!(inputs[1].open().is_ok());
    for (input, expected) in [(&inputs[0], NoFiles::Folder), (&inputs[2], NoFiles::Pattern)] {
        let error = input.open().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoFiles(n) if *n == expected), "{error}");
    }
}

#[test]
fn a_dash_is_standard_input_and_plain_names_are_not_looked_at() {
    let inputs = expand([Path::new("-"), Path::new("/no/such/file")]).unwrap().inputs;
    assert_eq!(inputs, [Input::Stdin, Input::File("/no/such/file".into())]);
    let error = inputs[1].open().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Open(_)));
    assert!(error.to_string().starts_with("/no/such/file: cannot open"), "{error}");
}

#[test]
fn a_stream_goes_on_behind_damage() {
    let folder = Folder::new("stream");
    let good = folder.file("1", &pcap(1));
    let damaged = folder.file("2", &pcap(2)[..40]);
    let missing = folder.0.join("3");
    let ng = folder
        .file("4", &Bytes::new(ByteOrder::Big).section().interface(113, 0).enhanced(0, 0, &[4], 1).bytes);
    let mut stream = Stream::new(expand([&good, &damaged, &missing, &ng]).unwrap().inputs);
    let (mut marks, mut errors) = (Vec::new(), Vec::new());
    loop {
        match stream.next_batch() {
            Ok(Some(batch)) => {
                marks.extend(batch.iter().map(|packet| (packet.data[0], packet.linktype.value())));
                assert!(batch.input().starts_with(folder.0.to_str().unwrap()));
            }
            Ok(None) => break,
            Err(error) => errors.push(error.to_string()),
        }
    }
    assert_eq!(marks, [(1, 1), (4, 113)]);
    assert_eq!(errors.len(), 2);
    assert!(errors[0].contains("byte 24") && errors[1].contains("cannot open"), "{errors:?}");
}

#[test]
fn an_output_that_is_an_input_is_found_out() {
    let folder = Folder::new("same");
    let path = folder.file("a", &pcap(1));
    let input = &expand([&path]).unwrap().inputs[0];
    assert!(input.is_same_file(&path));
    assert!(input.is_same_file(&folder.0.join("../").join(folder.0.file_name().unwrap()).join("a")));
    assert!(!input.is_same_file(&folder.0.join("b")));
    assert!(!input.is_same_file(&folder.file("c", &pcap(1))));
    assert!(!Input::Stdin.is_same_file(&path));
    #[cfg(unix)]
    {
        fs::hard_link(&path, folder.0.join("hard")).unwrap();
        assert!(input.is_same_file(&folder.0.join("hard")));
        assert!(!expand(["/dev/null"]).unwrap().inputs[0].is_same_file(Path::new("/dev/null")));
    }
}

/// Reads nothing that its user may not read, unlike root: this test starts itself again as `nobody`.
#[test]
#[cfg(unix)]
fn what_cannot_be_read_is_passed_over_and_named() {
    const FOLDER: &str = "SLUSS_TEST_FOLDER";
    if let Some(path) = std::env::var_os(FOLDER) {
        return look_as_nobody(Path::new(&path));
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("denied");
    for name in [
        "d/a.pcap",
        "d/lost+found/x.pcap",
        "d/sub/deep/y.pcap",
        "d/sub/z.pcap",
        "d/listed/w.pcap",
        "e/x.pcap",
    ] {
        folder.file(name, &pcap(0));
    }
    std::os::unix::fs::symlink("nowhere", folder.0.join("d/broken")).unwrap();
    std::os::unix::fs::symlink("ring", folder.0.join("d/ring")).unwrap();
    let set_mode = |name: &str, mode| {
        fs::set_permissions(folder.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    // To list a folder is another right than to look at what is in it.
    for (name, mode) in [("d/lost+found", 0o700), ("d/sub/deep", 0), ("d/listed", 0o744), ("e", 0)] {
        set_mode(name, mode);
    }
    // The program may be in a folder that others cannot reach.
    let program = folder.0.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut again = std::process::Command::new("setpriv");
    again.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    again.args(["--exact", "what_cannot_be_read_is_passed_over_and_named", "--nocapture"]);
    again.env(FOLDER, &folder.0).current_dir(&folder.0);
    let mut output = again.output();
    // Another test may have forked while the copy was written.
    for _ in 0..100 {
        let is_busy = |output: &std::process::Output| {
            String::from_utf8_lossy(&output.stderr).contains("Text file busy")
        };
        if !output.as_ref().is_ok_and(is_busy) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        output = again.output();
    }
    set_mode("d/sub/deep", 0o755);
    set_mode("e", 0o755);
    let told = match &output {
        Ok(output) => String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned(),
        Err(error) => error.to_string(),
    };
    if output.is_err() || told.contains("setpriv: ") {
        use std::io::Write;
        drop(writeln!(
            std::io::stderr(),
            "SKIPPED: folders that cannot be read: run as root, with setpriv ({told})"
        ));
        return;
    }
    assert!(output.unwrap().status.success() && told.contains("1 passed"), "{told}");
}

#[cfg(unix)]
fn look_as_nobody(folder: &Path) {
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
    let look = |words: &[&str]| {
        let expansion = expand(words.iter().map(|word| folder.join(word))).unwrap();
        let unread = expansion.unread.iter().map(|error| {
            assert!(error.to_string().ends_with("cannot open: Permission denied (os error 13)"), "{error}");
            name(error.path().unwrap())
        });
        let mut unread: Vec<String> = unread.collect();
        unread.sort();
        let inputs = expansion.inputs.iter().map(|input| match input {
            Input::File(path) => name(path),
            other => panic!("{other:?}"),
        });
        (inputs.collect::<Vec<_>>(), unread)
    };
    let expect = |words: &[&str], inputs: &[&str], unread: &[&str]| {
        assert_eq!(
            look(words),
            (inputs.iter().map(|&s| s.into()).collect(), unread.iter().map(|&s| s.into()).collect()),
            "{words:?}"
        );
    };
    let denied = ["d/listed/w.pcap", "d/lost+found", "d/sub/deep"];
    expect(&["d"], &["d/a.pcap", "d/sub/z.pcap"], &denied);
    expect(&["e"], &[], &["e"]);
    expect(&["e", "d/a.pcap"], &["d/a.pcap"], &["e"]);
    expect(&["d/*/*.pcap"], &["d/listed/w.pcap", "d/sub/z.pcap"], &["d/lost+found"]);
    expect(
        &["d/**/*.pcap"],
        &["d/a.pcap", "d/listed/w.pcap", "d/sub/z.pcap"],
        &["d/lost+found", "d/sub/deep"],
    );
    expect(&["d/*/w.pcap"], &[], &["d/listed/w.pcap", "d/lost+found/w.pcap"]);
    expect(&["e/*"], &[], &["e"]);
}
