//! What a record says of commitments, for reports and listings.

use serde_json::Value;

use super::Commitment;
use crate::record::Record;

/// The kind of record that makes one.
pub(super) const MADE: &str = "commitment_made";

/// The kind of record that says what was seen of one.
pub(super) const VERIFIED: &str = "commitment_verified";

/// The commitments of a run in the order in which they were made, each with what was last seen of it.
pub fn commitments(records: &[Record]) -> Vec<Commitment> {
    let mut all: Vec<Commitment> = Vec::new();
    for record in records {
        match record.kind.as_str() {
            MADE => all.extend(made(record)),
            VERIFIED => {
                if let Some(one) = all.iter_mut().find(|one| record.data["id"] == one.id.as_str()) {
                    one.ok = record.data["ok"].as_bool();
                    one.reason = text(&record.data["reason"]);
                    one.output = text(&record.volatile["output"]);
                    one.duration_ms = record.volatile["duration_ms"].as_u64();
                }
            }
            // A run that goes on looks at all of them again.
            "run_resumed" => all.iter_mut().for_each(forget),
            _ => {}
        }
    }
    all
}

/// The commitment that a record makes.
pub(super) fn made(record: &Record) -> Option<Commitment> {
    let data = &record.data;
    Some(Commitment {
        id: text(&data["id"])?,
        source: serde_json::from_value(data["source"].clone()).ok()?,
        description: text(&data["description"])?,
        ok: None,
        reason: None,
        output: None,
        duration_ms: None,
    })
}

fn forget(one: &mut Commitment) {
    (one.ok, one.reason, one.output, one.duration_ms) = (None, None, None, None);
}

/// How many commitments hold, as a sentence; none if none was looked at.
pub fn count_sentence(commitments: &[Commitment]) -> Option<String> {
    let looked_at = commitments.iter().any(|one| one.ok.is_some());
    let holding = commitments.iter().filter(|one| one.ok == Some(true)).count();
    looked_at.then(|| match (holding, commitments.len()) {
        (1, 1) => "The commitment holds.".to_owned(),
        (0, 1) => "The commitment does not hold.".to_owned(),
        (holding, all) if holding == all => format!("All {all} commitments hold."),
        (1, all) => format!("1 of {all} commitments holds."),
        (holding, all) => format!("{holding} of {all} commitments hold."),
    })
}

impl Commitment {
    /// What a person wants to know, in one line.
    pub fn sentence(&self) -> String {
        let seen = match self.ok {
            Some(true) => "holds",
            Some(false) => "does NOT hold",
            None => "was not looked at",
        };
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        crate::base::text::escape(&format!("{} {seen}: {}{reason}", self.id, self.description))
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
