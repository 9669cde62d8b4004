//! Discover and propose: counts links, and makes the pages in which they are moved.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    census,
    format::Format,
    origin::{self, Moves, Rewrite},
    params::{OnSkip, Params},
    pieces::pieces,
    scan::{self, Pulse, Value},
    value::Decoded,
};
use crate::{
    change::{Change, ChangeSet, Content},
    clock::Stopwatch,
    dta::{
        Context,
        contract::{Baseline, Counts, FileHash, Invocation, Proposal, Skipped},
    },
    error::{Code, Error},
    path::RepoPath,
    workspace::{self, Globs},
};

/// Larger files are left alone.
const LARGEST: u64 = 64 << 20;

/// Why a page is skipped whose tree could be another one in a browser.
const UNCLEAR: &str = "what is text and what is markup in it depends on how browsers mend its tags, near an `<svg>`, \
    `<math>`, `<select>` or the like";

/// Values between two questions whether to go on.
const STRIDE: usize = 1000;

/// What came of one file.
struct Page {
    hash: Option<FileHash>,
    skipped: Option<&'static str>,
    links: u64,
    updates: u64,
    change: Option<Change>,
}

/// A page in which links were moved.
#[derive(Debug, Default, PartialEq, Eq)]
struct Moved {
    links: u64,
    updates: u64,
    /// The new bytes; none if nothing moves.
    bytes: Option<Vec<u8>>,
}

/// Looks at every page of the target and moves its links.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let moves = Moves::compile(&params)?;
    let clock = Stopwatch::start();
    let listing = ctx.view.list(&input.target.globs(ctx.view)?, ctx.threads)?;
    let looked_at = Globs::parse(looked_at)?;
    let (paths, others): (Vec<_>, Vec<_>) = listing.paths.into_iter().partition(|path| looked_at.matches(path));
    check_number(paths.len(), input.constraints.max_files)?;
    let done = AtomicU64::new(0);
    let pages = workspace::parallel_map_with(ctx.threads, &paths, Vec::new, |buffer, path| {
        ctx.check_cancelled()?;
        check_time(clock, input.constraints.timeout_ms)?;
        let page = page(ctx, &moves, (path, buffer), &|| {
            ctx.check_cancelled()?;
            check_time(clock, input.constraints.timeout_ms)
        });
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
}

impl Total {
    fn add(&mut self, path: &RepoPath, page: Page) {
        self.files.extend(page.hash);
        match page.skipped {
            Some(reason) => self.skipped.push(skipped(path.to_string(), reason)),
            None => self.scanned += 1,
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
        let baseline = counts(&[
            ("files_scanned", self.scanned),
            ("files_skipped", self.skipped.len() as u64),
            ("files_ignored", self.ignored),
            ("links_total", self.links),
            ("links_to_update", self.updates),
        ]);
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
        format!("the glob matches {files} pages, more than `constraints.max_files` allows ({most})"),
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
        format!("looking at the pages took longer than `constraints.timeout_ms` allows ({most_ms} ms)"),
    )
    .detail("timeout_ms", most_ms)
    .hint("raise `constraints.timeout_ms` or narrow `target.glob`; nothing was changed"))
}

fn page(
    ctx: &Context<'_>,
    moves: &Moves,
    (path, bytes): (&RepoPath, &mut Vec<u8>),
    pulse: Pulse<'_>,
) -> Result<Page, Error> {
    let nothing = Page { hash: None, skipped: None, links: 0, updates: 0, change: None };
    let Some(before) = ctx.view.read_into(path, LARGEST, bytes)? else {
        return Ok(Page { skipped: Some("it is larger than 64 MiB"), ..nothing });
    };
    let hash = Some(FileHash { path: path.clone(), sha256: before.sha256 });
    if !matches!(Format::of(path), Some(Format::Html | Format::Xhtml)) {
        return Ok(Page { hash, ..nothing });
    }
    if let Some(reason) = unreadable(bytes) {
        return Ok(Page { hash, skipped: Some(reason), ..nothing });
    }
    let is_xml = path.to_ascii_lowercase().ends_with(".xhtml");
    if !is_xml && let Some(links) = census::count(bytes, moves) {
        return Ok(Page { hash, links, ..nothing });
    }
    let scan = scan::scan(bytes, pulse).map_err(|error| error.detail("path", path.as_str()))?;
    if scan.is_unclear {
        return Ok(Page { hash, skipped: Some(UNCLEAR), ..nothing });
    }
    if is_xml && scan.differs_as_xml {
        return Ok(Page { hash, skipped: Some("as XML it means something else than as HTML"), ..nothing });
    }
    let moved = rewrite(bytes, &scan.values, moves, pulse).map_err(|error| error.detail("path", path.as_str()))?;
    let change = moved.bytes.map(|bytes| {
        let after = Content::new(bytes, before.mode);
        Change { path: path.clone(), before: Some(before), after: Some(after) }
    });
    Ok(Page { hash, skipped: None, links: moved.links, updates: moved.updates, change })
}

/// Why a page can't be edited byte by byte; none if its encoding is ASCII-compatible.
fn unreadable(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some("it is UTF-16");
    }
    if let Some(at) = memchr::memchr(0, bytes) {
        let head = &bytes[..bytes.len().min(512)];
        let looks_wide = at < 4 && head.len() > 1 && head.chunks_exact(2).all(|pair| pair.contains(&0));
        return Some(if looks_wide { "it is UTF-16" } else { "it is binary" });
    }
    let escapes = [&b"\x1b$"[..], b"\x1b("];
    escapes.iter().any(|escape| memchr::memmem::find(bytes, escape).is_some()).then_some("it is ISO-2022")
}

