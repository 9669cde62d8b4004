//! Measures assertions on the tree. An unreadable or undecidable one does not hold.

use serde::de::IgnoredAny;

use super::{Assertion, Baseline, Count, Print, Sight, Verdict};
use base::{
    change::LINK,
    error::{Code, Error},
    path::RepoPath,
    text::counted,
};
use system::workspace::{Globs, Kind, Listing, parallel_map};

/// The number of files that a sentence names.
const NAMED: usize = 5;

/// The verdict on an assertion about the tree. `baseline` is the state that `tree_unchanged` compares with.
pub fn measure(sight: Sight<'_>, assertion: &Assertion, baseline: Option<&Baseline>) -> Verdict {
    let verdict = match assertion {
        Assertion::FileExists(path) => file_exists(sight, path),
        Assertion::Count(count) => self::count(sight, count),
        Assertion::JsonValid(globs) => json_valid(sight, globs),
        Assertion::TreeUnchanged(globs) => match baseline {
            Some(baseline) => tree_unchanged(sight, globs, baseline),
            None => Ok(Verdict::fails("it can't be told: the record has nothing to compare with")),
        },
        Assertion::Command(_) => Ok(Verdict::fails("a command is not measured")),
    };
    verdict.unwrap_or_else(|error| Verdict::fails(format!("it can't be told: {}", error.message())))
}

/// The present state of the matching files and links.
pub fn baseline(sight: Sight<'_>, globs: &Globs) -> Result<Baseline, Error> {
    let paths = all_named(sight.list_entries(globs)?)?;
    let prints = parallel_map(sight.threads, &paths, |path| sight.view.stamp_entry(path).map(Print::from));
    paths.iter().zip(prints).map(|(path, print)| Ok((path.clone(), print?))).collect()
}

fn file_exists(sight: Sight<'_>, path: &RepoPath) -> Result<Verdict, Error> {
    let kind = match sight.view.overlay().get(path).filter(|_| sight.sees(path)) {
        Some(content) => content.map(|content| if content.is_link() { Kind::Link } else { Kind::File }),
        None if !sight.sees(path) => None,
        None => sight.view.workspace().stat(path)?.map(|found| found.kind),
    };
    Ok(match kind {
        Some(Kind::File) => Verdict::holds(format!("`{path}` exists")),
        Some(kind) => Verdict::fails(format!("`{path}` is a {}, not a regular file", kind.noun())),
        None => Verdict::fails(format!("`{path}` does not exist")),
    })
}

fn count(sight: Sight<'_>, count: &Count) -> Result<Verdict, Error> {
    let paths = all_named(sight.list(&count.globs)?)?;
    let counts = parallel_map(sight.threads, &paths, |path| -> Result<Option<u64>, Error> {
        let content = sight.view.read(path)?;
        Ok(std::str::from_utf8(&content.bytes).ok().map(|text| count.pattern.find_iter(text).count() as u64))
    });
    let counts = counts.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let total: u64 = counts.iter().flatten().sum();
    let skipped = counts.iter().filter(|count| count.is_none()).count();
    let hits = paths.iter().zip(&counts).filter(|(_, count)| count.is_some_and(|n| n > 0)).map(|(path, _)| path);
    let hits: Vec<&RepoPath> = hits.collect();
    let mut reason = format!(
        "the pattern occurs {} in {}{}",
        times(total),
        files(paths.len()),
        if hits.is_empty() {
            String::new()
        } else {
            format!(" ({})", named(hits.iter().map(|path| format!("`{path}`"))))
        }
    );
    if skipped > 0 {
        reason.push_str(&format!(
            "; {} not UTF-8 and passed over",
            if skipped == 1 { "1 is".to_owned() } else { format!("{skipped} are") }
        ));
    }
    if (count.at_least..=count.at_most).contains(&total) {
        return Ok(Verdict::holds(reason));
    }
    let wanted = match (count.at_least, count.at_most) {
        (least, most) if least == most => format!("{least}"),
        (0, most) => format!("at most {most}"),
        (least, u64::MAX) => format!("at least {least}"),
        (least, most) => format!("{least} to {most}"),
    };
    Ok(Verdict::fails(format!("{reason}, not {wanted}")))
}

