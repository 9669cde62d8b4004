//! The comments of a text, each with the member that it belongs to.
//!
//! A comment is that of the member on whose line it stands, or directly above which it stands. All others are in the container
//! around them, which indentation shows in YAML.

use std::{collections::BTreeMap, ops::Range};

use super::{Document, Syntax};

/// The relation of a comment to the value at a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the line of the member or item.
    On(String),
    /// Directly above it, or before it on its line.
    Above(String),
    /// In it, beside its members.
    In(String),
    /// Above it, as the first comment of the text above its first member: perhaps a heading.
    Top(String),
}

/// A comment.
#[derive(Debug)]
pub(super) struct Remark<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) place: Place,
    /// The innermost brackets around it.
    pub(super) within: Option<&'t str>,
    /// The keys, scalars and brackets before and behind it.
    pub(super) between: [Option<Token<'t>>; 2],
}

/// A key, a scalar or a bracket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) pointer: &'t str,
    pub(super) kind: Kind,
    start: usize,
    end: usize,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Close,
    Open,
    Key,
    Scalar,
}

/// The comments of a text in their order.
pub(super) fn remarks<'t>(syntax: Syntax, text: &'t str, document: &'t Document) -> Vec<Remark<'t>> {
    let tokens = tokens(document);
    let mut reader =
        Reader { syntax, text, columns: BTreeMap::new(), open: Vec::new(), section: "", found: Vec::new() };
    let (mut at, mut before) = (0, None);
    for after in tokens.iter().copied().map(Some).chain([None]) {
        let gap = at..after.map_or(text.len(), |token| token.start.max(at));
        let first = reader.found.len();
        for comment in comments(syntax, text, gap) {
            reader.comment(comment, [before, after]);
        }
        reader.mark_top(first, tokens.first());
        let Some(token) = after else { break };
        reader.pass(token);
        at = token.end.max(at);
        before = after;
    }
    // An anchor has to stay with its value as a comment has.
    let anchor = |(pointer, range): &'t (String, Range<usize>)| Remark {
        text: text.get(range.clone()).unwrap_or_default(),
        start: range.start,
        place: Place::On(pointer.clone()),
        within: None,
        between: [None, None],
    };
    reader.found.extend(document.anchors.iter().map(anchor));
    reader.found
}

fn tokens(document: &Document) -> Vec<Token<'_>> {
    let atoms = document.atoms.iter().map(|atom| Token {
        pointer: atom.owner.as_ref().unwrap_or(&atom.pointer),
        kind: if atom.is_key { Kind::Key } else { Kind::Scalar },
        start: atom.range.start,
        end: atom.range.end,
    });
    let brackets = document.brackets.iter().flat_map(|(pointer, Range { start, end })| {
        let token = |kind, start| Token { pointer, kind, start, end: start + 1 };
        [token(Kind::Open, *start), token(Kind::Close, end.saturating_sub(1))]
    });
    let mut tokens: Vec<Token<'_>> = atoms.chain(brackets).collect();
    tokens.sort_by_key(|token| (token.start, token.end, token.kind));
    tokens
}

/// The comments in a part of a text without keys and scalars.
pub(super) fn comments(syntax: Syntax, text: &str, gap: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), gap.start);
    let is_json = matches!(syntax, Syntax::Json | Syntax::Jsonc | Syntax::Json5);
    while let Some(c) = text.get(at..gap.end).and_then(|text| text.chars().next()) {
        let tail = &text[at..gap.end];
        // The sign of a comment in YAML is the first of its word.
        let begins = || {
            syntax != Syntax::Yaml
                || text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || c == '\u{feff}')
        };
        let length = match is_json {
            true if tail.starts_with("//") => tail.find(['\n', '\r']).unwrap_or(tail.len()),
            true if tail.starts_with("/*") => tail.find("*/").map_or(tail.len(), |end| end + 2),
            false if c == '#' && begins() => tail.find('\n').unwrap_or(tail.len()),
            _ => {
                at += c.len_utf8();
                continue;
            }
        };
        found.push(at..at + length);
        at += length;
    }
    found
}

struct Reader<'t> {
    syntax: Syntax,
    text: &'t str,
    /// The columns of the keys and dashes of YAML.
    columns: BTreeMap<&'t str, usize>,
    /// The brackets that are open.
    open: Vec<&'t str>,
    /// The table of TOML under whose header the reader is.
    section: &'t str,
    found: Vec<Remark<'t>>,
}

