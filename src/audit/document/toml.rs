//! TOML, by the documents of `toml_edit`.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml_edit::{Document as Tree, Item, Key, TableLike, Value as Node};

use super::{Atom, Document, join};

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = Tree::parse(body).map_err(|error| error.message().to_owned())?;
    let mut reader = Reader { offset: text.len() - body.len(), atoms: Vec::new() };
    let value = reader.table(tree.as_table(), "")?;
    Ok(Document { value, atoms: reader.atoms })
}

struct Reader {
    offset: usize,
    atoms: Vec<Atom>,
}

impl Reader {
    fn atom(&mut self, pointer: &str, is_key: bool, range: Option<Range<usize>>) {
        if let Some(range) = range {
            let range = range.start + self.offset..range.end + self.offset;
            self.atoms.push(Atom { pointer: pointer.to_owned(), is_key, range });
        }
    }

    fn table(&mut self, table: &dyn TableLike, at: &str) -> Result<Value, String> {
        let mut map = Map::new();
        for (name, item) in table.iter() {
            let pointer = join(at, name);
            let key = table.key(name).and_then(Key::span);
            // The keys of headers are within the spans of their tables.
            if !matches!(item, Item::Table(table) if table.span().is_some() && !table.is_dotted())
                && !item.is_array_of_tables()
            {
                self.atom(&pointer, true, key);
            }
            map.insert(name.to_owned(), self.item(item, &pointer)?);
        }
        Ok(Value::Object(map))
    }

    fn item(&mut self, item: &Item, at: &str) -> Result<Value, String> {
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(value) => self.value(value, at),
            Item::Table(table) => {
                if !table.is_dotted() && !table.is_implicit() {
                    self.atom(at, false, table.span());
                }
                self.table(table, at)
            }
            Item::ArrayOfTables(tables) => {
                let mut items = Vec::new();
                for (n, table) in tables.iter().enumerate() {
                    let pointer = join(at, &n.to_string());
                    self.atom(&pointer, false, table.span());
                    items.push(self.table(table, &pointer)?);
                }
                Ok(Value::Array(items))
            }
        }
    }

    fn value(&mut self, value: &Node, at: &str) -> Result<Value, String> {
        match value {
            Node::Array(items) => {
                let items = items.iter().enumerate();
                return items.map(|(n, item)| self.value(item, &join(at, &n.to_string()))).collect();
            }
            Node::InlineTable(table) => return self.table(table, at),
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
