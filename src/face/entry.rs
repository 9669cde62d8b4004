//! The hidden subcommands: processes of nrv's own that the host starts from its own binary.
//!
//! They are looked for before the command line is parsed, so that they confine themselves first.

use std::process::ExitCode;

use adapter::{
    Adapters,
    source::Kind,
    verify::{self, Request},
};
use script::{guest, own};
use service::assertion::check;
use system::process::{Isolation, lockdown, sandbox};

/// The subcommand of a script's process.
pub const WORKER: &str = "__worker";

/// The subcommand of a verifier's process.
pub const VERIFIER: &str = "__verify";

/// The subcommand of a process that checks a commitment.
pub const CHECK: &str = "__check";

/// Runs scripts on threads of this program, for tests or where it can't start processes of itself.
///
/// The lost protections are recorded (`worker_started`). A script that overflows its stack or uses up all memory ends the whole
/// program. Only the engine keeps it from files and the network, and it can't be killed, only asked to stop.
pub const THREAD: Isolation = Isolation::Thread(guest::on_thread);

/// Confines a verifier, which reads the tree and the record only, and writes nothing.
fn confine(request: &Request) {
    // Missing features of the kernel are no reason to stop: the verifier's own code writes nothing either way.
    let _ = match request.source.as_ref().map(|source| &source.kind) {
        // The kernel lets no confined process make a view for another. The program itself sees neither the tree nor the network.
        Some(Kind::Program(_)) => lockdown::alone(),
        Some(Kind::Rhai { limits, .. }) => lockdown::read_only_bounded(&request.readable(), limits, request.threads),
        None => lockdown::read_only(&request.readable()),
    };
}

/// Runs the hidden subcommand that the first argument names, if it is one. A program that embeds nrv calls it first in its
/// `main`, before it starts threads or opens files.
///
/// None on an ordinary start. A program with adapters of its own calls [`main_if_requested_with`].
pub fn main_if_requested() -> Option<ExitCode> {
    main_if_requested_with(&Adapters::default())
}

/// As [`main_if_requested`], with the adapters that this program's runs use: they are verified in a process of their own.
#[expect(clippy::disallowed_methods, reason = "it is asked before the command line's own parser is")]
pub fn main_if_requested_with(adapters: &Adapters) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments.next()?;
    let mut argument = || arguments.next().and_then(|argument| argument.into_string().ok()).unwrap_or_default();
    match name.to_str()? {
        sandbox::SUPERVISOR => Some(sandbox::supervise(&argument())),
        sandbox::INIT => Some(sandbox::init(&argument())),
        WORKER => Some(guest::main(lockdown::script)),
        CHECK => Some(check::main(std::io::stdin().lock(), std::io::stdout().lock(), |request| {
            // As for a verifier: its own code writes nothing either way.
            let _ = lockdown::read_only(&request.readable());
        })),
        VERIFIER => {
            Some(verify::main((adapters, &own::rebuild), std::io::stdin().lock(), std::io::stdout().lock(), confine))
        }
        _ => None,
    }
}
