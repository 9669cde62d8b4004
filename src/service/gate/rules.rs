//! The rules on commands and on secrets: the built-in ones, and those of the policy.

use std::sync::LazyLock;

use super::{
    destructive::{self, Severity},
    secrets,
};
use base::error::{Code, Error};
use system::policy::{CommandException, CommandRule, Disposable, Objection, Policy, SecretRule};

/// Compiled rules. The built-in ones are compiled at their first use.
#[derive(Debug, Default)]
pub struct Rules {
    destructive: Option<destructive::Rules>,
    secrets: Option<secrets::Rules>,
    /// The rules of each policy, if the policy is the strictest of several.
    parts: Vec<Rules>,
}

/// The source of a rule that the policy does not define.
const BUILT_IN: &str = "a built-in rule";

/// The source of a rule, and its examples.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) source: String,
    pub(super) matches: Vec<String>,
    pub(super) not_match: Vec<String>,
}

impl Rules {
    /// The built-in rules alone.
    pub fn built_in() -> &'static Rules {
        static BUILT_IN: LazyLock<Rules> = LazyLock::new(Rules::default);
        &BUILT_IN
    }

    /// The built-in rules and those of a policy, whose examples are checked.
    ///
    /// An unusable rule, or an example with the wrong result, is `invalid_policy`, with `details.line`.
    pub fn of(policy: &Policy) -> Result<Self, Error> {
        let gates = &policy.settings().gates;
        let commands: Vec<_> = gates.destructive.rule.iter().map(own_command_rule).collect();
        let texts: Vec<_> = gates.secrets.rule.iter().map(own_secret_rule).collect();
        let rules = Rules {
            destructive: excepted(
                disposing(compiled("gates.destructive.rule", &commands, policy, destructive::Rules::with)?, policy)?,
                policy,
            )?,
            secrets: compiled("gates.secrets.rule", &texts, policy, secrets::Rules::with)?,
            parts: policy.parts().iter().map(Rules::of).collect::<Result<_, _>>()?,
        };
        rules.refuse_keys_in_urls(policy)?;
        Ok(rules)
    }

    /// Records and errors show the URLs of servers, and a key in one would show, too.
    fn refuse_keys_in_urls(&self, policy: &Policy) -> Result<(), Error> {
        for (name, provider) in &policy.settings().llm.providers {
            let url = provider.base_url.as_deref().unwrap_or_default();
            if let Some(found) = secrets::scan(url.as_bytes(), None, self.secrets()).first() {
                let key = format!("llm.providers.{name}.base_url");
                let message = format!(
                    "`{key}` ({}) holds what looks like a key (rule `{}`, hash {})",
                    policy.origin(&key),
                    found.rule,
                    found.sha256_prefix
                );
                return Err(Error::new(Code::InvalidPolicy, message)
                    .detail("line", policy.line_of(&key))
                    .detail("key", key)
                    .hint("name the key's variable in `api_key_env`, or its file in `api_key_file`"));
            }
        }
        Ok(())
    }

    /// The source of a gate's rule, with its examples.
    pub(super) fn describe(&self, gate: &str, rule: &str, policy: &Policy) -> Described {
        let gates = &policy.settings().gates;
        let own = |key: &str, at: Option<usize>| at.map(|at| policy.origin(&format!("{key}.{at}")));
        match gate {
            "destructive-ops" => {
                let at = gates.destructive.rule.iter().position(|own| own.id == rule);
                let Some(described) = self.destructive().describe(rule) else {
                    return Described { source: BUILT_IN.to_owned(), ..Described::default() };
                };
                let built_in = described.place.map(|(file, line)| format!("{BUILT_IN}, line {line} of `{file}`"));
                let source = own("gates.destructive.rule", at).or(built_in).unwrap_or_else(|| BUILT_IN.to_owned());
                Described { source, matches: described.examples, not_match: described.counterexamples }
            }
            "secrets" => {
                let at = gates.secrets.rule.iter().position(|own| own.id == rule);
                let built_in = secrets::describe(rule).unwrap_or_default();
                let (matches, not_match) = match at.and_then(|at| gates.secrets.rule.get(at)) {
                    Some(own) => (own.matches.clone(), own.not_match.clone()),
                    None => (built_in.examples, built_in.counterexamples),
                };
                let line = format!("{BUILT_IN}, line {} of `secrets/rules.txt`", built_in.line);
                Described { source: own("gates.secrets.rule", at).unwrap_or(line), matches, not_match }
            }
            _ if rule.starts_with("header.") => {
                Described { source: "the script's header".to_owned(), ..Described::default() }
            }
            _ => Described { source: policy.origin(rule), ..Described::default() },
        }
    }

    /// The rules of the combined policies, in their order.
    pub(super) fn parts(&self) -> &[Rules] {
        &self.parts
    }

    /// The rules on commands.
    pub fn destructive(&self) -> &destructive::Rules {
        self.destructive.as_ref().unwrap_or_else(|| destructive::Rules::built_in())
    }

    /// The rules on secrets.
    pub fn secrets(&self) -> &secrets::Rules {
        self.secrets.as_ref().unwrap_or_else(|| secrets::Rules::built_in())
    }
}

