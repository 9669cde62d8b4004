//! Who replied to the run's requests, models or a record of replies, and what that took.

use std::collections::BTreeMap;

use super::{
    format::{count, millionths, number},
    material::Material,
    model::Asked,
};
use record::event::{Call, Event, LlmSent};

/// The key of a row: provider, model, label, and whether the reply was recorded.
type Who = (String, String, Option<String>, bool);

/// Each model, or record of its replies, that was asked.
pub(super) fn of(material: &Material<'_>) -> Vec<Asked> {
    let sent = material.of(Event::llm_sent).map(|(record, sent)| (record.position.as_str(), sent));
    let sent: BTreeMap<&str, &LlmSent> = sent.collect();
    let mut asked: BTreeMap<Who, Asked> = BTreeMap::new();
    for (record, call) in material.of(Event::call) {
        let Some(who) = who(call, sent.get(record.position.as_str()).copied()) else { continue };
        let (provider, model, label, recorded) = who.clone();
        let none = Asked { provider, model, label, recorded, requests: 0, failed: 0, tokens: 0, cost: 0 };
        let row = asked.entry(who).or_insert(none);
        let cost = call.cost.unwrap_or_default();
        row.requests += 1;
        row.failed += u64::from(call.error.is_some() || call.ended.is_some());
        row.tokens = row.tokens.saturating_add(cost.tokens);
        row.cost = row.cost.saturating_add(cost.cost);
    }
    asked.into_values().collect()
}

/// Who answered a call; of one that got no reply, who was asked. None if nobody was.
fn who(call: &Call, sent: Option<&LlmSent>) -> Option<Who> {
    if !matches!(call.call.as_str(), "llm.complete" | "llm.stream") {
        return None;
    }
    if let Some(by) = &call.answered_by {
        let (provider, model) = (by.provider.clone().unwrap_or_default(), by.model.clone().unwrap_or_default());
        return Some((provider, model, by.label.clone().filter(|label| !label.is_empty()), by.is_recorded()));
    }
    let sent = sent?;
    Some((sent.provider.clone(), sent.model.clone(), None, sent.is_recorded()))
}

impl Asked {
    /// Where the replies came from.
    pub fn source(&self) -> String {
        told(self.recorded, self.label.as_deref())
    }

    /// How many requests there were, and how many of them failed.
    pub fn counted(&self) -> String {
        let requests = count(self.requests, "request");
        if self.failed == 0 { requests } else { format!("{requests}, {} failed", number(self.failed)) }
    }

    /// The tokens and the cost of the requests, in words.
    pub fn took(&self) -> String {
        let tokens = count(self.tokens, "token");
        if self.cost == 0 { tokens } else { format!("{tokens}, cost {}", millionths(self.cost)) }
    }
}

/// Where a reply came from, in words.
pub(super) fn told(recorded: bool, label: Option<&str>) -> String {
    match (recorded, label) {
        (true, Some(label)) => format!("a recorded reply, `{label}`"),
        (true, None) => "a recorded reply".to_owned(),
        (false, _) => "the model".to_owned(),
    }
}
