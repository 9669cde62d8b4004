//! Writes containers in brackets: JSON, flow collections of YAML, inline values of TOML.

use std::ops::Range;

use serde_json::Value;

use super::{
    draft::{Body, Cell, Entry},
    output::Output,
    parts::{Part, pairs, parts},
    pen::{Pen, Step},
    scalar,
    segments::{Segment, Segments, divide},
    style::is_plain_colon,
    syntax::Syntax,
    tree::{Form, Node, Pair, Shape},
};

/// The state of writing one container at its place.
struct Writing<'p> {
    pen: &'p Pen<'p>,
    node: &'p Node,
    pairs: Vec<Pair>,
    segments: Segments,
    /// Leads of removed children, not yet written.
    carried: Vec<Range<usize>>,
    /// Children that are not yet written.
    n_left: usize,
    /// Commas stand behind the last child too.
    has_final_comma: bool,
    /// New children stand on lines of their own, with this before each.
    line: Option<String>,
    n_written: usize,
    /// A comment is the last that was written, so that a line end has to follow.
    is_after_comment: bool,
}

/// Writes a changed container at its place.
pub(super) fn container(pen: &Pen<'_>, out: &mut Output<'_>, cell: &Cell, node: &Node) -> Step<()> {
    let pairs = pairs(node);
    let parts = parts(pen, cell, node, &pairs);
    let cores: Vec<_> = pairs.iter().map(|pair| core(pen, pair)).collect();
    let segments = divide(pen.syntax, pen.text, &node.span, &cores);
    let has_final_comma = segments.children.last().is_some_and(|last| !last.comma.is_empty());
    let line = line(pen, node, &segments, parts.len());
    let (open, n_pairs) = (segments.open.clone(), pairs.len());
    let mut writing = Writing {
        pen,
        node,
        pairs,
        segments,
        carried: Vec::new(),
        n_left: parts.len(),
        has_final_comma,
        line,
        n_written: 0,
        is_after_comment: false,
    };
    out.keep(open);
    let last_place = parts.iter().rposition(|part| part.place.is_some());
    let mut next = 0;
    for (index, part) in parts.iter().enumerate() {
        if let Some(place) = part.place {
            writing.skip(next..place);
            let is_before_new = parts.get(index + 1).is_some_and(|next| next.place.is_none());
            writing.kept(out, part, place, is_before_new)?;
            next = place + 1;
        } else {
            // New entries at the end stand behind removed ones, in the lines of those that stay.
            if last_place.is_none_or(|last| index > last) {
                writing.skip(next..n_pairs);
                next = n_pairs;
            }
            writing.added(out, part)?;
        }
    }
    writing.skip(next..n_pairs);
    writing.close(out);
    Ok(())
}

/// The place of a pair with its key.
fn core(pen: &Pen<'_>, pair: &Pair) -> Range<usize> {
    let value = &pen.draft.tree.node(pair.value).span;
    pair.keys.first().map_or(value.start, |(key, _)| key.start)..value.end
}

/// True if nothing can follow comments on their line.
fn ends_line(comments: &str) -> bool {
    comments.contains("//") || comments.contains('#')
}

/// The line end and indentation before a new child, if children stand on lines of their own.
fn line(pen: &Pen<'_>, node: &Node, segments: &Segments, n_entries: usize) -> Option<String> {
    let outer = pen.style.indent(pen.text, node.span.start);
    let deeper = || format!("{}{outer}{}", pen.style.newline, pen.style.unit);
    let Some(last) = segments.children.last() else {
        let is_broken = pen.text[segments.rest.clone()].contains('\n');
        let is_one_line = matches!(pen.syntax, Syntax::Yaml | Syntax::Toml) || !pen.style.is_multi;
        let is_flat = is_one_line || pen.is_flat_by_habit(node, n_entries);
        return (is_broken || !is_flat).then(deeper);
    };
    let lead = &pen.text[last.lead.clone()];
    let end = lead.rfind('\n')?;
    let newline = if lead[..end].ends_with('\r') { "\r\n" } else { "\n" };
    Some(format!("{newline}{}", pen.style.indent(pen.text, last.core.start)))
}

