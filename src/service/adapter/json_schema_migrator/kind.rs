//! The kinds of fixes, as counts name them.

use std::collections::BTreeMap;

/// A kind of fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A value became another that a map names.
    Enum,
    /// A value changed its type.
    Coerce,
    /// A member got the default of its schema.
    Defaults,
    /// A value went elsewhere.
    Move,
    /// A member at a pointer was removed.
    Remove,
    /// A member that the schema does not know was removed.
    RemoveUnknown,
    /// A member got another name.
    Rename,
    /// A value was set.
    Set,
    /// The version of the file went on.
    Steps,
    /// A value became an array.
    WrapArray,
}

impl Kind {
    /// The count of this kind.
    pub(super) fn count(self) -> &'static str {
        match self {
            Kind::Enum => "fixes_enum",
            Kind::Coerce => "fixes_coerce",
            Kind::Defaults => "fixes_defaults",
            Kind::Move => "fixes_move",
            Kind::Remove => "fixes_remove",
            Kind::RemoveUnknown => "fixes_remove_unknown",
            Kind::Rename => "fixes_rename",
            Kind::Set => "fixes_set",
            Kind::Steps => "fixes_steps",
            Kind::WrapArray => "fixes_wrap_array",
        }
    }
}

/// The number of fixes of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally(BTreeMap<Kind, u64>);

impl Tally {
    /// Counts a fix, if it was made.
    pub(super) fn add(&mut self, kind: Kind, was_made: bool) {
        if was_made {
            *self.0.entry(kind).or_default() += 1;
        }
    }

    /// The kinds that occur, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Kind, u64)> {
        self.0.iter().map(|(kind, number)| (*kind, *number))
    }
}
