//! `nrv dag`: the steps of a plan as a graph.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    arguments::{DagCommand, DagRunArguments},
    here::Here,
    output::Output,
    run::{conclude, flags, needs_dry_run, parse_json, told},
    terminal::Terminal,
};
use base::{
    call::{Node, Work},
    error::{Code, Error},
    path::RepoPath,
};
use flow::planner::stated_nodes;
use script::{Invocation, Rejected};
use system::workspace::Globs;

pub(super) fn dag(here: &Here, command: &DagCommand, out: &mut Output) -> Result<u8, Error> {
    match command {
        DagCommand::Run(arguments) => run(here, arguments, out),
    }
}

fn run(here: &Here, arguments: &DagRunArguments, out: &mut Output) -> Result<u8, Error> {
    let DagRunArguments { plan, fail_fast, mutation, keep, .. } = arguments;
    let flags = flags(*mutation, *keep);
    needs_dry_run(*mutation, flags)?;
    if here.is_locked() {
        return Err(Error::new(Code::NotApproved, "only approved scripts run here, and a plan is none")
            .hint("write a script that calls `nrv.dag`, and approve it with `nrv approve`"));
    }
    let plan = parse_json(&here.read_input(plan)?, plan)?;
    let writes = writes(&stated_nodes(&plan, &|path| input(here, path))?)?;
    let loaded = script::load_plan(&here.context, &writes).map_err(|Rejected { errors, sources, .. }| {
        out.know_sources(&sources);
        told(errors, out)
    })?;
    let args = script::complete(&loaded.header, &[], Some(&json!({"plan": plan, "fail_fast": fail_fast})))?;
    let invocation = Invocation { args, flags, ..Invocation::default() };
    let finished = script::run(&here.context, &loaded, invocation, &mut Terminal::new(here, out)?)?;
    Ok(conclude(&finished, *mutation, out))
}

/// The text of a file with an input.
fn input(here: &Here, path: &str) -> Result<String, Error> {
    let content = here.context.workspace.read(&RepoPath::parse(path)?)?;
    String::from_utf8(content.into_bytes())
        .map_err(|_| Error::new(Code::InvalidInput, format!("`{}` is not UTF-8", path.escape_debug())))
}

/// The globs of the files that nodes may change.
fn writes(nodes: &[Node]) -> Result<BTreeSet<String>, Error> {
    let mut globs = BTreeSet::new();
    for node in nodes {
        match node.work()? {
            Work::Adapter { input, .. } => globs.extend(target(&input["target"])),
            Work::Exec(run) => globs.extend(run.writes),
            Work::Edit(edit) => drop(globs.insert(Globs::literal(&RepoPath::parse(&edit.path)?))),
            Work::Proposal { .. } | Work::Gate { .. } | Work::Agent { .. } | Work::Script(_) => {}
        }
    }
    // A permission that excludes files takes them from all nodes.
    globs.retain(|glob| !glob.starts_with('!'));
    Ok(globs)
}

/// The globs of an adapter's target, from the root of the workspace.
fn target(target: &Value) -> Vec<String> {
    let folder = target["repo_path"].as_str().unwrap_or(".").trim_matches('/');
    let stated: Vec<&str> = match &target["glob"] {
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let whole = |glob: &str| match glob.strip_prefix('!') {
        None if folder != "." => format!("{folder}/{glob}"),
        _ => glob.to_owned(),
    };
    stated.into_iter().map(whole).collect()
}
