//! The approval of one script, and its differences from the script as it is now, as text.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Loaded,
    library::{self, STDLIB_VERSION},
};
use base::hash::Sha256;
use system::policy::{BudgetCeiling, OnFailure};

/// The digits of a hash that people are shown.
const SHOWN: usize = 8;

/// One approved script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The hash of its text.
    pub sha256: Sha256,
    /// The version of the shipped modules, if it imports any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdlib: Option<String>,
    /// The fate of its changes when it fails, if its header says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// Labels or kinds of the confirmations that are granted to it; `*` for all but those of gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The files that it imports, over all steps, with the hashes of their texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub imports: BTreeMap<String, Sha256>,
    /// The permissions of its header.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<String, BTreeSet<String>>,
    /// The budgets of its header.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budget: BTreeMap<String, u64>,
}

impl Pin {
    /// The approval of a script as it is now, with nothing granted.
    pub fn of(loaded: &Loaded) -> Pin {
        let ceiling = &loaded.header.ceiling;
        let lists = [
            ("calls", &ceiling.calls),
            ("exec", &ceiling.exec),
            ("llm", &ceiling.llm),
            ("network", &ceiling.network),
            ("write", &ceiling.write),
        ];
        let permissions = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let main = loaded.main.as_str();
        let (shipped, files): (Vec<_>, Vec<_>) = loaded
            .hashes
            .iter()
            .filter(|(name, _)| *name != main)
            .partition(|(name, sha256)| library::is_shipped(name, **sha256));
        Pin {
            sha256: loaded.hashes.get(main).copied().unwrap_or_else(|| Sha256::of(b"")),
            stdlib: (!shipped.is_empty()).then(|| STDLIB_VERSION.to_owned()),
            on_failure: ceiling.on_failure,
            grants: Vec::new(),
            imports: files.into_iter().map(|(name, sha256)| (name.clone(), *sha256)).collect(),
            permissions: permissions.map(|(name, list)| (name.to_owned(), list.iter().cloned().collect())).collect(),
            budget: budget(ceiling.budget),
        }
    }

    /// The differences of a script from this approval, as text. Grants are not compared.
    pub fn changes(&self, now: &Pin) -> Vec<String> {
        let mut changes = Vec::new();
        if self.sha256 != now.sha256 {
            changes.push(edited("it", self.sha256, now.sha256));
        }
        self.imports(now, &mut changes);
        if self.stdlib != now.stdlib {
            changes.push(match (&self.stdlib, &now.stdlib) {
                (_, None) => "it no longer imports shipped modules".to_owned(),
                (None, Some(now)) => format!("it imports shipped modules, of version {now}"),
                (Some(then), Some(now)) => format!("the shipped modules are version {now}, not {then}"),
            });
        }
        self.permissions(now, &mut changes);
        for name in self.budget.keys().chain(now.budget.keys()).collect::<BTreeSet<_>>() {
            match (self.budget.get(name), now.budget.get(name)) {
                (then, now) if then == now => {}
                (Some(then), Some(now)) => changes.push(format!("its budget of `{name}` is {now}, not {then}")),
                (Some(then), None) => changes.push(format!("its budget of `{name}`, {then}, is gone")),
                (None, Some(now)) => changes.push(format!("it has a budget of `{name}`, {now}")),
                (None, None) => {}
            }
        }
        if self.on_failure != now.on_failure {
            changes.push(match now.on_failure {
                Some(OnFailure::Keep) => "it keeps its changes when it fails".to_owned(),
                Some(OnFailure::Undo) | None => "its `on_failure` is another one".to_owned(),
            });
        }
        changes
    }

    fn imports(&self, now: &Pin, changes: &mut Vec<String>) {
        for (name, sha256) in &now.imports {
            match self.imports.get(name) {
                Some(then) if then == sha256 => {}
                Some(then) => changes.push(edited(&format!("`{name}`, which it imports,"), *then, *sha256)),
                None if library::has_shipped_name(name) => {
                    changes.push(format!("`{name}` is not the shipped module of that name"));
                }
                None => changes.push(format!("it imports `{name}`")),
            }
        }
        let gone = self.imports.keys().filter(|name| !now.imports.contains_key(*name));
        changes.extend(gone.map(|name| format!("it no longer imports `{name}`")));
    }

    fn permissions(&self, now: &Pin, changes: &mut Vec<String>) {
        let none = BTreeSet::new();
        for name in self.permissions.keys().chain(now.permissions.keys()).collect::<BTreeSet<_>>() {
            let (then, now) = (self.permissions.get(name).unwrap_or(&none), now.permissions.get(name).unwrap_or(&none));
            let may = verb(name);
            let more = |item: &String| format!("it may {may} `{item}`, which was not approved");
            let less = |item: &String| format!("it may no longer {may} `{item}`");
            // A new exclusion permits less, and a lost one permits more.
            changes.extend(
                now.difference(then)
                    .map(|item| item.strip_prefix('!').map_or(more(item), |item| less(&item.to_owned()))),
            );
            changes.extend(
                then.difference(now)
                    .map(|item| item.strip_prefix('!').map_or(less(item), |item| more(&item.to_owned()))),
            );
        }
    }
}

