//! Reads the header before the hunks of a file: names and modes, in git's form or as `diff -u` writes them.

use super::{
    Strip, blob,
    name::{self, Names},
    patch::Operation,
    text::{Text, malformed},
};
use crate::{error::Error, path::RepoPath};

/// A file's header.
pub(super) struct Header {
    pub(super) operation: Operation,
    pub(super) old_mode: Option<u32>,
    pub(super) new_mode: Option<u32>,
    /// False if the header leaves the file's existence open.
    pub(super) is_certain: bool,
    /// Git's object name of a deleted file.
    pub(super) blob: Option<String>,
    /// True if it has a `---` or `+++` line, which hunks must follow.
    pub(super) wants_hunks: bool,
    /// The line of the first hunk.
    pub(super) end: usize,
}

/// Reads the two lines of names at `at`, as `diff -u` writes them.
pub(super) fn read_plain(text: &Text, at: usize, strip: Strip) -> Result<Header, Error> {
    let side = |at: usize| name::plain(&text.line(at)[4..]);
    let (old, new) = (side(at), side(at + 1));
    let strip = name::level(strip, old.as_deref(), new.as_deref());
    let path = |raw: &Option<Vec<u8>>, at: usize| match raw {
        Some(raw) => name::strip(raw, strip).map(|name| name::path(at, &name)).transpose(),
        None => Ok(None),
    };
    let (from, to) = (path(&old, at)?, path(&new, at + 1)?);
    let nameless = || {
        malformed(text, at, &format!("names no file after {strip} leading folders are taken off"))
            .hint("give the number of folders to take off with `-p`")
    };
    let operation = match (old, new) {
        (None, None) => return Err(malformed(text, at, "and the next name no file: both are `/dev/null`")),
        (None, Some(_)) => Operation::Create { path: to.ok_or_else(nameless)? },
        (Some(_), None) => Operation::Delete { path: from.ok_or_else(nameless)? },
        (Some(_), Some(_)) => {
            let path = one_name(text, at, from, to)?.ok_or_else(nameless)?;
            match (name::is_epoch(text.line(at)), name::is_epoch(text.line(at + 1))) {
                (true, _) => Operation::Create { path },
                (false, true) => Operation::Delete { path },
                (false, false) => Operation::Modify { path },
            }
        }
    };
    let is_certain = !matches!(operation, Operation::Modify { .. });
    Ok(Header { operation, old_mode: None, new_mode: None, is_certain, blob: None, wants_hunks: true, end: at + 2 })
}

/// The file that both lines name; one of the names may end in a suffix such as `.orig`.
fn one_name(text: &Text, at: usize, from: Option<RepoPath>, to: Option<RepoPath>) -> Result<Option<RepoPath>, Error> {
    let (Some(from), Some(to)) = (from.clone(), to.clone()) else { return Ok(to.or(from)) };
    if from.starts_with(to.as_str()) {
        return Ok(Some(to));
    }
    if to.starts_with(from.as_str()) {
        return Ok(Some(from));
    }
    Err(malformed(text, at, &format!("names `{from}`, and the next line `{to}`"))
        .hint("a part of a patch is about one file; a rename needs git's lines `rename from` and `rename to`"))
}

/// A header in git's form under way.
struct Reader<'a> {
    text: &'a Text,
    strip: usize,
    /// The name that the `diff --git` line has twice.
    common: Option<Vec<u8>>,
    names: Names,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    blob: Option<String>,
    wants_hunks: bool,
    is_new: bool,
    is_deleted: bool,
    is_rename: bool,
    is_copy: bool,
    /// True for the old and for the new name once a line of a rename or copy has given it.
    moves: (bool, bool),
}

