//! `nrv.apply`: changes of text that no adapter makes; the only way to write files freely.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde::Deserialize;
use serde_json::Value;

use crate::guest::bindings::{
    Field, Namespace,
    agent::COMMITMENT,
    fields,
    host::{Host, Nrv},
    registry,
};
use base::{
    call::{Call, LineEnds, Strategy},
    error::{Code, Error},
    json::Keyed,
};

const DIFF: &[Field] = fields! {
    path: "string", unified_diff: "string | ()?", unified_diff_b64: "string | ()?", checksum: "string | ()?",
    strategy: "string | map | ()?" = STRATEGY, line_ends: "string | ()?",
};

const STRATEGY: &[Field] = fields! { write_backup: "string" };

/// The fields of a plan for `nrv.apply.plan`.
pub(super) const PLAN: &[Field] = fields! {
    diffs: "array" = DIFF_OF_PLAN, post: "map?" = POST, commitments: "array?" = COMMITMENT,
};

const DIFF_OF_PLAN: &[Field] = fields! {
    path: "string", unified_diff: "string | ()?", unified_diff_b64: "string | ()?", checksum: "string | ()?",
    line_ends: "string | ()?",
};

const POST: &[Field] =
    fields! { commands: "array?" = fields! { program: "string", args: "array?", timeout_ms: "int | ()?" } };

const OUTCOME: &[Field] = fields! {
    path: "string", from: "string?", copied: "bool?", status: "string", written: "bool", hunks: "array" = HUNK,
    added: "int", removed: "int", pre_sha256: "string | ()", post_sha256: "string | ()", backup: "string?",
    warnings: "array",
};

const HUNK: &[Field] = fields! { header_line: "int", line: "int", offset: "int" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.apply",
    doc: "Changes of text, all or none, within the header's `permissions.write`. A checksum is the hash that a file must have, as `nrv.files.sha256` returns it. Each call returns its outcome, with the `status` `applied` or `noop`.",
    calls: registry! {
        "nrv.apply";
        /// Creates a file; there must be none at the path.
        ///
        /// ```rhai
        /// nrv.apply.create("docs/new.md", "# New\n");
        /// ```
        create(path: "string", text: "string") -> "map" = OUTCOME;
        /// Applies one unified diff to one file: `#{path, unified_diff, checksum, strategy, line_ends}`; the last three may be left out.
        ///
        /// The diff's headers name the file. With a checksum the hunks apply exactly at their line numbers. Without one a hunk may have
        /// moved if its context is at one place only; `warnings` says so. `strategy` is `"dry-run"` (the default), `"write"`
        /// or `#{write_backup: ".bak"}`. A diff that is not UTF-8 comes as `unified_diff_b64`. With `line_ends` as `"file"` its lines get
        /// the line ends of the file, which must not mix them; with `"diff"` (the default) they keep their own.
        ///
        /// ```rhai
        /// let diff = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-old\n+new\n";
        /// nrv.apply.diff(#{ path: "notes.txt", unified_diff: diff, strategy: "write" });
        /// ```
        diff(request: "map" = DIFF) -> "map" = OUTCOME;
        /// Applies the diffs of a plan in their order, all or none, and returns a list of outcomes. Several diffs of one file compose.
        ///
        /// The plan is `#{diffs: [#{path, checksum, unified_diff, line_ends}], post: #{commands: []}, commitments: []}`; `checksum`,
        /// `line_ends`, `post` and `commitments` may be left out. Commands are not run; commitments are made, as by `nrv.commit`. The strategy is one of those
        /// of `diff`; `()` is a dry run.
        ///
        /// ```rhai
        /// let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
        /// nrv.apply.plan(#{ diffs: [#{ path: "new.txt", unified_diff: diff }] }, "write");
        /// ```
        plan(plan: "map" = PLAN, strategy: "string | map | ()" = STRATEGY) -> "array" = OUTCOME;
        /// Removes a file.
        ///
        /// ```rhai
        /// nrv.apply.remove("notes.txt", nrv.files.sha256("notes.txt"));
        /// ```
        remove(path: "string", checksum: "string") -> "map" = OUTCOME;
        /// Renames a file; there must be nothing at the new path.
        ///
        /// ```rhai
        /// nrv.apply.rename("notes.txt", "old/notes.txt", nrv.files.sha256("notes.txt"));
        /// ```
        rename(from: "string", to: "string", checksum: "string") -> "map" = OUTCOME;
        /// Replaces the whole text of a file.
        ///
        /// ```rhai
        /// nrv.apply.write("notes.txt", "new\n", nrv.files.sha256("notes.txt"));
        /// ```
        write(path: "string", text: "string", checksum: "string") -> "map" = OUTCOME;
    },
    register,
};

