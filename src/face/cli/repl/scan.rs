//! The words of what is typed: for colours, and to tell whether the cursor stands in a string.
//!
//! It parses nothing. A wrong colour or a missing path is all that it can get wrong.

use std::ops::Range;

/// Words with a meaning of their own.
const KEYWORDS: &[&str] = &[
    "as", "break", "catch", "const", "continue", "do", "else", "export", "false", "fn", "for", "if", "import", "in",
    "let", "loop", "private", "return", "switch", "this", "throw", "true", "try", "until", "while",
];

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Comment,
    Keyword,
    Name,
    Number,
    Symbol,
    Text,
}

/// A word of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// False for a string or a comment that goes on to the end of the input.
    pub(super) closed: bool,
}

/// The words of a text, without what separates them.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (kind, length, closed) = token(&text[at..], first);
        tokens.push(Token { kind, range: at..at + length, closed });
        at += length;
    }
    tokens
}

/// Where the content of the string begins in which a text ends; none if it ends elsewhere.
pub(super) fn open_string(text: &str) -> Option<usize> {
    let last = tokens(text).pop().filter(|token| token.kind == Kind::Text && !token.closed)?;
    // What a raw string or a character holds is no path.
    text[last.range.clone()].starts_with(['"', '`']).then_some(last.range.start + 1)
}

/// The first word of a text that is not empty: its kind, its length, and whether it ends.
fn token(text: &str, first: char) -> (Kind, usize, bool) {
    let run = |part: &dyn Fn(char) -> bool| text.find(|c| !part(c)).unwrap_or(text.len());
    match first {
        '/' if text.starts_with("//") => (Kind::Comment, text.find('\n').unwrap_or(text.len()), true),
        '/' if text.starts_with("/*") => block(text),
        '"' | '`' | '\'' => string(text, first),
        '#' if text.starts_with("#{") => (Kind::Symbol, 2, true),
        '#' if text.trim_start_matches('#').starts_with('"') => raw(text),
        '0'..='9' => (Kind::Number, run(&|c| c.is_alphanumeric() || c == '_'), true),
        c if c.is_alphabetic() || c == '_' => {
            let length = run(&|c| c.is_alphanumeric() || c == '_');
            (if KEYWORDS.contains(&&text[..length]) { Kind::Keyword } else { Kind::Name }, length, true)
        }
        ':' if text.starts_with("::") => (Kind::Symbol, 2, true),
        c => (Kind::Symbol, c.len_utf8(), true),
    }
}

/// A comment between marks, which may hold others.
fn block(text: &str) -> (Kind, usize, bool) {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return (Kind::Comment, at, true);
            }
        } else {
            at += 1;
        }
    }
    (Kind::Comment, text.len(), false)
}

/// A string or a character, in which a backslash takes what follows.
fn string(text: &str, quote: char) -> (Kind, usize, bool) {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            // Between backticks a backslash is itself.
            '\\' if quote != '`' => drop(chars.next()),
            c if c == quote => return (Kind::Text, at + 1, true),
            _ => {}
        }
    }
    (Kind::Text, text.len(), false)
}

/// A string between `#"` and `"#`, with any number of `#`.
fn raw(text: &str) -> (Kind, usize, bool) {
    let marks = text.len() - text.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(marks));
    match text[marks + 1..].find(&end) {
        Some(at) => (Kind::Text, marks + 1 + at + end.len(), true),
        None => (Kind::Text, text.len(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(Kind, &str)]) {
        let found: Vec<_> = tokens(text).into_iter().map(|token| (token.kind, &text[token.range])).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_are_told_apart() {
        use Kind::{Comment, Keyword, Name, Number, Symbol, Text};
        check(
            "let é = 1_0x; // \"no\"",
            &[(Keyword, "let"), (Name, "é"), (Symbol, "="), (Number, "1_0x"), (Symbol, ";"), (Comment, "// \"no\"")],
        );
        check("/* a /* b */ c */ x", &[(Comment, "/* a /* b */ c */"), (Name, "x")]);
        check(r#""a\"b" 'c' `d\`"#, &[(Text, r#""a\"b""#), (Text, "'c'"), (Text, r"`d\`")]);
        check(r##"#"a"b"# #{"##, &[(Text, r##"#"a"b"#"##), (Symbol, "#{")]);
        check("m::f", &[(Name, "m"), (Symbol, "::"), (Name, "f")]);
    }

    #[test]
    fn a_string_that_goes_on_has_a_beginning() {
        assert_eq!(open_string("nrv.files.read(\"site/"), Some(16));
        assert_eq!(open_string("nrv.files.read(`é/"), Some(16));
        for text in ["", "x", "\"done\"", "\"a\" + b", "// \"", "/* \"", "'\"", "#\"a"] {
            assert_eq!(open_string(text), None, "{text}");
        }
    }
}
