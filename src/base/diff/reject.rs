//! Explains why the part of a patch can't be applied: the expected lines, the lines found, and other places of the expected
//! ones.

use super::{
    patch::{FilePatch, Hunk, Operation},
    placer::{Placer, Wanted},
    text::{LineEnd, SHOWN, lines, show},
};
use crate::{
    error::{Code, Error},
    path::RepoPath,
};

/// The number of places that a message lists.
pub(super) const PLACES: usize = 20;

/// The number of places that are compared one by one.
pub(super) const LOOKED_AT: usize = 200;

fn rejected(part: &FilePatch, message: String) -> Error {
    Error::new(Code::PatchRejected, message).detail("path", part.path().as_str()).detail("line", part.line)
}

pub(super) fn exists(part: &FilePatch, path: &RepoPath) -> Error {
    rejected(part, format!("line {} of the diff creates `{path}`, which exists", part.line))
        .hint("make a diff against the file as it is, or remove the file first")
}

pub(super) fn missing(part: &FilePatch) -> Error {
    let path = part.path();
    rejected(part, format!("line {} of the diff is about `{path}`, which does not exist", part.line)).hint(
        "paths are relative to the workspace's root; a creation names `/dev/null` as its old file, and after `diff --git` has the \
         line `new file mode 100644`",
    )
}

pub(super) fn wrong_type(part: &FilePatch, mode: u32, is_link: bool) -> Error {
    let found = if is_link { "a symbolic link" } else { "a regular file" };
    rejected(part, format!("`{}` is {found}, and the patch gives it mode {mode:o}", part.path()))
        .hint("a file becomes a link, or a link a file, in two parts: one deletes it, one creates it")
}

pub(super) fn no_target(part: &FilePatch) -> Error {
    let path = part.target().unwrap_or(part.path());
    rejected(part, format!("the patch makes `{path}` a symbolic link without a target that can be one"))
        .hint("the contents of a link are its target: one line without a line feed, less than 4096 bytes")
}

pub(super) fn leaves_lines(part: &FilePatch, path: &RepoPath, after: &[u8]) -> Error {
    let count = after.split_inclusive(|byte| *byte == b'\n').count();
    let first = after.split(|byte| *byte == b'\n').next().unwrap_or_default();
    rejected(part, format!("the patch deletes `{path}`, but leaves {} of it", lines(count)))
        .detail("found", show(first))
        .hint("a deletion has to remove every line; make a diff of the whole file as it is")
}

/// A patch without contents is about a binary file.
pub(super) fn other_binary(part: &FilePatch, exists: bool) -> Error {
    let what = if exists {
        "is not the binary file that the patch deletes"
    } else {
        "is binary, and the patch does not hold it"
    };
    rejected(part, format!("`{}` {what}", part.path()))
        .hint("leave the file out of the patch, and remove or copy it by other means")
}

/// The file has lines of two ends, so that no one of them is its own.
pub(super) fn mixed(part: &FilePatch, (first, other): (LineEnd, LineEnd), line: usize) -> Error {
    let path = part.path();
    let what = format!("`{path}` has lines that end in {first} and lines that end in {other}");
    rejected(part, format!("{what}: line {line} ends in {other}, and the lines before it in {first}"))
        .detail("places", vec![line])
        .hint("give a diff with the bytes of the file and `line_ends` as `diff`, or give all lines of the file one end first")
}

/// Conversion would make nothing of the change.
pub(super) fn about_line_ends(part: &FilePatch, hunk: &Hunk) -> Error {
    let what =
        format!("the hunk in line {} of the diff changes only the end of a line of `{}`", hunk.line, part.path());
    rejected(part, what)
        .detail("line", hunk.line)
        .hint("set `line_ends` to `diff` (`--line-ends diff`), so that the diff keeps its line ends")
}

/// An error about one hunk.
fn about(placer: &Placer<'_>, wanted: &Wanted<'_>, what: &str) -> Error {
    let message =
        format!("hunk {} of `{}` (line {} of the diff) {what}", wanted.number, placer.part.path(), wanted.hunk.line);
    rejected(placer.part, message).detail("hunk", wanted.number).detail("line", wanted.hunk.line)
}

