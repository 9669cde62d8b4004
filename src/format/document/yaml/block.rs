//! Writes edited blocks of YAML: whole lines come and go.

use std::ops::Range;

use super::{
    super::{
        draft::{Body, Cell, Entry},
        flow,
        output::Output,
        pen::{Pen, Step},
        tree::{Form, Node},
    },
    text::{self, Text},
};

/// Writes the edited text.
pub(in super::super) fn write(pen: &Pen<'_>, out: &mut Output<'_>) -> Step<()> {
    let tree = pen.draft.tree;
    let root = tree.node(tree.root);
    let resume = if pen.draft.cells[pen.draft.root].source == Some(tree.root) {
        let start = if root.form == Form::Block { 0 } else { root.span.start };
        out.keep(0..start);
        value(pen, out, pen.draft.root, Place { node: tree.root, from: start })?
    } else {
        out.keep(0..root.span.start);
        let (Text::Inline(text) | Text::Block(text)) = text::cell_like(pen, pen.draft.root, "", tree.root)?;
        out.put(&text);
        root.span.end
    };
    out.keep(resume..pen.text.len());
    Ok(())
}

/// The place of a value: its node, and the end of the colon or dash before it.
#[derive(Clone, Copy)]
struct Place {
    node: usize,
    from: usize,
}

/// Writes a value from the end of its indicator on. Returns the byte from which the source goes on.
fn value(pen: &Pen<'_>, out: &mut Output<'_>, cell: usize, place: Place) -> Step<usize> {
    let node = pen.draft.tree.node(place.node);
    let at = &pen.draft.cells[cell];
    if at.source != Some(place.node) {
        return replaced(pen, out, cell, place);
    }
    let is_opened = matches!(at.body, Body::Array(_) | Body::Object(_)) && at.is_changed;
    match node.form {
        Form::Block if is_opened && at.body.entries().is_empty() => {
            let is_root = place.node == pen.draft.tree.root;
            let text = text::empty(matches!(at.body, Body::Array(_)));
            let end = pen.below(node.child(node.n_children() - 1));
            Ok(inline(pen, out, if is_root { text.to_owned() } else { format!(" {text}") }, (place, end)))
        }
        Form::Block if is_opened => {
            let leaves = at.body.entries().iter().all(|entry| entry.place != Some(0));
            match first_start(pen, node).filter(|_| leaves) {
                Some(own) => {
                    out.keep(place.from..pen.style.line_start(own));
                    out.keep(pen.style.line_start(node.span.start)..node.span.start);
                }
                None => out.keep(place.from..node.span.start),
            }
            children(pen, out, at, node)
        }
        Form::Flow if is_opened => {
            out.keep(place.from..node.span.start);
            flow::container(pen, out, at, node)?;
            Ok(node.span.end)
        }
        _ => {
            out.keep(place.from..node.span.end);
            Ok(node.span.end)
        }
    }
}

/// The start of the comments of the first child of a block, if they stand directly above it.
fn first_start(pen: &Pen<'_>, node: &Node) -> Option<usize> {
    let start = pen.comments().start(node.span.start, pen.is_first(node.child(0)));
    (start < node.span.start).then_some(start)
}

/// Writes a text behind an indicator in the place of a block. Comments before the block stay, but for those of its first child.
fn inline(pen: &Pen<'_>, out: &mut Output<'_>, text: String, (place, end): (Place, usize)) -> usize {
    let node = pen.draft.tree.node(place.node);
    let is_root = place.node == pen.draft.tree.root;
    let end = pen.style.line_end(pen.text, end);
    if is_root {
        out.keep(place.from..node.span.start);
        out.put(&text);
        return end;
    }
    // An anchor stands before its value.
    let rest = &pen.text[place.from..node.span.start];
    let blank = rest.len() - rest.trim_start_matches(' ').len();
    let anchor = rest[blank..].find(char::is_whitespace).filter(|_| node.has_anchor).map_or(0, |length| blank + length);
    out.keep(place.from..place.from + anchor);
    let place = Place { from: place.from + anchor, ..place };
    out.put(&text);
    let start = first_start(pen, node).unwrap_or(node.span.start);
    if pen.style.line(place.from) != pen.style.line(start)
        && let Some(before) = pen.style.line_break_before(pen.text, start)
    {
        out.keep(place.from..before);
    }
    end
}

