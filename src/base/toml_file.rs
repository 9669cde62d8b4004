//! Bounds of nrv's own files in TOML, which a repository may have planted: checked before a parser builds anything.
//!
//! A parser takes a hundred times the memory of a text of brackets.

use toml_parser::{Source, lexer::TokenKind};

use crate::error::{Code, Error};

/// The deepest nesting of tables, lists and dotted keys.
const DEEPEST: usize = 64;

/// A kind of file: its longest text, the most of its values, and the code of an error about it.
#[derive(Clone, Copy, Debug)]
pub struct TomlFile {
    /// The longest text, in bytes.
    pub most: u64,
    /// The most values, tables and lists: each takes much more memory than its text.
    pub values: usize,
    /// The code of an error.
    pub code: Code,
}

impl TomlFile {
    /// Checks a text before it is parsed; `file` is its name in messages.
    pub fn check(&self, text: &str, file: &str) -> Result<(), Error> {
        if text.len() as u64 > self.most {
            return Err(self.too_long(file));
        }
        let (at, is_deep) = match beyond(text, self.values) {
            None => return Ok(()),
            Some(Beyond::Deep(at)) => (at, true),
            Some(Beyond::Many(at)) => (at, false),
        };
        let line = 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count();
        let (message, hint) = if is_deep {
            let message = format!("line {line} of `{file}` is nested deeper than {DEEPEST} levels");
            (message, "write it with fewer tables, lists and dots in keys within each other")
        } else {
            let message = format!("`{file}` has more than {} values, tables and lists", self.values);
            (message, "take out what is not needed, or write one glob for many")
        };
        Err(Error::new(self.code, message).detail("file", file).detail("line", line).hint(hint))
    }

    /// The error for a text that is too long.
    pub fn too_long(&self, file: &str) -> Error {
        Error::new(self.code, format!("`{file}` has more than {} KiB", self.most >> 10))
            .detail("file", file)
            .detail("limit", self.most)
            .hint("take out what is not needed, or bring the file back from version control")
    }

    /// The error for a file that is not UTF-8.
    pub fn not_text(&self, file: &str) -> Error {
        Error::new(self.code, format!("`{file}` is not UTF-8")).detail("file", file).hint("save it as UTF-8")
    }
}

/// A bound of the structure, and the place where a text goes beyond it.
enum Beyond {
    Deep(usize),
    Many(usize),
}