/// Compiles rules of the policy; one at a time first, so that an error can name its rule.
fn compiled<Own, Rules>(
    key: &str,
    own: &[Own],
    policy: &Policy,
    with: fn(&[Own]) -> Result<Rules, Error>,
) -> Result<Option<Rules>, Error> {
    if own.is_empty() {
        return Ok(None);
    }
    for at in 0..own.len() {
        with(&own[at..=at]).map_err(|error| {
            let place = format!("{key}.{at}");
            let message = format!("a rule of `{key}` ({}) is refused: {}", policy.origin(&place), error.message());
            let refused = Error::new(Code::InvalidPolicy, message).detail("line", policy.line_of(&place));
            match error.hint_text() {
                Some(hint) => refused.hint(hint),
                None => refused.hint("change the rule or its examples"),
            }
        })?;
    }
    with(own).map(Some)
}

/// The rules on commands with the disposable places of the policy.
fn disposing(own: Option<destructive::Rules>, policy: &Policy) -> Result<Option<destructive::Rules>, Error> {
    let globs = &policy.settings().gates.destructive.disposable;
    if globs.is_empty() {
        return Ok(own);
    }
    let key = "gates.destructive.disposable";
    let disposable = Disposable::new(globs).map_err(|error| error.detail("line", policy.line_of(key)))?;
    let rules = own.as_ref().unwrap_or_else(|| destructive::Rules::built_in());
    Ok(Some(rules.disposing(disposable)))
}

/// The rules on commands with the exceptions of the policy.
fn excepted(own: Option<destructive::Rules>, policy: &Policy) -> Result<Option<destructive::Rules>, Error> {
    let exceptions: Vec<_> = policy.settings().gates.destructive.allow.iter().map(exception).collect();
    if exceptions.is_empty() {
        return Ok(own);
    }
    let rules = own.as_ref().unwrap_or_else(|| destructive::Rules::built_in());
    let key = "gates.destructive.allow";
    rules.except(&exceptions).map(Some).map_err(|(at, error)| {
        let place = format!("{key}.{at}");
        let message = format!("an exception of `{key}` ({}) is refused: {}", policy.origin(&place), error.message());
        let refused = Error::new(Code::InvalidPolicy, message).detail("line", policy.line_of(&place));
        refused.hint(error.hint_text().unwrap_or("change the exception or its examples").to_owned())
    })
}

fn exception(exception: &CommandException) -> destructive::Exception {
    destructive::Exception {
        rule: exception.rule.clone(),
        command: exception.command.clone(),
        prefix: exception.prefix.clone(),
        tokens: exception.tokens.clone(),
        examples: exception.matches.clone(),
        counterexamples: exception.not_match.clone(),
    }
}

fn own_command_rule(rule: &CommandRule) -> destructive::OwnRule {
    let severity = match rule.decision {
        Objection::Warn => Severity::Warn,
        Objection::RequireConfirmation => Severity::Confirm,
        Objection::Block => Severity::Block,
    };
    destructive::OwnRule {
        id: rule.id.clone(),
        prefix: rule.prefix.clone(),
        tokens: rule.tokens.clone(),
        severity,
        reason: rule.reason.clone(),
        examples: rule.matches.clone(),
        counterexamples: rule.not_match.clone(),
    }
}

fn own_secret_rule(rule: &SecretRule) -> secrets::OwnRule {
    secrets::OwnRule {
        id: rule.id.clone(),
        pattern: rule.regex.clone(),
        keys: rule.keywords.clone(),
        entropy: rule.entropy,
        matches: rule.matches.clone(),
        not_matches: rule.not_match.clone(),
    }
}
