//! Contents among git's objects, and the newest commit whose message has a certain line.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use gix::{ObjectId, bstr::ByteSlice, revision::walk::Sorting, traverse::commit::simple::CommitTimeOrder};

use super::{
    error::{said, unknown},
    on_its_own_thread,
    opened::Opened,
};
use base::error::{Code, Error};

/// The limit of commits that are searched.
const MOST_COMMITS: usize = 20_000;

/// The longest content that is read, in bytes.
const LONGEST: u64 = 8 << 20;

/// The name that git gives to an object with this content and no other, in hexadecimal digits; as long as that of `like`.
pub fn blob_name(content: &[u8], like: &str) -> Option<String> {
    let id = ObjectId::from_hex(like.as_bytes()).ok()?;
    let name = gix::objs::compute_hash(id.kind(), gix::objs::Kind::Blob, content).ok()?;
    Some(name.to_hex().to_string())
}

/// Reads the contents of blobs by their names. A blob that is missing or longer than 8 MiB gives none, and so does another object.
pub fn contents(
    root: &Path,
    names: &[String],
    environment: &BTreeMap<String, String>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let names = names.to_vec();
    on_its_own_thread(root, environment, stop, move |root, environment, until| {
        let Some(opened) = Opened::at(root, environment)? else { return Ok(vec![None; names.len()]) };
        let read = |name: &String| {
            if until.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "the run was cancelled"));
            }
            let id = ObjectId::from_hex(name.as_bytes()).ok();
            let id = id.filter(|id| {
                opened.repository.find_header(*id).is_ok_and(|found| found.kind().is_blob() && found.size() <= LONGEST)
            });
            Ok(id.and_then(|id| Some(opened.repository.find_blob(id).ok()?.detach().data)))
        };
        names.iter().map(read).collect()
    })
}

/// The newest commit, from the present one backwards, whose message has this line in its last paragraph; none if there is none.
///
/// Commits older than `since`, in seconds since 1970, are not searched.
pub fn commit_with_line(
    root: &Path,
    line: &str,
    since: i64,
    environment: &BTreeMap<String, String>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<String>, Error> {
    let line = line.to_owned();
    on_its_own_thread(root, environment, stop, move |root, environment, until| {
        let Some(opened) = Opened::at(root, environment)? else { return Ok(None) };
        let Ok(head) = opened.repository.head_id() else { return Ok(None) };
        let sorting = Sorting::ByCommitTimeCutoff { order: CommitTimeOrder::NewestFirst, seconds: since };
        let walk = opened.repository.rev_walk([head]).sorting(sorting).all();
        for one in walk.map_err(|error| unknown(&error.to_string()))?.take(MOST_COMMITS) {
            if until.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "the search was cancelled"));
            }
            let id = one.map_err(|error| unknown(&error.to_string()))?.id;
            let commit = opened.repository.find_commit(id).map_err(|error| unknown(&said(&error)))?;
            let message = commit.message_raw().map_err(|error| unknown(&error.to_string()))?;
            let last = message.trim_end().rsplit_once_str("\n\n").map_or(message.trim_end(), |(_, last)| last);
            if last.lines().any(|found| found == line.as_bytes()) {
                return Ok(Some(id.to_hex().to_string()));
            }
        }
        Ok(None)
    })
}
