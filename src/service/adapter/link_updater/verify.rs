//! The verifier: measures files again, by other parsers and the URL standard's own comparison.
//!
//! It shares only the wire types of the parameters with the side that makes the change. Every changed file is parsed before and
//! after, and compared byte by byte, except HTML pages that equal this side's own result (`expected_page`). Of the other files
//! it parses those in which an old host may stand in any spelling.

mod byte_comparison;
mod counts;
mod expected_page;
mod expected_target;
mod format;
mod left;
mod prescan;

use std::collections::BTreeMap;

use self::{
    counts::{Samples, Tally},
    expected_target::{Aim, Edit, meaning},
    format::Format,
    left::{OLD_HOSTS_LISTED, Watch},
    prescan::Sieve,
};
use super::params::{Include, Params};
use crate::{
    Context,
    contract::{Failure, Invocation},
    counts::COUNTS_MATCH,
    deadline::Deadline,
    evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
};
use audit::{link::Link, markup, mdx, page::Page};
use base::{error::Error, pulse::Pulse, text::counted};

/// No link remains that should have moved.
const LINKS_TO_UPDATE_ZERO: &str = "links_to_update_zero";
/// Each link stayed, or moved to its target with its path, query, fragment and user.
const TARGETS_MATCH: &str = "targets_match";

/// The objects of the measurement.
struct Measure {
    aim: Aim,
    sieve: Sieve,
    params: Params,
    seed: u64,
}

/// Measures again, and compares with the record.
pub(super) fn measure(ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
    let measure = Measure::new(Params::parse(&input.params)?, input.constraints.seed)?;
    let watch = Watch::new(&measure.aim);
    let skipped = &evidence.baseline.skipped;
    let deadline = Deadline::begin(input, "measuring the files");
    let pulse = || deadline.check(ctx);
    let tallies = evidence.examine(ctx, |file| {
        pulse()?;
        let left_alone = skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(file.path)).is_ok();
        let mut tally = measure.examine(file, left_alone, &pulse)?;
        tally.old_hosts = watch.of_target(file, left_alone);
        Ok::<_, Error>(tally)
    });
    let mut total = Tally::of(None, measure.samples());
    for tally in tallies {
        total.add(tally?);
    }
    let mut failures = std::mem::take(&mut total.failures);
    failures.extend(total.compare(evidence));
    let mut old_hosts = std::mem::take(&mut total.old_hosts);
    watch.elsewhere(ctx, evidence.baseline, &pulse)?.into_iter().for_each(|seen| old_hosts.add(seen));
    let mut counts = total.counts(evidence);
    counts.extend(old_hosts.counts());
    let remarks = old_hosts.compare(evidence.baseline, ctx.is_later, &mut failures);
    Ok(Measured {
        checks: vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, TARGETS_MATCH, LINKS_TO_UPDATE_ZERO, OLD_HOSTS_LISTED],
        failures,
        counts,
        sample_size: 0,
        samples: total.samples.into_urls(),
        remarks,
    })
}

impl Measure {
    fn new(params: Params, seed: u64) -> Result<Self, Error> {
        let aim = Aim::new(&params.moves()?)?;
        let sieve = Sieve::new(aim.hosts());
        Ok(Measure { aim, sieve, params, seed })
    }

    fn samples(&self) -> Samples {
        Samples::new(self.params.http_samples.unwrap_or(0), self.seed)
    }

