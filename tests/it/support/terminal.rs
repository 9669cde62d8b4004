//! The binary on a terminal, where it may ask a person.
#![expect(clippy::disallowed_methods, reason = "tests run programs")]

use std::process::{Command, Stdio};

use super::{
    need,
    site::{Running, Site},
};

/// The byte that Ctrl-C sends.
pub(crate) const CTRL_C: &[u8] = b"\x03";

/// Starts the binary on a terminal, whose output is its stdout. None if there is no `script` that makes one.
pub(crate) fn on_a_terminal(site: &Site, arguments: &[&str]) -> Option<Running> {
    line_on_a_terminal(site, &line(site, arguments))
}

/// The line that a person types to start the binary.
pub(crate) fn line(site: &Site, arguments: &[&str]) -> String {
    let binary = site.command(arguments);
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy());
    let words: Vec<String> = std::iter::once(binary.get_program()).chain(binary.get_args()).map(quoted).collect();
    words.join(" ")
}

/// As [`on_a_terminal`], with a line for a shell.
pub(crate) fn line_on_a_terminal(site: &Site, line: &str) -> Option<Running> {
    let mut command = Command::new("script");
    site.tame(&mut command).env("TERM", "xterm").args(["-qec", line, "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().ok().map(Running);
    if running.is_none() {
        need::skip("terminal");
    }
    running
}
