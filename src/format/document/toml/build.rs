//! Builds the tree and the layout of a TOML text.

use std::{collections::BTreeMap, ops::Range};

use serde_json::Value;
use toml_parser::{
    Source,
    parser::{Event, EventKind, RecursionGuard, parse_document},
};

use super::{
    super::{
        syntax::Malformed,
        tree::{Form, MAX_DEPTH, Member, Node, Pair, Shape, Tree},
    },
    layout::{Kind, Layout, Statement},
    scalar,
};

/// Reads a text.
pub(in super::super) fn read(text: &str) -> Result<(Tree, Layout), Malformed> {
    let mut events = Vec::new();
    let tokens = Source::new(text).lex().into_vec();
    let limit = u32::try_from(MAX_DEPTH).unwrap_or(u32::MAX);
    parse_document(&tokens, &mut RecursionGuard::new(&mut |event: Event| events.push(event), limit), &mut ());
    check_depth(text, &events)?;
    let checked = toml_edit::Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Malformed::at(text, at, error.message())
    })?;
    let value = scalar::read_table(checked.as_table()).map_err(|reason| Malformed::at(text, 0, reason))?;
    let root = Node::new(0..text.len(), Shape::Object(Vec::new()), Form::Block);
    let mut build = Build {
        text,
        events,
        at: 0,
        nodes: vec![root],
        comments: Vec::new(),
        layout: Layout::default(),
        section: 0,
        by_name: BTreeMap::new(),
    };
    build.document()?;
    let mut tree = Tree { nodes: build.nodes, root: 0, comments: build.comments };
    if tree.value_of(0) != value {
        return Err(Malformed::at(text, 0, "the two readers of TOML disagree"));
    }
    build.layout.parents = parents(&mut tree);
    Ok((tree, build.layout))
}

/// Refuses values that are nested too deeply for recursion.
fn check_depth(text: &str, events: &[Event]) -> Result<(), Malformed> {
    let (mut header, mut key) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    let mut depth: usize = 0;
    for event in events {
        match event.kind() {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => (key, depth) = (1, 0),
            EventKind::StdTableClose | EventKind::ArrayTableClose => (header, key) = (key + 1, 0),
            EventKind::KeySep => key += 1,
            EventKind::ArrayOpen | EventKind::InlineTableOpen => {
                open.push(key + 1);
                depth += key + 1;
                key = 0;
            }
            EventKind::ArrayClose | EventKind::InlineTableClose => {
                depth -= open.pop().unwrap_or(0).min(depth);
                key = 0;
            }
            EventKind::Scalar | EventKind::ValueSep => key = 0,
            _ => {}
        }
        if header + depth + key > MAX_DEPTH {
            return Err(Malformed::at(
                text,
                range(event).start,
                format!("values are nested deeper than {MAX_DEPTH} levels"),
            ));
        }
    }
    Ok(())
}

fn parents(tree: &mut Tree) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..tree.nodes.len()).collect();
    for id in 0..tree.nodes.len() {
        for index in 0..tree.nodes[id].n_children() {
            parents[tree.nodes[id].child(index)] = id;
        }
    }
    parents
}

struct Build<'t> {
    text: &'t str,
    events: Vec<Event>,
    at: usize,
    nodes: Vec<Node>,
    comments: Vec<Range<usize>>,
    layout: Layout,
    /// The table of the last header.
    section: usize,
    /// Tables and arrays of tables by their container and name.
    by_name: BTreeMap<(usize, String), usize>,
}

type Keys = Vec<(String, Range<usize>)>;

