//! Definition files for editors, in the form that Rhai's language server reads, and a JSON file for all others.
//!
//! A method is a function whose first parameter is the value before the dot; a map's fields stand in its type.

use super::{Entry, Reference};
use crate::guest::{
    self,
    bindings::{Call, Field, HANDLES, NAMESPACES, Namespace},
};

/// The type of the events of a reply.
const STREAM: &str = "EventStream";

impl Reference {
    /// Files by name: `nrv.d.rhai` has the host, `rhai.d.rhai` the language's own functions, `std/MODULE.d.rhai` a shipped module, and
    /// `nrv.json` is [`Reference::json`].
    pub fn definitions(&self) -> Vec<(String, String)> {
        let mut files = vec![
            ("nrv.d.rhai".to_owned(), host()),
            ("nrv.json".to_owned(), format!("{:#}\n", self.json())),
            ("rhai.d.rhai".to_owned(), guest::definitions()),
        ];
        for module in &self.modules {
            let mut text = format!("{}module;\n", comment(&module.doc));
            for function in &module.functions {
                let params: Vec<String> = function.params.iter().map(|name| format!("{name}: ?")).collect();
                let doc = comment(&function.doc);
                text.push_str(&format!("\n{doc}fn {}({}) -> ?;\n", function.name, params.join(", ")));
            }
            files.push((format!("{}.d.rhai", module.name), text));
        }
        files
    }
}

fn host() -> String {
    let mut text = String::from(
        "/// The host of a script, and the script's arguments.\nmodule static;\n\n/// The arguments of the script.\nconst args: Map;\n",
    );
    for namespace in NAMESPACES {
        let entry = Entry::Namespace(namespace);
        let doc = comment(namespace.doc);
        if entry.name() == "nrv" {
            text.push_str(&format!("\n{doc}const nrv: {};\n", type_of(namespace)));
        }
        text.push_str(&format!("\n{doc}type {} = #{{ {} }};\n", type_of(namespace), properties(namespace)));
        for call in namespace.calls.iter().filter(|call| !call.property) {
            text.push_str(&functions(namespace, call));
        }
    }
    text.push_str(&format!("\n/// The events of a model's reply, for a loop.\ntype {STREAM} = [Map];\n"));
    text
}

/// The properties of a receiver, which are read without parentheses.
fn properties(namespace: &Namespace) -> String {
    let inner = NAMESPACES.iter().filter_map(|one| {
        let name = one.receiver.strip_prefix(namespace.receiver)?.strip_prefix('.')?;
        (!name.contains(['.', '('])).then(|| format!("{name}: {}", type_of(one)))
    });
    let own = namespace.calls.iter().filter(|call| call.property);
    let own = own.map(|call| format!("{}: {}", call.name, kind(call.returns, call.gives)));
    inner.chain(own).collect::<Vec<_>>().join(", ")
}

/// A call, once for each number of arguments that it takes.
fn functions(namespace: &Namespace, call: &Call) -> String {
    let required = call.params.iter().filter(|param| !param.is_optional()).count();
    let mut text = String::new();
    for count in required..=call.params.len() {
        let mut params = vec![format!("host: {}", type_of(namespace))];
        params.extend(
            call.params[..count].iter().map(|param| format!("{}: {}", param.name, kind(param.kind, param.fields))),
        );
        let gives = kind(call.returns, call.gives);
        text.push_str(&format!("\n{}fn {}({}) -> {gives};\n", comment(call.doc), call.name, params.join(", ")));
    }
    text
}

/// The name of a receiver's type, such as `NrvFiles`.
fn type_of(namespace: &Namespace) -> String {
    let handle = HANDLES.iter().find(|(_, receiver)| *receiver == namespace.receiver);
    handle.map_or_else(|| camel_case(namespace.receiver, '.'), |(kind, _)| camel_case(kind, '_'))
}

/// Words in one, each with a capital.
fn camel_case(words: &str, between: char) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    words.split(between).map(word).collect()
}

/// A type of the registry in the form of definitions.
fn kind(kind: &str, fields: &[Field]) -> String {
    let map = || match fields {
        [] => "Map".to_owned(),
        fields => {
            let field = |field: &Field| {
                let nothing = if field.is_optional() && !field.kind.contains("()") { " | ()" } else { "" };
                format!("{}: {}{nothing}", quoted(field.name), self::kind(field.kind, field.fields))
            };
            format!("#{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    };
    let word = |word: &str| match word {
        "any" => "?".to_owned(),
        "array" if fields.is_empty() => "Array".to_owned(),
        "array" => format!("[{}]", map()),
        "function" => "FnPtr".to_owned(),
        "map" => map(),
        "string" => "String".to_owned(),
        "stream" => STREAM.to_owned(),
        other if HANDLES.iter().any(|(handle, _)| *handle == other) => camel_case(other, '_'),
        other => other.to_owned(),
    };
    kind.trim_end_matches('?').split(" | ").map(word).collect::<Vec<_>>().join(" | ")
}

/// A key of a map, in quotes if it is a reserved word.
fn quoted(name: &str) -> String {
    if super::RESERVED.contains(&name) { format!("\"{name}\"") } else { name.to_owned() }
}

/// A text as doc lines.
fn comment(doc: &str) -> String {
    let line = |line: &str| format!("/// {}", line.strip_prefix(' ').unwrap_or(line)).trim_end().to_owned() + "\n";
    doc.lines().map(line).collect()
}
