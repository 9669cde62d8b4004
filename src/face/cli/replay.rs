//! `nrv replay`: replays a run from its record, and reports differences.

use std::fmt::Write as _;

use super::{Here, arguments::ReplayArguments, output::Output, redact, run, table};
use base::{
    error::Error,
    text::{counted, escape},
};
use host::{Difference, Reach, Replayed, RuleAt};
use record::Seal;
use script::Variation;

pub(super) fn replay(here: &Here, arguments: &ReplayArguments, out: &mut Output) -> Result<u8, Error> {
    let policy = match &arguments.policy {
        Some(file) => Some((file.display().to_string(), here.read_input(file)?)),
        None => None,
    };
    let against = match &arguments.against {
        Some(script) => Some(run::load(here, script, out)?.0),
        None => None,
    };
    let replayed = script::replay(&here.context, &arguments.run, Variation { against: against.as_ref(), policy })?;
    redact::know(&replayed.rules);
    out.know_sources(&replayed.sources);
    if out.is_json() {
        out.document(&replayed);
    } else {
        show(&replayed, out);
    }
    if let Some(divergence) = &replayed.divergence {
        out.explain(&divergence.error());
    }
    if !out.is_json()
        && let Some(divergence) = &replayed.divergence
    {
        let diff: Vec<String> = divergence.diff.lines().map(escape).collect();
        diff.iter().for_each(|line| out.line(line));
    }
    sentences(&replayed).iter().for_each(|sentence| out.say(sentence));
    Ok(replayed.exit_code())
}

/// Shows the faults of the record, and the decisions of another policy that differ.
fn show(replayed: &Replayed, out: &mut Output) {
    if !replayed.record.findings.is_empty() {
        out.data(&table::report(&replayed.record));
    }
    for difference in replayed.differences.iter().flatten() {
        out.line(&line(difference));
        difference.rules.iter().for_each(|rule| out.line(&line_of_rule(rule)));
    }
}

/// `3  apply.write  allow → block  scripts/a.rhai:12:5`.
fn line(difference: &Difference) -> String {
    let Difference { position, call, was, would, .. } = difference;
    let mut line = format!("{position:>4} {call}  {} → {}", was.as_str(), would.as_str());
    if let Some(place) = &difference.script {
        let _ = write!(line, "  {}:{}:{}", escape(&place.path), place.line, place.column);
    }
    line
}

/// The deciding rule with its reason and place.
fn line_of_rule(rule: &RuleAt) -> String {
    let RuleAt { gate, rule, reason, source, line: _, more } = rule;
    let mut line = format!("     {gate}, rule `{}`: {}", escape(rule), escape(reason));
    if *more > 0 {
        let _ = write!(line, " (and {more} more like it)");
    }
    if !reason.contains(source.as_str()) {
        let _ = write!(line, " ({})", escape(source));
    }
    line
}

fn sentences(replayed: &Replayed) -> Vec<String> {
    let run = &replayed.run;
    let positions = counted(replayed.positions, "position");
    let mut sentences = Vec::new();
    if replayed.not_judged > 0 {
        let decisions = counted(replayed.not_judged, "decision");
        sentences
            .push(format!("Not judged again: {decisions}, for which the record lacks the contents or the policy."));
    }
    if let Some(differences) = &replayed.differences {
        let blocked = differences.iter().filter(|one| one.blocks()).count();
        let asked = differences.iter().filter(|one| one.asks()).count();
        sentences.push(match differences.len() {
            0 => "Under that policy every decision would be the same.".to_owned(),
            _ => format!("Under that policy {blocked} would be blocked and {asked} asked that were not."),
        });
    }
    if replayed.divergence.is_some() && replayed.version != env!("CARGO_PKG_VERSION") {
        sentences.push(format!("The record was written by nrv {}.", replayed.version));
    }
    sentences.push(match replayed.reach {
        Reach::Damage => format!("The record of run {run} is NOT intact; nothing of it was executed."),
        Reach::Divergence => format!("The replay parts from run {run} after {positions}."),
        Reach::LeftOut => {
            format!("The replay of run {run} ends after {positions}: the rest was left out of the record.")
        }
        Reach::Open | Reach::End if replayed.differences.is_some() => {
            format!("Judged again of run {run}: {positions}.")
        }
        Reach::Open => format!("Run {run} has not come to its end by itself; so far the replay agrees: {positions}."),
        Reach::End => format!("The replay of run {run} agrees: {positions}."),
    });
    if replayed.reach != Reach::Damage && !replayed.is_sound() && replayed.record.seal == Seal::Unsealed {
        sentences.push("The record is unsealed: no head says where it ends.".to_owned());
    }
    sentences
}
