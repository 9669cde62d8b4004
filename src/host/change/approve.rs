//! The answer to a confirmation for which a run waits: given later, perhaps elsewhere, and good only if nothing has changed.

use super::confirmations::{Bound, Standing};
use crate::{
    Host,
    change::approver::{approver, unusable},
    life::{resume::changed_keys, waiting::Commands},
    terms::Terms,
};
use base::{
    error::{Code, Error},
    text::first_file,
};
use record::{
    RunFolder,
    event::{Confirmation, Event},
};
use system::workspace::parallel_map;

impl Host<'_> {
    /// Grants what the run waits for. The call that asked finds the token when it is made again, and uses it up.
    ///
    /// `not_approved` if there is nothing of that id to be granted, if it has expired or was asked under another policy, or if
    /// an approver's signature is asked for and missing; `stale_preimage` names files that have changed since.
    pub fn approve(&mut self, id: &str, by: Option<&str>, reason: Option<&str>) -> Result<(), Error> {
        let token = self.confirmations.pending(id)?.clone();
        let bound = &token.bound;
        check_in_force(&self.run, bound)?;
        let approver = approver(&self.run, &self.recorder.folder, bound, by)?;
        check_unchanged(&self.run, &self.recorder.folder, bound)?;
        // What a call is taken to have replied is decided with it: should the process die, the next one knows.
        let reply = match self.recorder.past.as_ref().and_then(|past| past.reply.as_ref()) {
            Some(reply) => Some(self.recorder.packed(reply, false)?),
            None => None,
        };
        let fingerprint = approver.fingerprint.clone();
        let files = [Some(bound.file()), fingerprint.as_ref().map(|_| bound.signature())].into_iter().flatten();
        let granted = Confirmation {
            by: Some(approver.by.clone()),
            reason: reason.map(str::to_owned),
            reply,
            proof: fingerprint.as_ref().map(|_| "signature".to_owned()),
            fingerprint,
            ..bound.data()
        };
        self.recorder.note_confirmation(&token.position, Event::ConfirmationGranted, granted, files.collect())?;
        self.recorder.sync()?;
        self.confirmations.set(id, Standing::Granted { by: approver.by });
        Ok(())
    }

    /// Refuses what the run waits for. Whoever calls it ends the run, which undoes it.
    ///
    /// Nobody has to sign that: who can write the records can roll the run back as well.
    pub fn reject(&mut self, id: &str, by: Option<&str>, reason: Option<&str>) -> Result<(), Error> {
        let token = self.confirmations.pending(id)?.clone();
        let (by, reason) = (by.map(str::to_owned), reason.map(str::to_owned));
        let refused = Confirmation { by, reason, ..token.bound.data() };
        self.recorder.note_confirmation(
            &token.position,
            Event::ConfirmationRefused,
            refused,
            vec![token.bound.file()],
        )?;
        self.recorder.sync()?;
        self.confirmations.set(id, Standing::Refused);
        Ok(())
    }
}

/// Checks that it has not expired, and that the policy is the one under which it was asked.
fn check_in_force(run: &Terms<'_>, bound: &Bound) -> Result<(), Error> {
    let again = format!("`nrv resume {}` asks again", bound.run);
    if bound.has_expired(&run.context.options.clock.now()) {
        let message = format!("the confirmation `{}` has expired, at {}", bound.id, bound.expires_at);
        return Err(unusable(bound, message).detail("expires_at", bound.expires_at.as_str()).hint(again));
    }
    if bound.policy_sha256 != run.policy.sha256() {
        let parts = run.policy.parts();
        let was = parts.first().is_some_and(|recorded| recorded.sha256() == bound.policy_sha256);
        let keys = if was { changed_keys(&run.policy)? } else { String::new() };
        let message = format!("the policy has changed since the confirmation `{}` was asked for{keys}", bound.id);
        return Err(unusable(bound, message)
            .detail("expected", bound.policy_sha256.to_string())
            .detail("found", run.policy.sha256().to_string())
            .hint(format!("{again}, under the policy of now")));
    }
    Ok(())
}

/// Checks that the files of the change are what they were when it was asked.
fn check_unchanged(run: &Terms<'_>, folder: &RunFolder, bound: &Bound) -> Result<(), Error> {
    let files = bound.exact_files(&folder.pack()?)?;
    let changed = parallel_map(run.context.options.threads, &files, |file| {
        let found = match run.context.workspace.stamp_entry(&file.path) {
            Ok(stamp) => Some(stamp.sha256),
            Err(error) if error.code() == Code::NotFound => None,
            // A folder in its place, or what can't be read, is not what it was.
            Err(_) => return Some(file.path.to_string()),
        };
        (found != file.before).then(|| file.path.to_string())
    });
    let changed: Vec<String> = changed.into_iter().flatten().collect();
    let Some(named) = first_file(&changed) else { return Ok(()) };
    let message = format!("{named} changed since the confirmation `{}` was asked for", bound.id);
    let Commands { reject, .. } = Commands::of(bound);
    Err(Error::new(Code::StalePreimage, message)
        .detail("files", changed)
        .detail("confirmation", bound.id.as_str())
        .hint(format!("bring them back as they were, or undo the run with `{reject}` and start it again")))
}
