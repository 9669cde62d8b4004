//! The reference of the interface of scripts.
//!
//! Its texts come from the doc comments of the bindings and of the shipped modules, and from a page on the language. It runs and
//! writes nothing.

mod definitions;
mod entry;
mod json;
mod language;
mod module;
mod page;

pub use self::{
    entry::Entry,
    language::RESERVED,
    module::{Function, Module as ShippedModule},
};
use self::{language::Topic, module::Module};
use crate::guest::bindings::{self, Call, NAMESPACES};
use base::error::{Code, Error, nearest};

/// Other words that people look for, and the entry that explains them.
const ALSO: &[(&str, &str)] = &[
    ("args", "header"),
    ("arguments", "header"),
    ("commitments", "nrv.commit"),
    ("permissions", "header"),
    ("workflow", "header"),
];

/// The whole reference.
#[derive(Debug)]
pub struct Reference {
    modules: Vec<Module>,
    topics: Vec<Topic>,
}

impl Reference {
    /// The reference with these shipped modules, each a literal such as `std/report` and its text.
    pub fn new(modules: &[(&str, &str)]) -> Self {
        let modules = modules.iter().map(|(name, text)| Module::read(name, text)).collect();
        Reference { modules, topics: language::topics() }
    }

    /// Finds the entry of a name.
    ///
    /// A name is a call (`nrv.files.read`, `files.read`, or `read` if that is the only one) or a namespace (`nrv.files`). It is a shipped
    /// module (`std/report`), a function of one (`std/report::summary`) or a topic of the language (`strings`). Some
    /// have other names too (`args`). `not_found` names the nearest.
    pub fn find(&self, name: &str) -> Result<Entry<'_>, Error> {
        let wanted = plain(name);
        let named = |name: &str| self.entries().find(|entry| plain(&entry.name()) == name);
        let written = self.entries().find(|entry| entry.name() == name.trim());
        if let Some(entry) = written
            .or_else(|| named(&wanted))
            .or_else(|| named(&format!("nrv.{wanted}")))
            .or_else(|| named(&format!("std/{wanted}")))
            .or_else(|| {
                ALSO.iter().find(|(also, _)| wanted.eq_ignore_ascii_case(also)).and_then(|(_, name)| named(name))
            })
        {
            return Ok(entry);
        }
        let short: Vec<Entry<'_>> = self.entries().filter(|entry| entry.short() == wanted).collect();
        match short.as_slice() {
            [entry] => Ok(*entry),
            [] => Err(self.unknown(name, &wanted)),
            several => {
                let names: Vec<String> = several.iter().map(|entry| format!("`{}`", entry.name())).collect();
                Err(Error::new(Code::NotFound, format!("`{wanted}` is the name of several things"))
                    .hint(format!("give one of {} in full", names.join(", "))))
            }
        }
    }

    fn unknown(&self, name: &str, wanted: &str) -> Error {
        let entries = || self.entries().collect::<Vec<_>>();
        let whole: Vec<String> = entries().iter().map(Entry::name).collect();
        let short: Vec<String> = entries().iter().map(|entry| entry.short().to_owned()).collect();
        let known = whole.iter().chain(&short).map(String::as_str);
        let last = wanted.rsplit(['.', ':']).next().unwrap_or_default();
        let near = nearest(wanted, known)
            .or_else(|| nearest(&format!("nrv.{wanted}"), whole.iter().map(String::as_str)))
            .or_else(|| nearest(last, short.iter().map(String::as_str)));
        let error = Error::new(Code::NotFound, format!("the reference has nothing on `{}`", name.escape_debug()));
        error.hint(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "without a name the reference lists all entries".to_owned(),
        })
    }

    /// All entries, in the order of the page.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let namespaces = NAMESPACES
            .iter()
            .flat_map(|one| std::iter::once(Entry::Namespace(one)).chain(one.calls.iter().map(Entry::Call)));
        let modules = self.modules.iter().flat_map(|module| {
            let itself = std::iter::once(Entry::Module(module));
            itself.chain(module.functions.iter().map(move |function| Entry::Function(module, function)))
        });
        namespaces.chain(modules).chain(self.topics.iter().map(Entry::Topic))
    }

    /// The overview: one line for each entry.
    pub fn overview(&self) -> String {
        let mut text = String::new();
        for (title, is_of) in entry::GROUPS {
            let rows: Vec<(String, &str)> =
                self.entries().filter(|entry| is_of(entry)).map(|entry| (entry.name(), entry.summary())).collect();
            let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
            text.push_str(&format!("{title}\n"));
            for (name, summary) in rows {
                text.push_str(format!("  {name:width$}  {summary}").trim_end());
                text.push('\n');
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

/// A call by its whole name, such as `nrv.files.read`.
pub fn call(path: &str) -> Option<&'static Call> {
    bindings::calls().find(|call| call.path() == path)
}

/// The name in its plain form, without the parts in parentheses: a handle's name or arguments.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0_u32;
    for char in name.trim().chars() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            char if depth == 0 => plain.push(char),
            _ => {}
        }
    }
    plain.strip_suffix(".rhai").map(str::to_owned).unwrap_or(plain)
}
