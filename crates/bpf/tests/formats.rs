//! Programs are read back as they were written, and listings are libpcap's.

use bpf::{Format, Insn, Program, op, read};
use testkit::oracle;
use testkit::programs::{random_insn, random_program};
use testkit::rng::Rng;

#[test]
fn every_format_is_read_back() {
    let mut rng = Rng::new(1);
    for _ in 0..500 {
        let program = Program::from(random_program(&mut rng));
        for format in Format::ALL {
            let written = program.write(format);
            assert_eq!(read(&written).as_ref(), Ok(&program), "{}", String::from_utf8_lossy(&written));
        }
    }
}

#[test]
fn listings_are_those_of_libpcap() {
    let Some(pcap) = oracle::libpcap("the test of listings") else { return };
    let mut rng = Rng::new(2);
    for number in 0..20_000 {
        let mut insn = random_insn(&mut rng);
        // What is no instruction is written in another way, and libpcap does not know `ldx #pktlen`.
        let decodes = Program::from(vec![insn]).check(bpf::Validate::Kernel);
        if decodes.is_err_and(|error| error.to_string().ends_with("is no instruction"))
            || insn.code == op::LDX | op::LEN
        {
            continue;
        }
        insn.k &= 0x7fff_ffff | u32::from(insn.k >= 0xffff_f000) << 31;
        let ours =
            Program::from(vec![Insn::default(); number % 20].into_iter().chain([insn]).collect::<Vec<_>>());
        let listing = String::from_utf8(ours.write(Format::Listing)).unwrap();
        assert_eq!(
            listing.lines().last().unwrap().trim_end(),
            pcap.image(insn, number % 20).trim_end(),
            "{insn:x?}"
        );
    }
}

#[test]
fn arrays_of_c_may_have_names_and_comments() {
    let text = "/* tcpdump -dd ip */\nstruct sock_filter code[] = {\n\t{ 0x28, 0, 0, 0x0000000c },\n\t{ 0x15, 0, 1, 0x00000800U, },\n\
                { 0x6, 0, 0, 0x00040000 }, { 0x6, 0, 0, 0x00000000 }\n};\n";
    assert_eq!(read(text.as_bytes()), read(b"4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0"));
}

#[test]
fn a_comment_in_an_array_may_be_in_any_language() {
    let text = "/* pour l\u{2019}Ethernet \u{2014} \u{e9}t\u{e9} */ { 6, 0, 0, 1 },";
    assert_eq!(read(text.as_bytes()), read(b"1,6 0 0 1"));
}

/// The line of each instruction is not counted from the beginning.
#[test]
fn long_programs_are_read_in_time_that_grows_with_their_length() {
    let begin = std::time::Instant::now();
    let insns = vec![Insn { code: 40, jt: 0, jf: 0, k: 12 }; 200_000];
    let program = Program::from(insns);
    for format in Format::ALL {
        assert_eq!(read(&program.write(format)).as_ref(), Ok(&program), "{format}");
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn mistakes_have_their_line() {
    for (text, told) in [
        ("", "the program is empty"),
        ("tcp port 80", "line 1: `tcp` begins no program"),
        ("2\n40 0 0 12\n", "1 instructions, of 2 that the program announces"),
        ("1\n40 0 12\n", "line 2: `40 0 12` are not four numbers: code, jt, jf and k"),
        ("1\n\n40 0 256 12\n", "line 3: `256` is no number from 0 to 255"),
        ("many,6 0 0 0", "line 1: `many` begins no program"),
        ("1;6 0 0 0", "line 1: `1;6 0 0 0` is no number of instructions, with which a program begins"),
        ("{ 6, 0, 0 },", "line 1: `{ 6, 0, 0 }` has not four numbers: code, jt, jf and k"),
        ("int x[] = {};", "line 1: `{}` has not four numbers: code, jt, jf and k"),
        (
            "(000) ldh [12]\n(002) ret #0\n",
            "line 2: this is instruction 1, not 002: a line is missing or twice there",
        ),
        ("(000) ldh [12\n", "line 1: `ldh` has no such operand as `[12`"),
        ("(000) ja 4294967298\n", "line 1: `ja` has no such operand as `4294967298`"),
        ("1,6 0 0 0x+5", "line 1: `0x+5` is no number from 0 to 4294967295"),
        ("(000) jeq #0x1 jt 1\n", "line 1: a test ends with `jt` and `jf`, and an instruction behind each"),
        (
            "(000) jeq #0x1 jt 0 jf 1\n",
            "line 1: a test cannot lead to instruction 0, but to the 256 behind it",
        ),
        ("\u{1}\u{2}\u{3}", "3 bytes that are no text are no raw program: struct sock_filter has 8 bytes"),
    ] {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), told, "{text:?}");
    }
}
