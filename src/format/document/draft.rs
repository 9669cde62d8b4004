//! The edited tree of a document, before it is written.
//!
//! A cell is a value of the result. Cells that no edit touches stand for a node of the source and are never opened, so that
//! an edit costs the depth of its pointer.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    edit::Edit,
    expect,
    tree::{MAX_DEPTH, Shape, Tree},
};

/// The edits of a document as a tree.
#[derive(Debug)]
pub(super) struct Draft<'t> {
    pub(super) tree: &'t Tree,
    pub(super) cells: Vec<Cell>,
    pub(super) root: usize,
    /// Nodes of the source that left their place: replaced, removed or moved.
    pub(super) detached: Vec<Detached>,
    /// The cells of nodes at their place, where they were opened or changed.
    pub(super) cell_of: BTreeMap<usize, usize>,
}

/// A node that left its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detached {
    pub(super) node: usize,
    /// Another value has its place.
    pub(super) is_replaced: bool,
}

/// A value of the result.
#[derive(Debug)]
pub(super) struct Cell {
    /// The node whose bytes the value keeps.
    pub(super) source: Option<usize>,
    /// The node in whose place the value stands.
    pub(super) replaces: Option<usize>,
    pub(super) body: Body,
    /// An edit changed the value or a value beneath it.
    pub(super) is_changed: bool,
}

/// The content of a cell.
#[derive(Debug)]
pub(super) enum Body {
    /// As in the source.
    Kept,
    /// New.
    Fresh(Value),
    Array(Vec<Entry>),
    Object(Fields),
    /// An array of one value, made around it.
    Wrapped(Entry),
}

/// A member or an item.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The name of a member.
    pub(super) name: Option<String>,
    pub(super) cell: usize,
    /// The index in the source, where the entry stands in its place.
    pub(super) place: Option<usize>,
    /// The name differs from that in the source.
    pub(super) is_renamed: bool,
}

/// The members of an object in their order. Removed ones leave a gap.
#[derive(Debug, Default)]
pub(super) struct Fields {
    entries: Vec<Option<Entry>>,
    by_name: BTreeMap<String, usize>,
}

impl Fields {
    pub(super) fn push(&mut self, entry: Entry) {
        if let Some(name) = &entry.name {
            self.by_name.insert(name.clone(), self.entries.len());
        }
        self.entries.push(Some(entry));
    }
}

impl Body {
    /// The entries of an opened container.
    pub(super) fn entries(&self) -> Vec<&Entry> {
        match self {
            Body::Kept | Body::Fresh(_) => Vec::new(),
            Body::Array(items) => items.iter().collect(),
            Body::Object(fields) => fields.entries.iter().flatten().collect(),
            Body::Wrapped(entry) => vec![entry],
        }
    }
}

/// The place of a value beneath a container.
enum Slot {
    Item(usize),
    Member(usize),
    Wrapped,
}

type Step<T> = Result<T, String>;

