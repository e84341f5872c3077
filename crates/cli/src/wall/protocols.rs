//! `sluss wall protocols`: the names that rules and reports can have.

use crate::args::ProtocolsArgs;
use crate::exit::{Failure, Outcome};
use crate::table::{Column, Table};
use crate::terminal::{columns, print};
use dpi::Protocol;
use dpi::protocol::Naming;
use serde_json::json;

/// Prints them, sorted by name.
pub(crate) fn run(args: &ProtocolsArgs) -> Result<Outcome, Failure> {
    if args.risks {
        return risks(args);
    }
    let mut protocols: Vec<Protocol> = Protocol::all()
        .filter(|protocol| *protocol != Protocol::UNKNOWN && is_asked_for(*protocol, args))
        .collect();
    protocols.sort_unstable_by_key(|protocol| protocol.name(Naming::Ndpi).to_ascii_lowercase());
    if protocols.is_empty() {
        return Ok(Outcome::NothingMatched);
    }
    if args.json {
        protocols.iter().try_for_each(|protocol| print(&object(*protocol)))?;
        return Ok(Outcome::Done);
    }
    let titles = [("protocol", 0), ("SnabbWall", 2), ("category", 1), ("tier", 3), ("also called", 4)];
    let mut table = Table::new(titles.map(|(title, rank)| Column::left(title, 0, rank)).into()).with_gap(2);
    for protocol in protocols {
        table.push(vec![
            protocol.name(Naming::Ndpi).to_owned(),
            protocol.name(Naming::Snabbwall).to_owned(),
            protocol.category().to_owned(),
            protocol.tier().to_string(),
            aliases(protocol).join(", "),
        ]);
    }
    let width = columns(std::io::stdout());
    print(&width.map_or_else(|| table.text(), |width| table.text_within(width)))?;
    Ok(Outcome::Done)
}

/// Prints risks, in the order of nDPI's numbers.
fn risks(args: &ProtocolsArgs) -> Result<Outcome, Failure> {
    let wanted = args.text.as_ref().map(|text| text.to_uppercase()).unwrap_or_default();
    let mut risks = dpi::risk::all().filter(|(name, _)| name.contains(&wanted)).peekable();
    if risks.peek().is_none() {
        return Ok(Outcome::NothingMatched);
    }
    if args.json {
        for (name, alias) in risks {
            let aliases: Vec<&str> = alias.into_iter().collect();
            print(&format!("{}\n", json!({ "v": 1, "type": "risk", "name": name, "aliases": aliases })))?;
        }
        return Ok(Outcome::Done);
    }
    let mut table =
        Table::new(vec![Column::left("risk", 0, 0), Column::left("also called", 0, 1)]).with_gap(2);
    risks.for_each(|(name, alias)| table.push(vec![name.to_owned(), alias.unwrap_or_default().to_owned()]));
    print(&table.text())?;
    Ok(Outcome::Done)
}

/// Names that neither nDPI 4.2 nor SnabbWall uses.
fn aliases(protocol: Protocol) -> Vec<&'static str> {
    let snabbwall = protocol.name(Naming::Snabbwall);
    protocol.aliases().filter(|alias| *alias != snabbwall).collect()
}

fn is_asked_for(protocol: Protocol, args: &ProtocolsArgs) -> bool {
    let Some(text) = args.text.as_ref().map(|text| text.to_lowercase()) else { return true };
    let names = [protocol.name(Naming::Ndpi), protocol.name(Naming::Snabbwall), protocol.category()];
    names.into_iter().chain(protocol.aliases()).any(|name| name.to_lowercase().contains(&text))
}

fn object(protocol: Protocol) -> String {
    let object = json!({
        "v": 1,
        "type": "protocol",
        "name": protocol.name(Naming::Ndpi),
        "snabbwall": protocol.name(Naming::Snabbwall),
        "aliases": aliases(protocol),
        "category": protocol.category(),
        "tier": protocol.tier(),
    });
    format!("{object}\n")
}
