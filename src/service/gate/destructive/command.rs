//! Commands as the caller gives them: the words, and the folder in which they start.

use std::borrow::Cow;

use serde::Serialize;
use system::git::Bringing;

/// A command, in one of two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// A program and its arguments, verbatim.
    Argv(&'a [String]),
    /// A line that a shell parses.
    Line(&'a str),
}

/// Compares the guarded files of a commit that git brings into a folder; none if the commit is not known.
pub(super) type Revision = fn(&str, &str, Bringing, &dyn Fn(&str) -> bool) -> Option<Vec<String>>;

/// The looks at the disk that a gate takes, each bounded. A gate without them judges by words alone.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Resolves the links of a path, from a folder without links in its own path, to an absolute path; none if they form a
    /// cycle.
    pub real: fn(&str, &str) -> Option<String>,
    /// Lists a folder by its absolute path.
    pub list: fn(&str) -> Listed,
    /// The names in an archive; none if they can't be told.
    pub members: fn(&str) -> Option<Vec<String>>,
    /// The text of a short file.
    pub text: fn(&str) -> Option<String>,
    /// A variable of the environment.
    pub variable: fn(&str) -> Option<String>,
    /// The paths below a folder that a revision of git would change there, among those that a function wants; none if they can't
    /// be told.
    pub revision: Revision,
    /// The changed files below a folder that `git stash` takes away, with or without those that are not tracked; none if they
    /// can't be told.
    pub stashed: fn(&str, bool) -> Option<Vec<String>>,
}

#[cfg(test)]
impl Disk {
    /// A disk with nothing but links.
    pub(super) fn of_links(real: fn(&str, &str) -> Option<String>) -> Self {
        Disk {
            real,
            list: |_| Listed::Missing,
            members: |_| None,
            text: |_| None,
            variable: |_| None,
            revision: |_, _, _, _| None,
            stashed: |_, _| None,
        }
    }
}

/// The entries of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Their names.
    Folder(Vec<String>),
    /// The path of another thing than a folder.
    File,
    /// Nothing is there.
    Missing,
    /// There are too many, or they can't be read.
    Unknown,
}

/// The starting folder of a command.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Start<'a> {
    /// The folder, relative to the workspace if it is in it; if none, the workspace's own, or an unknown one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<&'a str>,
    /// The absolute path of the workspace, if it is known: nothing there is disposable.
    #[serde(skip)]
    pub root: Option<&'a str>,
    /// Looks at the disk. Without it no folder is known to be disposable.
    #[serde(skip)]
    pub disk: Option<Disk>,
}

/// The name of a program without its folder and, as on Windows, without its extension.
pub(super) fn program(word: &str) -> Cow<'_, str> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let ending = name.len().checked_sub(4).filter(|at| name.is_char_boundary(*at));
    let name = match ending.map(|at| name.split_at(at)) {
        Some((stem, ".exe" | ".EXE" | ".jar" | ".cmd" | ".bat" | ".com")) if !stem.is_empty() => stem,
        _ => name,
    };
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}