impl<'t> Reader<'t> {
    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[..at];
        before.rfind('\n').map_or(if before.starts_with('\u{feff}') { 3 } else { 0 }, |end| end + 1)
    }

    /// The text of a line before a byte.
    fn head(&self, at: usize) -> &'t str {
        &self.text[self.line_start(at)..at]
    }

    /// Goes beyond a token.
    fn pass(&mut self, token: Token<'t>) {
        match token.kind {
            Kind::Open => self.open.push(token.pointer),
            Kind::Close => drop(self.open.pop()),
            Kind::Key | Kind::Scalar => {}
        }
        let head = self.head(token.start);
        if self.syntax == Syntax::Toml && token.kind == Kind::Key && head.trim_start().starts_with('[') {
            self.section = token.pointer;
        }
        if self.syntax != Syntax::Yaml {
            return;
        }
        if token.kind == Kind::Key {
            self.columns.entry(token.pointer).or_insert_with(|| head.chars().count());
        }
        let dashes = head.len() - head.trim_start_matches([' ', '-']).len();
        let mut item = if token.kind == Kind::Key { parent(token.pointer) } else { token.pointer };
        for (column, _) in head[..dashes].match_indices('-').rev() {
            self.columns.entry(item).or_insert(column);
            item = parent(item);
        }
        let scalar = &self.text[token.start..token.end];
        let first = &scalar[..scalar.find('\n').unwrap_or(scalar.len())];
        if token.kind == Kind::Scalar && first.starts_with(['|', '>']) {
            for comment in comments(self.syntax, self.text, token.start..token.start + first.len()) {
                self.push(comment, Place::On(token.pointer.to_owned()), [None, None]);
            }
        }
    }

    fn push(&mut self, comment: Range<usize>, place: Place, between: [Option<Token<'t>>; 2]) {
        let (text, within) = (self.text[comment.clone()].trim_end(), self.open.last().copied());
        self.found.push(Remark { text, start: comment.start, place, within, between });
    }

    fn comment(&mut self, comment: Range<usize>, between: [Option<Token<'t>>; 2]) {
        let is_json = matches!(self.syntax, Syntax::Json | Syntax::Jsonc | Syntax::Json5);
        let place = match self.open.last() {
            Some(around) => self.within(&comment, between, around),
            None if is_json && between[0].is_none() => Place::Above(String::new()),
            None if is_json => Place::On(String::new()),
            None if self.syntax == Syntax::Yaml => self.in_block(&comment, between),
            None => self.in_section(&comment, between),
        };
        self.push(comment, place, between);
    }

    /// True if nothing but comments stands before a comment on its line.
    fn has_own_line(&self, start: usize) -> bool {
        let mut at = start;
        for comment in self.found.iter().rev() {
            match self.text.get(comment.start + comment.text.len()..at) {
                Some(gap) if gap.trim_matches([' ', '\t']).is_empty() => at = comment.start,
                _ => break,
            }
        }
        self.has_blank_head(at)
    }

    fn has_blank_head(&self, start: usize) -> bool {
        self.head(start).trim().is_empty()
    }

    /// True if nothing but white space without an empty line, and comments, stands between a comment and the next token.
    fn is_direct(&self, end: usize, next: usize) -> bool {
        let mut at = end;
        let is_blank = |range: Range<usize>| {
            let gap = &self.text[range];
            gap.trim().is_empty() && gap.matches('\n').count() < 2
        };
        for comment in comments(self.syntax, self.text, end..next) {
            if !is_blank(at..comment.start) {
                return false;
            }
            at = comment.end;
        }
        is_blank(at..next)
    }

    /// The place of a comment in brackets.
    fn within(&self, comment: &Range<usize>, [before, after]: [Option<Token<'t>>; 2], around: &str) -> Place {
        if let Some(key) = before.filter(|token| token.kind == Kind::Key) {
            return Place::On(key.pointer.to_owned());
        }
        let (own_line, next) = (self.has_own_line(comment.start), after.filter(|token| token.kind != Kind::Close));
        if let Some(next) = next.filter(|next| self.is_direct(comment.end, next.start))
            && (own_line || !self.text[comment.start..next.start].contains('\n'))
        {
            return Place::Above(next.pointer.to_owned());
        }
        match before {
            Some(before) if !own_line => Place::On(before.pointer.to_owned()),
            _ => Place::In(around.to_owned()),
        }
    }

    /// The place of a comment among the blocks of YAML.
    fn in_block(&self, comment: &Range<usize>, [before, after]: [Option<Token<'t>>; 2]) -> Place {
        let behind = after.map_or("", |next| &self.text[comment.end..next.start]);
        let lines: Vec<&str> = behind.split('\n').skip(1).collect();
        let is_comment = |line: &&&str| line.trim_start().starts_with('#');
        let dashes: usize = lines.iter().filter(|line| !is_comment(line)).map(|line| dashes(line)).sum();
        if !self.has_blank_head(comment.start) {
            let beside = before.filter(|token| !self.text[token.end..comment.start].contains('\n'));
            let item = || after.map_or("", |next| climb(next, dashes + usize::from(next.kind == Kind::Key)));
            return Place::On(beside.map_or_else(item, |token| token.pointer).to_owned());
        }
        let column = self.head(comment.start).chars().count();
        let first = lines.iter().position(|line| !line.trim_start().starts_with('#'));
        let (is_last, line) = (first == lines.len().checked_sub(1), first.and_then(|first| lines.get(first)));
        let next = after.zip(line).filter(|(_, line)| {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let is_dashed = !line.trim().is_empty() && line.split_whitespace().all(|word| word == "-");
            (is_last || is_dashed) && indent >= column
        });
        if let Some((next, _)) = next {
            let up = if next.kind == Kind::Key { dashes } else { dashes.saturating_sub(1) };
            return Place::Above(climb(next, up).to_owned());
        }
        Place::In(before.map_or("", |before| self.around(before, comment.start, column)).to_owned())
    }

    /// The innermost member or item before a comment whose key or dash stands left of it.
    fn around(&self, before: Token<'t>, comment: usize, column: usize) -> &'t str {
        let is_left = |place: &&str| self.columns.get(place).is_some_and(|left| *left < column);
        let lines: Vec<&str> = self.text[before.end..comment].split('\n').skip(1).collect();
        let is_apart = lines.iter().rev().skip(1).any(|line| line.trim().is_empty());
        let mut place = before.pointer;
        loop {
            // A comment behind an empty line is not that of a scalar.
            let is_block = place != before.pointer || before.kind == Kind::Key;
            if is_left(&place) && (is_block || !is_apart) || place.is_empty() {
                return place;
            }
            place = parent(place);
        }
    }

    /// The place of a comment among the statements of TOML.
    fn in_section(&self, comment: &Range<usize>, [before, after]: [Option<Token<'t>>; 2]) -> Place {
        if !self.has_blank_head(comment.start) {
            return Place::On(before.map_or("", |token| token.pointer).to_owned());
        }
        let is_head = |next: &Token<'_>| {
            let lines = self.text[comment.end..next.start].split('\n').skip(1);
            let lines: Vec<&str> = lines.filter(|line| !line.trim_start().starts_with('#')).collect();
            lines.len() == 1 && lines[0].trim_matches([' ', '\t', '[']).is_empty()
        };
        match after.filter(is_head) {
            Some(next) => Place::Above(next.pointer.to_owned()),
            // One behind an empty line may be the heading of what follows.
            None if before.is_some_and(|token| self.follows(token, comment.start)) => {
                Place::In(self.section.to_owned())
            }
            None => Place::In(String::new()),
        }
    }

    /// True if no empty line stands between a statement and a comment below it.
    fn follows(&self, token: Token<'_>, comment: usize) -> bool {
        let lines: Vec<&str> = self.text[token.end..comment].split('\n').collect();
        lines.get(1..lines.len() - 1).is_some_and(|lines| lines.iter().all(|line| !line.trim().is_empty()))
    }

    /// Marks the comments that may head the text: the first of all, above the first member.
    fn mark_top(&mut self, first: usize, token: Option<&Token<'t>>) {
        let text = self.text;
        let is_above = |remark: &Remark<'_>| match (&remark.place, remark.between[1]) {
            (Place::Above(place), Some(next)) if !place.is_empty() => text[remark.start..next.start].contains('\n'),
            _ => false,
        };
        let starts = |remark: &Remark<'_>| {
            remark.between[1].zip(token).is_some_and(|(next, first)| {
                next.start == first.start
                    || first.kind == Kind::Open
                        && remark.within == Some("")
                        && remark.between[0].is_some_and(|before| before.start == first.start)
            })
        };
        if first > 0 || !self.found.first().is_some_and(|remark| is_above(remark) && starts(remark)) {
            return;
        }
        for remark in self.found.iter_mut().filter(|remark| is_above(remark)) {
            if let Place::Above(place) = &mut remark.place {
                remark.place = Place::Top(std::mem::take(place));
            }
        }
    }
}

/// The pointer to the value around another.
fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The pointer some levels above that of a token.
fn climb(token: Token<'_>, levels: usize) -> &str {
    (0..levels).fold(token.pointer, |place, _| parent(place))
}

/// The number of dashes that a line begins with.
fn dashes(line: &str) -> usize {
    line.split_whitespace().take_while(|word| *word == "-").count()
}
