//! Shows a long text to a person: in the pager of their choice, else as it is.

use super::output::Output;
use system::process;

/// The pager if the environment names none.
const PAGER: &str = "less -FRX";

/// Shows a text by `NRV_PAGER`, `PAGER` or `less`. A failure to show it never stops the command.
pub(super) fn show(text: &str, out: &mut Output) {
    let shown = pager().is_some_and(|line| {
        let paged = process::page(&line, &folders(), out.for_stderr(text).into_bytes());
        paged.unwrap_or_else(|error| {
            tracing::warn!("{error}");
            false
        })
    });
    if !shown {
        out.prompt(text);
    }
}

/// Shows a text at a terminal, in the pager only if it is longer than the screen.
pub(super) fn show_long(text: &str, out: &mut Output) {
    let rows = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_row));
    if text.lines().count() < rows { out.styled(text) } else { show(text, out) }
}

/// The `PATH` without the current folder (`.` or an empty entry): a bare name must not mean a program there.
#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn folders() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').filter(|entry| entry.starts_with('/')).collect::<Vec<_>>().join(":")
}

/// The shell command of the pager; none if the user wants none.
#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn pager() -> Option<String> {
    let named = ["NRV_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    named.map_or_else(|| Some(PAGER.to_owned()), |line| Some(line).filter(|line| !matches!(line.trim(), "" | "cat")))
}
