//! The calls of the object `nrv` itself.

use rhai::{Array, Dynamic, Engine, FnPtr, NativeCallContext};
use serde::Deserialize;
use serde_json::Value;

use crate::guest::bindings::{
    Namespace,
    agent::COMMITMENT,
    attempt::attempt,
    dag::{ENDED, NODE, OPTIONS, dag},
    dta::Adapter,
    fields,
    host::Nrv,
    mcp::McpServer,
    registry,
};
use base::{
    call,
    error::{Code, Error},
    json::Keyed,
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv",
    doc: "The host: all access of a script to the world.",
    calls: registry! {
        "nrv";
        /// Runs a closure, and keeps or undoes all of its changes together: `#{kept, value, error}`.
        ///
        /// If the closure throws or returns `false`, all of its changes are undone, also those by adapters. `value` is the value of its last
        /// statement, even with a semicolon. `error` is the thrown value: a map with `code` and `message` for an error of the host or the
        /// language, and `()` without an error. Attempts nest, and a kept one shares the fate of the one around it. In a dry run an undone
        /// change is not proposed. Budgets stay spent and confirmations used, and the effects of `nrv.custom` elsewhere are not undone. An
        /// error that can't be caught ends the run here too, as do `lock_timeout` and `model_unavailable` unless the closure
        /// catches them.
        ///
        /// ```rhai
        /// let tried = nrv.attempt(|| {
        ///     nrv.apply.create("docs/new.md", "# New\n");
        ///     nrv.files.exists("docs/index.md")
        /// });
        /// if !tried.kept { print("it was undone"); }
        /// ```
        attempt(closure: "function") -> "map" = fields! { kept: "bool", value: "any", error: "any" };
        /// Adds a commitment to the run, `#{description, assertion, timeout_ms}`, and returns its id; `timeout_ms` may be left out.
        ///
        /// When the script has ended, the host checks all commitments in processes of its own. The run succeeds only if all of them hold,
        /// whatever the script prints or returns. An assertion is a map with one key: `file_exists` (a path), `count`
        /// (`#{pattern, glob, equals}`, or `at_least`, `at_most`), `json_valid`, `tree_unchanged` (globs), or `command`
        /// (`#{program, args, cwd, env, status}`).
        ///
        /// ```rhai
        /// nrv.commit(#{ description: "no page says that it is a draft",
        ///     assertion: #{ count: #{ pattern: "(?i)draft", glob: "site/**/*.html", equals: 0 } } });
        /// ```
        commit(commitment: "map" = COMMITMENT) -> "string";
        /// Makes a call that the embedding program adds, by its name; returns its reply.
        ///
        /// The params are checked against the call's schema. The header has to permit it by `permissions: #{ calls: ["tickets.create"] }`,
        /// unless the program permits it to all scripts. In a dry run it may be refused (`blocked`). `nrv` itself adds none (`not_found`).
        ///
        /// ```rhai
        /// let ticket = nrv.custom("tickets.create", #{ title: "a page has no heading" });
        /// ```
        custom(name: "string", params: "map") -> "any";
        /// Runs a graph of nodes, each as soon as those that it waits for have succeeded: `#{ok, nodes}`, with `#{state, output}` by id.
        ///
        /// A node is `#{id, after, needs, parallelizable, input}` and one of `dta` (an adapter, with its invocation as input, or with
        /// `#{of: ID}` the proposal of a node whose mode is `dry-run`), `edit` (a tool, with its arguments), `exec` (the words of a command,
        /// with the rest of what `nrv.exec` takes), `gate` (a question, about the node `of` of the input), `agent` (one to summon, with the
        /// conversation's request as input), and `script` (a closure, which fails by `false`). All is checked before anything runs. The error of a node that failed is thrown, with all nodes in
        /// `details.nodes`, once the nodes that don't depend on it have ended; with `fail_fast: true` no further ones begin. `needs: "done"`
        /// also begins after a command whose status is not 0. Nodes that begin together and change different files run at the same time.
        ///
        /// ```rhai
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// let target = #{ glob: "site/**" };
        /// nrv.dag([
        ///     #{ id: "preview", dta: "link_updater", input: #{ mode: "dry-run", target: target, params: hosts } },
        ///     #{ id: "gate", gate: "apply the new links", input: #{ of: "preview" }, after: ["preview"] },
        ///     #{ id: "apply", dta: "link_updater", input: #{ of: "preview" }, after: ["gate"] },
        /// ]);
        /// ```
        dag(nodes: "array" = NODE, options: "map?" = OPTIONS) -> "map" = ENDED;
        /// The handle of an approved adapter, by name. An unknown name is an error when the handle is first used.
        ///
        /// ```rhai
        /// let links = nrv.dta("link_updater");
        /// ```
        dta(name: "string") -> "adapter";
        /// The approved adapters: `[#{name, version, summary}]`, sorted by name.
        ///
        /// ```rhai
        /// for adapter in nrv.dtas() { print(adapter.name); }
        /// ```
        dtas() -> "array" = fields! { name: "string", version: "string", summary: "string" };
        /// The handle of an MCP server that the policy names. An unknown name is an error when the handle is first used.
        ///
        /// ```rhai
        /// let docs = nrv.mcp("docs");
        /// ```
        mcp(name: "string") -> "mcp_server";
    },
    register,
};

/// The argument of `nrv.commit`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commitment {
    description: String,
    assertion: Value,
    timeout_ms: Option<u64>,
}

impl Commitment {
    fn call(commitment: Value) -> Result<call::Call, Error> {
        let Keyed(commitment): Keyed<Commitment> = serde_json::from_value(commitment).map_err(|error| {
            Error::new(Code::InvalidInput, format!("the commitment can't be made: {error}"))
                .hint("its form is `#{description, assertion, timeout_ms}`; the last may be left out")
        })?;
        let Commitment { description, assertion, timeout_ms } = commitment;
        Ok(call::Call::CommitAdd { description, assertion, timeout_ms })
    }
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Nrv>("nrv");
    engine.register_fn("attempt", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, closure: FnPtr| {
        attempt(&ctx, &nrv.0, &closure)
    });
    engine.register_fn("dag", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, nodes: Array| dag(&ctx, &nrv.0, nodes, None));
    engine.register_fn("dag", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, nodes: Array, options: Dynamic| {
        dag(&ctx, &nrv.0, nodes, Some(&options))
    });
    // Not `call`: the engine takes that name for its own, whatever the type.
    engine.register_fn("custom", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, name: &str, params: Dynamic| {
        let params = nrv.0.json(&ctx, &params)?;
        nrv.0.call(&ctx, call::Call::Custom { name: name.to_owned(), params })
    });
    engine.register_fn("commit", |ctx: NativeCallContext<'_>, nrv: &mut Nrv, commitment: Dynamic| {
        let commitment = nrv.0.json(&ctx, &commitment)?;
        let call = Commitment::call(commitment).map_err(|error| nrv.0.raise(&ctx, error))?;
        nrv.0.call(&ctx, call)
    });
    engine.register_fn("dta", |nrv: &mut Nrv, name: &str| Adapter::new(&nrv.0, name));
    engine.register_fn("mcp", |nrv: &mut Nrv, name: &str| McpServer::new(&nrv.0, name));
    engine.register_fn("dtas", |ctx: NativeCallContext<'_>, nrv: &mut Nrv| nrv.0.call(&ctx, call::Call::DtaList {}));
}
