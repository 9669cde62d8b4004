//! Runs one program in the sandbox: `launch ORDER.json`, where the file holds a `Launch` of the library.
//!
//! Prints its confinement at the start and its result at the end, a line of JSON each.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program may")]

use std::{process::ExitCode, sync::atomic::AtomicBool};

use nrv::{
    Error,
    system::process::{
        Program,
        sandbox::{self, Confinement, Ended, Stream},
    },
};
use serde_json::json;

fn main() -> ExitCode {
    // Its own hidden subcommands supervise the program.
    nrv::entry::main_if_requested().unwrap_or_else(|| match std::env::args().nth(1) {
        Some(order) => launch(&order),
        None => ExitCode::FAILURE,
    })
}

fn launch(order: &str) -> ExitCode {
    let launch = std::fs::read(order).ok().and_then(|order| serde_json::from_slice(&order).ok());
    let mut ready = |confinement: &Confinement| -> Result<(), Error> {
        println!("{}", json!(confinement));
        Ok(())
    };
    let Some(launch) = launch else { return ExitCode::FAILURE };
    let line = match sandbox::launch(&launch, &Program::ReExec, &AtomicBool::new(false), &mut ready) {
        Ok(Ended { status, signal, timed_out, exceeded, duration_ms, cpu_ms, peak_bytes, stdout, stderr, .. }) => {
            let text = |stream: &Stream| String::from_utf8_lossy(&stream.head).into_owned();
            json!({
                "status": status, "signal": signal, "timed_out": timed_out, "exceeded": exceeded, "duration_ms": duration_ms, "cpu_ms": cpu_ms,
                "peak_bytes": peak_bytes, "stdout": text(&stdout), "stderr": text(&stderr),
            })
        }
        Err(refused) => json!({ "refused": refused }),
    };
    println!("{line}");
    ExitCode::SUCCESS
}
