//! The lists that hold a program, looked up once for each command.

use std::sync::LazyLock;

use super::{names::Names, run, wrapper, written};

/// A set of the lists in which a program stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    /// It runs its input, or a script, line by line.
    pub(super) const SHELL: Kind = Kind(1);
    /// It shows, copies or sends its files.
    pub(super) const READER: Kind = Kind(1 << 1);
    /// It only shows or keeps its arguments.
    pub(super) const DATA: Kind = Kind(1 << 2);
    /// Any of its arguments may be the program that it runs.
    pub(super) const SCANNED: Kind = Kind(1 << 3);
    /// It may run another program.
    pub(super) const WRAPPER: Kind = Kind(1 << 4);
    /// It changes, replaces or removes each of its files.
    pub(super) const CHANGES: Kind = Kind(1 << 5);
    /// It writes its last operand.
    pub(super) const COPIES: Kind = Kind(1 << 6);
    /// It can change files in place, by an option.
    pub(super) const EDITS: Kind = Kind(1 << 7);

    /// The kind of a program, by its bare name.
    pub(super) fn of(program: &str) -> Kind {
        KINDS.of(program).fold(Kind::default(), |all, one| Kind(all.0 | one.0))
    }

    /// True if the program is in one of some lists.
    pub(super) fn is(self, some: Kind) -> bool {
        self.0 & some.0 != 0
    }

    /// The union of both.
    pub(super) const fn or(self, other: Kind) -> Kind {
        Kind(self.0 | other.0)
    }
}

static KINDS: LazyLock<Names<Kind>> = LazyLock::new(|| {
    let mut kinds = Names::default();
    let lists = [
        (Kind::SHELL, run::SHELLS),
        (Kind::READER, run::READERS),
        (Kind::DATA, wrapper::DATA),
        (Kind::SCANNED, wrapper::SCANNED),
        (Kind::CHANGES, written::CHANGES),
        (Kind::COPIES, written::COPIES),
        (Kind::EDITS, written::EDITS),
    ];
    for (kind, names) in lists {
        names.iter().for_each(|name| kinds.add((*name).into(), kind));
    }
    wrapper::names().for_each(|name| kinds.add(name.into(), Kind::WRAPPER));
    kinds
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_every_kind_of_which_it_is() {
        assert!(Kind::of("bash").is(Kind::SHELL) && !Kind::of("bash").is(Kind::CHANGES));
        assert!(Kind::of("mv").is(Kind::COPIES) && Kind::of("mv").is(Kind::CHANGES) && Kind::of("mv").is(Kind::DATA));
        assert!(Kind::of("git-rebase").is(Kind::WRAPPER) && Kind::of("sudo").is(Kind::WRAPPER));
        assert_eq!(Kind::of("nobody-knows-it"), Kind::default());
    }
}
