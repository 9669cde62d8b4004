//! Redirections, and the texts of here-documents.

use std::{borrow::Cow, cell::OnceCell, rc::Rc};

use memchr::memchr;

use super::{
    Direction, Part, Redirect, Word,
    parser::{Parsed, Parser, Pending},
};

impl<'a> Parser<'a> {
    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            let start = self.at;
            let mut end = self.bytes.len();
            while self.at < self.bytes.len() {
                let here = self.at;
                let line = self.document_line(pending.literal);
                let line = if pending.tabs { line.trim_start_matches('\t') } else { &line };
                if line.trim_end_matches('\r') == pending.delimiter {
                    end = here;
                    break;
                }
            }
            let text = &self.text[start..end.max(start)];
            let word = match pending.literal {
                true => Word::literal(text),
                false => self.deeper(|parser| parser.inner(text)?.here_document())?,
            };
            // Each is filled once: pending ones were taken off the list.
            let _ = pending.text.set(word);
        }
        Ok(())
    }

    /// A line of a here-document without its end. Unless the text is literal, a backslash joins it with the next one.
    fn document_line(&mut self, literal: bool) -> Cow<'a, str> {
        let mut line = Cow::Borrowed("");
        loop {
            let rest = &self.text[self.at..];
            let length = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            self.at += (length + 1).min(rest.len());
            let piece = &rest[..length];
            let backslashes = piece.bytes().rev().take_while(|byte| *byte == b'\\').count();
            if literal || backslashes % 2 == 0 || length == rest.len() {
                line += piece;
                return line;
            }
            line += &piece[..length - 1];
        }
    }

    /// One redirection, if one is next.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> Parsed<bool> {
        let rest = &self.bytes[self.at..];
        let number = descriptor(rest);
        let after = &rest[number..];
        let both = number == 0 && after.starts_with(b"&>");
        if !both && !matches!(after.first(), Some(b'<' | b'>')) || after.starts_with(b"<(") || after.starts_with(b">(")
        {
            return Ok(false);
        }
        self.at += number + usize::from(both);
        if self.ahead("<<") && !self.ahead("<<<") {
            self.here(redirects)?;
            return Ok(true);
        }
        let kinds = [
            ("<<<", Direction::Text),
            (">>", Direction::Append),
            (">&", Direction::Duplicate),
            ("<&", Direction::Duplicate),
            (">|", Direction::Write),
            ("<>", Direction::Write),
            (">!", Direction::Write),
            (">", Direction::Write),
            ("<", Direction::Read),
        ];
        let (sign, kind) = kinds.into_iter().find(|(text, _)| self.take(text)).unwrap_or(("<", Direction::Read));
        let before = self.at;
        self.blanks();
        let start = self.at;
        let closes = kind == Direction::Duplicate && self.take("-");
        let target = if closes { Word::literal("-") } else { self.word()? };
        // For zsh the next word is the target; bash writes to the file `!`, and the word is none of the redirection.
        if sign == ">!" && start > before {
            self.at = start;
        }
        let number = target.bare().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'));
        let kind = if kind == Direction::Duplicate && !number && !closes { Direction::Write } else { kind };
        redirects.push(Redirect { kind, target });
        Ok(true)
    }

    fn here(&mut self, redirects: &mut Vec<Redirect>) -> Parsed<()> {
        self.at += 2;
        let tabs = self.take("-");
        self.blanks();
        let (mut delimiter, mut literal) = (String::new(), false);
        for part in self.word()?.parts {
            match part {
                Part::Text { text: piece, quoted } | Part::Variable { raw: piece, quoted, .. } => {
                    delimiter.push_str(&piece);
                    literal |= quoted;
                }
                Part::Command { .. } | Part::Process { .. } | Part::Arithmetic(_) => {
                    return Err("the end of a here-document is no plain word");
                }
            }
        }
        let text = Rc::new(OnceCell::new());
        self.pending.push(Pending { delimiter, literal, tabs, text: Rc::clone(&text) });
        redirects.push(Redirect { kind: Direction::Here(text), target: Word::default() });
        Ok(())
    }
}

/// The length of the number, or of the variable in braces, before a redirection.
fn descriptor(rest: &[u8]) -> usize {
    let name = rest.strip_prefix(b"{").unwrap_or_default();
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    match (length, &name[length..]) {
        (1.., [b'}', b'<' | b'>', ..]) => length + 2,
        _ => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
    }
}
