//! Redaction of secrets in everything that a run writes outside of its packs.
//!
//! A secret is replaced by its rule and the beginning of its hash.
//!
//! Packs hold exact bytes, since undoing needs them. Only their owner can open them.
//!
//! A patch among the artefacts also holds exact bytes unless its change adds a secret. Whoever may read the patch knows what the
//! workspace's files hold already.

use std::{borrow::Cow, ops::Range};

use serde_json::{Value, json};

use super::{
    Context,
    change::patch::{Patch, Sides, makes_name},
    recorder::Recorder,
};
use base::{
    diff::{self, Replacement, Stat},
    error::Error,
    path::RepoPath,
};
use gate::{Rules, secrets};
use record::{
    Draft, Keeper, Note, Permit, RunFolder,
    event::{Event, Stored},
};
use system::policy::Policy;

/// The mark before a line of a patch from which a secret was removed.
const BROKEN: &[u8] = b"[redacted] ";

/// A secret that a patch has lost, or would have to lose.
struct Lost {
    at: Range<usize>,
    mark: String,
}

/// The secrets that are withheld from one file's part.
#[derive(Default)]
struct Withheld {
    lost: Vec<Lost>,
    /// The findings, for people.
    told: Vec<Value>,
}

impl Recorder<'_> {
    /// A value without secrets.
    pub(super) fn redacted(&self, mut value: Value) -> Value {
        secrets::redact_json(&mut value, self.rules.secrets());
        value
    }

    /// A record without secrets.
    pub(super) fn redacted_note(&self, note: Note) -> Result<Draft, Error> {
        redacted_note(note, self.rules.secrets(), &|exact| self.kept(exact, Permit::ALL))
    }
}

/// Takes secrets out of patches, but for those that a policy allows.
#[derive(Clone, Copy)]
pub(super) struct Redactor<'r> {
    pub(super) policy: &'r Policy,
    pub(super) rules: &'r Rules,
}

impl Redactor<'_> {
    /// A patch as it is kept beside the record: exact, but without the secrets that the change adds and that nobody has allowed.
    ///
    /// A patch from which a secret was removed would produce other contents than the proposed ones. So a mark stands before that
    /// line as well, where no diff has one, and every reader refuses the patch. The second value lists the secrets that were
    /// withheld.
    pub(super) fn kept_patch<'p>(&self, patch: &'p Patch) -> (Cow<'p, [u8]>, Vec<Value>) {
        let mut told = Vec::new();
        let mut lost = Vec::new();
        let mut at = 0;
        let mut moved = self.moved(patch);
        for (part, stat) in patch.parts() {
            let withheld = self.withheld(part, &stat.path, &mut moved);
            told.extend(withheld.told);
            lost.extend(withheld.lost.into_iter().map(|one| one.moved(at)));
            at += part.len();
        }
        (without(&patch.bytes, &lost), told)
    }

    /// A patch as people are shown it: without any secret that nobody has allowed, whether the change adds it or not.
    pub(super) fn shown_patch<'p>(&self, patch: &'p Patch) -> Cow<'p, [u8]> {
        let mut lost = Vec::new();
        let mut at = 0;
        for (part, stat) in patch.parts() {
            lost.extend(self.secrets_of(part, &stat.path).into_iter().map(|one| one.moved(at)));
            at += part.len();
        }
        without(&patch.bytes, &lost)
    }

    /// The first words that a patch replaces, as people are shown them.
    pub(super) fn replacements(&self, patch: &Patch, most: usize) -> Vec<Replacement> {
        let of_part =
            |(part, stat): (&[u8], &Stat)| diff::replacements(&without(part, &self.secrets_of(part, &stat.path)), most);
        patch.parts().flat_map(of_part).take(most).collect()
    }

    /// Returns the secrets that must be withheld from a part. Unless the change adds a secret there are none, else all in the part.
    fn withheld(&self, part: &[u8], path: &RepoPath, moved: &mut secrets::Moved) -> Withheld {
        let sides = Sides::of(part);
        let mut withheld = Withheld::default();
        let mut added = secrets::added(&sides.before, &sides.after, Some(path), self.rules.secrets());
        if sides.before.is_empty() {
            added = moved.without(added);
        }
        added.retain(|found| !self.is_allowed(found, path));
        let mut named = secrets::in_name(
            Some(path.as_str()).filter(|_| sides.before.is_empty() || makes_name(part)),
            self.rules.secrets(),
        );
        named.retain(|found| self.policy.secret_allowance(&found.rule, None, &found.sha256_prefix).is_none());
        for found in &added {
            let allow = gate::allowance(&found.rule, Some(path), &found.sha256_prefix);
            withheld.told.push(json!({"path": path, "line": found.line, "rule": found.rule, "allow": allow}));
            // Its lines in the part may stand apart: lines that go lie between those that come.
            let at = sides.in_part(found.start)..sides.in_part(found.end.saturating_sub(1)) + 1;
            withheld.lost.push(Lost { at, mark: secrets::mark(found) });
        }
        for found in &named {
            let allow = gate::allowance(&found.rule, None, &found.sha256_prefix);
            withheld.told.push(json!({"path": path, "rule": found.rule, "allow": allow}));
        }
        if !withheld.told.is_empty() {
            withheld.lost.extend(self.secrets_of(part, path));
            withheld.lost.sort_by_key(|lost| (lost.at.start, std::cmp::Reverse(lost.at.end)));
        }
        withheld
    }

    /// The secrets of the files that a patch removes, which may stand in those that it makes. A file that scripts may not read shows
    /// its secrets to more readers where it is moved.
    fn moved(&self, patch: &Patch) -> secrets::Moved {
        let sides = patch.parts().map(|(part, stat)| (&stat.path, Sides::of(part)));
        let removed: Vec<_> = sides
            .filter(|(path, sides)| sides.after.is_empty() && self.policy.read_refusal(path).is_none())
            .map(|(path, sides)| (path, sides.before))
            .collect();
        let removed = removed.iter().map(|(path, before)| (Some(path.as_str()), before.as_slice()));
        secrets::Moved::of(removed, self.rules.secrets())
    }

    /// All secrets of a part that nobody has allowed.
    fn secrets_of(&self, part: &[u8], path: &RepoPath) -> Vec<Lost> {
        let found = secrets::scan(part, Some(path), self.rules.secrets());
        let found = found.into_iter().filter(|found| !self.is_allowed(found, path));
        found.map(|found| Lost { at: found.start..found.end, mark: secrets::mark(&found) }).collect()
    }

    fn is_allowed(&self, found: &secrets::Found, path: &RepoPath) -> bool {
        let by_policy = || self.policy.secret_allowance(&found.rule, Some(path), &found.sha256_prefix);
        found.allowed_by.is_some() || by_policy().is_some()
    }
}

