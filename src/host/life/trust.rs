//! Trust: programs that a policy starts, and requests that it sends, wait until a person has said that its tables may be obeyed.
//!
//! A policy comes with the repository, perhaps from somebody else. Nothing is asked before a program would start or a request be sent. A program that embeds
//! nrv has chosen its policy, so that nothing is asked there unless it brings a [`Keeper`].

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use base::{
    error::{Code, Error},
    hash::Sha256,
};
use system::policy::Entrusted;

/// The key of the details of an error that a person resolves by trusting a policy.
pub const UNTRUSTED: &str = "untrusted";

/// The policy that a person is asked to trust.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The workspace.
    pub root: PathBuf,
    /// The policy's file in it.
    pub file: String,
    /// The abilities of the policy that need trust, such as starting programs.
    pub entrusted: Entrusted,
}

/// Knows whose tables may be obeyed.
pub trait Keeper: Send + Sync {
    /// Why the tables may not be obeyed; none if they may.
    fn refusal(&self, wanted: &Wanted) -> Option<Error>;

    /// Keeps that a person trusts them.
    fn remember(&self, wanted: &Wanted) -> Result<(), Error>;
}

/// Who is asked to trust a policy; by default nobody is.
#[derive(Clone, Default)]
pub struct Trust {
    keeper: Option<Arc<dyn Keeper>>,
    /// The workspace of which this one is a copy.
    pub(crate) copy_of: Option<PathBuf>,
    /// The policies that a person trusted since the program started, by file name and hash.
    trusted: Arc<Mutex<BTreeSet<(String, Sha256)>>>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("asks", &self.keeper.is_some())
            .field("copy_of", &self.copy_of)
            .finish_non_exhaustive()
    }
}

impl Trust {
    /// Asks this keeper.
    pub fn kept_by(keeper: impl Keeper + 'static) -> Self {
        Trust { keeper: Some(Arc::new(keeper)), ..Trust::default() }
    }

    /// The trust of a private copy of a workspace: the policies that it obeys are those of the workspace.
    #[must_use]
    pub fn of_copy(&self, root: &Path) -> Self {
        Trust { copy_of: Some(self.copy_of.clone().unwrap_or_else(|| root.to_owned())), ..self.clone() }
    }

    /// Why the tables may not be obeyed; none if they may.
    pub fn refusal(&self, wanted: &Wanted) -> Option<Error> {
        let keeper = self.keeper.as_ref()?;
        let key = (wanted.file.clone(), wanted.entrusted.sha256);
        if self.trusted.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return None;
        }
        keeper.refusal(wanted)
    }

    /// Keeps that a person trusts the tables.
    pub fn remember(&self, wanted: &Wanted) -> Result<(), Error> {
        let key = (wanted.file.clone(), wanted.entrusted.sha256);
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        self.keeper.as_ref().map_or(Ok(()), |keeper| keeper.remember(wanted))
    }
}

/// True if a person can say that the tables may be obeyed; where something else decides it, nobody can.
pub fn may_be_asked(refusal: &Error) -> bool {
    refusal.details().get(UNTRUSTED).is_some_and(serde_json::Value::is_string)
}

/// The error of tables that nobody has trusted.
pub fn untrusted(wanted: &Wanted, why: &str, hint: impl Into<String>) -> Error {
    Error::new(Code::PermissionDenied, format!("`{}` {}, and {why}", wanted.file, wanted.entrusted.verbs()))
        .detail(UNTRUSTED, wanted.entrusted.sha256.to_string())
        .detail("permits", wanted.entrusted.told.clone())
        .hint(hint)
}
