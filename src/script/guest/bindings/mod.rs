//! The interface `nrv` of scripts: one file per namespace, and the registry that documentation and checks come from.
//!
//! To add a call: its doc comment with an example in the namespace's `CALLS`, its function in `register`.

mod agent;
mod apply;
mod attempt;
mod code;
mod dag;
mod diff;
mod door;
mod dta;
mod edit;
mod exec;
mod files;
mod gate;
mod host;
mod interface;
mod json;
mod llm;
mod mcp;
mod nrv;
mod planner;
mod prompt;
mod random;
mod run;
mod stream;
mod text;
mod ui;

use rhai::{Dynamic, Engine};

use self::host::Nrv;
pub use self::interface::{Call, Field, HANDLES, Namespace};
pub(super) use self::interface::{fields, registry};
pub(super) use self::{
    host::{Host, Reply},
    interface::receiver_of,
};

/// The call that takes a closure.
pub(super) const ATTEMPT: &str = "nrv.attempt";

/// Every namespace, sorted by receiver.
pub const NAMESPACES: &[Namespace] = &[
    nrv::NAMESPACE,
    agent::NAMESPACE,
    apply::NAMESPACE,
    code::NAMESPACE,
    diff::NAMESPACE,
    dta::NAMESPACE,
    edit::NAMESPACE,
    exec::NAMESPACE,
    files::NAMESPACE,
    gate::NAMESPACE,
    json::NAMESPACE,
    llm::NAMESPACE,
    mcp::NAMESPACE,
    planner::NAMESPACE,
    prompt::NAMESPACE,
    random::NAMESPACE,
    run::NAMESPACE,
    text::NAMESPACE,
    ui::NAMESPACE,
];

/// Every call, sorted by receiver and name.
pub fn calls() -> impl Iterator<Item = &'static Call> {
    NAMESPACES.iter().flat_map(|namespace| namespace.calls)
}

/// The names that can follow a receiver and a dot.
pub(super) fn members(receiver: &str) -> impl Iterator<Item = &'static str> {
    let inner = NAMESPACES.iter().filter_map(move |one| one.receiver.strip_prefix(receiver)?.strip_prefix('.'));
    let calls = calls().filter(move |call| call.receiver == receiver).map(|call| call.name);
    inner.filter(|name| !name.contains(['.', '('])).chain(calls)
}

/// Makes the functions of every namespace known to an engine.
pub(super) fn register(engine: &mut Engine) {
    for namespace in NAMESPACES {
        (namespace.register)(engine);
    }
}

/// Makes the pure namespaces that adapters have known to an engine.
pub(super) fn register_pure(engine: &mut Engine) {
    engine.register_type_with_name::<Nrv>("nrv");
    for namespace in [diff::NAMESPACE, json::NAMESPACE, text::NAMESPACE] {
        (namespace.register)(engine);
    }
}

/// The object `nrv`.
pub(super) fn object(host: &Host) -> Dynamic {
    Dynamic::from(Nrv(host.clone()))
}

#[cfg(test)]
mod tests;
