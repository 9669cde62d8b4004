//! TOML 1.1, by a reader of our own: no parser of another family than that of `toml_edit` reads all of it with its places.

mod scalar;
mod table;

use std::ops::Range;

use serde_json::{Map, Value};

use self::table::{Entry, How, Table};
use super::{Atom, DEEPEST, Document, join};

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut reader = Reader { text, at: start, atoms: Vec::new(), brackets: Vec::new() };
    let (mut root, mut section) = (Table::new(How::Header), Vec::new());
    reader.blank_lines()?;
    while reader.peek().is_some() {
        if reader.peek() == Some('[') {
            section = reader.header(&mut root)?;
        } else {
            let (table, at) = root.section(&section)?;
            reader.pair(table, &at)?;
        }
        reader.line_end()?;
        reader.blank_lines()?;
    }
    let Reader { atoms, brackets, .. } = reader;
    Ok(Document { value: root.into_value(), atoms, brackets, anchors: Vec::new() })
}

/// A key with its place.
struct Key {
    name: String,
    range: Range<usize>,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    atoms: Vec<Atom>,
    brackets: Vec<(String, Range<usize>)>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes beyond a text, if it stands here.
    fn take(&mut self, text: &str) -> bool {
        let is_here = self.rest().starts_with(text);
        self.at += if is_here { text.len() } else { 0 };
        is_here
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.take(text) { Ok(()) } else { Err(self.unexpected(text)) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.peek() {
            Some(found) => format!("`{}` stands where `{wanted}` has to", found.escape_debug()),
            None => format!("it ends where `{wanted}` has to stand"),
        }
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
    }

    fn newline(&mut self) -> bool {
        self.take("\n") || self.take("\r\n")
    }

    /// Goes beyond a comment, up to its line end.
    fn comment(&mut self) -> Result<(), String> {
        if self.peek() != Some('#') {
            return Ok(());
        }
        let comment = &self.rest()[..self.rest().find('\n').unwrap_or(self.rest().len())];
        let comment = comment.strip_suffix('\r').filter(|_| self.rest().len() > comment.len()).unwrap_or(comment);
        self.at += comment.len();
        let control = comment.chars().find(|c| *c != '\t' && c.is_ascii_control());
        control.map_or(Ok(()), |c| Err(format!("a comment has the control character `{}`", c.escape_debug())))
    }

    /// The end of a line behind a header or pair.
    fn line_end(&mut self) -> Result<(), String> {
        self.blanks();
        self.comment()?;
        if self.newline() || self.peek().is_none() { Ok(()) } else { Err(self.unexpected("a line end")) }
    }

    /// Space, comments and line ends.
    fn blank_lines(&mut self) -> Result<(), String> {
        loop {
            self.blanks();
            self.comment()?;
            if !self.newline() {
                return Ok(());
            }
        }
    }

    /// Keys with dots between them.
    fn keys(&mut self) -> Result<Vec<Key>, String> {
        let mut keys = Vec::new();
        loop {
            self.blanks();
            let start = self.at;
            let name = match self.peek() {
                Some('"' | '\'') if !self.rest().starts_with("\"\"\"") && !self.rest().starts_with("'''") => {
                    self.string()?
                }
                _ => {
                    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    let length = self.rest().find(|c| !is_bare(c)).unwrap_or(self.rest().len());
                    self.at += length;
                    self.text[start..start + length].to_owned()
                }
            };
            if self.at == start {
                return Err(self.unexpected("a key"));
            }
            keys.push(Key { name, range: start..self.at });
            if keys.len() > DEEPEST {
                return Err("it is nested too deeply".to_owned());
            }
            self.blanks();
            if !self.take(".") {
                return Ok(keys);
            }
        }
    }

    /// Reads a header. Returns the names of its keys.
    fn header(&mut self, root: &mut Table) -> Result<Vec<String>, String> {
        let is_array = self.take("[[");
        if !is_array {
            self.expect("[")?;
        }
        let keys = self.keys()?;
        self.expect(if is_array { "]]" } else { "]" })?;
        let names: Vec<String> = keys.iter().map(|key| key.name.clone()).collect();
        let pointers = root.open(&names, is_array)?;
        let (_, owner) = root.section(&names)?;
        for (key, pointer) in keys.into_iter().zip(pointers) {
            self.atoms.push(Atom { pointer, is_key: true, range: key.range, owner: Some(owner.clone()) });
        }
        Ok(names)
    }

    /// Reads a key and its value into the table at a pointer.
    fn pair(&mut self, table: &mut Table, at: &str) -> Result<(), String> {
        let mut keys = self.keys()?;
        self.expect("=")?;
        self.blanks();
        let mut pointers = Vec::new();
        for key in &keys {
            pointers.push(join(pointers.last().map_or(at, String::as_str), &key.name));
        }
        let Some((last, member)) = keys.pop().zip(pointers.pop()) else { return Err(self.unexpected("a key")) };
        let mut inner = table;
        for (key, pointer) in keys.into_iter().zip(pointers) {
            inner = inner.dotted(&key.name)?;
            self.atoms.push(Atom { pointer, is_key: true, range: key.range, owner: Some(member.clone()) });
        }
        self.atoms.push(Atom { pointer: member.clone(), is_key: true, range: last.range, owner: None });
        let value = self.value(&member)?;
        inner.insert(last.name, Entry::Value(value))
    }

    fn value(&mut self, at: &str) -> Result<Value, String> {
        if at.matches('/').count() > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let start = self.at;
        match self.peek() {
            Some('[') => {
                let items = self.array(at)?;
                self.brackets.push((at.to_owned(), start..self.at));
                return Ok(items);
            }
            Some('{') => {
                let members = self.inline_table(at)?;
                self.brackets.push((at.to_owned(), start..self.at));
                return Ok(members);
            }
            _ => {}
        }
        let value = match self.peek() {
            Some('"' | '\'') => Value::String(self.string()?),
            _ => {
                let (value, length) = scalar::read(self.rest())?;
                self.at += length;
                value
            }
        };
        self.atoms.push(Atom { pointer: at.to_owned(), is_key: false, range: start..self.at, owner: None });
        Ok(value)
    }

    fn string(&mut self) -> Result<String, String> {
        let (text, length) = scalar::string(self.rest())?;
        self.at += length;
        Ok(text)
    }

    fn array(&mut self, at: &str) -> Result<Value, String> {
        self.expect("[")?;
        let mut items = Vec::new();
        loop {
            self.blank_lines()?;
            if self.take("]") {
                return Ok(Value::Array(items));
            }
            items.push(self.value(&join(at, &items.len().to_string()))?);
            self.blank_lines()?;
            if !self.take(",") {
                self.expect("]")?;
                return Ok(Value::Array(items));
            }
        }
    }

    fn inline_table(&mut self, at: &str) -> Result<Value, String> {
        self.expect("{")?;
        let mut table = Table::new(How::Header);
        loop {
            self.blank_lines()?;
            if self.take("}") {
                return Ok(table.into_value());
            }
            self.pair(&mut table, at)?;
            self.blank_lines()?;
            if !self.take(",") {
                self.expect("}")?;
                return Ok(table.into_value());
            }
        }
    }
}

impl Table {
    fn into_value(self) -> Value {
        let value = |entry: Entry| match entry {
            Entry::Value(value) => value,
            Entry::Table(table) => table.into_value(),
            Entry::Tables(tables) => tables.into_iter().map(Table::into_value).collect(),
        };
        Value::Object(self.members.into_iter().map(|(name, entry)| (name, value(entry))).collect::<Map<_, _>>())
    }
}
