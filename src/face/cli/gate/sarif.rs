//! The findings of gates as SARIF.

use serde_json::Value;

use crate::face::cli::sarif::{self, Hit};
use gate::{Decision, Finding, Gate};

/// Makes one SARIF run over some files: each with a gate and its findings.
pub(super) fn document<'a>(found: impl Iterator<Item = (&'a str, &'a dyn Gate, &'a [Finding])>) -> Value {
    sarif::document(found.flat_map(|(path, gate, findings)| findings.iter().map(move |one| hit(path, gate, one))))
}

fn hit<'a>(path: &'a str, gate: &dyn Gate, finding: &'a Finding) -> Hit<'a> {
    // It is permitted beside the finding, or by the policy.
    let is_inline = || finding.reason.ends_with(&format!("nrv:allow-secret {}", finding.rule));
    Hit {
        path: Some(path),
        rule: format!("{}/{}", gate.name(), finding.rule),
        doc: gate.doc().to_owned(),
        help: finding.remediation.clone(),
        message: &finding.reason,
        level: level(finding.decision),
        place: finding.place.as_ref().map(|place| (place.line.into(), place.column.into())),
        end_line: None,
        suppressed: match finding.decision {
            Decision::Allow if is_inline() => Some("inSource"),
            Decision::Allow => Some("external"),
            Decision::Warn | Decision::RequireConfirmation | Decision::Block => None,
        },
    }
}

fn level(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "note",
        Decision::Warn => "warning",
        Decision::RequireConfirmation | Decision::Block => "error",
    }
}
