//! Refusals: the places that are in doubt, and the error that lists them.

use super::page::Page;
use crate::contract::Finding;
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// The kind of a place that the new name would collide with.
pub(super) const TAKEN: &str = "collision";

/// The kind of a place that syntax does not tell.
pub(super) const UNKNOWN: &str = "unknown";

/// The number of places in a message.
const IN_MESSAGE: usize = 3;

/// The number of places in the details of an error.
const IN_DETAILS: usize = 100;

/// Places that are in doubt, each with the reason.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    findings: Vec<Finding>,
    /// True if no engine may overrule it.
    is_lasting: bool,
}

/// The detail of an error that no engine may overrule.
const LASTING: &str = "lasting";

/// True for a refusal that no engine may overrule.
pub(super) fn is_lasting(error: &Error) -> bool {
    error.details().contains_key(LASTING)
}

/// A finding at a place of a file.
pub(super) fn finding(page: &Page, at: usize, kind: &str, reason: &str) -> Finding {
    let line = page.text[..at].rfind('\n').map_or(0, |end| end + 1);
    let column = page.text[line..at].chars().count() + 1;
    Finding {
        path: page.path.clone(),
        line: Some(page.line(at)),
        place: format!("column {column}"),
        kind: kind.to_owned(),
        reason: reason.to_owned(),
        candidates: Vec::new(),
    }
}

impl Refusal {
    /// Adds a place.
    pub(super) fn add(&mut self, page: &Page, at: usize, (kind, reason): (&str, &str)) {
        self.findings.push(finding(page, at, kind, reason));
    }

    /// Adds a place that no engine may overrule.
    pub(super) fn add_lasting(&mut self, page: &Page, at: usize, what: (&str, &str)) {
        self.is_lasting = true;
        self.add(page, at, what);
    }

    /// True if nothing is in doubt.
    pub(super) fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a file, which no engine may overrule.
    pub(super) fn add_file(&mut self, path: &str, (kind, reason): (&str, &str)) -> Result<(), Error> {
        let path = RepoPath::parse(path)?;
        let (kind, reason) = (kind.to_owned(), reason.to_owned());
        self.add_finding(Finding { path, line: None, place: String::new(), kind, reason, candidates: Vec::new() });
        Ok(())
    }

    /// Adds a finding that no engine may overrule.
    pub(super) fn add_finding(&mut self, finding: Finding) {
        self.is_lasting = true;
        self.findings.push(finding);
    }

    /// An error if anything is in doubt.
    pub(super) fn check(self, (from, to): (&str, &str)) -> Result<(), Error> {
        let Refusal { mut findings, is_lasting } = self;
        findings.sort();
        findings.dedup();
        if findings.is_empty() {
            return Ok(());
        }
        let shown = findings.iter().take(IN_MESSAGE).map(|finding| {
            let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
            format!("`{}`{line}: {}", finding.path, finding.reason)
        });
        let shown = shown.collect::<Vec<_>>().join("; ");
        let mut message = format!("`{from}` can't be renamed to `{to}` with certainty: {shown}");
        if let more @ 1.. = findings.len().saturating_sub(IN_MESSAGE) {
            message.push_str(&format!("; and {more} more"));
        }
        let list: Vec<serde_json::Value> =
            findings.iter().take(IN_DETAILS).filter_map(|finding| serde_json::to_value(finding).ok()).collect();
        let hint = "name one thing by `params.scope` with path, line and column, widen the globs, or choose another name; \
            nothing was changed";
        let error = Error::new(Code::VerificationFailed, message)
            .detail("places", findings.len() as u64)
            .detail("findings", list)
            .hint(hint);
        Err(if is_lasting { error.detail(LASTING, true) } else { error })
    }
}

/// The error of a single place.
pub(super) fn refuse(page: &Page, at: usize, what: (&str, &str), names: (&str, &str)) -> Error {
    let mut refusal = Refusal::default();
    refusal.add(page, at, what);
    match refusal.check(names) {
        Err(error) => error,
        Ok(()) => Error::new(Code::Internal, "a refusal has no place"),
    }
}