impl Build<'_> {
    fn document(&mut self) -> Result<(), Malformed> {
        while let Some(event) = self.next() {
            match event.kind() {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => self.header(&event)?,
                EventKind::SimpleKey => {
                    self.at -= 1;
                    let section = self.section;
                    let statement = self.pair(section)?;
                    self.layout.statements.push(statement);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The next event that is neither white space nor a comment.
    fn next(&mut self) -> Option<Event> {
        while let Some(event) = self.events.get(self.at) {
            self.at += 1;
            match event.kind() {
                EventKind::Comment => self.comments.push(range(event)),
                EventKind::Whitespace | EventKind::Newline => {}
                _ => return Some(*event),
            }
        }
        None
    }

    fn fail(&self, reason: impl Into<String>) -> Malformed {
        let at = self.events.get(self.at.saturating_sub(1)).map_or(self.text.len(), |event| range(event).start);
        Malformed::at(self.text, at, reason)
    }

    /// Reads keys with dots. Returns the event behind them.
    fn keys(&mut self) -> Result<(Keys, Event), Malformed> {
        let mut keys = Vec::new();
        loop {
            let event = self.next().ok_or_else(|| self.fail("a key has no value"))?;
            match event.kind() {
                EventKind::SimpleKey => {
                    let raw = &self.text[range(&event)];
                    let is_bare = !raw.starts_with(['"', '\'']);
                    let name = match raw.parse::<toml_edit::Key>() {
                        _ if is_bare => raw.to_owned(),
                        Ok(key) => key.get().to_owned(),
                        Err(_) => return Err(self.fail("a key is malformed")),
                    };
                    keys.push((name, range(&event)));
                }
                EventKind::KeySep => {}
                _ => return Ok((keys, event)),
            }
        }
    }

    fn header(&mut self, open: &Event) -> Result<(), Malformed> {
        let (keys, close) = self.keys()?;
        let is_array = open.kind() == EventKind::ArrayTableOpen;
        let (last, path) = keys.split_last().ok_or_else(|| self.fail("a header has no key"))?;
        let mut table = 0;
        let mut written = Vec::new();
        for (name, key) in path {
            let node = self.member(table, name, key, Shape::Object(Vec::new()));
            written.push((key.clone(), node));
            table = self.last_item(node);
        }
        let span = range(open).start..range(&close).end;
        let empty = if is_array { Shape::Array(Vec::new()) } else { Shape::Object(Vec::new()) };
        let node = self.member(table, &last.0, &last.1, empty);
        written.push((last.1.clone(), node));
        self.nodes[node].span = span.clone();
        let mut target = node;
        if is_array {
            target = self.push(Node::new(span.clone(), Shape::Object(Vec::new()), Form::Block));
            if let Shape::Array(items) = &mut self.nodes[node].shape {
                items.push(target);
            }
        }
        self.section = target;
        let kind = if is_array { Kind::ArrayTable } else { Kind::Table };
        self.layout.statements.push(Statement { span, kind, keys: written, target, section: target });
        Ok(())
    }

    /// Reads a key and its value into a table.
    fn pair(&mut self, table: usize) -> Result<Statement, Malformed> {
        let (keys, sign) = self.keys()?;
        if sign.kind() != EventKind::KeyValSep {
            return Err(self.fail("a key has no value"));
        }
        let (last, path) = keys.split_last().ok_or_else(|| self.fail("a value has no key"))?;
        let mut parent = table;
        let mut written = Vec::new();
        for (name, key) in path {
            parent = self.member(parent, name, key, Shape::Object(Vec::new()));
            written.push((key.clone(), parent));
        }
        let first = self.next().ok_or_else(|| self.fail("a key has no value"))?;
        let value = self.value(&first)?;
        written.push((last.1.clone(), value));
        if let Shape::Object(members) = &mut self.nodes[parent].shape {
            members.push(Member { name: last.0.clone(), key: last.1.clone(), value });
        }
        let span = keys[0].1.start..self.nodes[value].span.end;
        Ok(Statement { span, kind: Kind::Pair, keys: written, target: value, section: table })
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The member of a table, made if it is absent.
    fn member(&mut self, table: usize, name: &str, key: &Range<usize>, shape: Shape) -> usize {
        if let Some(node) = self.by_name.get(&(table, name.to_owned())) {
            return *node;
        }
        let value = self.push(Node::new(key.clone(), shape, Form::Block));
        self.by_name.insert((table, name.to_owned()), value);
        if let Shape::Object(members) = &mut self.nodes[table].shape {
            members.push(Member { name: name.to_owned(), key: key.clone(), value });
        }
        value
    }

    fn last_item(&self, node: usize) -> usize {
        match &self.nodes[node].shape {
            Shape::Array(items) => items.last().copied().unwrap_or(node),
            Shape::Scalar(_) | Shape::Object(_) => node,
        }
    }

    fn value(&mut self, first: &Event) -> Result<usize, Malformed> {
        match first.kind() {
            EventKind::Scalar => {
                let raw = &self.text[range(first)];
                let value = raw.parse::<toml_edit::Value>().map_err(|_| self.fail("a value is malformed"))?;
                let value = scalar::read(&value).map_err(|reason| self.fail(reason))?;
                Ok(self.push(Node::new(range(first), Shape::Scalar(value), Form::Scalar)))
            }
            EventKind::ArrayOpen => self.array(range(first).start),
            EventKind::InlineTableOpen => self.inline_table(range(first).start),
            _ => Err(self.fail("a value is malformed")),
        }
    }

    fn array(&mut self, start: usize) -> Result<usize, Malformed> {
        let id = self.push(Node::new(start..start, Shape::Scalar(Value::Null), Form::Flow));
        let mut items = Vec::new();
        loop {
            let event = self.next().ok_or_else(|| self.fail("an array has no end"))?;
            match event.kind() {
                EventKind::ArrayClose => {
                    self.nodes[id].span.end = range(&event).end;
                    self.nodes[id].shape = Shape::Array(items);
                    return Ok(id);
                }
                EventKind::ValueSep => {}
                _ => items.push(self.value(&event)?),
            }
        }
    }

    fn inline_table(&mut self, start: usize) -> Result<usize, Malformed> {
        let id = self.push(Node::new(start..start, Shape::Object(Vec::new()), Form::Flow));
        let mut pairs = Vec::new();
        loop {
            let event = self.next().ok_or_else(|| self.fail("an inline table has no end"))?;
            match event.kind() {
                EventKind::InlineTableClose => {
                    self.nodes[id].span.end = range(&event).end;
                    if pairs.iter().any(|pair: &Pair| pair.keys.len() > 1) {
                        self.nodes[id].pairs = pairs;
                    }
                    return Ok(id);
                }
                EventKind::ValueSep => {}
                _ => {
                    self.at -= 1;
                    let Statement { keys, target, .. } = self.pair(id)?;
                    pairs.push(Pair { keys, value: target });
                }
            }
        }
    }
}

fn range(event: &Event) -> Range<usize> {
    event.span().start()..event.span().end()
}