/// The lines stand before the end of the preceding hunk.
pub(super) fn out_of_order(placer: &Placer<'_>, wanted: &Wanted<'_>, place: usize) -> Error {
    about(placer, wanted, &format!("is about line {}, which is not behind the hunk before it", place + 1))
        .detail("places", vec![place + 1])
        .hint("put the hunks into the order of the file and join those that overlap")
}

/// The lines are at the old position, but the new position names another line.
pub(super) fn contradiction(placer: &Placer<'_>, wanted: &Wanted<'_>) -> Error {
    let (old, new) = (wanted.hunk.old, wanted.hunk.new);
    let should = (wanted.stated.0 as i64 + placer.shift).max(0) + i64::from(new.count > 0);
    let what =
        format!("contradicts itself: it is about line {}, which becomes line {should}, not {}", old.start, new.start);
    let header = format!("@@ -{},{} +{should},{} @@", old.start, old.count, new.count);
    about(placer, wanted, &what)
        .detail("expected", header.clone())
        .hint(format!("with the hunks before it, its header is `{header}`; `nrv.diff.repair` counts again"))
}

/// The lines are at several places, and not at the position in the header.
pub(super) fn ambiguous(placer: &Placer<'_>, wanted: &Wanted<'_>, places: &[usize]) -> Error {
    let numbers: Vec<usize> = places.iter().take(PLACES).map(|place| place + 1).collect();
    let more = if places.len() > PLACES { " and more" } else { "" };
    let listed: Vec<String> = numbers.iter().take(5).map(usize::to_string).collect();
    let dots = if numbers.len() > 5 { ", …" } else { more };
    let what = format!(
        "says line {}, but its lines are not there and are at several other places: {}{dots}",
        wanted.hunk.old.start,
        listed.join(", ")
    );
    about(placer, wanted, &what)
        .detail("places", numbers)
        .hint("correct the line numbers, or give more lines of context, so that one place is meant")
}

/// Nothing would separate the new lines from the last one of the file.
pub(super) fn unfinished(placer: &Placer<'_>, wanted: &Wanted<'_>) -> Error {
    about(placer, wanted, "adds lines after a last line that has no line feed")
        .hint("replace the last line by one with a line feed, and add the lines after it")
}

/// The lines are not at their place.
pub(super) fn no_match(placer: &mut Placer<'_>, wanted: &Wanted<'_>) -> Error {
    if wanted.lines.is_empty() {
        return no_context(placer, wanted);
    }
    let places = placer.lines.places(&wanted.lines, &[], PLACES);
    if let Some(first) = places.first() {
        return elsewhere(placer, wanted, &places, *first);
    }
    let stated = wanted.stated.0;
    let place = nearest(placer, wanted).unwrap_or(stated);
    let differs =
        (0..wanted.lines.len()).find(|at| line_at(placer, place + at) != Some(wanted.lines[*at])).unwrap_or(0);
    let expected = wanted.lines[differs];
    let number = place + differs + 1;
    let found = line_at(placer, place + differs);
    let skip = found.map_or(0, |found| alike(expected, found));
    let (wants, has) = (show_from(expected, skip), found.map(|found| show_from(found, skip)));
    let shown = has.as_ref().map_or_else(|| "the end of the file".to_owned(), |line| format!("`{line}`"));
    let end = if expected.ends_with(b"\n") { "" } else { " without a line feed" };
    let what = format!("does not fit: line {number} should be `{wants}`{end} and is {shown}");
    let error = about(placer, wanted, &what);
    let error = error.detail("expected", wants).detail("found", has).detail("places", vec![place + 1]);
    error.hint(hint(placer, wanted, expected, found))
}

/// The number of equal bytes of two lines that a message has no room for.
fn alike(a: &[u8], b: &[u8]) -> usize {
    const BEFORE: usize = 40;
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    if same < SHOWN {
        return 0;
    }
    // Cuts no character in two.
    let is_inside = |at: &usize| a.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (same - BEFORE - 3..=same - BEFORE).rev().find(|at| !is_inside(at)).unwrap_or(same - BEFORE)
}

fn show_from(line: &[u8], skip: usize) -> String {
    let dots = if skip == 0 { "" } else { "…" };
    format!("{dots}{}", show(&line[skip..]))
}

