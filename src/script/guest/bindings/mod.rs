//! The interface `nrv` of scripts: one file per namespace, and the registry that documentation and checks come from.
//!
//! To add a call: its doc comment with an example in the namespace's `CALLS`, its function in `register`.

mod apply;
mod attempt;
mod diff;
mod dta;
mod exec;
mod files;
mod gate;
mod host;
mod json;
mod llm;
mod prompt;
mod random;
mod run;
mod stream;
mod ui;

use rhai::{Dynamic, Engine};

pub(super) use self::host::Host;
use self::host::Nrv;

/// A part of the host's interface.
pub struct Namespace {
    /// The expression that scripts write, such as `nrv.files`.
    pub receiver: &'static str,
    /// Its purpose, in a sentence.
    pub doc: &'static str,
    /// Its calls, sorted by name.
    pub calls: &'static [Call],
    register: fn(&mut Engine),
}

/// A call or a property of the host, as scripts see it.
#[derive(Debug)]
pub struct Call {
    /// The namespace or handle that has the call, such as `nrv.files`.
    pub receiver: &'static str,
    /// Its name, such as `read`.
    pub name: &'static str,
    /// Its parameters; the last may be left out if its type ends with `?`.
    pub params: &'static [Field],
    /// The type of its result.
    pub returns: &'static str,
    /// The fields of the resulting map, or of the maps in the resulting array; empty if they are not known.
    pub gives: &'static [Field],
    /// Its doc comment, with an example in a fence.
    pub doc: &'static str,
    /// True if it is read without parentheses.
    pub property: bool,
}

/// A parameter of a call, or a field of a map in its arguments or result.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type, such as `string | array`; one that ends with `?` may be left out.
    pub kind: &'static str,
    /// The fields, if it is a map or an array of maps; empty: any.
    pub fields: &'static [Field],
}

/// The call that takes a closure.
pub(super) const ATTEMPT: &str = "nrv.attempt";

/// The receiver of the calls on an adapter's handle.
pub(super) const HANDLE: &str = "nrv.dta(name)";

/// Every namespace, sorted by receiver.
pub const NAMESPACES: &[Namespace] = &[
    host::NAMESPACE,
    apply::NAMESPACE,
    diff::NAMESPACE,
    dta::NAMESPACE,
    exec::NAMESPACE,
    files::NAMESPACE,
    gate::NAMESPACE,
    json::NAMESPACE,
    llm::NAMESPACE,
    prompt::NAMESPACE,
    random::NAMESPACE,
    run::NAMESPACE,
    ui::NAMESPACE,
];

/// Every call, sorted by receiver and name.
pub fn calls() -> impl Iterator<Item = &'static Call> {
    NAMESPACES.iter().flat_map(|namespace| namespace.calls)
}

impl Field {
    /// True if it may be left out.
    pub fn is_optional(&self) -> bool {
        self.kind.ends_with('?')
    }
}

impl Call {
    /// The whole name, such as `nrv.files.read`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.receiver, self.name)
    }

    /// The call with its parameters, such as `nrv.files.read(path)`.
    pub fn signature(&self) -> String {
        if self.property {
            return self.path();
        }
        let name = |one: &Field| format!("{}{}", one.name, if one.is_optional() { "?" } else { "" });
        let params: Vec<_> = self.params.iter().map(name).collect();
        format!("{}({})", self.path(), params.join(", "))
    }

    /// True if it can be called with that many arguments.
    pub(super) fn takes(&self, given: usize) -> bool {
        let required = self.params.iter().filter(|one| !one.is_optional()).count();
        !self.property && (required..=self.params.len()).contains(&given)
    }

    /// The call with its parameters and types, such as `nrv.files.read(path: string)`.
    pub fn form(&self) -> String {
        if self.property {
            return self.path();
        }
        let params: Vec<_> = self.params.iter().map(|one| format!("{}: {}", one.name, one.kind)).collect();
        format!("{}({})", self.path(), params.join(", "))
    }

    /// The lines of the doc comment's example.
    pub fn example(&self) -> String {
        let lines = self.doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
        let inside = lines.skip_while(|line| !line.starts_with("```")).skip(1);
        inside.take_while(|line| !line.starts_with("```")).collect::<Vec<_>>().join("\n")
    }

    /// True if it returns an adapter's handle.
    pub(super) fn gives_handle(&self) -> bool {
        self.signature() == HANDLE
    }
}

/// The names that can follow a receiver and a dot.
pub(super) fn members(receiver: &str) -> impl Iterator<Item = &'static str> {
    let inner = NAMESPACES.iter().filter_map(move |one| one.receiver.strip_prefix(receiver)?.strip_prefix('.'));
    let calls = calls().filter(move |call| call.receiver == receiver).map(|call| call.name);
    inner.filter(|name| !name.contains(['.', '('])).chain(calls)
}

/// Makes the functions of every namespace known to an engine.
pub(super) fn register(engine: &mut Engine) {
    for namespace in NAMESPACES {
        (namespace.register)(engine);
    }
}

/// The object `nrv`.
pub(super) fn object(host: &Host) -> Dynamic {
    Dynamic::from(Nrv(host.clone()))
}

/// A slice of [`Call`]s: doc comment, name, parameters with types, type of the result; `get` before a property. After a type, `=`
/// and a slice of [`fields!`] list the fields of a map.
macro_rules! registry {
    (@property) => { false };
    (@property get) => { true };
    (@fields) => { &[] };
    (@fields $fields:expr) => { $fields };
    ($receiver:expr; $($(#[doc = $doc:literal])* $name:ident $(($($param:ident: $kind:literal $(= $fields:expr)?),*))? $([$get:ident])? -> $returns:literal $(= $gives:expr)?;)*) => {
        &[$($crate::script::guest::bindings::Call {
            receiver: $receiver,
            name: stringify!($name),
            params: &[$($($crate::script::guest::bindings::Field {
                name: stringify!($param), kind: $kind, fields: registry!(@fields $($fields)?),
            }),*)?],
            returns: $returns,
            gives: registry!(@fields $($gives)?),
            doc: concat!($($doc, "\n"),*),
            property: registry!(@property $($get)?),
        }),*]
    };
}
pub(super) use registry;

/// A slice of [`Field`]s: names with types; `=` and another slice list the fields of a map or of the maps in an array.
macro_rules! fields {
    (@fields) => { &[] };
    (@fields $fields:expr) => { $fields };
    ($($name:ident: $kind:literal $(= $fields:expr)?),* $(,)?) => {
        &[$($crate::script::guest::bindings::Field {
            name: stringify!($name), kind: $kind, fields: fields!(@fields $($fields)?),
        }),*]
    };
}
pub(super) use fields;

#[cfg(test)]
mod tests;