impl Writing<'_> {
    fn text(&self, range: &Range<usize>) -> &str {
        &self.pen.text[range.clone()]
    }

    /// Leaves removed children out with their comments, but not with others before them.
    fn skip(&mut self, removed: Range<usize>) {
        for index in removed {
            let Segment { lead, core, gap, .. } = self.segments.children[index].clone();
            let own = self.pen.comments().start(core.start, self.pen.is_first(self.pairs[index].value));
            self.carry(lead.start..own);
            // The comment behind the child leaves with it, and those on the lines after stay.
            let line_end = self.text(&gap).find('\n').unwrap_or(gap.len());
            let rest = gap.start + line_end..gap.end;
            if !self.text(&rest).trim().is_empty() {
                self.carry(rest);
            }
        }
    }

    /// Adds a lead to those before it.
    fn carry(&mut self, lead: Range<usize>) {
        let text = self.text(&lead);
        let first_line = text.split('\n').next().unwrap_or("");
        if self.carried.is_empty() {
            self.carried.push(lead);
        } else if !first_line.trim().is_empty() {
            // A comment takes the place of the child before which it stands, on its line.
            let start = lead.start + (text.len() - text.trim_start().len());
            self.carried.push(start..lead.end);
        } else if text.contains('\n') {
            let has_blank_line = text[..text.len() - text.trim_start().len()].matches('\n').count() > 1;
            if has_blank_line {
                self.trim_carried();
            } else {
                self.trim_line();
            }
            self.carried.push(lead);
        }
    }

    /// Takes the last line end away. Empty lines behind a comment stay, as the next child would take it for its own.
    fn trim_line(&mut self) {
        let Some(last) = self.carried.last().cloned() else { return };
        let line = self.text(&last).trim_end_matches([' ', '\t']);
        let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        match line.trim().is_empty() {
            true => drop(self.carried.pop()),
            false => {
                let end = last.start + line.len();
                self.carried.pop();
                self.carried.push(last.start..end);
            }
        }
    }

    fn trim_carried(&mut self) {
        while let Some(last) = self.carried.pop() {
            let end = last.start + self.text(&last).trim_end().len();
            if end > last.start {
                self.carried.push(last.start..end);
                return;
            }
        }
    }

    /// Writes white space and comments of the source.
    fn trivia(&mut self, out: &mut Output<'_>, range: Range<usize>) {
        let text = self.text(&range);
        let last = text.rsplit('\n').next().unwrap_or("");
        let has_comment = ends_line(last);
        self.is_after_comment = has_comment || self.is_after_comment && !text.contains('\n');
        out.keep(range);
    }

    fn write_carried(&mut self, out: &mut Output<'_>) {
        for range in std::mem::take(&mut self.carried) {
            self.trivia(out, range);
        }
    }

    fn comma(&self, out: &mut Output<'_>, comma: Option<&Range<usize>>) {
        if self.n_left > 0 || self.has_final_comma {
            match comma.filter(|comma| !comma.is_empty()) {
                Some(comma) => out.keep(comma.clone()),
                None => out.put(","),
            }
        }
    }

    /// Writes a child at its place.
    fn kept(&mut self, out: &mut Output<'_>, part: &Part, place: usize, is_before_new: bool) -> Step<()> {
        let segment = self.segments.children[place].clone();
        let is_broken = self.text(&segment.lead).contains('\n');
        if self.carried.is_empty() && self.n_written > 0 && place == 0 && !is_broken && self.line.is_none() {
            // A new first child took the place behind the bracket.
            let lead = self.text(&segment.lead);
            out.put(self.pen.style.space);
            out.keep(segment.lead.start + (lead.len() - lead.trim_start().len())..segment.lead.end);
        } else {
            self.carry(segment.lead.clone());
            self.write_carried(out);
        }
        self.pen.core(out, &self.pairs[place], part)?;
        self.is_after_comment = false;
        self.n_left -= 1;
        self.n_written += 1;
        out.keep(segment.gap.clone());
        // A new child on the line would take the comments behind the comma for its own.
        let trail = self.text(&segment.trail);
        if is_before_new && self.line.is_none() && !trail.is_empty() && !ends_line(trail) {
            out.keep(segment.trail.clone());
            out.put(",");
            return Ok(());
        }
        self.comma(out, Some(&segment.comma));
        self.trivia(out, segment.trail.clone());
        Ok(())
    }

    /// Writes a new child.
    fn added(&mut self, out: &mut Output<'_>, part: &Part) -> Step<()> {
        self.trim_line();
        self.write_carried(out);
        let is_empty = self.segments.children.is_empty();
        if is_empty && self.n_written == 0 {
            let rest = self.segments.rest.clone();
            let end = rest.start + self.text(&rest).trim_end().len();
            self.trivia(out, rest.start..end);
            self.segments.rest.start = end;
            // Comments in an empty container are not those of its first child.
            if end > rest.start {
                self.break_line();
            }
            if self.text(&(rest.start..end)).contains('\n') {
                out.put(self.pen.style.newline);
            }
        }
        if self.is_after_comment {
            self.break_line();
        }
        let pen = self.pen;
        let above = part.cell.map(|cell| pen.comments_above(cell)).unwrap_or_default();
        let behind = part.cell.and_then(|cell| pen.comment_behind(cell)).unwrap_or_default();
        let is_commented = !above.is_empty();
        if pen.syntax == Syntax::Toml && (is_commented || !behind.is_empty()) {
            return Err("the comment of a value can't move into brackets".to_owned());
        }
        if above.iter().any(|comment| ends_line(comment)) {
            self.break_line();
        }
        let style = &self.pen.style;
        let lead = match &self.line {
            Some(line) => line,
            None if self.n_written > 0 => style.space,
            None if part.key.is_some() => style.pad,
            None => "",
        };
        for comment in above {
            out.put(lead);
            out.put(comment);
        }
        out.put(if self.line.is_none() && is_commented { " " } else { lead });
        let indent = self.line.as_deref().map(|line| line.trim_start_matches(['\r', '\n']));
        if let Some(key) = &part.key {
            out.put(key);
            out.put(&self.colon());
        }
        out.put(&part.cell.map_or_else(|| Ok("{}".to_owned()), |cell| self.pen.cell(cell, indent))?);
        self.n_left -= 1;
        self.n_written += 1;
        self.is_after_comment = ends_line(&behind);
        // On one line a comment stands before the comma.
        let is_inside = self.line.is_none() && !self.is_after_comment;
        out.put(if is_inside { &behind } else { "" });
        self.comma(out, None);
        out.put(if is_inside { "" } else { &behind });
        Ok(())
    }

    /// Lets new children stand on lines of their own.
    fn break_line(&mut self) {
        let (pen, start) = (self.pen, self.node.span.start);
        let line = || format!("{}{}{}", pen.style.newline, pen.style.indent(pen.text, start), pen.style.unit);
        self.line.get_or_insert_with(line);
    }

    /// Between a new name and its value: as in the last member.
    fn colon(&self) -> String {
        let start = |pair: &Pair| self.pen.draft.tree.node(pair.value).span.start;
        let last = self.pairs.last().and_then(|pair| Some(pair.keys.last()?.0.end..start(pair)));
        let colon = last.map(|range| self.text(&range));
        // A plain key of YAML needs white space behind its colon.
        let is_free = self.pen.syntax != Syntax::Yaml;
        colon
            .filter(|colon| is_plain_colon(colon) && (is_free || colon.ends_with([' ', '\t'])))
            .unwrap_or(&self.pen.style.colon)
            .to_owned()
    }

    fn close(mut self, out: &mut Output<'_>) {
        let rest = self.segments.rest.clone();
        let is_plain = self.text(&rest).trim().is_empty();
        let is_broken = self.text(&rest).contains('\n');
        if self.n_written == 0 && is_plain {
            self.trim_carried();
            if self.carried.is_empty() {
                return out.keep(self.segments.close.clone());
            }
        }
        let has_comment = self.carried.iter().any(|range| !self.text(range).trim().is_empty());
        let has_comment_first = !self.text(&rest).split('\n').next().unwrap_or("").trim().is_empty();
        if has_comment_first && !self.carried.is_empty() {
            self.carry(rest);
            self.write_carried(out);
            return out.keep(self.segments.close.clone());
        }
        if is_broken || !self.is_after_comment && !has_comment {
            self.trim_carried();
        }
        self.write_carried(out);
        let was_empty = self.segments.children.is_empty();
        if is_plain && !is_broken && (was_empty || self.is_after_comment) {
            // The bracket stood on the line of the opening one.
            match &self.line {
                Some(_) => {
                    out.put(self.pen.style.newline);
                    out.put(self.pen.style.indent(self.pen.text, self.node.span.start));
                }
                None if was_empty && self.text(&self.segments.open) == "{" => out.put(self.pen.style.pad),
                None => out.keep(rest),
            }
        } else {
            out.keep(rest);
        }
        out.keep(self.segments.close.clone());
    }
}

