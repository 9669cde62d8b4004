//! Graphs of work: nodes that wait for one another, as plans and scripts state them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Call, Run, Summon};
use crate::{
    error::{Code, Error},
    json,
    micro::{Edit, Tool},
};

/// A node: one piece of work, and the nodes that it waits for. It has exactly one of `dta`, `edit`, `exec`, `gate`, `agent` and `script`.
///
/// ```
/// use nrv_base::call::Node;
/// use serde_json::json;
///
/// let node: Node = serde_json::from_value(serde_json::json!({"id": "build", "exec": ["npm", "run", "build"], "after": ["links"]}))?;
/// assert!(node.call()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The name of the node in its graph: a letter, then letters, digits, `_` or `-`.
    pub id: String,
    /// The nodes that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The state that those nodes must have reached.
    #[serde(default, skip_serializing_if = "Needs::is_verified")]
    pub needs: Needs,
    /// False if its work never begins before that of the nodes in front of it has ended.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub parallelizable: bool,
    /// The adapter that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dta: Option<String>,
    /// The tool of the micro-edit that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Tool>,
    /// The command that it runs: the program and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Vec<String>>,
    /// The question that it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The agent that it summons, and with which it converses by the request in its input.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::keyed")]
    pub agent: Option<Box<Summon>>,
    /// The function of the script that it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The input of that work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// The state that a node needs of those that it waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Needs {
    /// They succeeded, and whatever verifies them agreed.
    #[default]
    Verified,
    /// They ended without an error, be it unproved: a command with another status than 0.
    Done,
}

impl Needs {
    fn is_verified(&self) -> bool {
        *self == Needs::Verified
    }

    /// True if a node that needs this may begin after one that reached the state.
    pub fn suits(self, state: NodeState) -> bool {
        state == NodeState::Verified || self == Needs::Done && state == NodeState::Done
    }
}

/// The state that a node has reached at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// It succeeded, and whatever verifies it agreed.
    Verified,
    /// It ended without an error, and nothing says that it succeeded.
    Done,
    /// It ended with an error.
    Failed,
    /// It was not begun: a node that it waits for did not reach the state that it needs.
    Blocked,
    /// It waits, as the run does, for a confirmation or a lock, or for a node that does.
    Waiting,
}

/// The work of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Work<'n> {
    /// An adapter runs.
    Adapter {
        /// Its name.
        tool: &'n str,
        /// Its invocation.
        input: Value,
    },
    /// The proposal that another node made is applied.
    Proposal {
        /// The adapter.
        tool: &'n str,
        /// The node.
        of: &'n str,
    },
    /// A micro-edit is made.
    Edit(Box<Edit>),
    /// A command runs.
    Exec(Box<Run>),
    /// A person or the policy confirms what another node proposed, or that the work goes on.
    Gate {
        /// The question.
        label: &'n str,
        /// The node.
        of: Option<&'n str>,
    },
    /// An agent is summoned, and works.
    Agent {
        /// The agent.
        summon: &'n Summon,
        /// The request, with the bounds of the conversation, and the handler of its replies.
        input: Value,
    },
    /// A function of the script is called.
    Script(&'n str),
}

/// The key by which an input names another node.
const OF: &str = "of";

impl Node {
    /// A node without work.
    pub fn new(id: &str) -> Self {
        Node { id: id.to_owned(), parallelizable: true, ..Node::default() }
    }

    /// The work that the node states. `invalid_input` if it states none, several, or one that can't be.
    pub fn work(&self) -> Result<Work<'_>, Error> {
        let stated = [
            ("dta", self.dta.is_some()),
            ("edit", self.edit.is_some()),
            ("exec", self.exec.is_some()),
            ("gate", self.gate.is_some()),
            ("agent", self.agent.is_some()),
            ("script", self.script.is_some()),
        ];
        let kinds: Vec<&str> = stated.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect();
        let [kind] = kinds[..] else {
            let what = if kinds.is_empty() { "no work".to_owned() } else { format!("`{}`", kinds.join("` and `")) };
            return Err(self
                .wrong(&format!("has {what}"))
                .hint("a node has exactly one of `dta`, `edit`, `exec`, `gate`, `agent` and `script`"));
        };
        let input = self.input.clone().unwrap_or_else(|| serde_json::json!({}));
        if !input.is_object() && kind != "script" {
            return Err(self.wrong("has an input that is no map"));
        }
        if let Some(summon) = &self.agent {
            return Ok(Work::Agent { summon, input });
        }
        let work = match (&self.dta, self.edit, &self.exec, &self.gate, &self.script) {
            (Some(tool), ..) => match self.of() {
                Some(of) => Work::Proposal { tool, of },
                None => Work::Adapter { tool, input },
            },
            (_, Some(tool), ..) => Work::Edit(Box::new(self.read(input, &serde_json::json!({"tool": tool}))?)),
            (_, _, Some(argv), ..) => {
                let Some((program, args)) = argv.split_first() else { return Err(self.wrong("has an empty command")) };
                let mut input = input;
                input.as_object_mut().map(|map| map.entry("check").or_insert(Value::Bool(true)));
                Work::Exec(Box::new(self.read(input, &serde_json::json!({"program": program, "args": args}))?))
            }
            (.., Some(label), _) => {
                let known = input.as_object().is_some_and(|map| map.keys().all(|key| key == OF));
                if !known {
                    return Err(self.wrong("has an input that no gate takes").hint("it may only be `of`, a node"));
                }
                Work::Gate { label, of: self.of() }
            }
            (.., Some(name)) => Work::Script(name),
            _ => return Err(self.wrong("has no work")),
        };
        Ok(work)
    }

    /// The call that is all of the node's work and needs nothing of other nodes; none if there is no such call.
    pub fn call(&self) -> Result<Option<Call>, Error> {
        Ok(match self.work()? {
            Work::Adapter { tool, input } => Some(Call::DtaRun { tool: tool.to_owned(), input }),
            Work::Edit(edit) => Some(Call::EditMake(edit)),
            Work::Exec(run) => Some(Call::ExecRun(run)),
            Work::Proposal { .. } | Work::Gate { .. } | Work::Agent { .. } | Work::Script(_) => None,
        })
    }

    /// The node whose proposal the input names.
    pub fn of(&self) -> Option<&str> {
        self.input.as_ref()?.get(OF)?.as_str()
    }

    /// An error about this node.
    pub fn wrong(&self, what: &str) -> Error {
        Error::new(Code::InvalidInput, format!("the node `{}` {what}", self.id.escape_debug()))
            .detail("node", &*self.id)
    }

    /// The input with the parts that stand beside it, as arguments of a call.
    fn read<T: for<'d> Deserialize<'d>>(&self, mut input: Value, beside: &Value) -> Result<T, Error> {
        for (key, value) in beside.as_object().into_iter().flatten() {
            if input.get(key).is_some() {
                return Err(self.wrong(&format!("has `{key}` twice: it does not belong into the input")));
            }
            input[key] = value.clone();
        }
        serde_json::from_value(input).map_err(|error| self.wrong(&format!("has an input that can't be used: {error}")))
    }
}

fn yes() -> bool {
    true
}