fn json_valid(sight: Sight<'_>, globs: &Globs) -> Result<Verdict, Error> {
    let paths = all_named(sight.list(globs)?)?;
    if paths.is_empty() {
        return Ok(Verdict::fails("no file matches"));
    }
    let wrong = parallel_map(sight.threads, &paths, |path| -> Result<Option<String>, Error> {
        let content = sight.view.read(path)?;
        let Ok(text) = std::str::from_utf8(&content.bytes) else { return Ok(Some(format!("`{path}` is not UTF-8"))) };
        let parsed = serde_json::from_str::<IgnoredAny>(text);
        Ok(parsed.err().map(|error| format!("`{path}` is not JSON (line {}, column {})", error.line(), error.column())))
    });
    let wrong: Vec<String> = wrong.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect();
    Ok(match wrong.is_empty() {
        true => Verdict::holds(format!("{} JSON", is_are(paths.len()))),
        false => Verdict::fails(named(wrong.into_iter())),
    })
}

/// Files of the baseline are found by name, so that a new ignore rule does not hide one.
fn tree_unchanged(sight: Sight<'_>, globs: &Globs, baseline: &Baseline) -> Result<Verdict, Error> {
    let mut paths = all_named(sight.list_entries(globs)?)?;
    paths.extend(baseline.keys().cloned());
    paths.sort_unstable();
    paths.dedup();
    let changed = parallel_map(sight.threads, &paths, |path| -> Result<Option<String>, Error> {
        let now = match sight.view.stamp_entry(path) {
            Ok(stamp) => Some(Print::from(stamp)),
            Err(error) if error.code() == Code::NotFound => None,
            // A folder in its place is a change.
            Err(error) if matches!(error.code(), Code::InvalidPath | Code::Unreadable) => {
                return Ok(Some(error.message().to_owned()));
            }
            Err(error) => return Err(error),
        };
        let how = match (baseline.get(path), now) {
            (Some(was), Some(now)) if *was == now => return Ok(None),
            (Some(was), Some(now)) if was.sha256 == now.sha256 && (was.mode == LINK) == (now.mode == LINK) => {
                "has other permissions"
            }
            (Some(_), Some(_)) => "has changed",
            (Some(_), None) => "is gone",
            (None, Some(_)) => "is new",
            (None, None) => return Ok(None),
        };
        Ok(Some(format!("`{path}` {how}")))
    });
    let changed: Vec<String> = changed.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect();
    Ok(match changed.is_empty() {
        true => Verdict::holds(format!(
            "{} what {} when the run started",
            is_are(paths.len()),
            if paths.len() == 1 { "it was" } else { "they were" }
        )),
        false => Verdict::fails(named(changed.into_iter())),
    })
}

/// The paths of a complete listing.
fn all_named(listing: Listing) -> Result<Vec<RepoPath>, Error> {
    match listing.unnameable.first() {
        None => Ok(listing.paths),
        Some(name) => Err(Error::new(
            Code::Unreadable,
            format!("the name of `{}` is not UTF-8, so that it can't be looked at", name.escape_debug()),
        )),
    }
}

/// The first of several things, and the number of the others.
fn named(things: impl ExactSizeIterator<Item = String>) -> String {
    let n = things.len();
    let mut text = things.take(NAMED).collect::<Vec<_>>().join(", ");
    if n > NAMED {
        text.push_str(&format!(" and {} more", n - NAMED));
    }
    text
}

fn times(n: u64) -> String {
    match n {
        0 => "nowhere".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

fn files(n: usize) -> String {
    counted(n, "file")
}

fn is_are(n: usize) -> String {
    if n == 1 { "1 file is".to_owned() } else { format!("{n} files are") }
}
