//! Refusals: the places that are in doubt, and the error that lists them with its remedies.

use std::collections::BTreeSet;

use super::{
    page::Page,
    remedy::{self, Remedy},
    world::World,
};
use crate::contract::Finding;
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use format::name::{
    facts::{Against, Obstacle},
    token::Token,
};

/// The kind of a place that the new name would collide with.
pub(super) const TAKEN: &str = "collision";

/// The kind of a place that syntax does not tell.
pub(super) const UNKNOWN: &str = "unknown";

/// The kind of a place that means another thing.
pub(super) const MEANING: &str = "other_meaning";

/// The kind of a place outside of the target.
pub(super) const OUTSIDE: &str = "outside";

/// The reason against a new name at a string that is the name.
const NAMED: &str = "a string names it";

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
    remedies: BTreeSet<Remedy>,
    /// The strings of the target that certainly look the thing up.
    look_ups: usize,
}

/// The detail of an error that no engine may overrule.
const LASTING: &str = "lasting";

/// True for a refusal that no engine may overrule.
pub(super) fn is_lasting(error: &Error) -> bool {
    error.details().contains_key(LASTING)
}

/// The way out of a doubt of a kind; none if its reason tells more.
fn of_kind(kind: &str) -> Option<Remedy> {
    match kind {
        OUTSIDE => Some(Remedy::Glob),
        TAKEN => Some(Remedy::Name),
        MEANING | UNKNOWN => Some(Remedy::Server),
        _ => None,
    }
}

/// A finding in a file that is not read as code.
pub(super) fn of_file(path: RepoPath, line: Option<u64>, kind: &str, reason: String) -> Finding {
    Finding { path, line, place: String::new(), kind: kind.to_owned(), reason, candidates: Vec::new() }
}

/// A finding at a place of a file.
pub(super) fn finding(page: &Page, at: usize, kind: &str, reason: &str) -> Finding {
    let line = page.text[..at].rfind('\n').map_or(0, |end| end + 1);
    let column = page.text[line..at].chars().count() + 1;
    let found = of_file(page.path.clone(), Some(page.line(at)), kind, reason.to_owned());
    Finding { place: format!("column {column}"), ..found }
}

impl Refusal {
    /// Adds a place.
    pub(super) fn add(&mut self, page: &Page, at: usize, (kind, reason): (&str, &str)) {
        self.remedies.extend(of_kind(kind));
        self.findings.push(finding(page, at, kind, reason));
    }

    /// Adds one of several things that have the name.
    pub(super) fn add_choice(&mut self, page: &Page, at: usize, reason: &str) {
        self.remedies.insert(Remedy::Place);
        self.findings.push(finding(page, at, MEANING, reason));
    }

    /// Adds a string by which code may look for the thing; `is_certain` is true if it can mean nothing else.
    pub(super) fn add_string(&mut self, page: &Page, token: &Token, is_certain: bool) {
        self.remedies.insert(Remedy::Strings);
        self.look_ups += usize::from(page.is_target && is_certain);
        self.findings.push(finding(page, token.range.start, UNKNOWN, NAMED));
    }

    /// As [`Refusal::add_string`]; no engine may overrule it.
    pub(super) fn add_lasting_string(&mut self, page: &Page, token: &Token, is_certain: bool) {
        self.is_lasting = true;
        self.add_string(page, token, is_certain);
    }

    /// Adds the reason against a name of a binding.
    pub(super) fn add_obstacle(&mut self, page: &Page, obstacle: &Obstacle) {
        match obstacle.against {
            Against::NewName => self.add_lasting(page, obstacle.at, (TAKEN, &obstacle.reason)),
            Against::AnyName => self.add_lasting(page, obstacle.at, (UNKNOWN, &obstacle.reason)),
            Against::Unclear => self.add(page, obstacle.at, (UNKNOWN, &obstacle.reason)),
        }
    }

    /// Adds a place that no engine may overrule.
    pub(super) fn add_lasting(&mut self, page: &Page, at: usize, (kind, reason): (&str, &str)) {
        self.is_lasting = true;
        self.remedies.extend(of_kind(kind).filter(|remedy| *remedy != Remedy::Server));
        self.findings.push(finding(page, at, kind, reason));
    }

    /// Adds a place of a text that has to get the new name by hand.
    pub(super) fn add_text(&mut self, page: &Page, at: usize, reason: &str) {
        self.remedies.insert(Remedy::Text);
        self.add_lasting(page, at, (UNKNOWN, reason));
    }

    /// True if nothing is in doubt.
    pub(super) fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a file, which no engine may overrule.
    pub(super) fn add_file(&mut self, path: &str, (kind, reason): (&str, &str)) -> Result<(), Error> {
        self.add_finding(of_file(RepoPath::parse(path)?, None, kind, reason.to_owned()));
        Ok(())
    }

    /// Adds files, which no engine may overrule.
    pub(super) fn add_files(&mut self, paths: Vec<RepoPath>, what: (&str, &str)) -> Result<(), Error> {
        paths.iter().try_for_each(|path| self.add_file(path, what))
    }

    /// Adds places of the name that no engine may overrule.
    pub(super) fn add_tokens<'p>(&mut self, tokens: impl Iterator<Item = (&'p Page, &'p Token)>, what: (&str, &str)) {
        tokens.for_each(|(page, token)| self.add_lasting(page, token.range.start, what));
    }

    /// Adds a place of a file that need not hold the name.
    pub(super) fn add_place(
        &mut self,
        world: &World<'_>,
        (path, at): (&str, usize),
        what: (&str, &str),
    ) -> Result<(), Error> {
        match world.page(path) {
            Some(page) => self.add_lasting(page, at, what),
            None => self.add_file(path, what)?,
        }
        Ok(())
    }

    /// Adds a file that no engine parses, and that has to get the new name by hand.
    pub(super) fn add_unread(&mut self, finding: Finding) {
        self.remedies.insert(Remedy::Text);
        self.add_finding(finding);
    }

    fn add_finding(&mut self, finding: Finding) {
        self.is_lasting = true;
        self.findings.push(finding);
    }

    /// An error if anything is in doubt.
    pub(super) fn check(self, world: &World<'_>) -> Result<(), Error> {
        let Refusal { mut findings, is_lasting, remedies, look_ups } = self;
        let (from, to) = world.names();
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
        // No server knows more about a lasting reason.
        let is_open = |finding: &&Finding| !is_lasting && of_kind(&finding.kind) == Some(Remedy::Server);
        let open: Vec<&str> = findings.iter().filter(is_open).map(|finding| finding.path.as_str()).collect();
        let error = Error::new(Code::VerificationFailed, message)
            .detail("places", findings.len() as u64)
            .detail("findings", list)
            .hint(remedy::hint(world, &remedies, &open, look_ups));
        Err(if is_lasting { error.detail(LASTING, true) } else { error })
    }
}

/// The error of a single place.
pub(super) fn refuse(page: &Page, at: usize, what: (&str, &str), world: &World<'_>) -> Error {
    let mut refusal = Refusal::default();
    refusal.add(page, at, what);
    match refusal.check(world) {
        Err(error) => error,
        Ok(()) => Error::new(Code::Internal, "a refusal has no place"),
    }
}
