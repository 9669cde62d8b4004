//! Looking again: the verifiers and commitments of a run that is over, against the tree as it is now. Nothing is recorded.

use std::sync::Arc;

use serde::Serialize;

use super::{
    Maker, Pledge,
    command::{self, Seen},
    hidden,
    outcome::Commitment,
    request,
    verify::SUBCOMMAND,
};
use crate::{
    Context, Started, State, Verified,
    call::verifier::{ask_process, verify_again},
    changed_since,
    life::outcome,
};
use base::{
    error::{Code, Error},
    text::escape,
};
use gate::Rules;
use record::{Record, RunFolder, event::RunEnd};
use service::assertion::{self, Assertion, Verdict};
use system::{clock::Stopwatch, policy::Policy};

/// The result of verifying a run again.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedRun {
    /// The run.
    pub run: String,
    /// True if every verifier passes and every commitment holds.
    pub passed: bool,
    /// Sentences on changes of the run that are not in the tree as the run left them.
    pub remarks: Vec<String>,
    /// The results of the adapters' verifiers.
    pub steps: Vec<Verified>,
    /// The commitments, each with its new result.
    pub commitments: Vec<Commitment>,
}

/// Runs the verifiers of a run that is over again, and looks at all of its commitments, against the tree as it is now.
///
/// `invalid_input` if the run has not come to its end.
pub fn verify_run(context: &Context, folder: &RunFolder) -> Result<VerifiedRun, Error> {
    let overview = outcome::overview(context, folder)?;
    let open = ["running", State::Suspended.as_str(), State::Interrupted.as_str()];
    if open.contains(&overview.state.as_str()) {
        let message = format!("run `{}` is {}: it has not come to its end", folder.id(), overview.state);
        return Err(Error::new(Code::InvalidInput, message)
            .detail("state", overview.state)
            .hint("its commitments are looked at when it ends"));
    }
    let records = folder.readable_records()?;
    let steps = verify_again(context, folder)?;
    let commitments = Again::of(context, folder)?.look(&records)?;
    let passed = steps.iter().all(|step| step.verifier.passed) && commitments.iter().all(|one| one.ok == Some(true));
    let remarks = remarks(context, folder, &records, overview.mode == "dry-run");
    Ok(VerifiedRun { run: folder.id().to_owned(), passed, remarks, steps, commitments })
}

/// Returns sentences on changes of the run that are not in the tree as the run left them.
fn remarks(context: &Context, folder: &RunFolder, records: &[Record], dry_run: bool) -> Vec<String> {
    if dry_run {
        return vec!["It was a dry run: what it proposed is not in the tree.".to_owned()];
    }
    let end = records.iter().rev().find_map(|record| record.event.run_finished());
    if end.is_some_and(RunEnd::was_undone) {
        return vec!["The run was undone: what it changed is not in the tree.".to_owned()];
    }
    let changed = changed_since(context, folder);
    let more = changed.len().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    changed.first().map(|first| format!("`{}`{more} is not as the run left it.", escape(first))).into_iter().collect()
}

/// With what commitments are looked at again. The stricter of the recorded policy and that of now counts.
struct Again<'a> {
    context: &'a Context,
    folder: &'a RunFolder,
    policy: Policy,
    rules: Arc<Rules>,
}

impl<'a> Again<'a> {
    fn of(context: &'a Context, folder: &'a RunFolder) -> Result<Self, Error> {
        let policy = Policy::strictest(&Started::load(folder)?.policy()?, &context.policy)?;
        let rules = Arc::new(Rules::of(&policy)?);
        Ok(Again { context, folder, policy, rules })
    }

    fn look(&self, records: &[Record]) -> Result<Vec<Commitment>, Error> {
        let pack = self.folder.pack()?;
        let mut all = Vec::new();
        for made in records.iter().filter_map(|record| record.event.commitment_made()) {
            let watch = Stopwatch::start();
            let (told, seen) = match Pledge::of(made, &pack) {
                Ok(pledge) => (pledge.told.clone(), self.see(&pledge)?),
                // What an export left out can't be compared with.
                Err(error) => {
                    let seen = Verdict::fails(format!("it can't be told: {}", error.message()));
                    (Commitment::made(made), seen.into())
                }
            };
            let Seen { verdict: Verdict { ok, reason }, output, ran: _ } = seen;
            let duration_ms = Some(watch.elapsed_ms());
            all.push(Commitment { ok: Some(ok), reason: Some(reason), output, duration_ms, ..told });
        }
        Ok(all)
    }

    fn see(&self, pledge: &Pledge) -> Result<Seen, Error> {
        let Again { context, folder, policy, rules } = self;
        let (source, stop) = (pledge.told.source, context.options.cancel.as_ref());
        let timeout_ms = pledge.timeout_ms(policy);
        let (policy, rules) = match source {
            Maker::Policy => (&context.policy, context.rules.as_ref()),
            Maker::Plan | Maker::Program | Maker::Script => (policy, rules.as_ref()),
        };
        match assertion::parse(&pledge.assertion)? {
            Assertion::Command(command) => {
                let (view, run) = (context.view(), folder.id());
                command::Bench { context, policy, rules, view, run, dry_run: false, timeout_ms, short: false, stop }
                    .see(&command)
            }
            Assertion::FileExists(_) | Assertion::Count(_) | Assertion::JsonValid(_) | Assertion::TreeUnchanged(_) => {
                let request = || Ok(request(context, folder, pledge, hidden(source, policy)));
                Ok(ask_process(context, SUBCOMMAND, request, timeout_ms, stop)?.unwrap_or_else(Verdict::fails).into())
            }
        }
    }
}
