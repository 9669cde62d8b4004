//! `nrv.dag`: a graph of nodes, of which those with functions never leave the script's process.

use std::collections::BTreeMap;

use rhai::{Array, Dynamic, EvalAltResult, FnPtr, NativeCallContext};
use serde::Deserialize;
use serde_json::Value;

use crate::guest::bindings::{
    Field,
    agent::SUMMON,
    door, fields,
    host::{Host, Reply},
};
use base::{
    call::Node,
    error::{Code, Error},
    json::Keyed,
};
use flow::graph::{self, Functions, Graph};

pub(super) const NODE: &[Field] = fields! {
    id: "string", after: "array?", needs: "string?", parallelizable: "bool?", dta: "string | ()?", edit: "string | ()?",
    exec: "array | ()?", gate: "string | ()?", agent: "map | ()?" = SUMMON, script: "function?", input: "map | ()?",
};

pub(super) const OPTIONS: &[Field] = fields! { fail_fast: "bool?" };

pub(super) const ENDED: &[Field] = fields! { ok: "bool", nodes: "map" };

/// The second argument of `nrv.dag`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    fail_fast: bool,
}

/// Runs the nodes; gives what became of each.
pub(super) fn dag(ctx: &NativeCallContext<'_>, host: &Host, nodes: Array, options: Option<&Dynamic>) -> Reply {
    let mut functions = BTreeMap::new();
    let mut read = Vec::with_capacity(nodes.len());
    for node in nodes {
        read.push(read_node(ctx, host, node, &mut functions)?);
    }
    let Keyed(Options { fail_fast }) = match options {
        Some(options) => serde_json::from_value(host.json(ctx, options)?)
            .map_err(|error| host.raise(ctx, wrong("the options of `nrv.dag`", &error).hint("there is `fail_fast`")))?,
        None => Keyed(Options::default()),
    };
    let graph = Graph { nodes: read, fail_fast };
    let mut functions = Closures { ctx, host, functions };
    door::answer(host, ctx, |door| graph::run(door, &mut functions, &graph))
}

/// The node, without its function, which is kept under its id.
fn read_node(
    ctx: &NativeCallContext<'_>,
    host: &Host,
    node: Dynamic,
    functions: &mut BTreeMap<String, FnPtr>,
) -> Result<Node, Box<EvalAltResult>> {
    let mut node = node.flatten();
    if let Ok(mut map) = node.as_map_mut()
        && let Some(function) = map.get("script").and_then(|script| script.clone().try_cast::<FnPtr>())
    {
        // The names that the engine gives to closures mean nothing to anybody.
        let name = if function.is_anonymous() { "closure" } else { function.fn_name() };
        map.insert("script".into(), Dynamic::from(name.to_owned()));
        if let Some(id) = map.get("id").and_then(|id| id.clone().into_string().ok()) {
            functions.insert(id, function);
        }
    }
    let read = serde_json::from_value(host.json(ctx, &node)?);
    read.map_err(|error| {
        let hint = "its form is `#{id, dta | edit | exec | gate | agent | script, input, after, needs, parallelizable}`; the last four may be left out";
        host.raise(ctx, wrong("the node", &error).hint(hint))
    })
}

fn wrong(what: &str, error: &serde_json::Error) -> Error {
    Error::new(Code::InvalidInput, format!("{what} can't be used: {error}"))
}

/// The functions of a script's nodes.
struct Closures<'c, 'r> {
    ctx: &'c NativeCallContext<'r>,
    host: &'c Host,
    functions: BTreeMap<String, FnPtr>,
}

impl Functions for Closures<'_, '_> {
    fn call(&mut self, node: &Node) -> Result<Value, Error> {
        let Some(function) = self.functions.get(&node.id) else {
            return Err(node.wrong("has a `script` that is no function").hint("write `script: || { … }`"));
        };
        let outcome = function.call_within_context::<Dynamic>(self.ctx, ());
        // An error that ends the script ends the node: the graph decides what that means for the others.
        if let Some(error) = self.host.take_ending() {
            return Err(error);
        }
        door::returned(self.host, self.ctx, outcome)
    }
}
