//! What a run writes outside of its packs holds no secrets: they are replaced by their rule and the beginning of their hash.
//!
//! Packs hold exact bytes, since undoing needs them, and can be entered by their owner only.

use std::borrow::Cow;

use serde_json::Value;

use super::{Host, patch::Patch};
use crate::{gate::secrets, ledger::Note};

/// Records of paths and hashes alone, from which changes are undone: they stand as they are.
const EXACT: &[&str] = &["committed", "undone", "undone_after_crash", "revoked"];

/// What stands before a line of a patch that has lost a secret.
const BROKEN: &[u8] = b"[redacted] ";

impl Host<'_> {
    /// A value without secrets.
    pub(super) fn redacted(&self, mut value: Value) -> Value {
        secrets::redact_json(&mut value, self.rules.secrets());
        value
    }

    /// A record without secrets.
    pub(super) fn redacted_note(&self, note: Note) -> Note {
        if EXACT.contains(&note.kind) {
            return note;
        }
        Note { data: self.redacted(note.data), ..note }
    }

    /// A patch as it is kept beside the record, without the secrets that nobody has allowed.
    ///
    /// What has lost one would make other contents than those that were proposed. So a mark stands before its line as well, where
    /// no diff has one: whatever reads the patch refuses it.
    pub(super) fn shown_patch<'p>(&self, patch: &'p Patch) -> Cow<'p, [u8]> {
        let mut shown = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        let line_of = |place: usize| memchr::memrchr(b'\n', &patch.bytes[..place]).map_or(0, |feed| feed + 1);
        for (part, stat) in patch.parts() {
            for found in secrets::scan(part, Some(&stat.path), self.rules.secrets()) {
                let allowed = found.allowed_by.is_some()
                    || self.policy.secret_allowance(&found.rule, Some(&stat.path), &found.sha256_prefix).is_some();
                if !allowed && at + found.start >= copied {
                    let (start, mark) = (at + found.start, secrets::mark(&found));
                    let line = line_of(start);
                    if line >= copied {
                        shown.extend_from_slice(&patch.bytes[copied..line]);
                        shown.extend_from_slice(BROKEN);
                        copied = line;
                    }
                    shown.extend_from_slice(&patch.bytes[copied..start]);
                    shown.extend_from_slice(mark.as_bytes());
                    copied = at + found.end;
                }
            }
            at += part.len();
        }
        if copied == 0 {
            return Cow::Borrowed(&patch.bytes);
        }
        shown.extend_from_slice(&patch.bytes[copied..]);
        Cow::Owned(shown)
    }
}
