fn main() {
    for text in std::env::args().skip(1) {
        let mut dialect = pflang::Dialect::default();
        if std::env::var("MODERN").is_ok() {
            dialect = pflang::Dialect::MODERN;
        }
        match pflang::Compiler::new(wire::LinkType::EN10MB).dialect(dialect).stages(&text) {
            Ok(s) => {
                println!("{}", pflang::lower::print::tree(&s.lowered, &text));
                for l in &s.lowered.lints {
                    println!("{}: {} {:?} {:?}", l.code.name(), l.message, l.span, l.help);
                }
            }
            Err(e) => println!("{:?}", e.diagnostic),
        }
    }
}
