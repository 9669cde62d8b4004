//! Searches for old hosts by a walk over words, and compares the places with those that the record lists.

use std::{collections::BTreeSet, ops::Range};

use url::Url;

use super::expected_target::Aim;
use crate::{
    Context,
    contract::{BaselineRecord, Counts, Failure, Finding},
    counts::COUNTS_MATCH,
    evidence::Examined,
};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::counted,
};
use system::{
    git::{self, Tracked},
    workspace::{self, Globs},
};

/// The record lists every place in which an old host stands.
pub(super) const OLD_HOSTS_LISTED: &str = "old_hosts_listed";

/// The number of places that a record lists.
const MOST: usize = 2000;
/// Larger files are not searched, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// The number of labels that are sought one by one.
const MOST_LABELS: usize = 16;
/// The number of bytes before a host that may be its scheme and user.
const HEAD: usize = 256;

/// The old hosts to look for.
pub(super) struct Watch<'a> {
    aim: &'a Aim,
    hosts: BTreeSet<String>,
    /// The longest label of each; none if they are too many.
    labels: Option<BTreeSet<Label>>,
    /// True if one of them has letters beyond ASCII.
    foreign: bool,
    /// True if there are several searches: for each label, for words beyond ASCII, and for addresses in brackets.
    is_several: bool,
}

/// A label in small letters, with the place of its rarest letter.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label(String, usize);

/// The places in a file, or in all.
#[derive(Debug, Default)]
pub(super) struct Seen {
    findings: Vec<Finding>,
    files: u64,
    lines: u64,
    /// True if Git's index can't be read, so that tracked files may be out of sight.
    is_blind: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(aim: &'a Aim) -> Self {
        let hosts = aim.hosts();
        let is_address = |host: &String| host.starts_with('[');
        let labels: BTreeSet<Label> =
            hosts.iter().filter(|host| !is_address(host)).filter_map(|host| Label::of(host)).collect();
        let labels = Some(labels).filter(|labels| labels.len() <= MOST_LABELS);
        let foreign = hosts.iter().any(|host| host.split('.').any(|label| label.starts_with("xn--")));
        let has_one = labels.as_ref().is_none_or(|labels| labels.len() <= 1);
        let is_several = foreign || !has_one || hosts.iter().any(is_address);
        Watch { aim, hosts, labels, foreign, is_several }
    }

    /// The places in a file of the target after the change.
    pub(super) fn of_target(&self, file: &Examined<'_>, left_alone: bool) -> Seen {
        let why = match left_alone {
            true => "the file can't be read as its format",
            false => "not in a link that moves",
        };
        file.after.map_or_else(Seen::default, |after| self.search(file.path, after, why))
    }

