//! One entry of the reference, as Markdown and as a text for terminals.

use super::{Function, language::Topic, module::Module};
use crate::guest::bindings::{Call, Field, Namespace};

/// An entry of the reference.
#[derive(Clone, Copy)]
pub enum Entry<'a> {
    /// A part of the host's interface.
    Namespace(&'static Namespace),
    /// A call or a property of the host.
    Call(&'static Call),
    /// A shipped module.
    Module(&'a Module),
    /// A function of a shipped module.
    Function(&'a Module, &'a Function),
    /// A part of the language.
    Topic(&'a Topic),
}

/// True for the entries of a group.
type IsOf = fn(&Entry<'_>) -> bool;

/// The titles of the overview and the entries under each.
pub(super) const GROUPS: &[(&str, IsOf)] = &[
    ("Calls of the host:", |entry| matches!(entry, Entry::Call(_))),
    ("Modules of the standard library:", |entry| matches!(entry, Entry::Module(_) | Entry::Function(..))),
    ("The language:", |entry| matches!(entry, Entry::Topic(_))),
];

/// The chapters of the page; a module's functions stand with it.
pub(super) const PARTS: &[(&str, IsOf)] = &[
    ("The language", |entry| matches!(entry, Entry::Topic(_))),
    ("The host", |entry| matches!(entry, Entry::Namespace(_) | Entry::Call(_))),
    ("Standard library", |entry| matches!(entry, Entry::Module(_))),
];

impl<'a> Entry<'a> {
    /// Its whole name, such as `nrv.files.read`, `std/report::summary` or `strings`.
    pub fn name(&self) -> String {
        match self {
            Entry::Namespace(namespace) => namespace.receiver.to_owned(),
            Entry::Call(call) => call.path(),
            Entry::Module(module) => module.name.clone(),
            Entry::Function(_, function) => function.path.clone(),
            Entry::Topic(topic) => topic.name.clone(),
        }
    }

    /// The last part of its name.
    pub(super) fn short(&self) -> &'a str {
        match self {
            Entry::Namespace(namespace) => namespace.receiver,
            Entry::Call(call) => call.name,
            Entry::Module(module) => module.name.rsplit('/').next().unwrap_or_default(),
            Entry::Function(_, function) => &function.name,
            Entry::Topic(topic) => &topic.name,
        }
    }

    /// Its title: a call with its parameters, or the name.
    pub fn title(&self) -> String {
        match self {
            Entry::Call(call) => call.signature(),
            Entry::Function(module, function) => format!("{}::{}", module.name, function.signature()),
            Entry::Topic(topic) => topic.title.clone(),
            Entry::Namespace(_) | Entry::Module(_) => self.name(),
        }
    }

    /// Its first sentence.
    pub fn summary(&self) -> &'a str {
        let doc = match self {
            Entry::Namespace(namespace) => namespace.doc,
            Entry::Call(call) => call.doc,
            Entry::Module(module) => &module.doc,
            Entry::Function(_, function) => &function.doc,
            Entry::Topic(topic) => &topic.text,
        };
        let line = doc.lines().next().unwrap_or_default().trim();
        line.find(". ").map_or(line, |at| &line[..=at])
    }

    /// Title, text, fields and example as Markdown; the title is a heading of that level.
    pub fn markdown(&self, level: usize) -> String {
        let hashes = "#".repeat(level);
        match self {
            Entry::Topic(topic) => format!("{hashes} {}\n\n{}", topic.title, topic.text),
            Entry::Namespace(namespace) => {
                let rows = namespace.calls.iter().map(|call| {
                    let summary = call.doc.lines().next().unwrap_or_default().trim();
                    format!("- `{}`: {summary}\n", call.signature())
                });
                format!("{hashes} `{}`\n\n{}\n\n{}", self.name(), namespace.doc, rows.collect::<String>())
            }
            Entry::Call(call) => {
                let (words, example) = parted(call.doc);
                let fields = fields_of(call);
                format!("{hashes} `{}`\n\n{words}\n{fields}\n{example}", self.title())
            }
            Entry::Function(_, function) => {
                let (words, example) = parted(&function.doc);
                format!("{hashes} `{}`\n\n{words}\n{example}", self.title())
            }
            Entry::Module(module) => {
                let mut text = format!("{hashes} `{}`\n\n{}\n", self.title(), module.doc.trim_end());
                for function in &module.functions {
                    text.push_str(&format!("\n{}", Entry::Function(module, function).markdown(level + 1)));
                }
                text
            }
        }
    }

    /// The same for a terminal: without marks of headings, examples indented.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut is_example = false;
        for line in self.markdown(1).lines() {
            if line.starts_with("```") {
                is_example = !is_example;
                continue;
            }
            match line.trim_start_matches('#') {
                _ if is_example => text.push_str(format!("    {line}").trim_end()),
                heading if heading.len() < line.len() => text.push_str(heading.trim().trim_matches('`')),
                line => text.push_str(line),
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

/// The text of a doc comment, and the fences at its end.
fn parted(doc: &str) -> (String, String) {
    let doc: Vec<&str> = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let at = doc.iter().position(|line| line.starts_with("```")).unwrap_or(doc.len());
    let text = |lines: &[&str]| match lines.join("\n").trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    };
    (text(&doc[..at]), text(&doc[at..]))
}

/// Parameters and result with their types and fields, as a list.
fn fields_of(call: &Call) -> String {
    let mut text = String::new();
    for param in call.params {
        list(&mut text, param, 0, "optional");
    }
    if call.returns != "()" {
        text.push_str(&format!("- gives {}\n", kind(call.returns)));
        for field in call.gives {
            list(&mut text, field, 1, "may be missing");
        }
    }
    text
}

fn list(text: &mut String, field: &Field, depth: usize, optional: &str) {
    let remark = if field.is_optional() { format!(", {optional}") } else { String::new() };
    text.push_str(&format!("{}- `{}`: {}{remark}\n", "  ".repeat(depth), field.name, kind(field.kind)));
    for inner in field.fields {
        list(text, inner, depth + 1, optional);
    }
}

/// A type in words.
fn kind(kind: &str) -> String {
    let word = |kind: &str| match kind {
        "()" => "`()`".to_owned(),
        kind => kind.to_owned(),
    };
    kind.trim_end_matches('?').split(" | ").map(word).collect::<Vec<_>>().join(" or ")
}
