//! Compares a patch of git with the change that a record has: the same files and modes, and the same contents as far as a patch has them.
//!
//! The form is that of `git diff --binary --full-index --no-renames`. Anything else in the text, such as a further file behind the lines that a
//! hunk counts, is an objection.

use super::{
    body::{self, Body},
    line,
    name::{write_header, write_sides},
    patch::Kind,
};
use crate::{
    change::{Entry, Stamp},
    hash::Sha256,
};

/// The file's mode as git has it.
fn mode(stamp: &Stamp) -> u32 {
    match (stamp.is_link(), stamp.mode & 0o100) {
        (true, _) => 0o120_000,
        (false, 0) => 0o100_644,
        (false, _) => 0o100_755,
    }
}

/// One side of a file: its mode as git has it, and its content.
type Side<'e> = Option<(u32, &'e Stamp)>;

/// The files that git sees as changed, in its order, each with its sides. A file that becomes a link is removed and made.
pub fn seen(entries: &[Entry]) -> Vec<(&Entry, Side<'_>, Side<'_>)> {
    let side = |stamp: &'_ Option<Stamp>| stamp.as_ref().map(|stamp| (mode(stamp), stamp.is_link()));
    let mut parts = Vec::new();
    for entry in entries {
        let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
        let (old, new) = (before.map(|stamp| (mode(stamp), stamp)), after.map(|stamp| (mode(stamp), stamp)));
        let is_same = before.map(|stamp| stamp.sha256) == after.map(|stamp| stamp.sha256);
        match (side(&entry.before), side(&entry.after)) {
            (before, after) if before == after && is_same => {}
            (Some((_, was_link)), Some((_, is_link))) if was_link != is_link => {
                parts.extend([(entry, old, None), (entry, None, new)]);
            }
            _ => parts.push((entry, old, new)),
        }
    }
    parts
}

/// Why a patch is not that of a recorded change; none if it is.
pub fn objection(patch: &[u8], entries: &[Entry]) -> Option<String> {
    let lines = line::split(patch);
    let mut reader = Reader { lines: &lines, at: 0 };
    for (entry, before, after) in seen(entries) {
        if let Err(why) = reader.part(entry, before, after) {
            return Some(format!("`{}` {why}", entry.path));
        }
    }
    (reader.at < lines.len()).then(|| format!("line {} is about another file", reader.at + 1))
}

/// The lines that a part adds or removes, as one text.
#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
}

impl Taken {
    /// Its length, and the number of its line feeds.
    fn size(&self) -> (i128, i128) {
        (self.bytes.len() as i128, memchr::memchr_iter(b'\n', &self.bytes).count() as i128)
    }
}

/// True if some bytes are a recorded content, whose line ends git may have converted.
pub fn is_content(bytes: &[u8], stamp: &Stamp) -> bool {
    let is_one = |bytes: &[u8]| bytes.len() as u64 == stamp.length && Sha256::of(bytes) == stamp.sha256;
    is_one(bytes) || is_one(&with_returns(bytes))
}

/// A text whose lines end as on Windows.
fn with_returns(bytes: &[u8]) -> Vec<u8> {
    bytes.split_inclusive(|byte| *byte == b'\n').fold(Vec::with_capacity(bytes.len()), |mut whole, line| {
        match line.strip_suffix(b"\n") {
            Some(line) => whole.extend([line, b"\r\n"].concat()),
            None => whole.extend(line),
        }
        whole
    })
}

struct Reader<'a> {
    lines: &'a [&'a [u8]],
    at: usize,
}