/// Reads the header that begins with the `diff --git` line at `at`.
pub(super) fn read_git(text: &Text, at: usize, strip: Strip) -> Result<Header, Error> {
    let (strip, common) = name::git_line(text.line(at), strip);
    let mut reader = Reader {
        text,
        strip,
        common,
        names: Names::default(),
        old_mode: None,
        new_mode: None,
        blob: None,
        wants_hunks: false,
        is_new: false,
        is_deleted: false,
        is_rename: false,
        is_copy: false,
        moves: (false, false),
    };
    let mut end = at + 1;
    while end < text.len() && text.line(end).ends_with(b"\n") && reader.take(end)? {
        if [reader.is_new, reader.is_deleted, reader.is_rename, reader.is_copy].iter().filter(|is| **is).count() > 1 {
            return Err(malformed(text, end, "contradicts the lines before: one part can't do both"));
        }
        end += 1;
    }
    reader.finish(at, end)
}

impl Reader<'_> {
    /// Takes a line; false if it does not belong to the header.
    fn take(&mut self, at: usize) -> Result<bool, Error> {
        let line = self.text.line(at);
        let Some((word, rest)) =
            WORDS.iter().find_map(|(word, name)| Some((*word, line.strip_prefix(name.as_bytes())?)))
        else {
            return Ok(false);
        };
        self.wants_hunks |= matches!(word, Word::OldName | Word::NewName);
        match word {
            Word::OldName => self.old_name(at, rest)?,
            Word::NewName => self.new_name(at, rest)?,
            Word::OldMode => self.old_mode = Some(self.mode(at, rest)?),
            Word::NewMode => self.new_mode = Some(self.mode(at, rest)?),
            Word::Deleted => {
                self.is_deleted = true;
                self.names.old = self.common.clone();
                self.old_mode = Some(self.mode(at, rest)?);
            }
            Word::New => {
                self.is_new = true;
                self.names.new = self.common.clone();
                self.new_mode = Some(self.mode(at, rest)?);
            }
            Word::CopyFrom | Word::RenameFrom => {
                self.names.old = name::bare(rest, self.strip.saturating_sub(1));
                self.moves.0 = true;
                self.note(word);
            }
            Word::CopyTo | Word::RenameTo => {
                self.names.new = name::bare(rest, self.strip.saturating_sub(1));
                self.moves.1 = true;
                self.note(word);
            }
            Word::Index => {
                self.blob = blob::deleted(rest);
                if let Some(mode) = name::index_mode(rest) {
                    self.old_mode = Some(self.mode(at, mode)?);
                }
            }
            Word::Similarity => {}
        }
        Ok(true)
    }

    fn note(&mut self, word: Word) {
        match word {
            Word::CopyFrom | Word::CopyTo => self.is_copy = true,
            _ => self.is_rename = true,
        }
    }

    fn old_name(&mut self, at: usize, rest: &[u8]) -> Result<(), Error> {
        let known = self.names.old.take();
        self.names.old = self.side(at, rest, known, self.is_new.then_some("new file mode"))?;
        Ok(())
    }

    fn new_name(&mut self, at: usize, rest: &[u8]) -> Result<(), Error> {
        let known = self.names.new.take();
        self.names.new = self.side(at, rest, known, self.is_deleted.then_some("deleted file mode"))?;
        Ok(())
    }

    /// The name of a side. It must equal the name that is known already, and be `/dev/null` if an earlier line marks the side
    /// as absent.
    fn side(
        &self,
        at: usize,
        rest: &[u8],
        known: Option<Vec<u8>>,
        absent: Option<&str>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let found = name::git(rest, self.strip);
        let is_null = name::is_null(rest);
        match (absent, known) {
            (Some(_), None) if is_null => Ok(None),
            (Some(why), _) => {
                Err(malformed(self.text, at, &format!("has to name `/dev/null`, after the line `{why}`")))
            }
            (None, _) if is_null => {
                let what = "names no file, and no line before it says that the file comes or goes";
                let hint = "after `diff --git`, a creation has the line `new file mode 100644`, a deletion \
                            `deleted file mode 100644`";
                Err(malformed(self.text, at, what).hint(hint))
            }
            (None, Some(known)) if found.as_ref() != Some(&known) => {
                Err(malformed(self.text, at, "names another file than the lines before"))
            }
            (None, _) => Ok(found),
        }
    }

    fn mode(&self, at: usize, rest: &[u8]) -> Result<u32, Error> {
        let digits = rest.iter().take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        let mode = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| u32::from_str_radix(digits, 8).ok());
        let ends = rest.get(digits).is_none_or(u8::is_ascii_whitespace);
        match mode.filter(|_| ends).map(|mode| (mode, mode & 0o170_000)) {
            Some((mode, 0o100_000 | 0o120_000)) => Ok(mode),
            Some((_, 0o160_000)) => Err(malformed(self.text, at, "is about a submodule, which can't be patched")),
            Some(_) | None => Err(malformed(self.text, at, "names no mode of a file")
                .hint("modes are `100644`, `100755`, and `120000` for a symbolic link")),
        }
    }

    fn finish(self, at: usize, end: usize) -> Result<Header, Error> {
        let text = self.text;
        let path = |raw: Option<&Vec<u8>>| raw.map(|raw| name::path(at, raw)).transpose();
        let nameless = || {
            malformed(
                text,
                at,
                &format!("and its header name no file after {} leading folders are taken off", self.strip),
            )
        };
        let mut old = path(self.names.old.as_ref())?;
        let mut new = path(self.names.new.as_ref())?;
        if old.is_none() && new.is_none() {
            let common = path(self.common.as_ref())?.ok_or_else(nameless)?;
            (old, new) = (Some(common.clone()), Some(common));
        }
        if self.moves.0 != self.moves.1 {
            return Err(malformed(text, at, "begins a rename or copy of which one name is missing")
                .hint("give both lines, `rename from` and `rename to`"));
        }
        if self.is_new && self.names.old.is_some() || self.is_deleted && self.names.new.is_some() {
            return Err(malformed(text, at, "and its header name a file that does not exist, as they say themselves"));
        }
        let operation = match (self.is_new, self.is_deleted) {
            (true, _) => Operation::Create { path: new.ok_or_else(nameless)? },
            (_, true) => Operation::Delete { path: old.ok_or_else(nameless)? },
            (false, false) => {
                let (from, to) = (old.ok_or_else(nameless)?, new.ok_or_else(nameless)?);
                match (self.is_rename, self.is_copy) {
                    (false, false) if from == to => Operation::Modify { path: to },
                    (false, false) => {
                        let what =
                            format!("and its header name `{from}` and `{to}` without saying that it is a rename");
                        return Err(malformed(text, at, &what));
                    }
                    _ if from == to => return Err(malformed(text, at, "begins a rename of a file to itself")),
                    (true, _) => Operation::Rename { from, to },
                    (false, true) => Operation::Copy { from, to },
                }
            }
        };
        Ok(Header {
            operation,
            old_mode: self.old_mode,
            new_mode: self.new_mode,
            is_certain: true,
            blob: self.blob,
            wants_hunks: self.wants_hunks,
            end,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    OldName,
    NewName,
    OldMode,
    NewMode,
    Deleted,
    New,
    CopyFrom,
    CopyTo,
    RenameFrom,
    RenameTo,
    Similarity,
    Index,
}

/// The first words of the lines of a header in git's form.
const WORDS: &[(Word, &str)] = &[
    (Word::OldName, "--- "),
    (Word::NewName, "+++ "),
    (Word::OldMode, "old mode "),
    (Word::NewMode, "new mode "),
    (Word::Deleted, "deleted file mode "),
    (Word::New, "new file mode "),
    (Word::CopyFrom, "copy from "),
    (Word::CopyTo, "copy to "),
    (Word::RenameFrom, "rename old "),
    (Word::RenameTo, "rename new "),
    (Word::RenameFrom, "rename from "),
    (Word::RenameTo, "rename to "),
    (Word::Similarity, "similarity index "),
    (Word::Similarity, "dissimilarity index "),
    (Word::Index, "index "),
];
