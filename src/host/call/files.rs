//! `nrv.files`: what a script sees of the tree.

use std::{
    borrow::Cow,
    fmt::Write,
    io::{self, BufRead, BufReader, Read},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use regex::Regex;
use serde_json::{Value, json};

use crate::{Context, context::check_stop, reply_size::too_large};
use base::{
    call::Call,
    change::Content,
    error::{Code, Error},
    json,
    path::{RepoPath, protected},
    regular,
};
use gate::{Rules, secrets};
use system::{
    policy::Policy,
    workspace::{Globs, Kind, Overlay, View, parallel_map},
};

/// How many hits one search may give.
pub(super) const MAX_HITS: u64 = 100_000;

/// A longer file is searched line by line.
const HELD: u64 = 16 << 20;

/// A tree, and what a policy lets a script see of it.
#[derive(Clone, Copy)]
pub(crate) struct Files<'a> {
    pub(crate) context: &'a Context,
    pub(crate) policy: &'a Policy,
    pub(crate) overlay: &'a Overlay,
    /// Bytes that a reply may have.
    pub(crate) most: u64,
    /// The rules by which secrets are taken out of the texts that a search looks at; none: it looks at the files as they are.
    pub(crate) redacted: Option<&'a Rules>,
    /// Becomes true when everything has to stop.
    pub(crate) stop: Option<&'a AtomicBool>,
}

impl<'a> Files<'a> {
    /// Answers a call `files.*` or `code.find`.
    pub(crate) fn answer(&self, call: &Call) -> Result<Value, Error> {
        match call {
            Call::FilesGlob { patterns } => self.glob(patterns).map(|paths| json!(paths)),
            Call::FilesRead { path } => self.read_text(path).map(Value::from),
            Call::FilesExists { path } => self.exists(path).map(Value::from),
            Call::FilesStat { path } => self.stat(path),
            Call::FilesSha256 { path } => self.sha256(path).map(Value::from),
            Call::FilesGrep { regex, patterns } => self.grep(regex, patterns).map(Value::from),
            Call::CodeFind(search) => self.find_code(search),
            other => Err(Error::new(Code::Internal, format!("`{}` is no call on files", other.name()))),
        }
    }

    pub(crate) fn view(&self) -> View<'a> {
        let view = View::new(&self.context.workspace, self.overlay);
        self.stop.map_or(view, |stop| view.until(stop))
    }

    /// Checks that a script may read a path.
    pub(crate) fn readable(&self, text: &str) -> Result<RepoPath, Error> {
        let path = RepoPath::parse(text)?;
        if let Some(reason) = protected::read_refusal(&path) {
            return Err(Error::new(Code::ProtectedPath, format!("`{path}` can't be read by a script: {reason}"))
                .detail("path", path.as_str()));
        }
        self.policy.may_read(&path)?;
        Ok(path)
    }

    /// Sorted paths that match and that a script may read.
    pub(super) fn glob(&self, patterns: &[String]) -> Result<Vec<RepoPath>, Error> {
        let globs = unprotected(Globs::parse(patterns)?)?;
        let mut paths = self.view().list(&globs, self.context.options.threads)?.paths;
        paths.retain(|path| self.readable(path.as_str()).is_ok());
        let size: u64 = paths.iter().map(|path| path.len() as u64 + json::LEAST).sum();
        if size > self.most {
            return Err(too_large("the list of files", size, self.most).hint("narrow the globs"));
        }
        Ok(paths)
    }

    /// A file's text.
    pub(crate) fn read_text(&self, path: &str) -> Result<String, Error> {
        let path = self.readable(path)?;
        match self.view().read_within(&path, self.most)? {
            Some(content) => text_of(&path, content.into_bytes()),
            None => Err(self.too_large(&path)),
        }
    }

    /// The error for a file whose text is too large.
    fn too_large(&self, path: &RepoPath) -> Error {
        let size = match self.overlay.get(path) {
            Some(content) => content.map(|content| content.bytes.len() as u64),
            None => self.context.workspace.stat(path).ok().flatten().map(|found| found.length),
        };
        too_large(&format!("`{path}`"), size.unwrap_or_default(), self.most).detail("path", path.as_str()).hint(
            "search it with `nrv.files.grep`, compare it by `nrv.files.sha256`, change it by an adapter, or raise \
             `script.limits.reply_bytes` in `nrv.toml`",
        )
    }

    /// The file that a text names, if it is the path of one that may be read.
    pub(crate) fn stored(&self, text: &str) -> Option<(RepoPath, Content)> {
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
    pub(crate) fn sha256(&self, path: &str) -> Result<String, Error> {
        let path = self.readable(path)?;
        Ok(self.view().hash(&path)?.sha256.to_string())
    }

    /// A text as the caller may search it: for a client without secrets, since a match in one would confirm a guess of it.
    pub(crate) fn seen<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redacted.map_or(Cow::Borrowed(text), |rules| secrets::redact(text, rules.secrets()))
    }

    /// Lines that match, in the order of paths and lines. Files that are not UTF-8 are passed over.
    fn grep(&self, regex: &str, patterns: &[String]) -> Result<Vec<Value>, Error> {
        let regex = regular::compile(regex)?;
        let paths = self.glob(patterns)?;
        let search = Search { files: self, regex, hits: AtomicU64::new(0), size: AtomicU64::new(0) };
        let hits = parallel_map(self.context.options.threads, &paths, |path| search.file(path));
        self.stop.map_or(Ok(()), check_stop)?;
        if search.is_too_large() {
            let message = format!("the search has more than {MAX_HITS} hits or {} bytes of them", self.most);
            return Err(Error::new(Code::InvalidInput, message)
                .detail("limit", "script.limits.reply_bytes")
                .hint("narrow the glob or the regular expression"));
        }
        let mut all = Vec::new();
        for hits in hits {
            all.extend(hits?);
        }
        Ok(all)
    }
}

