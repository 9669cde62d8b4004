//! The tokens of a Rhai text that may be incomplete: for completion, for colours, and to find the end of a statement.
//!
//! It does not parse: the engine's parser does, but reports nothing about a text that it refuses.

/// The keywords of the language.
pub const KEYWORDS: &[&str] = &[
    "as", "break", "catch", "const", "continue", "do", "else", "export", "false", "fn", "for", "if", "import", "in",
    "let", "loop", "private", "return", "switch", "this", "throw", "true", "try", "until", "while",
];

/// A word, a sign or a literal, by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte.
    pub from: usize,
    /// The byte after its last one.
    pub to: usize,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A sign of one character, or `#{`, `${`, `::`.
    Sign,
    /// A number.
    Number,
    /// A character or a string; a string with code in it has a token for each part of the text.
    Text,
    /// A doc comment of a function.
    Doc,
    /// Another comment.
    Comment,
}

/// The tokens and comments of a text.
#[derive(Debug)]
pub struct Scan<'a> {
    text: &'a str,
    /// All but comments that document nothing.
    pub tokens: Vec<Token>,
    /// The other comments.
    pub comments: Vec<Token>,
    /// True if the text ends within a string.
    pub in_string: bool,
    /// True if the text ends within a comment.
    pub in_comment: bool,
}

impl<'a> Scan<'a> {
    /// Scans a text.
    pub fn of(text: &'a str) -> Self {
        let scan = Scan { text, tokens: Vec::new(), comments: Vec::new(), in_string: false, in_comment: false };
        let mut scanner = Scanner { scan, at: 0, braces: Vec::new() };
        while scanner.step().is_some() {}
        scanner.scan
    }

    /// Tokens and comments in their order.
    pub fn with_comments(&self) -> Vec<Token> {
        let mut all = [self.tokens.as_slice(), &self.comments].concat();
        all.sort_by_key(|token| token.from);
        all
    }

    /// The first byte of the unfinished string's content at the text's end; none without one, or in a raw string.
    pub fn open_string(&self) -> Option<usize> {
        let last = self.tokens.last().filter(|_| self.in_string)?;
        self.text[last.from..].starts_with(['"', '`']).then_some(last.from + 1)
    }

    /// The text of a token.
    pub fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.from..token.to])
    }

    /// True if that token is this sign or word.
    pub fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Sign | Kind::Word)) && self.word(at) == text
    }

    /// True if that token is a name.
    pub fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// True if that token opens a bracket.
    pub fn opens(&self, at: usize) -> bool {
        ["(", "[", "{", "#{", "${"].iter().any(|sign| self.is(at, sign))
    }

    /// True if that token closes one.
    pub fn closes(&self, at: usize) -> bool {
        [")", "]", "}"].iter().any(|sign| self.is(at, sign))
    }

    /// The brackets that are open before a token, outermost first.
    pub fn open_before(&self, end: usize) -> Vec<usize> {
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

    /// The token that closes the bracket opened by this one.
    pub fn closing(&self, opener: usize) -> Option<usize> {
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
    pub fn opening(&self, closer: usize) -> Option<usize> {
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
        let list = if kind == Kind::Comment { &mut self.scan.comments } else { &mut self.scan.tokens };
        list.push(Token { kind, from, to: self.at });
    }

    /// Takes the rest as a comment.
    fn take_rest(&mut self) {
        self.scan.in_comment = true;
        self.take(Kind::Comment, self.rest().len());
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
                self.take(Kind::Number, length);
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
            Some(length) => self.take(if is_doc { Kind::Doc } else { Kind::Comment }, length),
            None => self.take_rest(),
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
                    return self.take(if is_doc { Kind::Doc } else { Kind::Comment }, length);
                }
            } else {
                length += rest[length..].chars().next().map_or(1, char::len_utf8);
            }
        }
        self.take_rest();
    }

    /// A string up to what ends it, with or without escapes.
    fn string(&mut self, end: &str, start: usize, escapes: bool) {
        let rest = self.rest();
        let mut length = start;
        while length < rest.len() {
            if rest[length..].starts_with(end) {
                return self.take(Kind::Text, length + end.len());
            }
            let next = rest[length..].chars().next().unwrap_or_default();
            length += next.len_utf8();
            if escapes && next == '\\' {
                length += rest[length..].chars().next().map_or(0, char::len_utf8);
            }
        }
        let length = rest.len();
        self.scan.in_string = end != "'";
        self.take(Kind::Text, length);
    }

    /// A string between backticks from where its text goes on, up to its end or to code in it.
    fn template(&mut self, before: usize) {
        let rest = self.rest();
        let end = rest.find('`');
        let code = rest.find("${").filter(|code| end.is_none_or(|end| *code < end));
        self.at -= before;
        match (code, end) {
            (Some(code), _) => {
                self.take(Kind::Text, before + code);
                self.braces.push(true);
                self.take(Kind::Sign, 2);
            }
            (None, Some(end)) => self.take(Kind::Text, before + end + 1),
            (None, None) => {
                let length = self.scan.text.len() - self.at;
                self.scan.in_string = true;
                self.take(Kind::Text, length);
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
    #[test]
    fn comments_stand_apart() {
        let told = |text: &str| -> Vec<(Kind, String)> {
            let all = Scan::of(text).with_comments();
            all.iter().map(|token| (token.kind, text[token.from..token.to].to_owned())).collect()
        };
        let one = |kind: Kind, text: &str| (kind, text.to_owned());
        let expected = [one(Kind::Word, "let"), one(Kind::Number, "1_0x"), one(Kind::Comment, "// \"no\"")];
        assert_eq!(told("let 1_0x // \"no\""), expected);
        assert_eq!(told("/* a /* b */ c */ x"), [one(Kind::Comment, "/* a /* b */ c */"), one(Kind::Word, "x")]);
        assert_eq!(told(r#""a\"b" `d\`"#), [one(Kind::Text, r#""a\"b""#), one(Kind::Text, r"`d\`")]);
    }

    #[test]
    fn a_string_that_goes_on_has_a_beginning() {
        assert_eq!(Scan::of("nrv.files.read(\"site/").open_string(), Some(16));
        assert_eq!(Scan::of("nrv.files.read(`é/").open_string(), Some(16));
        for text in ["", "x", "\"done\"", "\"a\" + b", "// \"", "/* \"", "'\"", "#\"a"] {
            assert_eq!(Scan::of(text).open_string(), None, "{text}");
        }
    }
}
