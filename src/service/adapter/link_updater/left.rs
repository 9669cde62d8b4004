//! Lists where an old host still stands after the move: in text, comments and code, and in files outside of the target.

use std::{collections::BTreeSet, ops::Range};

use memchr::memchr_iter;
use regex::bytes::Regex;
use url::Url;

use super::{origin::Moves, target::Origin};
use crate::{
    Context,
    contract::{Counts, Finding},
    deadline::Deadline,
    survey::{Whole, whole},
};
use base::{
    error::{Code, Error},
    path::RepoPath,
    text::counted,
};
use system::{
    git::Tracked,
    workspace::{self, Globs},
};

/// Larger files are not read, in bytes.
const LARGEST: u64 = 64 << 20;

/// The number of places that a proposal lists.
const LISTED: usize = 2000;

/// The kind of a place with an old host.
const OLD_HOST: &str = "old_host";
/// The kind of a file that may hold one.
const UNREAD: &str = "unread";

/// The reasons at a place with an old host: in a file that was read as its format, in one that was not, and elsewhere.
pub(super) const NO_LINK: &str = "the old host stands here, and not in a link that moves";
pub(super) const SKIPPED: &str = "the old host stands here, and the file can't be read as its format";
const OUTSIDE: &str = "the old host stands here, and the target leaves the file out";

/// The end of the reason for a file that was not searched.
const MAY_HOLD: &str = "may hold the old host";

/// The longest user and scheme before a host that are looked at, in bytes.
const BEFORE: usize = 256;

/// Finds old hosts in bytes.
pub(super) struct Sight<'m> {
    moves: &'m Moves,
    /// Something that may be an old host; none if nothing moves.
    hosts: Option<Regex>,
    /// A name with letters beyond ASCII; none if no old host has some.
    foreign: Option<Regex>,
    /// Scheme and user right before a host.
    scheme: Regex,
}

/// The places in a file, or in all.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The first of them.
    listed: Vec<Finding>,
    files: u64,
    lines: u64,
}

impl Places {
    /// Adds those of another file.
    pub(super) fn add(&mut self, other: Places) {
        self.listed.extend(other.listed);
        self.files += other.files;
        self.lines += other.lines;
    }

    /// The first places by path and line, and the counts of all.
    pub(super) fn results(mut self) -> (Vec<Finding>, Counts) {
        self.listed.sort();
        self.listed.truncate(LISTED);
        let counts = [("left_files", self.files), ("left_lines", self.lines)];
        let counts = counts.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n));
        (self.listed, counts.collect())
    }
}

impl<'m> Sight<'m> {
    pub(super) fn new(moves: &'m Moves) -> Result<Self, Error> {
        let compiled = |pattern: &str| Regex::new(pattern).map_err(|_| too_many());
        // A dot may be escaped, as in regular expressions.
        let spelled = |host: &str| regex::escape(host).replace("\\.", "\\\\*\\.");
        let hosts: BTreeSet<String> = moves.hosts().map(spelled).collect();
        let hosts: Vec<String> = hosts.into_iter().collect();
        let has_foreign = moves.hosts().any(|host| host.contains("xn--"));
        let foreign = has_foreign.then(|| compiled(r"(?-u)[\w.-]*[\x80-\xff][\w.\x80-\xff-]*"));
        Ok(Sight {
            moves,
            hosts: (!hosts.is_empty()).then(|| compiled(&format!("(?i-u){}", hosts.join("|")))).transpose()?,
            foreign: foreign.transpose()?,
            scheme: compiled(r#"(?i-u)(https?:|)//(?:[^\s/@"'<>]*@)?$"#)?,
        })
    }

    /// The places in the new bytes of a file of the target, or in one that stays.
    pub(super) fn places(&self, path: &RepoPath, bytes: &[u8], reason: &str) -> Places {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            let unit = if bytes[0] == 0xff { u16::from_le_bytes } else { u16::from_be_bytes };
            let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
            let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            return self.lines(path, text.as_bytes(), reason);
        }
        if memchr::memchr(0, bytes).is_none() {
            return self.lines(path, bytes, reason);
        }
        let Some(place) = self.next(bytes, 0) else { return Places::default() };
        let reason = format!("{reason}; it is binary");
        Places { listed: vec![finding(path, None, (shown(&bytes[place]), OLD_HOST, reason))], files: 1, lines: 1 }
    }

