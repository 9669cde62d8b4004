//! `nrv.exec`: programs that a script runs, without a shell, on a view of the tree.

use rhai::{Array, Dynamic, Engine, NativeCallContext};
use serde_json::{Value, json};

use crate::guest::{
    bindings::{
        Field, Namespace, fields,
        host::{Host, Nrv, Reply},
        registry,
    },
    value,
};
use base::{
    call::{Call, Run},
    error::{Code, Error},
    json::Keyed,
};

const COMMAND: &[Field] = fields! {
    program: "string", args: "array?", cwd: "string | ()?", env: "map?", timeout_ms: "int | ()?", stdin: "string | ()?",
    writes: "array?", test: "bool?", confirm: "string | ()?",
};

const OUTCOME: &[Field] = fields! {
    status: "int | ()", signal: "int | ()", stdout: "string", stderr: "string", truncated: "bool", timed_out: "bool",
    changed: "array", duration_ms: "int", cpu_ms: "int", peak_bytes: "int",
};

const VERIFIED: &[Field] = fields! {
    ok: "bool",
    outcomes: "array" = fields! {
        command: "array", status: "int | ()", error: "map?", signal: "int | ()?", stdout: "string?", stderr: "string?",
        truncated: "bool?", timed_out: "bool?", changed: "array?", duration_ms: "int?", cpu_ms: "int?",
        peak_bytes: "int?",
    },
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.exec",
    doc: "Programs, run without a shell on a view of the tree. A command is `#{program, args, cwd, env, timeout_ms, stdin, writes, test, confirm}`; only `program` is required. `[[exec.allow]]` of the policy and `permissions.exec` of the header have to allow it. It never writes the tree itself. Its changes in the view that match the globs `writes` are judged and made like any other change, and a change anywhere else is an error. `test: true` marks a test, whose failure is reported at the end of the run. With `confirm: LABEL` its changes are made only when somebody has confirmed them; where nobody can be asked the run is suspended before they are made.",
    calls: registry! {
        "nrv.exec";
        /// Runs a command that has to succeed.
        ///
        /// As `run`, but a status other than 0 is the error `command_failed`, and none of the command's changes are kept.
        ///
        /// ```rhai
        /// nrv.exec.check(#{ program: "cargo", args: ["check"] });
        /// ```
        check(command: "map" = COMMAND) -> "map" = OUTCOME;
        /// Runs a command: `#{status, signal, stdout, stderr, truncated, timed_out, changed, duration_ms, cpu_ms, peak_bytes}`.
        ///
        /// `status` is `()` if a signal ended the command, and `changed` lists the files that it changed. Its changes are kept whatever
        /// its status, unless a signal ended it or it ran out of time. Long output is cut to its head and tail.
        ///
        /// ```rhai
        /// let formatted = nrv.exec.run(#{ program: "cargo", args: ["fmt"], writes: ["**/*.rs"] });
        /// ```
        run(command: "map" = COMMAND) -> "map" = OUTCOME;
        /// Runs all commands and reports each: `#{ok, outcomes}`, where `ok` is true if each ended with status 0.
        ///
        /// An outcome is that of `run`, with the `command`. A command that could not be run has an `error` and no status.
        ///
        /// ```rhai
        /// let verified = nrv.exec.verify([#{ program: "cargo", args: ["check"] }, #{ program: "cargo", args: ["test"], test: true }]);
        /// ```
        verify(commands: "array" = COMMAND) -> "map" = VERIFIED;
    },
    register,
};

#[derive(Clone)]
struct Exec(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Exec>("nrv.exec");
    engine.register_get("exec", |nrv: &mut Nrv| Exec(nrv.0.clone()));
    engine.register_fn("run", |ctx: NativeCallContext<'_>, this: &mut Exec, command: Dynamic| {
        let run = this.command(&ctx, &command)?;
        this.0.call(&ctx, Call::ExecRun(Box::new(run)))
    });
    engine.register_fn("check", |ctx: NativeCallContext<'_>, this: &mut Exec, command: Dynamic| {
        let run = Run { check: true, ..this.command(&ctx, &command)? };
        this.0.call(&ctx, Call::ExecRun(Box::new(run)))
    });
    engine.register_fn("verify", |ctx: NativeCallContext<'_>, this: &mut Exec, commands: Array| -> Reply {
        let runs = commands.iter().map(|command| this.command(&ctx, command)).collect::<Result<Vec<_>, _>>()?;
        let outcomes = runs.into_iter().map(|run| this.outcome(&ctx, run)).collect::<Result<Vec<_>, _>>()?;
        let ok = outcomes.iter().all(|outcome| outcome["status"] == 0);
        Ok(value::from_json(json!({"ok": ok, "outcomes": outcomes})))
    });
}

impl Exec {
    fn command(&self, ctx: &NativeCallContext<'_>, command: &Dynamic) -> Result<Run, Box<rhai::EvalAltResult>> {
        let command = self.0.json(ctx, command)?;
        let parsed = serde_json::from_value(command).map(|Keyed(run): Keyed<Run>| run);
        parsed.map_err(|error| {
            let hint = "its form is `#{program, args, cwd, env, timeout_ms, stdin, writes, test, confirm}`; only `program` must be there";
            let error = Error::new(Code::InvalidInput, format!("the command can't be run: {error}"));
            self.0.raise(ctx, error.hint(hint))
        })
    }

    /// The outcome of one of several commands; only a failure that ends the script is an error.
    fn outcome(&self, ctx: &NativeCallContext<'_>, run: Run) -> Result<Value, Box<rhai::EvalAltResult>> {
        let argv = run.argv();
        let mut outcome = match self.0.try_ask(ctx, Call::ExecRun(Box::new(run)))? {
            Ok(reply) => reply,
            Err(error) => json!({"error": error, "status": null}),
        };
        outcome["command"] = json!(argv);
        Ok(outcome)
    }
}
