//! A parsed patch: files, hunks and lines, as data. The bytes of all lines are one shared copy of the diff.

use std::{mem, ops::Range, sync::Arc};

use super::Lines;
use crate::path::RepoPath;

/// A patch: parts of one file each, in the order of the diff. Several parts may be about one file; they follow each other.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The parts.
    pub files: Vec<FilePatch>,
    /// Harmless oddities and skipped text, a sentence each.
    pub warnings: Vec<String>,
}

/// The operation of a part of a patch, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The file exists and stays; its lines or its mode change.
    Modify {
        /// The file.
        path: RepoPath,
    },
    /// The file must not exist.
    Create {
        /// The new file.
        path: RepoPath,
    },
    /// The file exists, and the hunks take all of its lines.
    Delete {
        /// The deleted file.
        path: RepoPath,
    },
    /// The file gets another name, and perhaps other lines.
    Rename {
        /// The old name.
        from: RepoPath,
        /// The new name; must not exist.
        to: RepoPath,
    },
    /// A second file is made from the first, perhaps with other lines.
    Copy {
        /// The original, which stays as it is.
        from: RepoPath,
        /// The copy; must not exist.
        to: RepoPath,
    },
}

/// The part of a patch that is about one file.
#[derive(Clone, Debug)]
pub struct FilePatch {
    /// The operation and its file.
    pub operation: Operation,
    /// The git mode of the file before, as the header states it, such as `0o100644`.
    pub old_mode: Option<u32>,
    /// The git mode of the file after.
    pub new_mode: Option<u32>,
    /// The hunks, as they stand in the diff.
    pub hunks: Vec<Hunk>,
    /// The first line of the part in the diff, 1-based.
    pub line: usize,
    /// True if the header leaves the file's existence open and its only hunk only adds: the file may be missing, as in git.
    pub(super) may_create: bool,
    /// The same for a hunk that only removes: reversed, it may create.
    pub(super) may_delete: bool,
    /// Git's object name of a binary file that is deleted.
    pub(super) blob: Option<String>,
}

/// The range of a file's lines that one side of a hunk covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The first line, 1-based; if there are no lines, the line before.
    pub start: usize,
    /// The number of lines.
    pub count: usize,
}

impl Position {
    /// The number of lines before the position.
    pub(super) fn before(self) -> usize {
        if self.count == 0 { self.start } else { self.start.saturating_sub(1) }
    }
}

/// The effect of a line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is on both sides.
    Context,
    /// It is on the old side only.
    Removed,
    /// It is on the new side only.
    Added,
}

impl Kind {
    fn reversed(self) -> Kind {
        match self {
            Kind::Context => Kind::Context,
            Kind::Removed => Kind::Added,
            Kind::Added => Kind::Removed,
        }
    }
}

/// Lines that follow each other in a file, before and after.
#[derive(Clone, Debug)]
pub struct Hunk {
    /// The line of its header in the diff, 1-based.
    pub line: usize,
    /// The position of its lines in the pre-image, as the header says.
    pub old: Position,
    /// The position of its lines in the post-image, as the header says.
    pub new: Position,
    pub(super) text: Arc<Vec<u8>>,
    pub(super) lines: Vec<(Kind, Range<usize>)>,
}

impl Hunk {
    /// The lines with their line feeds; the last of a side may have none.
    pub fn lines(&self) -> impl Iterator<Item = (Kind, &[u8])> {
        self.lines.iter().map(|(kind, range)| (*kind, &self.text[range.clone()]))
    }

    /// The lines of the pre-image.
    pub(super) fn old_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines().filter(|line| line.0 != Kind::Added).map(|line| line.1)
    }

    /// The lines of the post-image.
    pub(super) fn new_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines().filter(|line| line.0 != Kind::Removed).map(|line| line.1)
    }

    /// The number of lines that it adds and removes.
    pub fn size(&self) -> Lines {
        let count = |kind: Kind| self.lines.iter().filter(|line| line.0 == kind).count() as u64;
        Lines { added: count(Kind::Added), removed: count(Kind::Removed) }
    }

    /// True if no context follows the last change: git then requires the hunk to reach the file's end.
    pub(super) fn is_open_ended(&self) -> bool {
        !self.lines.last().is_some_and(|line| line.0 == Kind::Context)
    }

    fn reversed(&self) -> Hunk {
        let mut lines: Vec<_> = self.lines.iter().map(|(kind, range)| (kind.reversed(), range.clone())).collect();
        for run in lines.chunk_by_mut(|a, b| a.0 != Kind::Context && b.0 != Kind::Context) {
            run.sort_by_key(|line| line.0 == Kind::Added);
        }
        Hunk { line: self.line, old: self.new, new: self.old, text: Arc::clone(&self.text), lines }
    }
}

impl FilePatch {
    /// The file that is read; none for a creation.
    pub fn source(&self) -> Option<&RepoPath> {
        match &self.operation {
            Operation::Modify { path } | Operation::Delete { path } => Some(path),
            Operation::Rename { from, .. } | Operation::Copy { from, .. } => Some(from),
            Operation::Create { .. } => None,
        }
    }

    /// The file that exists afterwards; none for a deletion.
    pub fn target(&self) -> Option<&RepoPath> {
        match &self.operation {
            Operation::Modify { path } | Operation::Create { path } => Some(path),
            Operation::Rename { to, .. } | Operation::Copy { to, .. } => Some(to),
            Operation::Delete { .. } => None,
        }
    }

    /// The file by which errors name the part.
    pub(super) fn path(&self) -> &RepoPath {
        match &self.operation {
            Operation::Modify { path } | Operation::Create { path } | Operation::Delete { path } => path,
            Operation::Rename { from, .. } | Operation::Copy { from, .. } => from,
        }
    }

    /// The part that undoes this one. The parts of a patch are undone last to first.
    ///
    /// The patch alone does not tell the undoing of a copy. Like git, this swaps its names, and the copy then finds that its
    /// target exists.
    #[must_use]
    pub fn reversed(&self) -> FilePatch {
        let operation = match self.operation.clone() {
            Operation::Modify { path } => Operation::Modify { path },
            Operation::Create { path } => Operation::Delete { path },
            Operation::Delete { path } => Operation::Create { path },
            Operation::Rename { from, to } => Operation::Rename { from: to, to: from },
            Operation::Copy { from, to } => Operation::Copy { from: to, to: from },
        };
        let mut part = FilePatch { operation, hunks: self.hunks.iter().map(Hunk::reversed).collect(), ..self.clone() };
        // A mode on the old side of a file that stays comes from an `index` line and holds for both sides.
        if part.new_mode.is_some() || matches!(self.operation, Operation::Delete { .. }) {
            mem::swap(&mut part.old_mode, &mut part.new_mode);
        }
        mem::swap(&mut part.may_create, &mut part.may_delete);
        part
    }

    /// The number of lines that the hunks add and remove.
    pub fn size(&self) -> Lines {
        self.hunks.iter().map(Hunk::size).sum()
    }
}
