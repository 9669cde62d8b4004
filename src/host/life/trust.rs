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

use crate::{
    base::{
        error::{Code, Error},
        hash::Sha256,
    },
    host::{Answer, Context, Event, Question, Sink, terms::Terms},
    system::{
        clock::Stopwatch,
        policy::{Entrusted, Policy},
    },
};

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
    copy_of: Option<PathBuf>,
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

impl Context {
    /// Returns the policy that a person has to trust before it is obeyed; none if it starts nothing and sends nothing.
    pub fn wanted(&self, policy: &Policy) -> Option<Wanted> {
        let root = self.options.trust.copy_of.as_deref().unwrap_or_else(|| self.workspace.root()).to_owned();
        policy.entrusted().map(|entrusted| Wanted {
            root,
            file: policy.file().to_owned(),
            entrusted: entrusted.clone(),
        })
    }

    /// An error if the policy in force may neither start programs nor send requests: nobody has trusted it.
    ///
    /// It is the policy as it was read when the context was made that counts, whatever its file says by now.
    pub fn check_trust(&self) -> Result<(), Error> {
        let refused = self.wanted(&self.policy).and_then(|wanted| self.options.trust.refusal(&wanted));
        refused.map_or(Ok(()), Err)
    }

    /// Asks a person to trust the policy in force, if nobody has yet; the error if nobody does.
    pub fn ask_trust(&self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(wanted) = self.wanted(&self.policy) else { return Ok(()) };
        let Some(refusal) = self.options.trust.refusal(&wanted) else { return Ok(()) };
        if !may_be_asked(&refusal) || sink.ask_trust(&question(&wanted)) != Answer::Yes {
            return Err(refusal);
        }
        if let Err(error) = self.options.trust.remember(&wanted) {
            sink.event(Event::Notice { text: format!("The answer holds for now only: {}.", error.message()) });
        }
        Ok(())
    }
}

/// True if a person can say that the tables may be obeyed; where something else decides it, nobody can.
pub fn may_be_asked(refusal: &Error) -> bool {
    refusal.details().get(UNTRUSTED).is_some_and(serde_json::Value::is_string)
}

/// Builds the question that asks a person to trust a policy.
pub fn question(wanted: &Wanted) -> Question {
    Question {
        id: "trust".to_owned(),
        label: format!("trust `{}` of {}, which {}", wanted.file, wanted.root.display(), wanted.entrusted.verbs()),
        subject: serde_json::json!({"root": wanted.root.display().to_string(), "file": wanted.file, "permits": wanted.entrusted.told}),
        files: Vec::new(),
        patch: Vec::new(),
        may_all: false,
    }
}

/// The error of tables that nobody has trusted.
pub fn untrusted(wanted: &Wanted, why: &str, hint: impl Into<String>) -> Error {
    Error::new(Code::PermissionDenied, format!("`{}` {}, and {why}", wanted.file, wanted.entrusted.verbs()))
        .detail(UNTRUSTED, wanted.entrusted.sha256.to_string())
        .detail("permits", wanted.entrusted.told.clone())
        .hint(hint)
}

impl Terms<'_> {
    /// Sees that the policy in force is trusted, and asks if it is not yet. Time that a person takes does not count.
    pub(in crate::host) fn trusted(&self, sink: &mut dyn Sink) -> Result<(), Error> {
        if self.context.check_trust().is_ok() {
            return Ok(());
        }
        let waited = Stopwatch::start();
        self.budget.pause();
        let answer = self.context.ask_trust(sink);
        self.budget.forgive(waited);
        self.context.check_cancelled()?;
        answer
    }
}
