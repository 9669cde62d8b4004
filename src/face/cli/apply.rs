//! `nrv apply`: plans and patches, told apart by their content, as one change.

use std::fmt::Write;

use owo_colors::OwoColorize;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Here,
    arguments::ApplyArguments,
    output::Output,
    run::{conclude, flags, needs_dry_run},
    terminal::Terminal,
};
use base::{
    call::{Blob, Call, NamedPatch, Strategy},
    error::{Code, Error},
    hash::Sha256,
    text::escape,
};
use host::{Asked, Host, Input, Plan, Position, Request};
use service::apply::{ApplyOutcome, ApplyStatus};

/// The mark with which some editors begin a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The content of the files to apply.
enum Work {
    /// A plan of `nrv plan`.
    Planned(Box<Plan>),
    /// A plan of diffs.
    Diffs(Value),
    /// Patches in their order.
    Patches(Vec<NamedPatch>),
}

pub(super) fn apply(here: &Here, arguments: &ApplyArguments, out: &mut Output) -> Result<u8, Error> {
    let flags = flags(arguments.mutation, false);
    needs_dry_run(arguments.mutation, flags)?;
    let (inputs, work) = read(here, arguments, out)?;
    check(&work, arguments)?;
    if let Work::Planned(plan) = &work
        && !here.context.policy.is_named_by(plan.policy_sha256)
    {
        out.say("The policy differs from that of the plan; the present one applies.");
    }
    let asked = match (&work, inputs.as_slice()) {
        (Work::Planned(_), [plan]) => Asked::Planned { plan: plan.clone() },
        _ => Asked::Patch { inputs },
    };
    let is_planned = matches!(work, Work::Planned(_));
    let call = call(work, arguments);
    let request = Request::apply(&here.context, asked, &call, flags);
    let mut terminal = Terminal::new(here, out)?;
    let mut host = Host::start(&here.context, request, &mut terminal)?;
    let outcome = host.perform(&Position::nth(1), call, &mut terminal);
    let finished = host.finish(outcome, &mut terminal)?;
    drop(terminal);
    tell(&finished.result, out);
    if is_planned && is_done_before(&finished.result) {
        out.say("The plan is applied already: every file is as it says.");
    }
    Ok(conclude(&finished, arguments.mutation, out))
}

/// Reads the files and determines their kind.
fn read(here: &Here, arguments: &ApplyArguments, out: &mut Output) -> Result<(Vec<Input>, Work), Error> {
    let (mut inputs, mut patches) = (Vec::new(), Vec::new());
    for file in &arguments.files {
        let name = file.display().to_string();
        let bytes = here.read_bytes(file)?;
        inputs.push(Input { name: name.clone(), sha256: Sha256::of(&bytes) });
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        if text.trim_ascii_start().first() != Some(&b'{') {
            out.know_patch(&name, &bytes);
            patches.push(NamedPatch { name, diff: Blob::new(bytes) });
            continue;
        }
        if arguments.files.len() > 1 {
            return Err(Error::new(Code::Usage, format!("`{name}` is a plan, which is applied by itself"))
                .hint("give patches only, or one plan only"));
        }
        return Ok((inputs, plan(&name, text)?));
    }
    Ok((inputs, Work::Patches(patches)))
}

fn plan(name: &str, text: &[u8]) -> Result<Work, Error> {
    let document: Value = serde_json::from_slice(text).map_err(|error| {
        Error::new(Code::InvalidInput, format!("`{name}` begins as JSON and is none: {error}"))
            .hint("a plan is one JSON document; a patch does not begin with `{`")
    })?;
    if Plan::is_one(&document) {
        return Ok(Work::Planned(Box::new(Plan::parse(document)?)));
    }
    if document.get("diffs").is_some() {
        return Ok(Work::Diffs(document));
    }
    Err(Error::new(Code::InvalidInput, format!("`{name}` is JSON, and no plan"))
        .hint("a plan is a file of `nrv plan`, or `{\"diffs\": [{\"path\", \"checksum\"?, \"unified_diff\"}]}`"))
}

