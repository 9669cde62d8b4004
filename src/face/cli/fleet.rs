//! `nrv fleet`: plans the work over many repositories, does tasks of it, and collects their results.

mod deliver;

use std::{
    io::BufReader,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    Here,
    arguments::{
        Cli, FleetCollectArguments, FleetCommand, FleetPlaceArguments, FleetPlanArguments, FleetSubmitArguments,
        FleetWorkArguments,
    },
    output::{Mode, Output},
    signals, table,
    target::Target,
};
use crate::{
    base::{
        error::{Code, Error},
        text::{counted, escape},
    },
    face::fleet::{self, Collected, Kind, Manifest, Outcome, Plan, Row, Task, Worked, Worker, engine::Submission},
    script::remote::Surroundings,
    service::exec::look_up,
    system::{
        clock,
        process::{Command, Program, capture},
        store::Store,
    },
};

/// The number of digits of a hash that people see.
const SHOWN: usize = 12;

/// The time that the client of an engine has, in milliseconds, and the most that it may say.
const PATIENCE_MS: u64 = 120_000;
const MOST_SAID: usize = 1 << 20;

pub(super) fn fleet(cli: &Cli, command: &FleetCommand, out: &mut Output) -> Result<u8, Error> {
    match command {
        FleetCommand::Plan(arguments) => plan(&Here::open(cli)?, arguments, out),
        FleetCommand::Work(arguments) => work(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Submit(arguments) => submit(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Status(arguments) => status(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Collect(arguments) => collect(&Here::without_policy(cli)?, arguments, out),
        FleetCommand::Rollback(arguments) => deliver::rollback(&Here::without_policy(cli)?, arguments, out),
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
        let file = here.absolute(&arguments.plan);
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", arguments.plan.display()), error);
        #[expect(clippy::disallowed_methods, reason = "a file that the user names is theirs to name")]
        let opened = std::fs::File::open(&file).map_err(|error| failed(&error))?;
        let plan = Plan::read(&mut BufReader::new(opened))?;
        let base = file.parent().unwrap_or(&file);
        let store = match &arguments.store {
            Some(store) => Store::open(store, &here.place.folder)?,
            None => Store::open(&plan.head.store, base)?,
        };
        Ok(Place { plan, store })
    }
}

fn work(here: &Here, arguments: &FleetWorkArguments, out: &mut Output) -> Result<u8, Error> {
    signals::listen(&here.context.options, &here.meter)?;
    let Place { plan, store } = Place::open(here, &arguments.place)?;
    let options = &here.context.options;
    let worker = Worker {
        head: &plan.head,
        store: &store,
        options,
        environment: &options.environment,
        take_over: arguments.take_over,
    };
    let (mut code, mut again, mut rows) = (0, None, Vec::new());
    let tasks = chosen(&plan, arguments, &options.environment)?;
    let are_named = tasks.len() < plan.tasks.len() || arguments.index.is_some() || arguments.index_env.is_some();
    for task in tasks {
        match worker.work(task) {
            Ok(Worked::Done(outcome, is_new)) => {
                tell(task, &outcome, is_new, out);
                code = if code == 0 { outcome.exit_code } else { code };
                rows.push(outcome);
            }
            Ok(Worked::Busy { until_ms }) => {
                out.say(&format!("{}: another worker has it until {}", task.name, clock::rfc3339(until_ms)));
                // Who asked for no task in particular has others to do.
                if are_named && again.is_none() {
                    again = Some(
                        Error::new(Code::Temporary, format!("another worker has the task `{}`", task.name))
                            .hint("start it again later, or with `--take-over` if that worker is gone"),
                    );
                }
            }
            Err(error) if error.code() == Code::Temporary => {
                out.say(&format!("{}: not done now: {}", task.name, error.message()));
                again = again.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    if out.is_json() {
        out.document(&rows);
    }
    match again {
        None => Ok(code),
        Some(error) => {
            out.explain(&error);
            Ok(error.code().exit_code())
        }
    }
}

/// The tasks that the options name; all of them if they name none.
fn chosen<'p>(
    plan: &'p Plan,
    arguments: &FleetWorkArguments,
    environment: &std::collections::BTreeMap<String, String>,
) -> Result<&'p [Task], Error> {
    if let Some(name) = &arguments.task {
        let at = plan.tasks.iter().position(|task| task.name == *name || task.id.to_string() == *name);
        let at = at.ok_or_else(|| Error::new(Code::NotFound, format!("the plan has no task `{}`", escape(name))))?;
        return Ok(&plan.tasks[at..=at]);
    }
    let index = match (&arguments.index, &arguments.index_env) {
        (Some(index), _) => *index,
        (None, Some(name)) => {
            let value = environment.get(name).ok_or_else(|| {
                Error::new(Code::Usage, format!("the variable `{}` is not set", escape(name)))
                    .hint("the engine sets it where it starts a task")
            })?;
            value.parse().map_err(|_| {
                Error::new(Code::Usage, format!("`{}` is no number: {}", escape(name), value.escape_debug()))
            })?
        }
        (None, None) => return Ok(&plan.tasks),
    };
    let each = arguments.each.max(1);
    let from = index.saturating_mul(each);
    if from >= plan.tasks.len() {
        let message = format!("there is no task {index}: the plan has {}", counted(plan.tasks.len(), "task"));
        return Err(Error::new(Code::Usage, message));
    }
    Ok(&plan.tasks[from..plan.tasks.len().min(from + each)])
}

fn tell(task: &Task, outcome: &Outcome, is_new: bool, out: &mut Output) {
    let before = if is_new { "" } else { ", as another worker found" };
    let what = match (&outcome.kind, &outcome.error) {
        (Kind::Changed, _) => format!("{} changed", counted(outcome.files_changed, "file")),
        (kind, Some(error)) => format!("{}: {}: {}", kind.words(), error.code, escape(&error.message)),
        (kind, None) => kind.words().to_owned(),
    };
    out.say(&format!("{}: {what}{before}", task.name));
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

fn collect(here: &Here, arguments: &FleetCollectArguments, out: &mut Output) -> Result<u8, Error> {
    signals::listen(&here.context.options, &here.meter)?;
    let Place { plan, store } = Place::open(here, &arguments.place)?;
    let folder = arguments.output.as_deref().map(|folder| here.absolute(folder));
    if let Some(folder) = &folder {
        ["patches", "reports"].iter().try_for_each(|name| Target::make_folder(&folder.join(name), "a collection"))?;
    }
    let write = |name: PathBuf, bytes: &[u8]| match &folder {
        Some(folder) => Target::of(&folder.join(name), "a part of a collection").and_then(|target| target.write(bytes)),
        None => Ok(()),
    };
    let mut outcomes = Vec::new();
    let collected = fleet::collect(&store, &plan.tasks, &here.context.options, &mut |row, patch, report| {
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
        Some(approved) => deliver::apply(here, (&plan, &store), &collected, (approved, arguments.limit), out),
        None => Ok(exit_code(&collected)),
    }
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
    let Place { plan, .. } = Place::open(here, &arguments.place)?;
    let file = here.absolute(&arguments.place.plan);
    let folder = file.parent().unwrap_or(&file);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plan_path = match arguments.engine {
        fleet::engine::Engine::Kubernetes => format!("/fleet/{name}"),
        _ => file.display().to_string(),
    };
    let job = arguments.engine.job(&Submission {
        fleet: &plan.head.fleet,
        plan: &plan_path,
        tasks: plan.tasks.len(),
        jobs: arguments.jobs.max(1),
        image: &arguments.image,
        volume: &arguments.volume,
    });
    let path = folder.join(job.file);
    Target::of(&path, "a job")?.write(job.text.as_bytes())?;
    let shown = path.display().to_string();
    out.line(&shown);
    let Some((client, words)) = job.submit.split_first() else {
        out.say("Commit it to the repository whose runners are to work, and start it there.");
        return Ok(0);
    };
    let line = [job.submit, &[shown.as_str()]].concat().join(" ");
    if arguments.dry_run {
        out.say(&format!("`{line}` hands it over."));
        return Ok(0);
    }
    let options = &here.context.options;
    let program = look_up(client, options.environment.get("PATH"))
        .map_err(|error| error.hint(format!("the file is written; `{line}` hands it over where the client is")))?;
    let command = Command {
        program: Program::Path(program),
        args: words.iter().map(Into::into).chain([path.into()]).collect(),
        cwd: Some(folder.to_owned()),
        env: options.environment.clone(),
        stdin: Vec::new(),
        timeout_ms: PATIENCE_MS,
        max_output: MOST_SAID,
    };
    let done = capture(command, Some(options.cancel.as_ref()))?;
    for said in [&done.stdout, &done.stderr] {
        let said = String::from_utf8_lossy(said);
        said.lines().for_each(|line| out.say(&escape(line)));
    }
    match done.status {
        Some(0) => Ok(0),
        _ => Err(Error::new(Code::CommandFailed, format!("`{line}` did not take the job"))),
    }
}