impl Reader<'_> {
    fn line(&self) -> &[u8] {
        self.lines.get(self.at).copied().unwrap_or_default()
    }

    /// Passes over lines that have to be these.
    fn expect(&mut self, text: &[u8]) -> Result<(), &'static str> {
        for line in line::split(text) {
            if self.line() != line {
                return Err("is not changed in the way that the record has");
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Passes over the part about a file.
    fn part(&mut self, entry: &Entry, before: Side<'_>, after: Side<'_>) -> Result<(), &'static str> {
        let modes = (before.map(|side| side.0), after.map(|side| side.0));
        let mut head = Vec::new();
        write_header(&entry.path, modes, &mut head);
        self.expect(&head)?;
        let (before, after) = (before.map(|side| side.1), after.map(|side| side.1));
        if before.map(|stamp| stamp.sha256) == after.map(|stamp| stamp.sha256) {
            return Ok(());
        }
        self.index(modes)?;
        if self.line() == b"GIT binary patch\n" {
            self.at += 1;
            return self.binary(before, after);
        }
        let is_empty = |stamp: Option<&Stamp>| stamp.is_none_or(|stamp| stamp.length == 0);
        if is_empty(before) && is_empty(after) {
            return Ok(());
        }
        let mut sides = Vec::new();
        write_sides(&entry.path, modes, &mut sides);
        self.expect(&sides)?;
        let (removed, added) = self.hunks()?;
        let is_right = match (before, after) {
            (None, Some(after)) => removed.bytes.is_empty() && is_content(&added.bytes, after),
            (Some(before), None) => added.bytes.is_empty() && is_content(&removed.bytes, before),
            (Some(before), Some(after)) => {
                let ((old, old_lines), (new, new_lines)) = (removed.size(), added.size());
                let grown = i128::from(after.length) - i128::from(before.length);
                grown == new - old || grown == new + new_lines - old - old_lines
            }
            (None, None) => false,
        };
        if is_right { Ok(()) } else { Err("has other contents than in the record") }
    }

    /// Passes over the line with git's names of the contents.
    fn index(&mut self, (before, after): (Option<u32>, Option<u32>)) -> Result<(), &'static str> {
        const WRONG: &str = "has no line `index` with the names of its contents";
        let text = self.line().strip_prefix(b"index ").and_then(|rest| rest.strip_suffix(b"\n")).ok_or(WRONG)?;
        let text = std::str::from_utf8(text).map_err(|_| WRONG)?;
        let (names, mode) = text.split_once(' ').map_or((text, None), |(names, mode)| (names, Some(mode)));
        let (old, new) = names.split_once("..").ok_or(WRONG)?;
        let is_name = |name: &str, is_there: bool| {
            matches!(name.len(), 40 | 64)
                && name.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
                && is_there == name.bytes().any(|c| c != b'0')
        };
        let same = before.filter(|_| before == after).map(|mode| format!("{mode:o}"));
        if !is_name(old, before.is_some()) || !is_name(new, after.is_some()) || mode != same.as_deref() {
            return Err(WRONG);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes over all hunks; the lines that they remove and add.
    fn hunks(&mut self) -> Result<(Taken, Taken), &'static str> {
        let (mut removed, mut added) = (Taken::default(), Taken::default());
        while let Some((old, new)) = body::header(self.line()) {
            self.at += 1;
            let (mut old, mut new) = (old.count, new.count);
            while old > 0 || new > 0 {
                let Body::Line(kind) = body::classify(self.line()) else {
                    return Err("has a hunk that ends too early");
                };
                let taken = |count: usize| count.checked_sub(1).ok_or("has a hunk with more lines than it counts");
                let text = self.lines[self.at].get(1..).unwrap_or_default();
                if kind != Kind::Added {
                    old = taken(old)?;
                }
                if kind != Kind::Removed {
                    new = taken(new)?;
                }
                self.at += 1;
                let is_open = body::classify(self.line()) == Body::Mark;
                self.at += usize::from(is_open);
                let text = if is_open { text.strip_suffix(b"\n").unwrap_or(text) } else { text };
                for (side, is_its) in [(&mut removed, kind == Kind::Removed), (&mut added, kind == Kind::Added)] {
                    if is_its {
                        side.bytes.extend_from_slice(text);
                    }
                }
            }
        }
        Ok((removed, added))
    }

    /// Passes over the contents of a binary file, forward and back.
    fn binary(&mut self, before: Option<&Stamp>, after: Option<&Stamp>) -> Result<(), &'static str> {
        const WRONG: &str = "has binary contents in another form than git's";
        for stamp in [after, before] {
            let text = std::str::from_utf8(self.line()).map_err(|_| WRONG)?;
            let (method, length) = text.trim_end_matches('\n').split_once(' ').ok_or(WRONG)?;
            let length: u64 = length.parse().map_err(|_| WRONG)?;
            match method {
                "literal" if length == stamp.map_or(0, |stamp| stamp.length) => {}
                "literal" => return Err("has other contents than in the record"),
                "delta" => {}
                _ => return Err(WRONG),
            }
            self.at += 1;
            while self.line().len() > 1 {
                let line = self.line();
                if !line[0].is_ascii_alphabetic() || line[..line.len() - 1].iter().any(|byte| !byte.is_ascii_graphic())
                {
                    return Err(WRONG);
                }
                self.at += 1;
            }
            self.expect(b"\n").map_err(|_| WRONG)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{change::Content, path::RepoPath};

    const OLD: &str = "3367afdbbf91e638efe983616377c60477cc6612";
    const NEW: &str = "3e757656cf36eca53338e520d134963a44f793f8";
    const NONE: &str = "0000000000000000000000000000000000000000";

    fn entry(path: &str, before: Option<(&str, u32)>, after: Option<(&str, u32)>) -> Entry {
        let stamp = |(text, mode): (&str, u32)| Content::new(text.as_bytes().to_vec(), mode).stamp();
        Entry { path: RepoPath::parse(path).unwrap(), before: before.map(stamp), after: after.map(stamp) }
    }

    /// A change of one line, a new script and a removed file.
    fn recorded() -> Vec<Entry> {
        vec![
            entry("a b.md", Some(("one\ntwo\n", 0o644)), Some(("one\nnew!\n", 0o600))),
            entry("b.sh", None, Some(("#!\nx", 0o755))),
            entry("c", Some(("gone\n", 0o644)), None),
        ]
    }

    fn patch() -> String {
        format!(
            "diff --git a/a b.md b/a b.md\nindex {OLD}..{NEW} 100644\n--- a/a b.md\t\n+++ b/a b.md\t\n@@ -1,2 +1,2 @@\n one\n-two\n+new!\n\
             diff --git a/b.sh b/b.sh\nnew file mode 100755\nindex {NONE}..{NEW}\n--- /dev/null\n+++ b/b.sh\n@@ -0,0 +1,2 @@\n+#!\n+x\n\
             \\ No newline at end of file\n\
             diff --git a/c b/c\ndeleted file mode 100644\nindex {OLD}..{NONE}\n--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        )
    }

    #[test]
    fn the_patch_of_a_change_is_that_of_its_record() {
        assert_eq!(objection(patch().as_bytes(), &recorded()), None);
        assert_eq!(objection(b"", &[]), None);
        // Git sees no change of the other bits.
        assert_eq!(objection(b"", &[entry("a", Some(("x", 0o600)), Some(("x", 0o644)))]), None);
        let mode = entry("a", Some(("x", 0o644)), Some(("x", 0o755)));
        assert_eq!(objection(b"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", &[mode]), None);
        let empty = entry("e", None, Some(("", 0o644)));
        let text = format!("diff --git a/e b/e\nnew file mode 100644\nindex {NONE}..{NEW}\n");
        assert_eq!(objection(text.as_bytes(), &[empty]), None);
        let (before, after) = (Content::new(b"x".to_vec(), 0o644), Content::link(b"y".to_vec()));
        let path = RepoPath::parse("l").unwrap();
        let link = Entry { path, before: Some(before.stamp()), after: Some(after.stamp()) };
        let end = "\\ No newline at end of file\n";
        let text = format!(
            "diff --git a/l b/l\ndeleted file mode 100644\nindex {OLD}..{NONE}\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n{end}\
             diff --git a/l b/l\nnew file mode 120000\nindex {NONE}..{NEW}\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+y\n{end}"
        );
        assert_eq!(objection(text.as_bytes(), &[link]), None);
    }

    #[test]
    fn line_ends_that_git_converts_are_no_other_content() {
        let entry = entry("a", None, Some(("x\r\ny\r\n", 0o644)));
        let text = format!(
            "diff --git a/a b/a\nnew file mode 100644\nindex {NONE}..{NEW}\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"
        );
        assert_eq!(objection(text.as_bytes(), &[entry]), None);
    }

    #[test]
    fn binary_contents_have_the_recorded_length() {
        let entry = entry("a", Some(("\0old", 0o644)), Some(("\0newer", 0o644)));
        let text = |new: &str, old: &str| {
            format!(
                "diff --git a/a b/a\nindex {OLD}..{NEW} 100644\nGIT binary patch\nliteral {new}\nNcmZQ\n\nliteral {old}\nLcmZQ\n\n"
            )
        };
        assert_eq!(objection(text("6", "4").as_bytes(), std::slice::from_ref(&entry)), None);
        for forged in [text("7", "4"), text("6", "5"), text("x", "4"), text("6", "4") + "diff --git a/b b/b\n"] {
            assert!(objection(forged.as_bytes(), std::slice::from_ref(&entry)).is_some(), "{forged}");
        }
    }

    #[test]
    fn every_other_patch_is_refused() {
        let patch = patch();
        let evil = format!(
            "diff --git a/evil b/evil\nnew file mode 100755\nindex {NONE}..{NEW}\n--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+evil\n"
        );
        let swap = |from: &str, to: &str| patch.replacen(from, to, 1);
        let forged = [
            String::new(),
            evil.clone(),
            format!("{patch}{evil}"),
            format!("{evil}{patch}"),
            format!("text\n{patch}"),
            format!("{patch}--- a/evil\n+++ b/evil\n@@ -0,0 +1 @@\n+evil\n"),
            format!("{patch}diff --git a/c b/evil\nsimilarity index 100%\nrename from c\nrename to evil\n"),
            format!("{patch}\n"),
            patch[..patch.find("diff --git a/c").unwrap()].to_owned(),
            swap("+new!\n", "+new!\n--- a/evil\n+++ b/evil\n@@ -0,0 +1 @@\n+evil\n"),
            swap("@@ -1,2 +1,2 @@", "@@ -1,2 +1,3 @@"),
            swap("@@ -1,2 +1,2 @@", "@@ -1,2 +1,1 @@"),
            swap("+new!\n", "+newer!\n"),
            swap("+new!\n", "+new!\n+more\n"),
            swap("-two\n", ""),
            swap("mode 100755", "mode 100644"),
            swap("mode 100755", "mode 120000"),
            swap("deleted file mode 100644", "deleted file mode 100755"),
            swap("+#!\n", "+#?\n"),
            swap("\\ No newline at end of file\n", ""),
            swap("-gone\n", "-good\n"),
            swap("diff --git a/b.sh b/b.sh", "diff --git a/b.sh b/evil"),
            swap("+++ b/b.sh", "+++ b/evil"),
            swap("--- a/c", "--- a/d"),
            swap("+++ /dev/null", "+++ b/c"),
            swap("--- /dev/null", "--- a/b.sh"),
            swap(" 100644\n--- a/a b", " 100755\n--- a/a b"),
            swap("diff --git a/a b.md b/a b.md\n", "diff --git a/a b.md b/a b.md\nold mode 100644\nnew mode 100755\n"),
            swap(OLD, NONE),
            swap(NONE, OLD),
            swap(OLD, "336"),
            swap("\t\n", "\n"),
        ];
        for (n, forged) in forged.iter().enumerate() {
            assert!(*forged != patch && objection(forged.as_bytes(), &recorded()).is_some(), "case {n}:\n{forged}");
        }
    }
}
