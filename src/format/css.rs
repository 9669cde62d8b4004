//! Finds the URLs of a style sheet, or of a `style` attribute: `url()`, `src()`, `@import` and `image-set()`.
//!
//! It reads the tokens of the standard in sequence, without recursion, and does not check their validity. `@namespace` names no
//! place and stays.

use std::ops::Range;

use cssparser::{Parser, ParserInput, Token};

use super::{
    escape::Escape,
    scan::Scan,
    table::Form,
    value::{Decoded, Value},
};
use base::{error::Error, pulse::Pulse};

/// Blocks between two calls of the pulse.
const STRIDE: usize = 1000;

/// The content of a block or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Parentheses,
    ImageSet,
    Square,
    Curly,
}

#[derive(Debug, Default)]
struct Sheet<'a> {
    css: &'a str,
    scan: Scan,
    open: Vec<Block>,
    /// True right after `url(`, `src(` or `@import`: a string is a URL.
    expects_url: bool,
    /// The number of open blocks at the start of an unfinished `@namespace`.
    in_namespace: Option<usize>,
}

/// Finds every URL.
pub fn scan(css: &str, pulse: Pulse<'_>) -> Result<Scan, Error> {
    let mut sheet = Sheet { css, ..Sheet::default() };
    if !may_hold(css.as_bytes()) {
        return Ok(sheet.scan);
    }
    let (mut at, mut n_blocks) = (0, 0_usize);
    while at < css.len() {
        if n_blocks.is_multiple_of(STRIDE) {
            pulse()?;
        }
        n_blocks += 1;
        at = sheet.read(at);
    }
    Ok(sheet.scan)
}

/// False only if there is no URL. A letter betrays `url(`, `src(` and `image-set(`, another one `@import`, and an escape may
/// stand for any.
pub fn may_hold(css: &[u8]) -> bool {
    memchr::memchr3_iter(b'(', b'@', b'\\', css).any(|at| match css[at] {
        b'(' => at > 0 && matches!(css[at - 1].to_ascii_lowercase(), b'l' | b'c' | b't'),
        b'@' => css.get(at + 1).is_some_and(|next| next.eq_ignore_ascii_case(&b'i')),
        _ => true,
    })
}

impl Sheet<'_> {
    /// Takes the tokens up to the next one that opens a block, and returns the end of that token.
    ///
    /// The parser would enter the block or skip it. It does neither if another one begins there.
    fn read(&mut self, start: usize) -> usize {
        let mut input = ParserInput::new(&self.css[start..]);
        let mut parser = Parser::new(&mut input);
        let mut at = start;
        while let Ok(token) = parser.next_including_whitespace_and_comments() {
            let token = token.clone();
            let end = start + parser.position().byte_index();
            let opens = self.token(&token, at..end);
            at = end;
            if opens {
                return at;
            }
        }
        self.css.len()
    }

    /// Takes a token; true if it opens a block.
    fn token(&mut self, token: &Token<'_>, range: Range<usize>) -> bool {
        if matches!(token, Token::WhiteSpace(_) | Token::Comment(_)) {
            return false;
        }
        let is_url = std::mem::take(&mut self.expects_url) || self.open.last() == Some(&Block::ImageSet);
        if self.in_namespace == Some(self.open.len()) && matches!(token, Token::Semicolon | Token::CurlyBracketBlock) {
            self.in_namespace = None;
        }
        match token {
            Token::QuotedString(text) if is_url => self.string(range, text),
            Token::UnquotedUrl(text) => self.unquoted(range, text),
            Token::AtKeyword(name) if name.eq_ignore_ascii_case("import") => self.expects_url = true,
            Token::AtKeyword(name) if name.eq_ignore_ascii_case("namespace") => {
                self.in_namespace = Some(self.open.len());
            }
            Token::CloseParenthesis => self.close(&[Block::Parentheses, Block::ImageSet]),
            Token::CloseSquareBracket => self.close(&[Block::Square]),
            Token::CloseCurlyBracket => self.close(&[Block::Curly]),
            _ => {}
        }
        let opened = match token {
            Token::Function(name) => {
                let is = |known: &str| name.eq_ignore_ascii_case(known);
                self.expects_url = is("url") || is("src");
                let is_set = is("image-set") || is("-webkit-image-set");
                Some(if is_set { Block::ImageSet } else { Block::Parentheses })
            }
            Token::ParenthesisBlock => Some(Block::Parentheses),
            Token::SquareBracketBlock => Some(Block::Square),
            Token::CurlyBracketBlock => Some(Block::Curly),
            _ => None,
        };
        self.open.extend(opened);
        opened.is_some()
    }

    fn close(&mut self, blocks: &[Block]) {
        if self.open.last().is_some_and(|block| blocks.contains(block)) {
            self.open.pop();
        }
        if self.in_namespace.is_some_and(|depth| self.open.len() < depth) {
            self.in_namespace = None;
        }
    }

    /// A string may lack its closing quote at the end of the sheet.
    fn string(&mut self, range: Range<usize>, text: &str) {
        let inside = range.start + 1..range.end;
        let closed = inside.start..range.end.saturating_sub(1).max(inside.start);
        self.push([closed, inside], text);
    }

    /// Likewise its parenthesis. White space around the URL is not part of it, unless it ends an escape.
    fn unquoted(&mut self, range: Range<usize>, text: &str) {
        let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0C');
        let raw = &self.css[range.clone()];
        let name = raw.find('(').map_or(raw.len(), |at| at + 1);
        let inside = raw[name..].trim_start_matches(is_space);
        let start = range.end - inside.len();
        let trimmed = |inside: &str| start..start + inside.trim_end_matches(is_space).len().max(last_escape(inside));
        self.push([trimmed(inside.strip_suffix(')').unwrap_or(inside)), trimmed(inside)], text);
    }

    /// Takes the first place with the text that the parser read.
    fn push(&mut self, places: [Range<usize>; 2], text: &str) {
        if self.in_namespace.is_some() {
            return;
        }
        let means =
            |place: &Range<usize>| Decoded::new(&self.css.as_bytes()[place.clone()], &[Escape::Css]).text == text;
        match places.into_iter().find(means) {
            Some(range) => self.scan.values.push(Value::new(range, Escape::Css, Form::Url)),
            None => self.scan.skipped = Some("it is not clear where a URL in its CSS stands".into()),
        }
    }
}

