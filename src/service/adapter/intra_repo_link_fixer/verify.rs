//! The verifier: reads all files of the target again, by other parsers, and judges every link by rules of its own.
//!
//! It shares only the wire types of the parameters with the side that makes the change.

mod aim;
mod block;
mod braces;
mod document;
mod format;
mod heading;
mod hidden;
mod hugo;
mod inclusion;
mod markdown;
mod pieces;
mod place;
mod raw_heading;
mod repair;
mod root;
mod rules;
mod settings;
mod signs;
mod site;
mod slug;
mod tally;
mod tree;

use self::{
    document::{Document, Found, Manner},
    format::Format,
    repair::{Changed, Reasons},
    root::Configured,
    site::{Entries, Sites},
    tally::{ANCHORS_EXIST, GOOD_LINKS_KEPT, REPAIRS_EXPLAINED, TARGETS_EXIST, Tally},
    tree::{Judged, Read, Tree, When},
};
use super::params::{Allowed, Dialect, Params, Unresolved};
use crate::{
    Context,
    contract::{Failure, Invocation},
    counts::COUNTS_MATCH,
    deadline::Deadline,
    evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
};
use audit::mdx;
use base::{error::Error, path::RepoPath, text::counted};
use system::{
    git::{self, Tracked},
    workspace::{self, Globs},
};

/// Longer configurations are not read, in bytes.
const LONGEST_SETTINGS: u64 = 1 << 20;

/// Measures again, and compares with the record.
pub(super) fn measure(ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
    let params = Params::parse(&input.params)?;
    let deadline = Deadline::begin(input, "measuring the files");
    let pulse = || deadline.check(ctx);
    let entries = entries(ctx)?;
    let sites = sites(ctx, params.anchors, &entries)?;
    let skipped = &evidence.baseline.skipped;
    let read = evidence.examine(ctx, |file| {
        pulse()?;
        let left_alone = skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(file.path)).is_ok();
        examine(file, left_alone, Manner { rules: sites.rules(file.path), is_located: file.changed, pulse: &pulse })
    });
    let (mut files, mut total) = (std::collections::BTreeMap::new(), Tally::default());
    for taken in read {
        let (path, taken, failures) = taken?;
        total.failures.extend(failures);
        files.extend(taken.map(|taken| (path, taken)));
    }
    total.failures.extend(compare_settings(&sites, files.keys(), evidence));
    let mut tree = Tree::new(ctx, (&params, &sites, entries), files, &pulse);
    tree.included = tree.files.values().flat_map(|read| read.after.includes.iter().cloned()).collect();
    tree.skipped = skipped.iter().map(|skipped| skipped.path.as_str().to_owned()).collect();
    let is_changed = tree.files.values().any(|read| read.before.is_some());
    let reasons = if is_changed { Some(Reasons::new(&tree)?) } else { None };
    let items: Vec<(&RepoPath, &Read)> = tree.files.iter().collect();
    let tallies = workspace::parallel_map(ctx.threads, &items, |(path, read)| -> Result<Tally, Error> {
        pulse()?;
        match (&read.before, &reasons) {
            (Some(before), Some(reasons)) => changed(&tree, reasons, path, (before, &read.after)),
            (_, _) => unchanged(&tree, path, &read.after),
        }
    });
    for tally in tallies {
        total.add(tally?);
    }
    let mut failures = std::mem::take(&mut total.failures);
    failures.extend(total.compare(evidence));
    Ok(Measured {
        checks: vec![
            NOTHING_ELSE_CHANGED,
            COUNTS_MATCH,
            TARGETS_EXIST,
            ANCHORS_EXIST,
            GOOD_LINKS_KEPT,
            REPAIRS_EXPLAINED,
        ],
        failures,
        counts: total.counts(evidence),
        sample_size: 0,
        samples: Vec::new(),
        remarks: remarks(total.unsure),
    })
}

/// The entries of the tree.
fn entries(ctx: &Context<'_>) -> Result<Entries, Error> {
    let all = Globs::parse(&["**"])?;
    let texts = |paths: Vec<RepoPath>| paths.into_iter().map(|path| path.as_str().to_owned());
    let mut entries = Entries { files: texts(ctx.view.list(&all, ctx.threads)?.paths).collect(), ..Entries::default() };
    let links = texts(ctx.view.list_entries(&all, ctx.threads)?.paths).filter(|path| !entries.files.contains(path));
    entries.links = links.collect();
    for (path, tracked) in git::tracked(ctx.view.workspace().root())? {
        match tracked {
            Tracked::Absent => entries.left_out.insert(path),
            Tracked::Repository => entries.submodules.insert(path),
            // What git tracks, it does not ignore.
            Tracked::File => entries.files.insert(path),
        };
    }
    Ok(entries)
}

