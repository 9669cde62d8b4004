//! The answer to a confirmation for which a run waits: given later, perhaps elsewhere, and good only if nothing has changed.

use super::{
    confirm::{FLAG, LOCK, PERSON, POLICY},
    confirmations::{Bound, Standing},
};
use crate::{
    base::{
        error::{Code, Error},
        path::{RepoPath, protected},
        text::escape,
    },
    host::{
        Context, Host,
        life::{
            resume::changed_keys,
            waiting::{Commands, NAMESPACE},
        },
        terms::Terms,
    },
    record::RunFolder,
    record::event::{Confirmation, Event},
    system::{
        clock,
        signature::{Signature, Signers, Use},
        workspace::parallel_map,
    },
};

/// The file of those whose signatures count, in [`protected::SIGNERS`].
const ALLOWED_SIGNERS: &str = "allowed_signers";

/// Who said yes, and what shows it.
pub(in crate::host) struct Approver {
    pub(in crate::host) by: String,
    /// The key that signed, as `ssh-keygen -l` shows it.
    fingerprint: Option<String>,
}

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
    let Some(first) = changed.first() else { return Ok(()) };
    let more = if changed.len() > 1 { format!(" and {} more files", changed.len() - 1) } else { String::new() };
    let message = format!("`{first}`{more} changed since the confirmation `{}` was asked for", bound.id);
    let Commands { reject, .. } = Commands::of(bound);
    Err(Error::new(Code::StalePreimage, message)
        .detail("files", changed)
        .detail("confirmation", bound.id.as_str())
        .hint(format!("bring them back as they were, or undo the run with `{reject}` and start it again")))
}

/// Who says yes: one of `confirm.approvers` by a signature, or without them whoever says so.
pub(in crate::host) fn approver(
    run: &Terms<'_>,
    folder: &RunFolder,
    bound: &Bound,
    by: Option<&str>,
) -> Result<Approver, Error> {
    let Some(approvers) = &run.policy.settings().confirm.approvers else {
        let by = by.unwrap_or(PERSON);
        if [POLICY, FLAG, LOCK].contains(&by) {
            return Err(Error::new(Code::InvalidInput, format!("`{by}` is nobody's name"))
                .hint("records say so of what nobody was asked for; give the name of whoever approves"));
        }
        return Ok(Approver { by: by.to_owned(), fingerprint: None });
    };
    let Commands { sign, .. } = Commands::of(bound);
    let refuse = |what: String| {
        let names: Vec<String> = approvers.iter().map(|name| format!("`{}`", escape(name))).collect();
        let hint = match names.is_empty() {
            true => "`confirm.approvers` is empty in the policy, so that nobody can approve".to_owned(),
            false => format!("{} signs it with `{sign}`", names.join(" or ")),
        };
        unusable(bound, what).detail("approvers", approvers.clone()).detail("sign", sign.as_str()).hint(hint)
    };
    let about = |what: &str| refuse(format!("the signature of the confirmation `{}` {what}", bound.id));
    let path = bound.signature();
    if folder.open_file(&path)?.is_none() {
        return Err(refuse(format!("the confirmation `{}` needs an approver's signature", bound.id)));
    }
    let text = String::from_utf8_lossy(&folder.read(&path)?).into_owned();
    let signature = Signature::parse(&text).map_err(|why| about(&why))?;
    signature.verify(NAMESPACE, &bound.text()?).map_err(|why| about(&why))?;
    // Of several whom the key could stand for, the one who is named.
    let named = approvers.iter().filter(|name| Some(name.as_str()) == by);
    let principals = named.chain(approvers.iter().filter(|name| Some(name.as_str()) != by));
    match stands_for(run.context, principals, &signature, NAMESPACE)? {
        Ok(by) => Ok(Approver { by, fingerprint: Some(signature.fingerprint()) }),
        Err(why) => Err(about(&why).detail("fingerprint", signature.fingerprint())),
    }
}

/// The name of the approver who signed a text for a purpose, or why no signature of it counts, as the end of a sentence.
pub fn signed_by_approver(
    context: &Context,
    approvers: &[String],
    (namespace, text, signature): (&str, &[u8], Option<&str>),
) -> Result<String, String> {
    let signature = signature.ok_or("nobody signed them")?;
    let about = |why: &str| format!("their signature {why}");
    let signature = Signature::parse(signature).map_err(|why| about(&why))?;
    signature.verify(namespace, text).map_err(|why| about(&why))?;
    let by = stands_for(context, approvers.iter(), &signature, namespace).map_err(|error| error.to_string())?;
    by.map_err(|why| about(&why))
}

/// The first of these for whom the key of a signature stands; else why it stands for none.
fn stands_for<'a>(
    context: &Context,
    principals: impl Iterator<Item = &'a String>,
    signature: &Signature,
    namespace: &str,
) -> Result<Result<String, String>, Error> {
    let signers = signers(context)?;
    let now = clock::compact(context.options.clock.now_ms());
    let mut reasons = Vec::new();
    for principal in principals {
        match signers.check(Use { principal, key: signature.key(), namespace, now: &now }) {
            Ok(()) => return Ok(Ok(principal.clone())),
            Err(why) => reasons.push(why),
        }
    }
    let why = reasons.into_iter().next().map(|why| format!(": `{}/{ALLOWED_SIGNERS}` {why}", protected::SIGNERS));
    Ok(Err(format!("is by a key that is no approver's{}", why.unwrap_or_default())))
}

/// Those whose signatures count; nobody's if there is no such file.
fn signers(context: &Context) -> Result<Signers, Error> {
    let path = RepoPath::parse(&format!("{}/{ALLOWED_SIGNERS}", protected::SIGNERS))?;
    match context.workspace.read(&path) {
        Ok(content) => Ok(Signers::parse(&String::from_utf8_lossy(&content.bytes))),
        Err(error) if error.code() == Code::NotFound => Ok(Signers::default()),
        Err(error) => Err(error),
    }
}

/// The error for an approval that can't be used.
fn unusable(bound: &Bound, message: String) -> Error {
    Error::new(Code::NotApproved, message).detail("confirmation", bound.id.as_str())
}
