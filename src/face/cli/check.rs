//! `nrv check`: finds errors in scripts without running them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Here,
    arguments::CheckArguments,
    output::Output,
    run::script_path,
    sarif::{self, Hit},
};
use base::{
    error::{Code, Error},
    path::RepoPath,
    text::{counted, escape},
};
use script::{Checked, own};
use system::{
    policy::{self, Policy},
    workspace::Kind,
};

pub(super) fn check(here: &Here, arguments: &CheckArguments, out: &mut Output) -> Result<u8, Error> {
    let mut all = Vec::new();
    for path in paths(here, arguments)? {
        all.push(match own::name_at(&here.context.policy, &path) {
            _ if path.file_name() == policy::FILE => policy(here, path),
            Some(name) if here.context.policy.adapter(&name).program.is_empty() => {
                own::check(&here.context.workspace, (&name, &path), &here.how())
            }
            Some(name) => program(here, &name, path),
            None => with_policy(here, script::check(&here.context, &path)),
        });
        if let Some(reason) = here.context.cancelled() {
            return Err(reason);
        }
    }
    if arguments.sarif {
        out.document(&sarif::document(all.iter().flat_map(hits)));
    } else if out.is_json() {
        out.document(&document(&all));
    } else {
        tell(&all, out);
    }
    // An error that keeps a script from running comes before a missing permission.
    Ok(all.iter().flat_map(|one| &one.errors).map(|error| error.code().exit_code()).min().unwrap_or(0))
}

/// The findings, with those of the policy where there is one: a script without a workspace of its own is checked for itself.
fn with_policy(here: &Here, mut checked: Checked) -> Checked {
    if !here.context.policy.is_empty() {
        checked.warnings.append(&mut checked.beyond);
    }
    checked
}

/// The files to check, in place of a folder the scripts below it.
fn paths(here: &Here, arguments: &CheckArguments) -> Result<Vec<RepoPath>, Error> {
    let mut paths = Vec::new();
    let root = here.context.workspace.root();
    let all = [root.to_owned()];
    let scripts = if arguments.scripts.is_empty() { &all[..] } else { &arguments.scripts };
    for script in scripts {
        let is_root = here.absolute(script).strip_prefix(root).is_ok_and(|rest| rest.as_os_str().is_empty());
        let path = if is_root { None } else { Some(script_path(here, script)?) };
        let found = path.as_ref().map(|path| here.context.workspace.stat(path)).transpose()?.flatten();
        match path {
            Some(path) if found.is_none_or(|found| found.kind != Kind::Folder) => paths.push(path),
            folder => {
                let below = script::scripts_below(&here.context, folder.as_ref())?;
                if below.is_empty() {
                    let message = format!("there is no script below `{}`", escape(&script.to_string_lossy()));
                    return Err(Error::new(Code::Usage, message).hint("`nrv new` writes one"));
                }
                paths.extend(below);
            }
        }
    }
    Ok(paths)
}

/// The error of a policy, be it that of the workspace or that of a case.
fn policy(here: &Here, path: RepoPath) -> Checked {
    let text = here.context.workspace.read_own(&path, policy::BOUNDS);
    let parsed = text.clone().and_then(|text| Policy::parse(&text, path.as_str()));
    let sources = text.map(|text| BTreeMap::from([(path.to_string(), text)])).unwrap_or_default();
    Checked { errors: parsed.err().into_iter().collect(), sources, ..Checked::unread(path) }
}

/// The findings in the table of a program that is an adapter; nrv does not read its language.
fn program(here: &Here, name: &str, path: RepoPath) -> Checked {
    Checked {
        errors: here.adapters().find(name).err().into_iter().collect(),
        sources: BTreeMap::from([(path.to_string(), String::new())]),
        ..Checked::unread(path)
    }
}

fn tell(all: &[Checked], out: &mut Output) {
    for one in all {
        out.know_sources(&one.sources);
        one.errors.iter().for_each(|error| out.explain(error));
        one.warnings.iter().for_each(|warning| out.warn_of(warning));
    }
    // An unreadable script was not checked.
    let (read, unread): (Vec<&Checked>, Vec<&Checked>) = all.iter().partition(|one| !one.sources.is_empty());
    if !read.is_empty() {
        out.say(&summary(&read));
    }
    if !unread.is_empty() {
        out.say(&format!("{} can't be read.", counted(unread.len(), "script")));
    }
}

/// The number of errors and warnings in scripts that were read.
fn summary(all: &[&Checked]) -> String {
    let count = |list: fn(&Checked) -> usize| all.iter().map(|one| list(one)).sum::<usize>();
    let (errors, warnings) = (count(|one| one.errors.len()), count(|one| one.warnings.len()));
    let is_script = |one: &&Checked| one.script.file_name() != policy::FILE;
    let scripts = counted(all.len(), if all.iter().all(is_script) { "script" } else { "file" });
    match (errors, warnings) {
        (0, 0) => format!("{scripts} checked: nothing is wrong."),
        (errors, 0) => format!("{scripts} checked: {}.", counted(errors, "error")),
        (0, warnings) => format!("{scripts} checked: {}.", counted(warnings, "warning")),
        (errors, warnings) => {
            format!("{scripts} checked: {}, {}.", counted(errors, "error"), counted(warnings, "warning"))
        }
    }
}

fn document(all: &[Checked]) -> Value {
    let script = |one: &Checked| {
        json!({
            "script": one.script,
            "ok": one.errors.is_empty(),
            "errors": one.errors,
            "warnings": one.warnings,
        })
    };
    json!({
        "ok": all.iter().all(|one| one.errors.is_empty()),
        "scripts": all.iter().map(script).collect::<Vec<_>>(),
    })
}

fn hits(checked: &Checked) -> impl Iterator<Item = Hit<'_>> {
    let errors = checked.errors.iter().map(|error| hit(checked, error, "error"));
    errors.chain(checked.warnings.iter().map(|warning| hit(checked, warning, "warning")))
}

fn hit<'a>(checked: &'a Checked, finding: &'a Error, level: &'static str) -> Hit<'a> {
    let place = finding.location();
    Hit {
        path: Some(place.map_or(checked.script.as_str(), |place| place.path.as_str())),
        rule: format!("check/{}", script::check::rule(finding)),
        doc: "Errors of a script that can be found before it runs.".to_owned(),
        help: finding.hint_text().unwrap_or(finding.message()).to_owned(),
        message: finding.message(),
        level,
        place: place.map(|place| (place.line as u64, place.column as u64)),
        end_line: None,
        suppressed: None,
    }
}