/// Moves the links of a page. Every byte outside the origins of moved links stays.
fn rewrite(bytes: &[u8], values: &[Value], moves: &Moves, pulse: Pulse<'_>) -> Result<Moved, Error> {
    let mut moved = Moved::default();
    let mut new = Vec::new();
    let mut copied = 0;
    for (n, value) in values.iter().enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        let raw = &bytes[value.range.clone()];
        let decoded = Decoded::new(raw);
        let pieces = pieces(value.form, &decoded.text);
        moved.links += pieces.len() as u64;
        let rewrites = pieces.iter().map(|piece| moves.rewrite(&decoded.text[piece.clone()]));
        let rewrites = rewrites.collect::<Result<Vec<_>, _>>()?;
        let updates = rewrites.iter().flatten().count();
        if updates == 0 {
            continue;
        }
        moved.updates += updates as u64;
        let replaced = splice(raw, &decoded, &pieces, &rewrites);
        check_splice(value, &decoded, (&pieces, &rewrites), &replaced)?;
        new.extend_from_slice(&bytes[copied..value.range.start]);
        new.extend(replaced);
        copied = value.range.end;
    }
    if moved.updates > 0 {
        new.extend_from_slice(&bytes[copied..]);
        moved.bytes = Some(new);
    }
    Ok(moved)
}

fn splice(raw: &[u8], decoded: &Decoded<'_>, pieces: &[Range<usize>], rewrites: &[Option<Rewrite>]) -> Vec<u8> {
    let mut new = Vec::with_capacity(raw.len() + 16);
    let mut copied = 0;
    for (piece, rewrite) in pieces.iter().zip(rewrites) {
        for (range, text) in rewrite.iter().flat_map(|rewrite| &rewrite.edits) {
            let range = decoded.raw(piece.start + range.start..piece.start + range.end);
            new.extend_from_slice(&raw[copied..range.start]);
            new.extend_from_slice(text.as_bytes());
            copied = range.end;
        }
    }
    new.extend_from_slice(&raw[copied..]);
    new
}

/// What was written, read again, must be what was meant: a character reference can end in what replaces its neighbour.
fn check_splice(
    value: &Value,
    decoded: &Decoded<'_>,
    (ranges, rewrites): (&[Range<usize>], &[Option<Rewrite>]),
    replaced: &[u8],
) -> Result<(), Error> {
    let again = Decoded::new(replaced);
    let found = pieces(value.form, &again.text);
    let meant = ranges.iter().zip(rewrites).map(|(range, rewrite)| match rewrite {
        Some(rewrite) => rewrite.cleaned.as_str().into(),
        None => origin::cleaned(&decoded.text[range.clone()]),
    });
    if found.into_iter().map(|range| origin::cleaned(&again.text[range])).eq(meant) {
        return Ok(());
    }
    Err(Error::new(Code::Internal, format!("the links in `{}` can't be moved exactly", decoded.text.escape_debug()))
        .detail("became", again.text.into_owned()))
}

