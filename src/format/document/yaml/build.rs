//! Builds the tree of a YAML document from the events of its parser.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, Tag, options};
use serde_json::{Map, Value};

use super::{
    super::{
        syntax::Malformed,
        tree::{Form, MAX_DEPTH, Member, Node, Shape, Tree, value_of},
    },
    place, scalar,
};

/// The most values that aliases and merge keys may stand for.
const MAX_EXPANDED: usize = 100_000;

const ANCHORED: &str = "the value has an anchor";
const ALIASED: &str = "the value is an alias";
const TAGGED: &str = "the value has a tag";

/// Reads a text with one document.
pub(in super::super) fn read(text: &str) -> Result<Tree, Malformed> {
    let options = options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH, max_buffered_comment_events: usize::MAX };
    let mut build = Build {
        text,
        nodes: Vec::new(),
        comments: Vec::new(),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        root: None,
        start: 0,
        n_expanded: 0,
    };
    let mut last_scalar = None;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(0);
            Malformed::at(text, at, error.info())
        })?;
        if let Event::Scalar(_, style, ..) = &event {
            let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
            let start = span.byte_range().map(|range| range.start).filter(|_| is_block);
            // One that strips its line ends is the same with and without one.
            last_scalar = start.filter(|start| !text[*start..].lines().next().is_some_and(is_stripped));
        }
        build.event(event, &span)?;
    }
    // Parsers differ on the line end of such a scalar.
    if let Some(at) = last_scalar.filter(|at| !text.ends_with('\n') && text[*at..].contains('\n')) {
        return Err(Malformed::at(text, at, "the last line has no line end, and is one of a block scalar"));
    }
    // A text of comments alone is null.
    let root = build.root.unwrap_or(build.nodes.len());
    if build.root.is_none() {
        build.nodes.push(Node::new(text.len()..text.len(), Shape::Scalar(Value::Null), Form::Absent));
    }
    build.nodes.iter_mut().filter(|node| node.lock == Some(ANCHORED)).for_each(|node| node.has_anchor = true);
    for anchor in build.anchors.values().filter(|anchor| !anchor.is_used) {
        let node = &mut build.nodes[anchor.node];
        node.lock = node.lock.filter(|lock| *lock != ANCHORED);
    }
    let mut tree = Tree { nodes: build.nodes, root, comments: build.comments };
    place::place(text, &mut tree, build.start)?;
    Ok(tree)
}

/// True for the head of a block scalar that strips its line ends.
fn is_stripped(head: &str) -> bool {
    head.split('#').next().is_some_and(|head| head.contains('-'))
}

struct Build<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    comments: Vec<Range<usize>>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchor>,
    root: Option<usize>,
    /// Behind the start of the document.
    start: usize,
    n_expanded: usize,
}

/// A value that aliases may stand for.
struct Anchor {
    node: usize,
    is_used: bool,
}

/// A container whose end isn't read yet.
struct Open {
    node: usize,
    names: BTreeSet<String>,
    key: Option<(String, Range<usize>)>,
}

