//! The tables of TOML under construction, and the rules by which headers and keys may add to them.

use std::collections::{BTreeMap, btree_map::Entry as Place};

use serde_json::Value;

use super::super::{DEEPEST, join};

/// A table that later lines may add to.
pub(super) struct Table {
    pub(super) members: BTreeMap<String, Entry>,
    how: How,
}

/// A member of a table.
pub(super) enum Entry {
    /// A value that is complete, as an inline table is.
    Value(Value),
    Table(Table),
    /// An array of tables.
    Tables(Vec<Table>),
}

/// The lines that made a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// A header of its own.
    Header,
    /// Headers of tables in it.
    Path,
    /// Keys with dots.
    Dotted,
}

impl Table {
    pub(super) fn new(how: How) -> Table {
        Table { members: BTreeMap::new(), how }
    }

    /// Adds a member.
    pub(super) fn insert(&mut self, name: String, entry: Entry) -> Result<(), String> {
        match self.members.entry(name) {
            Place::Vacant(place) => {
                place.insert(entry);
                Ok(())
            }
            Place::Occupied(place) => Err(twice(place.key())),
        }
    }

    /// The table that a key with dots leads into.
    pub(super) fn dotted(&mut self, name: &str) -> Result<&mut Table, String> {
        let entry = self.members.entry(name.to_owned()).or_insert_with(|| Entry::Table(Table::new(How::Dotted)));
        match entry {
            Entry::Table(table) if table.how == How::Dotted => Ok(table),
            _ => Err(twice(name)),
        }
    }

    /// Opens the table of a header. Returns the pointers that its keys name.
    pub(super) fn open(&mut self, names: &[String], is_array: bool) -> Result<Vec<String>, String> {
        let (mut table, mut at, mut pointers) = (self, String::new(), Vec::new());
        let Some((last, path)) = names.split_last() else { return Err("a header has no key".to_owned()) };
        for name in path {
            at = join(&at, name);
            pointers.push(at.clone());
            let entry = table.members.entry(name.clone()).or_insert_with(|| Entry::Table(Table::new(How::Path)));
            table = match entry {
                Entry::Table(table) => table,
                Entry::Tables(tables) => {
                    at = join(&at, &tables.len().saturating_sub(1).to_string());
                    tables.last_mut().ok_or_else(|| twice(name))?
                }
                Entry::Value(_) => return Err(twice(name)),
            };
        }
        pointers.push(join(&at, last));
        if pointers.iter().any(|pointer| pointer.matches('/').count() > DEEPEST) {
            return Err("it is nested too deeply".to_owned());
        }
        match (table.members.get_mut(last), is_array) {
            (None, false) => table.insert(last.clone(), Entry::Table(Table::new(How::Header)))?,
            (None, true) => table.insert(last.clone(), Entry::Tables(vec![Table::new(How::Header)]))?,
            (Some(Entry::Table(table)), false) if table.how == How::Path => table.how = How::Header,
            (Some(Entry::Tables(tables)), true) => tables.push(Table::new(How::Header)),
            (Some(_), _) => return Err(twice(last)),
        }
        Ok(pointers)
    }

    /// The table of a header that was opened, and its pointer.
    pub(super) fn section(&mut self, names: &[String]) -> Result<(&mut Table, String), String> {
        let (mut table, mut at) = (self, String::new());
        for name in names {
            at = join(&at, name);
            table = match table.members.get_mut(name) {
                Some(Entry::Table(table)) => table,
                Some(Entry::Tables(tables)) => {
                    at = join(&at, &tables.len().saturating_sub(1).to_string());
                    tables.last_mut().ok_or_else(|| twice(name))?
                }
                Some(Entry::Value(_)) | None => return Err(twice(name)),
            };
        }
        Ok((table, at))
    }
}

fn twice(name: &str) -> String {
    format!("the key `{name}` stands twice, or for two kinds of value")
}
