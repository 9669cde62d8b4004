//! From a manifest to a plan: the script and its approval, the policy, and the commit of each repository.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Map, Value, json};

use super::{
    manifest::{Manifest, PolicyText, Repository},
    plan::{FORMAT, Head, Plan, Task, check_names},
    request::form_of,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
    path::RepoPath,
};
use host::Context;
use script::{
    Header, Loaded,
    approval::{self, Standing},
    complete, load_script,
    remote::{Git, Surroundings, is_commit},
    shipped,
};
use service::exec::PrivateFolder;
use system::{
    policy::{self, Policy},
    process::sandbox::{Limits, Unasked},
    store::Store,
    workspace::{Workspace, parallel_map},
};

/// The bounds of a question for a commit.
pub(super) const LIMITS: Limits = Limits {
    memory: Some(1 << 30),
    file_size: Some(1 << 20),
    processes: None,
    disk: Some(1 << 20),
    unasked: Unasked { memory: true, processes: true },
};

/// How many repositories an error names beside the first.
const NAMED: usize = 10;

/// Makes the plan of a fleet in the workspace of its script. Paths are relative to `base`, the folder of `fleet.toml`.
///
/// `not_approved` if the script is not approved as it is. `temporary` if a repository can't be asked for its commit.
pub fn resolve(
    context: &Context,
    manifest: &Manifest,
    lists: &[&str],
    base: &Path,
    surroundings: &Surroundings<'_>,
) -> Result<Plan, Error> {
    let path = shipped::named(&manifest.script).unwrap_or_else(|| RepoPath::parse(&manifest.script))?;
    let loaded = load_script(context, &path).map_err(Error::from)?;
    let grants = grants(context, &loaded)?;
    let head = Head {
        format: FORMAT,
        fleet: manifest.name.clone(),
        store: manifest.store.clone(),
        script: path.to_string(),
        sources: loaded.sources.clone(),
        policy: policy_text(context, manifest)?,
        grants,
        retries: manifest.retries,
        retry_pause_s: manifest.retry_pause_s,
        lease_minutes: manifest.lease_minutes,
        clone_mb: manifest.clone_mb,
        commit: manifest.commit.clone(),
        request: manifest.request.clone(),
        max_failures: None,
        set: None,
        tasks: 0,
        seal: None,
    };
    Store::open(&manifest.store, base, &context.options.environment)?;
    let repositories = manifest.all(lists)?;
    let placed: Vec<(Repository, String)> =
        repositories.into_iter().map(|one| address(&one, base).map(|url| (one, url))).collect::<Result<_, _>>()?;
    let commits = parallel_map(context.options.threads, &placed, |(one, url)| commit(one, url, surroundings));
    let commits = all_of(&placed, commits)?;
    let shared = head.inputs()?;
    let mut tasks = Vec::new();
    for ((one, url), commit) in placed.into_iter().zip(commits) {
        tasks.extend(of_repository((&one, url, commit), manifest, &loaded.header, shared)?);
    }
    let mut ids = BTreeSet::new();
    if let Some(twice) = tasks.iter().find(|task| !ids.insert(task.id)) {
        let message = format!("the task `{}` is the same as another one of the fleet", twice.name);
        return Err(Error::new(Code::InvalidInput, message).hint("name each repository once"));
    }
    check_names(&tasks)?;
    if let Some(form) = &manifest.commit {
        let mut branches = BTreeSet::new();
        if let Some(twice) = tasks.iter().find(|task| !branches.insert((&task.url, form_of(form, task).branch))) {
            let message = format!("the task `{}` has the same branch of the same repository as another", twice.name);
            return Err(Error::new(Code::InvalidInput, message).hint("name each repository once"));
        }
    }
    let max_failures = manifest.max_failures.as_ref().and_then(|most| most.of(tasks.len()));
    let ids: Vec<Sha256> = tasks.iter().map(|task| task.id).collect();
    let head = Head { tasks: tasks.len(), max_failures, set: Some(json::sha256(&ids)?), ..head };
    Ok(Plan { head: head.sealed()?, tasks })
}

/// The confirmations that the script's approval grants; an error if it is not approved as it is.
fn grants(context: &Context, loaded: &Loaded) -> Result<Vec<String>, Error> {
    let text = approval::text(context)?;
    let lock = approval::Lock::of(text.as_deref())?;
    // What ships with the program needs no approval of the workspace.
    if shipped::workflow(&loaded.main).is_some() && !lock.scripts.contains_key(loaded.main.as_str()) {
        return Ok(Vec::new());
    }
    if let Some(refusal) = Standing::of(&lock, loaded).refusal(&loaded.main) {
        return Err(refusal);
    }
    approval::check_signature(context, text.as_deref().unwrap_or_default())?;
    Ok(lock.scripts.get(loaded.main.as_str()).map(|pin| pin.grants.clone()).unwrap_or_default())
}

