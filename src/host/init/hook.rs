//! The `pre-commit` hook that keeps a tree in which a run died from being committed.
//!
//! Nothing of a repository's configuration decides where it goes: it is `hooks` in the repository's own folder. A hook of somebody
//! else's is never replaced.

use std::path::Path;

use super::SetUp;
use crate::{
    change::{Change, ChangeSet, Content},
    error::{Code, Error},
    git,
    host::patch::render,
    path::RepoPath,
    workspace::{Overlay, View, Workspace},
};

const HOOK: &str = "hooks/pre-commit";

/// The line by which a hook of nrv's is known.
const MARK: &str = "# Written by `nrv hooks install`";

/// The line that makes another hook do the same.
const CHAIN: &str = "nrv recover --check || exit 1";

const MODE: u32 = 0o755;

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

/// Proposes the hook of the repository that a workspace belongs to.
///
/// `not_found` without a repository; `unwritable` if another hook is there, or git looks for hooks elsewhere.
pub fn propose_hook(
    workspace: &Workspace,
    environment: &std::collections::BTreeMap<String, String>,
) -> Result<Hook, Error> {
    let Some(place) = git::hooks(workspace.root(), environment)? else {
        return Err(Error::new(Code::NotFound, "the workspace belongs to no git repository")
            .hint("`git init` makes one; or choose another folder with `--root`"));
    };
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
    Ok(Hook { proposed: SetUp { changes, kept: Vec::new(), patch }, repository, shown })
}

/// The hook. git runs it in the work tree, below which the workspace is.
fn script(below: &Path) -> Result<String, Error> {
    let below = below.to_str().ok_or_else(|| Error::new(Code::InvalidPath, "the workspace's path is not UTF-8"))?;
    let root = if below.is_empty() { "." } else { below }.replace('\'', r"'\''");
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
\"$nrv\" --root './{root}' recover --check >&2
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