/// The sites of the tree.
fn sites(ctx: &Context<'_>, dialect: Dialect, entries: &Entries) -> Result<Sites, Error> {
    let texts = |path: &RepoPath| {
        let content = ctx.view.read_within(path, LONGEST_SETTINGS).ok().flatten()?;
        String::from_utf8(content.into_bytes()).ok()
    };
    let mut sites = Sites::of(dialect, entries, &texts)?;
    let text = |path: &str| RepoPath::parse(path).ok().as_ref().and_then(texts).unwrap_or_default();
    let around = Configured { sites: root::sites(&entries.files), files: &entries.files, text: &text };
    sites.extend(&root::alike(&around, &entries.files));
    Ok(sites)
}

/// A failure if the record has other rules for anchors than the tree.
fn compare_settings<'p>(
    sites: &Sites,
    pages: impl Iterator<Item = &'p RepoPath>,
    evidence: &Evidence<'_>,
) -> Option<Failure> {
    let (found, recorded) = (sites.settings(pages.map(RepoPath::as_str)), &evidence.baseline.settings);
    let other = found.iter().find(|setting| !recorded.contains(setting));
    let other = other.or_else(|| recorded.iter().find(|setting| !found.contains(setting)))?;
    let reason = format!("the rules for anchors below `{}` are not those of the record", other.below);
    Some(match RepoPath::parse(&other.path) {
        Ok(path) => Failure::at(COUNTS_MATCH, &path, reason),
        Err(_) => Failure::new(COUNTS_MATCH, reason),
    })
}

fn remarks(unsure: u64) -> Vec<String> {
    match unsure {
        0 => Vec::new(),
        1 => vec!["1 link leads to an anchor that is unknown".to_owned()],
        more => vec![format!("{more} links lead to anchors that are unknown")],
    }
}

/// Reads a file before and after, and compares everything but its links.
fn examine(
    file: &Examined<'_>,
    left_alone: bool,
    manner: Manner<'_>,
) -> Result<(RepoPath, Option<Read>, Vec<Failure>), Error> {
    let mut failures = Vec::new();
    let mut fail = |reason: &str| failures.push(Failure::at(NOTHING_ELSE_CHANGED, file.path, reason));
    let format = Format::of(file.path).filter(|_| !left_alone);
    let read = match (file.before, file.after, format) {
        (Some(before), Some(after), Some(format)) if file.changed => {
            let (old, new) = (format.read(before, manner)?, format.read(after, manner)?);
            if let Some(reason) = old.doubt.or(new.doubt) {
                fail(reason);
            }
            if let Err(reason) = pieces::compare((before, &old), (after, &new)) {
                fail(&reason);
            }
            Some(Read { before: Some(old), after: new })
        }
        (_, Some(after), Some(format)) if !file.changed => {
            let after = format.read(after, manner)?;
            if let Some(reason) = after.doubt.filter(|reason| *reason == mdx::UNREAD) {
                fail(reason);
            }
            Some(Read { before: None, after })
        }
        _ => {
            if file.changed {
                fail("only links in files that can be read were to change");
            }
            None
        }
    };
    Ok((file.path.clone(), read, failures))
}

/// Judges the links of a file that did not change.
fn unchanged(tree: &Tree<'_>, path: &RepoPath, document: &Document) -> Result<Tally, Error> {
    let mut tally = Tally::default();
    for found in &document.links {
        let judged = tree.judge(path, found, When::Before)?;
        let is_allowed = is_allowed(tree.params, path, found);
        tally.before(&judged, is_allowed);
        tally.after(&judged, is_allowed, tree.params.unresolved == Unresolved::List, (path, found));
    }
    Ok(tally)
}

