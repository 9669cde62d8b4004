//! The workers of a task: the claims of a task are numbered, and each is made once. A worker that makes the next number has taken the task over.
//!
//! Claims save work and decide nothing: should two workers do the same task, the first result stands.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::result::SHORT;
use base::{
    error::{Code, Error},
    hash::Sha256,
};
use service::exec::PrivateFolder;
use system::{plain_file, store::Store};

/// The most attempts at a task.
const MOST: u32 = 10_000;

/// The longest time that a task rests.
const LONGEST_PAUSE_MS: u64 = 3_600_000;

/// A number that the kernel chooses when the machine starts.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The mounts that the process sees.
const MOUNTS: &str = "/proc/self/ns/mnt";

/// One worker's claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// The number of the attempt, from 1 on.
    pub(super) attempt: u32,
    /// How many attempts before could not be finished for a temporary reason.
    pub(super) failures: u32,
    /// The start of the machine on which the worker is.
    boot: String,
    /// The private folder that the worker holds as long as it lives.
    folder: String,
    /// When it was made, in milliseconds since 1970.
    made_ms: u64,
}

/// The end of an attempt that has no outcome.
#[derive(Serialize, Deserialize)]
struct GivenUp {
    /// The code of the error; empty for none.
    code: String,
    /// The sentence.
    message: String,
    /// When it was given up, in milliseconds since 1970.
    #[serde(default)]
    made_ms: u64,
}

/// The way to a task.
pub(super) enum Taken {
    /// It is ours.
    Ours(Claim),
    /// Another worker has it, or it rests after a failure.
    Busy {
        /// When it can be taken, in milliseconds since 1970.
        until_ms: u64,
        /// True if no worker has it.
        rests: bool,
    },
}

/// The facts that decide whether a claim of another counts.
pub(super) struct Terms<'t> {
    pub(super) store: &'t Store,
    pub(super) now_ms: u64,
    pub(super) lease_ms: u64,
    /// How long a task rests after its first failure; twice as long after each further one.
    pub(super) pause_ms: u64,
    /// True if whoever starts the worker knows that no other has the task.
    pub(super) take_over: bool,
}

impl Terms<'_> {
    /// When a time of another machine has passed for so long. Its clock may be ahead, but by no more than that time.
    fn until_ms(&self, made_ms: u64, for_ms: u64) -> u64 {
        if made_ms > self.now_ms.saturating_add(for_ms) { 0 } else { made_ms.saturating_add(for_ms) }
    }
}

/// Claims a task, and takes it over from a worker that has died, gave it up or has had it for too long.
pub(super) fn take(terms: &Terms<'_>, task: Sha256, folder: &PrivateFolder) -> Result<Taken, Error> {
    let (boot, folder) = (boot(), folder.path().display().to_string());
    let mut failures = 0;
    for attempt in 1..MOST {
        let claim = Claim { attempt, failures, boot: boot.clone(), folder: folder.clone(), made_ms: terms.now_ms };
        let bytes = json!(claim).to_string().into_bytes();
        if terms.store.create(&key(task, attempt), &bytes)? {
            return Ok(Taken::Ours(claim));
        }
        let Some(other) = terms.store.get(&key(task, attempt), SHORT)? else { continue };
        let other: Claim = serde_json::from_slice(&other).map_err(|error| {
            Error::new(Code::RecordDamaged, format!("a claim in the store is no claim: {error}"))
                .hint("look at who else writes to the store")
        })?;
        let end = terms.store.get(&given_up(task, attempt), SHORT)?;
        let gave_up = end.is_some();
        let end: Option<GivenUp> = end.and_then(|end| serde_json::from_slice(&end).ok());
        // A worker that was told to end says nothing about the task.
        let has_failed = end.as_ref().map_or(gave_up, |end| end.code != Code::Cancelled.as_str());
        failures = other.failures.saturating_add(u32::from(has_failed));
        // The next number says more than its age does.
        let is_last = terms.store.get(&key(task, attempt + 1), SHORT)?.is_none();
        let until_ms = terms.until_ms(other.made_ms, terms.lease_ms);
        let has_died = !boot.is_empty() && other.boot == boot && PrivateFolder::is_left(other.folder.as_ref());
        if is_last && !gave_up && !has_died && !terms.take_over && terms.now_ms < until_ms {
            return Ok(Taken::Busy { until_ms, rests: false });
        }
        let pause_ms = terms.pause_ms.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE_MS);
        let until_ms = end.map_or(0, |end| terms.until_ms(end.made_ms, pause_ms));
        if is_last && gave_up && has_failed && terms.now_ms < until_ms {
            return Ok(Taken::Busy { until_ms, rests: true });
        }
    }
    Err(Error::new(Code::InvalidInput, format!("the task {task} was begun {MOST} times"))
        .hint("something ends every worker that tries; look at one"))
}

