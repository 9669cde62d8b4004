//! The choice of recorded replies of language models for a script's run: the named ones, or those beside the script.

use std::{collections::BTreeMap, sync::Arc};

use base::{
    error::{Code, Error},
    path::RepoPath,
};
use host::{Context, Host, Replies, Tape};
use system::policy::{Cassettes, Policy};

/// The source of recorded replies.
#[derive(Clone, Debug, Default)]
pub enum Tapes {
    /// The policy decides, with the folder beside the script: of `scripts/x.rhai` that is `scripts/x.llm`.
    #[default]
    Policy,
    /// Only the replies beside the script answer, whatever the policy says, as in CI.
    ReplayOnly,
    /// The given replies.
    Given(Tape),
    /// Replies of a person, which are recorded; recorded ones answer first in the mode `auto`.
    Written(Tape, Arc<Replies>),
}

/// The recorded replies of a run; none if it uses none.
pub(crate) fn choose(
    context: &Context,
    policy: &Policy,
    script: &RepoPath,
    tapes: &Tapes,
) -> Result<Option<Tape>, Error> {
    let llm = &policy.settings().llm;
    let is_configured = !llm.providers.is_empty() || !context.options.orchestrators.is_empty();
    let mode = match (tapes, llm.cassettes) {
        (Tapes::Given(tape) | Tapes::Written(tape, _), _) => return Ok(Some(tape.clone())),
        (Tapes::ReplayOnly, _) => Cassettes::Replay,
        (Tapes::Policy, Some(Cassettes::Off)) => return Ok(None),
        (Tapes::Policy, Some(mode)) => mode,
        (Tapes::Policy, None) if is_configured => return Ok(None),
        (Tapes::Policy, None) => Cassettes::Replay,
    };
    let folder = folder(script);
    let files = read(context, &folder)?;
    // Without a provider the table of patterns answers, which needs no recording.
    let is_said = is_configured || matches!(tapes, Tapes::Policy) && llm.cassettes.is_some();
    let is_used = !files.is_empty() || is_said;
    Ok(is_used.then_some(Tape { mode, folder, files }))
}

/// Lets a run use the recorded replies that were chosen for it.
pub(super) fn give(host: &mut Host<'_>, tape: Option<Tape>, tapes: &Tapes) -> Result<(), Error> {
    let replies = match tapes {
        Tapes::Written(_, replies) => Some(Arc::clone(replies)),
        Tapes::Policy | Tapes::ReplayOnly | Tapes::Given(_) => None,
    };
    tape.map_or(Ok(()), |tape| host.use_cassettes(tape, replies))
}

/// The folder of a script's recorded replies.
pub fn folder(script: &RepoPath) -> String {
    let script = script.as_str();
    format!("{}.llm", script.strip_suffix(".rhai").unwrap_or(script))
}

/// The recorded replies in a folder of the workspace, by the names of their files; none if there is no such folder.
pub fn read(context: &Context, folder: &str) -> Result<BTreeMap<String, String>, Error> {
    let place = RepoPath::parse(folder)?;
    match context.workspace.stat(&place)? {
        None => return Ok(BTreeMap::new()),
        Some(found) if found.is_folder() => {}
        // A link could lead out of the workspace, also when recording.
        Some(_) => {
            return Err(Error::new(
                Code::InvalidInput,
                format!("`{place}` is no folder, as one of recorded replies has to be"),
            )
            .detail("path", place.as_str())
            .hint("make it a folder, or take it away"));
        }
    }
    let files = context.list_in(&place, "json")?;
    let read = |path: &RepoPath| {
        let content = context.workspace.read(path)?;
        let text = String::from_utf8(content.into_bytes())
            .map_err(|_| Error::new(Code::InvalidInput, format!("the cassette `{path}` is not UTF-8")))?;
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        Ok((name.to_owned(), text))
    };
    files.iter().map(read).collect()
}
