//! `nrv docs` and `nrv definitions`: the reference of the interface of scripts, in the terminal and for editors.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{current_folder, output::Output, target::Target};
use crate::{
    base::error::Error,
    script::{library::MODULES, reference::Reference},
};

/// The name of definitions in errors about writing them.
const WHAT: &str = "definition files";

/// Arguments of `nrv docs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv docs
  nrv docs nrv.files.read
  nrv docs std/report
  nrv docs errors
  nrv docs --json > reference.json")]
pub(super) struct DocsArguments {
    /// Call, namespace, module of the standard library or part of the language [default: a list of all]
    #[arg(value_name = "NAME")]
    pub(super) name: Option<String>,
}

/// Arguments of `nrv definitions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  nrv definitions scripts

Files *.d.rhai are read by Rhai's language server, nrv.json is for all other editors. Beside scripts, those in std/ tell the server
what an import of the standard library brings.")]
pub(super) struct DefinitionsArguments {
    /// Folder to write them to; create it if missing, and replace files of an earlier version
    #[arg(value_name = "DIR")]
    pub(super) folder: PathBuf,
}

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