impl Pen<'_> {
    /// Writes a child of a container at its place: its name, what is between, its value.
    fn core(&self, out: &mut Output<'_>, pair: &Pair, part: &Part) -> Step<()> {
        let span = &self.draft.tree.node(pair.value).span;
        let mut at = pair.keys.first().map_or(span.start, |(key, _)| key.start);
        for (key, node) in &pair.keys {
            let Some((_, name)) = part.names.iter().find(|(renamed, _)| renamed == node) else { continue };
            out.keep(at..key.start);
            out.put(&self.key(name, Some(&self.text[key.clone()])));
            at = key.end;
        }
        let Some(cell) = part.cell else {
            out.keep(at..span.end);
            return Ok(());
        };
        out.keep(at..span.start);
        self.value(out, cell, pair.value)
    }

    /// Writes a value at the place of a node.
    pub(super) fn value(&self, out: &mut Output<'_>, cell: usize, place: usize) -> Step<()> {
        let node = self.draft.tree.node(place);
        let cell_at = &self.draft.cells[cell];
        if cell_at.source != Some(place) {
            let indent = self.style.indent(self.text, node.span.start);
            let is_line =
                self.style.is_multi && (node.form != Form::Flow || self.text[node.span.clone()].contains('\n'));
            let is_line = is_line || node.n_children() == 0 && self.style.is_multi;
            if node.form == Form::Absent {
                out.put(" ");
            }
            out.put(&self.cell_like(cell, is_line.then_some(indent), Some(place))?);
            return Ok(());
        }
        match &cell_at.body {
            Body::Array(_) | Body::Object(_) if cell_at.is_changed => container(self, out, cell_at, node),
            _ => {
                out.keep(node.span.clone());
                Ok(())
            }
        }
    }

    /// True if new children of an empty container stand on its line.
    fn is_flat_by_habit(&self, node: &Node, n_entries: usize) -> bool {
        let is_array = self.text[node.span.clone()].starts_with('[');
        n_entries > 0 && if is_array { self.style.has_flat_arrays } else { self.style.has_flat_objects }
    }
}

