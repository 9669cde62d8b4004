//! What of a policy starts programs: the tables that a person has to trust before they are obeyed, by their hash and in words.
//!
//! Only values that differ from the built-in ones count, so that neither comments and order nor a later version's keys change the hash.

use serde_json::{Map, Value, json};

use super::{
    Exec, Sandbox, Settings,
    exec::quoted,
    provider::{COMMAND, LlmProvider},
    settings::AllowedCommand,
};
use crate::{error::Error, hash::Sha256, json};

/// The tables of a policy that start programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The hash of the tables.
    pub sha256: Sha256,
    /// What they start, and what they loosen for it: sentences without period.
    pub told: Vec<String>,
}

impl Programs {
    /// The tables of these settings; none if they start nothing.
    pub(super) fn of(settings: &Settings) -> Result<Option<Self>, Error> {
        let is_command = |provider: &LlmProvider| provider.dialect == COMMAND;
        let providers: Map<String, Value> = (settings.llm.providers.iter())
            .filter(|(_, provider)| is_command(provider))
            .map(|(name, provider)| (name.clone(), differing(json!(provider), &json!(LlmProvider::default()))))
            .collect();
        let commitments: Vec<Value> =
            settings.commitments.iter().filter(|one| command(&one.assertion).is_some()).map(|one| json!(one)).collect();
        if settings.exec.allow.is_empty() && providers.is_empty() && commitments.is_empty() {
            return Ok(None);
        }
        let rule = |rule: &AllowedCommand| differing(json!(rule), &json!(AllowedCommand::default()));
        let mut exec = differing(json!(settings.exec), &json!(Exec::default()));
        exec["allow"] = settings.exec.allow.iter().map(rule).collect();
        let sha256 = json::sha256(&json!({"exec": exec, "commitments": commitments, "providers": providers}))?;
        Ok(Some(Programs { sha256, told: told(settings) }))
    }
}

/// The keys of a map whose values are not the default ones.
fn differing(value: Value, default: &Value) -> Value {
    match value {
        Value::Object(map) => map.into_iter().filter(|(key, value)| default.get(key) != Some(value)).collect(),
        other => other,
    }
}

/// The command of an assertion, if it is one.
fn command(assertion: &Value) -> Option<&Value> {
    assertion.get("command")
}

fn told(settings: &Settings) -> Vec<String> {
    let mut told: Vec<String> = settings.exec.allow.iter().map(rule).collect();
    for one in &settings.commitments {
        let Some(command) = command(&one.assertion) else { continue };
        let words = [&command["program"]].into_iter().chain(command["args"].as_array().into_iter().flatten());
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        told.push(format!("every run starts `{}` when it ends", words.join(" ")));
    }
    for (name, provider) in &settings.llm.providers {
        if provider.dialect == COMMAND {
            let key = provider.api_key_env.as_ref().map(|key| format!(", and gets the key in `{key}`"));
            let words = provider.program.join(" ");
            told.push(format!(
                "the provider `{name}` starts `{words}`, which nothing confines{}",
                key.unwrap_or_default()
            ));
        }
    }
    if !settings.exec.allow.is_empty() {
        told.extend(loosened(&settings.exec));
    }
    told
}

/// What commands may that they may not by default.
fn loosened(exec: &Exec) -> Vec<String> {
    let default = Exec::default();
    let mut told = Vec::new();
    if exec.sandbox == Sandbox::Off {
        told.push("commands are not confined: they reach all that you reach".to_owned());
    }
    if exec.network {
        told.push("commands may use the network".to_owned());
    }
    if !exec.read.is_empty() {
        told.push(format!("commands may read {}", named(&exec.read)));
    }
    let more: Vec<String> = exec.env.iter().filter(|name| !default.env.contains(name)).cloned().collect();
    if !more.is_empty() {
        told.push(format!("commands get the variables {} of your environment", named(&more)));
    }
    if !exec.scratch.is_empty() {
        told.push(format!("commands keep what they write to {}", named(&exec.scratch)));
    }
    told
}

fn named(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn rule(rule: &AllowedCommand) -> String {
    let either = |words: &Vec<String>| match words.as_slice() {
        [one] => one.clone(),
        several => quoted(several),
    };
    let words: Vec<String> = rule.prefix.iter().map(either).collect();
    let mut told = format!("runs may start `{} …`", words.join(" "));
    if rule.from_workspace {
        told.push_str(", also as a file of the workspace");
    }
    if !rule.env.is_empty() {
        told.push_str(&format!(", with the variables {}", named(&rule.env)));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::super::{FILE, Policy};

    fn programs(text: &str) -> Option<super::Programs> {
        Policy::parse(text, FILE).unwrap().programs().cloned()
    }

    const RULE: &str = "[[exec.allow]]\nprefix = ['make', ['a', 'b']]\n";

    #[test]
    fn a_policy_that_starts_nothing_needs_no_trust() {
        for text in [
            "",
            "[exec]\nnetwork = true\nsandbox = 'off'",
            "[llm.providers.a]\ndialect = 'ollama'\nbase_url = 'http://a'",
            "[[commitments]]\ndescription = 'a'\nassertion = { file_exists = 'b' }",
        ] {
            assert_eq!(programs(text), None, "{text}");
        }
    }

    #[test]
    fn the_hash_covers_what_starts_programs_and_nothing_else() {
        let hash = |text: &str| programs(text).unwrap().sha256;
        let rule = hash(RULE);
        for same in ["# c\n[budget]\ncalls = 7\n", "[exec]\nsandbox = 'auto'\n", "[paths]\ndeny = ['a']\n", "[llm]\n"] {
            assert_eq!(hash(&format!("{same}{RULE}")), rule, "{same}");
        }
        for other in [
            "[exec]\nnetwork = true\n",
            "[exec]\nread = ['~/.ssh']\n",
            "[exec]\nmemory = '1GiB'\n",
            "[[exec.allow]]\nprefix = ['c']\n",
            "[llm.providers.a]\ndialect = 'command'\nprogram = ['/x']\n",
            "[[commitments]]\ndescription = 'a'\nassertion = { command = { program = 'make' } }\n",
        ] {
            assert_ne!(hash(&format!("{other}{RULE}")), rule, "{other}");
        }
        assert_ne!(hash(&format!("{RULE}from_workspace = true")), rule);
    }

    #[test]
    fn what_tightens_a_policy_does_not_change_what_it_starts() {
        let policy = Policy::parse(&format!("[exec]\nnetwork = true\n{RULE}"), FILE).unwrap();
        for other in [policy.for_cases().unwrap(), policy.in_ci().unwrap(), policy.locked().unwrap()] {
            assert_eq!(other.programs(), policy.programs());
        }
    }

    #[test]
    fn it_is_told_in_words() {
        let text = "[exec]\nnetwork = true\nenv = ['PATH', 'TOKEN']\nread = ['~']\n[[exec.allow]]\nprefix = ['make', ['a', 'b']]\n\
                    from_workspace = true\n[llm.providers.own]\ndialect = 'command'\nprogram = ['sh', '-c', 'x']\n[[commitments]]\n\
                    description = 'd'\nassertion = { command = { program = 'make', args = ['a'] } }";
        assert_eq!(
            programs(text).unwrap().told,
            [
                "runs may start `make [\"a\", \"b\"] …`, also as a file of the workspace",
                "every run starts `make a` when it ends",
                "the provider `own` starts `sh -c x`, which nothing confines",
                "commands may use the network",
                "commands may read `~`",
                "commands get the variables `TOKEN` of your environment",
            ]
        );
    }
}
