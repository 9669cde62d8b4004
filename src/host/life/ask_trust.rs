//! A person is asked to trust a policy.

use crate::{
    Answer, Context, Event, Question, Sink,
    life::trust::{Wanted, may_be_asked},
    terms::Terms,
};
use base::error::Error;
use system::{clock::Stopwatch, policy::Policy};

impl Context {
    /// Returns the policy that a person has to trust before it is obeyed; none if it starts, sends and weakens nothing.
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

impl Terms<'_> {
    /// Sees that the policy in force is trusted, and asks if it is not yet. Time that a person takes does not count.
    pub(crate) fn trusted(&self, sink: &mut dyn Sink) -> Result<(), Error> {
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