/// The end of the last escape of a text.
fn last_escape(text: &str) -> usize {
    let (mut at, mut last) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let length = Escape::Css.read(&text[at..]).map_or(1, |(length, _)| length);
        at += length;
        last = at;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(css: &str, expected: &[&str]) {
        let scan = scan(css, &|| Ok(())).unwrap();
        let found: Vec<&str> = scan.values.iter().map(|value| &css[value.range.clone()]).collect();
        assert_eq!((found.as_slice(), scan.skipped), (expected, None), "{css}");
    }

    #[test]
    fn urls_are_found_where_they_stand() {
        check("a{b:url(x);c:url( 'y' ) url(\"z\")}", &["x", "y", "z"]);
        check("@import 'x';@import url(y) screen;@IMPORT/**/\"z\"", &["x", "y", "z"]);
        check("a{b:URL(x) \\75 rl(y) u\\72l('z')}", &["x", "y", "z"]);
        check("a{b:src('x') src(y) src( /**/ \"z\")}", &["x", "z"]);
        check(
            "a{b:image-set('x' 1x, url(y) 2x, 'z' type('image/png')) -WEBKIT-image-set(\"w\" 1x)}",
            &["x", "y", "z", "w"],
        );
        check("a{b:url(\t\n x\\29 \r\n)}url()url( )", &["x\\29 ", "", ""]);
        check("--x:{url(x)}a[url(y)]{(url(z))}", &["x", "y", "z"]);
        check("b:url(http://old.example.com/a)", &["http://old.example.com/a"]);
    }

    #[test]
    fn what_is_no_url_is_left_out() {
        check("/*url(x)*/a{b:'url(x)' image('x') attr(x) format('x')}'x'\"@import 'x'\"", &[]);
        check("@namespace url(x);@namespace svg 'x';a{b:url(y)}", &["y"]);
        check("{@namespace x}a{b:url(y)}@namespace {c:url(z)}", &["y", "z"]);
        check("a{b:url(x y) url(x'y) url(x\n'y) curl(x) url(x\\\n)} \"url(y)", &[]);
        check("@import x 'y';@charset 'x';@font-face{src:local('x')}", &[]);
        check("a{b:image-set(type('x'))}", &[]);
    }

    #[test]
    fn a_sheet_may_end_anywhere() {
        check("url(x", &["x"]);
        check("url( x ", &["x"]);
        check("url(x\\)", &["x\\)"]);
        check("url('x", &["x"]);
        check("url('x\\'", &["x\\'"]);
        check("@import '", &[""]);
    }
}
