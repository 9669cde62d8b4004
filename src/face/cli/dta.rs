//! `nrv dta`: adapters without a script.

use std::io::BufRead;

use serde_json::{Value, json};

use super::{
    Here,
    arguments::DtaRunArguments,
    ci,
    output::{Mode, Output, exact_line},
    run::{conclude, exit_code, flags, needs_dry_run, parse_json, summarise},
    table,
    terminal::{LISTED, Terminal},
};
use adapter::jsonl;
use base::{
    call::Call,
    error::{Code, Error},
    text::escape,
};
use host::{Host, Position, Request};
use script::approval;
use service::exec::PrivateFolder;

pub(super) fn list(here: &Here, out: &mut Output) -> Result<u8, Error> {
    let approved = here.context.policy.settings().adapters.approved.as_ref();
    let row = |adapter: &&dyn adapter::Adapter| {
        let name = adapter.name();
        let approved = approved.is_none_or(|list| list.iter().any(|known| known == name));
        let error = adapter.check().err();
        let usable =
            json!({"name": name, "version": adapter.version(), "summary": adapter.summary(), "approved": approved});
        match error {
            // The error itself names the file and the line.
            Some(error) => {
                json!({"name": name, "version": "", "summary": error.to_string(), "approved": approved, "error": error})
            }
            None => usable,
        }
    };
    let rows: Vec<Value> = here.adapters().all().iter().map(row).collect();
    if out.is_json() {
        out.document(&rows);
    } else {
        // The summary of a broken one is its error.
        let plain = rows.iter().map(|row| {
            let fields = row.as_object().into_iter().flatten().filter(|(key, _)| key.as_str() != "error");
            fields.map(|(key, value)| (key.clone(), value.clone())).collect()
        });
        out.data(&table::rows(&plain.collect::<Vec<Value>>()));
    }
    Ok(0)
}

pub(super) fn describe(here: &Here, name: &str, out: &mut Output) -> Result<u8, Error> {
    let adapter = here.adapters().find(name)?;
    if !out.is_json() {
        let told = [adapter.name(), adapter.version(), adapter.summary()].map(escape);
        out.line(&format!("{} {}: {}", told[0], told[1], told[2]));
        out.line("Phases: discover, propose, apply, verify. Globs, policy, and schemas of input and output:");
    }
    out.document(&host::describe_adapter(adapter, &here.context.policy)?);
    Ok(0)
}

pub(super) fn run(here: &Here, arguments: &DtaRunArguments, out: &mut Output) -> Result<u8, Error> {
    if arguments.jsonl {
        return answer_lines(here, &arguments.name, out);
    }
    let Some(file) = &arguments.input else {
        return Err(Error::new(Code::Usage, "`--input` is required: the adapter's invocation"));
    };
    let input = parse_json(&here.read_input(file)?, file)?;
    if here.is_locked() && here.adapters().find(&arguments.name)?.source().is_some() {
        let lock = approval::text(&here.context)?;
        approval::check_signature(&here.context, lock.as_deref().unwrap_or_default())?;
    }
    let flags = flags(arguments.mutation, arguments.keep);
    let request = Request::adapter(&here.context, &arguments.name, &input, flags)?;
    needs_dry_run(arguments.mutation, request.flags)?;
    let mut terminal = Terminal::new(here, out)?;
    let mut host = Host::start(&here.context, request, &mut terminal)?;
    let call = Call::DtaRun { tool: arguments.name.clone(), input };
    let outcome = host.perform(&Position::nth(1), call, &mut terminal);
    let finished = host.finish(outcome, &mut terminal)?;
    drop(terminal);
    if out.mode() == Mode::Document {
        // The adapter's own output, also when its verifier failed.
        let details = finished.error.as_ref().and_then(|error| error.details().get("output"));
        // A program's output is a text.
        let failed = details.filter(|output| output.is_object());
        match (&finished.error, failed) {
            (None, _) => out.document(&finished.result),
            (Some(_), Some(output)) => out.document(output),
            (Some(error), None) => {
                out.document(&json!({"error": error, "exit_code": finished.exit_code(), "run": finished.run}))
            }
        }
        summarise(&finished, out);
        return Ok(exit_code(&finished, arguments.mutation.asked));
    }
    let (shown, more) = finished.left.first_places(LISTED);
    shown.iter().chain(&more).for_each(|line| out.prompt(&format!("{}\n", escape(line))));
    Ok(conclude(&finished, arguments.mutation, out))
}

/// Answers requests about texts, one a line, until stdin ends. Nothing on disk is read or written.
fn answer_lines(here: &Here, name: &str, out: &mut Output) -> Result<u8, Error> {
    let adapter = here.adapters().find(name)?;
    let empty = PrivateFolder::make("texts")?;
    let workspace = system::workspace::Workspace::open(empty.path())?;
    let overlay = system::workspace::Overlay::default();
    let options = &here.context.options;
    let view = system::workspace::View::new(&workspace, &overlay);
    let ctx = adapter::Context::of_tree(view, options.threads, options.cancel.as_ref());
    for line in std::io::stdin().lock().split(b'\n') {
        // As bytes: a line that is not UTF-8 is one bad request, not the end of all.
        let line = line.map_err(|error| Error::io("stdin can't be read", &error))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let id = serde_json::from_slice::<Value>(&line).ok().and_then(|value| value.get("id").cloned());
        let answer = serde_json::from_slice::<jsonl::Request>(&line)
            .map_err(|error| Error::new(Code::InvalidInput, format!("the line is no request: {error}")))
            .and_then(|request| jsonl::answer(adapter, &ctx, &request));
        match answer {
            // The answer holds new contents of files, which must stay exact.
            Ok(answer) => out.bytes(ci::json(exact_line(&answer)).as_bytes()),
            Err(error) => out.json_line(&json!({"id": id, "error": error})),
        }
    }
    Ok(0)
}

pub(super) fn verify(here: &Here, run: &str, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let verified = host::verify_again(&here.context, &folder)?;
    let passed = verified.iter().all(|step| step.verifier.passed);
    if out.is_json() {
        out.document(&json!({"run": folder.id(), "passed": passed, "steps": verified}));
    } else {
        tell_steps(&verified, out);
    }
    if verified.is_empty() {
        out.say("The run applied nothing that could be verified.");
    }
    if passed { Ok(0) } else { Ok(Code::VerificationFailed.exit_code()) }
}

/// Shows the present verdicts of verifiers on the changes of a run.
pub(super) fn tell_steps(verified: &[host::Verified], out: &mut Output) {
    for step in verified {
        let word = if step.verifier.passed { "passed" } else { "failed" };
        out.line(&format!("{} at {}: {word} ({})", step.tool, step.position, step.verifier.checks.join(", ")));
        for failure in &step.verifier.failures {
            let place = failure.path.as_deref().map(|path| format!(" `{}`", escape(path)));
            out.line(&format!("  {}{}: {}", failure.check, place.unwrap_or_default(), failure.reason));
        }
        step.verifier.remarks.iter().for_each(|remark| out.line(&format!("  {}", escape(remark))));
    }
}
