//! A call that a program adds, answered.

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
};

use serde_json::Value;

use crate::{
    call::{
        custom::{CustomCall, CustomContext, Effect, Offer},
        mcp,
    },
    change::pipeline::Pipeline,
};
use base::{
    call::{Call, tool_of_call},
    error::{Code, Error},
    text,
};
use system::schema::Schema;

/// Answers a call that the program adds, or one to an MCP server. What may have an effect is in the record, on the disk, before it is done.
pub(crate) fn custom(pipeline: &mut Pipeline<'_, '_>, call: &Call) -> Result<Value, Error> {
    let (name, params) = match call {
        Call::McpTools { server } => return mcp::tools(pipeline, server),
        Call::Custom { name, params } if tool_of_call(name).is_some() => {
            return mcp::call_tool(pipeline, call, (name, params));
        }
        Call::Custom { name, params } => (name, params),
        _ => return Err(Error::new(Code::Internal, format!("`{}` is served elsewhere", call.name()))),
    };
    let context = pipeline.run.context;
    let Some(Offer { call: custom, schema }) = context.options.calls.find(name) else {
        return Err(Error::new(Code::NotFound, format!("there is no call `{name}`")));
    };
    check(custom, schema, params)?;
    let handler = match (pipeline.run.flags.dry_run, custom.effect == Effect::None, &custom.preview) {
        (false, ..) | (true, true, _) => &custom.handler,
        (true, false, Some(preview)) => preview,
        (true, false, None) => return Err(not_in_a_dry_run(name)),
    };
    let is_preview = pipeline.run.flags.dry_run && custom.effect != Effect::None;
    let demand = custom.demand.as_ref().filter(|_| !is_preview).map(|estimate| estimate(params));
    let demand = demand.unwrap_or_default();
    pipeline.run.budget.reserve(demand)?;
    let spent = Cell::new(demand);
    if !pipeline.run.flags.dry_run && custom.effect != Effect::None {
        pipeline.recorder.note_intent(pipeline.position, call)?;
        pipeline.recorder.sync()?;
        pipeline.tally.acted = true;
    }
    let ctx = CustomContext {
        run: pipeline.recorder.run_id(),
        position: pipeline.position,
        seed: pipeline.run.seed,
        dry_run: pipeline.run.flags.dry_run,
        view: pipeline.draft.view(),
        cancel: pipeline.run.deadline.stop(),
        spent: &spent,
    };
    // A defect of the program's must not keep the run from being undone and its record from being closed.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| handler(params, &ctx))).unwrap_or_else(|panic| {
        let words = text::of_panic(panic.as_ref());
        Err(Error::new(Code::Internal, format!("the call `{name}` panicked: {words}")))
    });
    pipeline.run.budget.settle(demand, spent.get());
    pipeline.turn.reserved.demand = spent.get();
    outcome
}

pub(crate) fn check(custom: &CustomCall, schema: &Schema, params: &Value) -> Result<(), Error> {
    let name = &custom.name;
    schema.check(params).map_err(|error| {
        let wrong = Error::new(Code::InvalidInput, format!("the params of `{name}` are wrong: {error}"))
            .hint(format!("`{name}`: {}", custom.summary));
        error.details().iter().fold(wrong, |wrong, (key, value)| wrong.detail(key, value.clone()))
    })
}

fn not_in_a_dry_run(name: &str) -> Error {
    Error::new(Code::Blocked, format!("`{name}` may have effects outside and is not made in a dry run"))
        .detail("gate", "calls")
        .hint("a script can ask `nrv.run.mode` first; the program can give the call a preview")
}