/// A value to be written, as containers see it.
enum View<'v> {
    Text(String),
    Array(Vec<Child<'v>>),
    Object(Vec<(&'v str, Child<'v>)>),
}

enum Child<'v> {
    Cell(usize),
    /// One that takes its comments along.
    Moved(usize),
    Fresh(&'v Value),
}

impl Pen<'_> {
    /// The text of a cell in brackets, or of a scalar. Without an indentation it stands on one line.
    pub(super) fn cell(&self, cell: usize, indent: Option<&str>) -> Step<String> {
        self.cell_like(cell, indent, None)
    }

    /// The text of a cell, like the node in whose place it stands.
    pub(super) fn cell_like(&self, cell: usize, indent: Option<&str>, place: Option<usize>) -> Step<String> {
        let source = self.draft.cells[cell].source.map(|node| self.draft.tree.node(node));
        if source.is_some_and(|node| node.form == Form::Block) {
            return Err("a block can't be moved into brackets".to_owned());
        }
        let view = match (&self.draft.cells[cell].body, self.draft.cells[cell].source) {
            (Body::Kept, Some(node)) => {
                let span = self.draft.tree.node(node).span.clone();
                if let (Syntax::Yaml, Shape::Scalar(value)) = (self.syntax, &self.draft.tree.node(node).shape)
                    && (span.is_empty() || self.text[span.clone()].contains('\n'))
                {
                    return scalar::text(self.syntax, value, None, &self.style);
                }
                View::Text(self.shifted(&self.text[span.clone()], self.style.indent(self.text, span.start), indent))
            }
            (Body::Array(_) | Body::Object(_), Some(node)) => {
                let mut out = Output::new(self.text);
                self.value(&mut out, cell, node)?;
                let from = self.style.indent(self.text, self.draft.tree.node(node).span.start);
                View::Text(self.shifted(&out.into_text(), from, indent))
            }
            (Body::Wrapped(inner), _) if self.style.has_broken_arrays && indent.is_some() => {
                View::Array(vec![Child::Cell(inner.cell)])
            }
            (Body::Wrapped(inner), _) => View::Text(format!("[{}]", self.cell(inner.cell, indent)?)),
            (Body::Fresh(value), _) => self.view(value, place)?,
            (Body::Array(entries), None) => View::Array(entries.iter().map(|entry| Child::Moved(entry.cell)).collect()),
            (body @ Body::Object(_), None) => {
                let named = |entry: &Entry| Some(entry.cell);
                let entries = body.entries();
                let pairs =
                    entries.into_iter().filter_map(|entry| Some((entry.name.as_deref()?, Child::Moved(named(entry)?))));
                View::Object(pairs.collect())
            }
            (Body::Kept, None) => return Err("a value has no text".to_owned()),
        };
        self.view_text(view, indent)
    }

    /// A new value in brackets, on one line.
    pub(super) fn flow(&self, value: &Value) -> Step<String> {
        self.view_text(self.view(value, None)?, None)
    }

    fn view<'v>(&self, value: &'v Value, place: Option<usize>) -> Step<View<'v>> {
        Ok(match value {
            Value::Array(items) => View::Array(items.iter().map(Child::Fresh).collect()),
            Value::Object(members) => {
                View::Object(members.iter().map(|(name, value)| (name.as_str(), Child::Fresh(value))).collect())
            }
            _ => {
                let like = place.map(|place| &self.text[self.draft.tree.node(place).span.clone()]);
                View::Text(scalar::text(self.syntax, value, like, &self.style)?)
            }
        })
    }

    fn view_text(&self, view: View<'_>, indent: Option<&str>) -> Step<String> {
        let is_scalar = |child: &Child<'_>| self.is_scalar(child);
        let (brackets, is_flat, children) = match view {
            View::Text(text) => return Ok(text),
            View::Array(items) => {
                let is_flat = self.style.has_flat_arrays && items.iter().all(is_scalar);
                (("[", "]"), is_flat, items.into_iter().map(|item| (None, item)).collect::<Vec<_>>())
            }
            View::Object(members) => {
                let is_flat = self.style.has_flat_objects && members.iter().all(|(_, value)| is_scalar(value));
                (("{", "}"), is_flat, members.into_iter().map(|(name, value)| (Some(name), value)).collect())
            }
        };
        if children.is_empty() {
            return Ok(format!("{}{}", brackets.0, brackets.1));
        }
        let is_object = brackets.0 == "{";
        let is_flat = is_flat || matches!(self.syntax, Syntax::Yaml | Syntax::Toml);
        let indent = indent.filter(|_| !is_flat);
        let inner = indent.map(|indent| format!("{indent}{}", self.style.unit));
        let newline = self.style.newline;
        let between = inner.as_ref().map_or_else(|| self.style.space.to_owned(), |inner| format!("{newline}{inner}"));
        let (mut body, n_children) = (String::new(), children.len());
        for (index, (name, child)) in children.into_iter().enumerate() {
            let (above, behind) = self.comments_of(&child, inner.is_some())?;
            above.iter().for_each(|comment| body.extend([comment, between.as_str()]));
            body.extend(name.map(|name| self.key(name, None) + &self.style.colon));
            body.push_str(&match child {
                Child::Cell(cell) | Child::Moved(cell) => self.cell(cell, inner.as_deref())?,
                Child::Fresh(value) => self.view_text(self.view(value, None)?, inner.as_deref())?,
            });
            let comma = if index + 1 < n_children { "," } else { "" };
            body.extend(if ends_line(&behind) { [comma, &behind] } else { [&behind, comma] });
            body.push_str(if comma.is_empty() { "" } else { &between });
        }
        let (open, close) = brackets;
        Ok(match (indent, &inner) {
            (Some(indent), Some(inner)) => format!("{open}{newline}{inner}{body}{newline}{indent}{close}"),
            _ => {
                let pad = if is_object { self.style.pad } else { "" };
                format!("{open}{pad}{body}{pad}{close}")
            }
        })
    }

    /// The comments that a child of a new value takes along, above and behind it.
    fn comments_of(&self, child: &Child<'_>, has_lines: bool) -> Step<(Vec<&str>, String)> {
        let Child::Moved(cell) = child else { return Ok((Vec::new(), String::new())) };
        let (above, behind) = (self.comments_above(*cell), self.comment_behind(*cell).unwrap_or_default());
        if !has_lines && (ends_line(&behind) || above.iter().any(|comment| ends_line(comment))) {
            return Err("the comment of a value can't move to a single line".to_owned());
        }
        Ok((above, behind))
    }

    fn is_scalar(&self, child: &Child<'_>) -> bool {
        match child {
            Child::Fresh(value) => !value.is_array() && !value.is_object(),
            Child::Cell(cell) | Child::Moved(cell) => match &self.draft.cells[*cell].body {
                Body::Fresh(value) => !value.is_array() && !value.is_object(),
                Body::Kept => {
                    self.draft.cells[*cell].source.is_some_and(|node| self.draft.tree.node(node).n_children() == 0)
                }
                Body::Array(_) | Body::Object(_) | Body::Wrapped(_) => false,
            },
        }
    }

    /// A text of the source with another indentation, where no string holds a line end.
    fn shifted(&self, text: &str, from: &str, to: Option<&str>) -> String {
        let has_plain_lines = matches!(self.syntax, Syntax::Json | Syntax::Jsonc);
        let Some(to) = to.filter(|to| has_plain_lines && *to != from) else {
            return text.to_owned();
        };
        let mut lines = text.split('\n');
        let mut shifted = lines.next().unwrap_or("").to_owned();
        for line in lines {
            shifted.push('\n');
            match line.strip_prefix(from) {
                Some(rest) => shifted.extend([to, rest]),
                None => shifted.push_str(line),
            }
        }
        shifted
    }
}
