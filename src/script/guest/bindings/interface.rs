//! The form of the interface: namespaces, calls, and their fields, with macros that list them.

use rhai::Engine;

/// A part of the host's interface.
pub struct Namespace {
    /// The expression that scripts write, such as `nrv.files`.
    pub receiver: &'static str,
    /// Its purpose, in a sentence.
    pub doc: &'static str,
    /// Its calls, sorted by name.
    pub calls: &'static [Call],
    pub(super) register: fn(&mut Engine),
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

/// The receiver of the calls on an adapter's handle.
pub(in crate::guest) const ADAPTER: &str = "nrv.dta(name)";

/// The receiver of the calls on the handle of an MCP server.
pub(in crate::guest) const MCP_SERVER: &str = "nrv.mcp(name)";

/// The types of handles, each with the receiver of the calls on it.
pub const HANDLES: &[(&str, &str)] = &[("adapter", ADAPTER), ("mcp_server", MCP_SERVER)];

/// The receiver of the calls on a handle of that type; none if it is no type of a handle.
pub(crate) fn receiver_of(kind: &str) -> Option<&'static str> {
    HANDLES.iter().find(|(known, _)| *known == kind).map(|(_, receiver)| *receiver)
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
    pub(in crate::guest) fn takes(&self, given: usize) -> bool {
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

    /// The receiver of the calls on the handle that it returns; none if it returns none.
    pub(in crate::guest) fn handle(&self) -> Option<&'static str> {
        receiver_of(self.returns)
    }
}

/// A slice of [`Call`]s: doc comment, name, parameters with types, type of the result; `get` before a property. After a type, `=`
/// and a slice of [`fields!`] list the fields of a map.
macro_rules! registry {
    (@property) => { false };
    (@property get) => { true };
    (@fields) => { &[] };
    (@fields $fields:expr) => { $fields };
    ($receiver:expr; $($(#[doc = $doc:literal])* $name:ident $(($($param:ident: $kind:literal $(= $fields:expr)?),*))? $([$get:ident])? -> $returns:literal $(= $gives:expr)?;)*) => {
        &[$($crate::guest::bindings::interface::Call {
            receiver: $receiver,
            name: stringify!($name),
            params: &[$($($crate::guest::bindings::interface::Field {
                name: stringify!($param), kind: $kind, fields: registry!(@fields $($fields)?),
            }),*)?],
            returns: $returns,
            gives: registry!(@fields $($gives)?),
            doc: concat!($($doc, "\n"),*),
            property: registry!(@property $($get)?),
        }),*]
    };
}
pub(in crate::guest) use registry;

/// A slice of [`Field`]s: names with types; `=` and another slice list the fields of a map or of the maps in an array.
macro_rules! fields {
    (@fields) => { &[] };
    (@fields $fields:expr) => { $fields };
    ($($name:ident: $kind:literal $(= $fields:expr)?),* $(,)?) => {
        &[$($crate::guest::bindings::interface::Field {
            name: stringify!($name), kind: $kind, fields: fields!(@fields $($fields)?),
        }),*]
    };
}
pub(in crate::guest) use fields;
