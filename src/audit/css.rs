//! Reads style sheets by the tokens of CSS Syntax Level 3.

use super::{
    page::{Page, strip},
    spelling::{Layer, Spelled},
};

/// An open construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// `url(` before a string, or `src(`, until the string has come.
    Address,
    /// `image-set(`: every string in it is an address.
    Images,
    /// Another function or a parenthesis.
    Round,
    Square,
    Curly,
}

/// The effect of an at-rule on the next address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    None,
    /// A string is an address.
    Import,
    /// Addresses are names, as long as at least this many constructs are open.
    Namespace(usize),
}

struct Reader<'a, 'p> {
    bytes: &'a [u8],
    at: usize,
    /// The end of the bytes that are recorded or taken.
    copied: usize,
    open: Vec<Open>,
    rule: Rule,
    urls: Vec<(usize, usize)>,
    page: &'p mut Page,
}

/// Reads a style sheet, or the content of a style attribute; the places of its URLs in their spelling.
pub fn read(bytes: &[u8], page: &mut Page) -> Vec<(usize, usize)> {
    let mut reader = Reader { bytes, at: 0, copied: 0, open: Vec::new(), rule: Rule::None, urls: Vec::new(), page };
    while reader.at < bytes.len() {
        reader.token();
    }
    reader.page.note(b'v', &bytes[reader.copied.min(bytes.len())..]);
    reader.urls
}

