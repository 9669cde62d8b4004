//! The files of a change for a person who confirms it: the riskiest first, and the rest as counts.

use std::fmt::Write;

use serde_json::Value;

use super::{
    columns::{plain, right_align, trimmed},
    redact,
};
use base::{
    diff::{self, Mark, Replacement, Stat},
    text::escape,
};

/// A file of a change.
pub(super) struct File {
    path: String,
    added: u64,
    removed: u64,
    marks: Vec<Mark>,
}

impl File {
    /// The file of a row in an error or a proposal, which may have nothing but a path.
    pub(super) fn of_row(row: &Value) -> Self {
        let number = |key: &str| row[key].as_u64().unwrap_or(0);
        let path = row["path"].as_str().unwrap_or_default().to_owned();
        let marks = match serde_json::from_value(row["marks"].clone()) {
            Ok(marks) => marks,
            Err(_) => diff::marks_of_path(&path),
        };
        File { added: number("added"), removed: number("removed"), marks, path }
    }
}

/// The files of a patch.
pub(super) fn of_patch(stats: &[Stat], patch: &[u8]) -> Vec<File> {
    let marked = diff::marked(stats, patch).into_iter();
    marked
        .map(|(stat, marks)| File {
            path: stat.path.to_string(),
            added: stat.lines.added,
            removed: stat.lines.removed,
            marks,
        })
        .collect()
}

/// The first files as a table with the reasons of their rank, and the number of others of each kind.
pub(super) fn listed(mut files: Vec<File>, most: usize) -> String {
    diff::sort_by_risk(&mut files, |file| &file.marks);
    let shown = &files[..files.len().min(most)];
    let is_marked = shown.iter().any(|file| !file.marks.is_empty());
    let mut table = plain();
    table.set_header(["file", "+", "-"].into_iter().chain(is_marked.then_some("")));
    for File { path, added, removed, marks } in shown {
        let words: Vec<&str> = marks.iter().map(|mark| mark.word()).collect();
        // Removing secrets later would move the columns.
        let cells = [escape(&redact::text(path)), added.to_string(), removed.to_string()];
        table.add_row(cells.into_iter().chain(is_marked.then(|| words.join(", "))));
    }
    right_align(&mut table, &[1, 2]);
    let counts = diff::counted(files[shown.len()..].iter().map(|file| file.marks.as_slice()));
    format!("{}\n{}", trimmed(&table), more(&counts))
}

/// The first words that become others, a line each.
pub(super) fn replaced(replaced: &[Replacement], most: usize) -> String {
    let mut text = String::new();
    for Replacement { path, line, old, new } in replaced.iter().take(most) {
        let [path, old, new] = [path.as_str(), old, new].map(|part| escape(&redact::text(part)));
        let _ = writeln!(text, "  {path}:{line}: `{old}` → `{new}`");
    }
    if replaced.len() > most {
        text.push_str("  and more, in the patch\n");
    }
    text
}

/// The number of files that are not shown, by kind; nothing if all are.
pub(super) fn more(counts: &[(String, u64)]) -> String {
    let n: u64 = counts.iter().map(|(_, n)| n).sum();
    let mut text = String::new();
    if n > 0 {
        let kinds: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {}", escape(word))).collect();
        let _ = writeln!(text, "… and {n} more {}: {}", if n == 1 { "file" } else { "files" }, kinds.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_in_a_name_moves_no_column() {
        let token = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
        let row = |path: &str| File::of_row(&json!({"path": path, "added": 7, "removed": 0}));
        let text = listed(vec![row(&format!("docs/{token}.md")), row("docs/a.md")], 3);
        assert_eq!(redact::text(&text), text);
        let columns: Vec<_> = text.lines().skip(1).map(|line| line.find(" 7 ")).collect();
        assert!(columns[0].is_some() && columns.iter().all(|column| *column == columns[0]), "{text}");
    }

    #[test]
    fn the_first_files_are_those_that_want_a_look() {
        let row = |path: &str| File::of_row(&json!({"path": path, "added": 1, "removed": 0}));
        let mut files: Vec<File> = (0..30).map(|n| row(&format!("docs/{n:02}.md"))).collect();
        files.push(row("tools/deploy.sh"));
        files.push(File::of_row(&json!({"path": "zz.md", "marks": ["removed"]})));
        let text = listed(files, 3);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("tools/deploy.sh") && lines[1].ends_with("script"), "{text}");
        assert!(lines[2].starts_with("zz.md") && lines[2].ends_with("removed"), "{text}");
        assert!(lines[3].starts_with("docs/00.md"), "{text}");
        assert_eq!(lines[4], "… and 29 more files: 29 changed");
    }
}
