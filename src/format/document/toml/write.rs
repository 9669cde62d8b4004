//! Writes the edited statements of a TOML text.

use std::{collections::BTreeMap, ops::Range};

use serde_json::Value;

use super::{
    super::{
        draft::{Body, Entry},
        output::Output,
        pen::{Pen, Step},
        style::is_plain_colon,
        tree::{Form, Shape},
    },
    layout::{Kind, Layout, Statement},
    plan::{Ends, Plan},
};

/// Writes the edited text.
pub(in super::super) fn write(pen: &Pen<'_>, layout: &Layout, out: &mut Output<'_>) -> Step<()> {
    let plan = Plan::of(pen)?;
    let ends = Ends::of(layout, &plan, pen.draft.tree.root);
    let mut writing = Writing {
        pen,
        layout,
        plan,
        ends,
        behind: BTreeMap::new(),
        before: Vec::new(),
        ahead: BTreeMap::new(),
        instead: BTreeMap::new(),
        headless: BTreeMap::new(),
    };
    writing.check_wrapped()?;
    writing.place_replaced()?;
    writing.place_added()?;
    writing.place_emptied()?;
    writing.place_headless();
    writing.statements(out)
}

struct Writing<'p> {
    pen: &'p Pen<'p>,
    layout: &'p Layout,
    plan: Plan<'p>,
    ends: Ends,
    /// New lines behind a statement: pairs before sections.
    behind: BTreeMap<usize, (Vec<String>, Vec<String>)>,
    /// New pairs of the root before the first header.
    before: Vec<String>,
    /// New sections before a statement.
    ahead: BTreeMap<usize, Vec<String>>,
    /// New sections in the place of a statement that leaves.
    instead: BTreeMap<usize, String>,
    /// New pairs of tables that have no header.
    headless: BTreeMap<usize, Vec<String>>,
}

