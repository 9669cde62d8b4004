//! `nrv.planner`: which adapters a goal needs.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde::Deserialize;
use serde_json::Value;

use crate::guest::bindings::{
    Field, Namespace,
    agent::{AGENT, SUMMON},
    dag::NODE,
    door::answer,
    fields,
    host::{Host, Nrv},
    registry,
};
use base::{
    error::{Code, Error},
    json::Keyed,
};
use flow::planner::{self, Need, Planner, Request};

const REQUEST: &[Field] = fields! {
    goal: "string", findings: "map?",
    model: "map | ()?" = fields! { provider: "string | ()?", model: "string | ()?", max_tokens: "int | ()?" },
};

const PLAN: &[Field] = fields! {
    goal: "string", tool_requests: "array" = fields! { id: "string", tool: "string", reason: "string", inputs_ref: "string" },
    inputs: "map?", steps: "array?", skipped: "array?" = fields! { tool: "string", reason: "string" },
};

const CHECKED: &[Field] = fields! {
    goal: "string",
    tool_requests: "array" = fields! {
        id: "string", tool: "string", reason: "string", inputs_ref: "string", input: "map", input_sha256: "string?",
    },
    orders: "string",
};

const NEED: &[Field] = fields! { adapters: "array", assignment: "string | ()?" };

const DERIVED: &[Field] = fields! { agent: "map?" = AGENT, summon: "map?" = SUMMON, orders: "string" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.planner",
    doc: "Plans: requests of adapters with their inputs. A plan changes nothing.",
    calls: registry! {
        "nrv.planner";
        /// Finds an idle agent that has these adapters and no other tools, or describes one to summon: `#{agent | summon, orders}`.
        ///
        /// An adapter that does not exist or is not approved is an error, with its name. Nobody is summoned.
        ///
        /// ```rhai
        /// let derived = nrv.planner.derive_agent(#{ adapters: ["link_updater"], assignment: "move the links" });
        /// print(derived.orders);
        /// ```
        derive_agent(need: "map" = NEED) -> "map" = DERIVED;
        /// Requests each approved adapter that has work to do, or those that a model chooses.
        ///
        /// `findings` has inputs of adapters by name, `#{target, params}` each or an array of them; without any, each adapter whose
        /// parameters may all be left out looks at `**`. Without `model`, an adapter is requested if its own count of work is above
        /// zero; the others are listed in `skipped`. With `model`, even an empty map, a model
        /// chooses adapters and parameters, and its reply is checked as `validate` checks it (`model_failed`).
        ///
        /// ```rhai
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// let findings = #{ link_updater: #{ target: #{ glob: "site/**" }, params: hosts } };
        /// nrv.planner.plan(#{ goal: "move the site", findings: findings }).tool_requests[0].tool
        /// ```
        plan(request: "map" = REQUEST) -> "map" = PLAN;
        /// Checks a plan as `validate` does; returns the nodes for `nrv.dag`.
        ///
        /// Those are the `steps` of the plan, in which `request: ID` stands for the adapter and input of a request. Without steps each request
        /// becomes `ID-preview` (a dry run), `ID-gate` and `ID-apply`, which applies what was confirmed.
        ///
        /// ```rhai
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// nrv.dag(nrv.planner.to_dag(#{
        ///     goal: "move the site",
        ///     tool_requests: [#{ id: "T1", tool: "link_updater", reason: "the host moved", inputs_ref: "#/inputs/T1" }],
        ///     inputs: #{ T1: #{ target: #{ glob: "site/**" }, params: hosts } },
        /// }));
        /// ```
        to_dag(plan: "map" = PLAN) -> "array" = NODE;
        /// Checks a plan; returns its requests with their inputs, and the orders to whoever carries it out.
        ///
        /// Each request names an approved adapter and an input: `#/inputs/NAME` in the plan, or the path of a JSON file. The input has to
        /// fit the adapter's schema. Everything that is wrong is in `details.violations` of the error, with its place in the plan. `input`
        /// is a whole invocation in dry-run mode.
        ///
        /// ```rhai
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// let checked = nrv.planner.validate(#{
        ///     goal: "move the site",
        ///     tool_requests: [#{ id: "T1", tool: "link_updater", reason: "the host moved", inputs_ref: "#/inputs/T1" }],
        ///     inputs: #{ T1: #{ target: #{ glob: "site/**" }, params: hosts } },
        /// });
        /// print(checked.orders);
        /// ```
        validate(plan: "map" = PLAN) -> "map" = CHECKED;
    },
    register,
};

#[derive(Clone)]
struct PlannerHandle(Host);

/// The argument of `nrv.planner.plan`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    goal: String,
    #[serde(default)]
    findings: std::collections::BTreeMap<String, Value>,
    #[serde(default)]
    model: Option<Keyed<Planner>>,
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<PlannerHandle>("nrv.planner");
    engine.register_get("planner", |nrv: &mut Nrv| PlannerHandle(nrv.0.clone()));
    engine.register_fn("plan", |ctx: NativeCallContext<'_>, this: &mut PlannerHandle, request: Dynamic| {
        let request = this.0.json(&ctx, &request)?;
        answer(&this.0, &ctx, |door| {
            let PlanRequest { goal, findings, model } = read(request)?;
            let request = Request { goal, findings };
            match model {
                Some(Keyed(model)) => planner::plan_with_model(door, &request, &model),
                None => planner::plan(door, &request),
            }
        })
    });
    engine.register_fn("derive_agent", |ctx: NativeCallContext<'_>, this: &mut PlannerHandle, need: Dynamic| {
        let need = this.0.json(&ctx, &need)?;
        answer(&this.0, &ctx, |door| {
            let Keyed(need): Keyed<Need> = serde_json::from_value(need).map_err(|error| {
                Error::new(Code::InvalidInput, format!("the need can't be used: {error}"))
                    .hint("its form is `#{adapters, assignment}`; the last may be left out")
            })?;
            planner::derive_agent(door, &need)
        })
    });
    engine.register_fn("to_dag", |ctx: NativeCallContext<'_>, this: &mut PlannerHandle, plan: Dynamic| {
        let plan = this.0.json(&ctx, &plan)?;
        answer(&this.0, &ctx, |door| planner::to_dag(door, &plan))
    });
    engine.register_fn("validate", |ctx: NativeCallContext<'_>, this: &mut PlannerHandle, plan: Dynamic| {
        let plan = this.0.json(&ctx, &plan)?;
        answer(&this.0, &ctx, |door| planner::validate(door, &plan))
    });
}

fn read(request: Value) -> Result<PlanRequest, Error> {
    let Keyed(request): Keyed<PlanRequest> = serde_json::from_value(request).map_err(|error| {
        Error::new(Code::InvalidInput, format!("the request can't be used: {error}"))
            .hint("its form is `#{goal, findings, model}`; the last two may be left out")
    })?;
    Ok(request)
}
