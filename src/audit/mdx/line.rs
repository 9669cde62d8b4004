//! The lines of MDX: the programs in each are masked, and the rest is copied.

use std::{collections::BTreeSet, ops::Range};

use super::{
    block::{self, Container, Cursor},
    masked::{Found, Masked, bare},
    script::{self, Script, Tag},
};
use crate::definition;

/// The treatment of a part that goes over several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// It is code or a destination, and stays.
    Copy,
    /// It is a program in running text, which is a word then.
    Word,
    /// It is a program by itself, which is gone then.
    Blank,
    /// It is a program by itself at the beginning of an item, which would be empty without it.
    Rule,
}

/// Tags and expressions that stand by themselves.
struct Flow {
    end: usize,
    programs: Vec<Range<usize>>,
    tags: Vec<Tag>,
}

/// Masks a page line by line.
pub(super) struct Masker<'a> {
    bytes: &'a [u8],
    masked: Masked,
    out: Vec<u8>,
    containers: Vec<Container>,
    in_paragraph: bool,
    fence: Option<(u8, usize)>,
    /// The part that has begun, with its end.
    open: Option<(Range<usize>, Fill)>,
    /// The number of brackets that are open in the paragraph.
    brackets: usize,
    /// The end of the paragraph, once it was looked for.
    paragraph_end: Option<usize>,
    /// The lengths of signs of code that do not occur again in the paragraph.
    unclosed: BTreeSet<usize>,
    /// The number of the line.
    number: usize,
    found: Found,
    source: &'a str,
}

