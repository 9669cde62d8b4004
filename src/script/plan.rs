//! The script of a plan: `nrv dag run` runs one that nrv has, with the plan as its argument.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Loaded, Loader, Rejected, load,
    run::{origin, read_source},
};
use base::{error::Error, path::RepoPath};
use host::Context;

/// The script.
const SCRIPT: &str = include_str!("plan.rhai");

/// Its path in records, which is that of no file.
const PATH: &str = "std/dag.rhai";

/// The permission to write in it.
const WRITE: &str = "[\"**\"]";

/// Loads the script that runs a plan. Its header permits to write files that match the globs, and no others.
pub fn load_plan(context: &Context, writes: &BTreeSet<String>) -> Result<Loaded, Rejected> {
    let text = SCRIPT.replacen(WRITE, &json!(writes).to_string(), 1);
    let loader = Loader {
        origin: origin(context),
        limits: &context.policy.settings().script.limits,
        read: &|path| if path.as_str() == PATH { Ok(text.clone()) } else { read_source(context, path) },
        stop: &|| context.cancelled(),
    };
    let rejected = |error: Error| Rejected { errors: vec![error], ..Rejected::default() };
    load(&loader, &RepoPath::parse(PATH).map_err(rejected)?)
}
