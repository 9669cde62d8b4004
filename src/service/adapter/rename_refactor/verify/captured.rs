//! Rust strings that are code: the names in the braces of a string that macros of the standard library format.

use audit::word::{Class, Classes};

/// The macros that format one of their arguments.
const FORMATTING: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "format_args",
    "panic",
    "print",
    "println",
    "todo",
    "unimplemented",
    "unreachable",
    "write",
    "writeln",
];

/// True if the word from `at` to `end` stands in braces, in a string within the brackets of a macro that formats it.
pub(super) fn is_captured(text: &str, classes: &Classes, (at, end): (usize, usize)) -> bool {
    let (before, after) = (&text[..at], text[end..].trim_start());
    let Some(open) = before.rfind('{') else { return false };
    let ahead = &before[open + 1..];
    let is_argument = ahead.trim().is_empty() && after.starts_with([':', '}']);
    let is_width = after.starts_with('$') && ahead.contains(':') && !ahead.contains(['}', '"']);
    // An even number of braces stands for braces.
    let braces = open + 1 - before[..=open].trim_end_matches('{').len();
    if braces % 2 == 0 || !(is_argument || is_width) {
        return false;
    }
    let is_sign = |(_, c): &(usize, char)| matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ';');
    let mut closed = 0;
    // The innermost bracket that is open around the string.
    for (sign, c) in before.char_indices().rev().filter(is_sign).filter(|(at, _)| classes.at(*at) == Class::Code) {
        match c {
            ')' | ']' | '}' => closed += 1,
            ';' if closed == 0 => return false,
            ';' => {}
            _ if closed > 0 => closed -= 1,
            _ => return formats(before[..sign].trim_end()),
        }
    }
    false
}

/// True if a text ends with the call of a macro that formats.
fn formats(text: &str) -> bool {
    let Some(call) = text.strip_suffix('!').map(str::trim_end) else { return false };
    let begin = call.rfind(|c: char| !(c == '_' || c.is_alphanumeric())).map_or(0, |before| before + 1);
    FORMATTING.contains(&&call[begin..])
}

#[cfg(test)]
mod tests {
    use super::is_captured;
    use audit::word::classes;
    use base::language::Language;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let at = text.find('§').unwrap();
        let text = text.replace('§', "");
        let text = format!("fn f() {{ {text}; }}");
        let at = at + "fn f() { ".len();
        let classes = classes(Language::Rust, &text, &|| Ok(())).unwrap();
        assert_eq!(is_captured(&text, &classes, (at, at + 1)), expected, "{text}");
    }

    #[test]
    fn names_in_formats_are_told_from_texts() {
        for text in [
            "println!(\"{§a}\")",
            "f(std::format ! [\"x {{}} {{{§a:?}}}\"])",
            "write!(f, \"{x:>§a$}\")",
            "assert_eq!(a(1, \"(\"), [2], \"{x:.§a$}\")",
            "assert!(b, r#\"{§a}\"#)",
            "panic! { \"{ §a }\" }",
        ] {
            check(text, true);
        }
        for text in [
            "println!(\"{{§a}}\")",
            "println!(\"§a\")",
            "info!(\"{§a}\")",
            "let x = \"{§a}\";",
            "println!(\"{}\", f(\"{§a}\"))",
            "println!(\"{x:§a}\")",
            "concat!(\"{§a}\")",
            "println!(\"x\"); \"{§a}\"",
        ] {
            check(text, false);
        }
    }
}
