//! `sluss apps`: which types of apps there are, and what each does, takes and counts.
//!
//! Ports are those of the classes; everything else is the book's page about apps, which is built in. So nothing is said twice, and a test
//! holds the page to the classes.

mod page;

use crate::args::AppsArgs;
use crate::exit::{Failure, Outcome};
use crate::registry::registry;
use crate::table::{Column, Table};
use crate::terminal::print;
use engine::{ClassInfo, Ports};
use page::Section;
use serde_json::{Value, json};

/// Prints the types, or what there is to know of some.
pub(crate) fn run(args: &AppsArgs) -> Result<Outcome, Failure> {
    let classes: Vec<ClassInfo> = registry().classes().collect();
    let asked: Vec<ClassInfo> = if args.types.is_empty() {
        classes
    } else {
        let class = |name: &String| classes.iter().find(|class| class.name == name);
        args.types.iter().filter_map(class).copied().collect()
    };
    let told: Vec<(ClassInfo, Section<'_>)> =
        asked.iter().filter_map(|class| Some((*class, page::section(class.name)?))).collect();
    if args.json {
        told.iter().try_for_each(|(class, section)| print(&format!("{}\n", object(*class, section))))?;
    } else if args.types.is_empty() {
        print(&format!("{}\n`sluss apps TYPE` tells all about one.\n", list(&told)))?;
    } else {
        let texts: Vec<String> = told.iter().map(|(class, section)| in_full(*class, section)).collect();
        print(&texts.join("\n"))?;
    }
    Ok(Outcome::Done)
}

/// A line each.
fn list(told: &[(ClassInfo, Section<'_>)]) -> String {
    let columns = ["type", "inputs", "outputs", "what it does"].map(|title| Column::left(title, 0, 0));
    let mut table = Table::new(columns.to_vec()).with_gap(2);
    for (class, section) in told {
        table.push(vec![class.name.to_owned(), names(class.inputs), names(class.outputs), section.summary()]);
    }
    table.text()
}

fn in_full(class: ClassInfo, section: &Section<'_>) -> String {
    let (inputs, outputs) = (names(class.inputs), names(class.outputs));
    format!("{}\n  inputs: {inputs}; outputs: {outputs}\n\n{}", class.name, section.text())
}

fn object(class: ClassInfo, section: &Section<'_>) -> Value {
    let ports = |ports: Ports| match ports {
        Ports::Named(names) => json!(names),
        Ports::Any => Value::Null,
    };
    let option = |[names, default, text]: [String; 3]| json!({ "option": plain(&names), "unless_set": plain(&default), "text": text });
    json!({
        "v": 1,
        "type": "app",
        "name": class.name,
        "summary": section.summary(),
        "inputs": ports(class.inputs),
        "outputs": ports(class.outputs),
        "options": section.options().into_iter().map(option).collect::<Vec<_>>(),
        "text": section.text(),
    })
}

/// Without the marks of code, of which a program has no use.
fn plain(cell: &str) -> String {
    cell.replace('`', "")
}

fn names(ports: Ports) -> String {
    match ports {
        Ports::Named([]) => "-".to_owned(),
        Ports::Named(names) => names.join(", "),
        Ports::Any => "any".to_owned(),
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
            let section = page::section(class.name).unwrap_or_else(|| panic!("no section {}", class.name));
            let summary = section.summary();
            assert!(
                (10..=160).contains(&summary.len()) && !summary.contains('\n'),
                "{}: {summary}",
                class.name
            );
            let told: String = section.options().into_iter().map(|[names, ..]| names).collect();
            let text = section.text();
            let is_other_name = |option: &str| OTHER_NAMES.contains(&option);
            for option in registry.option_names(class.name).unwrap_or_default() {
                let is_told = told.contains(&format!("`{option}`")) || is_other_name(option);
                assert!(is_told, "{}: option {option} is not told of in {told}", class.name);
            }
            for port in class.inputs.names().iter().chain(class.outputs.names()) {
                assert!(text.contains(&format!("`{port}`")), "{}: port {port} is not told of", class.name);
            }
        }
    }
}
