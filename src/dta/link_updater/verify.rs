//! The verifier: measures pages again, by a second parser and the URL standard's own comparison.
//!
//! It takes nothing from the side that makes the change but the wire types of the parameters. Every changed page is parsed
//! before and after; of the others those in which an old host may stand in any spelling.

mod aim;
mod markup;
mod nest;
mod sift;

use self::{
    aim::{Aim, Link},
    markup::{Page, Pulse},
    sift::Sieve,
};
use super::params::Params;
use crate::{
    clock::Stopwatch,
    dta::{
        Context,
        contract::{Counts, Failure, Invocation},
        evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
    },
    error::{Code, Error},
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
    let clock = Stopwatch::start();
    let pulse = || {
        ctx.check_cancelled()?;
        check_time(clock, input.constraints.timeout_ms)
    };
    let tallies = evidence.examine(ctx, |page| {
        pulse()?;
        let left_alone = skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(page.path)).is_ok();
        examine(page, left_alone, (&aim, &sieve), &pulse)
    });
    let mut total = Tally::default();
    for tally in tallies {
        let tally = tally?;
        total.changed += tally.changed;
        total.links_before += tally.links_before;
        total.links_after += tally.links_after;
        total.moved += tally.moved;
        total.left += tally.left;
        total.failures.extend(tally.failures);
    }
    total.failures.extend(compare(&total, evidence));
    let mut counts = vec![
        ("files", total.changed),
        ("link_updates", total.moved),
        ("links_to_update", total.left),
        ("links_in_changed_files", total.links_after),
    ];
    // The hashes of all other files are those of the baseline, so the number of their links is too.
    let elsewhere = evidence.baseline.counts.get("links_total").and_then(|n| n.checked_sub(total.links_before));
    counts.extend(elsewhere.map(|n| ("links_total", n + total.links_after)));
    if let Some(found) = evidence.found() {
        counts.push(("files_scanned", found.read));
        counts.push(("files_skipped", found.skipped));
        counts.push(("files_ignored", found.ignored));
    }
    Ok(Measured {
        checks: vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, TARGETS_MATCH, LINKS_TO_UPDATE_ZERO],
        failures: total.failures,
        counts: counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect(),
        sample_size: 0,
    })
}

fn check_time(clock: Stopwatch, most_ms: u64) -> Result<(), Error> {
    if clock.elapsed_ms() <= most_ms {
        return Ok(());
    }
    Err(Error::new(
        Code::BudgetExhausted,
        format!("measuring the pages took longer than `constraints.timeout_ms` allows ({most_ms} ms)"),
    )
    .detail("timeout_ms", most_ms)
    .hint("raise `constraints.timeout_ms` or narrow `target.glob`"))
}

fn examine(
    page: &Examined<'_>,
    left_alone: bool,
    (aim, sieve): (&Aim, &Sieve),
    pulse: Pulse<'_>,
) -> Result<Tally, Error> {
    let fail = |check: &str, reason: &str| Tally {
        failures: vec![Failure::at(check, page.path, reason)],
        changed: u64::from(page.changed),
        ..Tally::default()
    };
    match (page.before, page.after) {
        (Some(before), Some(after)) if page.changed && !left_alone => {
            let (old, new) = (Page::parse(before, pulse)?, Page::parse(after, pulse)?);
            Ok(changed(page, &old, &new, aim))
        }
        (_, _) if page.changed => Ok(fail(NOTHING_ELSE_CHANGED, "only links in pages that can be read were to change")),
        (_, Some(after)) if !left_alone && sieve.may_hold(after) => {
            Ok(unchanged(page, Page::parse(after, pulse)?.links, aim))
        }
        (_, _) => Ok(Tally::default()),
    }
}

fn unchanged(page: &Examined<'_>, links: Vec<Link>, aim: &Aim) -> Tally {
    let left: Vec<Link> = links.into_iter().filter(|link| aim.wants(link)).collect();
    let report = |link: &Link| Failure::at(LINKS_TO_UPDATE_ZERO, page.path, format!("`{}` did not move", link.shown()));
    Tally {
        left: left.len() as u64,
        moved: left.len() as u64,
        failures: left.iter().map(report).collect(),
        ..Tally::default()
    }
}

fn changed(page: &Examined<'_>, old: &Page, new: &Page, aim: &Aim) -> Tally {
    let mut tally = Tally {
        changed: 1,
        links_before: old.links.len() as u64,
        links_after: new.links.len() as u64,
        moved: old.links.iter().filter(|link| aim.wants(link)).count() as u64,
        ..Tally::default()
    };
    if old.doubtful || new.doubtful {
        let reason = "browsers may see other tags in it, so it was to be left alone";
        tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, page.path, reason));
    }
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
    let read = |bytes| Page::parse(bytes, &|| Ok(())).expect("nothing stops it");
    let (old, new) = (read(before), read(after));
    let links = old.links.iter().map(|link| String::from_utf8_lossy(&link.0).into_owned()).collect();
    let page = Examined { path: &path, before: Some(before), after: Some(after), changed: true };
    (links, changed(&page, &old, &new, &aim).failures)
}

/// Reads a page as far as `pulse` lets it.
#[cfg(test)]
pub(super) fn read_for_tests(bytes: &[u8], pulse: Pulse<'_>) -> Result<(), Error> {
    Page::parse(bytes, pulse).map(|_| ())
}
