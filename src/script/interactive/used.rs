//! The permissions that the calls of a text used, and that a script made of it has to ask for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use base::call::Call;

/// The most files of one folder that are listed; more become a glob.
const MOST_FILES: usize = 8;

/// Permissions by their names in a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    lists: BTreeMap<&'static str, BTreeSet<String>>,
    /// The globs of the last proposal of each adapter.
    proposed: BTreeMap<String, Vec<String>>,
}

impl Used {
    /// Notes the permissions of an answered call.
    pub(super) fn note(&mut self, call: &Call) {
        let diffs = |plan: &Value| {
            let diffs = plan["diffs"].as_array().cloned().unwrap_or_default();
            diffs.iter().filter_map(|diff| diff["path"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        match call {
            Call::ApplyDiff { path, .. }
            | Call::ApplyCreate { path, .. }
            | Call::ApplyRemove { path, .. }
            | Call::ApplyWrite { path, .. } => self.add("write", [path.clone()]),
            Call::EditMake(edit) => self.add("write", [edit.path.clone()]),
            Call::ApplyRename { from, to, .. } => self.add("write", [from.clone(), to.clone()]),
            Call::ApplyPlan { plan, .. } => {
                self.add("write", diffs(plan));
                let commitments = plan["commitments"].as_array().into_iter().flatten();
                commitments.for_each(|one| self.add("exec", started(&one["assertion"])));
            }
            Call::CommitAdd { assertion, .. } => self.add("exec", started(assertion)),
            Call::ExecRun(run) => {
                self.add("exec", [run.program.clone()]);
                self.add("write", run.writes.clone());
            }
            Call::LlmComplete(ask) | Call::LlmStream(ask) => self.add("llm", ask.provider.clone()),
            Call::DtaPropose { tool, input } => drop(self.proposed.insert(tool.clone(), globs(input))),
            Call::DtaRun { input, .. } => self.add("write", globs(input)),
            Call::DtaApply { tool, .. } => {
                let globs = self.proposed.get(tool).cloned().unwrap_or_default();
                self.add("write", globs);
            }
            Call::Custom { name, .. } => self.add("calls", [name.clone()]),
            _ => {}
        }
    }

    /// Adds the permissions of another text.
    pub(super) fn take(&mut self, other: Used) {
        for (name, values) in other.lists {
            self.lists.entry(name).or_default().extend(values);
        }
        self.proposed.extend(other.proposed);
    }

    /// The permissions that a header has to ask for.
    pub(super) fn permissions(&self) -> BTreeMap<&'static str, Vec<String>> {
        let list = |(name, values): (&&'static str, &BTreeSet<String>)| match *name {
            "write" => (*name, gathered(values)),
            name => (name, values.iter().cloned().collect()),
        };
        self.lists.iter().map(list).collect()
    }

    fn add(&mut self, name: &'static str, values: impl IntoIterator<Item = String>) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.lists.entry(name).or_default().extend(values);
        }
    }
}

/// The program that an assertion starts.
fn started(assertion: &Value) -> Option<String> {
    assertion["command"]["program"].as_str().map(str::to_owned)
}

/// The globs of an adapter's target, beneath its folder.
fn globs(input: &Value) -> Vec<String> {
    let target = &input["target"];
    let folder = target["repo_path"].as_str().unwrap_or(".").trim_start_matches("./").trim_end_matches('/');
    let glob = |glob: &Value| {
        let glob = glob.as_str()?;
        Some(match (folder, glob.strip_prefix('!')) {
            ("" | ".", _) => glob.to_owned(),
            (folder, Some(rest)) => format!("!{folder}/{rest}"),
            (folder, None) => format!("{folder}/{glob}"),
        })
    };
    match &target["glob"] {
        Value::Array(globs) => globs.iter().filter_map(glob).collect(),
        one => glob(one).into_iter().collect(),
    }
}

/// Paths and globs; of many files in one folder only the folder.
fn gathered(paths: &BTreeSet<String>) -> Vec<String> {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    paths.iter().for_each(|path| *counts.entry(folder(path)).or_default() += 1);
    let name = |path: &String| {
        let folder = folder(path);
        if counts.get(&folder).is_some_and(|count| *count > MOST_FILES) { format!("{folder}*") } else { path.clone() }
    };
    // Exclusions have to come last.
    let mut named: Vec<String> = paths.iter().map(name).collect::<BTreeSet<_>>().into_iter().collect();
    named.sort_by_key(|path| path.starts_with('!'));
    named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use base::call::Strategy;

    #[test]
    fn what_calls_need_is_gathered() {
        let mut used = Used::default();
        let target = json!({"target": {"repo_path": "site", "glob": ["**/*.html", "!old/**"]}});
        used.note(&Call::DtaPropose { tool: "x".to_owned(), input: target });
        assert!(used.permissions().is_empty());
        used.note(&Call::DtaApply { tool: "x".to_owned(), proposal: json!({}) });
        used.note(&Call::ApplyRemove { path: "a.txt".to_owned(), checksum: String::new() });
        assert_eq!(used.permissions()["write"], ["a.txt", "site/**/*.html", "!site/old/**"]);
        for n in 0..9 {
            used.note(&Call::ApplyCreate { path: format!("docs/{n}.md"), text: String::new() });
        }
        assert_eq!(used.permissions()["write"], ["a.txt", "docs/*", "site/**/*.html", "!site/old/**"]);
        let assertion = |program: &str| json!({"command": {"program": program}});
        let description = "it builds".to_owned();
        used.note(&Call::CommitAdd { description, assertion: assertion("cargo"), timeout_ms: None });
        let plan = json!({"diffs": [], "commitments": [{"description": "", "assertion": assertion("make")}]});
        used.note(&Call::ApplyPlan { plan, strategy: Strategy::Write, strict: false });
        assert_eq!(used.permissions()["exec"], ["cargo", "make"]);
    }
}