#[derive(Clone)]
struct Apply(Host);

/// The argument of `nrv.apply.diff`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Diff {
    path: String,
    unified_diff: Option<String>,
    unified_diff_b64: Option<String>,
    checksum: Option<String>,
    strategy: Option<Value>,
    line_ends: Option<LineEnds>,
}

impl Diff {
    fn call(request: Value) -> Result<Call, Error> {
        let Keyed(request): Keyed<Diff> = serde_json::from_value(request).map_err(|error| {
            Error::new(Code::InvalidInput, format!("the diff can't be applied: {error}")).hint(
                "its form is `#{path, unified_diff, checksum, strategy, line_ends}`; the last three may be left out",
            )
        })?;
        let Diff { path, unified_diff, unified_diff_b64, checksum, strategy, line_ends } = request;
        let strategy = self::strategy(strategy.unwrap_or_default())?;
        let line_ends = line_ends.unwrap_or_default();
        Ok(Call::ApplyDiff { path, unified_diff, unified_diff_b64, checksum, strategy, line_ends })
    }
}

/// Every strategy, as a script writes it.
const STRATEGIES: &str = "`\"dry-run\"`, `\"write\"` and `#{write_backup: \".bak\"}`";

fn strategy(value: Value) -> Result<Strategy, Error> {
    if value.is_null() {
        return Ok(Strategy::default());
    }
    serde_json::from_value(value.clone()).map_err(|_| {
        Error::new(Code::InvalidInput, format!("{value} is no strategy: there are {STRATEGIES}"))
            .hint("without a strategy it is a dry run")
    })
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Apply>("nrv.apply");
    engine.register_get("apply", |nrv: &mut Nrv| Apply(nrv.0.clone()));
    engine.register_fn("create", |ctx: NativeCallContext<'_>, this: &mut Apply, path: &str, text: &str| {
        this.0.call(&ctx, Call::ApplyCreate { path: path.to_owned(), text: text.to_owned() })
    });
    engine.register_fn("diff", |ctx: NativeCallContext<'_>, this: &mut Apply, request: Dynamic| {
        let request = this.0.json(&ctx, &request)?;
        let call = Diff::call(request).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, call)
    });
    engine.register_fn("plan", |ctx: NativeCallContext<'_>, this: &mut Apply, plan: Dynamic, how: Dynamic| {
        let (plan, how) = (this.0.json(&ctx, &plan)?, this.0.json(&ctx, &how)?);
        let strategy = strategy(how).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, Call::ApplyPlan { plan, strategy, strict: false })
    });
    engine.register_fn("remove", |ctx: NativeCallContext<'_>, this: &mut Apply, path: &str, checksum: &str| {
        this.0.call(&ctx, Call::ApplyRemove { path: path.to_owned(), checksum: checksum.to_owned() })
    });
    engine.register_fn(
        "rename",
        |ctx: NativeCallContext<'_>, this: &mut Apply, from: &str, to: &str, checksum: &str| {
            let (from, to) = (from.to_owned(), to.to_owned());
            this.0.call(&ctx, Call::ApplyRename { from, to, checksum: checksum.to_owned() })
        },
    );
    engine.register_fn(
        "write",
        |ctx: NativeCallContext<'_>, this: &mut Apply, path: &str, text: &str, checksum: &str| {
            let (path, text) = (path.to_owned(), text.to_owned());
            this.0.call(&ctx, Call::ApplyWrite { path, text, checksum: checksum.to_owned() })
        },
    );
}