    /// The first place of each line.
    fn lines(&self, path: &RepoPath, bytes: &[u8], reason: &str) -> Places {
        let mut places = Places::default();
        let (mut at, mut counted, mut line) = (0, 0, 1);
        let end_of_line = |at: usize| memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
        while at < bytes.len() {
            // Two searches go on side by side, so that neither may go far.
            let end = if self.foreign.is_some() { end_of_line(at) } else { bytes.len() };
            let Some(place) = self.next(&bytes[..end], at) else {
                at = end + 1;
                continue;
            };
            line += memchr_iter(b'\n', &bytes[counted..place.start]).count() as u64;
            counted = place.start;
            if places.listed.len() < LISTED {
                let told = (shown(&bytes[place.clone()]), OLD_HOST, reason.to_owned());
                places.listed.push(finding(path, Some(line), told));
            }
            places.lines += 1;
            at = end_of_line(place.end) + 1;
        }
        places.files = u64::from(places.lines > 0);
        places
    }

    /// The next old host, with its port.
    fn next(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        let first = |pattern: &Option<Regex>, whole: fn(&[u8], Range<usize>) -> Range<usize>| {
            let mut at = from;
            while let Some(found) = pattern.as_ref().and_then(|pattern| pattern.find_at(bytes, at)) {
                let word = whole(bytes, found.range());
                at = word.end;
                if let Some(place) = self.host(bytes, word) {
                    return Some(place);
                }
            }
            None
        };
        let places = [first(&self.hosts, word), first(&self.foreign, |_, found| found)];
        places.into_iter().flatten().min_by_key(|place| place.start)
    }

    /// The old host that a word is, with its port.
    fn host(&self, bytes: &[u8], word: Range<usize>) -> Option<Range<usize>> {
        let before = word.start.checked_sub(1).map(|at| bytes[at]);
        let starts = [0, escape(before, &bytes[word.clone()])].into_iter();
        let mut words = starts.map(|skipped| trimmed(bytes, word.start + skipped..word.end));
        let place = words.find(|word| self.names(&bytes[word.clone()]))?;
        let after = &bytes[place.end..];
        let digits = after.strip_prefix(b":").map_or(0, |port| port.iter().take_while(|b| b.is_ascii_digit()).count());
        let end = if digits == 0 { place.end } else { place.end + 1 + digits };
        self.may_be_left(bytes, (&place, end)).then_some(place.start..end)
    }

    /// True if a word is an old host.
    fn names(&self, word: &[u8]) -> bool {
        let plain: Vec<u8> = word.iter().filter(|byte| **byte != b'\\').map(u8::to_ascii_lowercase).collect();
        if plain.is_ascii() {
            return self.moves.has_host(&plain);
        }
        let url = std::str::from_utf8(&plain).ok().and_then(|host| Url::parse(&format!("https://{host}/")).ok());
        url.and_then(|url| Origin::of(&url)).is_some_and(|origin| self.moves.has_host(origin.host.as_bytes()))
    }

    /// False for a host to which links move, unless a URL there has an old origin and no new one.
    fn may_be_left(&self, bytes: &[u8], (host, end): (&Range<usize>, usize)) -> bool {
        let name = bytes[host.clone()].to_ascii_lowercase();
        if !self.moves.is_goal(&name) {
            return true;
        }
        let before = &bytes[host.start.saturating_sub(BEFORE)..host.start];
        let Some(found) = self.scheme.captures(before) else { return false };
        let scheme = if found[1].is_empty() { "https:".into() } else { String::from_utf8_lossy(&found[1]) };
        let url = format!("{scheme}//{}", String::from_utf8_lossy(&bytes[host.start..end]));
        let origin = Url::parse(&url).ok().and_then(|url| Origin::of(&url));
        origin.is_some_and(|origin| self.moves.leaves_for_good(&origin))
    }
}

