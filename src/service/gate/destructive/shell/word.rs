//! Words: quoting, and the parts that a shell would replace.

use memchr::memchr;

use super::{
    Operator, Part, Script, Word,
    byte_set::{Bytes, bytes},
    parser::{Parsed, Parser},
};

/// The bytes that end plain text in a word, in double quotes, and in `${…}`.
const WORD: Bytes = bytes(b" \t\r\n;&|<>()'\"\\$`\x0b\x0c");
const QUOTED: Bytes = bytes(b"\"\\$`");
const INDEX: Bytes = bytes(b"[]'\"\\$`");
const PARAMETER: Bytes = bytes(b" \t\r\n;&|<>()'\"\\$`}\x0b\x0c");

/// Collects the parts of a word; neighbouring text of one kind becomes one part.
#[derive(Default)]
struct Builder {
    parts: Vec<Part>,
}

impl Builder {
    fn text(&mut self, piece: &str, is_quoted: bool) {
        match self.parts.last_mut() {
            Some(Part::Text { text, quoted }) if *quoted == is_quoted => text.push_str(piece),
            _ => {
                // Most words are one piece of text.
                if self.parts.is_empty() {
                    self.parts.reserve_exact(1);
                }
                self.parts.push(Part::Text { text: piece.to_owned(), quoted: is_quoted });
            }
        }
    }
}

