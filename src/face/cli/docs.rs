//! `nrv docs` and `nrv definitions`: the reference of the interface of scripts, in the terminal and for editors.

use serde_json::json;

use super::{
    arguments::{DefinitionsArguments, DocsArguments},
    here::current_folder,
    output::Output,
    target::Target,
};
use crate::{
    base::error::Error,
    script::{library::MODULES, reference::Reference},
};

/// The name of definitions in errors about writing them.
const WHAT: &str = "definition files";

pub(super) fn docs(arguments: &DocsArguments, out: &mut Output) -> Result<u8, Error> {
    let reference = Reference::new(MODULES);
    let Some(name) = &arguments.name else {
        if out.is_json() {
            out.document(&reference.json());
        } else {
            out.data(&reference.overview());
        }
        return Ok(0);
    };
    let entry = reference.find(name)?;
    if out.is_json() {
        out.document(&entry.json());
    } else {
        out.data(&entry.text());
    }
    Ok(0)
}

pub(super) fn definitions(arguments: &DefinitionsArguments, out: &mut Output) -> Result<u8, Error> {
    let folder = current_folder()?.join(&arguments.folder);
    let mut written = Vec::new();
    for (name, text) in Reference::new(MODULES).definitions() {
        let path = folder.join(&name);
        let elsewhere = |error: Error| error.hint("give another folder");
        Target::make_folder(path.parent().unwrap_or(&folder), WHAT).map_err(elsewhere)?;
        Target::of(&path, WHAT).map_err(elsewhere)?.write(text.as_bytes())?;
        written.push(arguments.folder.join(&name).display().to_string());
    }
    if out.is_json() {
        out.document(&json!({"files": written}));
    } else {
        written.iter().for_each(|path| out.line(path));
    }
    Ok(0)
}
