//! Recorded replies of language models in folders that the user names, and the writing of new ones.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{Here, arguments::ScriptArguments, output::Output, target::Target};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
};
use host::{Finished, Tape};
use llm::counted_replies;
use script::Tapes;
use system::policy::Cassettes;

/// The longest file that is read as a recorded reply.
const MAX_CASSETTE: u64 = 256 << 20;

/// The source of recorded replies, by the command line or the environment of CI.
pub(super) fn tapes(here: &Here, arguments: &ScriptArguments) -> Result<Tapes, Error> {
    let given = match (&arguments.record_llm, &arguments.replay_llm) {
        (Some(_), _) if here.replays_only() => {
            return Err(recording_in_ci());
        }
        (Some(folder), _) => Some((Cassettes::Record, folder)),
        (None, Some(folder)) => Some((Cassettes::Replay, folder)),
        (None, None) => None,
    };
    let Some((mode, folder)) = given else {
        return Ok(if here.replays_only() { Tapes::ReplayOnly } else { Tapes::Policy });
    };
    let path = here.absolute(folder);
    let files = match mode {
        // Checked before a model is asked and paid.
        Cassettes::Record => place(here, &named(here, &path)).map(|_| BTreeMap::new())?,
        Cassettes::Off | Cassettes::Replay | Cassettes::Auto => read(&path)?,
    };
    Ok(Tapes::Given(Tape { mode, folder: named(here, &path), files }))
}

/// The error of recording in CI, where no person reviews the replies.
pub(super) fn recording_in_ci() -> Error {
    Error::new(Code::Usage, "`CI` is set, and there recorded replies alone answer")
        .hint("record on a machine where `CI` is not set, and commit the files")
}

/// The recorded replies of a resumed run in a folder outside the workspace, with their files; none for a folder inside.
pub(super) fn again(here: &Here, tape: Option<Tape>) -> Result<Option<Tape>, Error> {
    let Some(tape) = tape.filter(|tape| RepoPath::parse(&tape.folder).is_err()) else { return Ok(None) };
    let files = match tape.mode {
        Cassettes::Record if !here.replays_only() => BTreeMap::new(),
        Cassettes::Record | Cassettes::Off | Cassettes::Replay | Cassettes::Auto => {
            read(&here.context.workspace.root().join(&tape.folder))?
        }
    };
    Ok(Some(Tape { files, ..tape }))
}

/// Writes the replies that a run recorded, each into its file.
pub(super) fn keep(here: &Here, finished: &Finished, out: &mut Output) -> Result<(), Error> {
    let Some(Tape { folder, files, .. }) = &finished.cassettes else { return Ok(()) };
    write(here, folder, files)?;
    out.say(&format!("{} recorded in `{folder}`: review them before they are used.", counted_replies(files.len())));
    Ok(())
}

/// Writes recorded replies into a folder.
pub(super) fn write(here: &Here, folder: &str, files: &BTreeMap<String, String>) -> Result<(), Error> {
    let place = place(here, folder)?;
    Target::make_folder(&place, "recorded replies")?;
    for (name, text) in files {
        let path = place.join(name);
        // A planted link could lead to any file of the user.
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(no_place(&path, "it is no regular file"));
        }
        Target::of(&path, "a recorded reply")?.write(text.as_bytes())?;
    }
    Ok(())
}

/// The folder where replies are recorded, which need not exist.
///
/// Folders that no run may write are refused, and so are links that lead out of the workspace.
pub(super) fn place(here: &Here, folder: &str) -> Result<PathBuf, Error> {
    let root = here.context.workspace.root();
    let named = root.join(folder);
    let there = named.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
    let Some((there, real)) = there else { return Ok(named) };
    if !real.is_dir() {
        return Err(no_place(&named, &format!("`{}` is no folder", there.display())));
    }
    let real = real.join(named.strip_prefix(there).unwrap_or(Path::new("")));
    if RepoPath::parse(folder).is_ok() && !real.starts_with(root) {
        return Err(no_place(&named, "a link leads out of the workspace"));
    }
    let refused = real.to_str().and_then(|text| RepoPath::parse(text.trim_start_matches('/')).ok());
    match refused.and_then(|path| protected::write_refusal(&path)) {
        Some(reason) => Err(no_place(&named, reason)),
        None => Ok(named),
    }
}

fn no_place(path: &Path, why: &str) -> Error {
    Error::new(Code::ProtectedPath, format!("`{}` is no place for recorded replies: {why}", path.display()))
        .hint("name another folder with `--record-llm`, or take away what stands there")
}

/// The name of a folder in records: relative to the workspace if it is beneath that.
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
            let metadata = path.metadata().map_err(|error| failed(&error))?;
            if !metadata.is_file() || metadata.len() > MAX_CASSETTE {
                let message = format!("`{}` is no cassette: it is no regular file, or too large", path.display());
                return Err(Error::new(Code::InvalidInput, message).hint("take it out of the folder"));
            }
            let text = std::fs::read_to_string(&path)
                .map_err(|error| Error::io(format!("`{}` can't be read", path.display()), &error))?;
            files.insert(name.to_owned(), text);
        }
    }
    Ok(files)
}
