//! A repository at a path: its folders, and the commit of a reference.
//!
//! Only `HEAD` and references are read, as plain files under bounds. No configuration counts, and no program is started.

use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use gix::ObjectId;

use super::place::{LONGEST_CHAIN, LONGEST_LINK};
use crate::plain_file;

/// A repository at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The folder with `HEAD`.
    pub own: PathBuf,
    /// The folder with the configuration, references and objects; another one for a linked work tree.
    pub common: PathBuf,
    /// False if the path is a linked work tree of another repository.
    pub is_whole: bool,
}

impl Elsewhere {
    /// The repository at a path, as git finds it; none if there is none.
    pub fn at(named: &Path) -> Option<Self> {
        let beside = |end: &str| {
            let mut name = named.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let found = [named.join(".git"), named.to_owned(), beside(".git/.git"), beside(".git")];
        // Git takes the first that it finds, too.
        let first = found.into_iter().find(|path| path.join("HEAD").symlink_metadata().is_ok() || path.is_file())?;
        let is_linked = first.is_file();
        let own = match is_linked {
            true => first.parent()?.join(short(&first).ok()??.strip_prefix("gitdir:")?.trim()),
            false => first,
        };
        let common = match short(&own.join("commondir")).ok()? {
            Some(name) => own.join(name.trim()),
            None => own.clone(),
        };
        let is_whole = !is_linked && own == common;
        let is_repository = ["objects", "refs"].iter().all(|name| common.join(name).is_dir());
        is_repository.then_some(Elsewhere { own, common, is_whole })
    }

    /// Follows a reference such as `HEAD` to its commit. None if the reference does not exist; an error says why it can't be read.
    pub fn commit(&self, name: &str) -> Result<Option<String>, String> {
        let mut name = name.to_owned();
        for _ in 0..LONGEST_CHAIN {
            if name != "HEAD" && !is_reference(&name) {
                return Err(format!("its `{}` is no reference", name.escape_debug()));
            }
            let folder = if name == "HEAD" { &self.own } else { &self.common };
            let path = folder.join(&name);
            let said = if path.is_dir() { None } else { short(&path).map_err(|why| format!("its `{name}` {why}"))? };
            let Some(said) = said.map_or_else(|| self.packed(&name), |said| Ok(Some(said)))? else { return Ok(None) };
            match said.strip_prefix("ref:") {
                Some(next) => name = next.trim().to_owned(),
                None => {
                    let id = ObjectId::from_hex(said.trim().as_bytes());
                    return id.map(|id| Some(id.to_string())).map_err(|_| format!("its `{name}` names no commit"));
                }
            }
        }
        Err("its `HEAD` leads from reference to reference".to_owned())
    }

    /// A reference of the list of references.
    fn packed(&self, name: &str) -> Result<Option<String>, String> {
        if self.common.join("reftable").is_dir() {
            return Err("its references are in no files".to_owned());
        }
        let unread = |error: std::io::Error| format!("its `packed-refs` can't be read: {error}");
        let file = match opened(&self.common.join("packed-refs")) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unread(error)),
        };
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line without an end is as long as a reference may be.
            let read = std::io::Read::take(&mut lines, LONGEST_LINK).read_until(b'\n', &mut line).map_err(unread)?;
            if read == 0 {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&line);
            if let Some((id, _)) = text.trim_end().split_once(' ').filter(|(_, found)| *found == name) {
                return Ok(Some(id.to_owned()));
            }
        }
    }
}

/// The text of a short plain file, also at the end of links; none if there is none. The reason if it can't be read.
fn short(path: &Path) -> Result<Option<String>, String> {
    match opened(path).and_then(|file| plain_file::all(&file, LONGEST_LINK)) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("can't be read: {error}")),
    }
}

/// Opens a plain file, also through links. A dangling link counts as a missing file.
fn opened(path: &Path) -> std::io::Result<fs::File> {
    plain_file::open(&path.canonicalize()?)
}

fn is_reference(name: &str) -> bool {
    name.starts_with("refs/") && name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// The first pipe or device below a folder, at which git would wait. Links are judged by their ends, and folders behind them not entered.
///
/// None if there is none, or a folder can't be read. A socket can't be opened, and is none: git's watcher has one.
pub fn special_below(folder: &Path) -> Option<PathBuf> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let is_special = match fs::metadata(&path) {
                _ if kind.is_file() || kind.is_dir() => false,
                Ok(end) => !end.is_file() && !end.is_dir() && !end.file_type().is_socket(),
                Err(_) => false,
            };
            if is_special {
                return Some(path);
            }
            if kind.is_dir() {
                open.push(path);
            }
        }
    }
    None
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the files are the tests' own")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    const ID: &str = "0123456789012345678901234567890123456789";

    fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, Elsewhere) {
        let place = tempfile::tempdir().unwrap();
        for folder in [".git/objects", ".git/refs/heads/deep"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        for (name, text) in files {
            fs::write(place.path().join(".git").join(name), text).unwrap();
        }
        let found = Elsewhere::at(place.path()).unwrap();
        (place, found)
    }

    #[test]
    fn a_reference_is_followed_to_its_commit() {
        let one = format!("{ID}\n");
        let packed = format!("# pack-refs with: peeled\n{ID} refs/heads/packed\n^{ID}\n");
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, Result<Option<&'a str>, &'a str>);
        let cases: &[Case<'_>] = &[
            (&[("HEAD", &one)], "HEAD", Ok(Some(ID))),
            (&[("HEAD", "ref: refs/heads/main\n"), ("refs/heads/main", &one)], "HEAD", Ok(Some(ID))),
            (&[("HEAD", "ref: refs/heads/packed\n"), ("packed-refs", &packed)], "HEAD", Ok(Some(ID))),
            (&[("HEAD", "ref: refs/heads/main\n")], "HEAD", Ok(None)),
            (&[("HEAD", &one)], "refs/heads/deep", Ok(None)),
            (&[("HEAD", "ref: ../outside\n")], "HEAD", Err("no reference")),
            (&[("HEAD", "ref: refs/heads/../../x\n")], "HEAD", Err("no reference")),
            (&[("HEAD", "ref: refs/heads/a\n"), ("refs/heads/a", "ref: refs/heads/a\n")], "HEAD", Err("leads from")),
            (&[("HEAD", "main\n")], "HEAD", Err("names no commit")),
        ];
        for (files, name, expected) in cases {
            let (_place, repository) = repository(files);
            match (repository.commit(name), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), *expected, "{files:?}"),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (found, _) => panic!("{files:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_pipe_is_an_error_and_no_wait() {
        for name in ["refs/heads/main", "packed-refs"] {
            let (place, repository) = repository(&[("HEAD", "ref: refs/heads/main\n")]);
            let pipe = place.path().join(".git").join(name);
            mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
            assert!(repository.commit("HEAD").unwrap_err().contains("not a plain file"), "{name}");
            let below = special_below(&place.path().join(".git/refs"));
            assert_eq!(below.is_some(), name.starts_with("refs"), "{below:?}");
        }
    }
}