fn edited(what: &str, then: Sha256, now: Sha256) -> String {
    let short = |sha256: Sha256| sha256.to_string()[..SHOWN].to_owned();
    format!("{what} was edited ({} → {})", short(then), short(now))
}

/// The verb of a permission, for messages.
fn verb(permission: &str) -> &str {
    match permission {
        "calls" => "call",
        "exec" => "start",
        "llm" => "ask models of",
        "network" => "reach",
        other => other,
    }
}

fn budget(budget: BudgetCeiling) -> BTreeMap<String, u64> {
    budget.limits().filter_map(|(name, most)| Some((name.to_owned(), most?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{header::Header, session::Spare};
    use base::path::RepoPath;

    fn pin() -> Pin {
        Pin {
            sha256: Sha256::of(b"script"),
            stdlib: None,
            on_failure: None,
            grants: vec!["*".to_owned()],
            imports: BTreeMap::from([("lib/a.rhai".to_owned(), Sha256::of(b"a"))]),
            permissions: BTreeMap::from([("write".to_owned(), BTreeSet::from(["site/**".to_owned()]))]),
            budget: BTreeMap::from([("files".to_owned(), 5)]),
        }
    }

    #[track_caller]
    fn differs(change: impl FnOnce(&mut Pin), expected: &[&str]) {
        let mut now = Pin { grants: Vec::new(), ..pin() };
        change(&mut now);
        assert_eq!(pin().changes(&now), expected);
    }

    /// A record may hold the modules of another version, or forged text.
    #[test]
    fn a_module_that_is_not_shipped_now_is_none_that_was_approved() {
        let main = RepoPath::parse("a.rhai").unwrap();
        let loaded = |module: &str| Loaded {
            main: main.clone(),
            sources: BTreeMap::new(),
            imports: BTreeMap::new(),
            hashes: BTreeMap::from([
                (main.to_string(), Sha256::of(b"script")),
                ("nrv:std/plan.rhai".to_owned(), Sha256::of(module.as_bytes())),
            ]),
            doc: None,
            header: Header::default(),
            uses: Vec::new(),
            places: BTreeMap::new(),
            is_module: false,
            warnings: Vec::new(),
            spare: Spare::new(None),
        };
        let text = library::MODULES.iter().find(|(name, _)| *name == "std/plan").unwrap().1;
        let approved = Pin::of(&loaded(text));
        assert_eq!((approved.stdlib.as_deref(), approved.imports.len()), (Some(STDLIB_VERSION), 0));
        let changes = approved.changes(&Pin::of(&loaded("fn plan() { }")));
        assert_eq!(changes[0], "`nrv:std/plan.rhai` is not the shipped module of that name");
    }

    #[test]
    fn every_difference_is_named() {
        differs(|_| {}, &[]);
        differs(|now| now.sha256 = Sha256::of(b"other"), &["it was edited (21a0270b → d9298a10)"]);
        differs(
            |now| now.imports = BTreeMap::from([("lib/a.rhai".to_owned(), Sha256::of(b"b"))]),
            &["`lib/a.rhai`, which it imports, was edited (ca978112 → 3e23e816)"],
        );
        differs(
            |now| now.imports = BTreeMap::from([("lib/b.rhai".to_owned(), Sha256::of(b"b"))]),
            &["it imports `lib/b.rhai`", "it no longer imports `lib/a.rhai`"],
        );
        differs(
            |now| now.imports.extend([("nrv:std/plan.rhai".to_owned(), Sha256::of(b"b"))]),
            &["`nrv:std/plan.rhai` is not the shipped module of that name"],
        );
        differs(|now| now.stdlib = Some("1".to_owned()), &["it imports shipped modules, of version 1"]);
        differs(
            |now| now.permissions = BTreeMap::from([("exec".to_owned(), BTreeSet::from(["cargo".to_owned()]))]),
            &["it may start `cargo`, which was not approved", "it may no longer write `site/**`"],
        );
        differs(
            |now| {
                now.permissions.entry("write".to_owned()).or_default().insert("!a/**".to_owned());
            },
            &["it may no longer write `a/**`"],
        );
        differs(|now| now.budget.clear(), &["its budget of `files`, 5, is gone"]);
        differs(|now| now.budget = BTreeMap::from([("files".to_owned(), 50)]), &["its budget of `files` is 50, not 5"]);
        differs(|now| now.on_failure = Some(OnFailure::Keep), &["it keeps its changes when it fails"]);
    }
}
