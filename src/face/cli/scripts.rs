//! `nrv scripts`: the workflows of a repository, and those that are shipped with the program.

use serde_json::json;

use super::{Here, arguments::ScriptsArguments, output::Output, table};

use base::error::{Code, Error};

pub(super) fn list(here: &Here, arguments: &ScriptsArguments, out: &mut Output) -> Result<u8, Error> {
    if let Some(name) = &arguments.source {
        return source(name, out);
    }
    let listed = if arguments.shipped { script::list_shipped(&here.context)? } else { script::list(&here.context)? };
    if out.is_json() {
        out.document(&listed);
    } else if listed.is_empty() {
        out.say("There are no workflows here yet. `nrv init` writes a first one, and `nrv scripts --shipped` lists those of nrv.");
    } else {
        out.data(&table::scripts(&listed));
    }
    if arguments.shipped && !out.is_json() {
        out.say("`nrv run std:NAME --help` shows the arguments of one, `nrv scripts --source std:NAME` its text.");
    }
    Ok(0)
}

/// Writes the text of a shipped workflow.
fn source(name: &str, out: &mut Output) -> Result<u8, Error> {
    let named = if name.contains(':') { name.to_owned() } else { format!("std:{name}") };
    let path = script::shipped::named(&named).unwrap_or_else(|| {
        Err(Error::new(Code::NotFound, format!("there is no shipped workflow `{}`", name.escape_debug()))
            .hint("`nrv scripts --shipped` lists them"))
    })?;
    let text = script::shipped::workflow(&path).unwrap_or_default();
    match out.is_json() {
        true => out.document(&json!({"path": path, "source": text})),
        false => out.data(text),
    }
    Ok(0)
}
