//! Protocols of text.

use crate::case::Case;
use dpi::Protocol;

pub(crate) fn cases() -> Vec<Case> {
    [http(), over_http(), mail(), files(), sessions(), chats()].into_iter().flatten().collect()
}

fn http() -> Vec<Case> {
    let http = |name| Case::tcp(name, Protocol::HTTP, 80);
    vec![
        http("http-get").client("GET / HTTP/1.1\r\nHost: WWW.Example.Org\r\nAccept: */*\r\n\r\n").sni("www.example.org"),
        http("http-host-with-port").client("GET /a HTTP/1.1\r\nHost: example.org:8080\r\n\r\n").sni("example.org"),
        http("http-host-ipv6").client("GET /a HTTP/1.1\r\nhost:[2001:db8::1]:8080\r\n\r\n").sni("[2001:db8::1]"),
        http("http-1.0-without-host").client("HEAD /index HTTP/1.0\r\n\r\n"),
        http("http-line-feeds").client("GET / HTTP/1.0\nHost: a.example\n\n").sni("a.example"),
        http("http-absolute").client("GET http://b.example/x HTTP/1.0\r\n\r\n").sni("b.example"),
        http("http-absolute-with-another-host")
            .client("GET HTTP://B.example:8080?q=/ HTTP/1.1\r\nHost: good.example\r\n\r\n")
            .sni("b.example"),
        http("http-absolute-with-user")
            .client("GET http://good.example:1@b.example/x@y HTTP/1.1\r\nHost: good.example\r\n\r\n")
            .sni("b.example"),
        http("http-absolute-without-host").client("GET http:///x HTTP/1.1\r\nHost: c.example\r\n\r\n").sni("c.example"),
        http("http-unusual-method")
            .client("PROPFIND /dav HTTP/1.1\r\nHost: c.example\r\nDepth: 1\r\n\r\n")
            .sni("c.example"),
        http("http-post-with-body")
            .client(b"POST /f HTTP/1.1\r\nHost: d.example\r\nContent-Length: 4\r\n\r\n\0\x01\xff\n")
            .sni("d.example"),
        http("http-two-packets")
            .client("GET /long HTTP/1.1\r\nUser-Agent: x\r\n")
            .client("Host: e.example\r\n\r\n")
            .sni("e.example"),
        http("http-response-before-headers-end")
            .client("GET / HTTP/1.1\r\nHost: f.example\r\nX: ")
            .server("HTTP/1.1 400 Bad Request\r\n\r\n")
            .sni("f.example"),
        http("http-response-alone").server("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"),
        http("http-names-of-others")
            .client("GET /SSH-2.0-x?SIP/2.0=RTSP/1.0 HTTP/1.1\r\nHost: 220.ftp.smtp\r\nUser-Agent: \x13BitTorrent protocol\r\n\r\n")
            .sni("220.ftp.smtp"),
        Case::tcp("http2-preface", Protocol::HTTP2, 80)
            .client(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"),
    ]
}

fn over_http() -> Vec<Case> {
    vec![
        Case::tcp("ipp", Protocol::IPP, 631)
            .client("POST /printers/lp HTTP/1.1\r\nHost: printer:631\r\nContent-Type: application/ipp\r\n\r\n\x01\x01\0\x0b")
            .sni("printer"),
        Case::tcp("ipp-response", Protocol::IPP, 631)
            .server("HTTP/1.1 200 OK\r\nContent-Type: application/IPP; x=y\r\n\r\n")
            ,
        Case::tcp("http-on-ipps-port", Protocol::HTTP, 631)
            .client("GET /admin HTTP/1.1\r\nHost: printer\r\n\r\n")
            .sni("printer"),
        Case::tcp("http-connect", Protocol::HTTP_CONNECT, 3128)
            .client("CONNECT g.example:443 HTTP/1.1\r\nProxy-Connection: x\r\n\r\n")
            .over(Protocol::HTTP)
            .sni("g.example"),
        Case::tcp("http-connect-with-another-host", Protocol::HTTP_CONNECT, 3128)
            .client("CONNECT g.example:443 HTTP/1.1\r\nHost: good.example\r\n\r\n")
            .over(Protocol::HTTP)
            .sni("g.example"),
        Case::tcp("bittorrent-tracker", Protocol::BITTORRENT, 6969)
            .client("GET /announce?info_hash=%01%02&port=1 HTTP/1.1\r\nHost: tracker.example\r\n\r\n")
            .over(Protocol::HTTP)
            .sni("tracker.example"),
    ]
}

fn mail() -> Vec<Case> {
    let smtp = |name| Case::tcp(name, Protocol::SMTP, 25);
    let pop3 = |name| Case::tcp(name, Protocol::POP3, 110);
    let imap = |name| Case::tcp(name, Protocol::IMAP, 143);
    vec![
        smtp("smtp").server("220 mx.example.org ESMTP Postfix\r\n").client("EHLO client.example\r\n"),
        smtp("smtp-says-it-is-ftp").server("220 vsFTPd 3.0 FTP server\r\n").client("HELO client\r\n"),
        smtp("smtp-many-lines").server("220-mx says\r\n220 hello\r\n").client("ehlo [192.0.2.1]\r\n"),
        smtp("smtp-without-greeting").client("EHLO client.example\r\n"),
        smtp("smtp-client-first-seen").client("MAIL FROM:<a@b.example>\r\n").server("250 Ok\r\n"),
        smtp("smtp-greeting-alone").server("220 mx.example.org ESMTP\r\n"),
        pop3("pop3").server("+OK ready\r\n").client("CAPA\r\n"),
        pop3("pop3-user").server("+OK <1.2@host>\r\n").client("USER bob\r\n"),
        pop3("pop3-user-first").client("USER bob\r\n").server("+OK\r\n"),
        pop3("pop3-greeting-alone").server("+OK POP3 server ready\r\n"),
        imap("imap").server("* OK [CAPABILITY IMAP4rev1] ready\r\n").client("a001 CAPABILITY\r\n"),
        imap("imap-login").server("* OK hello\r\n").client("1 LOGIN bob secret\r\n"),
        imap("imap-without-greeting").client("A1.x noop\r\n").server("A1.x OK done\r\n"),
        imap("imap-capabilities").client("x capability\r\n").server("* CAPABILITY IMAP4rev1 IDLE\r\n"),
    ]
}

fn files() -> Vec<Case> {
    let ftp = |name| Case::tcp(name, Protocol::FTP_CONTROL, 21);
    let ssh = |name| Case::tcp(name, Protocol::SSH, 22);
    vec![
        ftp("ftp").server("220 ProFTPD Server\r\n").client("USER anonymous\r\n"),
        ftp("ftp-says-it-is-smtp").server("220 mx.example ESMTP\r\n").client("USER bob\r\n"),
        ftp("ftp-tls").server("220-Welcome\r\n220 x\r\n").client("AUTH TLS\r\n"),
        ftp("ftp-without-greeting").client("USER bob\r\n").server("331 Password\r\n"),
        ftp("ftp-greeting-alone").server("220 Microsoft FTP Service\r\n"),
        ssh("ssh").server("SSH-2.0-OpenSSH_9.2p1\r\n").client("SSH-2.0-PuTTY\r\n"),
        ssh("ssh-1.99").client("SSH-1.99-Cisco-1.25\n"),
        ssh("ssh-says-it-is-http").client("SSH-2.0-GET / HTTP/1.1\r\n"),
    ]
}

fn sessions() -> Vec<Case> {
    let rtsp = |name| Case::tcp(name, Protocol::RTSP, 554);
    let invite = "INVITE sip:bob@example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n\r\n";
    let ringing = "SIP/2.0 180 Ringing\r\nCall-ID: 1\r\n\r\n";
    vec![
        rtsp("rtsp").client("OPTIONS rtsp://h.example/stream RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
        rtsp("rtsp-2").client("DESCRIBE rtsp://h.example/stream RTSP/2.0\r\nCSeq: 1\r\n\r\n"),
        rtsp("rtsp-response").server("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"),
        rtsp("rtsp-any-options").client("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
        Case::udp("sip", Protocol::SIP, 5060).client(invite).server(ringing),
        Case::udp("sip-behind-keep-alives", Protocol::SIP, 5060)
            .client("\r\n\r\n")
            .client([0; 4])
            .client(invite),
        Case::udp("sip-response", Protocol::SIP, 5060).server(ringing),
        Case::udp("sip-custom-method", Protocol::SIP, 5060).client("FOO-bar sip:x@y SIP/2.0\r\n\r\n"),
        Case::tcp("sip-tcp", Protocol::SIP, 5060).client(invite),
        Case::tcp("telnet", Protocol::TELNET, 23).server(b"\xff\xfd\x18\xff\xfd\x20\xff\xfd\x23"),
        Case::tcp("telnet-one-each", Protocol::TELNET, 23).server(b"\xff\xfd\x25").client(b"\xff\xfb\x25"),
        Case::tcp("telnet-with-login", Protocol::TELNET, 23).server(b"\xff\xfb\x01\xff\xfb\x03login: "),
    ]
}

fn chats() -> Vec<Case> {
    let irc = |name| Case::tcp(name, Protocol::IRC, 6667);
    vec![
        irc("irc").client("NICK bob\r\nUSER bob 0 * :Bob\r\n"),
        irc("irc-two-packets").client("PASS secret\r\nNICK bob\r\n").client("USER bob 0 * :Bob\r\n"),
        irc("irc-capabilities")
            .client("CAP LS 302\r\n")
            .server(":irc.example.org CAP * LS :sasl\r\n:irc.example.org NOTICE * :x\r\n"),
        irc("irc-server-first")
            .server("NOTICE AUTH :*** Looking up your hostname\r\n")
            .client("NICK bob\r\n"),
        irc("irc-midstream").client("ISON bob\r\n").server(":irc.example.org 303 bob :\r\n"),
        irc("irc-users").server(":bob!b@host.example PRIVMSG #sluss :hello\r\n"),
        Case::tcp("teamspeak-3-query", Protocol::TEAMSPEAK, 10_011)
            .server("TS3\n\rWelcome to the TeamSpeak 3 ServerQuery interface"),
    ]
}
