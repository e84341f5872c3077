//! TLS over TCP.

use crate::case::Case;
use dpi::Protocol;

/// Cipher suites of the example in JA4's specification, in the order of the client, with a value of GREASE.
const CIPHERS: [u16; 16] = [
    0x3a3a, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x009c,
    0x009d, 0x002f, 0x0035,
];
/// Its extensions, in their order.
const EXTENSIONS: [u16; 18] = [
    0xdada, 0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x0017, 0x002d, 0x000d, 0x0005, 0x0023, 0x0012, 0x002b,
    0xff01, 0x000b, 0x000a, 0x0015, 0x0a0a,
];
const SIGNATURES: [u16; 8] = [0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601];

/// Bytes behind their length in one, two or three bytes.
fn vector(width: usize, bytes: &[u8]) -> Vec<u8> {
    [&bytes.len().to_be_bytes()[8 - width..], bytes].concat()
}

fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn extension(kind: u16, value: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), vector(2, value)].concat()
}

fn server_name(name: &str) -> Vec<u8> {
    extension(0, &vector(2, &[vec![0], vector(2, name.as_bytes())].concat()))
}

fn alpn(names: &[&[u8]]) -> Vec<u8> {
    extension(16, &vector(2, &names.iter().flat_map(|name| vector(1, name)).collect::<Vec<u8>>()))
}

fn hello(version: u16, ciphers: &[u16], extensions: Option<&[u8]>) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    body.extend([7; 32]);
    body.extend(vector(1, &[9; 32]));
    body.extend(vector(2, &numbers(ciphers)));
    body.extend([1, 0]);
    body.extend(extensions.map(|extensions| vector(2, extensions)).unwrap_or_default());
    [vec![1], vector(3, &body)].concat()
}

/// Handshake bytes in records of this size at most.
fn records(handshake: &[u8], size: usize) -> Vec<u8> {
    handshake.chunks(size).flat_map(|chunk| [vec![22, 3, 1], vector(2, chunk)].concat()).collect()
}

/// The hello of the specification's example.
fn example(name: &str, inside: &[&[u8]]) -> Vec<u8> {
    let extensions: Vec<u8> = EXTENSIONS
        .iter()
        .flat_map(|&kind| match kind {
            0x0000 => server_name(name),
            0x0010 => alpn(inside),
            0x000d => extension(kind, &vector(2, &numbers(&SIGNATURES))),
            0x002b => extension(kind, &vector(1, &numbers(&[0x6a6a, 0x0304, 0x0303]))),
            _ => extension(kind, &[0; 3]),
        })
        .collect();
    hello(0x0303, &CIPHERS, Some(&extensions))
}

pub(crate) fn cases() -> Vec<Case> {
    let tls = |name| Case::tcp(name, Protocol::TLS, 443);
    let chrome = example("WWW.Example.com", &[b"h2", b"http/1.1"]);
    let padded = |len: usize| {
        let extensions = [server_name("large.example"), extension(21, &vec![0; len])].concat();
        hello(0x0303, &[0x1301], Some(&extensions))
    };
    let server = {
        let body =
            [&[3, 3][..], &[5; 32], &[0], &[0xc0, 0x2f], &[0], &vector(2, &extension(0xff01, &[0]))].concat();
        records(&[vec![2], vector(3, &body)].concat(), 16_384)
    };
    vec![
        tls("tls-specification-of-ja4")
            .client(records(&chrome, 16_384))
            .sni("www.example.com")
            .alpn("h2")
            .ja4("t13d1516h2_8daaf6152771_e5627efa2ab1"),
        tls("tls-in-small-records").client(records(&chrome, 50)).sni("www.example.com").alpn("h2"),
        tls("tls-record-of-one-byte-first")
            .client([&records(&chrome[..1], 1)[..], &records(&chrome[1..], 400)].concat())
            .sni("www.example.com")
            .alpn("h2"),
        tls("tls-two-packets")
            .client(&records(&padded(1800), 16_384)[..1460])
            .client(&records(&padded(1800), 16_384)[1460..])
            .sni("large.example"),
        // The largest hello: 16 KiB, in two records as none takes more.
        tls("tls-largest").client(records(&padded(16_384 + 4 - 105), 16_384)).sni("large.example"),
        tls("tls-name-of-another-protocol")
            .client(records(&example("ssh-2.0-bittorrent", &[b"http/1.1"]), 16_384))
            .sni("ssh-2.0-bittorrent")
            .alpn("http/1.1")
            .ja4("t13d1516h1_8daaf6152771_e5627efa2ab1"),
        tls("tls-1.0-without-extensions")
            .client(records(&hello(0x0301, &[0x002f, 0x0035, 0x00ff], None), 16_384))
            // Hashed by another program: `002f,0035,00ff`.
            .ja4("t10i030000_03e80547d04c_000000000000"),
        tls("tls-followed-by-data")
            .client([records(&chrome, 16_384), vec![23, 3, 3, 0, 1, 9]].concat())
            .sni("www.example.com")
            .alpn("h2"),
        tls("tls-hello-with-a-part-lost")
            .client(&records(&padded(1800), 16_384)[..1460])
            .server(&server)
            .sni("large.example"),
        tls("tls-hello-whose-extensions-do-not-end")
            .client(records(
                &hello(0x0303, &[0x1301], Some(&[server_name("odd.example"), vec![0, 21, 0, 9, 1]].concat())),
                16_384,
            ))
            .sni("odd.example"),
        tls("tls-data-midstream").client([&[23, 3, 3, 0, 41][..], &[0xa5; 41]].concat()),
        tls("tls-records-midstream")
            .server([&[20, 3, 3, 0, 1, 1, 23, 3, 3, 4, 0][..], &[0xa5; 900]].concat()),
        tls("tls-alert-midstream").server([&[21, 3, 3, 0, 26][..], &[0xa5; 26]].concat()),
        tls("tls-server-first").server(&server),
        tls("tls-server-hello-and-more").server([&server[..], &[22, 3, 3, 0, 4, 14, 0, 0, 0]].concat()),
    ]
}
