//! `nrv.agent`: models that work in the run's name, and who says that they are done.

use rhai::{Dynamic, Engine, FnPtr, NativeCallContext};
use serde::Deserialize;
use serde_json::Value;

use crate::guest::{
    bindings::{
        Field, Namespace,
        door::{answer, returned},
        fields,
        host::{Host, Nrv, Reply},
        registry,
    },
    value,
};
use base::{
    call::{Call, Promise, Summon},
    error::{Code, Error},
    json::Keyed,
};
use flow::agent::{self, ActionHandler, Conversation, Reply as ModelReply, Turn};

/// The fields of a commitment for `nrv.commit`.
pub(super) const COMMITMENT: &[Field] =
    fields! { description: "string", assertion: "map" = ASSERTION, timeout_ms: "int | ()?" };

const ASSERTION: &[Field] = fields! {
    command: "map?" = fields! { program: "string", args: "array?", cwd: "string | ()?", env: "map?", status: "int?" },
    count: "map?" = fields! {
        pattern: "string", glob: "string | array", equals: "int | ()?", at_least: "int | ()?", at_most: "int | ()?",
    },
    file_exists: "string?", json_valid: "string | array?", tree_unchanged: "string | array?",
};

const MODEL: &[Field] = fields! { provider: "string | ()?", model: "string | ()?" };

const SPENDING: &[Field] = fields! { calls: "int | ()?", tokens: "int | ()?", cost_millionths: "int | ()?" };

pub(super) const SUMMON: &[Field] = fields! {
    name: "string | ()?", assignment: "string | ()?", commitments: "array?" = COMMITMENT, tools: "array | ()?",
    model: "map | ()?" = MODEL, parent: "string | ()?", budget: "map | ()?" = SPENDING,
};

pub(super) const AGENT: &[Field] = fields! {
    id: "string", name: "string", state: "string", assignment: "string?", parent: "string?", tools: "array?",
    model: "map?" = MODEL, commitments: "array?", budget: "map" = SPENDING, spent: "map" = SPENDING,
};

const DISMISSED: &[Field] = fields! { id: "string", name: "string", state: "string" };

const CONVERSATION: &[Field] =
    fields! { request: "string", max_turns: "int?", max_actions: "int?", max_tokens: "int?", schema: "map | ()?" };

const CONVERSED: &[Field] = fields! {
    agent: "string", state: "string", ended: "string", turns: "int", actions: "int", messages: "array",
    results: "array" = RESULT,
};

const RESULT: &[Field] =
    fields! { id: "string", tool: "string", params: "any", result: "any?", error: "string?", hint: "string?" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.agent",
    doc: "Agents: models that work by tools of the host. An agent is done only if all of its commitments hold, which the host sees to outside of it. Its states are `idle`, `working`, `verifying`, `done`, `finished` (without a commitment), `failed` (the run ended before it was done, and ends with 4) and `dismissed`.",
    calls: registry! {
        "nrv.agent";
        /// Adds a commitment to an agent; returns its id. Nobody removes one.
        ///
        /// ```rhai
        /// let ada = nrv.agent.summon(#{ assignment: "write the page" });
        /// nrv.agent.commit(ada.id, #{ description: "there is a page", assertion: #{ file_exists: "docs/page.md" } });
        /// nrv.agent.dismiss(ada.id);
        /// ```
        commit(id: "string", commitment: "map" = COMMITMENT) -> "string";
        /// Converses with an agent: asks its model, does what it wants, and tells it the results, until there is nothing to tell.
        ///
        /// The handler is `"json"` (replies `{message, spawn, actions}`), `"tool_calls"` (tools in the form of the server), or a closure that
        /// takes a reply `#{text, tool_calls}` and returns `#{message, actions, feedback}`. An action is `#{id, tool, params}`. A reply that the
        /// handler can't read is shown as it came, and ends the conversation. It also ends when the agent is done, and at `max_turns` (20),
        /// `max_actions` (100) or the agent's budget: `ended` is `no_feedback`, `done`, `max_turns`, `max_actions`, `budget` or `dismissed`.
        /// Each prompt holds the whole conversation. A refusal is told to the agent and ends nothing, and so is a reply that does not fit
        /// `schema`. `results` are those of all actions, with their `params`.
        ///
        /// ```rhai
        /// let ada = nrv.agent.summon(#{ assignment: "write the page", tools: ["apply_create"] });
        /// let talk = nrv.agent.converse(ada.id, "json", #{ request: "Write docs/page.md.", max_turns: 5 });
        /// print(talk.ended);
        /// nrv.agent.dismiss(ada.id);
        /// ```
        converse(id: "string", handler: "string | function", request: "map" = CONVERSATION) -> "map" = CONVERSED;
        /// Dismisses an agent, with those that it has summoned.
        ///
        /// ```rhai
        /// nrv.agent.dismiss(nrv.agent.summon(#{}).id);
        /// ```
        dismiss(id: "string") -> "map" = DISMISSED;
        /// The agent of this id.
        ///
        /// ```rhai
        /// nrv.agent.get(nrv.agent.summon(#{}).id).state == "idle"
        /// ```
        get(id: "string") -> "map" = AGENT;
        /// The agents that were not dismissed, in the order in which they were summoned.
        ///
        /// ```rhai
        /// for agent in nrv.agent.list() { print(agent.name); }
        /// ```
        list() -> "array" = AGENT;
        /// Summons an agent: `#{id, name, state, …}`. With an assignment it is `working`, without one `idle`.
        ///
        /// A name is unique among the living, and chosen if none is given. `tools` names those that the agent has beside the standard ones
        /// (`files_glob`, `files_read`, `files_grep`, `summon_servitor`, `dismiss_servitor`, `commit`, `report_done`); without it the agent has
        /// all. No agent has a tool that its parent lacks. The files of an adapter that it has it changes by that adapter alone.
        ///
        /// ```rhai
        /// let ada = nrv.agent.summon(#{
        ///     assignment: "move the links", tools: ["dta_link_updater_propose", "dta_link_updater_apply"],
        ///     commitments: [#{ description: "no old link", assertion: #{ count: #{ pattern: "old.example.com", glob: "site/**", equals: 0 } } }],
        ///     budget: #{ calls: 50 },
        /// });
        /// nrv.agent.dismiss(ada.id);
        /// ```
        summon(agent: "map" = SUMMON) -> "map" = AGENT;
    },
    register,
};

