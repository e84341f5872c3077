//! `sluss apps`: which types of apps there are, and what each does, takes and counts.
//!
//! Ports are those of the classes; everything else is the book's page about apps, which is built in. So nothing is said twice, and a test
//! holds the page to the classes.

mod page;

use crate::args::AppsArgs;
use crate::exit::{Failure, Outcome};
use crate::registry::registry;
use crate::table::{Column, Table};
use crate::terminal::{columns, print};
use engine::{ClassInfo, Ports};
use page::Section;
use serde_json::{Value, json};

/// Prints the types, or what there is to know of some.
pub(crate) fn run(args: &AppsArgs) -> Result<Outcome, Failure> {
    let registry = registry();
    let asked: Vec<&ClassInfo> = if args.types.is_empty() {
        registry.classes().collect()
    } else {
        args.types.iter().filter_map(|name| registry.class(name)).collect()
    };
    let told: Vec<(&ClassInfo, Section<'_>)> =
        asked.into_iter().filter_map(|class| Some((class, page::section(&class.name)?))).collect();
    if args.json {
        told.iter().try_for_each(|(class, section)| print(&format!("{}\n", object(class, section))))?;
    } else if args.types.is_empty() {
        print(&format!(
            "{}\n`sluss apps TYPE` tells all about one.\n",
            list(&told, columns(std::io::stdout()))
        ))?;
    } else {
        let width = columns(std::io::stdout()).map_or(page::WIDTH, |columns| columns.min(page::WIDTH));
        let texts: Vec<String> = told.iter().map(|(class, section)| in_full(class, section, width)).collect();
        print(&texts.join("\n"))?;
    }
    Ok(Outcome::Done)
}

/// A line each, or several on a terminal, where it is narrow without the ports.
fn list(told: &[(&ClassInfo, Section<'_>)], width: Option<usize>) -> String {
    const WITH_PORTS_MIN: usize = 120;
    let has_ports = width.is_none_or(|width| width >= WITH_PORTS_MIN);
    let titles = if has_ports {
        &["type", "inputs", "outputs", "what it does"][..]
    } else {
        &["type", "what it does"]
    };
    let mut table = Table::new(titles.iter().map(|title| Column::left(title, 0, 0)).collect()).with_gap(2);
    for (class, section) in told {
        let ports = [&class.inputs, &class.outputs].into_iter().filter(|_| has_ports).map(names);
        table.push([class.name.to_string()].into_iter().chain(ports).chain([section.summary()]).collect());
    }
    width.map_or_else(|| table.text(), |width| table.text_within(width))
}

fn in_full(class: &ClassInfo, section: &Section<'_>, width: usize) -> String {
    let (inputs, outputs) = (names(&class.inputs), names(&class.outputs));
    format!("{}\n  inputs: {inputs}; outputs: {outputs}\n\n{}", class.name, section.text(width))
}

fn object(class: &ClassInfo, section: &Section<'_>) -> Value {
    let ports = |ports: &Ports| if ports.are_any() { Value::Null } else { json!(ports.names()) };
    let option = |[names, default, text]: [String; 3]| json!({ "option": plain(&names), "unless_set": plain(&default), "text": text });
    json!({
        "v": 1,
        "type": "app",
        "name": class.name,
        "summary": section.summary(),
        "inputs": ports(&class.inputs),
        "outputs": ports(&class.outputs),
        "options": section.options().into_iter().map(option).collect::<Vec<_>>(),
        "text": section.text(page::WIDTH),
    })
}

/// Without the marks of code, of which a program has no use.
fn plain(cell: &str) -> String {
    cell.replace('`', "")
}

fn names(ports: &Ports) -> String {
    match &*ports.names() {
        [] if ports.are_any() => "any".to_owned(),
        [] => "-".to_owned(),
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Snabb calls some options.
    const OTHER_NAMES: [&str; 4] = [
        "default_gateway_MAC",
        "encapsulation",
        "max_concurrent_reassemblies",
        "max_fragments_per_reassembly",
    ];

    /// The book tells of each class, of each of its options and of each port that has a name.
    #[test]
    fn the_page_tells_of_all_classes() {
        let registry = registry();
        for class in registry.classes() {
            let section = page::section(&class.name).unwrap_or_else(|| panic!("no section {}", class.name));
            let summary = section.summary();
            assert!(
                (10..=160).contains(&summary.len()) && !summary.contains('\n'),
                "{}: {summary}",
                class.name
            );
            let told: String = section.options().into_iter().map(|[names, ..]| names).collect();
            let text = section.text(page::WIDTH);
            let is_other_name = |option: &str| OTHER_NAMES.contains(&option);
            for option in registry.option_names(&class.name).unwrap_or_default() {
                let is_told = told.contains(&format!("`{option}`")) || is_other_name(option);
                assert!(is_told, "{}: option {option} is not told of in {told}", class.name);
            }
            for port in class.inputs.names().into_iter().chain(class.outputs.names()) {
                assert!(text.contains(&format!("`{port}`")), "{}: port {port} is not told of", class.name);
            }
        }
    }
}
