//! Approvals: `nrv.lock` pins scripts, their imports and their permissions. A locked run takes nothing else.
//!
//! An approval names no folder of a machine and no time, so that the same scripts give the same bytes everywhere.

mod entrusted;
mod lock;
mod pin;

use serde::Serialize;

pub use self::{
    entrusted::{PIN_TRUST, PinnedTrust, entrusted, policies},
    lock::{BOUNDS, FILE, LINE_FEED, Lock, PinnedAdapter, PinnedTool, SIGNATURE},
    pin::Pin,
};
use crate::Loaded;
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use host::{Context, signed_by_approver};
use system::policy::Policy;

/// The namespace of a lock file's signature; a signature made for another purpose does not verify.
pub const NAMESPACE: &str = "nrv-approve";

/// The state of a script's approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", content = "changes", rename_all = "snake_case")]
pub enum Standing {
    /// The script is as it was approved.
    Approved,
    /// The script differs from its approval; the differences as text.
    Changed(Vec<String>),
    /// The script has no approval.
    Unapproved,
}

impl Standing {
    /// Compares a loaded script with its approval in a lock.
    pub fn of(lock: &Lock, loaded: &Loaded) -> Standing {
        let Some(pinned) = lock.scripts.get(loaded.main.as_str()) else { return Standing::Unapproved };
        match pinned.changes(&Pin::of(loaded)) {
            changes if changes.is_empty() => Standing::Approved,
            changes => Standing::Changed(changes),
        }
    }

    /// The error of a script that is not approved as it is; none if it is.
    pub fn refusal(&self, script: &RepoPath) -> Option<Error> {
        let error = match self {
            Standing::Approved => return None,
            Standing::Unapproved => Error::new(Code::NotApproved, format!("`{script}` is not approved")),
            Standing::Changed(changes) => {
                let message = format!("`{script}` differs from its approval: {}", changes.join("; "));
                Error::new(Code::NotApproved, message).detail("changes", changes.clone())
            }
        };
        let hint = format!("review it, approve it with `nrv approve {script}`, and commit `{FILE}`");
        Some(error.detail("script", script.as_str()).hint(hint))
    }
}

/// The lock of a workspace; an empty one if there is no file.
pub fn read(context: &Context) -> Result<Lock, Error> {
    Lock::of(text(context)?.as_deref())
}

/// The text of the lock file; none if there is none.
pub fn text(context: &Context) -> Result<Option<String>, Error> {
    context.workspace.read_own_if_there(&RepoPath::parse(FILE)?, BOUNDS)
}

/// The policy under which a script runs that has to be approved: locked down, with the confirmations that its approval grants.
///
/// `not_approved` if the script differs from its approval, or if `confirm.approvers` is set and none of them signed the lock.
pub(super) fn lock_down(context: &Context, loaded: &Loaded) -> Result<Policy, Error> {
    let text = text(context)?;
    let lock = Lock::of(text.as_deref())?;
    if let Some(refusal) = Standing::of(&lock, loaded).refusal(&loaded.main) {
        return Err(refusal);
    }
    check_signature(context, text.as_deref().unwrap_or_default())?;
    let granted = lock.scripts.get(loaded.main.as_str()).map(|pin| pin.grants.clone()).unwrap_or_default();
    context.policy.locked()?.granting(&granted)
}

/// An error if the policy names approvers and none of them signed this text of the lock file.
pub fn check_signature(context: &Context, text: &str) -> Result<(), Error> {
    let Some(approvers) = &context.policy.settings().confirm.approvers else { return Ok(()) };
    let path = RepoPath::parse(SIGNATURE)?;
    let signature = match context.workspace.stat(&path)? {
        Some(_) => Some(context.workspace.read(&path)?.into_bytes()),
        None => None,
    };
    let signature = signature.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    signed_by_approver(context, approvers, NAMESPACE, text.as_bytes(), signature.as_deref()).map(drop).map_err(|why| {
        Error::new(Code::NotApproved, format!("the approvals in `{FILE}` do not count: {why}"))
            .detail("approvers", approvers.clone())
            .hint(format!("one of `confirm.approvers` signs them: `ssh-keygen -Y sign -n {NAMESPACE} -f KEY {FILE}`"))
    })
}
