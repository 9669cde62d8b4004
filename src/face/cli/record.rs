//! `nrv llm record`: runs a script dry, and records the replies to its requests beside it or for one of its cases.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde_json::json;

use super::{
    Here,
    arguments::RecordArguments,
    output::Output,
    recordings,
    run::{load, parse_json, tell_end},
    terminal::Terminal,
};
use base::error::{Code, Error};
use host::{Finished, Flags, Tape};
use llm::{Replies, counted_replies};
use script::{Invocation, Loaded, Tapes, cases};
use system::policy::Cassettes;

pub(super) fn record(here: &Here, arguments: &RecordArguments, out: &mut Output) -> Result<u8, Error> {
    if here.replays_only() {
        return Err(recordings::recording_in_ci());
    }
    let replies = Arc::new(Replies::new(texts(here, arguments)?));
    let (loaded, warnings) = load(here, &arguments.script, out)?;
    warnings.iter().for_each(|warning| out.warn_of(warning));
    let tape = tape(here, arguments, &loaded)?;
    let folder = tape.folder.clone();
    let tapes = match arguments.from {
        Some(_) => Tapes::Given(tape),
        None => Tapes::Written(tape, Arc::clone(&replies)),
    };
    let finished = dry(here, arguments, &loaded, tapes, out)?;
    // Replies that a provider was paid for are kept, whatever comes of the script. Those of a person fit as a whole or not at all.
    if arguments.from.is_none()
        && let Err(error) = replies.check()
    {
        return Err(placed(error, &finished));
    }
    let files = finished.cassettes.as_ref().map(|tape| tape.files.clone()).unwrap_or_default();
    if !files.is_empty() {
        recordings::write(here, &folder, &files)?;
    }
    tell(&finished, &folder, &files, out);
    Ok(finished.exit_code())
}

/// The texts of the replies. The last line end of a file is no part of its text.
fn texts(here: &Here, arguments: &RecordArguments) -> Result<Vec<String>, Error> {
    let named = arguments.reply.iter().chain(&arguments.args);
    if named.filter(|path| path.as_path() == Path::new("-")).count() > 1 {
        return Err(Error::new(Code::Usage, "stdin can be read once, and `-` is given twice")
            .hint("write the other text to a file"));
    }
    let text = |text: String| {
        let line = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
        line.map(str::to_owned).unwrap_or(text)
    };
    arguments.reply.iter().map(|path| here.read_input(path).map(text)).collect()
}

/// The folder of the recordings, with those that are there.
fn tape(here: &Here, arguments: &RecordArguments, loaded: &Loaded) -> Result<Tape, Error> {
    let folder = match &arguments.case {
        Some(case) => {
            let folder = cases::test_folder(&loaded.main).child(case);
            if here.context.workspace.stat(&folder)?.is_none() {
                return Err(Error::new(Code::NotFound, format!("there is no case `{folder}`"))
                    .hint("make its folder `input`, and `args.json` if the script has arguments"));
            }
            folder.child("llm").to_string()
        }
        None => script::tape_folder(&loaded.main),
    };
    recordings::place(here, &folder)?;
    let mode = if arguments.force { Cassettes::Record } else { Cassettes::Auto };
    Ok(Tape { mode, files: script::read_tape(&here.context, &folder)?, folder })
}

/// Runs the script without changing the workspace: dry, or in a copy of its case's input.
fn dry(
    here: &Here,
    arguments: &RecordArguments,
    loaded: &Loaded,
    tapes: Tapes,
    out: &mut Output,
) -> Result<Finished, Error> {
    if let Some(case) = &arguments.case {
        return cases::try_once(&here.context, loaded, case, &tapes, &mut Terminal::new(here, out)?);
    }
    let json = match &arguments.args {
        Some(file) => Some(parse_json(&here.read_input(file)?, file)?),
        None => None,
    };
    let args = script::complete(&loaded.header, &arguments.arg, json.as_ref())?;
    let flags = Flags { dry_run: true, ..Flags::default() };
    let invocation = Invocation { args, flags, tapes, ..Invocation::default() };
    script::run(&here.context, loaded, invocation, &mut Terminal::new(here, out)?)
}

/// The error of a reply, with the place of its request if it ended the script.
fn placed(error: Error, finished: &Finished) -> Error {
    match &finished.error {
        Some(ended) if ended.message() == error.message() => ended.clone(),
        Some(ended) => error.detail("script", ended.message()),
        None => error,
    }
}

fn tell(finished: &Finished, folder: &str, files: &BTreeMap<String, String>, out: &mut Output) {
    if out.is_json() {
        let names: Vec<&String> = files.keys().collect();
        out.document(&json!({"folder": folder, "recorded": names, "finished": finished}));
    }
    if finished.error.is_some() {
        tell_end(finished, out);
    }
    out.say(&match files.len() {
        0 if finished.error.is_some() => "Nothing was recorded.".to_owned(),
        0 => format!("Nothing was recorded: no request of the script lacks a reply in `{folder}`."),
        n => format!("{} recorded in `{folder}`: review them before they are used.", counted_replies(n)),
    });
    if !out.is_json() {
        files.keys().for_each(|name| out.line(&format!("{folder}/{name}")));
    }
}
