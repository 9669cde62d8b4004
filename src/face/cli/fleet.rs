//! `nrv fleet`: plans the work over many repositories, does tasks of it, and collects their results.

mod client;
mod deliver;
mod work;

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    Here,
    arguments::{
        Cli, FleetCollectArguments, FleetCommand, FleetPlaceArguments, FleetPlanArguments, FleetSubmitArguments,
    },
    output::{Mode, Output},
    signals, table,
    target::Target,
};
use crate::face::fleet::{
    self, Collected, Kind, Manifest, Plan, Row,
    engine::{Engine, Submission},
};
use base::{
    error::{Code, Error},
    text::{counted, escape, shell_word},
};
use script::remote::{Surroundings, check_tokens};
use service::exec::look_up;
use system::{
    process::{Command, Program, capture},
    store::Store,
};

/// The number of digits of a hash that people see.
const SHOWN: usize = 12;

/// The time that the client of an engine has, in milliseconds, and the most that it may say.
const PATIENCE_MS: u64 = 120_000;
const MOST_SAID: usize = 1 << 20;

pub(super) fn fleet(cli: &Cli, command: &FleetCommand, out: &mut Output) -> Result<u8, Error> {
    match command {
        FleetCommand::Plan(arguments) => plan(&Here::open(cli)?, arguments, out),
        FleetCommand::Work(arguments) => work::work(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Submit(arguments) => submit(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Status(arguments) => status(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Collect(arguments) => collect(cli, arguments, out),
        FleetCommand::Rollback(arguments) => deliver::rollback(cli, arguments, out),
    }
}

fn plan(here: &Here, arguments: &FleetPlanArguments, out: &mut Output) -> Result<u8, Error> {
    signals::listen(&here.context.options, &here.meter)?;
    let file = here.absolute(&arguments.manifest);
    let base = file.parent().unwrap_or(&file).to_owned();
    let manifest = Manifest::parse(&here.read_input(&arguments.manifest)?, &arguments.manifest.display().to_string())?;
    let listed = manifest.list.as_ref().map(|list| here.read_input(&base.join(list))).transpose()?;
    let given = arguments.repositories.as_ref().map(|file| here.read_input(file)).transpose()?;
    let lists: Vec<&str> = listed.iter().chain(&given).map(String::as_str).collect();
    let options = &here.context.options;
    check_tokens(&options.environment)?;
    let surroundings = Surroundings {
        environment: &options.environment,
        root: here.context.workspace.root(),
        supervisor: &options.program,
        cancel: options.cancel.as_ref(),
    };
    let plan = fleet::resolve(&here.context, &manifest, &lists, &base, &surroundings)?;
    let mut bytes = Vec::new();
    let sha256 = plan.write(&mut bytes)?.to_string();
    if arguments.output == Path::new("-") {
        out.json_bytes(bytes);
        return Ok(0);
    }
    let target = Target::of(&here.absolute(&arguments.output), "a plan")?;
    target.write(&bytes)?;
    let name = arguments.output.display().to_string();
    match out.mode() {
        Mode::Text => out.line(&name),
        Mode::Document | Mode::Lines => {
            out.document(&json!({"plan": name, "sha256": sha256, "tasks": plan.tasks.len()}));
        }
    }
    out.say(&format!("{} of `{}`. (plan {})", counted(plan.tasks.len(), "task"), plan.head.fleet, &sha256[..SHOWN]));
    Ok(0)
}

/// A plan with its store.
struct Place {
    plan: Plan,
    store: Store,
}

impl Place {
    fn open(here: &Here, arguments: &FleetPlaceArguments) -> Result<Self, Error> {
        Place::read(here, arguments, |input| Plan::read(input))
    }

    fn read(
        here: &Here,
        arguments: &FleetPlaceArguments,
        read: impl FnOnce(&mut dyn BufRead) -> Result<Plan, Error>,
    ) -> Result<Self, Error> {
        let plan = read_plan(here, &arguments.plan, read)?;
        let file = here.absolute(&arguments.plan);
        let (store, base) = match &arguments.store {
            Some(store) => (store, &*here.place.folder),
            None => (&plan.head.store, file.parent().unwrap_or(&file)),
        };
        let store = Store::open(store, base, &here.context.options.environment)?;
        Ok(Place { plan, store })
    }
}

fn read_plan(
    here: &Here,
    plan: &Path,
    read: impl FnOnce(&mut dyn BufRead) -> Result<Plan, Error>,
) -> Result<Plan, Error> {
    let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", plan.display()), error);
    #[expect(clippy::disallowed_methods, reason = "a file that the user names is theirs to name")]
    let opened = std::fs::File::open(here.absolute(plan)).map_err(|error| failed(&error))?;
    read(&mut BufReader::new(opened))
}

fn status(here: &Here, arguments: &FleetPlaceArguments, out: &mut Output) -> Result<u8, Error> {
    let Place { plan, store } = Place::open(here, arguments)?;
    let standing = fleet::status(&store, &plan.tasks)?;
    if out.is_json() {
        out.document(&standing);
    } else {
        out.line(&format!(
            "{} of {} done, {} begun, {} open",
            standing.done,
            counted(standing.tasks, "task"),
            standing.begun,
            standing.open
        ));
    }
    Ok(0)
}

fn collect(cli: &Cli, arguments: &FleetCollectArguments, out: &mut Output) -> Result<u8, Error> {
    let here = &Here::without_policy(cli)?;
    signals::listen(&here.context.options, &here.meter)?;
    let Place { plan, store } = Place::open(here, &arguments.place)?;
    let folder = arguments.output.as_deref().map(|folder| here.absolute(folder));
    if let Some(folder) = &folder {
        check_empty(folder)?;
        let bundles = arguments.bundles.then_some("bundles");
        ["patches", "reports"]
            .iter()
            .copied()
            .chain(bundles)
            .try_for_each(|name| Target::make_folder(&folder.join(name), "a collection"))?;
    }
    let write = |name: PathBuf, bytes: &[u8]| match &folder {
        Some(folder) => Target::of(&folder.join(name), "a part of a collection").and_then(|target| target.write(bytes)),
        None => Ok(()),
    };
    let mut outcomes = Vec::new();
    let collected = fleet::collect(&store, &plan, &here.context.options, &mut |row, patch, report| {
        if let Some(patch) = patch {
            write(format!("patches/{}.patch", row.name).into(), patch)?;
        }
        if let Some(report) = report {
            write(format!("reports/{}.html", row.name).into(), report)?;
        }
        serde_json::to_writer(&mut outcomes, row).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        outcomes.push(b'\n');
        Ok(())
    })?;
    if arguments.bundles {
        deliver::bundles(here, (&plan, &store), &collected, |name, bytes| {
            write(format!("bundles/{name}.bundle").into(), bytes)
        })?;
    }
    write("outcomes.jsonl".into(), &outcomes)?;
    write("index.html".into(), fleet::page(&plan.head.fleet, &collected).as_bytes())?;
    if !out.is_json() {
        out.data(&summary(&collected));
    } else if !arguments.apply {
        out.document(&collected);
    }
    if let Some(folder) = &arguments.output {
        out.say(&format!("The page over all is {}.", folder.join("index.html").display()));
    }
    match &arguments.approve {
        Some(approved) => {
            let terms = (approved.as_str(), arguments.limit, arguments.take_over);
            deliver::apply((cli, here), (&plan, &store), &collected, terms, out)
        }
        None => Ok(exit_code(&collected)),
    }
}

/// An error for a folder that holds something: a patch of another collection would be taken for one of this.
fn check_empty(folder: &Path) -> Result<(), Error> {
    let is_empty = folder.read_dir().map_or(true, |mut entries| entries.next().is_none());
    if is_empty && !folder.is_symlink() {
        return Ok(());
    }
    Err(Error::new(Code::InvalidInput, format!("`{}` is not an empty folder", folder.display()))
        .hint("name a new one by `-o`"))
}

/// The number of tasks of each outcome, and the groups of those that failed.
fn summary(collected: &Collected) -> String {
    let count = |kind: Kind| collected.rows.iter().filter(|row| row.outcome.kind == kind).count();
    let kinds = [Kind::Changed, Kind::Nothing, Kind::Waits, Kind::Failed];
    let mut rows: Vec<serde_json::Value> =
        kinds.iter().map(|kind| json!({"outcome": kind.words(), "tasks": count(*kind)})).collect();
    rows.push(json!({"outcome": "not done", "tasks": collected.missing.len()}));
    let mut text = table::rows(&rows);
    for group in &collected.groups {
        let place = group.at.as_ref().map(|at| format!(" at {}", escape(at))).unwrap_or_default();
        let some: Vec<&str> = group.tasks.iter().take(5).map(String::as_str).collect();
        let more = group.tasks.len() - some.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text += &format!(
            "{}: `{}`{place}: {} ({}{more})\n",
            counted(group.tasks.len(), "task"),
            group.code,
            escape(&group.message),
            some.join(", ")
        );
    }
    let files: usize = collected.rows.iter().map(|row: &Row| row.outcome.files_changed).sum();
    text.push_str(&format!("{} in all, patches {}\n", counted(files, "file"), collected.patches));
    text
}

/// The code of a collection: 75 if tasks are not done, else that of the first run that failed, else that of one that waits.
fn exit_code(collected: &Collected) -> u8 {
    let code = |kind| collected.rows.iter().find(|row| row.outcome.kind == kind).map(|row| row.outcome.exit_code);
    match collected.missing.is_empty() {
        false => Code::Temporary.exit_code(),
        true => code(Kind::Failed).or(code(Kind::Waits)).unwrap_or(0),
    }
}

fn submit(here: &Here, arguments: &FleetSubmitArguments, out: &mut Output) -> Result<u8, Error> {
    let plan = read_plan(here, &arguments.plan, |input| Plan::read(input))?;
    let file = here.absolute(&arguments.plan);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plan_path = match arguments.engine {
        Engine::Kubernetes => {
            check_volume(&plan)?;
            format!("/fleet/{name}")
        }
        Engine::Parallel | Engine::Slurm | Engine::Actions | Engine::HyperQueue => file.display().to_string(),
    };
    if plan_path.contains("${{") || plan_path.contains(['\n', '\r', '\0']) {
        return Err(Error::new(Code::InvalidPath, "the path of the plan has characters that job files give a meaning")
            .hint("move the plan to a plain path"));
    }
    let (tasks, more) = match arguments.canary {
        Some(n) => (n.get().min(plan.tasks.len()), format!(" --canary {n}")),
        None => (plan.tasks.len(), String::new()),
    };
    let digits = plan.head.seal.map(|seal| seal.to_string()).unwrap_or_default();
    let job = arguments.engine.job(&Submission {
        fleet: &plan.head.fleet,
        digits: digits.get(..8).unwrap_or_default(),
        plan: &plan_path,
        tasks,
        more: &more,
        jobs: arguments.jobs.max(1),
        image: &arguments.image,
        volume: &arguments.volume,
    });
    let path = file.with_file_name(format!("{name}.{}", job.name));
    Target::of(&path, "a job")?.write(job.text.as_bytes())?;
    out.line(&path.display().to_string());
    if job.submit.is_empty() {
        let way = match arguments.engine {
            Engine::Actions => "Commit it to the repository whose runners are to work, and start it there.".to_owned(),
            _ => format!("`sh {}` does the work.", shell_word(&path.display().to_string())),
        };
        out.say(&way);
        return Ok(0);
    }
    hand_over(here, job.submit, &path, arguments.dry_run, out)
}

/// An error for a plan that the pods of a volume can't work: what they write beside it, or look for on this machine, is lost.
fn check_volume(plan: &Plan) -> Result<(), Error> {
    let store = Path::new(&plan.head.store);
    if store.is_absolute() && !store.starts_with("/fleet") || plan.head.store.split('/').any(|part| part == "..") {
        return Err(Error::new(Code::InvalidInput, "the store is not in the folder of the plan, which is the volume")
            .hint("plan with a `store` below the plan, such as \"results\""));
    }
    match plan.tasks.iter().find(|task| task.url.starts_with("file:")) {
        None => Ok(()),
        Some(task) => {
            Err(Error::new(Code::InvalidInput, format!("the repository of `{}` is on this machine", task.name))
                .hint("pods reach repositories by https or ssh"))
        }
    }
}

/// Gives a job file to the client of an engine.
fn hand_over(here: &Here, submit: &[&str], path: &Path, dry_run: bool, out: &mut Output) -> Result<u8, Error> {
    let Some((client, words)) = submit.split_first() else { return Ok(0) };
    let line = format!("{} {}", submit.join(" "), shell_word(&path.display().to_string()));
    if dry_run {
        out.say(&format!("`{line}` hands it over."));
        return Ok(0);
    }
    let options = &here.context.options;
    let program = look_up(client, options.environment.get("PATH"))
        .map_err(|error| error.hint(format!("the file is written; `{line}` hands it over where the client is")))?;
    let command = Command {
        program: Program::Path(program),
        args: words.iter().map(Into::into).chain([path.into()]).collect(),
        cwd: path.parent().map(Path::to_owned),
        env: options.environment.clone(),
        stdin: Vec::new(),
        timeout_ms: PATIENCE_MS,
        max_output: MOST_SAID,
    };
    let done = capture(command, Some(options.cancel.as_ref()))?;
    for said in [&done.stdout, &done.stderr] {
        String::from_utf8_lossy(said).lines().for_each(|line| out.say(&escape(line)));
    }
    match done.status {
        Some(0) => Ok(0),
        _ => Err(Error::new(Code::CommandFailed, format!("`{line}` did not take the job"))),
    }
}
