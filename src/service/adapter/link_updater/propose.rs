//! Discovers and proposes: counts links, and produces the files with moved links.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{
    format::{self, Format},
    left::{self, Places, Sight},
    origin::Moves,
    params::Params,
    rewrite::{Again, Moved, rewrite, rewrite_counted},
};
use crate::{
    Context,
    contract::{Counts, Invocation, Proposal},
    deadline::Deadline,
    survey::{Look, Results, Surveyed, survey},
};
use base::{
    change::{Change, Content},
    error::Error,
    path::RepoPath,
    pulse::Pulse,
};

/// The reason to skip a file whose links would be read differently after their move.
const INEXACT: &str = "its links can't be moved exactly as they are written";

/// The findings in one file.
struct Page {
    format: Format,
    links: u64,
    updates: u64,
    /// The file with its links moved; none if it stays.
    after: Option<Vec<u8>>,
}

/// Reads every file of the target and moves its links.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let moves = Moves::compile(&params)?;
    let (sight, deadline) = (Sight::new(&moves)?, Deadline::begin(input, "looking for old hosts"));
    let left = Mutex::new(Places::default());
    let leave = |path: &RepoPath, bytes: &[u8], reason: &str| {
        let places = sight.places(path, bytes, reason);
        left.lock().unwrap_or_else(PoisonError::into_inner).add(places);
    };
    let mut survey = survey(ctx, input, looked_at, |source| {
        let pulse = || source.pulse();
        let format = Format::of(source.path);
        let moved = Reader { params: &params, moves: &moves, pulse: &pulse }.moved(format, source.bytes)?;
        Ok(match moved {
            Err(reason) => {
                leave(source.path, source.bytes, left::SKIPPED);
                Look::Skip(reason)
            }
            Ok(Moved { links, updates, bytes: after }) => {
                leave(source.path, after.as_deref().unwrap_or(source.bytes), left::NO_LINK);
                Look::Read(Page { format, links, updates, after })
            }
        })
    })?;
    survey.check_skipped(params.on_skip)?;
    let mut left = left.into_inner().unwrap_or_else(PoisonError::into_inner);
    left.add(left::outside((ctx, &deadline), &sight, |path| survey.has(path))?);
    let mut total = Total::default();
    survey.files.iter_mut().for_each(|file| total.add(file));
    let (findings, counts) = left.results();
    let mut results = Results { findings, ..total.results() };
    results.counts.extend(counts);
    survey.propose(results)
}

#[derive(Default)]
struct Total {
    links: u64,
    updates: u64,
    changes: Vec<Change>,
    /// Files, links and updates of each format.
    formats: BTreeMap<&'static str, [u64; 3]>,
}

impl Total {
    fn add(&mut self, Surveyed { path, before, found }: &mut Surveyed<Page>) {
        let counts = self.formats.entry(found.format.name()).or_default();
        for (count, more) in counts.iter_mut().zip([1, found.links, found.updates]) {
            *count += more;
        }
        self.links += found.links;
        self.updates += found.updates;
        self.changes.extend(found.after.take().map(|bytes| {
            let after = Some(Content::new(bytes, before.mode));
            Change { path: path.clone(), before: Some(*before), after }
        }));
    }

    fn results(self) -> Results {
        let mut counts =
            Counts::from([("links_total".to_owned(), self.links), ("links_to_update".to_owned(), self.updates)]);
        for (format, numbers) in self.formats {
            let names = ["files", "links", "updates"].map(|what| format!("{what}_{format}"));
            counts.extend(names.into_iter().zip(numbers));
        }
        let changed = Counts::from([("link_updates".to_owned(), self.updates)]);
        Results { counts, changed, changes: self.changes, ..Results::default() }
    }
}

/// Moves the links of files.
struct Reader<'a> {
    params: &'a Params,
    moves: &'a Moves,
    pulse: Pulse<'a>,
}

impl Reader<'_> {
    /// The moved form of a file; the inner error is the reason to leave it alone.
    fn moved(&self, format: Format, bytes: &[u8]) -> Result<Result<Moved, Cow<'static, str>>, Error> {
        let Reader { params, moves, pulse } = *self;
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
        Ok(rewrite(bytes, &found.values, moves, &scan, again)?.ok_or(INEXACT.into()))
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
        let decoded = ::format::value::Decoded::new(&bytes[value.range.clone()], &value.escapes);
        let pieces = ::format::pieces::pieces(value.form, &decoded.text);
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
