//! The rules that lists of `nrv.toml` hold, a row a key; [`rows!`] says how a row reads.

use base::verdict::Decision;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table::{Form, rows};

/// The forms of an assertion, as the host can check them.
pub const ASSERTIONS: &[&str] = &["command", "count", "file_exists", "json_valid", "tree_unchanged"];

/// The values for the decision of a gate where a rule objects.
pub(super) const OBJECTIONS: Form = Form::Word(&["warn", "require-confirmation", "block"]);

/// The decision of a gate where a rule objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objection {
    /// Go on and tell.
    Warn,
    /// Go on when it was confirmed.
    #[default]
    RequireConfirmation,
    /// Stop.
    Block,
}

impl From<Objection> for Decision {
    fn from(objection: Objection) -> Self {
        match objection {
            Objection::Warn => Decision::Warn,
            Objection::RequireConfirmation => Decision::RequireConfirmation,
            Objection::Block => Decision::Block,
        }
    }
}

rows! {
    AllowedCommand, "Commands that may be started: those that begin so." {
        prefix: Vec<Vec<String>>, Form::Words,
            "The program as calls write it, and the words that follow it; a list stands for alternatives, as in [\"cargo\", [\"test\", \"build\"]]. What comes after them is free.",
            required;
        writes: Option<Vec<String>>, Form::Globs,
            "Globs of what such a command may change at most; without it, what the call says and the run may write.";
        from_workspace: bool, Form::Flag, "Permits a program that is a file of the workspace.";
        matches as "match": Vec<String>, Form::Names,
            "Commands, words between blanks, that the rule must allow; checked when the policy is read.";
        not_match: Vec<String>, Form::Names,
            "Commands that the rule must not allow; checked when the policy is read.";
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env: Vec<String>, Form::Names,
            "Names of variables that calls may set although they steer what programs load and start, such as `PYTHONPATH`.";
    }
}

rows! {
    Commitment, "A condition that every run must meet." {
        description: String, Form::Text, "The condition, in words.", required;
        assertion: Value, Form::OneOf(ASSERTIONS),
            "How that is seen: a table with exactly one of `command`, `count`, `file_exists`, `json_valid`, `tree_unchanged`.",
            required;
        timeout_ms: Option<u64>, Form::Count(1), "How long seeing it may take, in milliseconds.";
    }
}

rows! {
    CommandRule, "A rule on commands." {
        id: String, Form::Text, "The rule's name in results.", required;
        prefix: Vec<Vec<String>>, Form::Words,
            "The program and the words that follow it; a list stands for alternatives, as in [\"cargo\", [\"publish\", \"yank\"]].";
        tokens: Vec<String>, Form::Names, "Words of the command that must all occur, wherever they stand.";
        decision: Objection, OBJECTIONS, "The decision; without it, a confirmation is required.";
        reason: String, Form::Text, "Why, a sentence without final period.", required;
        matches as "match": Vec<String>, Form::Names,
            "Commands that the rule must catch; checked when the policy is read.";
        not_match: Vec<String>, Form::Names,
            "Commands that the rule must not catch; checked when the policy is read.";
    }
}

rows! {
    CommandException, "A command for which a rule does not hold." {
        rule: String, Form::Text, "The rule that does not hold; none of the rules `guard.*`.", required;
        command: Vec<Vec<String>>, Form::Words,
            "All words of the command; a list stands for alternatives, as in [\"rm\", \"-rf\", [\"dist\", \"out\"]].";
        prefix: Vec<Vec<String>>, Form::Words,
            "The words that the command begins with; those that follow are free.";
        tokens: Vec<String>, Form::Names, "Words of the command that must all occur, wherever they stand.";
        reason: String, Form::Text, "Why, a sentence without final period.", required;
        matches as "match": Vec<String>, Form::Names,
            "Commands for which it must hold; checked when the policy is read.";
        not_match: Vec<String>, Form::Names,
            "Commands for which it must not hold; checked when the policy is read.";
    }
}

rows! {
    SecretRule, "A rule on secrets." {
        id: String, Form::Text, "The rule's name in results.", required;
        regex: String, Form::Text,
            "The pattern of a secret; a group named `secret` says which part of it is secret.", required;
        keywords: Vec<String>, Form::Names,
            "Words of which one stands in every match; without them, the plain characters with which the pattern begins.";
        entropy: Option<f64>, Form::Number, "Bits per byte that the secret must have at least.";
        matches as "match": Vec<String>, Form::Names,
            "Texts in which the rule must find a secret; checked when the policy is read.";
        not_match: Vec<String>, Form::Names,
            "Texts in which the rule must find none; checked when the policy is read.";
    }
}

rows! {
    AllowedSecret, "Findings that are no secrets: those of a rule, in some files or of one hash." {
        rule: String, Form::Text, "The rule whose findings are allowed.", required;
        path: Option<String>, Form::Text, "A glob of files in which they are allowed.";
        hash: Option<String>, Form::Text, "The first hex digits of the secret's hash, as findings show it.";
    }
}

/// The rules of both, by which records are kept free of secrets. Two rules of one name get different ones.
pub(super) fn secret_rules(one: &[SecretRule], other: &[SecretRule]) -> Vec<SecretRule> {
    let more = other.iter().filter(|rule| !one.contains(rule)).map(|rule| {
        let taken = one.iter().any(|known| known.id == rule.id);
        SecretRule { id: if taken { format!("{}-2", rule.id) } else { rule.id.clone() }, ..rule.clone() }
    });
    one.iter().cloned().chain(more).collect()
}
