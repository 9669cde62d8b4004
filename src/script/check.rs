//! The errors of a script that can be found before it runs: in its sources, its imports and the permissions of its header.
//!
//! Sources are parsed in a worker; this module compares lists. Nothing runs.

use std::collections::BTreeMap;

use crate::{
    Loaded, Rejected,
    foreseen::{at, beyond_policy},
    list::meant,
    load_script,
};
use base::{
    error::{Code, Error},
    frame::Use,
    path::RepoPath,
};
use host::Context;
use system::policy::{Ceiling, Policy};

/// The findings in a script and in everything that it imports.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The script.
    pub script: RepoPath,
    /// The errors; empty if it can run.
    pub errors: Vec<Error>,
    /// The warnings: code that likely does not do what its author meant.
    pub warnings: Vec<Error>,
    /// Warnings of what the header asks for and the policy of the workspace refuses in any case.
    pub beyond: Vec<Error>,
    /// The sources that were read, by name.
    pub sources: BTreeMap<String, String>,
    /// The script, unless it can't even be started.
    ///
    /// A missing permission alone does not keep it from starting: the host refuses the call if it is made.
    pub loaded: Option<Loaded>,
}

impl Checked {
    /// A file in which nothing was found, because nothing was read.
    pub fn unread(script: RepoPath) -> Self {
        Checked {
            script,
            errors: Vec::new(),
            warnings: Vec::new(),
            beyond: Vec::new(),
            sources: BTreeMap::new(),
            loaded: None,
        }
    }
}

/// Checks a script of a workspace. Nothing of it runs.
pub fn check(context: &Context, path: &RepoPath) -> Checked {
    match load_script(context, path) {
        Ok(loaded) => {
            let errors = unpermitted(&loaded, &context.policy, &|name| context.options.calls.is_free(name));
            let warnings = [loaded.warnings.clone(), unused(&loaded)].concat();
            let beyond = beyond_policy(&loaded, &context.policy);
            let sources = loaded.sources.clone();
            Checked { script: path.clone(), errors, warnings, beyond, sources, loaded: Some(loaded) }
        }
        Err(Rejected { errors, warnings, sources }) => {
            let errors = errors.into_iter().map(|error| meant(context, path, error)).collect();
            Checked { errors, warnings, sources, ..Checked::unread(path.clone()) }
        }
    }
}

/// The rule of a finding, such as `unknown_call`; the code of an error that has no rule.
pub fn rule(finding: &Error) -> &str {
    finding.details().get("rule").and_then(|rule| rule.as_str()).unwrap_or(finding.code().as_str())
}

/// Calls that the header does not permit; a call that the program adds may be free for everybody.
fn unpermitted(loaded: &Loaded, policy: &Policy, is_free: &dyn Fn(&str) -> bool) -> Vec<Error> {
    // A module runs under the header of the script that imports it.
    if loaded.is_module {
        return Vec::new();
    }
    let ceiling = &loaded.header.ceiling;
    // The header was read, so that its globs can be.
    let policy = policy.header_alone(&ceiling.write).unwrap_or_default();
    let is_free = |one: &Use| one.permission == "calls" && one.value.as_deref().is_some_and(is_free);
    let needed = loaded.uses.iter().filter(|one| !one.possible && !is_free(one));
    needed.filter_map(|one| missing(one, ceiling, &policy)).collect()
}

/// The error of a call that the header does not permit.
fn missing(one: &Use, ceiling: &Ceiling, policy: &Policy) -> Option<Error> {
    let list = list(ceiling, &one.permission);
    let sample = one.value.as_deref().unwrap_or(match one.permission.as_str() {
        "write" => "docs/**",
        "exec" => "cargo",
        "llm" => "*",
        _ => "…",
    });
    let hint = format!("add {sample:?} to `permissions: #{{ {}: […] }}` of `WORKFLOW`", one.permission);
    let denied = |message: String| {
        Error::new(Code::PermissionDenied, message)
            .detail("rule", "missing_permission")
            .detail("permission", one.permission.as_str())
    };
    let error = match (&one.value, list.iter().any(|item| !item.starts_with('!'))) {
        (_, false) => {
            let message =
                format!("`{}` needs the permission `{}`, which the header does not give", one.call, one.permission);
            Some(denied(message).hint(hint))
        }
        (Some(path), true) if one.permission == "write" => match RepoPath::parse(path) {
            Ok(path) => policy.write_refusal(&path).map(|refusal| {
                let rule = if refusal.code == Code::ProtectedPath { "protected_path" } else { "missing_permission" };
                Error::new(refusal.code, refusal.reason).detail("rule", rule).hint(refusal.remediation)
            }),
            Err(error) => Some(error.detail("rule", "invalid_path")),
        },
        (Some(name), true) if !list.iter().any(|item| item == name || (item == "*" && one.permission != "calls")) => {
            let message = format!(
                "`{}` of `{name}` is not permitted by `permissions.{}` of the header",
                one.call, one.permission
            );
            Some(denied(message).hint(hint))
        }
        (None | Some(_), true) => None,
    };
    error.map(|error| error.at(one.at.clone()))
}

/// Permissions that nothing needs.
fn unused(loaded: &Loaded) -> Vec<Error> {
    let ceiling = &loaded.header.ceiling;
    let mut warnings = Vec::new();
    for permission in ["calls", "exec", "llm", "network", "write"] {
        let list = list(ceiling, permission);
        let uses: Vec<&Use> = loaded.uses.iter().filter(|one| one.permission == permission).collect();
        let named: Option<Vec<&str>> = uses.iter().map(|one| one.value.as_deref()).collect();
        let idle: Vec<&str> = match (list, uses.as_slice(), named) {
            ([], _, _) => continue,
            (_, [], _) => list.iter().map(String::as_str).collect(),
            // The calls do not tell which of several globs a path is for.
            (_, _, Some(named)) if permission != "write" => {
                list.iter().map(String::as_str).filter(|item| *item != "*" && !named.contains(item)).collect()
            }
            (_, _, _) => continue,
        };
        if idle.is_empty() {
            continue;
        }
        let names = idle.iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ");
        let message = format!("the permission `{permission}` of {names} is never needed");
        let warning = Error::new(Code::PermissionDenied, message)
            .detail("rule", "unused_permission")
            .detail("permission", permission)
            .hint("remove it from `WORKFLOW`: it makes a review of the script harder");
        warnings.push(at(warning, loaded.places.get(&format!("permissions.{permission}"))));
    }
    warnings
}

fn list<'a>(ceiling: &'a Ceiling, permission: &str) -> &'a [String] {
    match permission {
        "calls" => &ceiling.calls,
        "exec" => &ceiling.exec,
        "llm" => &ceiling.llm,
        "network" => &ceiling.network,
        _ => &ceiling.write,
    }
}
