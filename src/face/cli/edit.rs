//! `nrv edit`: micro-edits without a script.

use std::io::BufRead;

use owo_colors::OwoColorize;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Here,
    arguments::{EditArguments, EditCommand, FindArguments, OneEdit},
    ci,
    output::{Output, exact_line},
    run::{conclude, flags, needs_dry_run, parse_json, summarise},
    terminal::Terminal,
};
use base::{
    call::Call,
    error::{Code, Error},
    micro::{self, Edit, Find, Handle, Tool},
    text::{counted, escape},
};
use host::{Host, Position, Request};
use service::edit::{EditOutcome, EditStatus, jsonl};

pub(super) fn edit(here: &Here, arguments: &EditArguments, out: &mut Output) -> Result<u8, Error> {
    match &arguments.command {
        None => answer_lines(here, out),
        Some(_) if arguments.jsonl => {
            Err(Error::new(Code::Usage, "`--jsonl` takes requests from stdin, not from a subcommand"))
        }
        Some(EditCommand::Find(query)) => find(here, query, out),
        Some(EditCommand::Tools { by }) => {
            out.document(&micro::definitions((*by).into()));
            Ok(0)
        }
        Some(EditCommand::Make(command)) => make(here, command.one(), out),
    }
}

/// Makes one edit, in a run of its own.
fn make(here: &Here, (tool, one): (Tool, &OneEdit), out: &mut Output) -> Result<u8, Error> {
    let flags = flags(one.mutation, false);
    needs_dry_run(one.mutation, flags)?;
    let edit = Edit::parse(tool, &Value::Object(params(here, one)?))?;
    let request = Request::edit(&here.context, &edit, flags);
    let mut terminal = Terminal::new(here, out)?;
    let mut host = Host::start(&here.context, request, &mut terminal)?;
    let outcome = host.perform(&Position::nth(1), Call::EditMake(Box::new(edit)), &mut terminal);
    let finished = host.finish(outcome, &mut terminal)?;
    drop(terminal);
    tell(&finished.result, out);
    if let Some(error) = &finished.error {
        tell_near(error, out);
    }
    Ok(conclude(&finished, one.mutation, out))
}

/// The parameters of an edit as JSON, from the options and a file.
fn params(here: &Here, one: &OneEdit) -> Result<Map<String, Value>, Error> {
    let mut params = match &one.params {
        Some(file) => match parse_json(&here.read_input(file)?, file)? {
            Value::Object(map) => map,
            _ => return Err(Error::new(Code::InvalidInput, format!("`{}` holds no map", file.display()))),
        },
        None => Map::new(),
    };
    // A handle is JSON; a path with a line is none.
    let target = one.target.as_ref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
    let given = [
        ("target", target),
        ("path", one.path.as_ref().map(|path| json!(path))),
        ("line", one.line.map(|line| json!(line))),
        ("selector", one.selector.as_ref().map(|selector| json!(selector))),
        ("element", one.element.as_ref().map(|element| json!(element))),
        ("name", one.name.as_ref().map(|name| json!(name))),
        ("old", one.old.as_ref().map(|old| json!(old))),
        ("new", one.new.as_ref().map(|new| json!(new))),
        ("nth", one.nth.map(|nth| json!(nth))),
        ("relocate", one.relocate.then_some(Value::Bool(true))),
    ];
    params.extend(given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Ok(params)
}

/// Writes the changed place to stdout.
pub(super) fn tell(result: &Value, out: &mut Output) {
    if out.is_json() {
        return;
    }
    let Ok(outcome) = EditOutcome::deserialize(result) else { return };
    let place = format!("{}:{}:{}", escape(&outcome.path), outcome.line, outcome.column);
    out.styled(&match outcome.status {
        EditStatus::Noop => format!("= {place}\n"),
        EditStatus::Applied => {
            let (old, new) = (escape(&outcome.before), escape(outcome.after.trim_start()));
            let arrow = if old.is_empty() { String::new() } else { format!("{} → ", old.red()) };
            format!("M {place}  {arrow}{}\n", new.green())
        }
    });
}

/// Writes near misses to stderr.
fn tell_near(error: &Error, out: &mut Output) {
    let named = ["near", "matches"].into_iter().find_map(|key| error.details().get(key));
    let handles = named.and_then(|near| Vec::<Handle>::deserialize(near).ok()).unwrap_or_default();
    handles.iter().for_each(|handle| out.say(&format!("  {}", row(handle))));
}

fn row(handle: &Handle) -> String {
    let name = handle.name.as_deref().map(|name| format!(" {}", escape(name))).unwrap_or_default();
    let text = escape(&handle.text);
    format!("{}:{}:{} {}{name}: {text}", escape(&handle.path), handle.line, handle.column, handle.kind.as_str())
}

/// Prints the handles of targets. It is a run, since it reads as one.
fn find(here: &Here, arguments: &FindArguments, out: &mut Output) -> Result<u8, Error> {
    let FindArguments { kind, glob, selector, text, name } = arguments;
    let find = Find {
        kind: *kind,
        patterns: glob.clone(),
        selector: selector.clone(),
        text: text.clone(),
        name: name.clone(),
    };
    let mut terminal = Terminal::new(here, out)?;
    let mut host = Host::start(&here.context, Request::program(&here.context, "edit find"), &mut terminal)?;
    let outcome = host.perform(&Position::nth(1), Call::EditFind(Box::new(find)), &mut terminal);
    let finished = host.finish(outcome, &mut terminal)?;
    drop(terminal);
    if finished.error.is_some() {
        summarise(&finished, out);
        return Ok(finished.exit_code());
    }
    if out.is_json() {
        out.document(&finished.result);
        return Ok(0);
    }
    let handles = Vec::<Handle>::deserialize(&finished.result).unwrap_or_default();
    handles.iter().for_each(|handle| out.line(&row(handle)));
    out.say(&format!("{}.", counted(handles.len(), "target")));
    Ok(0)
}

/// Answers requests about texts, one a line, until stdin ends. Nothing on disk is read or written.
fn answer_lines(here: &Here, out: &mut Output) -> Result<u8, Error> {
    let pulse = || here.context.cancelled().map_or(Ok(()), Err);
    for line in std::io::stdin().lock().split(b'\n') {
        // As bytes: a line that is not UTF-8 is one bad request, not the end of all.
        let line = line.map_err(|error| Error::io("stdin can't be read", &error))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let id = || serde_json::from_slice::<Value>(&line).ok().and_then(|value| value.get("id").cloned());
        let answer = match serde_json::from_slice::<jsonl::Request>(&line) {
            Ok(request) => jsonl::answer(request, &pulse),
            Err(error) => {
                let error = Error::new(Code::InvalidInput, format!("the line is no request: {error}"));
                jsonl::Answer::refused(id().unwrap_or_default(), error)
            }
        };
        // The answer holds new contents of files, which must stay exact.
        out.bytes(ci::json(exact_line(&answer)).as_bytes());
    }
    Ok(0)
}
