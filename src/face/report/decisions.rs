//! What was decided: by gates, and by whoever was asked.

use serde_json::Value;

use super::{
    format::{some_text, text},
    material::Material,
    model::{Confirmation, Decision},
};
use crate::record::Record;

/// What gates said that is not plain permission, each once.
pub(super) fn gates(material: &Material<'_>) -> Vec<Decision> {
    let judges = |record: &&Record| matches!(record.kind.as_str(), "call" | "judged");
    let mut decisions: Vec<Decision> = Vec::new();
    for record in material.records.iter().filter(judges) {
        for decision in said(&record.position, &record.data["results"]) {
            if !decisions.contains(&decision) {
                decisions.push(decision);
            }
        }
    }
    // The summary has what was said in places that have no event of their own.
    for decision in said("", &material.ended()["violations"]) {
        let same = |known: &Decision| Decision { position: String::new(), ..known.clone() } == decision;
        if !decisions.iter().any(same) {
            decisions.push(decision);
        }
    }
    decisions
}

fn said(position: &str, results: &Value) -> Vec<Decision> {
    let objects = |result: &&Value| result["decision"] != "allow";
    let results = results.as_array().into_iter().flatten().filter(objects);
    let decision = |result: &Value| Decision {
        position: position.to_owned(),
        decision: text(&result["decision"]),
        gate: text(&result["gate_name"]),
        reason: text(&result["reason"]),
        remediation: some_text(&result["remediation"]),
    };
    results.map(decision).collect()
}

/// What was to be confirmed, in the order in which it was asked, each with what came of it.
pub(super) fn confirmations(material: &Material<'_>) -> Vec<Confirmation> {
    let mut confirmations: Vec<Confirmation> = Vec::new();
    for record in &material.records {
        let Some(status) = record.kind.strip_prefix("confirmation_") else { continue };
        let data = &record.data;
        let (id, subject) = (text(&data["id"]), text(&data["subject"]));
        // One that is used may be named by what it is about alone.
        let same = |known: &&mut Confirmation| known.id == id || (id.is_empty() && known.subject == subject);
        let confirmation = match confirmations.iter_mut().rfind(same) {
            Some(known) => known,
            None => {
                confirmations.push(asked(material, &id, record));
                let Some(new) = confirmations.last_mut() else { continue };
                new
            }
        };
        status.clone_into(&mut confirmation.status);
        confirmation.at.clone_from(&record.at);
        confirmation.by = some_text(&data["by"]).or(confirmation.by.take());
        confirmation.reason = some_text(&data["reason"]).or(confirmation.reason.take());
        confirmation.shown_by = proof(data).or(confirmation.shown_by.take());
    }
    confirmations
}

/// How whoever answered showed who they are.
fn proof(data: &Value) -> Option<String> {
    let proof = some_text(&data["proof"])?;
    Some(some_text(&data["fingerprint"]).map_or_else(|| proof.clone(), |key| format!("{proof} of {key}")))
}

/// What was asked, from the event and the confirmation's file.
fn asked(material: &Material<'_>, id: &str, record: &Record) -> Confirmation {
    let file = material.confirmation(id);
    let said = |key: &str| some_text(&record.data[key]).or_else(|| some_text(&file[key]));
    Confirmation {
        id: id.to_owned(),
        label: said("label").unwrap_or_default(),
        position: record.position.clone(),
        subject: said("subject").unwrap_or_default(),
        patch_sha256: said("patch_sha256").unwrap_or_default(),
        policy_sha256: said("policy_sha256").unwrap_or_default(),
        files: file["files"].as_array().map_or(0, Vec::len),
        expires_at: said("expires_at"),
        ..Confirmation::default()
    }
}

/// What a dry run would have asked.
pub(super) fn would_ask(material: &Material<'_>) -> Vec<String> {
    let asked = material.ended()["would_ask"].as_array().into_iter().flatten();
    let label = |question: &Value| match question["refused"] == true {
        true => format!("{} (nobody is asked here, so that it would be refused)", text(&question["label"])),
        false => text(&question["label"]),
    };
    asked.map(label).collect()
}