impl<'t> Draft<'t> {
    pub(super) fn new(tree: &'t Tree) -> Draft<'t> {
        let mut draft = Draft { tree, cells: Vec::new(), root: 0, detached: Vec::new(), cell_of: BTreeMap::new() };
        draft.root = draft.keep(tree.root);
        draft
    }

    fn keep(&mut self, node: usize) -> usize {
        self.cells.push(Cell { source: Some(node), replaces: Some(node), body: Body::Kept, is_changed: false });
        self.cell_of.insert(node, self.cells.len() - 1);
        self.cells.len() - 1
    }

    fn fresh(&mut self, value: Value) -> usize {
        self.cells.push(Cell { source: None, replaces: None, body: Body::Fresh(value), is_changed: true });
        self.cells.len() - 1
    }

    /// Makes one edit.
    pub(super) fn edit(&mut self, edit: &Edit) -> Step<()> {
        match edit {
            Edit::Set { pointer, value } => self.set(pointer, value),
            Edit::Insert { pointer, value } => {
                let cell = self.fresh(value.clone());
                self.insert(pointer, cell)
            }
            Edit::Remove { pointer } => self.take(pointer).map(drop),
            Edit::Rename { pointer, key } => self.rename(pointer, key),
            Edit::Move { from, to } => {
                let cell = self.take(from)?;
                if self.cells[cell].source.is_some_and(|node| self.tree.node(node).has_anchor) {
                    return Err("the value has an anchor, which would stay behind".to_owned());
                }
                self.cells[cell].replaces = None;
                self.insert(to, cell)
            }
            Edit::WrapArray { pointer } => self.wrap(pointer),
        }
    }

    /// Gives a container its entries.
    fn open(&mut self, cell: usize) -> Step<()> {
        let source = self.cells[cell].source;
        match &mut self.cells[cell].body {
            Body::Kept => {
                let body = self.open_kept(source.ok_or("a value has no text")?)?;
                self.cells[cell].body = body;
            }
            Body::Fresh(value) => {
                let value = value.take();
                self.cells[cell].body = self.open_fresh(value)?;
            }
            Body::Array(_) | Body::Object(_) | Body::Wrapped(_) => {}
        }
        Ok(())
    }

    fn open_kept(&mut self, node: usize) -> Step<Body> {
        let tree = self.tree;
        let node = tree.node(node);
        if let Some(lock) = node.lock {
            return Err(lock.to_owned());
        }
        let entry = |name, cell, place| Entry { name, cell, place: Some(place), is_renamed: false };
        match &node.shape {
            Shape::Scalar(_) => Err("the parent is neither an object nor an array".to_owned()),
            Shape::Array(items) => {
                let items = items.iter().enumerate();
                Ok(Body::Array(items.map(|(place, item)| entry(None, self.keep(*item), place)).collect()))
            }
            Shape::Object(members) => {
                let mut fields = Fields::default();
                for (place, member) in members.iter().enumerate() {
                    fields.push(entry(Some(member.name.clone()), self.keep(member.value), place));
                }
                Ok(Body::Object(fields))
            }
        }
    }

    fn open_fresh(&mut self, value: Value) -> Step<Body> {
        match value {
            Value::Array(items) => {
                let entry = |cell| Entry { name: None, cell, place: None, is_renamed: false };
                Ok(Body::Array(items.into_iter().map(|item| entry(self.fresh(item))).collect()))
            }
            Value::Object(members) => {
                let mut fields = Fields::default();
                for (name, value) in members {
                    let cell = self.fresh(value);
                    fields.push(Entry { name: Some(name), cell, place: None, is_renamed: false });
                }
                Ok(Body::Object(fields))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err("the parent is neither an object nor an array".to_owned())
            }
        }
    }

    fn slot(&self, parent: usize, token: &str) -> Step<Slot> {
        let slot = match &self.cells[parent].body {
            Body::Array(items) => expect::index(token).filter(|at| *at < items.len()).map(Slot::Item),
            Body::Object(fields) => fields.by_name.get(token).copied().map(Slot::Member),
            Body::Wrapped(_) => (token == "0").then_some(Slot::Wrapped),
            Body::Kept | Body::Fresh(_) => None,
        };
        let merged = self.cells[parent].source.and_then(|node| self.tree.node(node).merged.as_ref());
        slot.ok_or_else(|| match merged.is_some_and(|merged| merged.get(token).is_some()) {
            true => "the member comes from a merge key".to_owned(),
            false => "the value has no such place".to_owned(),
        })
    }

    fn entry(&mut self, parent: usize, slot: &Slot) -> Option<&mut Entry> {
        match (&mut self.cells[parent].body, slot) {
            (Body::Array(items), Slot::Item(at)) => items.get_mut(*at),
            (Body::Object(fields), Slot::Member(at)) => fields.entries[*at].as_mut(),
            (Body::Wrapped(entry), Slot::Wrapped) => Some(entry),
            _ => None,
        }
    }

    /// Opens the containers along a pointer: the innermost, and the last token.
    fn parent<'p>(&mut self, tokens: &'p [String]) -> Step<(usize, &'p str)> {
        let (last, path) = tokens.split_last().ok_or("the root has no parent")?;
        let mut cell = self.root;
        self.open(cell)?;
        for token in path {
            self.cells[cell].is_changed = true;
            let slot = self.slot(cell, token)?;
            cell = self.entry(cell, &slot).ok_or("the value has no such place")?.cell;
            self.open(cell)?;
        }
        self.cells[cell].is_changed = true;
        Ok((cell, last))
    }

    /// The cell at a pointer.
    fn find(&mut self, tokens: &[String]) -> Step<usize> {
        if tokens.is_empty() {
            return Ok(self.root);
        }
        let (parent, last) = self.parent(tokens)?;
        let slot = self.slot(parent, last)?;
        Ok(self.entry(parent, &slot).ok_or("the value has no such place")?.cell)
    }

    /// Refuses to touch a cell that has a lock in it.
    fn check_free(&self, cell: usize) -> Step<()> {
        let mut open = vec![cell];
        while let Some(cell) = open.pop() {
            let cell = &self.cells[cell];
            if let Some(lock) = cell.source.and_then(|node| self.tree.node(node).held) {
                return Err(lock.to_owned());
            }
            open.extend(cell.body.entries().iter().map(|entry| entry.cell));
        }
        Ok(())
    }

    /// Notes that the source of a cell leaves its place.
    fn detach(&mut self, cell: usize, is_replaced: bool) {
        if let Some(node) = self.cells[cell].source {
            self.detached.push(Detached { node, is_replaced });
            self.cell_of.remove(&node);
        }
    }