/// Writes a new value in the place of another.
fn replaced(pen: &Pen<'_>, out: &mut Output<'_>, cell: usize, place: Place) -> Step<usize> {
    let node = pen.draft.tree.node(place.node);
    let is_line = pen.style.line(place.from) != pen.style.line(node.span.start);
    if node.form == Form::Flow {
        out.keep(place.from..node.span.start);
        let text = pen.cell_like(cell, None, Some(place.node))?;
        out.put(&text);
        return Ok(node.span.end);
    }
    let is_dash = pen.text[..place.from].ends_with('-');
    let is_array = text::is_array_cell(pen, cell);
    // A sequence may stand in the column of its key, and an object may not.
    let is_flush = !is_dash && key_column(pen, place.from) == pen.style.column(pen.text, node.span.start);
    let indent = if node.form == Form::Block && (is_array || !is_flush) {
        pen.style.column(pen.text, node.span.start)
    } else if is_dash {
        format!("{} ", pen.style.column(pen.text, place.from))
    } else {
        text::deeper(pen, &key_column(pen, place.from), is_array)
    };
    match (text::cell_like(pen, cell, &indent, place.node)?, node.form) {
        (Text::Inline(text), Form::Block) => Ok(inline(pen, out, format!(" {text}"), (place, pen.below(place.node)))),
        (Text::Inline(text), Form::Absent) => {
            out.put(&format!(" {text}"));
            Ok(node.span.end)
        }
        (Text::Inline(text), _) => {
            out.keep(place.from..node.span.start);
            out.put(&text);
            out.keep(head_comment(pen, node));
            Ok(node.span.end)
        }
        (Text::Block(text), Form::Block) => {
            // Comments in a block that becomes an item stay in it.
            let stays = matches!(pen.draft.cells[cell].body, Body::Wrapped(_));
            let own = first_start(pen, node).filter(|_| !stays).unwrap_or(node.span.start);
            let before = pen.style.line_break_before(pen.text, own).filter(|_| is_line);
            out.keep(place.from..before.unwrap_or(node.span.start));
            out.put(&before.map_or_else(String::new, |_| format!("{}{indent}", pen.style.newline)));
            out.put(&text);
            Ok(if stays { node.span.end } else { pen.style.line_end(pen.text, pen.below(place.node)) })
        }
        (Text::Block(_), _) if is_line || node.has_anchor => Err("the value stands on another line".to_owned()),
        (Text::Block(text), _) => {
            let end = pen.style.line_end(pen.text, pen.below(place.node));
            if is_dash && pen.text[node.span.end..end].trim().is_empty() {
                out.put(" ");
                out.put(&text);
                return Ok(end);
            }
            out.keep(node.span.end..end);
            out.put(pen.style.newline);
            out.put(&indent);
            out.put(&text);
            Ok(end)
        }
    }
}

/// The comment in the head of a block scalar, with the space before it.
fn head_comment(pen: &Pen<'_>, node: &Node) -> Range<usize> {
    let head =
        pen.text[node.span.clone()].lines().next().filter(|_| node.form == Form::BlockScalar).unwrap_or_default();
    let start = head.find(" #").map_or(head.len(), |at| head[..at].trim_end().len());
    node.span.start + start..node.span.start + head.len()
}

/// The column of the key whose colon ends at a byte.
fn key_column(pen: &Pen<'_>, from: usize) -> String {
    let start = pen.style.line_start(from);
    let line = &pen.text[start..from];
    // Dashes of compact blocks stand before the key.
    let mut at = start + (line.len() - line.trim_start_matches([' ', '\u{feff}']).len());
    while pen.text[at..from].starts_with("- ") {
        let rest = &pen.text[at + 1..from];
        at = from - rest.trim_start_matches(' ').len();
    }
    pen.style.column(pen.text, at)
}

/// Writes the children of a block, the first at its place. Returns the byte from which the source goes on.
pub(in super::super) fn children(pen: &Pen<'_>, out: &mut Output<'_>, cell: &Cell, node: &Node) -> Step<usize> {
    let entries = cell.body.entries();
    let indent = pen.style.column(pen.text, node.span.start);
    let mut block = Block { pen, node, indent, at: node.span.start, n_written: 0, last: None };
    let last_place = entries.iter().rposition(|entry| entry.place.is_some());
    let mut next = 0;
    for (index, entry) in entries.iter().enumerate() {
        match entry.place {
            Some(place) => {
                block.skip(out, next..place)?;
                block.kept(out, entry, place)?;
                next = place + 1;
            }
            None => {
                if last_place.is_none_or(|last| index > last) {
                    block.skip(out, next..node.n_children())?;
                    next = node.n_children();
                }
                block.added(out, entry)?;
            }
        }
    }
    block.skip(out, next..node.n_children())?;
    Ok(block.at)
}

struct Block<'p> {
    pen: &'p Pen<'p>,
    node: &'p Node,
    /// White space up to the column of the children.
    indent: String,
    /// The end of the source that was written or left out.
    at: usize,
    n_written: usize,
    /// The last child that was written at its place.
    last: Option<usize>,
}

