//! A program whose runs survive it: it runs a script, and resumes a run that waits or that died.
//!
//! `cargo run --example durable -- FOLDER run SCRIPT`, then
//! `cargo run --example durable -- FOLDER resume RUN [--approve GATE [--reply JSON]] [--reject GATE]`
#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a program may")]

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use nrv::{
    Adapters, Calls, Code, Context, CustomCall, Error, Finished, Flags, Invocation, Options, Resumption, Ruling,
    Silent, Workspace, host,
};
use serde_json::{Value, json};

fn main() -> ExitCode {
    durable().unwrap_or_else(|error| {
        eprintln!("{}: {error}", error.code());
        if let Some(hint) = error.hint_text() {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(error.code().exit_code())
    })
}

fn durable() -> Result<ExitCode, Error> {
    if let Some(code) = nrv::entry::main_if_requested_with(&Adapters::default()) {
        return Ok(code);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, verb, what, options @ ..] = arguments.as_slice() else {
        eprintln!("usage: durable FOLDER run SCRIPT | durable FOLDER resume RUN [--approve GATE [--reply JSON]]");
        return Ok(ExitCode::from(2));
    };
    let folder = Path::new(folder);
    let calls = calls(folder.parent().unwrap_or(folder))?;
    let context = Context::new(Workspace::open(folder)?, Options { calls, threads: 2, ..Options::default() })?;
    let option = |name: &str| options.iter().skip_while(|option| *option != name).nth(1).cloned();
    let ruling = |id: String| Ruling { id, by: Some("durable".to_owned()), reason: None };
    let finished = match (verb.as_str(), option("--reject")) {
        ("run", _) => {
            let flags = Flags { yes: true, ..Flags::default() };
            nrv::run_file(&context, what, Invocation { flags, ..Invocation::default() }, &mut Silent)?
        }
        (_, Some(id)) => host::reject(&context, what, &ruling(id), &mut Silent)?,
        (_, None) => {
            let reply = option("--reply").map(|text| serde_json::from_str(&text).unwrap_or(Value::Null));
            let approve = option("--approve").map(ruling);
            nrv::resume(&context, what, Resumption { approve, reply, ..Resumption::default() }, &mut Silent)?
        }
    };
    Ok(tell(&finished))
}

fn tell(finished: &Finished) -> ExitCode {
    println!(
        "{}",
        json!({"run": finished.run, "state": finished.state, "error": finished.error, "result": finished.result})
    );
    ExitCode::from(finished.exit_code())
}

/// A call of each class. Their effects are files beside the workspace, so that they can be counted. If there is a file
/// `unplug` there, the program dies right after the effect of the next call.
fn calls(beside: &Path) -> Result<Calls, Error> {
    let params = || json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
    let look = CustomCall::new("weather.look", "looks out of the window", params(), |params, ctx| {
        Ok(json!({"name": params["name"], "seed": ctx.seed}))
    });
    let folder = beside.join("builds");
    // A name of its own, so that making it again makes the same.
    let build = CustomCall::new("house.build", "builds in a folder of its own", params(), move |params, ctx| {
        let place = folder.join(format!("{}-{}", ctx.run, ctx.position));
        write(&place, &params["name"])?;
        unplug(&folder.with_file_name("unplug"));
        Ok(json!({"built": params["name"]}))
    });
    let letters = beside.join("letters");
    let send =
        CustomCall::new("post.send", "sends a letter, which nobody can take back", params(), move |params, ctx| {
            pause();
            append(&letters, &format!("{} {}", ctx.position, params["name"]))?;
            unplug(&letters.with_file_name("unplug"));
            pause();
            Ok(json!({"sent": params["name"]}))
        });
    Calls::default().with(look.read_only())?.with(build.repeatable())?.with(send)
}

/// The post takes its time.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

/// Dies as in a power cut, if there is such a file.
fn unplug(file: &Path) {
    if fs::remove_file(file).is_ok() {
        std::process::abort();
    }
}

fn write(place: &PathBuf, name: &Value) -> Result<(), Error> {
    let made = fs::create_dir_all(place.parent().unwrap_or(place)).and_then(|()| fs::write(place, name.to_string()));
    made.map_err(|error| Error::new(Code::Io, error.to_string()))
}

fn append(file: &PathBuf, line: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.and_then(|mut file| writeln!(file, "{line}")).map_err(|error| Error::new(Code::Io, error.to_string()))
}
