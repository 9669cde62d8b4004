//! `nrv.attempt`: two calls around a closure, so that the closure itself never leaves the script's process.

use rhai::{Dynamic, EvalAltResult, FnPtr, Map, NativeCallContext};

use crate::guest::{
    bindings::host::{Host, Reply, terminated},
    fault, thrown,
};
use base::call::Call;

/// Runs a closure; keeps its changes unless it throws or gives `false`.
///
/// An error that a script can't catch passes through: it ends the script, and the host undoes the attempt. An error after which a run
/// waits does the same, since the run goes on from there later.
pub(super) fn attempt(ctx: &NativeCallContext<'_>, host: &Host, closure: &FnPtr) -> Reply {
    host.ask(ctx, Call::AttemptBegin {})?;
    let outcome = closure.call_within_context::<Dynamic>(ctx, ());
    if host.has_ended() {
        return Err(terminated());
    }
    let (value, error) = match outcome {
        Ok(value) => (value.flatten(), Dynamic::UNIT),
        Err(error) => (Dynamic::UNIT, caught(ctx, host, *error)?),
    };
    let keep = error.is_unit() && !value.as_bool().is_ok_and(|value| !value);
    // If undoing fails, the script must not go on.
    host.ask_finally(ctx, Call::AttemptEnd { keep })?;
    Ok(Map::from([("kept".into(), keep.into()), ("value".into(), value), ("error".into(), error)]).into())
}

/// The value that the closure threw, or the engine's error as a map like the host's.
fn caught(ctx: &NativeCallContext<'_>, host: &Host, error: EvalAltResult) -> Reply {
    let fault = fault::Context { host, engine: ctx.engine(), ast: None, limits: host.limits() };
    let main = ctx.call_source().unwrap_or_default();
    let (thrown, explained) = fault::catch(error, main, &fault)?;
    if explained.code().waits() {
        host.end(explained);
        return Err(terminated());
    }
    // A script may throw `()`, which would look like no error at all.
    Ok(thrown.filter(|thrown| !thrown.is_unit()).unwrap_or_else(|| thrown::thrown(&explained)))
}
