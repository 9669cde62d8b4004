//! Reads a target in batches, asks a user's adapter for counts and new texts, and makes the proposal.
//!
//! A batch depends on the sorted list of files alone, so that neither threads nor time change what an adapter sees. The new
//! texts are given to the adapter once more, which must leave them as they are.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{
    counts,
    description::Description,
    heap::{BYTES, Heap},
};
use adapter::{
    Context,
    contract::{Baseline, Counts, FileHash, Invocation, Proposal, Skipped},
    deadline::Deadline,
    listing,
    survey::{self, FILES_IGNORED, FILES_SCANNED, FILES_SKIPPED},
};
use base::{
    batch::{Answer, Batch, Body, File, Phase},
    change::{Change, ChangeSet, Content, Stamp},
    error::{Code, Error},
    path::RepoPath,
    text::counted,
};
use system::{
    policy::Hidden,
    workspace::{self, Globs},
};

/// The most files of a batch.
pub(super) const FILES: usize = 500;

/// Larger files are left alone.
pub(super) const LARGEST: u64 = 16 << 20;

/// The reasons to leave a file alone.
const TOO_LARGE: &str = "it is larger than 16 MiB";
const NO_TEXT: &str = "it is not UTF-8";
const HIDDEN: &str = "`paths.read_deny` covers it";

/// Answers batches, in a process of its own.
pub(super) trait Work {
    /// True if it takes files that are not UTF-8.
    const TAKES_BYTES: bool;

    /// The code of an answer against the rules.
    const CODE: Code;

    /// The answer of the adapter.
    fn work(&mut self, batch: Batch, stop: &dyn Fn() -> Option<Error>) -> Result<Answer, Error>;
}

/// The input of an adapter's functions: all but the mode, so that a dry run proposes what a run proposes.
pub(super) fn functions_input(input: &Invocation) -> Value {
    json!({
        "tool": input.tool, "version": input.version, "target": input.target, "params": input.params,
        "constraints": input.constraints,
    })
}

/// Reads every file of the target and proposes.
pub(super) fn propose<W: Work>(
    ctx: &Context<'_>,
    input: &Invocation,
    adapter: &Description,
    start: impl Fn() -> W + Sync,
) -> Result<Proposal, Error> {
    let deadline = Deadline::begin(input, "looking at the files");
    let owned = Globs::parse(&adapter.globs)?;
    let mut listed = listing::list(ctx, &input.target.globs(ctx.view)?, &owned)?;
    let hidden = Hidden::new(&adapter.hidden)?;
    let (hidden, paths): (Vec<_>, Vec<_>) = listed.take_paths().into_iter().partition(|path| hidden.covers(path));
    let most = adapter.max_files.unwrap_or(u64::MAX).min(input.constraints.max_files);
    survey::check_number(
        paths.len(),
        most,
        ("`max_files`", "`max_files` of the constraints, the policy or the adapter,"),
    )?;
    let stop = || deadline.check(ctx).err();
    let (done, wanted) = (AtomicU64::new(0), functions_input(input));
    let chunks: Vec<&[RepoPath]> = paths.chunks(FILES).collect();
    let parts = workspace::parallel_map_with(ctx.threads, &chunks, &start, |worker, chunk| {
        let mut reader =
            Reader { ctx, adapter, input: &wanted, stop: &stop, part: Part::default(), batch: Vec::new(), encoded: 0 };
        for path in *chunk {
            reader.read(path, worker)?;
            (ctx.progress)(adapter::Work::Discover, done.fetch_add(1, Ordering::Relaxed) + 1, paths.len() as u64);
        }
        reader.flush(worker)?;
        Ok::<Part, Error>(reader.part)
    });
    let mut total = Part::default();
    for part in parts {
        total.add(part?).map_err(|why| against_rules::<W>(adapter, why))?;
    }
    total.skipped.extend(hidden.into_iter().map(|path| Skipped { path: path.to_string(), reason: HIDDEN.to_owned() }));
    total.skipped.extend(listed.skipped);
    for name in adapter.counts.keys() {
        total.counts.entry(name.clone()).or_default();
    }
    total.check_work(adapter)?;
    total.finish(listed.ignored)
}