#[derive(Clone)]
struct AgentHandle(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<AgentHandle>("nrv.agent");
    engine.register_get("agent", |nrv: &mut Nrv| AgentHandle(nrv.0.clone()));
    engine.register_fn("summon", |ctx: NativeCallContext<'_>, this: &mut AgentHandle, agent: Dynamic| {
        let form = "its form is `#{name, assignment, commitments, tools, model, parent, budget}`, each of which may be left out";
        let summon: Summon = this.read(&ctx, &agent, ("the agent", form))?;
        this.0.call(&ctx, Call::AgentSummon(Box::new(summon)))
    });
    engine.register_fn("list", |ctx: NativeCallContext<'_>, this: &mut AgentHandle| {
        this.0.call(&ctx, Call::AgentList {})
    });
    engine.register_fn("get", |ctx: NativeCallContext<'_>, this: &mut AgentHandle, id: &str| {
        this.0.call(&ctx, Call::AgentGet { id: id.to_owned() })
    });
    engine.register_fn(
        "commit",
        |ctx: NativeCallContext<'_>, this: &mut AgentHandle, id: &str, commitment: Dynamic| {
            let form = "its form is `#{description, assertion, timeout_ms}`; the last may be left out";
            let commitment: Promise = this.read(&ctx, &commitment, ("the commitment", form))?;
            this.0.call(&ctx, Call::AgentCommit { id: id.to_owned(), commitment })
        },
    );
    engine.register_fn("dismiss", |ctx: NativeCallContext<'_>, this: &mut AgentHandle, id: &str| {
        this.0.call(&ctx, Call::AgentDismiss { id: id.to_owned() })
    });
    engine.register_fn(
        "converse",
        |ctx: NativeCallContext<'_>, this: &mut AgentHandle, id: &str, handler: &str, request: Dynamic| {
            let mut handler = agent::handler_of(handler)
                .map_err(|error| this.0.raise(&ctx, error.hint("it is `json`, `tool_calls` or a closure")))?;
            this.converse(&ctx, id, handler.as_mut(), &request)
        },
    );
    engine.register_fn(
        "converse",
        |ctx: NativeCallContext<'_>, this: &mut AgentHandle, id: &str, handler: FnPtr, request: Dynamic| {
            this.converse(&ctx, id, &mut Closure { ctx: &ctx, host: &this.0, handler }, &request)
        },
    );
}

impl AgentHandle {
    fn converse(
        &self,
        ctx: &NativeCallContext<'_>,
        id: &str,
        handler: &mut dyn ActionHandler,
        request: &Dynamic,
    ) -> Reply {
        let form = "its form is `#{request, max_turns, max_actions, max_tokens, schema}`; only `request` must be there";
        let conversation: Conversation = self.read(ctx, request, ("the request", form))?;
        answer(&self.0, ctx, |door| agent::converse(door, id, handler, &conversation))
    }

    fn read<T: for<'d> Deserialize<'d>>(
        &self,
        ctx: &NativeCallContext<'_>,
        value: &Dynamic,
        (what, form): (&str, &'static str),
    ) -> Result<T, Box<rhai::EvalAltResult>> {
        let read = serde_json::from_value(self.0.json(ctx, value)?);
        read.map(|Keyed(read)| read).map_err(|error| {
            let error = Error::new(Code::InvalidInput, format!("{what} can't be used: {error}"));
            self.0.raise(ctx, error.hint(form))
        })
    }
}

/// A closure of the script that reads replies.
struct Closure<'c, 'r> {
    ctx: &'c NativeCallContext<'r>,
    host: &'c Host,
    handler: FnPtr,
}

impl ActionHandler for Closure<'_, '_> {
    fn handle(&mut self, reply: &ModelReply) -> Result<Turn, Error> {
        let given = value::from_json(serde_json::to_value(reply).unwrap_or_default());
        let outcome = self.handler.call_within_context::<Dynamic>(self.ctx, (given,));
        if let Some(error) = self.host.ending() {
            return Err(error);
        }
        let returned = returned(self.host, self.ctx, outcome)?;
        // A closure that returns nothing has not read it.
        if returned == Value::Null {
            return Ok(Turn::unread(reply));
        }
        serde_json::from_value(returned).map_err(|error| {
            Error::new(Code::InvalidInput, format!("the handler returned what is no turn: {error}"))
                .hint("it returns `#{message, actions: [#{id, tool, params}], feedback}`, or `()` for a reply that it can't read")
        })
    }
}