impl Reader<'_, '_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn token(&mut self) {
        match self.peek(0) {
            b'/' if self.peek(1) == b'*' => {
                let end = memchr::memmem::find(&self.bytes[self.at + 2..], b"*/");
                self.at = end.map_or(self.bytes.len(), |length| self.at + 2 + length + 2);
                return;
            }
            byte if is_space(byte) => {
                self.at += 1;
                return;
            }
            b'"' | b'\'' => return self.string(),
            b'#' if is_name(self.peek(1)) || self.escape(1) => {
                self.at += 1;
                self.name();
            }
            b'@' if self.begins_name(1) => return self.rule(),
            byte if byte.is_ascii_digit() || self.begins_number() => self.number(),
            b'-' if self.peek(1) == b'-' && self.peek(2) == b'>' => self.at += 3,
            b'<' if self.bytes[self.at..].starts_with(b"<!--") => self.at += 4,
            _ if self.begins_name(0) => return self.named(),
            b'(' => self.enter(Open::Round),
            b'[' => self.enter(Open::Square),
            b'{' => self.enter(Open::Curly),
            b')' => self.leave(&[Open::Address, Open::Images, Open::Round]),
            b']' => self.leave(&[Open::Square]),
            b'}' => self.leave(&[Open::Curly]),
            byte => {
                if byte == b';' {
                    self.ends_rule();
                }
                self.at += 1;
            }
        }
        self.other();
    }

    fn rule(&mut self) {
        self.at += 1;
        let name = self.name();
        match (name.as_slice(), self.rule) {
            (b"namespace", _) => self.rule = Rule::Namespace(self.open.len()),
            (_, Rule::Namespace(_)) => self.other(),
            (b"import", _) => self.rule = Rule::Import,
            (_, _) => self.other(),
        }
    }

    fn enter(&mut self, open: Open) {
        self.at += 1;
        if open == Open::Curly {
            self.ends_rule();
        }
        self.open.push(open);
    }

    /// A semicolon or a block ends a rule at the top level.
    fn ends_rule(&mut self) {
        if matches!(self.rule, Rule::Namespace(depth) if self.open.len() <= depth) {
            self.rule = Rule::None;
        }
    }

    fn leave(&mut self, opened: &[Open]) {
        self.at += 1;
        if self.open.last().is_some_and(|last| opened.contains(last)) {
            self.open.pop();
            if matches!(self.rule, Rule::Namespace(depth) if self.open.len() < depth) {
                self.rule = Rule::None;
            }
        }
    }

    /// Another token stands where a string might have been an address.
    fn other(&mut self) {
        if self.rule == Rule::Import {
            self.rule = Rule::None;
        }
        if let Some(open @ Open::Address) = self.open.last_mut() {
            *open = Open::Round;
        }
    }

    fn escape(&self, ahead: usize) -> bool {
        self.peek(ahead) == b'\\' && self.at + ahead + 1 < self.bytes.len() && !is_line_end(self.peek(ahead + 1))
    }

    fn begins_name(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            b'-' => is_name_start(self.peek(ahead + 1)) || self.peek(ahead + 1) == b'-' || self.escape(ahead + 1),
            byte => is_name_start(byte) || self.escape(ahead),
        }
    }

    fn begins_number(&self) -> bool {
        let after_sign = usize::from(matches!(self.peek(0), b'+' | b'-'));
        let digit = |ahead: usize| self.peek(ahead).is_ascii_digit();
        matches!(self.peek(0), b'+' | b'-' | b'.')
            && (digit(after_sign) || self.peek(after_sign) == b'.' && digit(after_sign + 1))
    }

    fn number(&mut self) {
        self.at += usize::from(matches!(self.peek(0), b'+' | b'-'));
        let digits = |reader: &mut Self| {
            while reader.peek(0).is_ascii_digit() {
                reader.at += 1;
            }
        };
        digits(self);
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            digits(self);
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            digits(self);
        }
        if self.begins_name(0) {
            self.name();
        }
    }

    /// Skips a name; returns it in lower case.
    fn name(&mut self) -> Vec<u8> {
        let start = self.at;
        while self.at < self.bytes.len() {
            if is_name(self.peek(0)) {
                self.at += 1;
            } else if self.escape(0) {
                self.at += self.escaped();
            } else {
                break;
            }
        }
        let mut name = Spelled::decode(&self.bytes[start..self.at], &[Layer::Css]).bytes;
        name.make_ascii_lowercase();
        name
    }

    /// The length of the escape.
    fn escaped(&self) -> usize {
        let (_, digits) = super::spelling::number(&self.bytes[self.at + 1..], 16, 6);
        match digits {
            0 => 2,
            _ if self.peek(1 + digits) == b'\r' && self.peek(2 + digits) == b'\n' => 3 + digits,
            _ => 1 + digits + usize::from(is_space(self.peek(1 + digits))),
        }
    }

    fn named(&mut self) {
        let name = self.name();
        if self.peek(0) != b'(' {
            return self.other();
        }
        self.at += 1;
        let is_url = name == b"url";
        if is_url {
            let ahead = self.bytes[self.at..].iter().take_while(|byte| is_space(**byte)).count();
            if !matches!(self.peek(ahead), b'"' | b'\'') {
                self.unquoted();
                return self.other();
            }
        }
        self.other();
        self.open.push(match name.as_slice() {
            b"url" | b"src" => Open::Address,
            b"image-set" | b"-webkit-image-set" => Open::Images,
            _ => Open::Round,
        });
    }

    /// The text after `url(` without a quotation mark.
    fn unquoted(&mut self) {
        while is_space(self.peek(0)) {
            self.at += 1;
        }
        let start = self.at;
        let mut end = start;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b')' => break,
                byte if is_space(byte) => self.at += 1,
                b'"' | b'\'' | b'(' | 0..=8 | 11 | 14..=31 | 127 => return self.remnants(),
                b'\\' if !self.escape(0) => return self.remnants(),
                _ if end < self.at && end > start => return self.remnants(),
                byte => {
                    self.at += if byte == b'\\' { self.escaped() } else { 1 };
                    end = self.at.min(self.bytes.len());
                }
            }
        }
        self.address(start, end);
        self.at += 1;
    }

    /// Skips the rest of an invalid `url(`.
    fn remnants(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b')' {
            self.at += if self.escape(0) { self.escaped() } else { 1 };
        }
        self.at += 1;
    }

    fn string(&mut self) {
        let quote = self.peek(0);
        self.at += 1;
        let start = self.at;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                byte if byte == quote => break,
                // An unterminated string is not a string.
                byte if is_line_end(byte) => return self.other(),
                b'\\' if self.escape(0) => self.at += self.escaped(),
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.at += 3,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.bytes.len());
        let wanted = match self.open.last() {
            Some(Open::Address | Open::Images) => true,
            _ => self.rule == Rule::Import,
        };
        if wanted {
            self.address(start, end);
        }
        self.at = end + 1;
        self.other();
    }

    /// Takes a URL, unless it is a name.
    fn address(&mut self, start: usize, end: usize) {
        let text = Spelled::decode(&self.bytes[start..end], &[Layer::Css]);
        let Some((first, last)) = strip(&text.bytes, 0, text.bytes.len()) else { return };
        if matches!(self.rule, Rule::Namespace(_)) {
            return;
        }
        let raw = text.raw(first..last);
        self.page.note(b'v', &self.bytes[self.copied..start + raw.start]);
        self.page.link(&text.bytes[first..last]);
        self.copied = start + raw.end;
        self.urls.push((start + raw.start, self.copied));
    }
}

