//! Who replied to the run's requests, models or a record of replies, and what that took.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    format::{count, millionths, number, some_text, text},
    material::Material,
    model::Asked,
};
use crate::record::Record;

/// What tells the rows apart: provider, model, label, and whether the reply was recorded.
type Who = (String, String, Option<String>, bool);

/// Each model, or record of its replies, that was asked.
pub(super) fn of(material: &Material<'_>) -> Vec<Asked> {
    let sent: BTreeMap<&str, &Value> =
        material.of("llm_sent").map(|record| (record.position.as_str(), &record.data)).collect();
    let mut asked: BTreeMap<Who, Asked> = BTreeMap::new();
    for record in material.of("call") {
        let Some(who) = who(record, sent.get(record.position.as_str()).copied()) else { continue };
        let (provider, model, label, recorded) = who.clone();
        let none = Asked { provider, model, label, recorded, requests: 0, failed: 0, tokens: 0, cost: 0 };
        let row = asked.entry(who).or_insert(none);
        let cost = |kind: &str| record.data["cost"][kind].as_u64().unwrap_or(0);
        row.requests += 1;
        row.failed += u64::from(record.data["error"].is_object() || record.data["ended"].is_string());
        row.tokens = row.tokens.saturating_add(cost("tokens"));
        row.cost = row.cost.saturating_add(cost("cost"));
    }
    asked.into_values().collect()
}

/// Who answered a call; of one that got no reply, who was asked. None if nobody was.
fn who(record: &Record, sent: Option<&Value>) -> Option<Who> {
    if !matches!(record.data["call"].as_str(), Some("llm.complete" | "llm.stream")) {
        return None;
    }
    let by = &record.data["answered_by"];
    let by = if by.is_object() { by } else { sent? };
    Some((text(&by["provider"]), text(&by["model"]), some_text(&by["label"]), by["from"] == "cassette"))
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

    /// What they took.
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