/// The policy that is the ceiling, which has to be one that this program understands.
fn policy_text(context: &Context, manifest: &Manifest) -> Result<PolicyText, Error> {
    let file = manifest.policy.as_deref().unwrap_or(policy::FILE);
    let path = RepoPath::parse(file)?;
    let text = match &manifest.policy {
        Some(_) => context.workspace.read_own(&path, policy::BOUNDS)?,
        None => context.workspace.read_own_if_there(&path, policy::BOUNDS)?.unwrap_or_default(),
    };
    let policy = Policy::parse(&text, file)?;
    let workspace = Workspace::open(context.workspace.root())?;
    Context::with_policy(workspace, policy, context.options.clone())?.check_trust()?;
    Ok(PolicyText { file: file.to_owned(), text })
}

/// The address of a repository; that of a folder of this machine as well.
fn address(one: &Repository, base: &Path) -> Result<String, Error> {
    let Some(path) = &one.path else { return Ok(one.url.clone().unwrap_or_default()) };
    let folder = base.join(path);
    let folder =
        folder.canonicalize().map_err(|error| Error::io(format!("`{}` can't be found", folder.display()), &error))?;
    url::Url::from_file_path(&folder)
        .map(|url| url.to_string())
        .map_err(|()| Error::new(Code::InvalidPath, format!("`{}` has no address", folder.display())))
}

/// The commit of a repository: the one that is named, or that of its branch now.
fn commit(one: &Repository, url: &str, surroundings: &Surroundings<'_>) -> Result<String, Error> {
    if let Some(commit) = &one.commit {
        return Ok(commit.clone());
    }
    let place = PrivateFolder::make("fleet")?;
    let git = Git { place: &place, limits: LIMITS, surroundings };
    let wanted = one.branch.as_ref().map_or("HEAD".to_owned(), |branch| format!("refs/heads/{branch}"));
    let found = git.list(url, &wanted).map_err(|error| match error.code() {
        Code::Cancelled => error,
        _ => Error::new(Code::Temporary, format!("`{url}` can't be asked for its commit: {}", error.message()))
            .hint("check the address, or give the `commit`"),
    })?;
    let row = found.lines().find_map(|line| line.split_once('\t').filter(|(_, name)| *name == wanted));
    match row {
        Some((commit, _)) if is_commit(commit) => Ok(commit.to_owned()),
        _ => Err(Error::new(Code::NotFound, format!("`{url}` has no `{wanted}`")).hint("name another `branch`")),
    }
}

/// The commits of all repositories. If some have none, the error is that of the first, and names the others.
fn all_of(placed: &[(Repository, String)], commits: Vec<Result<String, Error>>) -> Result<Vec<String>, Error> {
    let failed = placed.iter().zip(&commits).filter(|(_, commit)| commit.is_err());
    let names: Vec<&str> = failed.filter_map(|((one, _), _)| one.name.as_deref()).collect();
    let more = match names.get(1..).unwrap_or_default() {
        [] => String::new(),
        others => {
            let shown = others.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let rest = others.len().saturating_sub(NAMED);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!(" (nor can {shown}{rest} be planned)")
        }
    };
    commits.into_iter().collect::<Result<_, _>>().map_err(|error: Error| {
        let whole = Error::new(error.code(), format!("{}{more}", error.message()));
        error.hint_text().map_or(whole.clone(), |hint| whole.hint(hint))
    })
}

/// The tasks of a repository: one, or one a shard.
fn of_repository(
    (one, url, commit): (&Repository, String, String),
    manifest: &Manifest,
    header: &Header,
    shared: Sha256,
) -> Result<Vec<Task>, Error> {
    let name = one.name.clone().unwrap_or_default();
    let task = |name: String, shard: Option<&String>| {
        let mut args: Map<String, Value> = manifest.args.clone();
        args.extend(one.args.clone());
        let with = |glob: Option<Value>| {
            let mut args = args.clone();
            args.extend(manifest.shard_arg.clone().zip(glob));
            complete(header, &[], Some(&Value::Object(args)))
        };
        // Some scripts take one glob, some a list.
        let args = with(shard.map(|glob| json!(glob)))
            .or_else(|error| shard.map_or(Err(error), |glob| with(Some(json!([glob])))))
            .map_err(|error| Error::new(error.code(), format!("the arguments of `{name}`: {}", error.message())))?;
        let task = Task {
            id: shared,
            name,
            url: url.clone(),
            commit: commit.clone(),
            args,
            shard: shard.cloned(),
            trust: one.trust.clone(),
        };
        Ok(Task { id: task.hash(shared)?, ..task })
    };
    match one.shards.as_slice() {
        [] => Ok(vec![task(name, None)?]),
        shards => shards.iter().enumerate().map(|(n, glob)| task(format!("{name}-{}", n + 1), Some(glob))).collect(),
    }
}
