//! The commitments in a record, for reports and listings.

use super::outcome::Commitment;
use record::{
    Record,
    event::{CommitmentMade, Event},
};

/// The commitments of a run in the order in which they were made, each with what was last seen of it.
pub fn commitments(records: &[Record]) -> Vec<Commitment> {
    let mut all: Vec<Commitment> = Vec::new();
    for record in records {
        match &record.event {
            Event::CommitmentMade(made) => all.push(Commitment::made(made)),
            Event::CommitmentVerified(seen) => {
                if let Some(one) = all.iter_mut().find(|one| one.id == seen.id) {
                    one.ok = Some(seen.ok);
                    one.reason = Some(seen.reason.clone());
                    one.output.clone_from(&seen.volatile.output);
                    one.duration_ms = seen.volatile.duration_ms;
                }
            }
            // A run that goes on looks at all of them again.
            Event::RunResumed(_) => all.iter_mut().for_each(forget),
            _ => {}
        }
    }
    all
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
    /// The commitment that a record makes. Nobody has looked yet.
    pub(super) fn made(made: &CommitmentMade) -> Self {
        Commitment {
            id: made.id.clone(),
            source: made.source,
            description: made.description.clone(),
            agent: made.agent.clone(),
            ok: None,
            reason: None,
            output: None,
            duration_ms: None,
        }
    }

    /// Summarizes the commitment in one line for people.
    pub fn sentence(&self) -> String {
        let seen = match self.ok {
            Some(true) => "holds",
            Some(false) => "does NOT hold",
            None => "was not looked at",
        };
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        base::text::escape(&format!("{} {seen}: {}{reason}", self.id, self.description))
    }
}
