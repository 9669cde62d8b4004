//! Runs one program in the sandbox: `launch ORDER.json`, where the file holds a `Launch` of the library.
//!
//! Its output goes to stdout and stderr, how it ended to stderr. Tests kill it in the middle.
#![expect(clippy::disallowed_methods, reason = "a program of its own reads its arguments and its file")]
#![expect(clippy::print_stderr, reason = "a program of its own prints")]

use std::{error::Error, io::Write, process::ExitCode, sync::atomic::AtomicBool};

use nrv::process::{
    Program,
    sandbox::{self, Ended},
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // Its own hidden subcommands supervise the program.
    if let Some(code) = nrv::entry::main_if_requested() {
        return Ok(code);
    }
    let order = std::env::args().nth(1).ok_or("name a file with what is to be launched")?;
    let launch = serde_json::from_slice(&std::fs::read(order)?)?;
    let started = |confinement: &sandbox::Confinement| {
        eprintln!("{confinement:?}");
        Ok(())
    };
    match sandbox::launch(&launch, &Program::ReExec, &AtomicBool::new(false), &mut { started }) {
        Ok(Ended { stdout, stderr, status, signal, timed_out, duration_ms, cpu_ms, peak_bytes, .. }) => {
            std::io::stdout().write_all(&stdout.head)?;
            std::io::stderr().write_all(&stderr.head)?;
            eprintln!(
                "{status:?} {signal:?} timed_out={timed_out} {duration_ms} ms, {cpu_ms} ms of processor time, {peak_bytes} bytes"
            );
            Ok(ExitCode::SUCCESS)
        }
        Err(refused) => {
            eprintln!("{refused:#?}");
            Ok(ExitCode::FAILURE)
        }
    }
}
