//! `nrv.ui`: the output for a person while a script runs.

use rhai::{Array, Dynamic, Engine, NativeCallContext};

use crate::guest::bindings::{
    Namespace,
    host::{Host, Nrv},
    registry,
};
use base::{
    call::Call,
    error::{Code, Error},
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.ui",
    doc: "Output for a person while the script runs. Tables and values go to stdout as text, a value that is no text as JSON; programs read `--events` instead. Steps, \
          progress and prints go to stderr. `print(value)` is for notes: a text is cut off after 1 MiB, and a script that prints more than 16 MiB in all is stopped (`script_limit`).",
    calls: registry! {
        "nrv.ui";
        /// Starts a progress bar of `total` steps.
        ///
        /// ```rhai
        /// nrv.ui.progress("pages", 120);
        /// ```
        progress(label: "string", total: "int") -> "()";
        /// Shows a value, a proposal, an adapter's output, a file or a model's reply.
        ///
        /// The path of a readable file shows the file, marked with its hash. A reply of `nrv.llm.complete` shows its text, marked with the
        /// model. Both are shown byte for byte, but a terminal gets control characters escaped.
        ///
        /// ```rhai
        /// nrv.ui.show(#{ pages: 120 });
        /// ```
        show(value: "any") -> "()";
        /// Announces the step that begins.
        ///
        /// ```rhai
        /// nrv.ui.step("collect the pages");
        /// ```
        step(label: "string") -> "()";
        /// Shows maps with the same keys as a table.
        ///
        /// The columns are sorted by name.
        ///
        /// ```rhai
        /// nrv.ui.table([#{ page: "a.html", links: 3 }]);
        /// ```
        table(rows: "array") -> "()";
    },
    register,
};

#[derive(Clone)]
struct Ui(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Ui>("nrv.ui");
    engine.register_get("ui", |nrv: &mut Nrv| Ui(nrv.0.clone()));
    engine.register_fn("progress", |ctx: NativeCallContext<'_>, this: &mut Ui, label: &str, total: i64| {
        let negative = |_| this.0.raise(&ctx, Error::new(Code::InvalidInput, format!("`total` is negative: {total}")));
        let total = u64::try_from(total).map_err(negative)?;
        this.0.call(&ctx, Call::UiProgress { label: label.to_owned(), total })
    });
    engine.register_fn("show", |ctx: NativeCallContext<'_>, this: &mut Ui, value: Dynamic| {
        let value = this.0.json(&ctx, &value)?;
        // The host's reply is for the record.
        this.0.ask(&ctx, Call::UiShow { value }).map(drop)
    });
    engine.register_fn("step", |ctx: NativeCallContext<'_>, this: &mut Ui, label: &str| {
        this.0.call(&ctx, Call::UiStep { label: label.to_owned() })
    });
    engine.register_fn("table", |ctx: NativeCallContext<'_>, this: &mut Ui, rows: Array| {
        let rows = rows.iter().map(|row| this.0.json(&ctx, row)).collect::<Result<_, _>>()?;
        this.0.call(&ctx, Call::UiTable { rows })
    });
}
