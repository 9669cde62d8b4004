//! The calls of a script that a protocol makes.

use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use serde::Serialize;
use serde_json::Value;

use crate::guest::{
    bindings::host::{Host, Reply},
    fault, value,
};
use base::{
    call::Call,
    error::{Code, Error},
};
use flow::Door;

/// The door of a script.
pub(super) struct ScriptDoor<'c, 'r> {
    pub(super) host: &'c Host,
    pub(super) ctx: &'c NativeCallContext<'r>,
}

impl Door for ScriptDoor<'_, '_> {
    fn perform(&mut self, call: Call) -> Result<Value, Error> {
        self.host.answer(self.ctx, call)
    }
}

/// The value that a function of the script returned to a protocol, or the error with which it ended.
pub(super) fn returned(
    host: &Host,
    ctx: &NativeCallContext<'_>,
    outcome: Result<Dynamic, Box<EvalAltResult>>,
) -> Result<Value, Error> {
    outcome.map_or_else(
        |error| {
            let fault = fault::Context { host, engine: ctx.engine(), ast: None, limits: host.limits() };
            let main = ctx.call_source().unwrap_or_default();
            let caught = fault::catch(*error, main, &fault);
            Err(caught.map_or_else(|error| fault::explain(*error, &fault), |(_, explained)| explained))
        },
        |value| value::to_json(&value.flatten()),
    )
}

/// Runs a protocol, and gives its result to the script.
pub(super) fn answer<T: Serialize>(
    host: &Host,
    ctx: &NativeCallContext<'_>,
    protocol: impl FnOnce(&mut dyn Door) -> Result<T, Error>,
) -> Reply {
    let result = protocol(&mut ScriptDoor { host, ctx }).and_then(|result| {
        serde_json::to_value(result)
            .map_err(|error| Error::new(Code::Internal, format!("no reply can be made: {error}")))
    });
    result.map(value::from_json).map_err(|error| host.raise(ctx, error))
}