    fn examine(&self, file: &Examined<'_>, left_alone: bool, pulse: Pulse<'_>) -> Result<Tally, Error> {
        let looked_at = |format: &Format| *format != Format::Json || self.params.includes(Include::Json);
        let format = Format::of(file.path).filter(looked_at).filter(|_| !left_alone);
        let mut tally = Tally::of(format, self.samples());
        tally.changed = u64::from(file.changed);
        match (file.before, file.after, format) {
            (Some(before), Some(after), Some(format)) if file.changed => {
                if format == Format::Html && self.is_twin(before, after, &mut tally, pulse)? {
                    return Ok(tally);
                }
                let old = format.read(before, &self.params, pulse)?;
                let new = format.read(after, &self.params, pulse)?;
                self.changed((file.path, format), (before, &old), (after, &new), &mut tally);
            }
            _ if file.changed => {
                let reason = "only links in files that can be read were to change";
                tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, file.path, reason));
            }
            (_, Some(after), Some(format)) if self.sieve.may_hold(after, format) => {
                let page = format.read(after, &self.params, pulse)?;
                if let Some(reason) = page.doubt.filter(|reason| *reason == mdx::UNREAD) {
                    tally.failures.push(Failure::at(LINKS_TO_UPDATE_ZERO, file.path, reason));
                }
                self.unchanged(file.path, format, &page.links, &mut tally);
            }
            (_, _, _) => {}
        }
        Ok(tally)
    }

    /// True if a page equals this side's own result. Then it has the same links, moved, and nothing else changed.
    fn is_twin(&self, before: &[u8], after: &[u8], tally: &mut Tally, pulse: Pulse<'_>) -> Result<bool, Error> {
        let json_ld = self.params.includes(Include::JsonLd);
        let link_text = self.params.link_text;
        let mut page = Page { json_ld, link_text, is_brief: true, ..Page::default() };
        markup::read(before, pulse, &mut page)?;
        let Some(steps) = expected_page::steps(&page, &self.aim) else { return Ok(false) };
        if !expected_page::is_made_by(&steps, before, after) {
            return Ok(false);
        }
        let links = page.links.len() as u64;
        let part = tally.part(Format::Html);
        (part.links_before, part.links_after, part.moved) = (links, links, steps.len() as u64);
        tally.links_after = links;
        steps.iter().for_each(|step| self.offer(step.old, &step.new, tally));
        Ok(true)
    }

    fn unchanged(&self, path: &str, format: Format, links: &[Link], tally: &mut Tally) {
        for link in links.iter().filter(|link| self.aim.wants(link)) {
            tally.left += 1;
            tally.part(format).moved += 1;
            let reason = format!("`{}` did not move", link.shown());
            tally.failures.push(Failure::at(LINKS_TO_UPDATE_ZERO, path, reason));
        }
    }

    fn changed(
        &self,
        (path, format): (&str, Format),
        (before, old): (&[u8], &Page),
        (after, new): (&[u8], &Page),
        tally: &mut Tally,
    ) {
        let part = tally.part(format);
        part.links_before = old.links.len() as u64;
        part.links_after = new.links.len() as u64;
        part.moved = old.links.iter().filter(|link| self.aim.wants(link)).count() as u64;
        tally.links_after = new.links.len() as u64;
        let mut fail = |check: &str, reason: &str| tally.failures.push(Failure::at(check, path, reason));
        if let Some(reason) = old.doubt.or(new.doubt) {
            fail(NOTHING_ELSE_CHANGED, reason);
        }
        if old.rest != new.rest {
            fail(NOTHING_ELSE_CHANGED, "something outside its links is different");
        }
        if old.links.len() != new.links.len() {
            let reason = format!("it had {} and has {}", counted(old.links.len(), "link"), new.links.len());
            fail(COUNTS_MATCH, &reason);
            // Without pairs, moved links can't be told from those that stayed.
            tally.left = new.links.iter().filter(|link| self.aim.wants(link)).count() as u64;
            return;
        }
        let edits = self.pairs(path, old, new, tally);
        if let Some(at) = byte_comparison::stray(before, after, &edits, format) {
            let reason = format!("it differs at byte {at}, where no link had to change");
            tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, path, reason));
        }
    }

    /// Judges each link; returns the pieces in which the right ones differ, with their numbers.
    fn pairs(&self, path: &str, old: &Page, new: &Page, tally: &mut Tally) -> BTreeMap<Edit, usize> {
        let mut edits = BTreeMap::new();
        for (old, new) in old.links.iter().zip(&new.links) {
            match self.aim.judge(old, new) {
                Ok(pieces) => {
                    pieces.into_iter().for_each(|piece| *edits.entry(piece).or_default() += 1);
                    self.offer(old, new, tally);
                }
                Err(reason) => {
                    let reason = format!("`{}` became `{}`: {reason}", old.shown(), new.shown());
                    tally.failures.push(Failure::at(TARGETS_MATCH, path, reason));
                    if self.aim.wants(new) {
                        tally.left += 1;
                        let reason = format!("`{}` is still at an old host", new.shown());
                        tally.failures.push(Failure::at(LINKS_TO_UPDATE_ZERO, path, reason));
                    }
                }
            }
        }
        edits
    }

    /// A moved link may be probed over the network.
    fn offer(&self, old: &Link, new: &Link, tally: &mut Tally) {
        if !tally.samples.is_off()
            && self.aim.wants(old)
            && let Some(mut url) = meaning(new)
        {
            url.set_fragment(None);
            tally.samples.offer(url.into());
        }
    }
}

