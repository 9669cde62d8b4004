//! The reference as JSON, for programs and editors.

use serde_json::{Value, json};

use super::{Entry, Function, Reference, module::Module};
use crate::guest::bindings::{Call, Field, NAMESPACES, Namespace};

impl Reference {
    /// The whole reference: `namespaces`, `modules`, `language`, and the `reserved` words.
    pub fn json(&self) -> Value {
        json!({
            "namespaces": NAMESPACES.iter().map(namespace).collect::<Vec<_>>(),
            "modules": self.modules.iter().map(module).collect::<Vec<_>>(),
            "language": self.topics.iter().map(|topic| Entry::Topic(topic).json()).collect::<Vec<_>>(),
            "reserved": super::RESERVED,
        })
    }
}

impl Entry<'_> {
    /// This entry, as in [`Reference::json`].
    pub fn json(&self) -> Value {
        match self {
            Entry::Namespace(one) => namespace(one),
            Entry::Call(one) => call(one),
            Entry::Module(one) => module(one),
            Entry::Function(_, one) => function(one),
            Entry::Topic(topic) => json!({"name": topic.name, "title": topic.title, "doc": topic.text}),
        }
    }
}

fn namespace(one: &Namespace) -> Value {
    json!({"name": one.receiver, "doc": one.doc, "calls": one.calls.iter().map(call).collect::<Vec<_>>()})
}

fn call(one: &Call) -> Value {
    json!({
        "name": one.path(), "signature": one.signature(), "property": one.property,
        "params": one.params.iter().map(field).collect::<Vec<_>>(), "returns": one.returns,
        "gives": one.gives.iter().map(field).collect::<Vec<_>>(), "doc": words(one.doc), "example": one.example(),
    })
}

fn field(one: &Field) -> Value {
    let mut told = json!({"name": one.name, "type": one.kind.trim_end_matches('?'), "optional": one.is_optional()});
    if !one.fields.is_empty() {
        told["fields"] = one.fields.iter().map(field).collect();
    }
    told
}

fn module(one: &Module) -> Value {
    json!({"name": one.name, "doc": one.doc, "functions": one.functions.iter().map(function).collect::<Vec<_>>()})
}

fn function(one: &Function) -> Value {
    json!({"name": one.path, "signature": one.signature(), "params": one.params, "doc": one.doc})
}

/// A doc comment without the example at its end.
fn words(doc: &str) -> String {
    let lines = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let words: Vec<&str> = lines.take_while(|line| !line.starts_with("```")).collect();
    words.join("\n").trim_end().to_owned()
}