/// The URLs that this side sees in a page, and the page with its links moved; none if it leaves the page alone.
#[cfg(test)]
pub(super) fn links_and_page_for_tests(bytes: &[u8], params: &Params) -> Option<(Vec<String>, Vec<u8>)> {
    let scan::Scan { values, is_unclear, .. } = scan::scan(bytes, &|| Ok(())).expect("the page can be parsed");
    let mut links = Vec::new();
    for value in &values {
        let decoded = Decoded::new(&bytes[value.range.clone()]);
        links.extend(pieces(value.form, &decoded.text).into_iter().map(|piece| decoded.text[piece].to_owned()));
    }
    let moves = Moves::compile(params).expect("the params mean something");
    let moved = rewrite(bytes, &values, &moves, &|| Ok(())).expect("the links can be moved");
    (!is_unclear).then(|| (links, moved.bytes.unwrap_or_else(|| bytes.to_vec())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn moved(html: &[u8]) -> Result<Moved, Error> {
        let params = json!({"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"});
        let moves = Moves::compile(&Params::parse(&params).unwrap()).unwrap();
        rewrite(html, &scan::scan(html, &|| Ok(())).unwrap().values, &moves, &|| Ok(()))
    }

    #[track_caller]
    fn check(html: &str, links: u64, expected: &str) {
        let moved = moved(html.as_bytes()).unwrap();
        let new = moved.bytes.map_or(html.to_owned(), |bytes| String::from_utf8(bytes).unwrap());
        assert_eq!((new.as_str(), moved.links), (expected, links));
    }

    #[test]
    fn only_origins_change() {
        check(
            "<A  HREF='http://old.example.com/x?a=1&amp;b' class=x>",
            1,
            "<A  HREF='https://new.example.com/x?a=1&amp;b' class=x>",
        );
        check("<a href=http&#58;//old&#x2e;example.com&#47;x&y>", 1, "<a href=https://new.example.com&#47;x&y>");
        check("<a href=\" http://u&#64;old.example.com \">", 1, "<a href=\" https://u&#64;new.example.com \">");
        check(
            "<img srcset='//old.example.com/a 1x, b 2x,https://old.example.com/c'>",
            3,
            "<img srcset='//new.example.com/a 1x, b 2x,https://new.example.com/c'>",
        );
        check(
            "<meta http-equiv=refresh content=\"3; URL='http://OLD.example.com/'\">",
            1,
            "<meta http-equiv=refresh content=\"3; URL='https://new.example.com/'\">",
        );
        check(
            "<p title='http://old.example.com'>http://old.example.com",
            0,
            "<p title='http://old.example.com'>http://old.example.com",
        );
    }

    #[test]
    fn other_encodings_are_edited_exactly() {
        let moved = moved(b"caf\xe9 <a href=\"http://old.example.com/\xe9\" title='\xff'>").unwrap();
        assert_eq!(moved.bytes.unwrap(), b"caf\xe9 <a href=\"https://new.example.com/\xe9\" title='\xff'>");
    }

    #[test]
    fn encodings_that_are_not_like_ascii_are_told() {
        assert_eq!(unreadable(b"\xff\xfe<\0"), Some("it is UTF-16"));
        assert_eq!(unreadable(b"<\0a\0"), Some("it is UTF-16"));
        assert_eq!(unreadable(b"<a>\0"), Some("it is binary"));
        assert_eq!(unreadable(b"\x1b$B<"), Some("it is ISO-2022"));
        assert_eq!(unreadable(b"\xef\xbb\xbf<a>\xe9"), None);
    }

    #[test]
    fn what_can_not_be_moved_exactly_is_an_error() {
        let params = json!({"from_hosts": ["old.example.com"], "to_host": "https://1.example.com"});
        let moves = Moves::compile(&Params::parse(&params).unwrap()).unwrap();
        let html = b"<a href=http://u&#64old.example.com>";
        let error = rewrite(html, &scan::scan(html, &|| Ok(())).unwrap().values, &moves, &|| Ok(())).unwrap_err();
        assert_eq!(error.code(), Code::Internal);
    }
}
