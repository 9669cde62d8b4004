//! Names of files as git and `diff -u` write them, and modes.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::Strip;
use crate::{
    error::{Code, Error},
    path::RepoPath,
};

/// Git modes before and after; none where the file does not exist.
type Modes = (Option<u32>, Option<u32>);

/// Appends the `diff --git` line and the lines about modes.
pub(super) fn write_header(path: &RepoPath, modes: Modes, out: &mut Vec<u8>) {
    let mut head = format!("diff --git {} {}\n", quoted("a/", path), quoted("b/", path));
    match modes {
        (None, Some(new)) => head.push_str(&format!("new file mode {new:o}\n")),
        (Some(old), None) => head.push_str(&format!("deleted file mode {old:o}\n")),
        (Some(old), Some(new)) if old != new => head.push_str(&format!("old mode {old:o}\nnew mode {new:o}\n")),
        (Some(_), Some(_)) | (None, None) => {}
    }
    out.extend_from_slice(head.as_bytes());
}

/// Appends the `---` and `+++` lines.
pub(super) fn write_sides(path: &RepoPath, modes: Modes, out: &mut Vec<u8>) {
    let side = |prefix: &str, mode: Option<u32>| match mode {
        None => "/dev/null".to_owned(),
        Some(_) => {
            let name = quoted(prefix, path);
            // Readers take the text after a tab for a date, so a tab ends a name that holds a space.
            let end = if name.contains(' ') { "\t" } else { "" };
            name + end
        }
    };
    out.extend_from_slice(format!("--- {}\n+++ {}\n", side("a/", modes.0), side("b/", modes.1)).as_bytes());
}

/// The whole part of a patch that deletes a file and shows only git's object name of its contents.
pub(super) fn binary_deletion(path: &RepoPath, modes: Modes, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_header(path, modes, &mut out);
    let (zeros, file) = ("0".repeat(name.len()), quoted("a/", path));
    out.extend_from_slice(format!("index {name}..{zeros}\nBinary files {file} and /dev/null differ\n").as_bytes());
    out
}

/// A name as git writes it: in double quotes with C's escapes if a byte needs one, each byte beyond ASCII in octal.
fn quoted(prefix: &str, path: &str) -> String {
    let plain = |byte: u8| (b' '..0x7f).contains(&byte) && !matches!(byte, b'"' | b'\\');
    if path.bytes().all(plain) {
        return format!("{prefix}{path}");
    }
    let mut name = format!("\"{prefix}");
    for byte in path.bytes() {
        match byte {
            0x07 => name.push_str("\\a"),
            0x08 => name.push_str("\\b"),
            b'\t' => name.push_str("\\t"),
            b'\n' => name.push_str("\\n"),
            0x0b => name.push_str("\\v"),
            0x0c => name.push_str("\\f"),
            b'\r' => name.push_str("\\r"),
            b'"' | b'\\' => name.extend(['\\', char::from(byte)]),
            _ if plain(byte) => name.push(char::from(byte)),
            _ => name.push_str(&format!("\\{byte:03o}")),
        }
    }
    name + "\""
}

/// The names of a part of a patch, without their prefixes.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
}

/// A date at the end of a name, as `diff -u` writes it.
static DATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)(?:\t| +)(?:\d\d)?\d\d-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?(?: [-+]\d{4}| [-+]\d\d:\d\d)?$")
        .expect("the pattern is constant")
});

/// The Unix epoch, by which `diff -N` marks a file that does not exist.
static EPOCH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?-u)\t(1969-12-31|1970-01-01) ([0-2][0-9]):([0-5][0-9]):00(?:\.0+)? ([-+])([0-2][0-9]):?([0-5][0-9])\n?$",
    )
    .expect("the pattern is constant")
});

/// The name on a `---` or `+++` line of `diff -u`, after that word; none for `/dev/null`.
pub(super) fn plain(rest: &[u8]) -> Option<Vec<u8>> {
    if is_null(rest) {
        return None;
    }
    if let Some((name, _)) = unquote(rest) {
        return Some(name);
    }
    let line = until(rest, |byte| byte == b'\n');
    match DATE.find(line) {
        Some(date) => Some(line[..date.start()].to_vec()),
        None => Some(until(rest, is_end).to_vec()),
    }
}

