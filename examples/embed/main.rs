//! A program that embeds nrv: it adds an adapter and a call, and runs a script that uses both.
//!
//! `cargo run --example embed -- FOLDER SCRIPT [--dry-run]`
#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a program may")]

mod final_newline;

use std::{
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
};

use nrv::{
    Adapters, Answer, Call, Calls, Context, CustomCall, Error, Event, Flags, Host, Invocation, Options, Position,
    Question, Request, Sink, Workspace,
};
use serde_json::json;

use crate::final_newline::FinalNewline;

fn main() -> ExitCode {
    embed().unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(error.code().exit_code())
    })
}

fn embed() -> Result<ExitCode, Error> {
    let adapters = Adapters::default().with(FinalNewline)?;
    // Scripts and verifiers run in processes of their own, which are this very program: it becomes one here.
    if let Some(code) = nrv::entry::main_if_requested_with(&adapters) {
        return Ok(code);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, script, flags @ ..] = arguments.as_slice() else {
        eprintln!("usage: embed FOLDER SCRIPT [--dry-run]");
        return Ok(ExitCode::from(2));
    };
    // The policy is that of the folder's `nrv.toml`, or the default one.
    let calls = Calls::default().with(create_ticket())?;
    let options = Options { adapters, calls, threads: 2, ..Options::default() };
    let context = Context::new(Workspace::open(Path::new(folder))?, options)?;

    let flags = Flags { yes: true, dry_run: flags.contains(&"--dry-run".to_owned()), ..Flags::default() };
    let invocation = Invocation { args: json!({"glob": "docs/**/*.md"}), flags, ..Invocation::default() };
    let finished = nrv::run_file(&context, script, invocation, &mut Console)?;
    println!("{} (run {})", finished.sentence(), finished.run);
    match &finished.error {
        Some(error) => eprintln!("{error}"),
        None => println!("The script says {}", finished.result),
    }

    // A program can make calls itself, too. They pass the same gates, and this run has a record like any other.
    let mut host = Host::start(&context, Request::program(&context, "count pages"), &mut Console)?;
    let call = Call::FilesGlob { patterns: vec!["docs/**/*.md".to_owned()] };
    let outcome = host.perform(&Position::nth(1), call, &mut Console);
    let counted = host.finish(outcome, &mut Console)?;
    println!("There are {} pages.", counted.result.as_array().map_or(0, Vec::len));
    Ok(ExitCode::from(finished.exit_code()))
}

/// A call that has an effect outside of the workspace: here, a line on stdout.
fn create_ticket() -> CustomCall {
    let next = AtomicU64::new(1);
    let params = json!({
        "type": "object", "additionalProperties": false, "required": ["title"],
        "properties": {"title": {"type": "string", "minLength": 1}},
    });
    CustomCall::new("tickets.create", "opens a ticket and gives its number", params, move |params, _| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        println!("Ticket {number}: {}", params["title"]);
        Ok(json!(number))
    })
    .preview(|_, _| Ok(json!(0)))
}

/// Prints the verdicts of verifiers; it has no person to ask.
struct Console;

impl Sink for Console {
    fn event(&mut self, event: Event) {
        if let Event::DtaVerified { tool, after, .. } = event {
            println!("The verifier of `{tool}` passed and counted {after}");
        }
    }

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::Nobody
    }
}
