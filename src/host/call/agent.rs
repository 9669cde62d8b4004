//! Agents at the door: they are summoned, promise, say that they are done, and are dismissed.
//!
//! The host believes no agent. When one says that it is done, the host looks at all of its commitments, in processes of their own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    Commitment, Event, Position, Sink,
    agents::{Agent, AgentState, DISMISSED, Registry},
    commitment::Pledges,
};
use base::{
    call::{Call, Promise, Summon},
    error::{Code, Error},
    seed::Stream,
};

/// Names of agents that nobody has named, in their order. After the last, a number follows.
const NAMES: &[&str] = &[
    "Ada", "Basil", "Clara", "Dara", "Edwin", "Fay", "Gil", "Hedda", "Ivo", "Juno", "Kit", "Lena", "Milo", "Nora",
    "Otto", "Pia", "Quinn", "Rosa", "Silas", "Tess", "Uma", "Vera", "Wim", "Xenia", "Yara", "Zeno",
];

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// The agents of a run, with what it takes to look at their commitments.
pub(crate) struct Agents<'s, 'a> {
    pub(crate) pledges: Pledges<'s, 'a>,
    pub(crate) registry: &'s Registry,
    pub(crate) position: &'s Position,
    pub(crate) sink: &'s mut dyn Sink,
}

impl Agents<'_, '_> {
    /// Answers a call `agent.*`.
    pub(crate) fn answer(&mut self, call: &Call) -> Result<Value, Error> {
        match call {
            Call::AgentSummon(summon) => self.summon(summon),
            Call::AgentList {} => Ok(self.registry.living().map(|agent| json!(agent)).collect()),
            Call::AgentGet { id } => Ok(json!(self.registry.find(id)?)),
            Call::AgentCommit { id, commitment } => self.commit(id, commitment),
            Call::AgentReport { id } => self.report(id),
            Call::AgentDismiss { id } => self.dismiss(id),
            Call::AgentAct { id } => self.act(id),
            Call::AgentRest { .. } if !self.registry.is_acted_for() => {
                Err(Error::new(Code::InvalidInput, "no agent acts").hint("`agent.act` comes first"))
            }
            _ => Ok(Value::Null),
        }
    }

    /// Summons an agent. Each of its commitments has to be one that can be looked at.
    fn summon(&mut self, summon: &Summon) -> Result<Value, Error> {
        let parent = self.parent(summon)?.cloned();
        let name = match &summon.name {
            Some(name) => self.free(name)?,
            None => self.unused(),
        };
        let tools = tools(summon, parent.as_ref())?;
        let id = self.id();
        let mut commitments = Vec::new();
        for promise in &summon.commitments {
            commitments.push(self.pledges.add_promise(self.position, &id, promise)?);
        }
        let state = if summon.assignment.is_some() { AgentState::Working } else { AgentState::Idle };
        let agent = Agent {
            id,
            name,
            state,
            assignment: summon.assignment.clone(),
            parent: parent.map(|parent| parent.id),
            tools,
            model: summon.model.clone(),
            commitments,
            budget: summon.budget.unwrap_or_default(),
            ..Agent::default()
        };
        self.tell(&agent, Event::AgentSummoned { agent: agent.clone() });
        if state == AgentState::Working {
            self.sink.event(Event::AgentWorking { agent: agent.clone() });
        }
        Ok(json!(agent))
    }

    /// The agent that summons: the one that acts, else the one that is named.
    fn parent(&self, summon: &Summon) -> Result<Option<&Agent>, Error> {
        let acting = self.registry.acting();
        match (&summon.parent, acting) {
            (Some(id), Some(acting)) if *id != acting.id => {
                Err(Error::new(Code::PermissionDenied, format!("the agent `{}` summons for itself alone", acting.name)))
            }
            (Some(id), None) => self.registry.find(id).map(Some),
            (_, acting) => Ok(acting),
        }
    }

