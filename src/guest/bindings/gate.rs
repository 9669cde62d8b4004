//! `nrv.gate`: approvals and policy assertions.

use rhai::{Dynamic, Engine, NativeCallContext};

use crate::{
    call::Call,
    guest::bindings::{
        Namespace,
        host::{Host, Nrv},
        registry,
    },
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.gate",
    doc: "Approvals and policy assertions. What a gate blocks can't be caught.",
    calls: registry! {
        "nrv.gate";
        /// Asks for approval of a subject, and of nothing else; without a person or a policy that answers, the run is suspended. Gives `#{subject, by}`.
        ///
        /// ```rhai
        /// nrv.gate.confirm("publish the list", #{ files: 3 });
        /// ```
        confirm(label: "string", subject: "any") -> "map";
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
    engine.register_fn("require", |ctx: NativeCallContext<'_>, this: &mut Gate, condition: bool, message: &str| {
        this.0.call(&ctx, Call::GateRequire { condition, message: message.to_owned() })
    });
}
