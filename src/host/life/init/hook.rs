//! The `pre-commit` hook of nrv's that keeps a tree in which a run died from being committed.
//!
//! Nothing of a repository's configuration decides where it goes: it is `hooks` in the repository's own folder. A hook of somebody
//! else's is never replaced.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;

use super::SetUp;
use crate::change::render::render;
use base::{
    change::{Change, ChangeSet, Content},
    error::{Code, Error},
    path::RepoPath,
};
use system::{
    git, journal,
    workspace::{Kind, Overlay, View, Workspace},
};

const HOOK: &str = "hooks/pre-commit";

/// The line by which a hook of nrv's is known.
const MARK: &str = "# Written by `nrv hooks install`";

/// The line that makes another hook do the same.
const CHAIN: &str = "nrv recover --check || exit 1";

const MODE: u32 = 0o755;

/// The text before the workspace's path in the hook; `ROOT_ENDS` is the text after it.
const ROOT_BEGINS: &str = " --root './";
const ROOT_ENDS: &str = "' recover --check";

/// A quote within that path.
const QUOTE: &str = r"'\''";

/// A hook that is to be written.
#[derive(Debug)]
pub struct Hook {
    /// The folder of the repository, in which the hook is `hooks/pre-commit`.
    pub repository: Workspace,
    /// The change; nothing if the hook is there as it should be.
    pub proposed: SetUp,
    /// The file, as people read it.
    pub shown: String,
}

/// A hook as it stands in a repository.
#[derive(Debug)]
pub struct Installed {
    repository: Workspace,
    /// The file, as people read it.
    pub shown: String,
    /// The state of the hook in the repository.
    pub state: HookState,
    before: Option<Content>,
}

/// Whose hook it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HookState {
    /// There is none.
    Absent,
    /// nrv's own, to the byte.
    Own {
        /// The workspace that it looks at, below the work tree.
        root: String,
    },
    /// nrv's own, and edited since, or of another version.
    Edited,
    /// Somebody else's.
    Other,
    /// git looks for hooks in another folder, which `core.hooksPath` names.
    Elsewhere {
        /// That folder.
        folder: String,
    },
}

/// Looks at the hook of the repository that a workspace belongs to.
///
/// `not_found` without a repository.
pub fn installed_hook(workspace: &Workspace, environment: &BTreeMap<String, String>) -> Result<Installed, Error> {
    let place = hooks(workspace, environment)?;
    let repository = Workspace::open(&place.repository)?;
    let shown = place.repository.join(HOOK).display().to_string();
    if let Some(folder) = place.elsewhere {
        return Ok(Installed { repository, shown, state: HookState::Elsewhere { folder }, before: None });
    }
    let path = RepoPath::parse(HOOK)?;
    let (state, before) = match repository.stat(&path)?.map(|found| found.kind) {
        None => (HookState::Absent, None),
        Some(Kind::File) => {
            let before = repository.read(&path)?;
            (state(&before.bytes)?, Some(before))
        }
        Some(_) => (HookState::Other, None),
    };
    Ok(Installed { repository, shown, state, before })
}

/// Removes a hook that is nrv's own to the byte.
///
/// `not_found` if there is none, `unwritable` if it is not nrv's own, `stale_preimage` if it changes at that moment.
pub fn remove_hook(hook: &Installed) -> Result<(), Error> {
    let shown = &hook.shown;
    let refuse = |why: &str| Error::new(Code::Unwritable, format!("`{shown}` {why}"));
    match (&hook.state, &hook.before) {
        (HookState::Own { .. }, Some(before)) => {
            journal::take_back(&hook.repository, &RepoPath::parse(HOOK)?, &before.stamp())
        }
        (HookState::Absent | HookState::Own { .. }, _) => {
            Err(Error::new(Code::NotFound, format!("there is no `{shown}`")).hint("nothing has to be removed"))
        }
        (HookState::Edited, _) => {
            Err(refuse("was edited since nrv wrote it").hint("take the lines of nrv out of it, or remove the file"))
        }
        (HookState::Other, _) => {
            Err(refuse("is not nrv's").hint(format!("if it has the line `{CHAIN}`, take that out of it")))
        }
        (HookState::Elsewhere { folder }, _) => {
            Err(refuse(&format!("is not looked at by git, which looks for hooks in `{folder}`"))
                .hint(format!("if its `pre-commit` has the line `{CHAIN}`, take that out of it")))
        }
    }
}

