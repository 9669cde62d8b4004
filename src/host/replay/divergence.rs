//! The findings of a replay: its first divergence from the record, and the decisions that another policy would change.

use serde::Serialize;
use serde_json::{Value, json};

use base::{
    diff::{self, Side},
    error::{Code, Error, Location},
    path::RepoPath,
};
use gate::{Decision, Explained};

/// In what a replay and its record part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parting {
    /// The script asks for something else.
    Call,
    /// Gates say something else of the call.
    Decision,
    /// Gates say something else of the change.
    Change,
    /// A budget admits what was refused, or refuses what was admitted.
    Budget,
    /// A reply that is computed again differs from the recorded one.
    Reply,
    /// The script asks for more than is recorded.
    Longer,
    /// The script ends before the record does.
    Shorter,
    /// The script ends with another result or error.
    End,
}

/// The first place at which a replay and its record part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// Where in the run; none if it is the end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// In what.
    pub kind: Parting,
    /// A sentence without final period.
    pub reason: String,
    /// Where in the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Location>,
    /// The recorded value; null if the record has none there.
    pub expected: Value,
    /// The present value; null if there is none.
    pub actual: Value,
    /// Both as lines of JSON, compared.
    pub diff: String,
    /// The rules that say now what they say, with where they stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Explained>,
}

impl Divergence {
    /// A divergence with what is expected and what there is.
    pub(super) fn new(kind: Parting, reason: impl Into<String>, expected: Value, actual: Value) -> Self {
        let diff = compare(&expected, &actual);
        let (position, script) = (None, None);
        Divergence { position, kind, reason: reason.into(), script, expected, actual, diff, rules: Vec::new() }
    }

    /// The divergence as an error, whose place is where the script asked.
    pub fn error(&self) -> Error {
        let at = self.position.as_ref().map_or_else(|| "at the end".to_owned(), |at| format!("at position {at}"));
        let mut error = Error::new(Code::Diverged, format!("{at}, {}", self.reason)).detail("kind", json!(self.kind));
        if let Some(position) = &self.position {
            error = error.detail("position", position.as_str());
        }
        if let Some(place) = &self.script {
            error = error.at(place.clone());
        }
        match self.rules.first() {
            Some(rule) => error.hint(format!("rule `{}` of the gate `{}`: {}", rule.rule, rule.gate, rule.source)),
            None => error,
        }
    }
}

/// A decision that is another one under another policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Where in the run.
    pub position: String,
    /// Where in the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Location>,
    /// The call.
    pub call: String,
    /// The subject of the decision.
    pub subject: Judges,
    /// The recorded decision.
    pub was: Decision,
    /// The decision under the policy that is tried.
    pub would: Decision,
    /// The rules that say so; of a decision that would be milder, those that object no more.
    pub rules: Vec<RuleAt>,
}

/// The subject of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judges {
    /// The call.
    Call,
    /// The change that comes of it.
    Change,
    /// The call's use of a budget.
    Budget,
    /// Who confirms.
    Confirmation,
    /// The answer to a question of the script to the gates. The answer stops nothing.
    Answer,
}

/// A rule, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleAt {
    /// The gate; `budget` for a budget.
    pub gate: String,
    /// The rule.
    pub rule: String,
    /// Why, a sentence without final period.
    pub reason: String,
    /// Where the rule stands, in words.
    pub source: String,
    /// The line of the policy's file, if the rule or what follows from it is set there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// How often more it says so of the same subject, such as of further files.
    pub more: usize,
}

impl Difference {
    /// True if something would be stopped that was not.
    pub fn blocks(&self) -> bool {
        self.subject != Judges::Answer && self.would == Decision::Block && self.was < Decision::Block
    }

    /// True if something would be asked that was not.
    pub fn asks(&self) -> bool {
        self.subject != Judges::Answer
            && self.would == Decision::RequireConfirmation
            && self.was < Decision::RequireConfirmation
    }
}

/// Two values as lines of JSON, compared; the lines of texts are lines.
fn compare(expected: &Value, actual: &Value) -> String {
    let [before, after] = [expected, actual].map(lines);
    let [before, after] = [&before, &after].map(|text| Some(Side { bytes: text.as_bytes(), mode: 0o644 }));
    let rendered = RepoPath::parse("value").and_then(|path| diff::render(&path, before, after));
    let patch = rendered.map(|(patch, _)| String::from_utf8_lossy(&patch).into_owned()).unwrap_or_default();
    match patch.find("\n@@") {
        Some(at) => format!("--- recorded\n+++ now\n{}", &patch[at + 1..]),
        None => String::new(),
    }
}

fn lines(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    // A text of many lines is compared line by line.
    text.replace("\\n", "\\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_line_by_line() {
        let text = compare(&json!({"path": "a", "text": "one\ntwo\n"}), &json!({"path": "a", "text": "one\n2\n"}));
        assert!(text.starts_with("--- recorded\n+++ now\n@@"), "{text}");
        assert!(text.contains("-two\\n\n+2\\n\n"), "{text}");
        assert_eq!(compare(&json!(1), &json!(1)), "");
        assert!(compare(&Value::Null, &json!(1)).ends_with("+1\n"));
    }

    #[test]
    fn what_only_answers_a_question_stops_nothing() {
        let difference = |subject, was, would| {
            let (position, call) = ("1".to_owned(), "x".to_owned());
            Difference { position, script: None, call, subject, was, would, rules: Vec::new() }
        };
        assert!(difference(Judges::Call, Decision::Warn, Decision::Block).blocks());
        assert!(!difference(Judges::Answer, Decision::Allow, Decision::Block).blocks());
        assert!(difference(Judges::Change, Decision::Allow, Decision::RequireConfirmation).asks());
        assert!(!difference(Judges::Change, Decision::Block, Decision::RequireConfirmation).asks());
    }
}
