//! Reads a patch: finds the parts of files, and ensures that nothing between them is lost.

use super::{
    ParseOptions, Prose, body, header,
    patch::{FilePatch, Hunk, Operation, Patch},
    text::{Text, finished, lines, malformed, show},
};
use crate::error::{Code, Error};

/// A patch, and the lines outside it, counted from 0.
pub(super) struct Read {
    pub(super) patch: Patch,
    pub(super) skipped: Vec<usize>,
}

/// Reads a patch. A patch that `git apply` refuses is refused, and so is a possible change that it would skip.
pub(super) fn read(text: &[u8], options: &ParseOptions) -> Result<Read, Error> {
    let whole = finished(text).filter(|_| options.recount);
    let text = Text::new(whole.as_deref().unwrap_or(text));
    let mut parser = Parser { text: &text, options, at: 0, skipped: Vec::new(), is_mended: whole.is_some() };
    let mut files = Vec::new();
    while let Some(header) = parser.find_header()? {
        files.push(parser.file(header)?);
    }
    if files.is_empty() {
        return Err(Error::new(Code::InvalidInput, "the text holds no unified diff").hint(
            "a diff begins with `--- a/FILE` and `+++ b/FILE`, followed by `@@ -1,3 +1,4 @@`, or with `diff --git`",
        ));
    }
    Ok(Read { patch: Patch { warnings: parser.warnings(), files }, skipped: parser.skipped })
}

struct Parser<'a> {
    text: &'a Text,
    options: &'a ParseOptions,
    /// The next line.
    at: usize,
    /// Lines that belong to no part, except empty ones.
    skipped: Vec<usize>,
    /// True if its last line got a line feed.
    is_mended: bool,
}

/// A header and its first line.
type Found = (usize, header::Header);