impl Parser<'_> {
    /// One word, up to a blank or an operator. It must not be empty.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let mut builder = Builder::default();
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.ahead_of_process() => self.process(&mut builder)?,
                b'<' | b'>' => break,
                b'(' => {
                    let before = self.at.checked_sub(1).filter(|at| *at >= start).map(|at| self.bytes[at]);
                    match before {
                        Some(b'@' | b'?' | b'*' | b'+' | b'!') => self.pattern(&mut builder)?,
                        Some(b'=') => self.pattern(&mut builder)?,
                        _ => break,
                    }
                }
                _ => self.piece(&mut builder)?,
            }
        }
        if self.at == start { Err("a word is missing") } else { Ok(Word { parts: builder.parts }) }
    }

    /// True if `<(` or `>(` is next.
    pub(super) fn ahead_of_process(&self) -> bool {
        self.ahead("<(") || self.ahead(">(")
    }

    /// `<(…)` or `>(…)`.
    fn process(&mut self, builder: &mut Builder) -> Parsed<()> {
        let start = self.at;
        self.at += 2;
        let script = self.substituted()?;
        self.close(")")?;
        let raw = self.text[start..self.at].to_owned();
        builder.parts.push(Part::Process { script, raw });
        Ok(())
    }

    /// Parentheses inside a word: a pattern, or a list of values.
    fn pattern(&mut self, builder: &mut Builder) -> Parsed<()> {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' | b')' => {
                    self.at += 1;
                    open = if byte == b'(' { open + 1 } else { open - 1 };
                    builder.text(if byte == b'(' { "(" } else { ")" }, false);
                    if open == 0 {
                        return Ok(());
                    }
                }
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | 0x0b | 0x0c => {
                    self.at += 1;
                    builder.text(if byte == b'|' { "|" } else { " " }, false);
                }
                _ => self.piece(builder)?,
            }
        }
        Err("something is opened and not closed")
    }

    /// A quoted string, an escaped character, an expansion or plain text.
    fn piece(&mut self, builder: &mut Builder) -> Parsed<()> {
        match self.peek() {
            Some(b'\'') => {
                self.at += 1;
                let rest = &self.text[self.at..];
                let end = rest.find('\'').ok_or("a quote is not closed")?;
                builder.text(&rest[..end], true);
                self.at += end + 1;
            }
            Some(b'"') => self.double_quoted(builder)?,
            Some(b'\\') => {
                self.at += 1;
                let Some(next) = self.text[self.at..].chars().next() else {
                    builder.text("\\", false);
                    return Ok(());
                };
                self.at += next.len_utf8();
                if next != '\n' {
                    builder.text(next.encode_utf8(&mut [0; 4]), true);
                }
            }
            Some(b'$') if self.ahead("$'") => {
                self.at += 2;
                let text = self.ansi()?;
                builder.text(&text, true);
            }
            Some(b'$') if self.ahead("$\"") => {
                self.at += 1;
                self.double_quoted(builder)?;
            }
            Some(b'$') => self.dollar(builder, false)?,
            Some(b'`') => self.backticks(builder, false)?,
            _ => self.plain(builder, &WORD, false),
        }
        Ok(())
    }

    /// Text up to one of `ends`, at least one character.
    fn plain(&mut self, builder: &mut Builder, ends: &Bytes, quoted: bool) {
        let rest = &self.bytes[self.at..];
        let mut length = rest.iter().skip(1).position(|byte| ends[usize::from(*byte)]).map_or(rest.len(), |at| at + 1);
        while !self.text.is_char_boundary(self.at + length) {
            length += 1;
        }
        builder.text(&self.text[self.at..self.at + length], quoted);
        self.at += length;
    }

    fn double_quoted(&mut self, builder: &mut Builder) -> Parsed<()> {
        self.at += 1;
        builder.text("", true);
        loop {
            match self.peek() {
                None => return Err("a quote is not closed"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.inside_quotes(builder)?,
            }
        }
    }

    /// Text in which only `$`, backticks and backslashes are special.
    fn inside_quotes(&mut self, builder: &mut Builder) -> Parsed<()> {
        match self.peek() {
            Some(b'\\') => {
                let next = self.text[self.at + 1..].chars().next();
                match next {
                    Some('\n') => {}
                    Some(next @ ('"' | '$' | '`' | '\\')) => builder.text(next.encode_utf8(&mut [0; 4]), true),
                    Some(next) => {
                        builder.text("\\", true);
                        builder.text(next.encode_utf8(&mut [0; 4]), true);
                    }
                    None => builder.text("\\", true),
                }
                self.at += 1 + next.map_or(0, char::len_utf8);
            }
            Some(b'$') => self.dollar(builder, true)?,
            Some(b'`') => self.backticks(builder, true)?,
            _ => self.plain(builder, &QUOTED, true),
        }
        Ok(())
    }

    /// The text of a here-document with expansions.
    pub(super) fn here_document(mut self) -> Parsed<Word> {
        let mut builder = Builder::default();
        while self.at < self.bytes.len() {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    builder.text("\"", true);
                }
                _ => self.inside_quotes(&mut builder)?,
            }
        }
        Ok(Word { parts: builder.parts })
    }

    /// `$'…'`, after its opening.
    fn ansi(&mut self) -> Parsed<String> {
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None => return Err("a quote is not closed"),
                Some(b'\'') => {
                    self.at += 1;
                    // A NUL byte ends the string.
                    let length = memchr(0, &bytes).unwrap_or(bytes.len());
                    return Ok(String::from_utf8_lossy(&bytes[..length]).into_owned());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(&mut bytes);
                }
                Some(byte) => {
                    self.at += 1;
                    bytes.push(byte);
                }
            }
        }
    }

    /// A list of commands inside a word. Here-documents from before it begin after the line that holds its end.
    fn substituted(&mut self) -> Parsed<Script> {
        let outer = std::mem::take(&mut self.pending);
        let script = self.deeper(Self::list)?;
        let inner = std::mem::replace(&mut self.pending, outer);
        self.pending.extend(inner);
        Ok(script)
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        let (radix, most) = match byte {
            b'x' => (16, 2),
            b'u' => (16, 4),
            b'U' => (16, 8),
            b'0'..=b'7' => {
                self.at -= 1;
                (8, 3)
            }
            b'n' => return bytes.push(b'\n'),
            b't' => return bytes.push(b'\t'),
            b'r' => return bytes.push(b'\r'),
            b'e' | b'E' => return bytes.push(0x1b),
            b'a' | b'b' | b'f' | b'v' => return bytes.push(b' '),
            _ => return bytes.push(byte),
        };
        let in_braces = byte == b'x' && self.take("{");
        let digits = self.bytes[self.at..].iter().take(if in_braces { 8 } else { most });
        let count = digits.take_while(|byte| char::from(**byte).is_digit(radix)).count();
        let number = u32::from_str_radix(&self.text[self.at..self.at + count], radix).unwrap_or_default();
        self.at += count;
        if in_braces {
            self.take("}");
        }
        match byte {
            b'u' | b'U' => {
                let character = char::from_u32(number).unwrap_or('\u{fffd}');
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => bytes.push(u8::try_from(number & 0xff).unwrap_or_default()),
        }
    }

    /// An expansion that begins with `$`.
    fn dollar(&mut self, builder: &mut Builder, quoted: bool) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        while self.take("\\\n") {}
        let inside = self.at;
        if self.take("((") {
            if let Ok(word) = self.arithmetic() {
                builder.parts.push(Part::Arithmetic(word));
                return Ok(());
            }
            self.again(inside)?;
        }
        if self.take("(") {
            let script = self.substituted()?;
            self.close(")")?;
            let raw = self.text[start..self.at].to_owned();
            builder.parts.push(Part::Command { script, raw, quoted });
        } else if self.ahead("[") {
            match self.index() {
                Ok(word) => builder.parts.push(Part::Arithmetic(word)),
                Err(_) => {
                    self.spend(self.at - inside)?;
                    self.at = inside;
                    builder.text("$", quoted);
                }
            }
        } else if self.take("{") && matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            self.take("|");
            let script = self.substituted()?;
            self.close("}")?;
            let raw = self.text[start..self.at].to_owned();
            builder.parts.push(Part::Command { script, raw, quoted });
        } else if self.at > inside {
            let (name, operator) = self.deeper(|parser| parser.parameter(quoted))?;
            let raw = self.text[start..self.at].to_owned();
            builder.parts.push(Part::Variable { name, operator, raw, quoted });
        } else {
            let rest = &self.bytes[inside..];
            let length = match rest.first() {
                Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                    rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
                }
                Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(byte) => 1,
                _ => 0,
            };
            self.at = inside + length;
            match length {
                0 => builder.text("$", quoted),
                _ => builder.parts.push(Part::Variable {
                    name: self.text[inside..self.at].to_owned(),
                    operator: Operator::Plain,
                    raw: format!("${}", &self.text[inside..self.at]),
                    quoted,
                }),
            }
        }
        Ok(())
    }

    /// The inside of `${…}` after its opening, and the closing brace.
    fn parameter(&mut self, quoted: bool) -> Parsed<(String, Operator)> {
        let rest = &self.bytes[self.at..];
        let mut length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        if length == 0 && rest.first().is_some_and(|byte| b"@*#?$!-".contains(byte)) {
            length = 1;
        }
        let mut name = self.text[self.at..self.at + length].to_owned();
        self.at += length;
        // A place in a list, or all of them, belongs to the name.
        let place = self.bytes.get(self.at + 1..).unwrap_or_default();
        let inner = place.iter().take_while(|byte| byte.is_ascii_digit() || b"@*".contains(byte)).count();
        if length > 0 && inner > 0 && self.peek() == Some(b'[') && place.get(inner) == Some(&b']') {
            name.push_str(&self.text[self.at..self.at + inner + 2]);
            self.at += inner + 2;
        }
        let signs = [":-", ":=", ":+", "-", "=", "+"];
        let sign = signs.into_iter().find(|sign| self.take(sign)).unwrap_or_default();
        // Between double quotes only patterns know other quotes.
        let is_literal = quoted && (!sign.is_empty() || !self.peek().is_some_and(|byte| b"#%/^,".contains(&byte)));
        let mut builder = Builder::default();
        loop {
            match self.peek() {
                None => return Err("something is opened and not closed"),
                Some(b'}') => break,
                Some(b'<' | b'>') if !quoted && self.ahead_of_process() => self.process(&mut builder)?,
                Some(b'$') if is_literal => self.dollar(&mut builder, true)?,
                Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | 0x0b | 0x0c) => {
                    builder.text(&self.text[self.at..=self.at], false);
                    self.at += 1;
                }
                Some(b'\'') if is_literal => {
                    builder.text("'", true);
                    self.at += 1;
                }
                Some(b'\'' | b'"' | b'\\' | b'$' | b'`') => self.piece(&mut builder)?,
                Some(_) => self.plain(&mut builder, &PARAMETER, false),
            }
        }
        self.at += 1;
        let word = Word { parts: builder.parts };
        let operator = match sign {
            ":-" | "-" | ":=" | "=" => Operator::Default(word),
            ":+" | "+" => Operator::Alternative(word),
            _ if word.parts.is_empty() => Operator::Plain,
            _ => Operator::Other(word),
        };
        Ok((name, operator))
    }

    /// The inside of `((…))` after its opening, and the closing parentheses.
    pub(super) fn arithmetic(&mut self) -> Parsed<Word> {
        self.deeper(|parser| {
            let (mut builder, mut open, mut in_quotes) = (Builder::default(), 0_usize, false);
            loop {
                match parser.peek() {
                    // They hide parentheses, but no substitutions.
                    Some(b'\'') => {
                        in_quotes = !in_quotes;
                        parser.at += 1;
                    }
                    Some(b'(' | b')') if in_quotes => parser.at += 1,
                    None => return Err("something is opened and not closed"),
                    Some(b')') if open == 0 => {
                        parser.close("))")?;
                        return Ok(Word { parts: builder.parts });
                    }
                    Some(byte @ (b'(' | b')')) => {
                        open = if byte == b'(' { open + 1 } else { open - 1 };
                        parser.at += 1;
                    }
                    Some(b'$') => parser.dollar(&mut builder, true)?,
                    Some(b'`' | b'"' | b'\\') => parser.piece(&mut builder)?,
                    Some(_) => parser.at += 1,
                }
            }
        })
    }

    /// `[…]` after a name.
    pub(super) fn index(&mut self) -> Parsed<Word> {
        let (mut builder, mut open) = (Builder::default(), 0_usize);
        loop {
            match self.peek() {
                None => return Err("something is opened and not closed"),
                Some(byte @ (b'[' | b']')) => {
                    self.at += 1;
                    open = if byte == b'[' { open + 1 } else { open - 1 };
                    if open == 0 {
                        return Ok(Word { parts: builder.parts });
                    }
                    if open > 1 || byte == b']' {
                        builder.text(if byte == b'[' { "[" } else { "]" }, false);
                    }
                }
                Some(b'\'' | b'"' | b'\\' | b'$' | b'`') => self.piece(&mut builder)?,
                Some(_) => self.plain(&mut builder, &INDEX, false),
            }
        }
    }

    fn backticks(&mut self, builder: &mut Builder, quoted: bool) -> Parsed<()> {
        self.at += 1;
        let mut source = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find(['`', '\\']) else { return Err("a quote is not closed") };
            source.push_str(&rest[..length]);
            self.at += length + 1;
            if rest.as_bytes()[length] == b'`' {
                break;
            }
            let next = rest[length + 1..].chars().next().ok_or("a quote is not closed")?;
            self.at += next.len_utf8();
            if !(matches!(next, '`' | '\\' | '$') || quoted && next == '"') {
                source.push('\\');
            }
            source.push(next);
        }
        let script = self.deeper(|parser| parser.inner(&source)?.all())?;
        builder.parts.push(Part::Command { script, raw: format!("$({source})"), quoted });
        Ok(())
    }
}