/// An answer against the rules for counts.
fn against_rules<W: Work>(adapter: &Description, why: String) -> Error {
    Error::new(W::CODE, format!("`{}` can't be used: {why}", adapter.name)).hint("nothing was changed")
}

/// The result of some files.
#[derive(Default)]
struct Part {
    scanned: u64,
    files: Vec<FileHash>,
    skipped: Vec<Skipped>,
    counts: Counts,
    changes: Vec<Change>,
}

impl Part {
    fn add(&mut self, more: Part) -> Result<(), String> {
        self.scanned += more.scanned;
        self.files.extend(more.files);
        self.skipped.extend(more.skipped);
        self.changes.extend(more.changes);
        counts::add(&mut self.counts, &more.counts, Phase::Discover)
    }

    /// An error if files change and the adapter's own count says that there is nothing to do.
    fn check_work(&self, adapter: &Description) -> Result<(), Error> {
        let Some(work) = adapter.work.as_ref().filter(|_| !self.changes.is_empty()) else { return Ok(()) };
        if self.counts.get(work).is_some_and(|count| *count > 0) {
            return Ok(());
        }
        let n = counted(self.changes.len(), "file");
        let message =
            format!("`{}` contradicts itself: `discover` counts no `{work}`, and `propose` changes {n}", adapter.name);
        Err(Error::new(Code::VerificationFailed, message)
            .detail("check", counts::WORK_BEFORE_CHANGE)
            .hint("the count that `work` names is above zero where there is something to change; nothing was changed"))
    }

    fn finish(mut self, ignored: u64) -> Result<Proposal, Error> {
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let changes = ChangeSet::new(self.changes)?;
        let own = [(FILES_SCANNED, self.scanned), (FILES_SKIPPED, self.skipped.len() as u64), (FILES_IGNORED, ignored)];
        let mut counts = self.counts;
        counts.extend(own.map(|(name, n)| (name.to_owned(), n)));
        let baseline = Baseline { counts, files: self.files, skipped: self.skipped, ..Baseline::default() };
        let counts = Counts::from([("files".to_owned(), changes.len() as u64)]);
        Ok(Proposal { baseline, counts, changes })
    }
}

/// Reads files into batches.
struct Reader<'a> {
    ctx: &'a Context<'a>,
    adapter: &'a Description,
    input: &'a Value,
    stop: &'a dyn Fn() -> Option<Error>,
    part: Part,
    batch: Vec<(Stamp, File)>,
    /// The bytes of these contents in JSON.
    encoded: usize,
}