impl<'a> Masker<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Masker {
            bytes: source.as_bytes(),
            masked: Masked::default(),
            out: Vec::with_capacity(source.len()),
            containers: Vec::new(),
            in_paragraph: false,
            fence: None,
            open: None,
            brackets: 0,
            paragraph_end: None,
            unclosed: BTreeSet::new(),
            number: 1,
            found: Found::default(),
            source,
        }
    }

    pub(super) fn finish(mut self) -> (Masked, Found) {
        self.masked.text = String::from_utf8_lossy(&self.out).into_owned();
        (self.masked, self.found)
    }

    /// Copies a part of the source.
    pub(super) fn copy(&mut self, range: Range<usize>) {
        self.masked.runs.push((self.out.len(), range.start));
        self.number += memchr::memchr_iter(b'\n', &self.bytes[range.clone()]).count();
        self.out.extend_from_slice(&self.bytes[range]);
    }

    /// Reads a line without its end; none if a program in it does not end.
    pub(super) fn line(&mut self, range: Range<usize>) -> Option<()> {
        let mut cursor = Cursor::of(&self.bytes[range.clone()]);
        let passed = cursor.pass(&self.containers);
        if let Some((part, fill)) = self.open.clone() {
            self.out.extend(block::margin(&self.containers[..passed]));
            let from = range.start + cursor.rest_at();
            let end = self.part((part, fill), from.min(range.end), range.end);
            return if end < range.end && matches!(fill, Fill::Copy | Fill::Word) {
                self.text(end..range.end, range.end)
            } else {
                Some(())
            };
        }
        let is_whole = passed == self.containers.len();
        if let Some(fence) = self.fence.filter(|_| is_whole) {
            self.out.extend(block::margin(&self.containers));
            let is_closing = block::is_closing(cursor.rest(), fence);
            let from = if is_closing { cursor.rest_at() } else { cursor.at };
            self.copy(range.start + from..range.end);
            self.fence = self.fence.filter(|_| !is_closing);
            return Some(());
        }
        self.fence = None;
        let begins = { cursor }.begin(false, passed).is_some() || block::interrupts(cursor.rest());
        let is_lazy = !is_whole && self.in_paragraph && !begins && !self.is_flow(range.start + cursor.at);
        if !is_whole && !is_lazy {
            self.containers.truncate(passed);
            self.in_paragraph = false;
        }
        self.out.extend(block::margin(&self.containers[..passed.min(self.containers.len())]));
        let mut is_item = false;
        while !is_lazy && let Some((container, mark)) = cursor.begin(self.in_paragraph, self.containers.len()) {
            self.out.extend(mark);
            self.containers.push(container);
            self.in_paragraph = false;
            is_item = container != Container::Quote;
        }
        let from = range.start + cursor.rest_at();
        self.block(from..range.end, range.start, is_item)
    }

    /// True if a tag or an expression begins behind white space there.
    fn may_be_program(&self, at: usize) -> bool {
        let rest = self.bytes[at..].trim_ascii_start();
        matches!(rest, [b'{', ..] | [b'<', b'/' | b'>', ..])
            || matches!(rest, [b'<', next, ..] if script::is_start(*next))
    }

    fn script(&self) -> Script<'a> {
        let quotes = self.containers.iter().filter(|container| **container == Container::Quote).count();
        Script { bytes: self.bytes, quotes, depth: 0 }
    }

    /// Reads the text of a line, which begins at a place.
    fn block(&mut self, text: Range<usize>, line: usize, is_item: bool) -> Option<()> {
        let rest = &self.bytes[text.clone()];
        let was_in_paragraph = std::mem::replace(&mut self.in_paragraph, false);
        if !was_in_paragraph {
            (self.brackets, self.paragraph_end) = (0, None);
            self.unclosed.clear();
        }
        if rest.is_empty() {
            return Some(());
        }
        if let Some(fence) = block::fence(rest) {
            self.fence = Some(fence);
            self.found.fences.push(self.number);
            self.copy(text);
            return Some(());
        }
        let is_first = text.start == line || self.bytes[..text.start] == *b"\xef\xbb\xbf";
        if is_first && !was_in_paragraph && (rest.starts_with(b"import ") || rest.starts_with(b"export ")) {
            let end = self.script().module(text.start)?;
            self.masked.programs.push(text.start..end);
            self.part((text.start..end, Fill::Blank), text.start, text.end);
            return Some(());
        }
        if let Some(Flow { end, programs, tags }) = self.flow(text.start)? {
            self.masked.programs.extend(programs);
            self.masked.tags.extend(tags);
            let fill = if is_item { Fill::Rule } else { Fill::Blank };
            self.part((text.start..end, fill), text.start, text.end);
            return Some(());
        }
        if block::is_break(rest) {
            self.copy(text);
            return Some(());
        }
        let is_underline = was_in_paragraph && rest.trim_ascii_end().iter().all(|byte| *byte == b'=');
        self.in_paragraph = !block::is_heading(rest) && !is_underline;
        let is_last = |end: &usize| {
            let (line, _) = block::line(self.bytes, *end);
            self.bytes[line].trim_ascii().is_empty()
        };
        let definition = definition::end(self.source, text.start).filter(is_last).filter(|_| !was_in_paragraph);
        if let Some(end) = definition {
            self.in_paragraph = false;
            self.part((text.start..end, Fill::Copy), text.start, text.end);
            return Some(());
        }
        self.text(text, line)
    }

    /// True if only tags and expressions stand on the lines from there on.
    fn is_flow(&self, at: usize) -> bool {
        self.may_be_program(at) && self.flow(at).is_some_and(|flow| flow.is_some())
    }

    /// The tags and expressions that begin there, with their end, if nothing else stands on their lines; the outer none if one
    /// of them does not end.
    fn flow(&self, start: usize) -> Option<Option<Flow>> {
        let (mut at, mut programs, mut tags, mut is_after_braces) = (start, Vec::new(), Vec::new(), false);
        loop {
            at += self.bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            match self.bytes.get(at) {
                None | Some(b'\n' | b'\r') if at > start => return Some(Some(Flow { end: at, programs, tags })),
                // An expression behind another one is running text.
                Some(b'{') if !is_after_braces => {
                    let end = self.script().braces(at)?;
                    programs.push(at..end);
                    (at, is_after_braces) = (end, true);
                }
                Some(b'<') if self.may_be_program(at) => {
                    let tag = self.script().tag(at)?;
                    (at, is_after_braces) = (tag.range.end, false);
                    tags.push(tag);
                }
                _ => return Some(None),
            }
        }
    }

    /// Writes the part on one line, from a place on; the end of the part or of the line.
    fn part(&mut self, (part, fill): (Range<usize>, Fill), from: usize, line_end: usize) -> usize {
        let end = part.end.min(line_end).max(from);
        match fill {
            Fill::Copy => self.copy(from..end),
            Fill::Blank => {}
            Fill::Rule if from == part.start => self.out.extend(b"___"),
            Fill::Rule => {}
            // Its length says nothing, since that of a link in a tag may change.
            Fill::Word => {
                self.masked.mixed.insert(self.number);
                self.masked.runs.push((self.out.len(), from));
                self.out.extend(b" x ");
            }
        }
        self.open = (part.end > line_end).then_some((part, fill));
        end
    }

    /// Masks the programs in running text.
    fn text(&mut self, text: Range<usize>, line: usize) -> Option<()> {
        let (mut at, mut copied) = (text.start, text.start);
        // Docusaurus makes the first `{#` of a heading text.
        let may_name = text.start == line && block::is_heading(&self.bytes[text.clone()]);
        let mut names = may_name.then(|| memchr::memmem::find(&self.bytes[text.clone()], b"{#")).flatten();
        while at < text.end {
            let found = match self.bytes[at] {
                b'\\' => {
                    at += 2;
                    continue;
                }
                b'{' if names.take_if(|name| text.start + *name == at).is_some() || self.is_name(at) => None,
                b'{' => {
                    let end = self.script().braces(at)?;
                    self.masked.programs.push(at..end);
                    Some((at..end, Fill::Word))
                }
                b'<' if self.may_be_program(at) => {
                    let tag: Tag = self.script().tag(at)?;
                    let range = tag.range.clone();
                    self.masked.tags.push(tag);
                    Some((range, Fill::Word))
                }
                b'`' => {
                    let length = self.bytes[at..].iter().take_while(|byte| **byte == b'`').count();
                    let end = self.code(at + length, length, text.clone());
                    at += if end.is_none() { length } else { 0 };
                    if end.is_none() {
                        continue;
                    }
                    end.map(|end| (at..end, Fill::Copy))
                }
                b'[' => {
                    self.brackets += 1;
                    None
                }
                b']' if self.brackets > 0 => {
                    self.brackets -= 1;
                    definition::resource(self.bytes, at + 1).map(|end| (at..end, Fill::Copy))
                }
                _ => None,
            };
            let Some((part, fill)) = found else {
                at += 1;
                continue;
            };
            self.copy(copied..at);
            at = self.part((part, fill), at, text.end);
            copied = at;
        }
        self.copy(copied.min(text.end)..text.end);
        Some(())
    }

    /// True for a comment that names an anchor, such as `{/* #id */}`; it has no other signs.
    fn is_name(&self, at: usize) -> bool {
        let Some(inside) = self.bytes[at..].strip_prefix(b"{/*") else { return false };
        let length = inside.iter().take_while(|byte| !b"*{}[]<>`\\&/\r\n".contains(byte)).count();
        inside[length..].starts_with(b"*/}") && inside.trim_ascii_start().starts_with(b"#")
    }

    /// The end of code in running text, whose sign of some length ends before a place.
    fn code(&mut self, start: usize, length: usize, text: Range<usize>) -> Option<usize> {
        let mut at = start;
        let end = self.paragraph_end(text);
        if self.unclosed.contains(&length) {
            return None;
        }
        loop {
            let Some(found) = self.bytes.get(at..end).and_then(|rest| memchr::memchr(b'`', rest)) else {
                if self.in_paragraph {
                    self.unclosed.insert(length);
                }
                return None;
            };
            at += found;
            let run = self.bytes[at..end].iter().take_while(|byte| **byte == b'`').count();
            if run == length {
                self.found.spans.push(bare(&self.source[start..at]));
                return Some(at + run);
            }
            at += run;
        }
    }

    /// The end of the paragraph with a part of a line.
    fn paragraph_end(&mut self, text: Range<usize>) -> usize {
        let mut end = text.end;
        if !self.in_paragraph || self.bytes[text.start] == b'|' {
            return end;
        }
        if let Some(known) = self.paragraph_end {
            return known;
        }
        loop {
            let (_, next) = block::line(self.bytes, end);
            let (line, _) = block::line(self.bytes, next);
            let mut cursor = Cursor::of(&self.bytes[line.clone()]);
            let passed = cursor.pass(&self.containers);
            let is_whole = passed == self.containers.len();
            let ends = block::interrupts(cursor.rest()) || { cursor }.begin(is_whole, passed).is_some();
            if ends || self.is_flow(line.start + cursor.at) {
                break;
            }
            end = line.end;
        }
        self.paragraph_end = Some(end);
        end
    }
}
