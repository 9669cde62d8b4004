//! `nrv.run`: the properties, budgets and metrics of the script's own run.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde_json::Value;

use crate::guest::{
    bindings::{
        Field, Namespace, fields,
        host::{Host, Nrv},
        registry,
    },
    value,
};
use base::{
    call::{Call, Violation},
    error::{Code, Error},
    json::Keyed,
};

const BUDGET: &[Field] = fields! {
    calls: "map" = KIND, files: "map" = KIND, diff_lines: "map" = KIND, bytes: "map" = KIND, exec_ms: "map" = KIND, mcp: "map?" = KIND,
    tokens: "map" = KIND, cost_millionths: "map?" = KIND,
};

const KIND: &[Field] = fields! { used: "int", limit: "int", left: "int" };

const METRICS: &[Field] = fields! {
    calls: "int", files_changed: "int", diff_lines: "int", tools: "array",
    attempts: "map" = fields! { kept: "int", undone: "int" }, own: "map",
};

const VIOLATION: &[Field] = fields! { rule: "string", severity: "string?", message: "string", file: "string | ()?" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.run",
    doc: "The run that the script belongs to.",
    calls: registry! {
        "nrv.run";
        /// The budgets of the run, used and left.
        ///
        /// ```rhai
        /// let budget = nrv.run.budget();
        /// ```
        budget() -> "map" = BUDGET;
        /// The run's id.
        ///
        /// ```rhai
        /// print(nrv.run.id);
        /// ```
        id [get] -> "string";
        /// Records a number that the script measured, under a name.
        ///
        /// ```rhai
        /// nrv.run.metric("pages", 120);
        /// ```
        metric(name: "string", value: "int | float") -> "()";
        /// Metrics of the run so far.
        ///
        /// ```rhai
        /// let metrics = nrv.run.metrics();
        /// ```
        metrics() -> "map" = METRICS;
        /// `"dry-run"` or `"apply"`.
        ///
        /// ```rhai
        /// if nrv.run.mode == "dry-run" { print("nothing is written"); }
        /// ```
        mode [get] -> "string";
        /// Records a violation that the script found by itself: `#{rule, severity?, message, file?}`. It stops nothing.
        ///
        /// The violation is shown, stands in the ledger beside those of gates, and counts in `violation-rate` and `nrv runs stats`.
        /// `severity` is `warn` (the default), `require-confirmation` or `block`.
        ///
        /// ```rhai
        /// nrv.run.record_violation(#{ rule: "style/no-inline", message: "a style stands in the tag", file: "a.html" });
        /// ```
        record_violation(violation: "map" = VIOLATION) -> "()";
        /// The run's seed: the number of `--seed`, from 0 to 2^53; 0 without it.
        ///
        /// ```rhai
        /// print(nrv.run.seed);
        /// ```
        seed [get] -> "int";
    },
    register,
};

#[derive(Clone)]
struct Run(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Run>("nrv.run");
    engine.register_get("run", |nrv: &mut Nrv| Run(nrv.0.clone()));
    engine.register_get("id", |this: &mut Run| this.0.run());
    engine.register_get("seed", |this: &mut Run| value::from_json(Value::from(this.0.seed())));
    engine.register_get("mode", |this: &mut Run| this.0.mode().to_owned());
    engine.register_fn("budget", |ctx: NativeCallContext<'_>, this: &mut Run| this.0.call(&ctx, Call::RunBudget {}));
    engine.register_fn("metrics", |ctx: NativeCallContext<'_>, this: &mut Run| this.0.call(&ctx, Call::RunMetrics {}));
    engine.register_fn("metric", |ctx: NativeCallContext<'_>, this: &mut Run, name: &str, value: Dynamic| {
        let value = this.0.json(&ctx, &value)?;
        this.0.call(&ctx, Call::RunMetric { name: name.to_owned(), value })
    });
    engine.register_fn("record_violation", |ctx: NativeCallContext<'_>, this: &mut Run, violation: Dynamic| {
        let violation = this.0.json(&ctx, &violation)?;
        let parsed = serde_json::from_value(violation).map(|Keyed(violation): Keyed<Violation>| violation);
        let violation = parsed.map_err(|error| {
            let error = Error::new(Code::InvalidInput, format!("the violation can't be recorded: {error}"));
            this.0.raise(&ctx, error.hint("its form is `#{rule, severity?, message, file?}`"))
        })?;
        this.0.call(&ctx, Call::RunViolation(violation))
    });
}
