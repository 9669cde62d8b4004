//! The ceiling that a script's header sets: its permissions and budget may only tighten the policy.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Origin, Permissions, Policy,
    form::Wrong,
    glob::PathSet,
    hosts::HostSet,
    key,
    settings::{Budget, BudgetCeiling, OnFailure, OnUnverified},
    table::Form,
};
use base::error::{self, Code, Error};

/// The permissions of a header.
const PERMISSIONS: &[&str] = &["calls", "exec", "llm", "network", "write"];

/// The permissions and limits that a script's header asks for. The default, for a script without a header, writes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Globs of what may be written at most; `!` excludes.
    pub write: Vec<String>,
    /// Names of the calls that it may make beside nrv's own.
    pub calls: Vec<String>,
    /// Programs that may be started, as calls write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<String>,
    /// Providers of language models that may be asked; `*` stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub llm: Vec<String>,
    /// Hosts that may be asked whether links work.
    pub network: Vec<String>,
    /// Budgets, where the header has one.
    pub budget: BudgetCeiling,
    /// Budgets that the command line gives in place of the header's.
    #[serde(default, skip_serializing_if = "BudgetCeiling::is_default")]
    pub given: BudgetCeiling,
    /// The action on changes when the run fails, if the header names one.
    pub on_failure: Option<OnFailure>,
    /// The action after a failed verification, if the header names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unverified: Option<OnUnverified>,
}

impl Ceiling {
    /// Takes `permissions`, `budget`, `on_failure` and `on_unverified` from a `WORKFLOW`; other keys are not looked at.
    ///
    /// Values have the forms of `nrv.toml`, so `bytes` may be `"10MiB"`. What is unknown, wrong or not available in this
    /// version is `script_syntax`, with the place as `details.key`.
    pub fn from_header(header: &Value) -> Result<Self, Error> {
        let mut ceiling = Ceiling::default();
        for (name, value) in table(header, "permissions")? {
            let place = format!("permissions.{name}");
            let (target, form) = match name.as_str() {
                "calls" => (&mut ceiling.calls, Form::Names),
                "exec" => (&mut ceiling.exec, Form::Names),
                "llm" => (&mut ceiling.llm, Form::Names),
                "network" => (&mut ceiling.network, Form::Hosts),
                "write" => (&mut ceiling.write, Form::Globs),
                _ => return Err(unknown(&place, name, PERMISSIONS.iter().copied())),
            };
            *target = texts(&read(form, value, &place)?);
        }
        for (name, value) in table(header, "budget")? {
            let place = format!("budget.{name}");
            let Some(key) = key::find(&place) else { return Err(unknown(&place, name, key::children("budget"))) };
            ceiling.budget.set(name, read(key.form, value, &place)?.as_u64());
        }
        ceiling.on_failure = match header.get("on_failure") {
            None => None,
            Some(value) => match read(Form::Word(&["undo", "keep"]), value, "on_failure")?.as_str() {
                Some("keep") => Some(OnFailure::Keep),
                Some(_) | None => Some(OnFailure::Undo),
            },
        };
        ceiling.on_unverified = match header.get("on_unverified") {
            None => None,
            Some(value) => match read(Form::Word(&["stop", "continue"]), value, "on_unverified")?.as_str() {
                Some("continue") => Some(OnUnverified::Continue),
                Some(_) | None => Some(OnUnverified::Stop),
            },
        };
        Ok(ceiling)
    }
}

impl BudgetCeiling {
    /// Reads limits of a command line, each as `KEY=LIMIT` in the form of `[budget]` in `nrv.toml`.
    pub fn from_words(words: &[String]) -> Result<Self, Error> {
        let mut given = BudgetCeiling::default();
        for word in words {
            let (name, limit) = word.split_once('=').unwrap_or((word, ""));
            let wrong = |phrase: &str| Error::new(Code::Usage, format!("`--budget {}` {phrase}", word.escape_debug()));
            let Some(key) = key::find(&format!("budget.{name}")) else {
                let known: Vec<&str> = key::children("budget").collect();
                let near = error::nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
                return Err(wrong("names no budget").hint(format!(
                    "{}budgets are {}",
                    near.unwrap_or_default(),
                    known.join(", ")
                )));
            };
            let value = serde_json::from_str(limit).ok().filter(Value::is_number).unwrap_or_else(|| Value::from(limit));
            let read = key.form.read(&value).map_err(|why| wrong(&why.phrase).hint("give it as `[budget]` has it"))?;
            given.set(name, read.as_u64());
        }
        Ok(given)
    }

    fn is_default(&self) -> bool {
        *self == BudgetCeiling::default()
    }

    /// These limits, and those of another ceiling where this one has none.
    fn over(self, other: BudgetCeiling) -> Self {
        let mut both = other;
        self.limits().filter(|(_, limit)| limit.is_some()).for_each(|(key, limit)| both.set(key, limit));
        both
    }