    /// The places in the files of the workspace that the record does not name.
    pub(super) fn elsewhere(
        &self,
        ctx: &Context<'_>,
        record: &BaselineRecord,
        pulse: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<Vec<Seen>, Error> {
        let mut files: BTreeSet<RepoPath> =
            ctx.view.list(&Globs::parse(&["**"])?, ctx.threads)?.paths.into_iter().collect();
        let (mut left_out, mut repositories) = (Vec::new(), Vec::new());
        let tracked = match git::tracked(ctx.view.workspace().root()) {
            Err(error) if error.code() == Code::DirtyTree => None,
            tracked => Some(tracked?),
        };
        let is_blind = tracked.is_none();
        for (name, tracked) in tracked.unwrap_or_default() {
            let path = RepoPath::parse(&name)?;
            if path.components().any(protected::is_hidden_folder) {
                continue;
            }
            match tracked {
                Tracked::File => drop(files.insert(path)),
                Tracked::Absent => left_out.push(path),
                Tracked::Repository => repositories.push(path),
            }
        }
        let is_below = |file: &RepoPath, folder: &RepoPath| {
            file.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        repositories.retain(|folder| !files.iter().any(|file| is_below(file, folder)));
        let known: BTreeSet<&str> = record.files.iter().map(|file| file.path.as_str()).collect();
        let skipped: BTreeSet<&str> = record.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
        files.retain(|path| !known.contains(path.as_str()) && !skipped.contains(path.as_str()));
        let files: Vec<RepoPath> = files.into_iter().collect();
        let seen = workspace::parallel_map(ctx.threads, &files, |path| {
            pulse()?;
            Ok::<_, Error>(self.read(ctx, path))
        });
        let mut seen = seen.into_iter().collect::<Result<Vec<_>, _>>()?;
        seen.push(Seen { is_blind, ..Seen::default() });
        seen.extend(repositories.iter().map(|path| Seen::unread(path, "its repository is not checked out and")));
        if let Some(first) = left_out.first() {
            seen.push(Seen::unread(
                first,
                &format!("a sparse checkout left out {}, which", counted(left_out.len(), "file")),
            ));
        }
        Ok(seen)
    }

    fn read(&self, ctx: &Context<'_>, path: &RepoPath) -> Seen {
        if ctx.hidden.is_some_and(|hidden| hidden.covers(path)) {
            return Seen::unread(path, "`paths.read_deny` covers it, so that it");
        }
        match ctx.view.read_within(path, MOST_BYTES) {
            Ok(Some(content)) => self.search(path, &content.bytes, "the target leaves the file out"),
            Ok(None) => Seen::unread(path, "it is larger than 64 MiB and"),
            Err(_) => Seen::unread(path, "it can't be read and"),
        }
    }

    fn search(&self, path: &RepoPath, bytes: &[u8], why: &str) -> Seen {
        let reason = format!("the old host stands here, and {why}");
        let wide = |unit: fn([u8; 2]) -> u16| {
            let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        };
        match bytes {
            [0xff, 0xfe, ..] => self.lines(path, wide(u16::from_le_bytes).as_bytes(), reason),
            [0xfe, 0xff, ..] => self.lines(path, wide(u16::from_be_bytes).as_bytes(), reason),
            _ if bytes.contains(&0) => match self.first(bytes) {
                Some(place) => {
                    Seen::one(path, None, (text(&bytes[place]), "old_host", format!("{reason}; it is binary")))
                }
                None => Seen::default(),
            },
            _ => self.lines(path, bytes, reason),
        }
    }

    fn lines(&self, path: &RepoPath, bytes: &[u8], reason: String) -> Seen {
        let mut seen = Seen::default();
        let (mut begin, mut counted, mut number) = (0, 0, 1);
        let newline = |from: usize| memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |rest| from + rest);
        while begin < bytes.len() {
            // One of several searches may go far before it finds something.
            let stop = if self.is_several { newline(begin) } else { bytes.len() };
            let Some(place) = self.first(&bytes[begin..stop]) else {
                begin = stop + 1;
                continue;
            };
            let (start, end) = (begin + place.start, begin + place.end);
            number += memchr::memchr_iter(b'\n', &bytes[counted..start]).count() as u64;
            counted = start;
            if seen.findings.len() < MOST {
                let place = (text(&bytes[start..end]), "old_host", reason.clone());
                seen.findings.extend(Seen::one(path, Some(number), place).findings);
            }
            seen.lines += 1;
            begin = newline(end) + 1;
        }
        seen.files = seen.lines.min(1);
        seen
    }

    /// The first old host in some bytes, with its port.
    fn first(&self, bytes: &[u8]) -> Option<Range<usize>> {
        let plain = Words::new(bytes, is_part, self.labels.as_ref());
        let plain = plain.flat_map(|word| pieces(bytes, word)).find_map(|word| self.place(bytes, word));
        let address = self.hosts.iter().filter(|host| host.starts_with('[')).find_map(|host| {
            let same = |window: &[u8]| window.eq_ignore_ascii_case(host.as_bytes());
            let mut places = (0..bytes.len()).filter(|at| bytes.get(*at..*at + host.len()).is_some_and(same));
            let follows = |at: usize| at > 0 && is_part(bytes[at - 1]) && bytes[at - 1] != b'\\';
            places.find(|at| !follows(*at)).and_then(|at| self.place(bytes, at..at + host.len()))
        });
        let plain = plain.into_iter().chain(address).min_by_key(|place| place.start);
        if !self.foreign {
            return plain;
        }
        let is_letter = |byte: u8| byte >= 0x80 || is_part(byte) && byte != b'\\';
        let words = Words::new(bytes, is_letter, None);
        let mut words = words.filter(|word| !bytes[word.clone()].is_ascii());
        let foreign = words.find_map(|word| self.place(bytes, word));
        plain.into_iter().chain(foreign).min_by_key(|place| place.start)
    }

    /// The place of the old host that a word is.
    fn place(&self, bytes: &[u8], word: Range<usize>) -> Option<Range<usize>> {
        let (begin, end) = (word.start, word.end);
        let of = |start: usize| {
            let inner = |at: &usize| !b".-_\\".contains(&bytes[*at]);
            let (first, last) = ((start..end).find(inner)?, (start..end).rfind(inner)?);
            let host = text(&bytes[first..=last]).replace('\\', "").to_ascii_lowercase();
            self.is_old(&host).then_some(first..last + 1)
        };
        let host = of(begin).or_else(|| of(begin + spelled(bytes, begin, end)))?;
        let digits = bytes[host.end..].iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let has_port = digits > 0 && bytes[host.end] == b':';
        let end = if has_port { host.end + 1 + digits } else { host.end };
        let name = text(&bytes[host.clone()]).to_ascii_lowercase();
        if self.aim.is_goal(&name) && !self.is_abandoned(bytes, host.start, end) {
            return None;
        }
        Some(host.start..end)
    }

    fn is_old(&self, host: &str) -> bool {
        if host.is_ascii() {
            return self.hosts.contains(host);
        }
        let url = Url::parse(&format!("http://{host}"));
        url.is_ok_and(|url| {
            url.host_str().is_some_and(|host| self.hosts.contains(host.strip_suffix('.').unwrap_or(host)))
        })
    }

    /// True if a URL with the host there is at an old origin only.
    fn is_abandoned(&self, bytes: &[u8], host: usize, end: usize) -> bool {
        let mut head = &bytes[host.saturating_sub(HEAD)..host];
        if let Some(user) = head.strip_suffix(b"@") {
            let ends = |byte: &u8| b"/@\"'<>".contains(byte) || byte.is_ascii_whitespace() || *byte == 0x0b;
            head = &user[..user.iter().rposition(ends).map_or(0, |last| last + 1)];
        }
        let Some(head) = head.strip_suffix(b"//") else { return false };
        let is_http = head.len() > 4 && head[head.len() - 5..].eq_ignore_ascii_case(b"http:");
        let scheme = if is_http { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{}", text(&bytes[host..end]))).is_ok_and(|url| self.aim.abandons(&url))
    }
}

impl Seen {
    /// Adds other places.
    pub(super) fn add(&mut self, other: Seen) {
        self.findings.extend(other.findings);
        self.files += other.files;
        self.lines += other.lines;
        self.is_blind |= other.is_blind;
    }

    fn one(path: &RepoPath, line: Option<u64>, (place, kind, reason): (String, &str, String)) -> Self {
        let (path, kind) = (path.clone(), kind.to_owned());
        Seen {
            findings: vec![Finding { path, line, place, kind, reason, candidates: Vec::new() }],
            files: 1,
            lines: 1,
            ..Seen::default()
        }
    }

    fn unread(path: &RepoPath, why: &str) -> Self {
        let one = Seen::one(path, None, (String::new(), "unread", format!("{why} may hold the old host")));
        Seen { files: 0, lines: 0, ..one }
    }

    /// The counts of the report, if there are places.
    pub(super) fn counts(&self) -> Counts {
        let counts = [("left_files", self.files), ("left_lines", self.lines)];
        counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// Compares the places with the record, and returns what is to be said about them. A place in a file outside of the target may
    /// be gone, as another step of the run may have changed it. After the run it may also be new.
    pub(super) fn compare(
        mut self,
        record: &BaselineRecord,
        is_later: bool,
        failures: &mut Vec<Failure>,
    ) -> Vec<String> {
        self.findings.sort();
        self.findings.truncate(MOST);
        let listed = &record.findings;
        let beyond = |one: &Finding, list: &[Finding]| list.len() >= MOST && list.last().is_some_and(|last| last < one);
        let mut fail = |finding: &Finding, why: &str| {
            let line = finding.line.map_or_else(String::new, |line| format!(" in line {line}"));
            let place = if finding.place.is_empty() { finding.reason.as_str() } else { &finding.place };
            let reason = format!("the record {why} `{place}`{line}; if the file has changed, propose again");
            failures.push(Failure::at(OLD_HOSTS_LISTED, &finding.path, reason));
        };
        let missing = |finding: &&Finding| listed.binary_search(finding).is_err() && !beyond(finding, listed);
        let is_known = |path: &RepoPath| record.files.binary_search_by(|file| file.path.cmp(path)).is_ok();
        let is_wrong = |one: &&Finding| missing(one) && (!is_later || is_known(&one.path));
        self.findings.iter().filter(is_wrong).for_each(|finding| fail(finding, "does not list"));
        let extra = |one: &&Finding| self.findings.binary_search(one).is_err() && !beyond(one, &self.findings);
        let (wrong, gone): (Vec<_>, Vec<_>) = listed.iter().filter(extra).partition(|one| is_known(&one.path));
        wrong.iter().for_each(|finding| fail(finding, "wrongly lists"));
        let count = |name: &str| record.counts.get(name).copied().unwrap_or_default();
        let hosts = || listed.iter().filter(|finding| finding.kind == "old_host");
        let files = hosts().map(|finding| &finding.path).collect::<BTreeSet<_>>().len() as u64;
        let (recorded, list) = ((count("left_files"), count("left_lines")), (files, hosts().count() as u64));
        let is_whole = listed.len() < MOST;
        let is_sorted = listed.windows(2).all(|pair| pair[0] < pair[1]);
        let is_short = recorded.0 < self.files || recorded.1 < self.lines;
        if !is_sorted || is_whole && recorded != list || is_short && !is_later {
            let reason = "the numbers of places with an old host are not those of the record".to_owned();
            failures.push(Failure::new(COUNTS_MATCH, reason));
        }
        self.remarks(gone.len())
    }

    fn remarks(&self, gone: usize) -> Vec<String> {
        let (files, lines) = (counted(self.files, "file"), counted(self.lines, "line"));
        let left = format!("the old host still stands in {files} ({lines}), outside of links that move");
        let changed = format!("{} with the old host changed after the proposal", counted(gone, "place"));
        let blind = "Git's index can't be read, so files that it ignores or left out were not searched".to_owned();
        let all = [(self.lines > 0).then_some(left), (gone > 0).then_some(changed), self.is_blind.then_some(blind)];
        all.into_iter().flatten().collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// True for the bytes of a host in any spelling: letters, digits, hyphens, underscores and dots, with backslashes before them.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_\\".contains(&byte)
}

impl Label {
    /// The longest label of a host; none if it is the root alone.
    fn of(host: &str) -> Option<Self> {
        const RARE: &str = "etaoinshrdlcumwfgypbvkjxqz";
        let label = host.split('.').max_by_key(|label| label.len()).filter(|label| !label.is_empty())?;
        let rarity = |(_, letter): &(usize, char)| RARE.find(*letter);
        let rarest = label.char_indices().max_by_key(rarity).map_or(0, |(at, _)| at);
        Some(Label(label.to_owned(), rarest))
    }

    /// The next place of the label in any case.
    fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let Label(label, rarest) = self;
        let letter = label.as_bytes()[*rarest];
        let rest = bytes.get(from + rarest..)?;
        let mut places = memchr::memchr2_iter(letter, letter.to_ascii_uppercase(), rest).map(|at| from + at);
        places.find(|at| bytes.get(*at..at + label.len()).is_some_and(|it| it.eq_ignore_ascii_case(label.as_bytes())))
    }
}

/// The words in some bytes that hold one of the labels, or all words.
struct Words<'b> {
    bytes: &'b [u8],
    at: usize,
    is_part: fn(u8) -> bool,
    /// The labels, each with its next place.
    labels: Option<Vec<(&'b Label, Option<usize>)>>,
}

impl<'b> Words<'b> {
    fn new(bytes: &'b [u8], is_part: fn(u8) -> bool, labels: Option<&'b BTreeSet<Label>>) -> Self {
        let labels = labels.map(|labels| labels.iter().map(|label| (label, label.find(bytes, 0))).collect());
        Words { bytes, at: 0, is_part, labels }
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let (bytes, from) = (self.bytes, self.at);
        let found = match &mut self.labels {
            Some(labels) => {
                let passed = labels.iter_mut().filter(|(_, next)| next.is_some_and(|next| next < from));
                passed.for_each(|(label, next)| *next = label.find(bytes, from));
                labels.iter().filter_map(|(_, next)| *next).min()?
            }
            None => from + bytes.get(from..)?.iter().position(|byte| (self.is_part)(*byte))?,
        };
        let before = bytes[from..found].iter().rev().take_while(|byte| (self.is_part)(**byte)).count();
        let after = bytes[found..].iter().take_while(|byte| (self.is_part)(**byte)).count();
        let word = found - before..found + after;
        self.at = word.end.max(found + 1);
        Some(word)
    }
}

/// The parts of a word between backslashes that escape no dot.
fn pieces(bytes: &[u8], word: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (word.start, word.start);
    while at < word.end {
        let slashes = bytes[at..word.end].iter().take_while(|byte| **byte == b'\\').count();
        if slashes > 0 && (at + slashes == word.end || bytes[at + slashes] != b'.') {
            pieces.push(begin..at);
            begin = at + slashes;
        }
        at += slashes.max(1);
    }
    pieces.push(begin..word.end);
    pieces
}

/// The number of bytes at the beginning of a word that end an escape of a URL, of JSON or of a string for something between words.
fn spelled(bytes: &[u8], begin: usize, end: usize) -> usize {
    let Some(before) = begin.checked_sub(1).map(|at| bytes[at]) else { return 0 };
    let hex = |skipped: usize, count: usize| {
        let digits = bytes[begin..end].iter().skip(skipped).take(count).map(|byte| char::from(*byte).to_digit(16));
        let digits: Option<Vec<u32>> = digits.collect();
        let value =
            digits.filter(|digits| digits.len() == count)?.into_iter().fold(0, |value, digit| value * 16 + digit);
        let is_of_word = char::from_u32(value).is_some_and(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
        (!is_of_word).then_some(skipped + count)
    };
    let found = match (before, bytes.get(begin)) {
        (b'%', Some(b'u' | b'U')) => hex(1, 4),
        (b'%', _) => {
            // A percent sign may be escaped itself, any number of times.
            let mut skipped = 0;
            while bytes[begin..end].get(skipped..skipped + 2) == Some(b"25") {
                skipped += 2;
            }
            hex(skipped, 2)
        }
        (b'=', _) => hex(0, 2),
        // The color of a terminal.
        (b'[', _) => {
            let letter = bytes[begin..end].iter().position(|byte| !byte.is_ascii_digit());
            letter.filter(|at| bytes[begin + at].is_ascii_alphabetic()).map(|at| at + 1)
        }
        (b'\\', Some(b'u')) => hex(1, 4),
        (b'\\', Some(b'U')) => hex(1, 8),
        (b'\\', Some(b'x')) => hex(1, 2),
        (b'\\', Some(b'0' | b'A'..=b'Z' | b'a'..=b'z')) => Some(1),
        _ => None,
    };
    found.unwrap_or(0)
}