/// True if the date on the line is the Unix epoch, in any time zone.
pub(super) fn is_epoch(line: &[u8]) -> bool {
    let Some(found) = EPOCH.captures(line) else { return false };
    let number = |at: usize| -> i32 {
        let digits = found.get(at).map_or(&[][..], |digits| digits.as_bytes());
        digits.iter().fold(0, |sum, digit| 10 * sum + i32::from(digit - b'0'))
    };
    let zone = 60 * number(5) + number(6);
    let zone = if &found[4] == b"-" { -zone } else { zone };
    let epoch = if &found[1] == b"1969-12-31" { 24 * 60 } else { 0 };
    60 * number(2) + number(3) - zone == epoch
}

/// The number of leading folders to take off the names of a part; none stands for `/dev/null`.
pub(super) fn level(strip: Strip, old: Option<&[u8]>, new: Option<&[u8]>) -> usize {
    match strip {
        Strip::Exactly(level) => level,
        Strip::Guess => {
            let has = |name: Option<&[u8]>, prefix: &[u8]| name.is_none_or(|name| name.starts_with(prefix));
            usize::from(has(old, b"a/") && has(new, b"b/"))
        }
    }
}

/// Takes leading folders off; none if nothing is left.
pub(super) fn strip(name: &[u8], level: usize) -> Option<Vec<u8>> {
    let rest = match level {
        0 => name,
        _ => &name[memchr::memchr_iter(b'/', name).nth(level - 1)? + 1..],
    };
    (!rest.is_empty()).then(|| rest.to_vec())
}

/// The name on a line of git's header, which ends at a tab.
pub(super) fn git(rest: &[u8], level: usize) -> Option<Vec<u8>> {
    match unquote(rest) {
        Some((name, _)) => strip(&name, level),
        None => strip(until(rest, is_end), level),
    }
}

/// The name of a rename or copy, which ends with its line.
pub(super) fn bare(rest: &[u8], level: usize) -> Option<Vec<u8>> {
    match unquote(rest) {
        Some((name, _)) => strip(&name, level),
        None => strip(until(rest, |byte| byte != b'\t' && is_end(byte)), level),
    }
}

/// True for `/dev/null`.
pub(super) fn is_null(rest: &[u8]) -> bool {
    rest.strip_prefix(b"/dev/null").is_some_and(|end| end.first().is_some_and(|byte| is_end(*byte) || *byte == b' '))
}

/// The text after the hashes of an `index` line, which holds the mode.
pub(super) fn index_mode(rest: &[u8]) -> Option<&[u8]> {
    let line = until(rest, |byte| byte == b'\n');
    let dots = memchr::memmem::find(line, b"..")?;
    let space = memchr::memchr(b' ', line).filter(|space| *space > dots)?;
    Some(&rest[space + 1..])
}

/// The path that a name stands for.
pub(super) fn path(at: usize, name: &[u8]) -> Result<RepoPath, Error> {
    let Ok(name) = std::str::from_utf8(name) else {
        return Err(Error::new(
            Code::InvalidPath,
            format!("line {} of the diff names a file that is not UTF-8", at + 1),
        )
        .detail("line", at + 1)
        .hint("rename the file first: paths are UTF-8"));
    };
    if name.ends_with('/') {
        return Err(Error::new(
            Code::InvalidPath,
            format!("line {} of the diff names the folder `{}`", at + 1, name.escape_debug()),
        )
        .detail("line", at + 1)
        .hint("name the file that the hunks are about"));
    }
    if name.split('/').any(|part| part == ".") {
        return Err(Error::new(
            Code::InvalidPath,
            format!("line {} of the diff names `{}`, which has a part `.`", at + 1, name.escape_debug()),
        )
        .detail("line", at + 1)
        .hint("leave the part out: git takes no such name either"));
    }
    RepoPath::parse(name).map_err(|error| {
        let hint = error.hint_text().map(str::to_owned);
        let named = Error::new(error.code(), format!("line {} of the diff: {}", at + 1, error.message()));
        named.detail("line", at + 1).hint(hint.unwrap_or_default())
    })
}

