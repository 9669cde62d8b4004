//! The words and signs of a text that need not be whole: what the parser does not tell of a text that it refuses.

/// A word, a sign or a literal, by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a word of the language.
    Word,
    /// A sign of one character, or `#{`, `${`, `::`.
    Sign,
    /// A number, a character or a string; of one with code in it each part of the text.
    Literal,
    /// A doc comment of a function.
    Doc,
}

/// A text in its parts.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    text: &'a str,
    pub(super) tokens: Vec<Token>,
    /// True if the text ends within a string.
    pub(super) in_string: bool,
    /// True if the text ends within a comment.
    pub(super) in_comment: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let scan = Scan { text, tokens: Vec::new(), in_string: false, in_comment: false };
        let mut scanner = Scanner { scan, at: 0, braces: Vec::new() };
        while scanner.step().is_some() {}
        scanner.scan
    }

    /// The text of a token.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.from..token.to])
    }

    /// True if that token is this sign or word.
    pub(super) fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Sign | Kind::Word)) && self.word(at) == text
    }

    /// True if that token is a name.
    pub(super) fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// True if that token opens a bracket.
    pub(super) fn opens(&self, at: usize) -> bool {
        ["(", "[", "{", "#{", "${"].iter().any(|sign| self.is(at, sign))
    }

    /// True if that token closes one.
    pub(super) fn closes(&self, at: usize) -> bool {
        [")", "]", "}"].iter().any(|sign| self.is(at, sign))
    }

    /// The brackets that are open before a token, outermost first.
    pub(super) fn open_before(&self, end: usize) -> Vec<usize> {
        let mut open = Vec::new();
        for at in 0..end {
            if self.opens(at) {
                open.push(at);
            } else if self.closes(at) {
                open.pop();
            }
        }
        open
    }

    /// The token that closes what this one opens.
    pub(super) fn closing(&self, opener: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in opener..self.tokens.len() {
            if self.opens(at) {
                depth += 1;
            } else if self.closes(at) {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    /// The token that opens what this one closes.
    pub(super) fn opening(&self, closer: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in (0..=closer).rev() {
            if self.closes(at) {
                depth += 1;
            } else if self.opens(at) {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }
}

struct Scanner<'a> {
    scan: Scan<'a>,
    at: usize,
    /// The open braces: true for one of code within a string.
    braces: Vec<bool>,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.scan.text[self.at..]
    }

    /// Takes so many bytes as a token.
    fn take(&mut self, kind: Kind, length: usize) {
        let from = self.at;
        self.at += length;
        self.scan.tokens.push(Token { kind, from, to: self.at });
    }

    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        match first {
            _ if first.is_whitespace() => self.at += first.len_utf8(),
            '/' if rest.starts_with("//") => self.line_comment(),
            '/' if rest.starts_with("/*") => self.block_comment(),
            '"' => self.string("\"", 1, true),
            '\'' => self.string("'", 1, true),
            '#' if rest[hashes..].starts_with('"') => {
                self.string(&format!("\"{}", "#".repeat(hashes)), hashes + 1, false)
            }
            '`' => {
                self.at += 1;
                self.template(1);
            }
            '#' if rest.starts_with("#{") => {
                self.braces.push(false);
                self.take(Kind::Sign, 2);
            }
            ':' if rest.starts_with("::") => self.take(Kind::Sign, 2),
            '{' => {
                self.braces.push(false);
                self.take(Kind::Sign, 1);
            }
            '}' => {
                self.take(Kind::Sign, 1);
                if self.braces.pop() == Some(true) {
                    self.template(0);
                }
            }
            _ if first.is_ascii_digit() => {
                let length = number(rest);
                self.take(Kind::Literal, length);
            }
            _ if is_word(first) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                self.take(Kind::Word, length);
            }
            _ => self.take(Kind::Sign, first.len_utf8()),
        }
        Some(())
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let is_doc = rest.starts_with("///") && !rest.starts_with("////");
        match rest.find('\n') {
            Some(length) if is_doc => self.take(Kind::Doc, length),
            Some(length) => self.at += length,
            None => {
                self.scan.in_comment = true;
                self.at = self.scan.text.len();
            }
        }
    }

    /// Comments nest.
    fn block_comment(&mut self) {
        let rest = self.rest();
        let is_doc = rest.starts_with("/**") && !rest.starts_with("/***");
        let (mut depth, mut length) = (0_usize, 0);
        while length < rest.len() {
            if rest[length..].starts_with("/*") {
                depth += 1;
                length += 2;
            } else if rest[length..].starts_with("*/") {
                depth -= 1;
                length += 2;
                if depth == 0 {
                    return if is_doc { self.take(Kind::Doc, length) } else { self.at += length };
                }
            } else {
                length += rest[length..].chars().next().map_or(1, char::len_utf8);
            }
        }
        self.scan.in_comment = true;
        self.at = self.scan.text.len();
    }

    /// A string up to what ends it, with or without escapes.
    fn string(&mut self, end: &str, start: usize, escapes: bool) {
        let rest = self.rest();
        let mut length = start;
        while length < rest.len() {
            if rest[length..].starts_with(end) {
                return self.take(Kind::Literal, length + end.len());
            }
            let next = rest[length..].chars().next().unwrap_or_default();
            length += next.len_utf8();
            if escapes && next == '\\' {
                length += rest[length..].chars().next().map_or(0, char::len_utf8);
            }
        }
        let length = rest.len();
        self.scan.in_string = end != "'";
        self.take(Kind::Literal, length);
    }

    /// A string between backticks from where its text goes on, up to its end or to code in it.
    fn template(&mut self, before: usize) {
        let rest = self.rest();
        let end = rest.find('`');
        let code = rest.find("${").filter(|code| end.is_none_or(|end| *code < end));
        self.at -= before;
        match (code, end) {
            (Some(code), _) => {
                self.take(Kind::Literal, before + code);
                self.braces.push(true);
                self.take(Kind::Sign, 2);
            }
            (None, Some(end)) => self.take(Kind::Literal, before + end + 1),
            (None, None) => {
                let length = self.scan.text.len() - self.at;
                self.scan.in_string = true;
                self.take(Kind::Literal, length);
            }
        }
    }
}

