//! `nrv.code.find`: structural search in the files that a script may read.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::files::{Files, MAX_HITS};
use crate::context::check_stop;
use base::{
    call::Search,
    error::{Code, Error},
    json,
    path::RepoPath,
    text::counted,
};
use service::code::{Finder, Found};
use system::workspace::parallel_map;

/// A longer file is not searched.
const LARGEST: u64 = 16 << 20;

/// The number of files in the details of an error.
const IN_DETAILS: usize = 100;

/// The result of searching a file.
enum Searched {
    Hits(Vec<Value>),
    /// The reason that it was not searched.
    Not(String),
}

impl Files<'_> {
    /// Matches in the order of paths and places. Files that are not UTF-8 are passed over. `unreadable` if a file that may match has a
    /// syntax error, and the search does not permit that.
    pub(crate) fn find_code(&self, search: &Search) -> Result<Value, Error> {
        let finder = Finder::new(search)?;
        let paths = self.glob(&search.glob)?;
        let (hits, size) = (AtomicU64::new(0), AtomicU64::new(0));
        let is_full = || hits.load(Ordering::Relaxed) > MAX_HITS || size.load(Ordering::Relaxed) > self.most;
        let searched = parallel_map(self.context.options.threads, &paths, |path| {
            self.stop.map_or(Ok(()), check_stop)?;
            if is_full() {
                return Ok::<_, Error>(Searched::Hits(Vec::new()));
            }
            let searched = self.search_file(&finder, path)?;
            if let Searched::Hits(found) = &searched {
                hits.fetch_add(found.len() as u64, Ordering::Relaxed);
                size.fetch_add(found.iter().map(json::weight).sum(), Ordering::Relaxed);
            }
            Ok(searched)
        });
        if is_full() {
            let message = format!("the search has more than {MAX_HITS} matches or {} bytes of them", self.most);
            return Err(Error::new(Code::InvalidInput, message)
                .detail("limit", "script.limits.reply_bytes")
                .hint("narrow the glob or the pattern"));
        }
        let (mut all, mut skipped) = (Vec::new(), Vec::new());
        for (path, searched) in paths.iter().zip(searched) {
            match searched? {
                Searched::Hits(hits) => all.extend(hits),
                Searched::Not(reason) => skipped.push((path, reason)),
            }
        }
        if skipped.is_empty() { Ok(all.into()) } else { Err(refusal(&skipped)) }
    }

    fn search_file(&self, finder: &Finder<'_>, path: &RepoPath) -> Result<Searched, Error> {
        let Some(content) = self.view().read_within(path, LARGEST)? else {
            return Ok(Searched::Not("is larger than 16 MiB".to_owned()));
        };
        let bytes = content.into_bytes();
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(Searched::Hits(Vec::new())) };
        let pulse = || self.stop.map_or(Ok(()), check_stop);
        match finder.find(path, text, &pulse)? {
            Found::Broken(line) => Ok(Searched::Not(format!("has a syntax error in line {line}"))),
            Found::Hits(hits) => {
                let value = |hit| {
                    let mut value = serde_json::to_value(hit).unwrap_or_default();
                    value["path"] = json!(path);
                    value
                };
                Ok(Searched::Hits(hits.into_iter().map(value).collect()))
            }
        }
    }
}

fn refusal(skipped: &[(&RepoPath, String)]) -> Error {
    let (first, reason) = &skipped[0];
    let more = match skipped.len() - 1 {
        0 => String::new(),
        more => format!(" (and {} more can't be searched)", counted(more, "file")),
    };
    let files: Vec<&str> = skipped.iter().take(IN_DETAILS).map(|(path, _)| path.as_str()).collect();
    Error::new(Code::Unreadable, format!("`{first}` {reason}{more}"))
        .detail("files", files)
        .hint("set `allow_errors: true` to search files with syntax errors too, or exclude files by a glob with `!`")
}