    /// The limits that are above those of a policy: the key, the limit, and the policy's.
    pub fn above(&self, budget: &Budget) -> Vec<(&'static str, u64, u64)> {
        let settings = serde_json::to_value(budget).unwrap_or_default();
        let above = |(key, limit): (&'static str, Option<u64>)| {
            let (limit, most) = (limit?, settings[key].as_u64()?);
            (limit > most).then_some((key, limit, most))
        };
        self.limits().filter_map(above).collect()
    }

    /// Refuses a limit above that of the policy, or of the header of an approved script.
    pub fn check_below(&self, policy: &Policy, header: Option<&BudgetCeiling>) -> Result<(), Error> {
        let refused = |(key, given, most): (&str, u64, u64), origin: &str| {
            Error::new(Code::PermissionDenied, format!("`--budget {key}={given}` is above the limit {most}"))
                .detail("key", format!("budget.{key}"))
                .hint(format!(
                    "the limit comes from {origin}; `[budget]` in `nrv.toml` sets the most that runs may have"
                ))
        };
        if let Some(first) = self.above(&policy.settings.budget).into_iter().next() {
            return Err(refused(first, &policy.origin(&format!("budget.{}", first.0))));
        }
        let of_header = |key: &str| header.and_then(|header| header.limits().find(|(name, _)| *name == key)?.1);
        for (key, given) in self.limits() {
            if let (Some(given), Some(most)) = (given, of_header(key))
                && given > most
            {
                return Err(refused((key, given, most), "the header of an approved script"));
            }
        }
        Ok(())
    }
}

impl Policy {
    /// The built-in policy under the globs of a header, with the protected files that this policy permits: what it refuses to write, the
    /// header or the file's name forbids.
    pub fn header_alone(&self, write: &[String]) -> Result<Policy, Error> {
        let mut policy = Policy::default();
        policy.settings.paths.allow_protected.clone_from(&self.settings.paths.allow_protected);
        policy.tightened(&Ceiling { write: write.to_vec(), ..Ceiling::default() })
    }

    /// This policy under a header's ceiling: what both allow may be written, called, started, asked and reached, and each budget is the smaller one.
    ///
    /// A header that keeps changes after a failure is `permission_denied` if `run.keep_flag` is false.
    pub fn tightened(&self, ceiling: &Ceiling) -> Result<Policy, Error> {
        let mut policy = self.clone();
        policy.parts = self.parts.iter().map(|part| part.tightened(ceiling)).collect::<Result<_, _>>()?;
        let wrong = |name: &str, phrase: String| refuse(&format!("permissions.{name}"), &Wrong { item: None, phrase });
        policy.ceilings.push(Permissions {
            set: PathSet::new(&ceiling.write).map_err(|why| wrong("write", format!("has a glob that {why}")))?,
            net: HostSet::new(&ceiling.network).map_err(|why| wrong("network", format!("has a host that {why}")))?,
            write: ceiling.write.clone(),
            calls: ceiling.calls.clone(),
            exec: ceiling.exec.clone(),
            llm: ceiling.llm.clone(),
            network: ceiling.network.clone(),
        });
        policy.headers.push(ceiling.clone());
        for key in ceiling.given.over(ceiling.budget).tighten(&mut policy.settings.budget) {
            let is_given = ceiling.given.limits().any(|(name, limit)| name == key && limit.is_some());
            let origin = if is_given { Origin::CommandLine } else { Origin::Header };
            policy.origins.insert(format!("budget.{key}"), origin);
        }
        if let Some(on_failure) = ceiling.on_failure {
            let differs = on_failure != policy.settings.run.on_failure;
            if differs && on_failure == OnFailure::Keep && !policy.settings.run.keep_flag {
                let origin = self.origin("run.keep_flag");
                return Err(Error::new(
                    Code::PermissionDenied,
                    format!("the script's header says `on_failure: \"keep\"`, but `run.keep_flag` is false ({origin})"),
                )
                .detail("rule", "run.keep_flag")
                .hint("remove `on_failure` from the header"));
            }
            policy.settings.run.on_failure = on_failure;
            let origin = policy.origins.entry("run.on_failure".to_owned()).or_insert(Origin::Header);
            if differs {
                *origin = Origin::Header;
            }
        }
        policy.sha256 = super::hash(&policy.settings, &policy.permissions())?;
        Ok(policy)
    }
}

fn table<'a>(header: &'a Value, name: &str) -> Result<&'a Map<String, Value>, Error> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match header.get(name) {
        None => Ok(&EMPTY),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(refuse(name, &Wrong { item: None, phrase: "must be a map".to_owned() })),
    }
}

