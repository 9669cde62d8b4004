//! Columns of text without borders.

use comfy_table::{CellAlignment, Table, presets};

pub(super) fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

pub(super) fn right_align(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Without the spaces that fill the last column.
pub(super) fn trimmed(table: &Table) -> String {
    let text = table.to_string();
    text.lines().map(|line| line.trim_end().strip_prefix(' ').unwrap_or(line.trim_end())).collect::<Vec<_>>().join("\n")
}
