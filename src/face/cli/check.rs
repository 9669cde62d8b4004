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
use crate::{
    base::{error::Error, path::RepoPath, text::counted},
    script::{self, Checked, own},
};

pub(super) fn check(here: &Here, arguments: &CheckArguments, out: &mut Output) -> Result<u8, Error> {
    let mut all = Vec::new();
    for script in &arguments.scripts {
        let path = script_path(here, script)?;
        all.push(match own::name_at(&here.context.policy, &path) {
            Some(name) if here.context.policy.adapter(&name).program.is_empty() => {
                own::check(&here.context.workspace, (&name, &path), &here.how())
            }
            Some(name) => program(here, &name, path),
            None => script::check(&here.context, &path),
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

/// The findings in the table of a program that is an adapter; nrv does not read its language.
fn program(here: &Here, name: &str, path: RepoPath) -> Checked {
    Checked {
        errors: here.adapters().find(name).err().into_iter().collect(),
        warnings: Vec::new(),
        sources: BTreeMap::from([(path.to_string(), String::new())]),
        loaded: None,
        script: path,
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
    let scripts = counted(all.len(), "script");
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
