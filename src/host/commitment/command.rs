//! A command that has to succeed: judged like any other, run on a view of the tree, and what it changes there is thrown away.

use std::sync::atomic::AtomicBool;

use crate::{
    Context,
    call::{command_output::last_words, exec::recorded_program},
    context::check_stop,
};
use base::{
    call::{Call, Run},
    error::{Code, Error},
};
use gate::{Decision, Rules, Subject};
use record::event::Ran;
use service::{
    assertion::{Command, Verdict},
    exec,
};
use system::{
    journal::{self, Cleared},
    policy::Policy,
    process::sandbox::Ended,
    workspace::View,
};

/// The environment and the limits for the commands of commitments.
pub(super) struct Bench<'a> {
    pub(super) context: &'a Context,
    pub(super) policy: &'a Policy,
    pub(super) rules: &'a Rules,
    pub(super) view: View<'a>,
    pub(super) run: &'a str,
    pub(super) dry_run: bool,
    pub(super) timeout_ms: u64,
    /// True if that is only what is left of the run's budget.
    pub(super) short: bool,
    pub(super) stop: &'a AtomicBool,
}

/// Checks that a command may be run without asking: nobody is there to be asked when it is.
pub(super) fn permitted(context: &Context, policy: &Policy, rules: &Rules, command: &Command) -> Result<(), Error> {
    let call = Call::ExecRun(Box::new(run(command, None)));
    let subject = Subject::Call { call: &call, adapters: &[], calls: &context.options.calls.offered(), tool: None };
    let verdict = gate::decide(&subject, policy, rules);
    let reasons: Vec<String> = verdict.remarks().map(|result| result.reason.clone()).collect();
    match verdict.decision {
        Decision::Allow | Decision::Warn => Ok(()),
        Decision::RequireConfirmation => Err(Error::new(
            Code::PermissionDenied,
            format!(
                "the command of a commitment is run without asking, and this one may not be: {}",
                reasons.join("; ")
            ),
        )
        .hint("commit to a command that needs no confirmation")),
        Decision::Block => Err(verdict
            .into_error()
            .unwrap_or_else(|| Error::new(Code::Blocked, "a gate blocks the command of a commitment"))),
    }
}

fn run(command: &Command, timeout_ms: Option<u64>) -> Run {
    let Command { program, args, cwd, env, status: _ } = command.clone();
    Run { program, args, cwd, env, timeout_ms, ..Run::default() }
}

impl Bench<'_> {
    /// Runs the command and compares its status. An error means that everything has to stop.
    pub(super) fn see(&self, command: &Command) -> Result<Seen, Error> {
        if let Err(error) = permitted(self.context, self.policy, self.rules, command) {
            return Ok(Verdict::fails(error.message()).into());
        }
        self.context.check_trust()?;
        let options = &self.context.options;
        let rule = self.policy.exec_rule(&run(command, None).argv()).ok();
        let ctx = exec::Context {
            view: self.view,
            exec: &self.policy.settings().exec,
            environment: &options.environment,
            supervisor: &options.program,
            run: self.run,
            discard: true,
            from_workspace: rule.as_ref().is_some_and(|rule| rule.from_workspace),
            variables: rule.as_ref().map_or(&[], |rule| &rule.env),
            permitted: &[],
            dry_run: self.dry_run,
            timeout_ms: self.timeout_ms,
            threads: options.threads,
            cancel: self.stop,
            critical: &options.critical,
            output: None,
        };
        let done = exec::prepare(ctx, &run(command, Some(self.timeout_ms))).and_then(|ready| {
            let (program, scratch) = (ready.program().clone(), ready.scratch()?);
            let mut filtered = true;
            let done = ready.run(&mut |confinement| {
                filtered = confinement.filtered;
                Ok(())
            });
            let set_id =
                if filtered { Cleared::default() } else { journal::clear_set_id(&self.context.workspace, &scratch) };
            done.map(|done| (program, done.ended, set_id))
        });
        check_stop(self.stop)?;
        let (program, ended, set_id) = match done {
            Ok(done) => done,
            Err(error) => return Ok(Verdict::fails(format!("it can't be run: {}", error.message())).into()),
        };
        let ran = Some(Ran {
            program: recorded_program(&program),
            confinement: ended.confinement.clone(),
            set_id_cleared: set_id.cleared,
            set_id_left: set_id.left,
        });
        let exceeded = ended.exceeded.map(|bound| {
            let (key, _, what) = exec::bound(&exec::limits(&self.policy.settings().exec), bound);
            Verdict::fails(format!("it took more {what} than `{key}`"))
        });
        let verdict = exceeded.unwrap_or_else(|| self.judge(command, &ended));
        if verdict.ok {
            return Ok(Seen { verdict, output: None, ran });
        }
        Ok(Seen { verdict, output: last_words(&ended, self.rules.secrets()), ran })
    }

    /// How the command ended, against how it has to.
    fn judge(&self, command: &Command, ended: &Ended) -> Verdict {
        match (ended.timed_out, ended.status, ended.signal) {
            (true, ..) if self.short => Verdict::fails("it took what was left of the budget `exec_s`"),
            (true, ..) => Verdict::fails(format!("it took longer than {} ms", self.timeout_ms)),
            (false, Some(status), _) if status == command.status => {
                Verdict::holds(format!("it ended with status {status}"))
            }
            (false, Some(status), _) => {
                Verdict::fails(format!("it ended with status {status}, not {}", command.status))
            }
            (false, None, Some(signal)) => Verdict::fails(format!("signal {signal} ended it")),
            (false, None, None) => Verdict::fails("nobody knows how it ended"),
        }
    }
}

/// The result of checking a commitment.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) verdict: Verdict,
    /// The end of what a command said that failed.
    pub(super) output: Option<String>,
    /// Which program that was, and what confined it.
    pub(super) ran: Option<Ran>,
}

impl From<Verdict> for Seen {
    fn from(verdict: Verdict) -> Self {
        Seen { verdict, output: None, ran: None }
    }
}
