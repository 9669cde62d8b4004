//! The calls of a script that a protocol makes.

use rhai::NativeCallContext;
use serde::Serialize;
use serde_json::Value;

use crate::{
    base::{
        call::Call,
        error::{Code, Error},
    },
    flow::Door,
    script::guest::{
        bindings::host::{Host, Reply},
        value,
    },
};

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