impl Writing<'_> {
    /// The key of a table or value, spelled as in the source if its name stays.
    fn key_of(&self, node: usize) -> Option<String> {
        if let Some(name) = self.plan.names.get(&node) {
            return Some(self.pen.key(name, None));
        }
        let Shape::Object(members) = &self.pen.draft.tree.node(self.layout.parents[node]).shape else { return None };
        let member = members.iter().find(|member| member.value == node)?;
        Some(self.pen.text[member.key.clone()].to_owned())
    }

    /// The keys of a header for a table.
    fn path(&self, table: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = table;
        while at != self.pen.draft.tree.root {
            path.extend(self.key_of(at));
            at = self.layout.parents[at];
        }
        path.reverse();
        path
    }

    /// The key of an entry, spelled as in the source if it has a place there.
    fn entry_key(&self, parent: usize, entry: &Entry) -> String {
        let member = entry.place.and_then(|place| self.pen.draft.tree.node(parent).member(place));
        match member.filter(|_| !entry.is_renamed) {
            Some(member) => self.pen.text[member.key.clone()].to_owned(),
            None => self.pen.key(entry.name.as_deref().unwrap_or(""), None),
        }
    }

    /// Refuses to wrap tables whose brackets aren't their own.
    fn check_wrapped(&self) -> Step<()> {
        for table in &self.plan.wrapped {
            let first = self.ends.first.get(table).map(|first| &self.layout.statements[*first]);
            if first.is_none_or(|first| first.target != *table || first.kind != Kind::Table) {
                return Err("a table without a header of its own can't be wrapped".to_owned());
            }
        }
        Ok(())
    }

    /// Finds a place for values that replace tables and arrays of tables.
    fn place_replaced(&mut self) -> Step<()> {
        for (child, entry) in std::mem::take(&mut self.plan.instead) {
            let parent = self.layout.parents[child];
            let first = self.ends.first.get(&child).copied();
            let kind = first.map(|first| &self.layout.statements[first]).filter(|first| first.target == child);
            let kind = kind.map(|first| first.kind).filter(|kind| *kind != Kind::Pair);
            let Some((first, kind)) = first.zip(kind).filter(|_| self.is_object(entry.cell)) else {
                self.plan.added.entry(parent).or_default().push(entry);
                continue;
            };
            let text = if kind == Kind::ArrayTable {
                self.section(&format!("[[{}]]", self.path(parent).join(".")), entry.cell)?
            } else {
                self.section(&self.header(parent, entry), entry.cell)?
            };
            self.instead.insert(first, text);
        }
        Ok(())
    }

    /// The header of a new table.
    fn header(&self, parent: usize, entry: &Entry) -> String {
        let mut path = self.path(parent);
        path.push(self.entry_key(parent, entry));
        format!("[{}]", path.join("."))
    }

    /// Finds a place for every new member and item.
    fn place_added(&mut self) -> Step<()> {
        for (parent, entries) in std::mem::take(&mut self.plan.added) {
            for entry in entries {
                if entry.name.is_none() {
                    self.item(parent, entry)?;
                } else if self.is_section(parent, entry.cell) {
                    let text = self.section(&self.header(parent, entry), entry.cell)?;
                    self.put_section(parent, text);
                } else {
                    let key = self.entry_key(parent, entry);
                    let comment = self.pen.comment_behind(entry.cell).unwrap_or_default();
                    let value = self.pen.cell(entry.cell, None)?;
                    self.pair(parent, &key, &format!("{value}{comment}"), &self.pen.comments_above(entry.cell));
                }
            }
        }
        Ok(())
    }

    /// Writes tables and arrays that lost all that made them.
    fn place_emptied(&mut self) -> Step<()> {
        for node in std::mem::take(&mut self.plan.emptied) {
            let has_header = self.layout.statements.get(self.ends.first.get(&node).copied().unwrap_or(0));
            let has_header = has_header.is_some_and(|first| first.target == node && first.kind != Kind::Pair);
            if node == self.pen.draft.tree.root || has_header {
                continue;
            }
            let is_array = matches!(self.pen.draft.tree.node(node).shape, Shape::Array(_));
            let key = self.key_of(node).ok_or("an item without a header can't be emptied")?;
            self.pair(self.layout.parents[node], &key, if is_array { "[]" } else { "{}" }, &[]);
        }
        Ok(())
    }

    /// Gives tables without a header one, before the first of their statements.
    fn place_headless(&mut self) {
        for (table, pairs) in std::mem::take(&mut self.headless) {
            let header = format!("[{}]", self.path(table).join("."));
            let lines = [vec![header], pairs].concat().join(self.pen.style.newline);
            let first = self.ends.first.get(&table).copied().unwrap_or(0);
            self.ahead.entry(first).or_default().insert(0, lines);
        }
    }

    /// True if a cell is a new object with members.
    fn is_object(&self, cell: usize) -> bool {
        match &self.pen.draft.cells[cell].body {
            Body::Fresh(Value::Object(members)) => !members.is_empty(),
            Body::Object(_) => self.pen.draft.cells[cell].source.is_none(),
            Body::Kept | Body::Fresh(_) | Body::Array(_) | Body::Wrapped(_) => false,
        }
    }

    /// True if a new member becomes a section: an object, in a table whose objects have headers.
    fn is_section(&self, parent: usize, cell: usize) -> bool {
        if !self.is_object(cell) || self.ends.pairs.get(&parent).is_some_and(|(_, n_keys)| *n_keys > 0) {
            return false;
        }
        let tree = self.pen.draft.tree;
        let node = tree.node(parent);
        let mut has_inline = false;
        let mut has_header = parent == tree.root || !self.ends.pairs.contains_key(&parent);
        for index in 0..node.n_children() {
            let child = node.child(index);
            has_header |= self.ends.headed.contains(&child);
            has_inline |= tree.node(child).form == Form::Flow && matches!(tree.node(child).shape, Shape::Object(_));
        }
        // A few scalars stand on one line beside other pairs.
        let has_pairs =
            self.ends.pairs.get(&parent).is_some_and(|(index, _)| self.layout.statements[*index].kind == Kind::Pair);
        has_header && (parent == tree.root || !(has_inline || has_pairs && self.is_short(cell)))
    }

    /// True for new objects of a few scalars.
    fn is_short(&self, cell: usize) -> bool {
        match &self.pen.draft.cells[cell].body {
            Body::Fresh(Value::Object(members)) => {
                members.len() <= 3 && members.values().all(|value| !value.is_object() && !value.is_array())
            }
            _ => false,
        }
    }

    /// A header with the pairs of a new object.
    fn section(&self, header: &str, cell: usize) -> Step<String> {
        let newline = self.pen.style.newline;
        let mut text = header.to_owned();
        match &self.pen.draft.cells[cell].body {
            Body::Fresh(Value::Object(members)) => {
                for (name, value) in members {
                    let value = self.pen.flow(value)?;
                    text.extend([newline, &self.pen.key(name, None), &self.pen.style.colon, &value]);
                }
            }
            body @ Body::Object(_) => {
                for entry in body.entries() {
                    let value = self.pen.cell(entry.cell, None)?;
                    let behind = self.pen.comment_behind(entry.cell).unwrap_or_default();
                    text.extend(self.pen.comments_above(entry.cell).into_iter().flat_map(|comment| [newline, comment]));
                    let key = self.pen.key(entry.name.as_deref().unwrap_or(""), None);
                    text.extend([newline, &key, &self.pen.style.colon, &value, &behind]);
                }
            }
            Body::Kept | Body::Fresh(_) | Body::Array(_) | Body::Wrapped(_) => {
                return Err("an array of tables holds objects alone".to_owned());
            }
        }
        Ok(text)
    }

    /// Finds a place for a new item of an array of tables: before the next one that stays, or at the end.
    fn item(&mut self, array: usize, entry: &Entry) -> Step<()> {
        let text = self.section(&format!("[[{}]]", self.path(array).join(".")), entry.cell)?;
        let entries = self.pen.draft.cells[array_cell(self.pen, array)].body.entries();
        let after = entries.into_iter().skip_while(|other| other.cell != entry.cell);
        let next = after.filter_map(|other| other.place).next();
        let next = next.map(|place| self.pen.draft.tree.node(array).child(place));
        match next.and_then(|next| self.ends.first.get(&next)) {
            Some(first) => self.ahead.entry(*first).or_default().push(text),
            None => self.put_section(array, text),
        }
        Ok(())
    }

    fn put_section(&mut self, parent: usize, text: String) {
        match self.ends.all.get(&parent) {
            Some(index) => self.behind.entry(*index).or_default().1.push(text),
            None => self.before.push(text),
        }
    }

    /// Finds a place for a new pair of a table.
    fn pair(&mut self, table: usize, key: &str, value: &str, comments: &[&str]) {
        let Some((index, n_keys)) = self.ends.pairs.get(&table).copied() else {
            let above = comments.iter().map(|comment| format!("{comment}{}", self.pen.style.newline));
            let line = format!("{}{key}{}{value}", above.collect::<String>(), self.pen.style.colon);
            if table == self.pen.draft.tree.root {
                self.before.push(line);
            } else {
                self.headless.entry(table).or_default().push(line);
            }
            return;
        };
        let statement = &self.layout.statements[index];
        let colon = if statement.kind == Kind::Pair { self.colon(statement) } else { &self.pen.style.colon };
        let indent = self.pen.style.indent(self.pen.text, statement.span.start);
        let mut line = String::new();
        comments.iter().for_each(|comment| line.extend([indent, comment, self.pen.style.newline]));
        line.push_str(indent);
        for (_, node) in &statement.keys[..n_keys] {
            line.push_str(&self.key_of(*node).unwrap_or_default());
            line.push('.');
        }
        line.extend([key, colon, value]);
        self.behind.entry(index).or_default().0.push(line);
    }

    fn colon(&self, statement: &Statement) -> &str {
        let end = statement.keys.last().map_or(statement.span.start, |(key, _)| key.end);
        let text = &self.pen.text[end..self.pen.draft.tree.node(statement.target).span.start];
        if is_plain_colon(text) { text } else { &self.pen.style.colon }
    }

    /// Writes all statements and the text between them.
    fn statements(&self, out: &mut Output<'_>) -> Step<()> {
        let text = self.pen.text;
        let mut at = self.put_before(out);
        let mut previous = None;
        for (index, statement) in self.layout.statements.iter().enumerate() {
            let gone = self.layout.container_in(statement.target, &self.plan.gone);
            at = self.put_ahead(out, index, at);
            if let Some(section) = self.instead.get(&index) {
                out.keep(at..statement.span.start);
                out.put(section);
                at = self.pen.style.line_end(text, statement.span.end);
            } else if gone.is_some() {
                let run = (previous != gone).then(|| self.run_end(index, gone));
                at = self.leave_out(out, index, at, run);
                if out.text().trim_start_matches('\u{feff}').is_empty() && !self.behind.contains_key(&index) {
                    at += text[at..].len() - text[at..].trim_start_matches(['\r', '\n']).len();
                }
            } else {
                out.keep(at..statement.span.start);
                at = self.keep(out, statement)?;
            }
            previous = gone;
            if let Some((pairs, sections)) = self.behind.get(&index) {
                let end = if gone.is_some() { at } else { self.pen.style.line_end(text, at) };
                out.keep(at..end);
                at = end;
                let newline = self.pen.style.newline;
                if gone.is_some() && !pairs.is_empty() {
                    self.part_comment(out);
                }
                for line in pairs {
                    self.new_line(out);
                    out.put(line);
                }
                if !sections.is_empty() && gone.is_none() {
                    let end = self.pen.comments().below_statement(at);
                    out.keep(at..end);
                    at = end;
                }
                for section in sections {
                    self.new_line(out);
                    out.put(newline);
                    out.put(section);
                }
                // The line end went with the statement.
                if gone.is_some() && text[..at].ends_with('\n') {
                    self.new_line(out);
                }
            }
        }
        out.keep(at..text.len());
        Ok(())
    }

    /// Writes new sections before the comments above a statement.
    fn put_ahead(&self, out: &mut Output<'_>, index: usize, at: usize) -> usize {
        let Some(sections) = self.ahead.get(&index) else { return at };
        let start = self.above_comments(self.layout.statements[index].span.start, at);
        out.keep(at..start);
        for section in sections {
            self.new_line(out);
            out.put(section);
            out.put(self.pen.style.newline);
            out.put(self.pen.style.newline);
        }
        start
    }

    /// The start of the comments directly above a statement, behind a byte.
    fn above_comments(&self, statement: usize, at: usize) -> usize {
        let style = &self.pen.style;
        let mut start = style.line_start(statement).max(at);
        while start > at {
            let above = style.line_start(start - 1);
            if above < at || !self.pen.text[above..start].trim_start_matches(['\u{feff}', ' ', '\t']).starts_with('#') {
                break;
            }
            start = above;
        }
        if start == 0 && self.pen.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { start }
    }

    /// Writes an empty line behind a comment, which the next statement would take for its own.
    fn part_comment(&self, out: &mut Output<'_>) {
        let above = out.text().strip_suffix('\n').unwrap_or_else(|| out.text());
        if above.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('#')) {
            self.new_line(out);
            out.put(self.pen.style.newline);
        }
    }

    fn new_line(&self, out: &mut Output<'_>) {
        if !out.text().is_empty() && !out.text().ends_with('\n') {
            out.put(self.pen.style.newline);
        }
    }

    /// Writes pairs of a root that has none, before the comments above the first header.
    fn put_before(&self, out: &mut Output<'_>) -> usize {
        let Some(first) = self.layout.statements.first().filter(|_| !self.before.is_empty()) else {
            if !self.before.is_empty() {
                let end = self.pen.text.trim_end_matches(['\n', '\r']).len();
                out.keep(0..end);
                for line in &self.before {
                    self.new_line(out);
                    out.put(line);
                }
                if self.pen.text.is_empty() {
                    self.new_line(out);
                }
                return end;
            }
            return 0;
        };
        let style = &self.pen.style;
        let start = self.above_comments(first.span.start, 0);
        out.keep(0..start);
        for line in &self.before {
            out.put(line);
            out.put(style.newline);
        }
        out.put(style.newline);
        start
    }

    /// The end of the last of the statements that leave together with one.
    fn run_end(&self, index: usize, gone: Option<usize>) -> usize {
        let run = self.layout.statements[index..].iter();
        let run = run.take_while(|statement| self.layout.container_in(statement.target, &self.plan.gone) == gone);
        run.last().map_or(0, |last| self.gone_end(last, gone))
    }

    /// The end of a statement that leaves. A table leaves with the comments at its end.
    fn gone_end(&self, statement: &Statement, gone: Option<usize>) -> usize {
        let end = self.pen.style.line_end(self.pen.text, statement.span.end);
        let first = gone.and_then(|gone| self.ends.first.get(&gone)).map(|first| &self.layout.statements[*first]);
        let is_table = first.is_some_and(|first| Some(first.target) == gone && first.kind != Kind::Pair);
        if is_table { self.pen.comments().below_statement(end) } else { end }
    }

    /// Leaves a statement out with its line and its comments. Returns the byte from which the source goes on.
    ///
    /// The first of several that leave together is told the end of the last.
    fn leave_out(&self, out: &mut Output<'_>, index: usize, at: usize, run: Option<usize>) -> usize {
        let (style, statement) = (&self.pen.style, &self.layout.statements[index]);
        let start = self.pen.comments().start(statement.span.start, index == 0);
        let end = self.gone_end(statement, self.layout.container_in(statement.target, &self.plan.gone));
        let Some(run) = run else { return end };
        let before = style.line_break_before(self.pen.text, start).filter(|before| *before >= at);
        let Some(before) = before else {
            let after = self.pen.text[end..].strip_prefix('\r').map_or(end, |_| end + 1);
            let mark = if self.pen.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            let start = style.line_start(start).max(at).max(mark);
            out.keep(at..start);
            return if self.pen.text[after..].starts_with('\n') && start == mark { after + 1 } else { end };
        };
        let mut kept = at..before;
        let rest = &self.pen.text[run..];
        let is_blank_behind = rest.trim().is_empty() || blank_line_follows(rest);
        if statement.kind != Kind::Pair && is_blank_behind {
            // One of the blank lines around a section leaves with it.
            kept.end = at + self.pen.text[kept.clone()].trim_end_matches(['\n', '\r']).len();
        }
        out.keep(kept);
        end
    }

    /// Writes a statement that stays.
    fn keep(&self, out: &mut Output<'_>, statement: &Statement) -> Step<usize> {
        let mut at = statement.span.start;
        let is_wrapped = statement.kind == Kind::Table && self.plan.wrapped.contains(&statement.target);
        if is_wrapped {
            out.put("[");
        }
        for (key, node) in &statement.keys {
            let Some(name) = self.plan.names.get(node) else { continue };
            out.keep(at..key.start);
            out.put(&self.pen.key(name, Some(&self.pen.text[key.clone()])));
            at = key.end;
        }
        let cell = self.plan.cells.get(&statement.target).copied();
        if let Some(cell) = cell.filter(|_| statement.kind == Kind::Pair) {
            let span: Range<usize> = self.pen.draft.tree.node(statement.target).span.clone();
            out.keep(at..span.start);
            self.pen.value(out, cell, statement.target)?;
        } else {
            out.keep(at..statement.span.end);
        }
        if is_wrapped {
            out.put("]");
        }
        Ok(statement.span.end)
    }
}

fn blank_line_follows(rest: &str) -> bool {
    let mut lines = rest.split('\n');
    lines.next();
    lines.next().is_some_and(|line| line.trim().is_empty())
}

/// The cell of an opened array of tables.
fn array_cell(pen: &Pen<'_>, array: usize) -> usize {
    pen.draft.cell_of.get(&array).copied().unwrap_or(pen.draft.root)
}
