//! Calls that a program adds to nrv's own: what they are, and how the door serves them.
//!
//! They pass the door like every other call. What they do outside of the workspace nobody can undo, so that it is in the record
//! before it is done, and is not done in a dry run.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    sync::{Arc, atomic::AtomicBool},
};

use serde_json::{Value, json};

use crate::{Demand, Position};
use base::error::{Code, Error};
use gate::Offered;
use system::{schema::Schema, workspace::View};

/// Namespaces that are reserved for nrv's own calls, now or in a later version.
const NAMESPACES: &[&str] = &[
    "agent", "apply", "attempt", "code", "commit", "custom", "dag", "diff", "dta", "edit", "exec", "files", "gate",
    "json", "llm", "mcp", "net", "nrv", "planner", "prompt", "random", "run", "text", "ui",
];

/// The function that answers a call. It receives the params, which fit the schema, and the context.
type Handler = Box<dyn Fn(&Value, &CustomContext<'_>) -> Result<Value, Error> + Send + Sync>;

/// A call that a program adds. A script makes it by `nrv.custom(name, params)`.
///
/// As it is made, a script's header must permit it, and a dry run refuses it: see [`CustomCall::without_permission`],
/// [`CustomCall::read_only`] and [`CustomCall::preview`].
pub struct CustomCall {
    pub(crate) name: String,
    pub(crate) summary: String,
    params: Value,
    pub(crate) handler: Handler,
    pub(crate) preview: Option<Handler>,
    pub(crate) demand: Option<Estimate>,
    pub(crate) effect: Effect,
    needs_permission: bool,
}

/// The effect that a call may have outside of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// An effect that may be repeated: the call works only on what it makes itself.
    Own,
    /// Anything.
    Unknown,
}

impl Effect {
    fn as_str(self) -> &'static str {
        match self {
            Effect::None => "none",
            Effect::Own => "repeatable",
            Effect::Unknown => "unknown",
        }
    }
}

/// The most that a call with these params can take of the budgets.
type Estimate = Box<dyn Fn(&Value) -> Demand + Send + Sync>;

/// The context that the handler of a call receives.
#[derive(Clone, Copy)]
pub struct CustomContext<'a> {
    /// The run's id. With `position` it names the call once and for all, also if it is made again after a crash: an idempotency key.
    pub run: &'a str,
    /// Where in the run.
    pub position: &'a Position,
    /// The run's seed.
    pub seed: u64,
    /// True in a dry run: nothing may have an effect.
    pub dry_run: bool,
    /// The tree as the run sees it. Nothing hides what scripts may not read.
    pub view: View<'a>,
    /// True as soon as it has to stop.
    pub cancel: &'a AtomicBool,
    /// The amount that the call took of the budgets. It starts as the reserved amount; set it to the actual one.
    pub spent: &'a Cell<Demand>,
}

impl CustomCall {
    /// A call with its name, one line on what it does, the JSON Schema of its params, and what answers it.
    ///
    /// The name is a namespace, a dot and the rest, such as `tickets.create`.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        params: Value,
        handler: impl Fn(&Value, &CustomContext<'_>) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Self {
        CustomCall {
            name: name.into(),
            summary: summary.into(),
            params,
            handler: Box::new(handler),
            preview: None,
            demand: None,
            effect: Effect::Unknown,
            needs_permission: true,
        }
    }

    /// The same call without an effect: a dry run makes it too.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.effect = Effect::None;
        self
    }

    /// The same call, which works only on what it makes itself, without network: if the run dies while it is being made, it is
    /// made again when the run goes on. [`CustomContext::run`] and [`CustomContext::position`] are the same then.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.effect = Effect::Own;
        self
    }

    /// The same call with an answer for dry runs, which must have no effect.
    #[must_use]
    pub fn preview(
        mut self,
        preview: impl Fn(&Value, &CustomContext<'_>) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Self {
        self.preview = Some(Box::new(preview));
        self
    }

    /// The same call, which says of its params what it can take of the budgets at most.
    ///
    /// That is reserved before it is made, so that a limit of N admits exactly N; a call that would take more is
    /// `budget_exhausted` and not made. What it took, as the handler sets it, replaces the reservation.
    #[must_use]
    pub fn demands(mut self, estimate: impl Fn(&Value) -> Demand + Send + Sync + 'static) -> Self {
        self.demand = Some(Box::new(estimate));
        self
    }

    /// The same call, which every script may make without its header's permission. The policy still has to approve of it.
    #[must_use]
    pub fn without_permission(mut self) -> Self {
        self.needs_permission = false;
        self
    }
}