/// The lines are in the file, but the hunk may not be applied there.
fn elsewhere(placer: &Placer<'_>, wanted: &Wanted<'_>, places: &[usize], first: usize) -> Error {
    let numbers: Vec<usize> = places.iter().map(|place| place + 1).collect();
    let (what, hint) = if let Operation::Delete { .. } = placer.part.operation {
        ("does not delete every line of the file", "make a diff against the file as it is")
    } else if placer.taken.iter().any(|taken| taken.start < first + wanted.lines.len() && first < taken.end) {
        ("is about lines that an earlier hunk has taken", "join hunks that overlap")
    } else if placer.taken.last().is_some_and(|last| first < last.end) {
        ("is about lines before those of an earlier hunk", "put the hunks into the order of the file")
    } else if wanted.at_end && first + wanted.lines.len() != placer.lines.len() {
        (
            "has no context after its last change, so it has to reach the end of the file, and its lines are not there",
            "give lines of context after the last change",
        )
    } else if wanted.at_start && first != 0 {
        ("says line 1, and its lines are not there", "correct the line numbers of its header")
    } else {
        (
            "does not fit where its header says, but elsewhere",
            "correct the line numbers of its header, or allow an offset",
        )
    };
    about(placer, wanted, &format!("{what}: they are at line {}", first + 1)).detail("places", numbers).hint(hint)
}

/// Nothing tells the place of the new lines.
fn no_context(placer: &Placer<'_>, wanted: &Wanted<'_>) -> Error {
    let last = placer.lines.len();
    let what =
        format!("adds lines after line {} without any context; the file has {}", wanted.hunk.old.start, lines(last));
    about(placer, wanted, &what)
        .hint("give lines of context around the new ones; without them lines are only added to the end of a file")
}

fn line_at<'a>(placer: &Placer<'a>, at: usize) -> Option<&'a [u8]> {
    (at < placer.lines.len()).then(|| placer.lines.line(at))
}

/// The place where most lines are as expected; none if no line is anywhere.
fn nearest(placer: &mut Placer<'_>, wanted: &Wanted<'_>) -> Option<usize> {
    let stated = wanted.stated.0;
    let mut candidates = vec![stated];
    for (at, line) in wanted.lines.iter().enumerate().take(LOOKED_AT) {
        let places = placer.lines.places(&[*line], &[], PLACES);
        candidates.extend(places.iter().filter_map(|place| place.checked_sub(at)));
        if candidates.len() > LOOKED_AT {
            break;
        }
    }
    let alike = |place: usize| {
        (0..wanted.lines.len()).filter(|at| line_at(placer, place + at) == Some(wanted.lines[*at])).count()
    };
    // The nearer to the expected place, the better.
    let best =
        candidates.into_iter().map(|place| (alike(place), std::cmp::Reverse(place.abs_diff(stated)), place)).max()?;
    (best.0 > 0).then_some(best.2)
}

/// The next step after a line that differs from the expected one.
fn hint(placer: &mut Placer<'_>, wanted: &Wanted<'_>, expected: &[u8], found: Option<&[u8]>) -> String {
    let Some(found) = found else {
        return format!("the file has {}; make the diff against the file as it is", lines(placer.lines.len()));
    };
    let has_return = |line: &[u8]| line.ends_with(b"\r\n");
    if expected.trim_ascii_end() == found.trim_ascii_end() && has_return(expected) != has_return(found) {
        let (file, diff) = if has_return(found) { ("CRLF", "LF") } else { ("LF", "CRLF") };
        return format!(
            "lines of the file end in {file} and lines of the diff in {diff}: set `line_ends` to `file` (`--line-ends file`), or \
             convert the diff by `nrv.diff.repair` with the text of the file"
        );
    }
    if expected.trim_ascii_end() == found.trim_ascii_end() && expected.ends_with(b"\n") != found.ends_with(b"\n") {
        return "only one of the two has a line feed at its end; `\\ No newline at end of file` says that a line has none".to_owned();
    }
    if without_space(expected) == without_space(found) {
        return "only white space differs; context has to be the same byte for byte".to_owned();
    }
    let added: Vec<&[u8]> = wanted.hunk.new_lines().collect();
    let is_done = !placer.lines.places(&added, &[], 1).is_empty();
    if is_done {
        return "the file already has the lines that the hunk makes: it may have been applied before".to_owned();
    }
    "read the file again and make the diff against it as it is".to_owned()
}

fn without_space(line: &[u8]) -> Vec<u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}
