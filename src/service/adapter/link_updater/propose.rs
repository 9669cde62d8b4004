//! Discovers and proposes: counts links, and produces the files with moved links.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    format::{self, Format},
    origin::Moves,
    params::{OnSkip, Params},
    rewrite::{Again, Moved, rewrite, rewrite_counted},
};
use crate::{
    base::{
        change::{Change, ChangeSet, Content},
        error::{Code, Error},
        path::RepoPath,
        pulse::Pulse,
        text::counted,
    },
    service::adapter::{
        Context,
        contract::{Baseline, Counts, FileHash, Invocation, Proposal, Skipped},
    },
    system::{
        clock::Stopwatch,
        workspace::{self, Globs},
    },
};

/// Larger files are left alone.
const LARGEST: u64 = 64 << 20;

/// The reason to skip a file whose links would be read differently after their move.
const INEXACT: &str = "its links can't be moved exactly as they are written";

/// The result of one file.
struct Page {
    format: Format,
    hash: Option<FileHash>,
    skipped: Option<&'static str>,
    links: u64,
    updates: u64,
    change: Option<Change>,
}

/// Reads every file of the target and moves its links.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let moves = Moves::compile(&params)?;
    let clock = Stopwatch::start();
    let listing = ctx.view.list(&input.target.globs(ctx.view)?, ctx.threads)?;
    let looked_at = Globs::parse(looked_at)?;
    let (paths, others): (Vec<_>, Vec<_>) = listing.paths.into_iter().partition(|path| looked_at.matches(path));
    check_number(paths.len(), input.constraints.max_files)?;
    let done = AtomicU64::new(0);
    let pulse = || {
        ctx.check_cancelled()?;
        check_time(clock, input.constraints.timeout_ms)
    };
    let pages = workspace::parallel_map_with(ctx.threads, &paths, Vec::new, |buffer, path| {
        pulse()?;
        let page = Reader { ctx, params: &params, moves: &moves, pulse: &pulse }.page(path, buffer);
        (ctx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, paths.len() as u64);
        page
    });
    let mut total = Total { ignored: others.len() as u64, ..Total::default() };
    for (path, page) in paths.iter().zip(pages) {
        total.add(path, page?);
    }
    total.skipped.extend(listing.unnameable.into_iter().map(|path| skipped(path, "its name is not UTF-8")));
    total.finish(params.on_skip)
}

#[derive(Default)]
struct Total {
    ignored: u64,
    scanned: u64,
    links: u64,
    updates: u64,
    files: Vec<FileHash>,
    skipped: Vec<Skipped>,
    changes: Vec<Change>,
    /// Files, links and updates of each format.
    formats: BTreeMap<&'static str, [u64; 3]>,
}

impl Total {
    fn add(&mut self, path: &RepoPath, page: Page) {
        self.files.extend(page.hash);
        match page.skipped {
            Some(reason) => self.skipped.push(skipped(path.to_string(), reason)),
            None => {
                self.scanned += 1;
                let counts = self.formats.entry(page.format.name()).or_default();
                for (count, more) in counts.iter_mut().zip([1, page.links, page.updates]) {
                    *count += more;
                }
            }
        }
        self.links += page.links;
        self.updates += page.updates;
        self.changes.extend(page.change);
    }

    fn finish(mut self, on_skip: OnSkip) -> Result<Proposal, Error> {
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        if let (OnSkip::Error, Some(first)) = (on_skip, self.skipped.first()) {
            return Err(Error::new(
                Code::Unreadable,
                format!("`{}` can't be searched for links: {}", first.path, first.reason),
            )
            .detail("files", self.skipped.iter().map(|skipped| skipped.path.clone()).collect::<Vec<_>>())
            .hint("exclude it with `!` in `target.glob`, or set `params.on_skip` to `list`"));
        }
        let changes = ChangeSet::new(self.changes)?;
        let counts = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Counts>();
        let mut baseline = counts(&[
            ("files_scanned", self.scanned),
            ("files_skipped", self.skipped.len() as u64),
            ("files_ignored", self.ignored),
            ("links_total", self.links),
            ("links_to_update", self.updates),
        ]);
        for (format, counts) in self.formats {
            let names = ["files", "links", "updates"].map(|what| format!("{what}_{format}"));
            baseline.extend(names.into_iter().zip(counts));
        }
        let proposed = counts(&[("files", changes.len() as u64), ("link_updates", self.updates)]);
        let baseline = Baseline { counts: baseline, files: self.files, skipped: self.skipped };
        Ok(Proposal { baseline, counts: proposed, changes })
    }
}

fn skipped(path: String, reason: &str) -> Skipped {
    Skipped { path, reason: reason.to_owned() }
}

