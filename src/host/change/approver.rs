//! Those who may approve, and what shows that they did.

use crate::{
    Context,
    change::{
        confirmations::Bound,
        subject::{FLAG, LOCK, PERSON, POLICY},
    },
    life::waiting::{Commands, NAMESPACE},
    terms::Terms,
};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::escape,
};
use record::RunFolder;
use system::{
    clock,
    signature::{Signature, Signers, Use},
};

/// The file of those whose signatures count, in [`protected::SIGNERS`].
const ALLOWED_SIGNERS: &str = "allowed_signers";

/// Who said yes, and what shows it.
pub(crate) struct Approver {
    pub(crate) by: String,
    /// The key that signed, as `ssh-keygen -l` shows it.
    pub(crate) fingerprint: Option<String>,
}

/// Who says yes: one of `confirm.approvers` by a signature, or without them whoever says so.
pub(crate) fn approver(
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
    namespace: &str,
    text: &[u8],
    signature: Option<&str>,
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
pub(super) fn signers(context: &Context) -> Result<Signers, Error> {
    let path = RepoPath::parse(&format!("{}/{ALLOWED_SIGNERS}", protected::SIGNERS))?;
    match context.workspace.read(&path) {
        Ok(content) => Ok(Signers::parse(&String::from_utf8_lossy(&content.bytes))),
        Err(error) if error.code() == Code::NotFound => Ok(Signers::default()),
        Err(error) => Err(error),
    }
}

/// The error for an approval that can't be used.
pub(super) fn unusable(bound: &Bound, message: String) -> Error {
    Error::new(Code::NotApproved, message).detail("confirmation", bound.id.as_str())
}