impl Reader<'_> {
    fn read<W: Work>(&mut self, path: &RepoPath, worker: &mut W) -> Result<(), Error> {
        if let Some(reason) = (self.stop)() {
            return Err(reason);
        }
        let mut bytes = Vec::new();
        let Some(stamp) = self.ctx.view.read_into(path, LARGEST, &mut bytes)? else {
            self.skip(path, TOO_LARGE);
            return Ok(());
        };
        self.part.files.push(FileHash { path: path.clone(), sha256: stamp.sha256 });
        let body = Body::of(bytes);
        if matches!(body, Body::B64(_)) && !W::TAKES_BYTES {
            self.skip(path, NO_TEXT);
            return Ok(());
        }
        self.part.scanned += 1;
        let encoded = body.encoded();
        if self.encoded + encoded > BYTES {
            self.flush(worker)?;
        }
        self.encoded += encoded;
        self.batch.push((stamp, File { path: path.to_string(), body }));
        Ok(())
    }

    fn skip(&mut self, path: &RepoPath, reason: &str) {
        self.part.skipped.push(Skipped { path: path.to_string(), reason: reason.to_owned() });
    }

    /// Gives a batch to the adapter.
    fn flush<W: Work>(&mut self, worker: &mut W) -> Result<(), Error> {
        self.encoded = 0;
        let (stamps, files): (Vec<Stamp>, Vec<File>) = std::mem::take(&mut self.batch).into_iter().unzip();
        if files.is_empty() {
            return Ok(());
        }
        let counts = match self.ask(worker, Phase::Discover, files.clone())? {
            Answer::Counts(counts) => counts,
            Answer::Files(_) => return Err(self.astray()),
        };
        counts::add(&mut self.part.counts, &counts, Phase::Discover)
            .map_err(|why| against_rules::<W>(self.adapter, why))?;
        let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        let bodies = self.proposed(worker, files)?;
        let mut changed = Vec::new();
        for ((stamp, path), body) in stamps.into_iter().zip(paths).zip(bodies) {
            let Some(body) = body else { continue };
            let after = Content::new(body.bytes().to_vec(), stamp.mode);
            if after.stamp().sha256 != stamp.sha256 {
                self.part.changes.push(Change {
                    path: RepoPath::parse(&path)?,
                    before: Some(stamp),
                    after: Some(after),
                });
                changed.push(File { path, body });
            }
        }
        self.second_pass(worker, changed)
    }

    /// The adapter must leave alone what it proposed.
    fn second_pass(&self, worker: &mut impl Work, files: Vec<File>) -> Result<(), Error> {
        let mut moved = Vec::new();
        // New contents may be longer, and a batch stays bounded.
        for batch in batches(files) {
            let paths: Vec<String> = batch.iter().map(|file| file.path.clone()).collect();
            let again = self.proposed(worker, batch)?;
            moved.extend(paths.into_iter().zip(again).filter(|(_, body)| body.is_some()).map(|(path, _)| path));
        }
        let mut moved = moved.iter();
        let Some(first) = moved.next() else { return Ok(()) };
        let n = 1 + moved.count();
        let more = if n > 1 { format!(" (and {} more)", counted(n - 1, "file")) } else { String::new() };
        let message = format!(
            "`{}` is not idempotent: it would change its own result for `{first}`{more} again",
            self.adapter.name
        );
        Err(Error::new(Code::VerificationFailed, message)
            .detail("check", "second_pass_empty")
            .detail("path", first.as_str())
            .hint("`propose` must leave a text alone that it has proposed; nothing was changed"))
    }

    fn proposed(&self, worker: &mut impl Work, files: Vec<File>) -> Result<Vec<Option<Body>>, Error> {
        let n = files.len();
        match self.ask(worker, Phase::Propose, files)? {
            Answer::Files(bodies) if bodies.len() == n => Ok(bodies),
            Answer::Files(_) | Answer::Counts(_) => Err(self.astray()),
        }
    }

    fn ask(&self, worker: &mut impl Work, phase: Phase, files: Vec<File>) -> Result<Answer, Error> {
        if let Some(reason) = (self.stop)() {
            return Err(reason);
        }
        worker.work(Batch { phase, input: self.input.clone(), files }, self.stop)
    }

    fn astray(&self) -> Error {
        Error::new(
            Code::ScriptCrashed,
            format!("the process of `{}` gave an answer to another question", self.adapter.name),
        )
    }
}

/// Files in batches of bounded size, in their order.
fn batches(files: Vec<File>) -> Vec<Vec<File>> {
    let mut heap = Heap::default();
    let mut full: Vec<Heap> = files.into_iter().filter_map(|file| heap.add(file, FILES)).collect();
    full.push(heap);
    full.into_iter().map(|heap| heap.files).filter(|files| !files.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_in_encoded_bytes() {
        let file = |bytes: Vec<u8>| File { path: "a".to_owned(), body: Body::of(bytes) };
        let sizes = |files: Vec<File>| batches(files).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(Vec::new()), [0; 0]);
        assert_eq!(sizes(vec![file(vec![b'a'; BYTES / 2]), file(vec![b'a'; BYTES / 2]), file(vec![b'a'; 1])]), [2, 1]);
        assert_eq!(sizes(vec![file(vec![b'\n'; BYTES / 2]), file(vec![b'a'; 1])]), [1, 1]);
        assert_eq!(sizes(vec![file(vec![0xff; BYTES / 4 * 3]), file(vec![0xff; 1])]), [1, 1]);
        assert_eq!(sizes(vec![file(vec![b'a'; 1]), file(vec![b'a'; 2 * BYTES]), file(vec![b'a'; 1])]), [1, 1, 1]);
    }
}
