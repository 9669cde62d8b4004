//! TOML, by the documents of `toml_edit`.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml_edit::{Document as Tree, Item, Key, TableLike, Value as Node};

use super::{Atom, Document, join};

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = Tree::parse(body).map_err(|error| error.message().to_owned())?;
    let mut reader = Reader { text, offset: text.len() - body.len(), atoms: Vec::new(), brackets: Vec::new() };
    let value = reader.table(tree.as_table(), &Way { at: String::new(), keys: Vec::new(), dotted: 0 })?;
    Ok(Document { value, atoms: reader.atoms, brackets: reader.brackets })
}

struct Reader<'t> {
    text: &'t str,
    offset: usize,
    atoms: Vec<Atom>,
    brackets: Vec<(String, Range<usize>)>,
}

/// A table: its pointer, those of the keys on the way to it, and the number of the last of them that each line repeats.
#[derive(Clone)]
struct Way {
    at: String,
    keys: Vec<String>,
    dotted: usize,
}

impl Way {
    fn member(&self, name: &str, is_dotted: bool) -> Way {
        let at = join(&self.at, name);
        let keys = [&self.keys[..], &[at.clone()][..]].concat();
        Way { at, keys, dotted: if is_dotted { self.dotted + 1 } else { 0 } }
    }

    fn item(&self, n: usize) -> Way {
        Way { at: join(&self.at, &n.to_string()), keys: self.keys.clone(), dotted: 0 }
    }
}

impl Reader<'_> {
    fn atom(&mut self, pointer: &str, is_key: bool, range: Option<Range<usize>>) {
        if let Some(range) = range {
            let range = range.start + self.offset..range.end + self.offset;
            self.atoms.push(Atom { pointer: pointer.to_owned(), is_key, range, owner: None });
        }
    }

    fn bracket(&mut self, pointer: &str, range: Option<Range<usize>>) {
        let range = range.map(|range| range.start + self.offset..range.end + self.offset);
        self.brackets.extend(range.map(|range| (pointer.to_owned(), range)));
    }

    /// The keys of a header.
    fn header(&mut self, way: &Way, range: Option<Range<usize>>) {
        let Some(range) = range else { return };
        let end = range.end + self.offset;
        let mut at = range.start + self.offset;
        for key in &way.keys {
            at += self.text[at..end].find(|c: char| !c.is_whitespace() && c != '[' && c != '.').unwrap_or(end - at);
            let length = key_length(&self.text[at..end]);
            let owner = Some(way.at.clone());
            self.atoms.push(Atom { pointer: key.clone(), is_key: true, range: at..at + length, owner });
            at += length;
        }
    }

    /// The keys before the last one of a dotted key that begins at `end`.
    fn prefix(&mut self, way: &Way, last: usize) {
        let mut end = last + self.offset;
        let member = way.at.clone();
        let keys = way.keys.iter().rev().skip(1);
        for key in keys.take(way.dotted) {
            end = self.text[..end].trim_end_matches(|c: char| c.is_whitespace() || c == '.').len();
            let start = key_start(&self.text[..end]);
            self.atoms.push(Atom {
                pointer: key.clone(),
                is_key: true,
                range: start..end,
                owner: Some(member.clone()),
            });
            end = start;
        }
    }

    fn table(&mut self, table: &dyn TableLike, way: &Way) -> Result<Value, String> {
        let mut map = Map::new();
        for (name, item) in table.iter() {
            let is_dotted = match item {
                Item::Table(table) => table.is_dotted(),
                Item::Value(Node::InlineTable(table)) => table.is_dotted(),
                _ => false,
            };
            let mut member = way.member(name, is_dotted);
            if matches!(item, Item::Value(_)) && !is_dotted {
                let key = table.key(name).and_then(Key::span);
                let start = key.as_ref().map(|key| key.start);
                self.atom(&member.at, true, key);
                member.dotted = way.dotted;
                start.into_iter().for_each(|start| self.prefix(&member, start));
                member.dotted = 0;
            }
            map.insert(name.to_owned(), self.item(item, &member)?);
        }
        Ok(Value::Object(map))
    }

    fn item(&mut self, item: &Item, way: &Way) -> Result<Value, String> {
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(Node::InlineTable(table)) => {
                if !table.is_dotted() {
                    self.bracket(&way.at, table.span());
                }
                self.table(table, way)
            }
            Item::Value(value) => self.value(value, &way.at),
            Item::Table(table) => {
                if !table.is_dotted() && !table.is_implicit() {
                    self.header(way, table.span());
                }
                self.table(table, way)
            }
            Item::ArrayOfTables(tables) => {
                let mut items = Vec::new();
                for (n, table) in tables.iter().enumerate() {
                    let way = way.item(n);
                    self.header(&way, table.span());
                    items.push(self.table(table, &way)?);
                }
                Ok(Value::Array(items))
            }
        }
    }

    fn value(&mut self, value: &Node, at: &str) -> Result<Value, String> {
        match value {
            Node::Array(items) => {
                self.bracket(at, items.span());
                let items = items.iter().enumerate();
                return items.map(|(n, item)| self.value(item, &join(at, &n.to_string()))).collect();
            }
            Node::InlineTable(table) => {
                self.bracket(at, table.span());
                return self.table(table, &Way { at: at.to_owned(), keys: Vec::new(), dotted: 0 });
            }
            _ => self.atom(at, false, value.span()),
        }
        match value {
            Node::String(text) => Ok(Value::String(text.value().clone())),
            Node::Integer(number) => Ok(Value::from(*number.value())),
            Node::Float(number) => Number::from_f64(*number.value())
                .map(Value::Number)
                .ok_or_else(|| "it has a number that JSON does not have".to_owned()),
            Node::Boolean(truth) => Ok(Value::Bool(*truth.value())),
            Node::Datetime(date) => Ok(Value::String(date.value().to_string())),
            Node::Array(_) | Node::InlineTable(_) => Ok(Value::Null),
        }
    }
}

/// The length of the key that a text begins with.
fn key_length(text: &str) -> usize {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return text.find(|c: char| !is_bare(c)).unwrap_or(text.len());
    };
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && quote == '"' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// The begin of the key that a text ends with.
fn key_start(text: &str) -> usize {
    let Some(quote) = text.chars().next_back().filter(|c| matches!(c, '"' | '\'')) else {
        return text.trim_end_matches(is_bare).len();
    };
    let mut end = text.len() - 1;
    while let Some(at) = text[..end].rfind(quote) {
        let slashes = at - text[..at].trim_end_matches('\\').len();
        if quote == '\'' || slashes.is_multiple_of(2) {
            return at;
        }
        end = at;
    }
    0
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}