fn check_number(files: usize, most: u64) -> Result<(), Error> {
    let files = files as u64;
    if files <= most {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidInput,
        format!("the glob matches {}, more than `constraints.max_files` allows ({most})", counted(files, "file")),
    )
    .detail("files", files)
    .detail("max_files", most)
    .hint("raise `constraints.max_files` or narrow `target.glob`; nothing was read"))
}

fn check_time(clock: Stopwatch, most_ms: u64) -> Result<(), Error> {
    if clock.elapsed_ms() <= most_ms {
        return Ok(());
    }
    Err(Error::new(
        Code::BudgetExhausted,
        format!("looking at the files took longer than `constraints.timeout_ms` allows ({most_ms} ms)"),
    )
    .detail("timeout_ms", most_ms)
    .hint("raise `constraints.timeout_ms` or narrow `target.glob`; nothing was changed"))
}

/// Reads files and moves their links.
struct Reader<'a> {
    ctx: &'a Context<'a>,
    params: &'a Params,
    moves: &'a Moves,
    pulse: Pulse<'a>,
}

impl Reader<'_> {
    fn page(&self, path: &RepoPath, bytes: &mut Vec<u8>) -> Result<Page, Error> {
        let format = Format::of(path);
        let nothing = Page { format, hash: None, skipped: None, links: 0, updates: 0, change: None };
        let Some(before) = self.ctx.view.read_into(path, LARGEST, bytes)? else {
            return Ok(Page { skipped: Some("it is larger than 64 MiB"), ..nothing });
        };
        let hash = Some(FileHash { path: path.clone(), sha256: before.sha256 });
        let nothing = Page { hash, ..nothing };
        match self.moved(format, bytes).map_err(|error| error.detail("path", path.as_str()))? {
            Err(reason) => Ok(Page { skipped: Some(reason), ..nothing }),
            Ok(moved) => {
                let change = moved.bytes.map(|bytes| {
                    let after = Content::new(bytes, before.mode);
                    Change { path: path.clone(), before: Some(before), after: Some(after) }
                });
                Ok(Page { links: moved.links, updates: moved.updates, change, ..nothing })
            }
        }
    }

    /// The moved form of a file; the inner error is the reason to leave it alone.
    fn moved(&self, format: Format, bytes: &[u8]) -> Result<Result<Moved, &'static str>, Error> {
        let Reader { params, moves, pulse, .. } = *self;
        let census = |bytes: &[u8]| format::census(format, bytes, params, moves);
        let again = Again { census: &census, pulse };
        if let Some(found) = census(bytes) {
            if found.moving.is_empty() {
                return Ok(Ok(Moved { links: found.links, ..Moved::default() }));
            }
            if let Some(moved) = rewrite_counted(bytes, &found, moves, again)? {
                return Ok(Ok(moved));
            }
        }
        let scan = |bytes: &[u8]| format::scan(format, bytes, params, pulse);
        let found = scan(bytes)?;
        if let Some(reason) = found.skipped {
            return Ok(Err(reason));
        }
        Ok(rewrite(bytes, &found.values, moves, &scan, again)?.ok_or(INEXACT))
    }
}

/// The URLs that this side finds in a file, and the file with its links moved; none if it leaves the file alone.
#[cfg(test)]
pub(super) fn links_and_page_for_tests(
    format: Format,
    bytes: &[u8],
    params: &Params,
) -> Option<(Vec<String>, Vec<u8>)> {
    let scan = |bytes: &[u8]| format::scan(format, bytes, params, &|| Ok(()));
    let found = scan(bytes).expect("nothing stops it");
    if found.skipped.is_some() {
        return None;
    }
    let mut links = Vec::new();
    for value in &found.values {
        let decoded = crate::format::value::Decoded::new(&bytes[value.range.clone()], &value.escapes);
        let pieces = crate::format::pieces::pieces(value.form, &decoded.text);
        links.extend(pieces.into_iter().map(|piece| decoded.text[piece].to_owned()));
    }
    let moves = Moves::compile(params).expect("the params mean something");
    let again = Again { census: &|_| None, pulse: &|| Ok(()) };
    let moved = rewrite(bytes, &found.values, &moves, &scan, again).expect("nothing stops it")?;
    Some((links, moved.bytes.unwrap_or_else(|| bytes.to_vec())))
}

/// A census of an HTML page: its number of links, and the page with them moved; none if the exact reader is needed.
#[cfg(test)]
pub(super) fn counted_page_for_tests(bytes: &[u8], params: &Params) -> Option<(u64, Vec<u8>)> {
    let moves = Moves::compile(params).expect("the params mean something");
    let census = |bytes: &[u8]| format::census(Format::Html, bytes, params, &moves);
    let found = census(bytes)?;
    if found.moving.is_empty() {
        return Some((found.links, bytes.to_vec()));
    }
    let moved = rewrite_counted(bytes, &found, &moves, Again { census: &census, pulse: &|| Ok(()) })
        .expect("nothing stops it")?;
    Some((moved.links, moved.bytes?))
}