fn read(form: Form, value: &Value, place: &str) -> Result<Value, Error> {
    form.read(value).map_err(|wrong| refuse(place, &wrong))
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn refuse(place: &str, wrong: &Wrong) -> Error {
    Error::new(Code::ScriptSyntax, format!("`{place}` of the script's header {}", wrong.phrase)).detail("key", place)
}

fn unknown<'a>(place: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let error =
        Error::new(Code::ScriptSyntax, format!("`{place}` of the script's header is unknown")).detail("key", place);
    match error::nearest(name, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error
            .hint(format!("known are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::FILE;

    #[test]
    fn a_header_is_read_with_the_forms_of_the_policy() {
        let header = json!({
            "name": "x", "args": {},
            "permissions": {"write": ["site/**"], "calls": ["tickets.create"], "exec": ["cargo"], "llm": ["local"], "network": ["a.com:80"]},
            "budget": {"files": 7, "bytes": "1KiB"},
            "on_failure": "keep",
            "on_unverified": "continue",
        });
        let budget = BudgetCeiling { files: Some(7), bytes: Some(1024), ..BudgetCeiling::default() };
        let [write, calls, exec, llm, network] =
            ["site/**", "tickets.create", "cargo", "local", "a.com:80"].map(|text| vec![text.to_owned()]);
        let (on_failure, on_unverified) = (Some(OnFailure::Keep), Some(OnUnverified::Continue));
        let expected = Ceiling {
            write,
            calls,
            exec,
            llm,
            network,
            budget,
            given: BudgetCeiling::default(),
            on_failure,
            on_unverified,
        };
        assert_eq!(Ceiling::from_header(&header).unwrap(), expected);
        assert_eq!(Ceiling::from_header(&json!({})).unwrap(), Ceiling::default());
    }

    #[track_caller]
    fn refused(header: Value, message: &str, hint: &str) {
        let error = Ceiling::from_header(&header).unwrap_err();
        assert_eq!(error.code(), Code::ScriptSyntax);
        assert_eq!(error.message(), message);
        assert_eq!(error.hint_text().unwrap_or_default(), hint);
    }

    #[test]
    fn a_wrong_header_is_refused() {
        refused(
            json!({"permissions": {"wriet": []}}),
            "`permissions.wriet` of the script's header is unknown",
            "did you mean `write`?",
        );
        refused(
            json!({"permissions": {"calls": "tickets.create"}}),
            "`permissions.calls` of the script's header must be a list of names such as [\"link_updater\"], \
             not \"tickets.create\"",
            "",
        );
        refused(
            json!({"permissions": {"network": ["http://a.com"]}}),
            "`permissions.network` of the script's header holds `http://a.com`, which is more than a host: leave out the scheme and the path",
            "",
        );
        refused(
            json!({"permissions": {"llm": "local"}}),
            "`permissions.llm` of the script's header must be a list of names such as [\"link_updater\"], not \"local\"",
            "",
        );
        refused(
            json!({"budget": {"fils": 1}}),
            "`budget.fils` of the script's header is unknown",
            "did you mean `files`?",
        );
        refused(
            json!({"budget": {"files": -1}}),
            "`budget.files` of the script's header must be a whole number, at least 0, not -1",
            "",
        );
        refused(json!({"budget": 3}), "`budget` of the script's header must be a map", "");
        refused(
            json!({"on_failure": "no"}),
            "`on_failure` of the script's header must be \"undo\" or \"keep\", not \"no\"",
            "",
        );
    }

    #[test]
    fn budgets_are_the_smaller_ones() {
        let policy = Policy::parse("[budget]\nfiles = 5\ncalls = 5", FILE).unwrap();
        let budget =
            BudgetCeiling { files: Some(9), calls: Some(3), bytes: Some(u64::MAX), ..BudgetCeiling::default() };
        let tight = policy.tightened(&Ceiling { budget, ..Ceiling::default() }).unwrap();
        let expected = Budget { files: 5, calls: 3, ..Budget::default() };
        assert_eq!(tight.settings().budget, expected);
        assert_eq!(tight.origin("budget.calls"), "the script's header");
        assert_eq!(tight.origin("budget.files"), "line 2 of `nrv.toml`");
        assert_ne!(tight.sha256(), policy.sha256());
    }

    #[test]
    fn keeping_changes_can_be_switched_off() {
        let keep = Ceiling { on_failure: Some(OnFailure::Keep), ..Ceiling::default() };
        let undo = Ceiling { on_failure: Some(OnFailure::Undo), ..Ceiling::default() };
        let kept = Policy::default().tightened(&keep).unwrap();
        assert_eq!(kept.settings().run.on_failure, OnFailure::Keep);
        let strict = Policy::parse("[run]\nkeep_flag = false", FILE).unwrap();
        let error = strict.tightened(&keep).unwrap_err();
        assert_eq!((error.code(), error.message().contains("line 2")), (Code::PermissionDenied, true));
        strict.tightened(&undo).unwrap();
        let keeper = Policy::parse("[run]\nkeep_flag = false\non_failure = 'keep'", FILE).unwrap();
        assert_eq!(keeper.tightened(&keep).unwrap().settings().run.on_failure, OnFailure::Keep);
        assert_eq!(keeper.tightened(&undo).unwrap().settings().run.on_failure, OnFailure::Undo);
    }
}
