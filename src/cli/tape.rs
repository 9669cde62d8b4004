//! Recorded replies of language models in folders that the user names, and what is to be kept of new ones.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{Here, arguments::ScriptArguments, output::Output, target::Target};
use crate::{
    error::{Code, Error},
    host::{Finished, Tape},
    policy::Cassettes,
    script::Tapes,
};

/// What is done with recorded replies, as the command line or the environment of CI says.
pub(super) fn tapes(here: &Here, arguments: &ScriptArguments) -> Result<Tapes, Error> {
    let given = match (&arguments.record_llm, &arguments.replay_llm) {
        (Some(_), _) if here.is_ci() => {
            return Err(Error::new(Code::Usage, "`CI` is set, and there recorded replies alone answer")
                .hint("record on a machine where `CI` is not `true`, and commit the files"));
        }
        (Some(folder), _) => Some((Cassettes::Record, folder)),
        (None, Some(folder)) => Some((Cassettes::Replay, folder)),
        (None, None) => None,
    };
    let Some((mode, folder)) = given else {
        return Ok(if here.is_ci() { Tapes::ReplayOnly } else { Tapes::Policy });
    };
    let path = here.absolute(folder);
    let files = match mode {
        Cassettes::Record => BTreeMap::new(),
        Cassettes::Off | Cassettes::Replay | Cassettes::Auto => read(&path)?,
    };
    Ok(Tapes::Given(Tape { mode, folder: named(here, &path), files }))
}

/// The files that a run used which goes on, if they are outside of the workspace; none if they are in it, or there are none.
pub(super) fn again(tape: Option<Tape>) -> Result<Option<Tape>, Error> {
    match tape {
        Some(tape) if Path::new(&tape.folder).is_absolute() && tape.mode != Cassettes::Record => {
            let files = read(Path::new(&tape.folder))?;
            Ok(Some(Tape { files, ..tape }))
        }
        Some(tape) if tape.mode == Cassettes::Record => Ok(Some(tape)),
        Some(_) | None => Ok(None),
    }
}

/// Writes the replies that a run recorded, each into its file.
#[expect(clippy::disallowed_methods, reason = "a folder that the user names on the command line is theirs to name")]
pub(super) fn keep(here: &Here, finished: &Finished, out: &mut Output) -> Result<(), Error> {
    let Some(Tape { folder, files, .. }) = &finished.cassettes else { return Ok(()) };
    let place: PathBuf = here.context.workspace.root().join(folder);
    std::fs::create_dir_all(&place)
        .map_err(|error| Error::io(format!("the folder `{}` can't be made", place.display()), &error))?;
    for (name, text) in files {
        Target::of(&place.join(name), "a recorded reply")?.write(text.as_bytes())?;
    }
    let replies = if files.len() == 1 { "1 reply".to_owned() } else { format!("{} replies", files.len()) };
    out.say(&format!("{replies} recorded in `{folder}`: review them before they are used."));
    Ok(())
}

/// A folder as records name it: relative to the workspace if it is beneath it.
fn named(here: &Here, path: &Path) -> String {
    path.strip_prefix(here.context.workspace.root()).unwrap_or(path).display().to_string()
}

#[expect(clippy::disallowed_methods, reason = "a folder that the user names on the command line is theirs to name")]
fn read(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", folder.display()), error);
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| Error::io(format!("`{}` can't be read", path.display()), &error))?;
            files.insert(name.to_owned(), text);
        }
    }
    Ok(files)
}