/// The first bound that a text goes beyond; none if it keeps to both.
fn beyond(text: &str, values: usize) -> Option<Beyond> {
    // The levels of the table's header, and for each open bracket those of the key before it.
    let (mut header, mut open, mut key) = (0, Vec::new(), 0);
    let (mut begins, mut in_header, mut depth, mut found) = (true, false, 0, 0);
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Whitespace | TokenKind::Comment => continue,
            TokenKind::Newline if open.is_empty() => {
                (key, begins, in_header) = (0, true, false);
                continue;
            }
            TokenKind::LeftSquareBracket if begins => {
                (header, in_header) = (if in_header { header + 1 } else { 0 }, true)
            }
            TokenKind::Dot if in_header => header += 1,
            TokenKind::Dot => key += 1,
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                open.push(key);
                depth += key + 1;
                key = 0;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                key = open.pop().unwrap_or_default();
                depth = usize::saturating_sub(depth, key + 1);
            }
            TokenKind::Comma => key = 0,
            _ => {}
        }
        begins &= token.kind() == TokenKind::LeftSquareBracket;
        if header + depth + key > DEEPEST {
            return Some(Beyond::Deep(token.span().start()));
        }
        found += usize::from(matches!(
            token.kind(),
            TokenKind::Equals | TokenKind::Comma | TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket
        ));
        if found > values {
            return Some(Beyond::Many(token.span().start()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: TomlFile = TomlFile { most: 1 << 20, values: 7000, code: Code::InvalidPolicy };

    #[track_caller]
    fn check(text: &str, line: Option<usize>) {
        let found = FILE.check(text, "nrv.toml");
        let told = found.as_ref().err().map(|error| error.details()["line"].clone());
        assert_eq!(told, line.map(Into::into), "{}", text.chars().take(80).collect::<String>());
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_with_its_line() {
        let (fits, beyond) = (60, 70);
        let forms: [fn(usize) -> String; 20] = [
            |n| format!("a = {}", "[".repeat(n)),
            |n| format!("a = {}{}", "[".repeat(n), "]".repeat(n)),
            |n| format!("a = {}", "[\n".repeat(n)),
            |n| format!("a = {}", "{ a = ".repeat(n)),
            |n| format!("a = {}1{}", "{ a = ".repeat(n), "}".repeat(n)),
            |n| format!("a = {}", "[ { b = ".repeat(n / 2)),
            |n| format!("{}a = 1", "a.".repeat(n)),
            |n| format!("[{}a]", "a.".repeat(n)),
            |n| format!("[[{}a]]", "a.".repeat(n)),
            |n| format!("[{}a]\n{}b = 1", "a.".repeat(n / 2), "b.".repeat(n / 2)),
            |n| format!("[{}a]\nb = {}", "a.".repeat(n / 2), "[".repeat(n / 2)),
            |n| format!("[[{}a]]\n{}b = {}", "a.".repeat(n / 3), "b.".repeat(n / 3), "[".repeat(n / 3 + 1)),
            |n| format!("{}a = {}", "a.".repeat(n / 2), "[".repeat(n / 2)),
            |n| format!("a = {{ {}b = 1 }}", "b.".repeat(n)),
            |n| format!("a = {}", "{ a.b = ".repeat(n / 2)),
            |n| format!("a = [1, {}", "[ 1, ".repeat(n)),
            |n| format!("{}a = 1", "\"a\" . ".repeat(n)),
            |n| format!("{}a = 1", "'a'.".repeat(n)),
            |n| format!("a = [ # [[[\n{}", "[ # ]\n".repeat(n)),
            |n| format!("a = '''\n'''\nb = \"\"\"\"\"\"\nc = {}", "[\"]\",".repeat(n)),
        ];
        for form in forms {
            check(&form(fits), None);
            let lines = form(beyond);
            let found = FILE.check(&lines, "nrv.toml").expect_err(&lines);
            assert!(found.message().ends_with("is nested deeper than 64 levels"), "{found}");
        }
        check(&format!("# x\n\n[a]\nb = {}", "[".repeat(65)), Some(4));
    }

    #[test]
    fn a_text_with_too_many_values_is_refused() {
        let forms: [(&str, &str, &str); 6] = [
            ("", "a = 1\n", ""),
            ("", "[[a]]\n", ""),
            ("a = [", "1,", "]"),
            ("a = [", "{},", "]"),
            ("a = {", "a = [[]],", "}"),
            ("", "[a.b]\nc = { d = ['e'] }\n", ""),
        ];
        for (before, one, after) in forms {
            check(&format!("{before}{}{after}", one.repeat(500)), None);
            let error = FILE.check(&format!("{before}{}{after}", one.repeat(8000)), "nrv.toml").unwrap_err();
            assert_eq!(error.message(), "`nrv.toml` has more than 7000 values, tables and lists", "{one}");
        }
        check(&format!("a = '''{}'''\n# {}", "[1,2],".repeat(8000), "a = 1,".repeat(8000)), None);
    }

    #[test]
    fn what_lies_side_by_side_or_in_texts_is_not_nested() {
        let brackets = "[".repeat(100);
        for text in [
            &format!("a = '{brackets}' # {brackets}"),
            &format!("a = \"{brackets}\"\nb = '''\n{brackets}\n'''\nc = \"\"\"{brackets}\"\"\""),
            &"a = [[], [], { a = 1 }]\n".repeat(100),
            &format!("a = [{}]", "[], ".repeat(1000)),
            &"[a.b.c]\nd.e = 1.5\n".repeat(100),
            &format!("a = [{}]", "1.5, ".repeat(1000)),
            &format!("a = [{}]", "{ b.c = 1.5, d.e = [2.5] }, ".repeat(1000)),
            &"]".repeat(1000),
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        let long = "#".repeat(1 << 20);
        check(&long, None);
        let error = FILE.check(&(long + "#"), "nrv.toml").unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::InvalidPolicy, "`nrv.toml` has more than 1024 KiB"));
    }
}
