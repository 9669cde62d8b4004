//! Runs this program in a child process, so that a survivor can report the end even if the child dies.

use std::{ffi::OsString, io, process::Command};

use rustix::process::{Resource, Signal, getrlimit, set_parent_process_death_signal};

/// A stack that suffices for everything.
const STACK: u64 = 8 << 20;

/// True if a limit of this process ends it by a signal, or by an abort when memory runs out.
pub fn is_limited() -> bool {
    let limits = [Resource::As, Resource::Data, Resource::Cpu, Resource::Fsize];
    let has_small_stack = getrlimit(Resource::Stack).current.is_some_and(|bytes| bytes < STACK);
    has_small_stack || limits.into_iter().any(|limit| getrlimit(limit).current.is_some())
}

/// Runs this program with these arguments, and with the streams and the environment of this process. Returns the exit code;
/// none if a signal ended it.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that starts the program itself with what it was given"
)]
pub fn again(
    args: &[OsString],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<Option<i32>> {
    let mut command = Command::new("/proc/self/exe");
    command.args(args).env_clear().envs(environment);
    command.status().map(|status| status.code())
}

/// Makes this process end with the one that started it.
pub fn end_with_parent() {
    // Without support, the process ends after its answer.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}