/// Whose hook has these bytes.
fn state(bytes: &[u8]) -> Result<HookState, Error> {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains(MARK) {
        return Ok(HookState::Other);
    }
    let root = text.split_once(ROOT_BEGINS).and_then(|(_, rest)| rest.split_once(ROOT_ENDS));
    let root = root.map(|(root, _)| root.replace(QUOTE, "'"));
    Ok(match root.filter(|root| script(Path::new(root)).is_ok_and(|own| own.as_bytes() == bytes)) {
        Some(root) => HookState::Own { root },
        None => HookState::Edited,
    })
}

/// Where git keeps the hooks of the repository that a workspace belongs to.
fn hooks(workspace: &Workspace, environment: &BTreeMap<String, String>) -> Result<git::HookPlace, Error> {
    git::hooks(workspace.root(), environment)?.ok_or_else(|| {
        Error::new(Code::NotFound, "the workspace belongs to no git repository")
            .hint("`git init` makes one; or choose another folder with `--root`")
    })
}

/// Proposes the hook of the repository that a workspace belongs to.
///
/// `not_found` without a repository; `unwritable` if another hook is there, or git looks for hooks elsewhere.
pub fn propose_hook(workspace: &Workspace, environment: &BTreeMap<String, String>) -> Result<Hook, Error> {
    let place = hooks(workspace, environment)?;
    if let Some(elsewhere) = place.elsewhere {
        let why = format!("git looks for hooks in `{elsewhere}`, which `core.hooksPath` names, and in no other folder");
        return Err(Error::new(Code::Unwritable, why)
            .hint(format!("nrv writes no hook there; add the line `{CHAIN}` to its `pre-commit`")));
    }
    let repository = Workspace::open(&place.repository)?;
    let shown = place.repository.join(HOOK).display().to_string();
    let path = RepoPath::parse(HOOK)?;
    let before = match repository.stat(&path)? {
        Some(_) => Some(repository.read(&path)?),
        None => None,
    };
    if before.as_ref().is_some_and(|before| !String::from_utf8_lossy(&before.bytes).contains(MARK)) {
        return Err(Error::new(Code::Unwritable, format!("`{shown}` is there already, and is not nrv's"))
            .hint(format!("add the line `{CHAIN}` to it")));
    }
    let after = Content::new(script(&place.below)?.into(), MODE);
    let is_there = before.as_ref().is_some_and(|before| before.stamp() == after.stamp());
    let change = Change { path, before: before.map(|before| before.stamp()), after: Some(after) };
    let patch = render(View::new(&repository, &Overlay::new()), &change)?.0;
    let changes = ChangeSet::new(if is_there { Vec::new() } else { vec![change] })?;
    Ok(Hook { proposed: SetUp { changes, kept: Vec::new(), patch, named: Vec::new() }, repository, shown })
}

/// The hook. git runs it in the work tree, below which the workspace is.
fn script(below: &Path) -> Result<String, Error> {
    let below = below.to_str().ok_or_else(|| Error::new(Code::InvalidPath, "the workspace's path is not UTF-8"))?;
    let root = if below.is_empty() { "." } else { below }.replace('\'', QUOTE);
    Ok(format!(
        "#!/bin/sh
{MARK}: a tree in which a run of nrv died half-way is not committed.
# Without nrv, or if it can't tell, the commit goes on. Remove this file to be rid of it.
nrv=$(command -v nrv) || nrv=
case $nrv in
/*) ;;
*)
    echo 'pre-commit: nrv is not on the PATH, so that nobody looked for a run that died.' >&2
    exit 0
    ;;
esac
\"$nrv\"{ROOT_BEGINS}{root}{ROOT_ENDS} >&2
case $? in
0) exit 0 ;;
5)
    echo 'pre-commit: a run of nrv died, and the tree may be half changed. Run `nrv recover`, then commit again.' >&2
    exit 1
    ;;
*)
    echo 'pre-commit: nrv could not tell if a run died. The commit goes on.' >&2
    exit 0
    ;;
esac
"
    ))
}
