//! Tables of text, for the screen and for scripts' readers: columns that do not fit are left out, the least wanted first.

use crate::units::one_line;

/// Characters of a rule that a table shows. JSON has all of it.
pub(crate) const RULE_WIDTH_MAX: usize = 200;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    title: &'static str,
    width: usize,
    is_right: bool,
    /// The higher, the sooner it is left out; 0 never.
    rank: u8,
    /// It is never wider than this; longer cells are cut.
    max_width: usize,
}

impl Column {
    /// Text that begins at the left.
    pub(crate) fn left(title: &'static str, width: usize, rank: u8) -> Self {
        Column { title, width, is_right: false, rank, max_width: usize::MAX }
    }

    /// Numbers, which end at the right.
    pub(crate) fn right(title: &'static str, width: usize, rank: u8) -> Self {
        Column { title, width, is_right: true, rank, max_width: usize::MAX }
    }

    /// The same, with longer cells cut to `max_width` characters: the text of a rule has any length.
    pub(crate) fn at_most(self, max_width: usize) -> Self {
        Column { max_width, ..self }
    }
}

/// A table. The first column takes the room that others leave.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Blanks between columns.
    gap: usize,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Table { columns, rows: Vec::new(), gap: 1 }
    }

    /// With another number of blanks between columns.
    pub(crate) fn with_gap(self, gap: usize) -> Self {
        Table { gap, ..self }
    }

    /// Adds a row: a text for each column.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row.iter().map(|cell| one_line(cell)).collect());
    }

    /// All of it, each column as wide as it needs to be.
    pub(crate) fn text(&self) -> String {
        let mut wide = self.clone();
        for (index, column) in wide.columns.iter_mut().enumerate() {
            column.width = self.needed(index);
        }
        let width =
            wide.columns.iter().map(|column| column.width + self.gap).sum::<usize>().saturating_sub(self.gap);
        wide.lines(width).iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// The same on a terminal `width` columns wide, if on one: what does not fit is left out, the least wanted columns first, and then the ends
    /// of names in the first.
    pub(crate) fn text_on(&self, width: Option<usize>) -> String {
        let Some(width) = width else { return self.text() };
        let mut table = self.clone();
        for (index, column) in table.columns.iter_mut().enumerate() {
            let needed = self.needed(index);
            column.width = if index == 0 { column.width.min(needed) } else { needed };
        }
        let behind: usize =
            table.shown(width).iter().skip(1).map(|(_, column)| column.width + self.gap).sum();
        let lines = table.lines(width.min(behind + self.needed(0)));
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// The same in `width` columns, as far as can be: what does not fit into the last column goes on below it.
    pub(crate) fn text_within(&self, width: usize) -> String {
        const LAST_MIN: usize = 20;
        let Some(last) = self.columns.len().checked_sub(1) else { return self.text() };
        let before = (0..last).map(|index| self.needed(index) + self.gap).sum::<usize>();
        let room = width.saturating_sub(before).max(LAST_MIN).min(self.columns[last].max_width);
        let mut table = Table { rows: Vec::new(), ..self.clone() };
        for row in &self.rows {
            let (cells, text) = row.split_at(last.min(row.len()));
            let text = text.first().map_or(String::new(), |text| filled(text, room));
            for (at, line) in text.split('\n').enumerate() {
                let cell = |cell: &String| if at == 0 { cell.clone() } else { String::new() };
                table.rows.push(cells.iter().map(cell).chain([line.to_owned()]).collect());
            }
        }
        table.text()
    }

    /// How wide a column has to be.
    fn needed(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        let needed = cells.chain([self.columns[index].title.len()]).max().unwrap_or(0);
        needed.min(self.columns[index].max_width)
    }

    /// The title and the rows, each `width` wide.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let shown = self.shown(width);
        let used: usize = shown.iter().skip(1).map(|&(_, column)| column.width + self.gap).sum();
        let first = width.saturating_sub(used);
        let line = |cell: &dyn Fn(usize, Column) -> String| {
            let cells = shown.iter().enumerate().map(|(at, &(index, column))| {
                padded(&cell(index, column), if at == 0 { first } else { column.width }, column.is_right)
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(self.gap))
        };
        let title = line(&|_, column| column.title.to_owned());
        let rows = self.rows.iter().map(|row| line(&|index, _| row.get(index).cloned().unwrap_or_default()));
        [title].into_iter().chain(rows).collect()
    }

    /// The columns that fit.
    fn shown(&self, width: usize) -> Vec<(usize, Column)> {
        let mut shown: Vec<(usize, Column)> = self.columns.iter().copied().enumerate().collect();
        let needs = |shown: &[(usize, Column)]| {
            shown.iter().map(|(_, column)| column.width + self.gap).sum::<usize>()
        };
        while needs(&shown) > width + self.gap {
            let least =
                (0..shown.len()).filter(|&at| shown[at].1.rank > 0).max_by_key(|&at| shown[at].1.rank);
            let Some(least) = least else { break };
            shown.remove(least);
        }
        shown
    }
}

/// A text over several lines, none longer than `width` unless a word is.
pub(crate) fn filled(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let len = word.chars().count();
        if used > 0 && used + 1 + len > width {
            out.push('\n');
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += len;
    }
    out
}

/// Lines none of which is longer than `width`, unless a word is. What goes on in another line stands below where the text began, behind the
/// sign of an item.
pub(crate) fn folded(text: &str, width: usize) -> String {
    text.lines().map(|line| folded_line(line, width) + "\n").collect()
}

fn folded_line(line: &str, width: usize) -> String {
    let text = line.trim_start();
    let item = if text.starts_with("- ") { 2 } else { 0 };
    let indent = line.len() - text.len() + item;
    // Where there is hardly room beside it, it is none.
    let (head, text) = line.split_at(if indent < width / 2 { indent } else { 0 });
    let below = format!("\n{}", " ".repeat(head.len()));
    format!("{head}{}", filled(text, width - head.len()).replace('\n', &below))
}

/// The text in `width` columns, cut with an ellipsis where it is longer.
fn padded(text: &str, width: usize, is_right: bool) -> String {
    let len = text.chars().count();
    if len > width {
        let kept: String = text.chars().take(width.saturating_sub(1)).collect();
        return if width == 0 { kept } else { format!("{kept}…") };
    }
    // The width of a format is at most 65,535; a row may be longer.
    let blanks = " ".repeat(width - len);
    if is_right { blanks + text } else { text.to_owned() + &blanks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(vec![
            Column::left("NAME", 4, 0),
            Column::left("TYPE", 4, 2),
            Column::right("PPS", 5, 1),
        ]);
        table.push(["a_long_name", "tee", "1.2k"].map(str::to_owned).to_vec());
        table.push(["b\x1b", "sink", "7"].map(str::to_owned).to_vec());
        table
    }

    #[test]
    fn all_of_it_is_as_wide_as_needed() {
        assert_eq!(
            table().text(),
            "NAME        TYPE  PPS\na_long_name tee  1.2k\nb\u{fffd}          sink    7\n"
        );
    }

    #[test]
    fn cells_of_any_length_are_shown_or_cut() {
        let rows = |column: Column| {
            let mut table = Table::new(vec![Column::right("LINE", 0, 0), column]);
            for (line, len) in [(1, 70_000), (2, 3)] {
                table.push(vec![line.to_string(), "é".repeat(len)]);
            }
            table
        };
        let long = rows(Column::left("RULE", 0, 0));
        assert_eq!(long.text(), format!("LINE RULE\n   1 {}\n   2 ééé\n", "é".repeat(70_000)));
        assert_eq!(long.lines(70_005)[1].chars().count(), 70_005);
        let cut = rows(Column::left("RULE", 0, 0).at_most(10));
        assert_eq!(cut.text(), format!("LINE RULE\n   1 {}…\n   2 ééé\n", "é".repeat(9)));
        assert_eq!((cut.text_on(Some(200)), cut.text_within(15)), (cut.text(), cut.text_within(200)));
    }

    #[test]
    fn on_a_terminal_it_is_no_wider_than_that() {
        assert_eq!((table().text_on(None), table().text_on(Some(21))), (table().text(), table().text()));
        assert_eq!(table().text_on(Some(200)), table().text());
        assert_eq!(
            table().text_on(Some(20)),
            "NAME       TYPE  PPS\na_long_na… tee  1.2k\nb\u{fffd}         sink    7\n"
        );
        assert_eq!(table().text_on(Some(12)), "NAME     PPS\na_long… 1.2k\nb\u{fffd}         7\n");
        for width in 0..30 {
            assert!(
                table().text_on(Some(width)).lines().all(|line| line.chars().count() <= width),
                "{width}"
            );
        }
    }

    #[test]
    fn lines_go_on_below_where_they_began() {
        let text = "all of it:\n  - one and two\n  - three\n\nfour";
        assert_eq!(folded(text, 11), "all of it:\n  - one and\n    two\n  - three\n\nfour\n");
        assert_eq!(folded(text, 100), format!("{text}\n"));
        // Too narrow to be told apart.
        assert_eq!(folded("      - one two", 8), "- one\ntwo\n");
        (0..9).for_each(|width| drop(folded(text, width)));
    }

    #[test]
    fn the_least_wanted_goes_first() {
        assert_eq!(table().lines(20)[0], "NAME      TYPE   PPS");
        assert_eq!(table().lines(20)[1], "a_long_n… tee   1.2k");
        assert_eq!(table().lines(12)[1], "a_lon…  1.2k");
        assert_eq!(table().lines(5), ["NAME ", "a_lo…", "b\u{fffd}   "]);
        for width in 0..30 {
            assert!(table().lines(width).iter().all(|line| line.chars().count() <= width), "{width}");
        }
    }
}