/// A record without secrets. The exact data of one from which changes are undone is kept, and named by `exact`.
fn redacted_note(
    note: Note,
    rules: &secrets::Rules,
    keep: &dyn Fn(&Value) -> Result<Stored, Error>,
) -> Result<Draft, Error> {
    let names_secret = names_secret(&note.event, rules);
    let mut draft = note.draft()?;
    if !draft.is_exact() {
        secrets::redact_json(draft.content(), rules);
    } else if names_secret {
        let kept = keep(draft.content())?;
        secrets::redact_json(draft.content(), rules);
        draft.set_exact(kept);
    }
    Ok(draft)
}

/// True if one of the files that an event names from which changes are undone is named like a secret. All else in it is made by nrv.
fn names_secret(event: &Event, rules: &secrets::Rules) -> bool {
    let (entries, foreign) = match event {
        Event::Committed(data) | Event::Undone(data) | Event::UndoneAfterCrash(data) => {
            (data.entries.as_slice(), data.foreign.as_deref().unwrap_or_default())
        }
        Event::Revoked(data) => (data.entries.as_deref().unwrap_or_default(), data.foreign.as_slice()),
        _ => return false,
    };
    let mut names = entries.iter().map(|entry| &entry.path).chain(foreign);
    names.any(|name| matches!(secrets::redact(name, rules), Cow::Owned(_)))
}

/// As a run that goes on records it, for one that died.
pub(super) fn recovered_note(context: &Context, folder: &RunFolder, note: Note) -> Result<Draft, Error> {
    redacted_note(note, context.rules.secrets(), &|exact| Keeper::new(folder).keep_value(exact, Permit::ALL))
}

impl Lost {
    fn moved(self, by: usize) -> Self {
        Lost { at: self.at.start + by..self.at.end + by, ..self }
    }
}

/// Bytes with marks in place of what is lost, which is sorted; what overlaps is one.
fn without<'p>(bytes: &'p [u8], lost: &[Lost]) -> Cow<'p, [u8]> {
    let mut shown = Vec::new();
    let mut copied = 0;
    let line_of = |place: usize| memchr::memrchr(b'\n', &bytes[..place]).map_or(0, |feed| feed + 1);
    for Lost { at, mark } in lost {
        if at.start < copied {
            copied = copied.max(at.end);
            continue;
        }
        let line = line_of(at.start);
        if line >= copied {
            shown.extend_from_slice(&bytes[copied..line]);
            shown.extend_from_slice(BROKEN);
            copied = line;
        }
        shown.extend_from_slice(&bytes[copied..at.start]);
        shown.extend_from_slice(mark.as_bytes());
        copied = at.end;
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    shown.extend_from_slice(&bytes[copied..]);
    Cow::Owned(shown)
}