    fn set(&mut self, pointer: &str, value: &Value) -> Step<()> {
        let tokens = expect::tokens(pointer)?;
        let old = self.find(&tokens)?;
        let is_same = match (&self.cells[old].body, self.cells[old].source) {
            (Body::Kept, Some(node)) => self.tree.value_of(node) == *value,
            (Body::Fresh(fresh), _) => fresh == value,
            _ => false,
        };
        if is_same {
            return Ok(());
        }
        self.check_free(old)?;
        let new = self.fresh(value.clone());
        self.replace(&tokens, old, new)
    }

    fn wrap(&mut self, pointer: &str) -> Step<()> {
        let tokens = expect::tokens(pointer)?;
        let old = self.find(&tokens)?;
        self.check_free(old)?;
        let new = self.fresh(Value::Null);
        self.replace(&tokens, old, new)?;
        self.cells[new].body = Body::Wrapped(Entry { name: None, cell: old, place: None, is_renamed: false });
        Ok(())
    }

    fn replace(&mut self, tokens: &[String], old: usize, new: usize) -> Step<()> {
        self.cells[new].replaces = self.cells[old].replaces.take();
        self.detach(old, true);
        if tokens.is_empty() {
            self.root = new;
            return Ok(());
        }
        let (parent, last) = self.parent(tokens)?;
        let slot = self.slot(parent, last)?;
        self.entry(parent, &slot).ok_or("the value has no such place")?.cell = new;
        Ok(())
    }

    fn insert(&mut self, pointer: &str, cell: usize) -> Step<()> {
        let tokens = expect::tokens(pointer)?;
        let (parent, last) = self.parent(&tokens)?;
        let mut entry = Entry { name: None, cell, place: None, is_renamed: false };
        // An array of one that grows is an array like others.
        if let Body::Wrapped(inner) = &self.cells[parent].body {
            self.cells[parent].body = Body::Array(vec![inner.clone()]);
        }
        match &mut self.cells[parent].body {
            Body::Array(items) => {
                let at = if last == "-" { Some(items.len()) } else { expect::index(last) };
                let at = at.filter(|at| *at <= items.len()).ok_or("the index is beyond the end of the array")?;
                items.insert(at, entry);
            }
            Body::Object(fields) => {
                if fields.by_name.contains_key(last) {
                    return Err("the object has such a member".to_owned());
                }
                entry.name = Some(last.to_owned());
                fields.push(entry);
            }
            Body::Kept | Body::Fresh(_) | Body::Wrapped(_) => {
                return Err("the parent is neither an object nor an array".to_owned());
            }
        }
        Ok(())
    }

    /// Removes a value from its place.
    fn take(&mut self, pointer: &str) -> Step<usize> {
        let tokens = expect::tokens(pointer)?;
        let cell = self.find(&tokens)?;
        self.check_free(cell)?;
        let (parent, last) = self.parent(&tokens)?;
        if let Body::Wrapped(_) = &self.cells[parent].body {
            self.cells[parent].body = Body::Array(Vec::new());
        } else {
            match self.slot(parent, last)? {
                Slot::Item(at) => {
                    if let Body::Array(items) = &mut self.cells[parent].body {
                        items.remove(at);
                    }
                }
                Slot::Member(at) => {
                    if let Body::Object(fields) = &mut self.cells[parent].body {
                        fields.entries[at] = None;
                        fields.by_name.remove(last);
                    }
                }
                Slot::Wrapped => {}
            }
        }
        self.detach(cell, false);
        Ok(cell)
    }

    fn rename(&mut self, pointer: &str, key: &str) -> Step<()> {
        let tokens = expect::tokens(pointer)?;
        let (parent, last) = self.parent(&tokens)?;
        let Body::Object(fields) = &mut self.cells[parent].body else {
            return Err("the parent is no object".to_owned());
        };
        let at = *fields.by_name.get(last).ok_or("the value has no such place")?;
        if fields.by_name.contains_key(key) {
            return if key == last { Ok(()) } else { Err(format!("the object has a member `{key}`")) };
        }
        fields.by_name.remove(last);
        fields.by_name.insert(key.to_owned(), at);
        let entry = fields.entries[at].as_mut().ok_or("the value has no such place")?;
        entry.name = Some(key.to_owned());
        entry.is_renamed = true;
        Ok(())
    }

    /// Refuses results that are nested deeper than a reader reads.
    pub(super) fn check_depth(&self) -> Step<()> {
        let mut open = vec![(self.root, 0)];
        while let Some((cell, depth)) = open.pop() {
            if depth > MAX_DEPTH {
                return Err(format!("values would be nested deeper than {MAX_DEPTH} levels"));
            }
            open.extend(self.cells[cell].body.entries().iter().map(|entry| (entry.cell, depth + 1)));
        }
        Ok(())
    }
}
