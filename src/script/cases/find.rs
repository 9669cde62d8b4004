//! Finds the scripts with cases: those with a folder beside them that has their name and ends in `.test`.

use std::collections::BTreeSet;

use base::{
    error::{Code, Error},
    path::RepoPath,
};
use host::Context;
use system::workspace::{Kind, Visit};

/// All scripts, but those that are only the input of a case.
const SCRIPTS: &[&str] = &["**/*.rhai", "!**/*.test/**"];

/// The paths that mark a folder as one of cases.
const PARTS: &[&str] =
    &["**/*.test/*/args.json", "**/*.test/*/expected/**", "**/*.test/*/input/**", "**/*.test/*/outcome.json"];

/// A script with its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The script.
    pub script: RepoPath,
    /// The names of its cases, sorted.
    pub cases: Vec<String>,
}

/// The folder of a script's cases: of `scripts/x.rhai` that is `scripts/x.test`, and of the program `dta/x.py` `dta/x.test`.
pub fn test_folder(script: &RepoPath) -> RepoPath {
    let name = script.file_name();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    script.sibling(&format!("{stem}.test"))
}

/// The cases of these scripts, or of all that have any, whose folder's path holds the filter's text; sorted.
///
/// `programs` are those of adapters. `usage` if there is none, or none of a script that was named.
pub fn find(
    context: &Context,
    programs: &[RepoPath],
    scripts: &[RepoPath],
    filter: Option<&str>,
) -> Result<Vec<Suite>, Error> {
    let mut all = if scripts.is_empty() { context.list(SCRIPTS)? } else { scripts.to_vec() };
    if scripts.is_empty() {
        all.extend(programs.iter().cloned());
    }
    let mut suites = Vec::new();
    for named in all {
        let (script, only) = script_and_case(context, programs, &named)?;
        let folder = test_folder(&script);
        let mut cases = cases(context, &folder)?;
        cases.retain(|case| only.as_ref().is_none_or(|only| only == case));
        if cases.is_empty() && !scripts.is_empty() {
            return Err(no_case(context, &script, only.as_deref())?);
        }
        cases.retain(|case| filter.is_none_or(|text| folder.child(case).contains(text)));
        if !cases.is_empty() {
            suites.push(Suite { script, cases });
        }
    }
    suites.sort_by(|a, b| a.script.cmp(&b.script));
    suites.dedup();
    match (suites.is_empty(), filter) {
        (false, _) => Ok(suites),
        (true, Some(filter)) => Err(Error::new(Code::Usage, format!("no case has `{filter}` in its path"))
            .hint("`nrv test` without `--filter` lists all of them")),
        (true, None) => Err(Error::new(Code::Usage, "no script of this workspace has a case").hint(
            "a case of `scripts/x.rhai` is a folder `scripts/x.test/NAME` with the files that it works on in `input`",
        )),
    }
}

/// Folders of cases without a script or a program of their name, such as that of one that was renamed; sorted.
pub fn strays(context: &Context, programs: &[RepoPath]) -> Result<Vec<RepoPath>, Error> {
    let mut strays = BTreeSet::new();
    for file in context.list(PARTS)? {
        let (script, case) = script_and_case(context, programs, &file)?;
        if case.is_some() && context.workspace.stat(&script)?.is_none() {
            strays.insert(test_folder(&script));
        }
    }
    Ok(strays.into_iter().collect())
}

/// As [`named`]; the folder of a program's cases means the program, if there is no script.
fn script_and_case(
    context: &Context,
    programs: &[RepoPath],
    path: &RepoPath,
) -> Result<(RepoPath, Option<String>), Error> {
    let (script, case) = named(path);
    let program = programs.iter().find(|program| script != *path && test_folder(program) == test_folder(&script));
    Ok(match program {
        Some(program) if context.workspace.stat(&script)?.is_none() => (program.clone(), case),
        Some(_) | None => (script, case),
    })
}

/// The script that a path means, and the case if it leads into one: a person may name the folder that they look at.
fn named(path: &RepoPath) -> (RepoPath, Option<String>) {
    let mut parts = path.components();
    let mut script = Vec::new();
    while let Some(part) = parts.next() {
        if let Some(stem) = part.strip_suffix(".test").filter(|stem| !stem.is_empty()) {
            let file = format!("{stem}.rhai");
            let found = RepoPath::parse(&[script, vec![file.as_str()]].concat().join("/"));
            return (found.unwrap_or_else(|_| path.clone()), parts.next().map(str::to_owned));
        }
        script.push(part);
    }
    (path.clone(), None)
}

fn cases(context: &Context, folder: &RepoPath) -> Result<Vec<String>, Error> {
    match context.workspace.stat(folder)? {
        Some(found) if found.is_folder() => {}
        Some(found) if found.kind == Kind::Link => {
            return Err(Error::new(
                Code::InvalidPath,
                format!("`{folder}` is a symbolic link, so that its cases are not run"),
            )
            .hint("links are not followed; put the folder itself there"));
        }
        Some(_) | None => return Ok(Vec::new()),
    }
    // A link is none, but to leave it out silently would look as if it held.
    let is_case =
        |path: &RepoPath, kind| matches!(kind, Kind::Folder | Kind::Link) && !path.file_name().starts_with('.');
    let visit = |path: &RepoPath, kind| if is_case(path, kind) { Visit::Take } else { Visit::Skip };
    let survey = context.workspace.survey_below(std::slice::from_ref(folder), 1, visit)?;
    Ok(survey.seen.iter().map(|seen| seen.path.file_name().to_owned()).collect())
}

fn no_case(context: &Context, script: &RepoPath, case: Option<&str>) -> Result<Error, Error> {
    if context.workspace.stat(script)?.is_none() {
        return Ok(Error::new(Code::NotFound, format!("the script `{script}` does not exist"))
            .hint("name a script, or the folder of a case"));
    }
    let (name, what) = match case {
        Some(case) => (case, format!("has no case `{case}`")),
        None => ("first", "has no case".to_owned()),
    };
    let input = test_folder(script).child(name).child("input");
    Ok(Error::new(Code::Usage, format!("the script `{script}` {what}")).hint(format!(
        "put the files that it works on into `{input}`, then `nrv test -u {script}` writes the expected results"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_cases_has_the_scripts_name() {
        let folder = |script: &str| test_folder(&RepoPath::parse(script).unwrap()).to_string();
        assert_eq!(folder("scripts/x.rhai"), "scripts/x.test");
        assert_eq!(folder("x.rhai"), "x.test");
        assert_eq!(folder("a.b/x.y.rhai"), "a.b/x.y.test");
        assert_eq!(folder("dta/x.py"), "dta/x.test");
        assert_eq!(folder("dta/x"), "dta/x.test");
    }

    #[test]
    fn the_folder_of_a_case_means_its_script() {
        let meant = |path: &str| {
            let (script, case) = named(&RepoPath::parse(path).unwrap());
            (script.to_string(), case)
        };
        assert_eq!(meant("scripts/x.rhai"), ("scripts/x.rhai".to_owned(), None));
        assert_eq!(meant("scripts/x.test"), ("scripts/x.rhai".to_owned(), None));
        assert_eq!(meant("x.test/one/input/a"), ("x.rhai".to_owned(), Some("one".to_owned())));
    }
}
