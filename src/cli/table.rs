//! Plain tables for terminals and pipes.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

/// A table whose columns are set right where the header begins with `>`.
pub(super) fn table<H: AsRef<str>>(header: &[H], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let right: Vec<bool> = header.iter().map(|h| h.as_ref().starts_with('>')).collect();
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let cell = |text: &str, right: bool| Cell::new(text).set_alignment(if right { CellAlignment::Right } else { CellAlignment::Left });
    table.set_header(header.iter().zip(&right).map(|(h, &r)| cell(h.as_ref().trim_start_matches('>'), r)));
    for row in rows {
        table.add_row(row.iter().zip(&right).map(|(text, &r)| cell(text, r)));
    }
    table
}

/// The table's lines without the blanks that pad them at their ends.
pub(super) fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The same, with cells on several lines where the table would be wider than `most` columns.
pub(super) fn lines_within(mut table: Table, most: Option<usize>) -> String {
    let whole = lines(&table);
    let Some(most) = most.filter(|most| whole.lines().any(|line| line.chars().count() > *most)) else { return whole };
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(most).unwrap_or(u16::MAX));
    lines(&table)
}

/// A text that does nothing to a terminal: control characters, and those that turn the direction of writing, become spaces.
pub(super) fn clean(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { ' ' } else { c }).collect()
}
