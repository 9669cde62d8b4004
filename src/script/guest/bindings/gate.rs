//! `nrv.gate`: verdicts of the gates, approvals and policy assertions.

use rhai::{Array, Dynamic, Engine, NativeCallContext};

use crate::guest::bindings::{
    Field, Namespace, fields,
    host::{Host, Nrv},
    registry,
};
use base::{
    call::{Call, Command},
    error::{Code, Error},
};

const VERDICT: &[Field] =
    fields! { decision: "string", results: "array" = RESULT, code: "string?", permitted: "bool?" };

const RESULT: &[Field] = fields! {
    decision: "string", gate_name: "string", reason: "string", triggered_rules: "array", remediation: "string | ()",
    config_sha256: "string", input_sha256: "string",
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.gate",
    doc: "Verdicts of the gates, approvals and policy assertions. A block by a gate can't be caught.",
    calls: registry! {
        "nrv.gate";
        /// Asks for approval of a subject, and of nothing else: `#{subject, by}`. Without an answer of a person or the policy, the run is suspended.
        ///
        /// ```rhai
        /// nrv.gate.confirm("publish the list", #{ files: 3 });
        /// ```
        confirm(label: "string", subject: "any") -> "map" = fields! { subject: "string", by: "string" };
        /// Evaluates a command against the gates without running it: `#{decision, results}`.
        ///
        /// An array is a program and its arguments; a string is a command line of a shell. `decision` is `allow`, `warn`,
        /// `require-confirmation` or `block`. For an array, `permitted` is true if `nrv.exec` may run it: the policy and the header
        /// allow it, and the policy is trusted.
        ///
        /// ```rhai
        /// let said = nrv.gate.evaluate_command(["rm", "-rf", "dist"]);
        /// ```
        evaluate_command(command: "array | string") -> "map" = VERDICT;
        /// Evaluates a file's new content against the gates without writing it: `#{decision, results}`.
        ///
        /// The host counts the changed lines itself; `diff_lines` can only raise the count.
        ///
        /// ```rhai
        /// let said = nrv.gate.evaluate_edit("docs/a.md", "# A\n", 1);
        /// ```
        evaluate_edit(path: "string", content: "string", diff_lines: "int") -> "map" = VERDICT;
        /// Evaluates the use of a tool against the gates without using it: `#{decision, results}`.
        ///
        /// The gates judge the tool's name, and the commands, edits and texts in its params.
        ///
        /// ```rhai
        /// let said = nrv.gate.evaluate_tool_use("Bash", #{ command: "git status" });
        /// ```
        evaluate_tool_use(tool: "string", params: "any") -> "map" = VERDICT;
        /// Blocks the run if the condition is false; the assertion is recorded.
        ///
        /// ```rhai
        /// nrv.gate.require(nrv.files.exists("site"), "there must be a site");
        /// ```
        require(condition: "bool", message: "string") -> "()";
    },
    register,
};

#[derive(Clone)]
struct Gate(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Gate>("nrv.gate");
    engine.register_get("gate", |nrv: &mut Nrv| Gate(nrv.0.clone()));
    engine.register_fn("confirm", |ctx: NativeCallContext<'_>, this: &mut Gate, label: &str, subject: Dynamic| {
        let subject = this.0.json(&ctx, &subject)?;
        this.0.call(&ctx, Call::GateConfirm { label: label.to_owned(), subject })
    });
    engine.register_fn("evaluate_command", |ctx: NativeCallContext<'_>, this: &mut Gate, command: &str| {
        this.0.call(&ctx, Call::GateEvaluateCommand { command: Command::Line(command.to_owned()) })
    });
    engine.register_fn("evaluate_command", |ctx: NativeCallContext<'_>, this: &mut Gate, command: Array| {
        let words = command.iter().map(|word| word.clone().into_string());
        let argv = words.collect::<Result<Vec<_>, _>>().map_err(|kind| {
            let message = format!("a command is a list of strings, and this one holds a value of type `{kind}`");
            this.0.raise(&ctx, Error::new(Code::InvalidInput, message))
        })?;
        this.0.call(&ctx, Call::GateEvaluateCommand { command: Command::Argv(argv) })
    });
    engine.register_fn(
        "evaluate_edit",
        |ctx: NativeCallContext<'_>, this: &mut Gate, path: &str, content: &str, diff_lines: i64| {
            let (path, content) = (path.to_owned(), content.to_owned());
            let diff_lines = u64::try_from(diff_lines).unwrap_or_default();
            this.0.call(&ctx, Call::GateEvaluateEdit { path, content, diff_lines })
        },
    );
    engine.register_fn(
        "evaluate_tool_use",
        |ctx: NativeCallContext<'_>, this: &mut Gate, tool: &str, params: Dynamic| {
            let params = this.0.json(&ctx, &params)?;
            this.0.call(&ctx, Call::GateEvaluateToolUse { tool: tool.to_owned(), params })
        },
    );
    engine.register_fn("require", |ctx: NativeCallContext<'_>, this: &mut Gate, condition: bool, message: &str| {
        this.0.call(&ctx, Call::GateRequire { condition, message: message.to_owned() })
    });
}
