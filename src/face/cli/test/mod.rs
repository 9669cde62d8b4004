//! `nrv test`: runs the cases of scripts, reports each, and writes the changes of an update.

mod arguments;
mod output;
mod update;
mod watch;

use std::{collections::BTreeMap, path::Path};

pub(super) use self::arguments::TestArguments;
use self::output::Told;
use super::{Here, output::Output, recordings, run::script_path, signals};
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use host::Context;
use script::{
    Checked, Loaded,
    cases::{self, Loadable, Purpose, Report, Suite},
    own, session,
};

pub(super) fn test(here: &Here, arguments: &TestArguments, out: &mut Output) -> Result<u8, Error> {
    signals::listen(&here.context.options, &here.meter)?;
    let scripts = arguments.scripts.iter().map(|script| script_path(here, Path::new(script)));
    let scripts = scripts.collect::<Result<Vec<_>, _>>()?;
    if let Some(name) = scripts.iter().find(|script| script::shipped::workflow(script).is_some()) {
        let message = format!("`{name}` is shipped without cases: nrv is tested with them before it is released");
        return Err(Error::new(Code::Usage, message)
            .hint(format!("a copy can have cases of its own: `nrv scripts --source {name} > scripts/NAME.rhai`")));
    }
    let filter = arguments.filter.as_deref();
    let purpose = purpose(here, arguments)?;
    if arguments.watch {
        return watch::watch(here, &watch::Wanted { scripts: &scripts, filter, purpose }, out);
    }
    if scripts.is_empty() {
        for folder in cases::strays(&here.context, &own::program_files(&here.context.policy))? {
            let message = format!("the cases in `{folder}` are not run: there is no script of that name");
            let hint = match folder.strip_prefix("dta/").and_then(|name| name.strip_suffix(".test")) {
                Some(name) => format!(
                    "if they are those of a program, `[adapters.{name}]` in `nrv.toml` has to name it; else rename the folder as the adapter was, or remove it"
                ),
                None => "rename the folder as the script was, or remove it".to_owned(),
            };
            out.warn_of(&Error::new(Code::NotFound, message).hint(hint));
        }
    }
    let suites = find(&here.context, &scripts, filter)?;
    pass(&here.context, suites, purpose, out).map(|passed| passed.code)
}

/// The scripts, and the programs of adapters, with their cases.
fn find(context: &Context, scripts: &[RepoPath], filter: Option<&str>) -> Result<Vec<Suite>, Error> {
    cases::find(context, &own::program_files(&context.policy), scripts, filter)
}

fn purpose(here: &Here, arguments: &TestArguments) -> Result<Purpose, Error> {
    match (arguments.record_llm, arguments.update) {
        (true, _) if here.is_ci() => Err(recordings::recording_in_ci()),
        (true, _) => Ok(Purpose::Record),
        (false, true) => Ok(Purpose::Update),
        (false, false) => Ok(Purpose::Check),
    }
}

/// An adapter of the workspace, as a script that runs it; its own errors come first.
fn adapter(context: &Context, path: &RepoPath, name: &str) -> Checked {
    let text = own::case_script(name);
    let loader = script::Loader {
        origin: session::Origin { program: &context.options.program, isolation: context.options.isolation },
        limits: &context.policy.settings().script.limits,
        read: &|_| Ok(text.clone()),
        stop: &|| context.cancelled(),
    };
    let none = Checked::unread(path.clone());
    match context.options.adapters.find(name).map(|_| script::load(&loader, path)) {
        Ok(Ok(loaded)) => Checked { loaded: Some(loaded), ..none },
        Ok(Err(rejected)) => Checked { errors: rejected.errors, ..none },
        Err(error) => Checked { errors: vec![error], ..none },
    }
}

/// The result of running cases once.
struct Passed {
    /// The exit code.
    code: u8,
    /// The scripts that could be loaded.
    loaded: BTreeMap<RepoPath, Loaded>,
}

/// Runs the cases of these scripts once.
fn pass(context: &Context, suites: Vec<Suite>, purpose: Purpose, out: &mut Output) -> Result<Passed, Error> {
    let mut told = Told::start();
    let mut loaded = BTreeMap::new();
    let mut sources = BTreeMap::new();
    let mut broken = BTreeMap::new();
    let mut remarks = Vec::new();
    for suite in &suites {
        let checked = match own::name_at(&context.policy, &suite.script) {
            Some(name) => adapter(context, &suite.script, &name),
            None => script::check(context, &suite.script),
        };
        sources.extend(checked.sources);
        match checked.loaded {
            Some(script) => {
                // A call without permission is refused when it is made, and a case may expect that.
                remarks.extend(checked.errors);
                loaded.insert(suite.script.clone(), script);
            }
            None => drop(broken.insert(suite.script.clone(), checked.errors)),
        }
        remarks.extend(checked.warnings);
    }
    context.cancelled().map_or(Ok(()), Err)?;
    out.know_sources(&sources);
    remarks.iter().for_each(|remark| out.warn_of(remark));
    for (script, errors) in &broken {
        let cases = suites.iter().find(|suite| suite.script == *script).map(|suite| suite.cases.as_slice());
        told.broken(script, cases.unwrap_or_default(), errors, out);
    }
    let cases: Vec<Loadable<'_>> = suites
        .iter()
        .filter_map(|suite| Some((loaded.get(&suite.script)?, &suite.cases)))
        .flat_map(|(loaded, cases)| {
            let is_adapter = own::name_at(&context.policy, &loaded.main).is_some();
            cases.iter().map(move |case| Loadable { loaded, case, is_adapter })
        })
        .collect();
    let mut unwritten = None;
    cases::run(context, &cases, purpose, &mut |report: Report| {
        let written = if unwritten.is_none() { update::write(context, &report.updated) } else { Ok(()) };
        told.report(report, &sources, out);
        if let Err(error) = written {
            unwritten = Some(error);
        }
    })?;
    unwritten.map_or(Ok(()), Err)?;
    Ok(Passed { code: told.end(out), loaded })
}