    /// A name that none of the living has.
    fn free(&self, name: &str) -> Result<String, Error> {
        if name.trim().is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) {
            let message = format!("`{}` is no name of an agent", name.escape_debug());
            return Err(
                Error::new(Code::InvalidInput, message).hint(format!("a name has 1 to {LONGEST} bytes in one line"))
            );
        }
        if self.registry.living().any(|agent| agent.name == name) {
            return Err(Error::new(Code::InvalidInput, format!("an agent is named `{name}` already"))
                .hint("choose another name, or leave it out"));
        }
        Ok(name.to_owned())
    }

    /// A name that nobody has had.
    fn unused(&self) -> String {
        let is_taken = |name: &str| self.registry.all().iter().any(|agent| agent.name == name);
        let names = (1_u64..).flat_map(|round| {
            NAMES.iter().map(move |name| if round == 1 { (*name).to_owned() } else { format!("{name} {round}") })
        });
        names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// A UUID of version 4 from the run's seed, another one for each agent.
    fn id(&self) -> String {
        let mut stream = Stream::new(self.pledges.run.seed, "agents");
        let number = self.registry.all().len();
        let words = (0..=number).map(|_| [stream.next_u64(), stream.next_u64()]).last().unwrap_or_default();
        let [high, low] = words;
        let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
        let text = format!("{high:016x}{low:016x}");
        [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
    }

    fn commit(&mut self, id: &str, promise: &Promise) -> Result<Value, Error> {
        let agent = self.registry.find(id)?;
        self.own(agent, "adds commitments to itself and to those that it summoned")?;
        if agent.state == AgentState::Done || agent.state == AgentState::Finished {
            return Err(has_ended(agent));
        }
        self.pledges.add_promise(self.position, id, promise).map(Value::from)
    }

    /// Looks at all commitments of an agent that says that it is done.
    fn report(&mut self, id: &str) -> Result<Value, Error> {
        let agent = self.registry.find(id)?.clone();
        if self.registry.acting().is_some_and(|acting| acting.id != agent.id) {
            return Err(Error::new(Code::PermissionDenied, "an agent says of itself alone that it is done"));
        }
        if agent.state == AgentState::Done || agent.state == AgentState::Finished {
            return Err(has_ended(&agent));
        }
        let children = self.registry.living().filter(|child| child.parent.as_ref() == Some(&agent.id));
        let open: Vec<&str> =
            children.filter(|child| child.state == AgentState::Working).map(|child| child.name.as_str()).collect();
        if !open.is_empty() {
            let message = format!("`{}` has summoned agents that still work: {}", agent.name, open.join(", "));
            return Err(Error::new(Code::InvalidInput, message).hint("wait for them, or dismiss them"));
        }
        let verifying = Agent { state: AgentState::Verifying, ..agent };
        self.sink.event(Event::AgentVerifying { agent: verifying.clone() });
        let dismissed = self.pledges.run.context.options.agents.clone();
        let told = self.pledges.look_at_those_of(Some(id), &mut || dismissed.is_dismissed(id), self.sink)?;
        let all = told.len() == verifying.commitments.len();
        let holds = all && told.iter().all(|one| one.ok == Some(true));
        let state = match () {
            () if dismissed.is_dismissed(id) => {
                self.tell(&verifying, Event::AgentDismissed { agent: verifying.clone() });
                let message = format!("the agent `{}` was dismissed", verifying.name);
                return Err(Error::new(Code::NotFound, message).detail(DISMISSED, id));
            }
            () if !holds => AgentState::Working,
            () if told.is_empty() => AgentState::Finished,
            () => AgentState::Done,
        };
        let agent = Agent { state, ..verifying };
        self.sink.event(match state {
            AgentState::Working => Event::AgentWorking { agent },
            _ => Event::AgentDone { agent },
        });
        let row = |one: &Commitment| json!({"id": one.id, "description": one.description, "ok": one.ok, "reason": one.reason});
        Ok(json!({"state": state, "commitments": told.iter().map(row).collect::<Vec<_>>()}))
    }

    fn dismiss(&mut self, id: &str) -> Result<Value, Error> {
        if !is_uuid(id) {
            return Err(Error::new(Code::InvalidInput, format!("`{}` is no id of an agent", id.escape_debug()))
                .hint("an id is a UUID, as `agent.summon` gives it"));
        }
        let agent = self.registry.find(id)?.clone();
        let is_child = |acting: &Agent| agent.parent.as_ref() == Some(&acting.id);
        if let Some(acting) = self.registry.acting().filter(|acting| !is_child(acting)) {
            let message = format!("the agent `{}` dismisses those alone that it has summoned", acting.name);
            return Err(Error::new(Code::PermissionDenied, message).detail("agent", &*acting.id));
        }
        let agent = Agent { state: AgentState::Dismissed, ..agent };
        self.tell(&agent, Event::AgentDismissed { agent: agent.clone() });
        Ok(json!({"id": agent.id, "name": agent.name, "state": agent.state}))
    }

    fn act(&mut self, id: &str) -> Result<Value, Error> {
        let agent = self.registry.find(id)?;
        if let Some(acting) = self.registry.acting() {
            let message = format!("the agent `{}` acts already", acting.name);
            return Err(Error::new(Code::InvalidInput, message).hint("`agent.rest` ends its calls"));
        }
        match agent.state {
            AgentState::Idle => {
                self.sink.event(Event::AgentWorking { agent: Agent { state: AgentState::Working, ..agent.clone() } });
                Ok(Value::Null)
            }
            AgentState::Working => Ok(Value::Null),
            _ => Err(has_ended(agent)),
        }
    }

    /// Refuses what the agent that acts does to another one than itself and those that it summoned.
    fn own(&self, agent: &Agent, may: &str) -> Result<(), Error> {
        let Some(acting) = self.registry.acting() else { return Ok(()) };
        if acting.id == agent.id || agent.parent.as_ref() == Some(&acting.id) {
            return Ok(());
        }
        Err(Error::new(Code::PermissionDenied, format!("the agent `{}` {may}", acting.name))
            .detail("agent", &*acting.id))
    }

    /// Tells of an agent that came or went: the faces of the run, and the program.
    fn tell(&mut self, agent: &Agent, event: Event) {
        let callbacks = &self.pledges.run.context.options.agents;
        match &event {
            Event::AgentDismissed { .. } => callbacks.dismissed(agent),
            _ => callbacks.summoned(agent),
        }
        self.sink.event(event);
    }
}

/// The tools of a new agent: no more than its parent has.
fn tools(summon: &Summon, parent: Option<&Agent>) -> Result<Option<BTreeSet<String>>, Error> {
    let Some(named) = &summon.tools else { return Ok(parent.and_then(|parent| parent.tools.clone())) };
    if let Some(parent) = parent
        && let Some(lacking) = named.iter().find(|tool| !parent.has(tool))
    {
        let message = format!("`{}` has no tool `{lacking}`, so that an agent that it summons has none", parent.name);
        return Err(Error::new(Code::PermissionDenied, message).detail("agent", &*parent.id));
    }
    Ok(Some(named.iter().cloned().collect()))
}

fn has_ended(agent: &Agent) -> Error {
    let message = format!("the agent `{}` is {} already", agent.name, agent.state.as_str());
    Error::new(Code::InvalidInput, message).detail("agent", &*agent.id).hint("summon another one for more work")
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
