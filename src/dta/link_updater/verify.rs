//! The verifier: measures pages again, by a second parser and the URL standard's own comparison.
//!
//! It takes nothing from the side that makes the change but the wire types of the parameters. Every changed page is parsed
//! before and after; of the others those in which an old host may stand in any spelling.

mod aim;
mod markup;
mod sift;

use self::{
    aim::{Aim, Link},
    markup::Page,
    sift::Sieve,
};
use super::params::Params;
use crate::{
    dta::{
        Context,
        contract::{Counts, Failure, Invocation},
        evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
    },
    error::Error,
};

/// The numbers of the record are those of the pages.
const COUNTS_MATCH: &str = "counts_match";
/// No link is left that should have moved.
const LINKS_TO_UPDATE_ZERO: &str = "links_to_update_zero";
/// Each link is what it was, or went where it should, with its path, query, fragment and user.
const TARGETS_MATCH: &str = "targets_match";

/// What was measured in one page.
#[derive(Debug, Default)]
struct Tally {
    changed: u64,
    links_before: u64,
    links_after: u64,
    moved: u64,
    left: u64,
    failures: Vec<Failure>,
}

/// Measures again, and compares with the record.
pub(super) fn measure(ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
    let aim = Aim::new(&Params::parse(&input.params)?.moves()?)?;
    let sieve = Sieve::new(aim.hosts());
    let skipped = &evidence.baseline.skipped;
    let tallies = evidence.examine(ctx, |page| {
        let left_alone = skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(page.path)).is_ok();
        examine(page, left_alone, &aim, &sieve)
    });
    let mut total = Tally::default();
    for tally in tallies {
        total.changed += tally.changed;
        total.links_before += tally.links_before;
        total.links_after += tally.links_after;
        total.moved += tally.moved;
        total.left += tally.left;
        total.failures.extend(tally.failures);
    }
    total.failures.extend(compare(&total, evidence));
    let counts = [
        ("files", total.changed),
        ("link_updates", total.moved),
        ("links_to_update", total.left),
        ("links_in_changed_files", total.links_after),
    ];
    Ok(Measured {
        checks: vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, TARGETS_MATCH, LINKS_TO_UPDATE_ZERO],
        failures: total.failures,
        counts: counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect(),
        sample_size: 0,
    })
}

fn examine(page: &Examined<'_>, left_alone: bool, aim: &Aim, sieve: &Sieve) -> Tally {
    let fail = |check: &str, reason: &str| Tally {
        failures: vec![Failure::at(check, page.path, reason)],
        changed: u64::from(page.changed),
        ..Tally::default()
    };
    match (page.before, page.after) {
        (Some(before), Some(after)) if page.changed && !left_alone => changed(page, before, after, aim),
        (_, _) if page.changed => fail(NOTHING_ELSE_CHANGED, "only links in pages that can be read were to change"),
        (_, Some(after)) if !left_alone && sieve.may_hold(after) => unchanged(page, after, aim),
        (_, _) => Tally::default(),
    }
}

fn unchanged(page: &Examined<'_>, bytes: &[u8], aim: &Aim) -> Tally {
    let left: Vec<Link> = Page::parse(bytes).links.into_iter().filter(|link| aim.wants(link)).collect();
    let report = |link: &Link| Failure::at(LINKS_TO_UPDATE_ZERO, page.path, format!("`{}` did not move", link.shown()));
    Tally {
        left: left.len() as u64,
        moved: left.len() as u64,
        failures: left.iter().map(report).collect(),
        ..Tally::default()
    }
}

fn changed(page: &Examined<'_>, before: &[u8], after: &[u8], aim: &Aim) -> Tally {
    let (old, new) = (Page::parse(before), Page::parse(after));
    let mut tally = Tally {
        changed: 1,
        links_before: old.links.len() as u64,
        links_after: new.links.len() as u64,
        moved: old.links.iter().filter(|link| aim.wants(link)).count() as u64,
        ..Tally::default()
    };
    if old.rest != new.rest {
        let reason = "something outside its links is different";
        tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, page.path, reason));
    }
    if old.links.len() != new.links.len() {
        let reason = format!("it had {} links and has {}", old.links.len(), new.links.len());
        tally.failures.push(Failure::at(COUNTS_MATCH, page.path, reason));
        // Without pairs nothing tells a link that arrived from one that stayed.
        tally.left = new.links.iter().filter(|link| aim.wants(link)).count() as u64;
        return tally;
    }
    for (old, new) in old.links.iter().zip(&new.links) {
        if let Some(reason) = aim.misses(old, new) {
            let reason = format!("`{}` became `{}`: {reason}", old.shown(), new.shown());
            tally.failures.push(Failure::at(TARGETS_MATCH, page.path, reason));
            if aim.wants(new) {
                tally.left += 1;
                tally.failures.push(Failure::at(
                    LINKS_TO_UPDATE_ZERO,
                    page.path,
                    format!("`{}` is still at an old host", new.shown()),
                ));
            }
        }
    }
    tally
}

fn compare(total: &Tally, evidence: &Evidence<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut same = |what: &str, counts: &Counts, name: &str, measured: u64| {
        let recorded = counts.get(name).copied();
        if recorded != Some(measured) {
            let recorded = recorded.map_or("nothing".to_owned(), |n| n.to_string());
            let reason = format!("{what} says {recorded} for `{name}`, measured are {measured}");
            failures.push(Failure::new(COUNTS_MATCH, reason));
        }
    };
    let (baseline, manifest) = (evidence.baseline, evidence.manifest);
    same("the baseline", &baseline.counts, "links_to_update", total.moved);
    same("the manifest", &manifest.counts, "link_updates", total.moved);
    same("the manifest", &manifest.counts, "files", total.changed);
    same("the manifest", &manifest.counts, "files", manifest.entries.len() as u64);
    same("the baseline", &baseline.counts, "files_skipped", baseline.skipped.len() as u64);
    let read = |path: &str| baseline.files.iter().any(|file| file.path.as_str() == path);
    let read_and_skipped = baseline.skipped.iter().filter(|skipped| read(&skipped.path)).count();
    same("the baseline", &baseline.counts, "files_scanned", (baseline.files.len() - read_and_skipped) as u64);
    let links_total = baseline.counts.get("links_total").copied().unwrap_or(0);
    if links_total < total.links_before {
        let reason = format!(
            "the baseline says {links_total} for `links_total`, changed files alone have {}",
            total.links_before
        );
        failures.push(Failure::new(COUNTS_MATCH, reason));
    }
    failures
}

/// The URLs that the verifier sees in a page, and what it finds wrong with a change of it.
#[cfg(test)]
pub(super) fn links_and_failures_for_tests(
    before: &[u8],
    after: &[u8],
    params: &Params,
) -> (Vec<String>, Vec<Failure>) {
    let aim = Aim::new(&params.moves().expect("the params mean something")).expect("the origins can be parsed");
    let path = crate::path::RepoPath::parse("p.html").expect("it is a path");
    let links = Page::parse(before).links.iter().map(|link| String::from_utf8_lossy(&link.0).into_owned()).collect();
    let page = Examined { path: &path, before: Some(before), after: Some(after), changed: true };
    (links, changed(&page, before, after, &aim).failures)
}
