//! The work of one node: its calls, and the state that they reach.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Door,
    agent::{self, Conversation},
};
use base::{
    call::{Call, Node, NodeState, Summon, Work},
    error::{Code, Error},
};
use host::AgentState;

/// The functions of a script that nodes call.
pub trait Functions {
    /// Calls the function of a node; its value, or the error with which it ended.
    fn call(&mut self, node: &Node) -> Result<Value, Error>;
}

/// The functions of whoever has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn call(&mut self, node: &Node) -> Result<Value, Error> {
        Err(node
            .wrong("calls a function of a script, and there is none")
            .hint("only `nrv.dag` in a script has nodes with `script`"))
    }
}

/// The proposals of nodes that others apply or have confirmed, and the outputs of nodes, by id.
#[derive(Debug, Default)]
pub(super) struct Results {
    proposals: BTreeMap<String, Value>,
    outputs: BTreeMap<String, Value>,
    /// True in a dry run, in which a proposal is verified when it is applied.
    is_dry: bool,
}

impl Results {
    /// Those of a graph that begins.
    pub(super) fn new(is_dry: bool) -> Self {
        Results { is_dry, ..Results::default() }
    }

    /// Does the work of a node. `is_named` is true if another node has its proposal applied or confirmed.
    pub(super) fn work(
        &mut self,
        door: &mut dyn Door,
        functions: &mut dyn Functions,
        node: &Node,
        is_named: bool,
    ) -> Result<(NodeState, Value), Error> {
        let reply = match node.work()? {
            Work::Adapter { tool, input } => {
                let proposes = is_named && input["mode"] == "dry-run";
                let proposed = if proposes { self.propose(door, node, tool, input.clone())? } else { Value::Null };
                if proposes && self.is_dry {
                    return Ok((NodeState::Verified, proposed));
                }
                door.perform(Call::DtaRun { tool: tool.to_owned(), input })?
            }
            Work::Proposal { tool, of } => {
                let proposal = self.proposal(node, of)?;
                door.perform(Call::DtaApply { tool: tool.to_owned(), proposal })?
            }
            Work::Edit(edit) => door.perform(Call::EditMake(edit))?,
            Work::Exec(run) => door.perform(Call::ExecRun(run))?,
            Work::Gate { label, of } => {
                let subject = match of {
                    Some(of) => self.proposals.get(of).or_else(|| self.outputs.get(of)).cloned().unwrap_or_default(),
                    None => json!({"after": node.after}),
                };
                door.perform(Call::GateConfirm { label: label.to_owned(), subject })?
            }
            Work::Agent { summon, input } => converse(door, node, summon, input)?,
            Work::Script(_) => functions.call(node)?,
        };
        let state = state(node, &reply)?;
        self.outputs.insert(node.id.clone(), reply.clone());
        Ok((state, reply))
    }

    /// Keeps what the node would change as a proposal, which is applied as it is or not at all.
    fn propose(&mut self, door: &mut dyn Door, node: &Node, tool: &str, mut input: Value) -> Result<Value, Error> {
        if let Some(input) = input.as_object_mut() {
            input.remove("mode");
        }
        let proposal = door.perform(Call::DtaPropose { tool: tool.to_owned(), input })?;
        self.proposals.insert(node.id.clone(), proposal.clone());
        Ok(proposal)
    }

    fn proposal(&self, node: &Node, of: &str) -> Result<Value, Error> {
        self.proposals.get(of).cloned().ok_or_else(|| {
            node.wrong(&format!("applies a proposal of `{of}`, which has made its change itself"))
                .hint(format!("give the input of `{of}` the mode `dry-run`"))
        })
    }
}

/// The input of a node with an agent.
#[derive(Deserialize)]
struct Talk {
    /// `json` or `tool_calls`.
    #[serde(default)]
    handler: Option<String>,
    #[serde(flatten)]
    conversation: Conversation,
}

/// Summons an agent and converses with it. One that does not finish is dismissed.
fn converse(door: &mut dyn Door, node: &Node, summon: &Summon, input: Value) -> Result<Value, Error> {
    let talk = Talk::deserialize(&input).map_err(|error| {
        node.wrong(&format!("has an input that can't be used: {error}")).hint(
            "it is `{request, handler, max_turns, max_actions, max_tokens, schema}`; only `request` must be there",
        )
    })?;
    let mut handler = agent::handler_of(talk.handler.as_deref().unwrap_or("json"))
        .map_err(|error| error.within(format!("node `{}`", node.id)))?;
    let summoned = door.perform(Call::AgentSummon(Box::new(summon.clone())))?;
    let id = summoned["id"].as_str().unwrap_or_default();
    let conversed = agent::converse(door, id, handler.as_mut(), &talk.conversation)?;
    let has_ended = matches!(conversed.state, AgentState::Done | AgentState::Finished | AgentState::Dismissed);
    if !has_ended {
        door.perform(Call::AgentDismiss { id: id.to_owned() })?;
    }
    serde_json::to_value(conversed).map_err(|error| Error::new(Code::Internal, error.to_string()))
}

/// The state of a node whose work was answered.
fn state(node: &Node, reply: &Value) -> Result<NodeState, Error> {
    let proved = match node.work()? {
        Work::Adapter { .. } | Work::Proposal { .. } => reply["ok"] == true && reply["verifier"]["passed"] == true,
        Work::Exec(_) => reply["status"] == 0,
        Work::Agent { .. } => match reply["state"].as_str() {
            Some("done") => true,
            Some("finished") => false,
            state => {
                let message = format!("the agent is {}, not done: {}", state.unwrap_or_default(), reply["ended"]);
                return Err(Error::new(Code::VerificationFailed, message));
            }
        },
        Work::Script(_) if *reply == Value::Bool(false) => {
            return Err(Error::new(Code::ScriptFailed, format!("the function of node `{}` returned false", node.id)));
        }
        Work::Edit(_) | Work::Gate { .. } | Work::Script(_) => true,
    };
    Ok(if proved { NodeState::Verified } else { NodeState::Done })
}