impl Build<'_> {
    fn fail(&self, at: usize, reason: impl Into<String>) -> Malformed {
        Malformed::at(self.text, at, reason)
    }

    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Malformed> {
        let range = span.byte_range().ok_or_else(|| self.fail(0, "the parser tells no place"))?;
        match event {
            Event::DocumentStart(is_explicit, version) => {
                if self.root.is_some() {
                    return Err(self.fail(range.start, "the text holds more than one document"));
                }
                if version.is_some_and(|version| (version.major, version.minor) != (1, 2)) {
                    return Err(self.fail(0, "the document asks for another version than YAML 1.2"));
                }
                self.start = if is_explicit { range.end } else { 0 };
                Ok(())
            }
            Event::Comment(..) => {
                self.comments.push(range);
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref();
                self.scalar((&text, style), range, tag, anchor)
            }
            Event::Alias(anchor) => self.alias(anchor, range),
            Event::SequenceStart(style, anchor, tag) => {
                self.start((Shape::Array(Vec::new()), style), range, tag.is_some(), anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.start((Shape::Object(Vec::new()), style), range, tag.is_some(), anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(range),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        scalar: (&str, ScalarStyle),
        range: Range<usize>,
        tag: Option<&Tag>,
        anchor: usize,
    ) -> Result<(), Malformed> {
        let (text, style) = scalar;
        let is_absent = range.is_empty() && style == ScalarStyle::Plain;
        let value = value(if is_absent && tag.is_none() { "" } else { text }, style, tag)
            .map_err(|reason| self.fail(range.start, reason))?;
        let form = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => Form::BlockScalar,
            _ if is_absent => Form::Absent,
            _ => Form::Scalar,
        };
        let mut node = Node::new(range, Shape::Scalar(value), form);
        node.lock = lock(tag.is_some(), anchor);
        self.add(node, anchor)
    }

    fn alias(&mut self, anchor: usize, range: Range<usize>) -> Result<(), Malformed> {
        let target = self.anchors.get_mut(&anchor).map(|anchor| {
            anchor.is_used = true;
            anchor.node
        });
        let target = target.filter(|target| !self.open.iter().any(|open| open.node == *target));
        let target = target.ok_or_else(|| self.fail(range.start, "an alias stands for a container that holds it"))?;
        let value = self.value(target, range.start)?;
        let mut node = Node::new(range, Shape::Scalar(value), Form::Alias);
        node.lock = Some(ALIASED);
        self.add(node, 0)
    }

    /// The value of an anchored node, within the bounds of expansion.
    fn value(&mut self, node: usize, at: usize) -> Result<Value, Malformed> {
        self.n_expanded += self.weigh(node);
        if self.n_expanded > MAX_EXPANDED {
            return Err(self.fail(at, format!("aliases stand for more than {MAX_EXPANDED} values")));
        }
        Ok(value_of(&self.nodes, node))
    }

    fn weigh(&self, node: usize) -> usize {
        match &self.nodes[node].shape {
            Shape::Scalar(value) => weight(value),
            Shape::Array(items) => 1 + items.iter().map(|item| self.weigh(*item)).sum::<usize>(),
            Shape::Object(members) => 1 + members.iter().map(|member| self.weigh(member.value)).sum::<usize>(),
        }
    }

    fn start(
        &mut self,
        container: (Shape, StructureStyle),
        range: Range<usize>,
        is_tagged: bool,
        anchor: usize,
    ) -> Result<(), Malformed> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.fail(range.start, format!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        let (shape, style) = container;
        let is_pair = style == StructureStyle::Flow && range.is_empty();
        let form = match style {
            StructureStyle::Flow if is_pair => Form::Pair,
            StructureStyle::Flow => Form::Flow,
            StructureStyle::Block => Form::Block,
        };
        let mut node = Node::new(range, shape, form);
        node.lock = lock(is_tagged, anchor).or(is_pair.then_some("the object is a pair without braces"));
        self.add(node, anchor)?;
        self.open.push(Open { node: self.nodes.len() - 1, names: BTreeSet::new(), key: None });
        Ok(())
    }

    fn end(&mut self, range: Range<usize>) -> Result<(), Malformed> {
        let Some(open) = self.open.pop() else { return Err(self.fail(range.start, "a container ends twice")) };
        let node = &mut self.nodes[open.node];
        if node.form == Form::Flow {
            node.span.end = range.end;
        }
        if open.names.contains("<<") {
            self.merge(open.node)?;
        }
        Ok(())
    }

    /// Puts a node in its container, or makes it a key.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Malformed> {
        let at = node.span.start;
        let id = self.nodes.len();
        let Some(open) = self.open.last_mut() else {
            self.root = Some(id);
            return self.push(node, anchor);
        };
        let parent = open.node;
        if matches!(self.nodes[parent].shape, Shape::Array(_)) {
            self.push(node, anchor)?;
            if let Shape::Array(items) = &mut self.nodes[parent].shape {
                items.push(id);
            }
            return Ok(());
        }
        match open.key.take() {
            Some((name, key)) => {
                self.push(node, anchor)?;
                if let Shape::Object(members) = &mut self.nodes[parent].shape {
                    members.push(Member { name, key, value: id });
                }
                Ok(())
            }
            None => {
                let name = match node.shape {
                    Shape::Scalar(Value::String(name)) => name,
                    // A number or a truth is the text that it is written as, like `200` in an object of status codes.
                    Shape::Scalar(Value::Number(_) | Value::Bool(_)) if node.lock.is_none() => {
                        self.text[node.span.clone()].to_owned()
                    }
                    Shape::Scalar(_) | Shape::Array(_) | Shape::Object(_) => {
                        return Err(self.fail(at, "a key is no string"));
                    }
                };
                if node.form == Form::Alias {
                    return Err(self.fail(at, "a key is an alias"));
                }
                if !open.names.insert(name.clone()) {
                    return Err(self.fail(at, format!("the key `{name}` stands twice in an object")));
                }
                open.key = Some((name, node.span));
                if anchor > 0 {
                    return Err(self.fail(at, "a key has an anchor"));
                }
                if node.lock.is_some() {
                    self.nodes[parent].lock = Some("the object has a key with a tag");
                }
                Ok(())
            }
        }
    }

    fn push(&mut self, node: Node, anchor: usize) -> Result<(), Malformed> {
        self.nodes.push(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Anchor { node: self.nodes.len() - 1, is_used: false });
        }
        Ok(())
    }

    /// Gives an object with a merge key its whole value.
    fn merge(&mut self, id: usize) -> Result<(), Malformed> {
        let at = self.nodes[id].span.start;
        let Value::Object(mut merged) = self.value(id, at)? else { return Ok(()) };
        let is_quoted = |member: &Member| self.text[member.key.clone()] != *"<<";
        if let Shape::Object(members) = &self.nodes[id].shape
            && members.iter().any(|member| member.name == "<<" && is_quoted(member))
        {
            return Ok(());
        }
        let sources: Vec<Map<String, Value>> = match merged.remove("<<") {
            Some(Value::Object(map)) => vec![map],
            Some(Value::Array(items)) => items
                .into_iter()
                .filter_map(|item| match item {
                    Value::Object(map) => Some(map),
                    _ => None,
                })
                .collect(),
            _ => return Err(self.fail(at, "a merge key has no object")),
        };
        for (name, value) in sources.into_iter().flatten() {
            merged.entry(name).or_insert(value);
        }
        self.nodes[id].merged = Some(Value::Object(merged));
        Ok(())
    }
}

fn lock(is_tagged: bool, anchor: usize) -> Option<&'static str> {
    if is_tagged { Some(TAGGED) } else { (anchor > 0).then_some(ANCHORED) }
}

fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(weight).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// The value of a scalar, by its tag or its style.
fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { scalar::resolve(text) } else { Ok(Value::String(text.to_owned())) };
    };
    let malformed = || format!("`{text}` isn't as its tag says");
    let resolved = || scalar::resolve(text);
    match tag.core_suffix() {
        Some("null") => resolved().ok().filter(Value::is_null).ok_or_else(malformed),
        Some("bool") => resolved().ok().filter(Value::is_boolean).ok_or_else(malformed),
        Some("int") => {
            resolved()?.as_number().filter(|number| !number.is_f64()).cloned().map(Value::Number).ok_or_else(malformed)
        }
        Some("float") => {
            let float = resolved()?.as_f64().and_then(serde_json::Number::from_f64);
            float.map(Value::Number).ok_or_else(malformed)
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}