fn is_space(byte: u8) -> bool {
    b"\t\n\x0c\r ".contains(&byte)
}

fn is_line_end(byte: u8) -> bool {
    b"\n\x0c\r".contains(&byte)
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(css: &str, expected: &[&str]) {
        let mut page = Page::default();
        read(css.as_bytes(), &mut page);
        let found: Vec<String> = page.links.iter().map(super::super::link::Link::shown).collect();
        assert_eq!(found, expected, "{css}");
    }

    #[test]
    fn addresses_are_taken() {
        check("a{b:url(c)} d{e:URL( 'f' )g:url(\"h\" i)}", &["c", "f", "h"]);
        check("@import 'a';@import/**/\"b\" screen;@import url(c);@IMPORT url('d');", &["a", "b", "c", "d"]);
        check("a{b:image-set('c' 1x, url(d) 2x, \"e\" type('f'))}", &["c", "d", "e"]);
        check("a{b:src('c');d:-webkit-image-set(url(e) 1x)}", &["c", "e"]);
        check("a{b:\\75 rl(\\68 ttp\\:c);d:url('e\\\nf')}", &["http:c", "ef"]);
        check("a{b:url(c", &["c"]);
        check("a{b:url('c", &["c"]);
        check("a{--b:url(c);d:url( e\n)}", &["c", "e"]);
        check("<!-- a{b:url(c)} -->", &["c"]);
    }

    #[test]
    fn other_places_are_left() {
        check("/* url(a) */ b{content:'url(c)'} @namespace url(d); @namespace e 'f';", &[]);
        check("a{b:url(c d);e:url(f\"g);h:2url(i);j:#url(k);l:xurl(m)}", &[]);
        check("a{b:attr('c');d:image('e');f:src(g);h:url()}", &[]);
        check("@media 'a'{b{c:d('e')}} @charset 'f'; @import g 'h'; @import 'i\n';", &[]);
        check("a{b:url(c 'd');e:url('f' 'g')}", &["f"]);
        check("@namespace url(a); b{c:url(d)}", &["d"]);
    }

    #[test]
    fn the_rest_is_every_other_byte() {
        let rest = |css: &str| {
            let mut page = Page::default();
            read(css.as_bytes(), &mut page);
            page.rest
        };
        assert_eq!(rest("a{b:url( c )}/* d */"), rest("a{b:url( e )}/* d */"));
        for other in ["a{b:url(c )}/* d */", "a{b:url( c )}/* e */", "a{b:url( 'c' )}/* d */", "a {b:url( c )}/* d */"]
        {
            assert_ne!(rest("a{b:url( c )}/* d */"), rest(other));
        }
    }
}
