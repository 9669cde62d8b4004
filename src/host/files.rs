//! `nrv.files`: what a script sees of the tree.

use std::fmt::Write;

use regex::RegexBuilder;
use serde_json::{Value, json};

use super::Context;
use crate::{
    call::Call,
    change::Content,
    error::{Code, Error},
    path::{RepoPath, protected},
    policy::Policy,
    workspace::{Globs, Kind, Overlay, View, parallel_map},
};

/// How many hits one search may give.
const MAX_HITS: usize = 100_000;

/// A tree, and what a policy lets a script see of it.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) context: &'a Context,
    pub(super) policy: &'a Policy,
    pub(super) overlay: &'a Overlay,
}

impl<'a> Files<'a> {
    /// Answers a call `files.*`.
    pub(super) fn answer(&self, call: &Call) -> Result<Value, Error> {
        match call {
            Call::FilesGlob { patterns } => self.glob(patterns).map(|paths| json!(paths)),
            Call::FilesRead { path } => self.read_text(path).map(Value::from),
            Call::FilesExists { path } => self.exists(path).map(Value::from),
            Call::FilesStat { path } => self.stat(path),
            Call::FilesSha256 { path } => self.sha256(path).map(Value::from),
            Call::FilesGrep { regex, patterns } => self.grep(regex, patterns).map(Value::from),
            other => Err(Error::new(Code::Internal, format!("`{}` is no call on files", other.name()))),
        }
    }

    fn view(&self) -> View<'a> {
        View::new(&self.context.workspace, self.overlay)
    }

    /// Checks that a script may read a path.
    fn readable(&self, text: &str) -> Result<RepoPath, Error> {
        let path = RepoPath::parse(text)?;
        if let Some(reason) = protected::read_refusal(&path) {
            return Err(Error::new(Code::ProtectedPath, format!("`{path}` can't be read by a script: {reason}"))
                .detail("path", path.as_str()));
        }
        self.policy.may_read(&path)?;
        Ok(path)
    }

    /// Sorted paths that match and that a script may read.
    fn glob(&self, patterns: &[String]) -> Result<Vec<RepoPath>, Error> {
        let globs = unprotected(Globs::parse(patterns)?)?;
        let mut paths = self.view().list(&globs, self.context.options.threads)?.paths;
        paths.retain(|path| self.readable(path.as_str()).is_ok());
        Ok(paths)
    }

    /// A file's text.
    pub(super) fn read_text(&self, path: &str) -> Result<String, Error> {
        let path = self.readable(path)?;
        text_of(&path, self.view().read(&path)?.into_bytes())
    }

    /// The file that a text names, if it is the path of one that may be read.
    pub(super) fn stored(&self, text: &str) -> Option<(RepoPath, Content)> {
        let path = self.readable(text).ok()?;
        let content = self.view().read(&path).ok()?;
        Some((path, content))
    }

    /// True if there is a file or folder.
    fn exists(&self, path: &str) -> Result<bool, Error> {
        let path = self.readable(path)?;
        match self.overlay.get(&path) {
            Some(content) => Ok(content.is_some()),
            None => Ok(self.context.workspace.stat(&path)?.is_some()),
        }
    }

    /// Kind, size, mode and hash.
    fn stat(&self, path: &str) -> Result<Value, Error> {
        let path = self.readable(path)?;
        let mode = |mode: u32| {
            let mut text = String::new();
            let _ = write!(text, "{mode:04o}");
            text
        };
        let found = match self.overlay.get(&path) {
            Some(_) => None,
            None => self.context.workspace.stat(&path)?,
        };
        if let Some(found) = found.filter(|found| found.kind != Kind::File) {
            return Ok(
                json!({"path": path, "kind": found.kind.as_str(), "size": found.length, "mode": mode(found.mode)}),
            );
        }
        let stamp = self.view().hash(&path)?;
        Ok(json!({
            "path": path, "kind": "file", "size": stamp.length, "mode": mode(stamp.mode), "sha256": stamp.sha256,
        }))
    }

    /// A file's hash.
    pub(super) fn sha256(&self, path: &str) -> Result<String, Error> {
        let path = self.readable(path)?;
        Ok(self.view().hash(&path)?.sha256.to_string())
    }

    /// Lines that match, in the order of paths and lines. Files that are not UTF-8 are passed over.
    fn grep(&self, regex: &str, patterns: &[String]) -> Result<Vec<Value>, Error> {
        let regex = RegexBuilder::new(regex).build().map_err(|error| {
            Error::new(Code::InvalidInput, format!("the regular expression can't be used: {error}"))
                .hint("back-references and look-around are not available, so that every search takes linear time")
        })?;
        let paths = self.glob(patterns)?;
        let view = self.view();
        let hits = parallel_map(self.context.options.threads, &paths, |path| -> Result<Vec<Value>, Error> {
            let Ok(text) = text_of(path, view.read(path)?.into_bytes()) else { return Ok(Vec::new()) };
            let hit = |(index, line): (usize, &str)| {
                let found = regex.find(line)?;
                let column = line[..found.start()].chars().count() + 1;
                Some(json!({"path": path, "line": index + 1, "column": column, "text": line}))
            };
            Ok(text.lines().enumerate().filter_map(hit).collect())
        });
        let mut all = Vec::new();
        for hits in hits {
            all.extend(hits?);
            if all.len() > MAX_HITS {
                return Err(Error::new(Code::InvalidInput, format!("the search has more than {MAX_HITS} hits"))
                    .hint("narrow the glob or the regular expression"));
            }
        }
        Ok(all)
    }
}

/// Globs that a script wrote. One that aims at a protected folder is refused: nothing found would look like nothing there.
pub(super) fn unprotected(globs: Globs) -> Result<Globs, Error> {
    for prefix in globs.prefixes().iter().filter(|prefix| !prefix.is_empty()) {
        let path = RepoPath::parse(prefix)?;
        if let Some(reason) = protected::read_refusal(&path) {
            return Err(Error::new(
                Code::ProtectedPath,
                format!("the glob aims at `{path}`, which is protected: {reason}"),
            )
            .detail("path", path.as_str()));
        }
    }
    Ok(globs)
}

fn text_of(path: &RepoPath, bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|_| {
        Error::new(Code::Unreadable, format!("`{path}` is not UTF-8"))
            .detail("path", path.as_str())
            .hint("adapters work on bytes and can change such files; scripts can't read them")
    })
}
