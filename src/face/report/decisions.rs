//! The decisions on a run: those of gates, and the answers to confirmations.

use super::{
    format::some_text,
    material::Material,
    model::{Confirmation, Decision},
};
use base::hash::Sha256;
use gate::GateResult;
use record::{
    Record,
    event::{self, Event, Question, Shown},
};

/// The decisions of gates other than `allow`, each once.
pub(super) fn gates(material: &Material<'_>) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = Vec::new();
    for record in &material.records {
        let results = match &record.event {
            Event::Call(call) => &call.results,
            Event::Judged(judged) => &judged.results,
            _ => continue,
        };
        for decision in said(&record.position, results) {
            if !decisions.contains(&decision) {
                decisions.push(decision);
            }
        }
    }
    // The summary has what was said in places that have no event of their own.
    for decision in material.ended().into_iter().flat_map(|end| said("", &end.violations)) {
        let same = |known: &Decision| Decision { position: String::new(), ..known.clone() } == decision;
        if !decisions.iter().any(same) {
            decisions.push(decision);
        }
    }
    decisions
}

fn said(position: &str, results: &[Shown<GateResult>]) -> Vec<Decision> {
    let objects = |result: &&GateResult| result.decision != gate::Decision::Allow;
    let results = results.iter().filter_map(Shown::exact).filter(objects);
    let decision = |result: &GateResult| Decision {
        position: position.to_owned(),
        decision: result.decision.as_str().to_owned(),
        gate: result.gate_name.clone(),
        reason: result.reason.clone(),
        remediation: result.remediation.clone().filter(|text| !text.is_empty()),
    };
    results.map(decision).collect()
}

/// The confirmations in the order in which the run asked for them, each with its last status.
pub(super) fn confirmations(material: &Material<'_>) -> Vec<Confirmation> {
    let mut confirmations: Vec<Confirmation> = Vec::new();
    for record in &material.records {
        let Some((status, data)) = record.event.confirmation() else { continue };
        let id = data.id.as_str();
        // One that is used may be named by what it is about alone.
        let same = |known: &&mut Confirmation| known.id == id || (id.is_empty() && known.subject == data.subject);
        let confirmation = match confirmations.iter_mut().rfind(same) {
            Some(known) => known,
            None => {
                confirmations.push(asked(material, record, data));
                let Some(new) = confirmations.last_mut() else { continue };
                new
            }
        };
        status.as_str().clone_into(&mut confirmation.status);
        confirmation.at.clone_from(&record.at);
        confirmation.by = said_text(data.by.as_ref()).or(confirmation.by.take());
        confirmation.reason = said_text(data.reason.as_ref()).or(confirmation.reason.take());
        confirmation.shown_by = proof(data).or(confirmation.shown_by.take());
    }
    confirmations
}

/// A text that says something.
fn said_text(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

/// How whoever answered showed who they are.
fn proof(data: &event::Confirmation) -> Option<String> {
    let proof = said_text(data.proof.as_ref())?;
    Some(said_text(data.fingerprint.as_ref()).map_or_else(|| proof.clone(), |key| format!("{proof} of {key}")))
}

/// A confirmation, from its first event and its file.
fn asked(material: &Material<'_>, record: &Record, data: &event::Confirmation) -> Confirmation {
    let file = material.confirmation(&data.id);
    let said = |said: Option<String>, key: &str| said_text(said.as_ref()).or_else(|| some_text(&file[key]));
    let hash = |hash: &Option<Shown<Sha256>>| hash.as_ref().map(Shown::text);
    Confirmation {
        id: data.id.clone(),
        label: said(Some(data.label.clone()), "label").unwrap_or_default(),
        position: record.position.clone(),
        subject: said(Some(data.subject.clone()), "subject").unwrap_or_default(),
        patch_sha256: said(hash(&data.patch_sha256), "patch_sha256").unwrap_or_default(),
        policy_sha256: said(hash(&data.policy_sha256), "policy_sha256").unwrap_or_default(),
        files: file["files"].as_array().map_or(0, Vec::len),
        expires_at: some_text(&file["expires_at"]),
        ..Confirmation::default()
    }
}

/// The labels of the confirmations that a dry run would have asked for. A remark marks those that would be refused.
pub(super) fn would_ask(material: &Material<'_>) -> Vec<String> {
    let asked = material.ended().into_iter().flat_map(|end| &end.would_ask);
    let label = |question: &Question| match question.refused {
        true => format!("{} (nobody is asked here, so that it would be refused)", question.label),
        false => question.label.clone(),
    };
    asked.map(label).collect()
}