impl Parser<'_> {
    /// Goes to the next header; none at the end.
    fn find_header(&mut self) -> Result<Option<Found>, Error> {
        let text = self.text;
        while self.at < text.len() {
            let at = self.at;
            if text.starts_with(at, "diff --git ") {
                let header = header::read_git(text, at, self.options.strip)?;
                if header.end == at + 1 {
                    return Err(no_hunk(text, at));
                }
                self.at = header.end;
                return Ok(Some((at, header)));
            }
            if text.has_names(at) {
                if !text.starts_with(at + 2, "@@ -") {
                    return Err(no_hunk(text, at));
                }
                let header = header::read_plain(text, at, self.options.strip)?;
                self.at = header.end;
                return Ok(Some((at, header)));
            }
            self.skip(at)?;
            self.at += 1;
        }
        Ok(None)
    }

    /// Passes over a line that is no part of a diff.
    fn skip(&mut self, at: usize) -> Result<(), Error> {
        let line = self.text.line(at);
        if line.starts_with(b"@@") {
            let what = match body::header(line) {
                Some(_) => "begins a hunk, but no lines `--- a/FILE` and `+++ b/FILE` come before it",
                None => "looks like the header of a hunk and is none",
            };
            return Err(malformed(self.text, at, what)
                .hint("put the names of the file before its hunks, and the line numbers into their headers"));
        }
        if is_binary(line) {
            return Err(binary(self.text, at, None));
        }
        if is_preamble(line) {
            return Ok(());
        }
        match self.options.prose {
            Prose::Refuse => Err(malformed(self.text, at, "is not part of a diff")
                .hint("give the diff alone, without text or fences around it; `nrv.diff.repair` strips them and says what it did")),
            Prose::Skip => {
                self.skipped.push(at);
                Ok(())
            }
        }
    }

    fn warnings(&self) -> Vec<String> {
        let end = self.text.len();
        let mut warnings = Vec::new();
        if self.is_mended && self.skipped.last().is_none_or(|last| last + 1 < end) {
            warnings.push(format!("line {end} of the diff has no line feed at its end, and was read as if it had one"));
        }
        let (Some(first), Some(last)) = (self.skipped.first(), self.skipped.last()) else { return warnings };
        let count = lines(self.skipped.len());
        let shown = show(self.text.line(*first));
        let place = if first == last {
            format!("line {}", first + 1)
        } else {
            format!("between lines {} and {}", first + 1, last + 1)
        };
        warnings.push(format!("{count} that are no part of a diff were skipped, {place}: `{shown}`"));
        warnings
    }

    /// Reads the hunks that follow a header.
    fn file(&mut self, (line, header): Found) -> Result<FilePatch, Error> {
        let mut hunks: Vec<Hunk> = Vec::new();
        while self.text.starts_with(self.at, "@@ -") {
            let (hunk, end) = body::read(self.text, self.at, hunks.len() + 1, self.options.recount)?;
            hunks.push(hunk);
            self.at = end;
        }
        if self.text.starts_with(self.at, "@@") {
            return Err(body::bad_header(self.text, self.at));
        }
        let (old, new) = hunks.iter().fold((0, 0), |sum, hunk| (sum.0 + hunk.old.count, sum.1 + hunk.new.count));
        let is_open = !header.is_certain && hunks.len() == 1;
        let blob = header.blob.filter(|_| matches!(header.operation, Operation::Delete { .. }));
        let part = FilePatch {
            blob: blob.filter(|_| {
                hunks.is_empty() && is_binary(self.text.line(self.at)) && !self.text.starts_with(self.at, "GIT ")
            }),
            may_create: is_open && old == 0,
            may_delete: is_open && new == 0,
            operation: header.operation,
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            hunks,
            line: line + 1,
        };
        self.check(&part, old, new)?;
        match part.hunks.last() {
            Some(hunk) => self.check_end(&part, hunk)?,
            None if header.wants_hunks => return Err(no_hunk(self.text, part.line - 1)),
            None => self.check_bare(&part)?,
        }
        Ok(part)
    }

    /// A created file has no old lines, and a deleted one no new lines.
    fn check(&self, part: &FilePatch, old: usize, new: usize) -> Result<(), Error> {
        let what = match &part.operation {
            Operation::Create { path } if old > 0 => {
                format!("creates `{path}`, but its hunks have lines of an old file")
            }
            Operation::Delete { path } if new > 0 => format!("deletes `{path}`, but its hunks leave lines"),
            _ => return Ok(()),
        };
        Err(malformed(self.text, part.line - 1, &what))
    }

    /// Makes sure that the header alone changes something.
    fn check_bare(&mut self, part: &FilePatch) -> Result<(), Error> {
        if part.blob.is_some() {
            self.at += 1;
            return Ok(());
        }
        let next = self.text.line(self.at);
        if is_binary(next) {
            return Err(binary(self.text, self.at, Some(part)));
        }
        let is_over = is_preamble(next) || self.text.has_names(self.at) || body::is_signature(self.text, self.at);
        if body::is_alike(next) && !is_over {
            let what = format!("follows the header of `{}` and looks like a line of a hunk", part.path());
            return Err(malformed(self.text, self.at, &what).hint(HUNK_HINT));
        }
        let changes_mode = part.new_mode.is_some() && part.old_mode.is_some() && part.old_mode != part.new_mode;
        if changes_mode || !matches!(part.operation, Operation::Modify { .. }) {
            return Ok(());
        }
        Err(no_hunk(self.text, part.line - 1))
    }

    /// Ensures that no foreign line stands inside the hunk. Where the line counts can't be trusted, only the end of a fence or
    /// of a mail ends the hunk.
    fn check_rest(&self, part: &FilePatch) -> Result<(), Error> {
        let text = self.text;
        let is_over = |at: usize| {
            let is_fence = matches!(text.line(at).trim_ascii(), b"```" | b"~~~");
            is_fence || body::is_signature(text, at) || text.starts_with(at, "diff --git ") || text.has_names(at)
        };
        let mut rest = (self.at..text.len()).take_while(|at| !is_over(*at));
        match rest.find(|at| body::is_alike(text.line(*at)) && !is_preamble(text.line(*at))) {
            Some(at) => {
                let what = format!(
                    "looks like a line of hunk {} of `{}`, but other text stands before it",
                    part.hunks.len(),
                    part.path()
                );
                Err(malformed(text, at, &what)
                    .hint("leave out the text between the lines of the hunk, or give its lines the space back that begins context"))
            }
            None => Ok(()),
        }
    }

    /// Ensures that a hunk has no more lines than its header says.
    fn check_end(&mut self, part: &FilePatch, hunk: &Hunk) -> Result<(), Error> {
        let text = self.text;
        let mut end = self.at;
        let mut is_change = false;
        while !body::is_signature(text, end) && !text.has_names(end) && body::is_alike(text.line(end)) {
            is_change |= !matches!(text.line(end).first(), Some(b' ' | b'\n' | b'\r'));
            end += 1;
        }
        // More of the hunk's context, and then the next hunk.
        let is_cut = end > self.at && text.starts_with(end, "@@ -");
        if !is_change && !is_cut {
            return if self.options.recount { self.check_rest(part) } else { Ok(()) };
        }
        let (counts, _) = body::measure(text, hunk.line - 1, hunk.old, hunk.new);
        let found = body::ranges(hunk.old.start, hunk.new.start, counts);
        let what = format!("follows hunk {} of `{}` and looks like a line of it", part.hunks.len(), part.path());
        Err(malformed(text, self.at, &what).detail("hunk", part.hunks.len()).detail("found", found.clone()).hint(format!(
            "the hunk in line {} has more lines than its header says; with all of them the header would be `{found}`, and \
             `nrv.diff.repair` counts again",
            hunk.line
        )))
    }
}

/// Lines that programs write around the parts without further meaning, and empty ones.
fn is_preamble(line: &[u8]) -> bool {
    let words: &[&[u8]] = &[b"Index: ", b"diff -", b"Only in "];
    matches!(line, b"\n" | b"\r\n")
        || words.iter().any(|word| line.starts_with(word))
        || line.len() > 10 && line.trim_ascii_end().iter().all(|byte| *byte == b'=')
}

fn is_binary(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line == b"GIT binary patch"
        || line.ends_with(b" differ") && (line.starts_with(b"Binary files ") || line.starts_with(b"Files "))
}

fn binary(text: &Text, at: usize, part: Option<&FilePatch>) -> Error {
    let error = match part {
        Some(part) => {
            malformed(text, at, &format!("says that `{}` is binary", part.path())).detail("path", part.path().as_str())
        }
        None => malformed(text, at, "is about a binary file"),
    };
    error.hint("a patch of text can't show a binary file; leave it out and copy the file by other means")
}

const HUNK_HINT: &str =
    "after the names comes a line like `@@ -12,7 +12,8 @@`: first line and number of lines, before and after";

/// Names of a file without any change of it.
fn no_hunk(text: &Text, at: usize) -> Error {
    malformed(text, at, "names a file, but no hunk follows").hint(HUNK_HINT)
}
