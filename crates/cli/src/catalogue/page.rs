//! The book's page about apps, as text for a terminal.
//!
//! The page is Markdown of few kinds: paragraphs, lists, tables of ports and options, examples in fences. Paragraphs are filled to a width,
//! columns of tables line up, as far as that allows, links become their words.

use crate::table::{Column, Table, filled};

const PAGE: &str = include_str!("../../apps.md");
/// Characters in a line, unless a terminal has fewer.
pub(super) const WIDTH: usize = 100;

/// What the page says of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'p>(&'p str);

/// The section of a type.
pub(super) fn section(name: &str) -> Option<Section<'static>> {
    let sections = PAGE.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    sections.filter(|(title, _)| *title == name).map(|(_, body)| Section(body.trim())).next()
}

impl Section<'_> {
    /// The first sentence, on one line.
    pub(super) fn summary(&self) -> String {
        let paragraph = words(self.0.split("\n\n").next().unwrap_or_default());
        let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
        paragraph[..end].trim_end_matches('.').to_owned()
    }

    /// The rows of the table of options: names, what holds unless they are set, what they are.
    pub(super) fn options(&self) -> Vec<[String; 3]> {
        let tables = blocks(self.0).into_iter().filter_map(|block| match block {
            Block::Table(lines) if lines[0].starts_with("| option ") => Some(lines),
            _ => None,
        });
        let rows = tables.flat_map(|lines| lines.into_iter().skip(2).map(cells));
        rows.filter_map(|row| row.try_into().ok()).collect()
    }

    /// All of it, in lines of this width.
    pub(super) fn text(&self, width: usize) -> String {
        let blocks: Vec<String> = blocks(self.0).iter().map(|block| block.text(width)).collect();
        blocks.join("\n")
    }
}

/// What follows one another on the page.
#[derive(Debug, PartialEq)]
enum Block<'p> {
    Paragraph(Vec<&'p str>),
    Table(Vec<&'p str>),
    Example(Vec<&'p str>),
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(first) = lines.next() {
        if first.starts_with("```") {
            blocks.push(Block::Example(lines.by_ref().take_while(|line| !line.starts_with("```")).collect()));
        } else if !first.is_empty() {
            let is_end = |line: &str| line.is_empty() || line.starts_with("```");
            let more = std::iter::from_fn(|| lines.next_if(|line| !is_end(line)));
            let all = [first].into_iter().chain(more).collect();
            blocks.push(if first.starts_with('|') { Block::Table(all) } else { Block::Paragraph(all) });
        }
    }
    blocks
}

impl Block<'_> {
    fn text(&self, width: usize) -> String {
        match self {
            Block::Paragraph(lines) => filled(&words(&lines.join(" ")), width) + "\n",
            Block::Table(lines) => table(lines, width),
            Block::Example(lines) => {
                lines.iter().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
            }
        }
    }
}

/// A table of the page: what stands at its head, then a row each.
fn table(lines: &[&str], width: usize) -> String {
    let rows: Vec<Vec<String>> =
        lines.iter().filter(|line| !line.starts_with("|---")).map(|line| cells(line)).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut table = Table::new(vec![Column::left("", 0, 0); count]).with_gap(2);
    rows.into_iter().for_each(|row| table.push(row));
    // The line of titles is empty: those of the page are in its first row.
    const INDENT: &str = "  ";
    let text = table.text_within(width.saturating_sub(INDENT.len()));
    text.lines().skip(1).map(|line| format!("{INDENT}{line}\n")).collect()
}

fn cells(row: &str) -> Vec<String> {
    row.trim_matches('|').split('|').map(|cell| words(cell.trim())).collect()
}

/// A text on one line, with the words of links in the place of links.
fn words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut out, mut rest) = (String::new(), line.as_str());
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        let words =
            link.split_once("](").and_then(|(words, target)| Some((words, target.split_once(')')?.1)));
        match words {
            Some((words, behind)) if !words.contains(['[', ']']) => {
                out.push_str(words);
                rest = behind;
            }
            _ => {
                out.push('[');
                rest = link;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{Section, WIDTH, section};

    const TEXT: &str = "\
Lets packets through that match\na [filter](reference/language.md). More of it [as `a`](#b), a[1].

| option | unless set | |
|---|---|---|
| `filter` | required | the filter |
| `at` | none | where |

```toml
links = []

[app.web]
```
Behind it.
";

    #[test]
    fn markdown_becomes_text() {
        let section = Section(TEXT);
        assert_eq!(section.summary(), "Lets packets through that match a filter");
        assert_eq!(section.options()[1], ["`at`", "none", "where"]);
        let expected = "\
Lets packets through that match a filter. More of it as `a`, a[1].

  option    unless set
  `filter`  required    the filter
  `at`      none        where

    links = []

    [app.web]

Behind it.
";
        assert_eq!(section.text(WIDTH), expected);
    }

    #[test]
    fn no_line_of_a_paragraph_is_long() {
        for width in [72, WIDTH] {
            let text = section("pcap_reader").expect("a section").text(width);
            let filled = text.lines().filter(|line| !line.starts_with("    "));
            assert!(filled.clone().all(|line| line.chars().count() <= width), "{text}");
            assert!(filled.clone().any(|line| line.chars().count() > width - 8), "{text}");
        }
        assert!(section("no_such").is_none());
    }
}
