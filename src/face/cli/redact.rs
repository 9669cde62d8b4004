//! Removes secrets from the output, errors and logs of this process.
//!
//! Exact data does not pass here: a text that a script shows to a pipe, and the answers of `nrv dta run --jsonl`.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, OnceLock},
};

use serde::Serialize;
use serde_json::Value;

use super::ci;
use base::text::{escape_lines, escape_styled};
use gate::{Rules, secrets};

/// The rules of the workspace's policy, once it is read.
static RULES: OnceLock<Arc<Rules>> = OnceLock::new();

/// Takes the rules of the policy.
pub(super) fn know(rules: &Arc<Rules>) {
    // A process opens one workspace.
    let _ = RULES.set(Arc::clone(rules));
}

fn rules() -> &'static secrets::Rules {
    RULES.get().map_or(Rules::built_in(), AsRef::as_ref).secrets()
}

/// The text without secrets.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    secrets::redact(text, rules())
}

/// A text in its shown form: without secrets, without what moves a cursor or deceives a reader, and without commands for a CI service.
pub(super) fn shown(plain: &str) -> Cow<'_, str> {
    ci::text(through(text(plain), escape_lines))
}

/// The same for a text with colours of nrv's own.
pub(super) fn shown_styled(plain: &str) -> Cow<'_, str> {
    ci::text(through(text(plain), escape_styled))
}

fn through<'t>(text: Cow<'t, str>, escape: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    match text {
        Cow::Borrowed(plain) => escape(plain),
        Cow::Owned(plain) => Cow::Owned(escape(&plain).into_owned()),
    }
}

/// The value without secrets; none if it holds no secret, so that the caller can keep its order of keys.
pub(super) fn value(value: &impl Serialize) -> Option<Value> {
    let value = serde_json::to_value(value).ok()?;
    let mut redacted = value.clone();
    secrets::redact_json(&mut redacted, rules());
    (redacted != value).then_some(redacted)
}

/// Standard error for logs: each event is written in one piece.
pub(super) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        io::stderr().write_all(shown_styled(&line).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