impl Block<'_> {
    fn span(&self, index: usize) -> Range<usize> {
        let value = &self.pen.draft.tree.node(self.node.child(index)).span;
        let start = self.node.member(index).map_or_else(|| self.node.dashes[index], |member| member.key.start);
        start..value.end
    }

    /// The start of the comments directly above a child, or its own.
    fn start(&self, index: usize) -> usize {
        let is_first = self.pen.is_first(self.node.child(index));
        self.pen.comments().start(self.span(index).start, is_first)
    }

    /// Leaves children out, each with its lines and its comments.
    fn skip(&mut self, out: &mut Output<'_>, removed: Range<usize>) -> Step<()> {
        for index in removed.clone() {
            let style = &self.pen.style;
            let end = style.line_end(self.pen.text, self.pen.below(self.node.child(index)));
            if self.n_written == 0 {
                self.skip_first(out, index..removed.end, end)?;
                continue;
            }
            let before = style.line_break_before(self.pen.text, self.start(index)).filter(|before| *before >= self.at);
            let before = before.ok_or("a child shares the line of another")?;
            // Empty lines before the last line of a text without a line end go with it.
            let is_end = end == self.pen.text.len() && self.pen.text[self.at..before].trim().is_empty();
            out.keep(self.at..if is_end { self.at } else { before });
            self.at = end;
        }
        Ok(())
    }

    /// Leaves the first of some children out: the next takes its place.
    fn skip_first(&mut self, out: &mut Output<'_>, removed: Range<usize>, end: usize) -> Step<()> {
        let index = removed.start;
        if index + 1 == self.node.n_children() {
            // A new child takes the place.
            self.at = end;
            return Ok(());
        }
        let (text, style) = (self.pen.text, &self.pen.style);
        let next = self.span(index + 1).start;
        // The comments of a child that goes too are not kept.
        let own = if index + 1 < removed.end { self.start(index + 1) } else { next };
        let kept = if own < next { style.line_start(own) } else { next };
        let between = text.get(end..kept).unwrap_or_default();
        // A heading above the first child stays apart from what follows an empty line.
        let above = out.text().strip_suffix('\n').unwrap_or_default();
        let is_heading = above.rsplit('\n').next().is_some_and(|line| line.starts_with('#'));
        if is_heading && ["\n\n", "\n\r\n"].iter().any(|blank| text[end..next].contains(blank)) {
            out.put(style.newline);
        }
        let is_alone = text[style.line_start(self.at)..self.at].trim_start_matches('\u{feff}').trim().is_empty();
        if !between.trim().is_empty() {
            if !is_alone {
                return Err("comments stand between a removed item and the next one".to_owned());
            }
            // Comments between the two begin with the indentation that is written.
            out.keep(end + (between.len() - between.trim_start().len())..kept);
            out.keep(kept.max(style.line_start(next))..next);
        }
        self.at = next;
        Ok(())
    }

    /// Writes a child at its place.
    fn kept(&mut self, out: &mut Output<'_>, entry: &Entry, place: usize) -> Step<()> {
        let span = self.span(place);
        out.keep(self.at..span.start);
        let child = self.node.child(place);
        let from = match self.node.member(place) {
            Some(member) => {
                let key = member.key.clone();
                let after = &self.pen.text[key.end..];
                let colon = key.end + after.find(':').ok_or("a key has no colon")? + 1;
                match &entry.name {
                    Some(name) if entry.is_renamed => {
                        out.put(&self.pen.key(name, Some(&self.pen.text[key.clone()])));
                        out.keep(key.end..colon);
                    }
                    _ => out.keep(key.start..colon),
                }
                colon
            }
            None => {
                out.keep(span.start..span.start + 1);
                span.start + 1
            }
        };
        self.at = value(self.pen, out, entry.cell, Place { node: child, from })?;
        self.last = Some(child);
        self.n_written += 1;
        Ok(())
    }

    /// True if an empty line stands before the last child, and before all of them if the new one has a single line.
    fn has_blank_line(&self, is_single: bool) -> bool {
        let text = self.pen.text;
        let is_apart = |index: usize| {
            let (end, next) = (self.span(index - 1).end, self.span(index).start);
            text.get(end..next).is_some_and(|between| between.lines().skip(1).any(str::is_empty))
        };
        let last = self.node.n_children() - 1;
        last > 0 && if is_single { (1..=last).all(is_apart) } else { is_apart(last) }
    }

    /// Writes a new child behind the line of the last one, or before the first.
    fn added(&mut self, out: &mut Output<'_>, entry: &Entry) -> Step<()> {
        let is_member = self.node.member(0).is_some();
        let text = if is_member {
            text::member(self.pen, entry, &self.indent)?
        } else {
            text::item(self.pen, entry, &self.indent)?
        };
        if self.n_written == 0 && self.at == self.node.span.start {
            out.put(&text);
            if self.node.n_children() > 0 {
                out.put(self.pen.style.newline);
                out.put(&self.indent);
            }
            return Ok(());
        }
        if self.n_written > 0 {
            let below = self.last.map_or(0, |last| self.pen.below(last));
            let end = self.pen.style.line_end(self.pen.text, self.at.max(below));
            out.keep(self.at..end);
            self.at = end;
            if self.has_blank_line(!text.contains('\n')) {
                out.put(self.pen.style.newline);
            }
            out.put(self.pen.style.newline);
            out.put(&self.indent);
        }
        out.put(&text);
        self.n_written += 1;
        Ok(())
    }
}
