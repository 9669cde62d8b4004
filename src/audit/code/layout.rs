//! Indentation: a text that moves to another place keeps the shape of its lines. Only spaces count, as in ast-grep.

/// The bytes before a place within which its line has to begin.
const REACH: usize = 512;

/// The spaces at the begin of the line of a place. 0 if the line began too far away.
pub(super) fn indentation(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let near = &before[before.len().saturating_sub(REACH)..];
    let line = match memchr::memrchr(b'\n', near) {
        Some(end) => &near[end + 1..],
        None if near.len() == before.len() => near,
        None => return 0,
    };
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// A text whose lines after the first were written for one indentation, written for another.
pub(super) fn shifted(text: &str, from: usize, to: usize) -> String {
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    let added = " ".repeat(to.saturating_sub(from));
    let removed = " ".repeat(from.saturating_sub(to));
    for line in lines {
        out.push('\n');
        out.push_str(&added);
        out.push_str(line.strip_prefix(&removed).unwrap_or(line));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spaces_of_a_line_are_its_indentation() {
        assert_eq!(indentation("a\n  b(c)", 6), 2);
        assert_eq!(indentation("   a", 3), 3);
        assert_eq!(indentation("\n\t  a", 4), 0);
        assert_eq!(indentation(&format!("  {}", "x".repeat(600)), 600), 0);
    }

    #[test]
    fn lines_move_together() {
        assert_eq!(shifted("a\n  b\n    c\nd", 2, 0), "a\nb\n  c\nd");
        assert_eq!(shifted("a\n  b\n", 0, 2), "a\n    b\n  ");
        assert_eq!(shifted("a", 0, 2), "a");
    }
}
