//! The head of a file's part: names, quoted as git quotes them, and modes.

use crate::path::RepoPath;

/// Git modes before and after; none where the file does not exist.
type Modes = (Option<u32>, Option<u32>);

/// Appends the `diff --git` line and what follows it about modes.
pub(super) fn write_header(path: &RepoPath, modes: Modes, out: &mut Vec<u8>) {
    let mut head = format!("diff --git {} {}\n", quoted("a/", path), quoted("b/", path));
    match modes {
        (None, Some(new)) => head.push_str(&format!("new file mode {new:o}\n")),
        (Some(old), None) => head.push_str(&format!("deleted file mode {old:o}\n")),
        (Some(old), Some(new)) if old != new => head.push_str(&format!("old mode {old:o}\nnew mode {new:o}\n")),
        (Some(_), Some(_)) | (None, None) => {}
    }
    out.extend_from_slice(head.as_bytes());
}

/// Appends the `---` and `+++` lines.
pub(super) fn write_sides(path: &RepoPath, modes: Modes, out: &mut Vec<u8>) {
    let side = |prefix: &str, mode: Option<u32>| match mode {
        None => "/dev/null".to_owned(),
        Some(_) => {
            let name = quoted(prefix, path);
            // Readers take what follows a tab for a date, so a tab ends a name that holds a space.
            let end = if name.contains(' ') { "\t" } else { "" };
            name + end
        }
    };
    out.extend_from_slice(format!("--- {}\n+++ {}\n", side("a/", modes.0), side("b/", modes.1)).as_bytes());
}

/// A name as git writes it: in double quotes with C's escapes if a byte needs one, each byte beyond ASCII in octal.
fn quoted(prefix: &str, path: &str) -> String {
    let plain = |byte: u8| (b' '..0x7f).contains(&byte) && !matches!(byte, b'"' | b'\\');
    if path.bytes().all(plain) {
        return format!("{prefix}{path}");
    }
    let mut name = format!("\"{prefix}");
    for byte in path.bytes() {
        match byte {
            0x07 => name.push_str("\\a"),
            0x08 => name.push_str("\\b"),
            b'\t' => name.push_str("\\t"),
            b'\n' => name.push_str("\\n"),
            0x0b => name.push_str("\\v"),
            0x0c => name.push_str("\\f"),
            b'\r' => name.push_str("\\r"),
            b'"' | b'\\' => name.extend(['\\', char::from(byte)]),
            _ if plain(byte) => name.push(char::from(byte)),
            _ => name.push_str(&format!("\\{byte:03o}")),
        }
    }
    name + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_where_git_quotes() {
        assert_eq!(quoted("a/", "x y.txt"), "a/x y.txt");
        assert_eq!(quoted("a/", "ü\".txt"), "\"a/\\303\\274\\\".txt\"");
        assert_eq!(quoted("b/", "\u{1}\t\\\u{7f}"), "\"b/\\001\\t\\\\\\177\"");
    }
}
