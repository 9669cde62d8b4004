//! The macros by which a key of `nrv.toml` is one row: its field, its default, how two policies merge it, its form, and what it is for.
//!
//! From a row come the field of the struct with its documentation, the built-in default, the [merge](super::merge) of two policies, the
//! checks of the parser, the entry of the JSON Schema and the advice on typing errors.
//!
//! ```text
//! field: Type = default, merge, "what it is for", Form;
//! ```
//!
//! A row without a form is no key: it holds tables, or what no file can say. After the form, `later` marks a key that older policies do not
//! have: with its default it leaves their hashes as they are. In tables of chosen names, `skip_serializing_if` does the same.

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `true` or `false`.
    Flag,
    /// A whole number, at least this.
    Count(u64),
    /// A whole number, at most this.
    UpTo(u64),
    /// Bytes, as a number or as text with a unit.
    Size,
    /// A time, as text with a unit; seconds in the settings.
    Duration,
    /// A list of globs, of which some may exclude.
    Globs,
    /// A list of globs, none of which excludes.
    Denied,
    /// A list of exact paths of files in the workspace.
    Files,
    /// A list of names.
    Names,
    /// A list of hosts.
    Hosts,
    /// A list of folders and files outside of the workspace.
    Folders,
    /// A file outside of the workspace. A wrong one is not shown.
    Path,
    /// Where a server is. A wrong one is not shown.
    Url,
    /// A table with exactly one of these keys.
    OneOf(&'static [&'static str]),
    /// A list of rules on dependencies.
    Dependencies,
    /// A list of some of these words.
    Some(&'static [&'static str]),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of words, of which each may be a list of alternatives.
    Words,
    /// Text that is not empty.
    Text,
    /// A number that is not negative.
    Number,
    /// An amount that is not negative, in settings as millionths.
    Millionths,
    /// Rules: tables with these columns.
    Rows(&'static [Column]),
}

/// A key of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) required: bool,
    /// The purpose of the key, a sentence.
    pub(super) doc: &'static str,
}

/// A key that the policy knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// The tables and the key, joined with `.`.
    pub(super) path: &'static str,
    /// The form of its value.
    pub(super) form: Form,
    /// The purpose of the key, a sentence.
    pub(super) doc: &'static str,
    /// True if older policies do not have it.
    pub(super) later: bool,
}

/// A table of the policy.
#[derive(Debug)]
pub(super) struct Table {
    /// Its place; empty for the file itself.
    pub(super) path: &'static str,
    /// The purpose of the table, a sentence.
    pub(super) doc: &'static str,
    /// Its keys.
    pub(super) keys: &'static [Key],
}

/// A table of the policy, also one whose struct is declared elsewhere.
pub(super) trait Section {
    /// Its place, what it is for, and its keys.
    const TABLE: Table;

    /// The settings where the file has none.
    fn preset() -> Self;

    /// The settings that both allow.
    fn strictest(one: &Self, other: &Self) -> Self;
}

/// A table: its struct, the path at which it stands with `*` for chosen names, what it is for, and its rows.
///
/// With `of` the struct is there already. With `ceiling` the script's header may lower each of its keys.
macro_rules! table {
    (of $name:ident at $path:literal, $about:literal $body:tt) => {
        table! { @table $name $path $about $body }
    };
    ($name:ident at $path:literal, $about:literal, ceiling $ceiling:ident $body:tt) => {
        table! { $name at $path, $about $body }
        table! { @ceiling $ceiling $name $body }
    };
    ($(#[$meta:meta])* $name:ident at $path:literal, $about:literal $body:tt) => {
        table! { @struct [$(#[$meta])*] $name $about $body }
        table! { @table $name $path $about $body }
    };
    (@struct [$($meta:tt)*] $name:ident $about:literal { $(
        $(#[$attr:meta])*
        $field:ident: $type:ty = $default:expr, $merge:expr, $doc:literal $(, $form:expr $(, $later:ident)?)?;
    )* }) => {
        #[doc = $about]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        $($meta)*
        pub struct $name { $(#[doc = $doc] $(#[$attr])* pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                crate::policy::table::Section::preset()
            }
        }
    };
    (@table $name:ident $path:literal $about:literal { $(
        $(#[$attr:meta])*
        $field:ident: $type:ty = $default:expr, $merge:expr, $doc:literal $(, $form:expr $(, $later:ident)?)?;
    )* }) => {
        impl crate::policy::table::Section for $name {
            const TABLE: crate::policy::table::Table = crate::policy::table::Table {
                path: $path,
                doc: $about,
                keys: &[$($(crate::policy::table::Key {
                    path: concat!($path, ".", stringify!($field)),
                    form: $form,
                    doc: $doc,
                    later: table!(@later $($later)?),
                },)?)*],
            };

            fn preset() -> Self {
                $name { $($field: $default,)* }
            }

            fn strictest(one: &Self, other: &Self) -> Self {
                $name { $($field: $merge(&one.$field, &other.$field),)* }
            }
        }
    };
    (@later) => { false };
    (@later later) => { true };
    (@ceiling $ceiling:ident $name:ident { $(
        $(#[$attr:meta])*
        $field:ident: $type:ty = $default:expr, $merge:expr, $doc:literal $(, $form:expr $(, $later:ident)?)?;
    )* }) => {
        /// Limits of a header or a command line; none: the policy's.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $ceiling { $(#[doc = $doc] pub $field: Option<u64>,)* }

        impl $ceiling {
            /// Every limit with its key.
            pub fn limits(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }

            /// Sets a limit.
            pub(super) fn set(&mut self, key: &str, limit: Option<u64>) {
                match key {
                    $(stringify!($field) => self.$field = limit,)*
                    _ => {}
                }
            }

            /// Lowers what the policy allows; the keys that it lowers.
            pub(super) fn tighten(&self, table: &mut $name) -> Vec<&'static str> {
                let mut lowered = Vec::new();
                $(if let Some(limit) = self.$field && crate::policy::merge::Limit::lower(&mut table.$field, limit) {
                    lowered.push(stringify!($field));
                })*
                lowered
            }
        }
    };
}

/// The rows that a key of the form [`Form::Rows`] lists: a struct, and a column for each of its fields.
///
/// ```text
/// field as "name in the file": Type, Form, "what it is for", required;
/// ```
macro_rules! rows {
    ($name:ident, $about:literal { $(
        $(#[$attr:meta])*
        $field:ident $(as $key:literal)?: $type:ty, $form:expr, $doc:literal $(, $required:ident)?;
    )* }) => {
        #[doc = $about]
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name { $(#[doc = $doc] $(#[serde(rename = $key)])? $(#[$attr])* pub $field: $type,)* }

        impl $name {
            /// Its columns, in the order in which messages name them.
            pub(super) const COLUMNS: &[crate::policy::table::Column] = &[$(crate::policy::table::Column {
                name: rows!(@name $field $($key)?),
                form: $form,
                required: rows!(@required $($required)?),
                doc: $doc,
            },)*];
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@required) => { false };
    (@required required) => { true };
}

pub(super) use {rows, table};