/// The calls that a program adds, by name. The default has none.
#[derive(Clone, Default)]
pub struct Calls(BTreeMap<String, Arc<Offer>>);

pub(super) struct Offer {
    pub(super) call: CustomCall,
    pub(super) schema: Schema,
}

impl Calls {
    /// Adds a call.
    ///
    /// A name that has no namespace, or one of nrv's own, or is taken, and params that are no JSON Schema, are `invalid_input`.
    pub fn with(mut self, call: CustomCall) -> Result<Self, Error> {
        let name = call.name.clone();
        let refuse = |why: &str| Error::new(Code::InvalidInput, format!("the call `{}` {why}", name.escape_debug()));
        let namespace = name.split('.').next().unwrap_or_default();
        if namespace == name || !name.split('.').all(is_word) {
            return Err(refuse("has a name that can't be used").hint(
                "write a namespace, a dot and a name, of letters, digits and `_` in lower case: `tickets.create`",
            ));
        }
        if NAMESPACES.contains(&namespace) {
            return Err(refuse("is in a namespace of nrv's own").hint("choose another namespace"));
        }
        let schema = Schema::compile(&call.params)
            .map_err(|error| refuse(&format!("has a schema of its params that can't be used: {error}")))?;
        match self.0.insert(name.clone(), Arc::new(Offer { call, schema })) {
            Some(_) => Err(refuse("exists already").hint("choose another name")),
            None => Ok(self),
        }
    }

    /// Every call as `[{name, summary, params, read_only, effect, needs_permission}]`, sorted by name.
    ///
    /// `effect` is `none`, `repeatable` or `unknown`.
    pub fn describe(&self) -> Value {
        let row = |Offer { call, .. }: &Offer| {
            json!({
                "name": call.name, "summary": call.summary, "params": call.params,
                "read_only": call.effect == Effect::None, "effect": call.effect.as_str(),
                "needs_permission": call.needs_permission,
            })
        };
        self.0.values().map(|offer| row(offer)).collect()
    }

    /// Returns a call by its name.
    pub(super) fn find(&self, name: &str) -> Option<&Offer> {
        self.0.get(name).map(AsRef::as_ref)
    }

    /// Returns the effect that a call may have outside of the workspace; none if there is no such call.
    pub(crate) fn effect(&self, name: &str) -> Option<Effect> {
        self.0.get(name).map(|offer| offer.call.effect)
    }

    /// True if every script may make a call without its header's permission.
    pub fn is_free(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|offer| !offer.call.needs_permission)
    }

    /// Returns the name of each call, and whether it needs a permission, for the gates.
    pub(crate) fn offered(&self) -> Vec<Offered<'_>> {
        self.0.iter().map(|(name, offer)| Offered { name, needs_permission: offer.call.needs_permission }).collect()
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> CustomCall {
        CustomCall::new(name, "does nothing", json!({"type": "object"}), |_, _| Ok(Value::Null))
    }

    #[test]
    fn calls_are_listed_by_name_with_what_they_are() {
        let calls =
            Calls::default().with(call("z.b").without_permission()).unwrap().with(call("a.b_2.c").read_only()).unwrap();
        let list = calls.describe();
        assert_eq!((&list[0]["name"], &list[0]["read_only"]), (&json!("a.b_2.c"), &json!(true)));
        assert_eq!((&list[0]["effect"], &list[1]["effect"]), (&json!("none"), &json!("unknown")));
        assert_eq!((&list[1]["name"], &list[1]["needs_permission"]), (&json!("z.b"), &json!(false)));
        let needs: Vec<bool> = calls.offered().iter().map(|offered| offered.needs_permission).collect();
        assert_eq!(needs, [true, false]);
    }

    #[test]
    fn a_call_that_could_be_taken_for_another_is_refused() {
        let first = || Calls::default().with(call("tickets.create")).unwrap();
        for (name, words) in [
            ("tickets.create", "exists already"),
            ("tickets", "name that can't be used"),
            ("tickets.", "name that can't be used"),
            ("Tickets.create", "name that can't be used"),
            ("tickets.a b", "name that can't be used"),
            ("files.read", "nrv's own"),
            ("custom.x", "nrv's own"),
        ] {
            let error = first().with(call(name)).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput);
            assert!(error.message().contains(words), "{name}: {error}");
        }
        let wrong = CustomCall { params: json!({"type": "strng"}), ..call("a.b") };
        assert!(first().with(wrong).unwrap_err().message().contains("schema of its params"));
        assert!(NAMESPACES.is_sorted());
    }
}