/// Judges the links of a changed file, each before and after.
fn changed(
    tree: &Tree<'_>,
    reasons: &Reasons,
    path: &RepoPath,
    (before, after): (&Document, &Document),
) -> Result<Tally, Error> {
    let mut tally = Tally { changed: 1, ..Tally::default() };
    for found in &before.links {
        tally.before(&tree.judge(path, found, When::Before)?, is_allowed(tree.params, path, found));
    }
    for (n, found) in after.links.iter().enumerate() {
        let judged = tree.judge(path, found, When::After)?;
        let is_old = before.links.get(n).is_some_and(|old| old.url == found.url);
        let may_stay = is_old && tree.params.unresolved == Unresolved::List;
        tally.after(&judged, is_allowed(tree.params, path, found), may_stay, (path, found));
    }
    if before.links.len() != after.links.len() {
        let reason = format!("it had {} and has {}", counted(before.links.len(), "link"), after.links.len());
        tally.failures.push(Failure::at(COUNTS_MATCH, path, reason));
        return Ok(tally);
    }
    for (old, new) in before.links.iter().zip(&after.links).filter(|(old, new)| old.url != new.url) {
        let reason = |why: &str| format!("line {}: `{}` became `{}`: {why}", old.line, old.shown(), new.shown());
        let was = tree.judge(path, old, When::Before)?;
        if matches!(was, Judged::Right(_) | Judged::External | Judged::Unknown | Judged::Unsure(_)) {
            tally.failures.push(Failure::at(GOOD_LINKS_KEPT, path, reason("it was not to be touched")));
            continue;
        }
        let is_unsure = matches!(tree.judge(path, new, When::After)?, Judged::Unsure(_));
        let anchor = |url: &[u8]| url.iter().position(|byte| *byte == b'#').map(|at| url[at..].to_vec());
        let is_same = anchor(&old.url) == anchor(&new.url);
        match reasons.explain(tree, &Changed { file: path, old, new })? {
            // An anchor that was in doubt stays so, if more than a name leads to the page.
            Ok(kind) if is_unsure && !(is_same && kind.is_certain()) => {
                tally.failures.push(Failure::at(ANCHORS_EXIST, path, reason("its new anchor is unknown")));
            }
            Ok(kind) => *tally.repairs.entry(kind).or_default() += 1,
            Err(why) => tally.failures.push(Failure::at(REPAIRS_EXPLAINED, path, reason(&why))),
        }
    }
    Ok(tally)
}

/// True if the parameters let a link be broken.
fn is_allowed(params: &Params, path: &RepoPath, found: &Found) -> bool {
    let url = String::from_utf8_lossy(&found.url);
    params.allow_broken.iter().any(|allowed| match allowed {
        Allowed::Everywhere(link) => matches(link, &url),
        Allowed::In(allowed) => matches(&allowed.file, path.as_str()) && matches(&allowed.link, &url),
    })
}

/// True if a text fits a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The known anchors of a page, and whether there may be others.
#[cfg(test)]
pub(super) fn anchors_of(source: &str, dialect: Dialect) -> (std::collections::BTreeSet<String>, bool) {
    let manner = Manner { rules: &rules::Rules::of(dialect), is_located: false, pulse: &|| Ok(()) };
    let document = Format::Markdown.read(source.as_bytes(), manner).expect("nothing stops it");
    (document.anchors, document.is_open)
}

/// The known anchors of a page of MDX, and whether there may be others.
#[cfg(test)]
pub(super) fn anchors_of_mdx(source: &str, dialect: Dialect) -> (std::collections::BTreeSet<String>, bool) {
    let manner = Manner { rules: &rules::Rules::of(dialect), is_located: false, pulse: &|| Ok(()) };
    let document = Format::Mdx.read(source.as_bytes(), manner).expect("nothing stops it");
    (document.anchors, document.is_open)
}

/// The links of a page of MDX with their places; the error is the doubt about it.
#[cfg(test)]
pub(super) fn links_of(source: &str) -> Result<Vec<(usize, String)>, String> {
    let manner = Manner { rules: &rules::Rules::of(Dialect::Github), is_located: true, pulse: &|| Ok(()) };
    let document = Format::Mdx.read(source.as_bytes(), manner).expect("nothing stops it");
    let place = |found: &Found| {
        let start = found.span.as_ref().map_or(usize::MAX, |span| span.start);
        let inside = start.saturating_add(usize::from(source.as_bytes().get(start) == Some(&b'<')));
        (inside, String::from_utf8_lossy(&found.url).into_owned())
    };
    document.doubt.map_or_else(|| Ok(document.links.iter().map(place).collect()), |doubt| Err(doubt.to_owned()))
}

/// The failures of a changed page of MDX, links aside.
#[cfg(test)]
pub(super) fn failures_of(before: &str, after: &str) -> Vec<String> {
    let manner = Manner { rules: &rules::Rules::of(Dialect::Github), is_located: true, pulse: &|| Ok(()) };
    let path = RepoPath::parse("docs/a.mdx").expect("it is a path");
    let bytes = (Some(before.as_bytes()), Some(after.as_bytes()));
    let file = Examined { path: &path, before: bytes.0, after: bytes.1, changed: true };
    let (_, _, failures) = examine(&file, false, manner).expect("nothing stops it");
    failures.into_iter().map(|failure| failure.reason).collect()
}

/// The settings of pages by their sites.
#[cfg(test)]
pub(super) fn settings_of<'p>(
    files: &[RepoPath],
    texts: &dyn Fn(&RepoPath) -> Option<String>,
    pages: impl Iterator<Item = &'p str>,
) -> Vec<crate::contract::Setting> {
    let files = files.iter().map(|path| path.as_str().to_owned()).collect();
    Sites::of(Dialect::Auto, &Entries { files, ..Entries::default() }, texts).expect("nothing stops it").settings(pages)
}

#[cfg(test)]
mod tests;
