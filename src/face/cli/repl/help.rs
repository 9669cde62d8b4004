//! `:help`: the commands, and entries of the reference.

use super::command;
use base::error::Error;
use script::{library::MODULES, reference::Reference};

/// The text below the commands.
const BELOW: &str = "\
Anything else is evaluated. Tab completes names, fields and paths. Ctrl-C stops the running input, or drops the typed one; Ctrl-D ends.
`:help nrv.files.read` shows the help on a call. The beginning of a command is enough.
";

/// The list of commands, or the help on a command or an entry of the reference.
pub(super) fn text(name: Option<&str>) -> Result<String, Error> {
    Ok(match name {
        None => format!("{}\n{BELOW}", command::list()),
        Some(name) => match name.strip_prefix(':') {
            Some(command) => command::find(command)?.line(),
            None => {
                let said = Reference::new(MODULES).find(name).map(|entry| entry.text());
                match (command::COMMANDS.iter().find(|command| command.name == name), said) {
                    (Some(command), Ok(said)) => format!("{}\n{said}", command.line()),
                    (Some(command), Err(_)) => command.line(),
                    (None, said) => said?,
                }
            }
        },
    })
}

/// The names in the reference that begin like this, sorted.
pub(super) fn names(beginning: &str) -> Vec<String> {
    let reference = Reference::new(MODULES);
    let mut names: Vec<_> =
        reference.entries().map(|entry| entry.name()).filter(|name| name.starts_with(beginning)).collect();
    names.sort();
    names.dedup();
    names
}