impl Claim {
    /// Tells others that nobody works on it any more, and why it is not finished.
    pub(super) fn give_up(&self, terms: &Terms<'_>, task: Sha256, why: &Error) -> Result<(), Error> {
        self.end(terms, task, why.code().as_str(), why.message())
    }

    /// Tells others that nobody works on it any more.
    pub(super) fn release(&self, terms: &Terms<'_>, task: Sha256) -> Result<(), Error> {
        self.end(terms, task, "", "")
    }

    fn end(&self, terms: &Terms<'_>, task: Sha256, code: &str, message: &str) -> Result<(), Error> {
        let end = GivenUp { code: code.to_owned(), message: message.to_owned(), made_ms: terms.now_ms };
        terms.store.create(&given_up(task, self.attempt), json!(end).to_string().as_bytes()).map(drop)
    }
}

fn key(task: Sha256, attempt: u32) -> String {
    format!("claims/{task}-{attempt}")
}

fn given_up(task: Sha256, attempt: u32) -> String {
    format!("given-up/{task}-{attempt}")
}

/// The start of the machine and the mounts that the process sees; empty if they are not known. Where one of them differs, so may the
/// folder of that name.
fn boot() -> String {
    let id = plain_file::read(BOOT_ID.as_ref()).unwrap_or_default();
    let mounts = std::fs::read_link(MOUNTS).unwrap_or_default();
    let (id, mounts) = (String::from_utf8_lossy(&id).trim().to_owned(), mounts.display().to_string());
    if id.is_empty() || mounts.is_empty() { String::new() } else { format!("{id} {mounts}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_taken_over_from_the_dead_and_the_late_alone() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open("s", place.path(), &std::collections::BTreeMap::new()).unwrap();
        let task = Sha256::of(b"task");
        let terms = |now_ms, take_over| Terms { store: &store, now_ms, lease_ms: 100, pause_ms: 10, take_over };
        let first_of_others = || PrivateFolder::make("fleet").unwrap();
        let attempt = |taken: Taken| match taken {
            Taken::Ours(claim) => Ok((claim.attempt, claim.failures)),
            Taken::Busy { until_ms, .. } => Err(until_ms),
        };
        let (first, second) = (PrivateFolder::make("fleet").unwrap(), PrivateFolder::make("fleet").unwrap());
        assert_eq!(attempt(take(&terms(1000, false), task, &first).unwrap()), Ok((1, 0)));
        assert_eq!(attempt(take(&terms(1050, false), task, &second).unwrap()), Err(1100));
        assert_eq!(attempt(take(&terms(1050, true), task, &second).unwrap()), Ok((2, 0)));
        assert_eq!(attempt(take(&terms(1100, false), task, &first).unwrap()), Err(1150));
        assert_eq!(attempt(take(&terms(1150, false), task, &first).unwrap()), Ok((3, 0)), "too late");
        drop(first);
        let Taken::Ours(claim) = take(&terms(1160, false), task, &second).unwrap() else { panic!("its worker died") };
        let no_network = Error::new(Code::Temporary, "no network");
        claim.give_up(&terms(1165, false), task, &no_network).unwrap();
        assert_eq!(
            (claim.attempt, attempt(take(&terms(1170, true), task, &second).unwrap())),
            (4, Err(1175)),
            "it rests"
        );
        let Taken::Ours(claim) = take(&terms(1175, false), task, &second).unwrap() else { panic!("it has rested") };
        assert_eq!((claim.attempt, claim.failures), (5, 1));
        claim.give_up(&terms(1180, false), task, &no_network).unwrap();
        assert_eq!(attempt(take(&terms(1199, false), task, &second).unwrap()), Err(1200), "twice as long");
        assert_eq!(attempt(take(&terms(1200, false), task, &second).unwrap()), Ok((6, 2)));
        // Clocks that are ahead end nothing early and keep nothing for ever.
        assert_eq!(attempt(take(&terms(1150, false), task, &first_of_others()).unwrap()), Err(1300));
        assert_eq!(
            attempt(take(&terms(1000, false), task, &first_of_others()).unwrap()),
            Ok((7, 2)),
            "no clock is so far ahead"
        );
    }
}