/// Searches the files of the workspace that the target leaves out.
pub(super) fn outside(
    (ctx, deadline): (&Context<'_>, &Deadline),
    sight: &Sight<'_>,
    is_surveyed: impl Fn(&RepoPath) -> bool,
) -> Result<Places, Error> {
    let whole = match whole(ctx) {
        // A repository that can't be read tells of no further files.
        Err(error) if error.code() == Code::DirtyTree => {
            Whole { paths: ctx.view.list(&Globs::parse(&["**/*"])?, ctx.threads)?.paths, ..Whole::default() }
        }
        whole => whole?,
    };
    let paths: Vec<&RepoPath> = whole.paths.iter().filter(|path| !is_surveyed(path)).collect();
    let found = workspace::parallel_map(ctx.threads, &paths, |path| {
        deadline.check(ctx)?;
        if ctx.hidden.is_some_and(|hidden| hidden.covers(path)) {
            return Ok(unread(path, "`paths.read_deny` covers it, so that it"));
        }
        Ok::<_, Error>(match ctx.view.read_within(path, LARGEST) {
            Ok(Some(content)) => sight.places(path, &content.bytes, OUTSIDE),
            Ok(None) => unread(path, "it is larger than 64 MiB and"),
            Err(_) => unread(path, "it can't be read and"),
        })
    });
    let mut total = Places::default();
    for places in found {
        total.add(places?);
    }
    absent(&whole).into_iter().for_each(|places| total.add(places));
    Ok(total)
}

/// The repositories that are not there, and the files that a sparse checkout left out.
fn absent(whole: &Whole) -> Vec<Places> {
    let named = |wanted: Tracked| {
        let these = whole.absent.iter().filter(move |(_, tracked)| *tracked == wanted);
        these.filter_map(|(path, _)| RepoPath::parse(path).ok()).collect::<Vec<_>>()
    };
    let is_empty = |path: &RepoPath| !whole.paths.iter().any(|file| file.starts_with(&format!("{path}/")));
    let mut absent = named(Tracked::Repository);
    absent.retain(is_empty);
    let mut places: Vec<Places> =
        absent.iter().map(|path| unread(path, "its repository is not checked out and")).collect();
    let left_out = named(Tracked::Absent);
    let why = format!("a sparse checkout left out {}, which", counted(left_out.len(), "file"));
    places.extend(left_out.first().map(|first| unread(first, &why)));
    places
}

/// A file that was not searched. It does not count as one with an old host.
fn unread(path: &RepoPath, why: &str) -> Places {
    let told = (String::new(), UNREAD, format!("{why} {MAY_HOLD}"));
    Places { listed: vec![finding(path, None, told)], ..Places::default() }
}

fn finding(path: &RepoPath, line: Option<u64>, (place, kind, reason): (String, &str, String)) -> Finding {
    Finding { path: path.clone(), line, place, kind: kind.to_owned(), reason, candidates: Vec::new() }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The letters, digits, hyphens, underscores and dots around a range. A backslash may stand before a dot. An address in brackets
/// is a word of its own, or none behind a letter.
fn word(bytes: &[u8], found: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = found;
    if bytes[start] == b'[' {
        let is_alone = start == 0 || !is_plain(bytes[start - 1]);
        return if is_alone { start..end } else { end..end };
    }
    let mut follows = bytes[start];
    while let Some(byte) = start.checked_sub(1).map(|at| bytes[at]) {
        match byte {
            b'\\' if follows == b'.' => {}
            byte if is_plain(byte) => follows = byte,
            _ => break,
        }
        start -= 1;
    }
    while end < bytes.len() {
        let slashes = bytes[end..].iter().take_while(|byte| **byte == b'\\').count();
        match bytes.get(end + slashes) {
            Some(b'.') => end += slashes + 1,
            Some(byte) if slashes == 0 && is_plain(*byte) => end += 1,
            Some(_) | None => break,
        }
    }
    start..end
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// A word without hyphens, underscores and dots at its ends.
fn trimmed(bytes: &[u8], word: Range<usize>) -> Range<usize> {
    let is_inner = |byte: &u8| !matches!(byte, b'.' | b'-' | b'_' | b'\\');
    let inner = &bytes[word.clone()];
    let Some(first) = inner.iter().position(is_inner) else { return word.end..word.end };
    let last = inner.iter().rposition(is_inner).unwrap_or(first);
    word.start + first..word.start + last + 1
}

/// The number of bytes at the beginning of a word that belong to an escape, which begins before it and spells no part of a word:
/// `%2F`, `%252F`, `%u002f`, `=3D`, `[1m`, `\x2f`, `\u002f`, `\U0000002f`, and a backslash with any letter.
fn escape(before: Option<u8>, word: &[u8]) -> usize {
    let digits = |from: usize, to: usize| {
        let digits = word.get(from..to).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let is_other = number.is_some_and(|number| u8::try_from(number).map_or(true, |byte| !is_plain(byte)));
        if is_other { to } else { 0 }
    };
    match (before, word.first()) {
        (Some(b'%'), Some(b'u' | b'U')) => digits(1, 5),
        (Some(b'%'), _) => {
            let again = word.chunks_exact(2).take_while(|two| *two == b"25").count() * 2;
            digits(again, again + 2)
        }
        (Some(b'='), _) => digits(0, 2),
        (Some(b'['), _) => {
            let count = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
            word.get(count).filter(|byte| byte.is_ascii_alphabetic()).map_or(0, |_| count + 1)
        }
        (Some(b'\\'), Some(b'u')) => digits(1, 5),
        (Some(b'\\'), Some(b'U')) => digits(1, 9),
        (Some(b'\\'), Some(b'x')) => digits(1, 3),
        (Some(b'\\'), Some(letter)) if letter.is_ascii_alphabetic() || *letter == b'0' => 1,
        (_, _) => 0,
    }
}

fn too_many() -> Error {
    Error::new(Code::InvalidInput, "the old hosts are too many to be found").hint("move them in several steps")
}