/// The level and the name of a `diff --git` line that has the same name twice, each behind `level` folders.
///
/// A rename has two names; its lines `rename from` and `rename to` give them unambiguously.
pub(super) fn git_line(line: &[u8], strip: Strip) -> (usize, Option<Vec<u8>>) {
    let rest = line.strip_prefix(b"diff --git ").unwrap_or(line);
    let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
    // Git quotes a name that ends so: it is the end of a line in a mail.
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    let level = match strip {
        Strip::Exactly(level) => level,
        Strip::Guess => {
            let first = rest.starts_with(b"a/") || rest.starts_with(b"\"a/");
            let second = [&b" b/"[..], b" \"b/"].iter().any(|word| memchr::memmem::find(rest, word).is_some());
            usize::from(first && second)
        }
    };
    (level, common(rest, level))
}

fn common(rest: &[u8], level: usize) -> Option<Vec<u8>> {
    if let Some((first, rest)) = unquote(rest) {
        let first = relative(&first, level)?;
        let second = rest.trim_ascii_start();
        let second = match unquote(second) {
            Some((second, _)) => relative(&second, level)?.to_vec(),
            None => relative(second, level)?.to_vec(),
        };
        return (first == second).then_some(second);
    }
    if rest.first() == Some(&b'"') {
        return None;
    }
    let name = relative(rest, level)?;
    if let Some(quote) = memchr::memchr(b'"', name) {
        let (second, _) = unquote(&name[quote..])?;
        let second = relative(&second, level)?;
        let is_same = second.len() < quote && name.starts_with(second) && name[second.len()].is_ascii_whitespace();
        return is_same.then(|| second.to_vec());
    }
    twice(name, level)
}

/// The name that `text` has twice: as it is, a space, and again behind `level` folders.
fn twice(text: &[u8], level: usize) -> Option<Vec<u8>> {
    if level == 0 {
        let middle = text.len() / 2;
        let is_twice = matches!(text.get(middle)?, b' ' | b'\t') && text[..middle] == text[middle + 1..];
        return (is_twice && middle > 0).then(|| text[..middle].to_vec());
    }
    // Both names have one length, so each place of the space fixes the slash before the second name. No two places can have
    // `level` slashes between them, so only one is ever compared.
    let slashes: Vec<usize> = memchr::memchr_iter(b'/', text).collect();
    let before = |at: usize| slashes.partition_point(|slash| *slash < at);
    let spaces = (1..text.len()).filter(|at| matches!(text[*at], b' ' | b'\t'));
    spaces
        .filter_map(|space| {
            let start = text.len().checked_sub(space).filter(|start| *start > space + 2)?;
            let fits = text[start - 1] == b'/' && before(start) - before(space) == level && text[space + 1] != b'/';
            (fits && text[..space] == text[start..]).then(|| text[..space].to_vec())
        })
        .next()
}

/// A name without its leading folders; none for an absolute one.
fn relative(name: &[u8], level: usize) -> Option<&[u8]> {
    if name.starts_with(b"/") {
        return None;
    }
    match level {
        0 => Some(name),
        _ => memchr::memchr_iter(b'/', name).nth(level - 1).map(|slash| &name[slash + 1..]),
    }
}

/// White space other than a space ends a name.
fn is_end(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r')
}

fn until(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|byte| is_end(*byte)).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Reads a name in double quotes with C's escapes, and returns the rest.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\n' => return None,
            b'\\' => {
                let (byte, after) = escape(rest)?;
                name.push(byte);
                rest = after;
            }
            _ => name.push(byte),
        }
    }
}

fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&letter, rest) = text.split_first()?;
    let byte = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        b'"' | b'\\' => letter,
        b'0'..=b'3' => {
            let digits = text.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)))?;
            let value = digits.iter().fold(0, |sum, digit| 8 * sum + (digit - b'0'));
            return Some((value, &text[3..]));
        }
        _ => return None,
    };
    Some((byte, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_where_git_quotes() {
        assert_eq!(quoted("a/", "x y.txt"), "a/x y.txt");
        assert_eq!(quoted("a/", "ü\".txt"), "\"a/\\303\\274\\\".txt\"");
        assert_eq!(quoted("b/", "\u{1}\t\\\u{7f}"), "\"b/\\001\\t\\\\\\177\"");
    }
}