/// The URLs that the verifier reads in a page, and its failures for a change of it.
#[cfg(test)]
pub(super) fn links_and_failures_for_tests(
    before: &[u8],
    after: &[u8],
    params: &Params,
) -> (Vec<String>, Vec<Failure>) {
    links_and_failures_of_for_tests("p.html", before, after, params)
}

/// The same of a file of any format.
#[cfg(test)]
pub(super) fn links_and_failures_of_for_tests(
    path: &str,
    before: &[u8],
    after: &[u8],
    params: &Params,
) -> (Vec<String>, Vec<Failure>) {
    let measure = Measure::new(params.clone(), 0).expect("the params mean something");
    let format = Format::of(path).expect("the name says what it is");
    let read = |bytes| format.read(bytes, &measure.params, &|| Ok(())).expect("nothing stops it");
    let (old, new) = (read(before), read(after));
    let links = old.links.iter().map(|link| String::from_utf8_lossy(&link.0).into_owned()).collect();
    let mut tally = Tally::of(Some(format), measure.samples());
    measure.changed((path, format), (before, &old), (after, &new), &mut tally);
    let mut quick = Tally::of(Some(format), measure.samples());
    let is_html = format == Format::Html;
    if is_html && measure.is_twin(before, after, &mut quick, &|| Ok(())).expect("nothing stops it") {
        assert_eq!(format!("{quick:?}"), format!("{tally:?}"), "a look at one page says what a look at both does");
    }
    (links, tally.failures)
}

/// The page that the verifier expects, and its failures once it reads both in full; none if it expects none.
#[cfg(test)]
pub(super) fn twin_and_failures_for_tests(before: &[u8], params: &Params) -> Option<(Vec<u8>, Vec<Failure>)> {
    let measure = Measure::new(params.clone(), 0).expect("the params mean something");
    let mut page = Page { is_brief: true, ..Page::default() };
    markup::read(before, &|| Ok(()), &mut page).expect("nothing stops it");
    let twin = expected_page::made_for_tests(&expected_page::steps(&page, &measure.aim)?, before);
    let (_, failures) = links_and_failures_for_tests(before, &twin, params);
    Some((twin, failures))
}

/// The verifier's failures for an unchanged file.
#[cfg(test)]
pub(super) fn left_for_tests(path: &str, bytes: &[u8], params: &Params) -> Vec<Failure> {
    let measure = Measure::new(params.clone(), 0).expect("the params mean something");
    let path = base::path::RepoPath::parse(path).expect("it is a path");
    let file = Examined { path: &path, before: Some(bytes), after: Some(bytes), changed: false };
    measure.examine(&file, false, &|| Ok(())).expect("nothing stops it").failures
}

/// Reads a page as far as `pulse` lets it.
#[cfg(test)]
pub(super) fn read_for_tests(bytes: &[u8], pulse: Pulse<'_>) -> Result<(), Error> {
    markup::read(bytes, pulse, &mut Page::default())
}