/// A search that goes on in many files at once, and ends in all of them when it has found too much.
struct Search<'s, 'a> {
    files: &'s Files<'a>,
    regex: Regex,
    hits: AtomicU64,
    size: AtomicU64,
}

impl Search<'_, '_> {
    fn is_too_large(&self) -> bool {
        self.hits.load(Ordering::Relaxed) > MAX_HITS || self.size.load(Ordering::Relaxed) > self.files.most
    }

    /// The lines of a file that match; none if it is not UTF-8.
    fn file(&self, path: &RepoPath) -> Result<Vec<Value>, Error> {
        self.files.stop.map_or(Ok(()), check_stop)?;
        if self.is_too_large() {
            return Ok(Vec::new());
        }
        let view = self.files.view();
        let content = match (view.read_within(path, HELD)?, self.files.redacted) {
            (Some(content), _) => content,
            (None, None) => return self.long_file(path, view.reader(path)?),
            (None, Some(_)) => return Err(self.unsearched(path)),
        };
        let Ok(text) = text_of(path, content.into_bytes()) else { return Ok(Vec::new()) };
        let text = self.files.seen(&text);
        let hits = text.lines().enumerate().map_while(|(index, line)| {
            let hit = self.line(path, index, line);
            (!self.is_too_large()).then_some(hit)
        });
        Ok(hits.flatten().collect())
    }

    /// The error for a file in which secrets that span lines are not looked for.
    fn unsearched(&self, path: &RepoPath) -> Error {
        too_large(
            &format!("`{path}`"),
            self.files.context.workspace.stat(path).ok().flatten().map_or(0, |found| found.length),
            HELD,
        )
        .detail("path", path.as_str())
        .hint("leave the file out with a glob that begins with `!`")
    }

    /// The same of a file that is not held in memory.
    fn long_file(&self, path: &RepoPath, reader: impl Read) -> Result<Vec<Value>, Error> {
        let unread = |error: io::Error| match self.files.stop.map_or(Ok(()), check_stop) {
            Ok(()) => Error::io(format!("`{path}` can't be read"), &error),
            Err(stopped) => stopped,
        };
        let (mut reader, mut line, mut hits) = (BufReader::with_capacity(1 << 18, reader), Vec::new(), Vec::new());
        for index in 0.. {
            line.clear();
            let most = self.files.most.saturating_add(1);
            if reader.by_ref().take(most).read_until(b'\n', &mut line).map_err(unread)? == 0 || self.is_too_large() {
                break;
            }
            if line.len() as u64 == most && line.last() != Some(&b'\n') {
                let what = format!("line {} of `{path}`", index + 1);
                return Err(too_large(&what, most, self.files.most)
                    .detail("path", path.as_str())
                    .hint("leave the file out with a glob that begins with `!`"));
            }
            let Ok(text) = str::from_utf8(&line) else { return Ok(Vec::new()) };
            hits.extend(text.lines().next().and_then(|line| self.line(path, index, line)));
        }
        Ok(hits)
    }

    fn line(&self, path: &RepoPath, index: usize, line: &str) -> Option<Value> {
        let found = self.regex.find(line)?;
        let column = line[..found.start()].chars().count() + 1;
        let hit = json!({"path": path, "line": index + 1, "column": column, "text": line});
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.size.fetch_add(json::weight(&hit), Ordering::Relaxed);
        Some(hit)
    }
}

/// Globs that a script wrote. One that aims at a protected folder is refused: nothing found would look like nothing there.
pub(crate) fn unprotected(globs: Globs) -> Result<Globs, Error> {
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