/// The bytes of a number; two dots after it are a range.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_part = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut length = 0;
    while is_part(length) || bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
        length += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let scan = Scan::of(text);
        let words: Vec<_> = (0..scan.tokens.len()).map(|at| scan.word(at)).collect();
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn a_text_is_taken_apart() {
        check("nrv.files.read(\"a)\")", &["nrv", ".", "files", ".", "read", "(", "\"a)\"", ")"]);
        check(
            "let é = #{ a: 1.5 }; // x\n0..3",
            &["let", "é", "=", "#{", "a", ":", "1.5", "}", ";", "0", ".", ".", "3"],
        );
        check("m::f('\\'') /* a /* b */ c */ + #\"x\"y\"#", &["m", "::", "f", "(", "'\\''", ")", "+", "#\"x\"y\"#"]);
        check("`a ${x + `${y}`} b` + 1", &["`a ", "${", "x", "+", "`", "${", "y", "}", "`", "}", " b`", "+", "1"]);
        check("/// doc\nfn f() {}", &["/// doc", "fn", "f", "(", ")", "{", "}"]);
    }

    #[test]
    fn where_a_text_ends_is_told() {
        let ends = |text: &str| (Scan::of(text).in_string, Scan::of(text).in_comment);
        for (text, expected) in [
            ("read(\"a/", (true, false)),
            ("`a ${", (false, false)),
            ("`a ${x} ", (true, false)),
            ("1 // ", (false, true)),
            ("/* ", (false, true)),
            ("\"a\" + ", (false, false)),
        ] {
            assert_eq!(ends(text), expected, "{text}");
        }
    }
}
