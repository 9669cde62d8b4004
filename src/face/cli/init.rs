//! `nrv init`: the first files of a workspace.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    here::{Place, environment, with_trust},
    output::{Mode, Output},
    table,
    trust::trust_written,
};
use base::{error::Error, path::RepoPath, text::escape};
use host::{Context, FIRST_SCRIPT, Options, SetUp};
use system::{
    policy::{self, Policy},
    workspace::{Kind, Workspace},
};

pub(super) fn init(place: &Place, dry_run: bool, out: &mut Output) -> Result<u8, Error> {
    let workspace = Workspace::open(&place.root)?;
    let environment = environment();
    let home = environment.get("HOME").map(PathBuf::from);
    let path = environment.get("PATH").map_or("", String::as_str);
    let proposed = host::propose_set_up(&workspace, home.as_deref(), Some(path))?;
    if !dry_run {
        host::set_up(&workspace, &proposed)?;
    }
    if !dry_run {
        trust_own(place, &proposed, out)?;
    }
    let next = next(&workspace, &proposed)?;
    let root = workspace.root().display().to_string();
    if out.mode() != Mode::Text {
        let files = rows(&proposed);
        out.document(&json!({"root": root, "dry_run": dry_run, "files": files, "next": next}));
        return Ok(0);
    }
    out.say(&format!("The workspace is {}: {}.", escape(&root), place.reason));
    if dry_run {
        out.styled(&table::patch(&proposed.patch));
    }
    out.data(&lines(&proposed));
    match (proposed.changes.is_empty(), dry_run) {
        (true, _) => out.say("Nothing is missing, so nothing was written."),
        (false, true) => out.say("Nothing was written."),
        (false, false) => {
            out.say("Next:");
            next.iter().for_each(|command| out.say(&format!("  {command}")));
        }
    }
    Ok(0)
}

/// Trusts the policy that was just written.
fn trust_own(place: &Place, proposed: &SetUp, out: &mut Output) -> Result<(), Error> {
    let changes = proposed.changes.changes().iter();
    let Some(made) =
        changes.filter(|change| change.path.as_str() == policy::FILE).find_map(|change| change.after.as_ref())
    else {
        return Ok(());
    };
    let written = Policy::parse(&String::from_utf8_lossy(&made.bytes), policy::FILE)?;
    let options = with_trust(Options { environment: environment(), ..Options::default() });
    let context = Context::with_policy(Workspace::open(&place.root)?, written, options)?;
    trust_written(&context, &context.policy, out);
    Ok(())
}

/// The action on each file.
fn rows(proposed: &SetUp) -> Vec<Value> {
    let written = proposed.changes.changes().iter().map(|change| {
        let action = if change.before.is_none() { "make" } else { "append" };
        json!({"path": change.path, "action": action})
    });
    let kept = proposed.kept.iter().map(|kept| json!({"path": kept.path, "action": "keep", "reason": kept.reason}));
    written.chain(kept).collect()
}

fn lines(proposed: &SetUp) -> String {
    let line = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let reason = if row["reason"].is_string() { format!("  ({})", escape(&text("reason"))) } else { String::new() };
        format!("{:<6}  {}{reason}\n", text("action"), text("path"))
    };
    rows(proposed).iter().map(line).collect()
}

/// The next commands for the user; those that run the script only if it exists.
fn next(workspace: &Workspace, proposed: &SetUp) -> Result<Vec<String>, Error> {
    let mut next = vec!["nrv doctor".to_owned()];
    let made = proposed.changes.changes().iter().any(|change| change.path.as_str() == FIRST_SCRIPT);
    // Links are not followed.
    let found = workspace.stat(&RepoPath::parse(FIRST_SCRIPT)?).ok().flatten();
    if made || found.is_some_and(|found| found.kind == Kind::File) {
        let run = format!("nrv run {FIRST_SCRIPT}");
        next.push(format!("{run} --help"));
        next.push(format!("{run} --arg from=old.example.com --arg to=https://new.example.com --dry-run"));
    }
    Ok(next)
}