/// Refuses options that have no meaning for the kind of the files.
fn check(work: &Work, arguments: &ApplyArguments) -> Result<(), Error> {
    let of_patches = [
        ("--line-ends", !arguments.line_ends.is_diff()),
        ("--recount", arguments.recount),
        ("--reverse", arguments.reverse),
        ("--strip", arguments.strip.is_some()),
    ];
    let of_diffs = [("--backup", arguments.backup.is_some()), ("--strict", arguments.strict)];
    let (what, meaningless) = match work {
        Work::Patches(_) => return Ok(()),
        Work::Diffs(_) => ("a plan of diffs", of_patches.to_vec()),
        Work::Planned(_) => ("a plan of `nrv plan`", [&of_patches[..], &of_diffs].concat()),
    };
    match meaningless.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(Error::new(Code::Usage, format!("`{option}` means nothing for {what}")).hint("leave it out"))
        }
        None => Ok(()),
    }
}

fn call(work: Work, arguments: &ApplyArguments) -> Call {
    let strategy = arguments.backup.clone().map_or(Strategy::Write, Strategy::WriteBackup);
    match work {
        Work::Planned(plan) => Call::ApplyPlanned { files: plan.files },
        Work::Diffs(plan) => Call::ApplyPlan { plan, strategy, strict: arguments.strict },
        Work::Patches(patches) => Call::ApplyPatch {
            patches,
            strip: arguments.strip,
            reverse: arguments.reverse,
            recount: arguments.recount,
            strict: arguments.strict,
            strategy,
            line_ends: arguments.line_ends,
        },
    }
}

/// True if there is no step with something to do, and there are steps.
fn is_done_before(result: &Value) -> bool {
    let outcomes = Vec::<ApplyOutcome>::deserialize(result).unwrap_or_default();
    !outcomes.is_empty() && outcomes.iter().all(|outcome| outcome.status == ApplyStatus::Noop)
}

/// Writes a line for each file to stdout, and notes on it to stderr.
pub(super) fn tell(result: &Value, out: &mut Output) {
    if out.is_json() {
        return;
    }
    let outcomes = Vec::<ApplyOutcome>::deserialize(result).unwrap_or_default();
    let lines: String = outcomes.iter().map(|outcome| line(outcome) + "\n").collect();
    out.styled(&lines);
    for outcome in &outcomes {
        for warning in &outcome.warnings {
            out.warn(&format!("{}: {}", escape(&outcome.path), escape(warning)));
        }
    }
}

/// `M path  +3 −1`, with git's letters; `=` is a file that needs no change.
fn line(outcome: &ApplyOutcome) -> String {
    let letter = match (outcome.status, &outcome.from) {
        (ApplyStatus::Noop, _) => "=",
        (ApplyStatus::Applied, Some(_)) if outcome.copied => "C",
        (ApplyStatus::Applied, Some(_)) => "R",
        (ApplyStatus::Applied, None) if outcome.pre_sha256.is_none() => "A",
        (ApplyStatus::Applied, None) if outcome.post_sha256.is_none() => "D",
        (ApplyStatus::Applied, None) => "M",
    };
    let mut line = format!("{letter} ");
    if let Some(from) = &outcome.from {
        let _ = write!(line, "{} → ", escape(from));
    }
    line.push_str(&escape(&outcome.path));
    if outcome.added > 0 {
        let _ = write!(line, "  {}", format!("+{}", outcome.added).green());
    }
    if outcome.removed > 0 {
        let _ = write!(line, "{}{}", if outcome.added > 0 { " " } else { "  " }, format!("−{}", outcome.removed).red());
    }
    if let Some(backup) = &outcome.backup {
        let _ = write!(line, "  (kept as {})", escape(backup));
    }
    line
}
