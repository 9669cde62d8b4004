//! A part of a patch as hunks and numbered lines. It may be redacted and come from anywhere, so nothing of it is relied on.

use super::{
    emphasis,
    model::{Hunk, Kind, Line},
};
use base::text::shortened;

/// How many lines of one file's diff are shown.
const MOST_LINES: usize = 1000;

/// How many characters of a line are shown.
const MOST_CHARACTERS: usize = 2000;

/// A part of a patch as it is shown: the change of one file.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) remark: Option<String>,
    pub(super) added: u64,
    pub(super) removed: u64,
    pub(super) hunks: Vec<Hunk>,
    pub(super) left_out: u64,
}

/// Reads a part. `room` is how many lines may still be shown of all parts together.
pub(super) fn read(part: &str, room: &mut usize) -> Shown {
    let mut shown = Shown::default();
    let mut left = MOST_LINES.min(*room);
    let before = left;
    let mut numbers = (0, 0);
    let mut modes = (None, None);
    let mut in_hunk = false;
    for line in part.split_terminator('\n') {
        if let Some(header) = line.strip_prefix("@@ ") {
            in_hunk = true;
            numbers = starts(header);
            if left > 0 {
                shown.hunks.push(Hunk { header: shortened(line, MOST_CHARACTERS), lines: Vec::new() });
            }
        } else if in_hunk {
            let line = numbered(line, &mut numbers);
            shown.added += u64::from(line.kind == Kind::Added);
            shown.removed += u64::from(line.kind == Kind::Removed);
            match shown.hunks.last_mut().filter(|_| left > 0) {
                Some(hunk) => {
                    hunk.lines.push(line);
                    left -= 1;
                }
                None => shown.left_out += 1,
            }
        } else {
            head(line, &mut shown.remark, &mut modes);
        }
    }
    if let (Some(old), Some(new)) = modes {
        shown.remark = Some(format!("mode {old} → {new}"));
    }
    *room -= before - left;
    shown.hunks.iter_mut().for_each(|hunk| emphasise(&mut hunk.lines));
    shown
}

/// Reads a line before the first hunk, which may give the remark or a mode.
fn head<'p>(line: &'p str, remark: &mut Option<String>, modes: &mut (Option<&'p str>, Option<&'p str>)) {
    let mut say = |word: &str| *remark = Some(word.to_owned());
    if let Some(mode) = line.strip_prefix("new file mode ") {
        say(match mode {
            "100755" => "created, executable",
            "120000" => "created, link",
            _ => "created",
        });
    } else if line.starts_with("deleted file mode ") {
        say("removed");
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        let word = remark.take().map_or_else(|| "binary".to_owned(), |word| format!("{word}, binary"));
        *remark = Some(word);
    } else if let Some(mode) = line.strip_prefix("old mode ") {
        modes.0 = Some(mode);
    } else if let Some(mode) = line.strip_prefix("new mode ") {
        modes.1 = Some(mode);
    }
}

/// Where a hunk begins on both sides, by its header `-1,2 +3,4 @@`.
fn starts(header: &str) -> (u64, u64) {
    let number = |sign: char| {
        let word = header.split(' ').find_map(|word| word.strip_prefix(sign)).unwrap_or_default();
        word.split(',').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    (number('-'), number('+'))
}

/// A line of a hunk with its numbers, which go on.
fn numbered(line: &str, (old, new): &mut (u64, u64)) -> Line {
    let (kind, text) = match line.as_bytes().first() {
        Some(b'+') => (Kind::Added, &line[1..]),
        Some(b'-') => (Kind::Removed, &line[1..]),
        Some(b'\\') => (Kind::Remark, line[1..].trim_start()),
        Some(b' ') => (Kind::Same, &line[1..]),
        // Redaction may have joined lines; what is left stands as it is.
        _ => (Kind::Same, line),
    };
    let next = |number: &mut u64, counts: bool| {
        counts.then(|| {
            let at = *number;
            *number = at.saturating_add(1);
            at
        })
    };
    let old = next(old, matches!(kind, Kind::Same | Kind::Removed));
    let new = next(new, matches!(kind, Kind::Same | Kind::Added));
    let shown = shortened(text, MOST_CHARACTERS);
    let cut = text.chars().count().saturating_sub(MOST_CHARACTERS);
    Line { kind, old, new, text: shown, cut, marks: Vec::new() }
}

/// Marks what differs where as many lines come as go: then each has its counterpart.
fn emphasise(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let run =
            |from: usize, kind: Kind, lines: &[Line]| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, Kind::Removed, lines);
        let added = run(at + removed, Kind::Added, lines);
        if removed == added {
            for index in at..at + removed {
                let (gone, come) = emphasis::of(&lines[index].text, &lines[index + removed].text);
                lines[index].marks = gone;
                lines[index + removed].marks = come;
            }
        }
        at += (removed + added).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -3,3 +3,3 @@ fn\n three\n-old word\n+new word\n five\n\\ No newline at end of file\n";

    #[test]
    fn lines_have_the_numbers_of_their_sides() {
        let shown = read(PART, &mut 100);
        let lines: Vec<_> =
            shown.hunks[0].lines.iter().map(|line| (line.kind, line.old, line.new, line.text.as_str())).collect();
        assert_eq!(
            lines,
            [
                (Kind::Same, Some(3), Some(3), "three"),
                (Kind::Removed, Some(4), None, "old word"),
                (Kind::Added, None, Some(4), "new word"),
                (Kind::Same, Some(5), Some(5), "five"),
                (Kind::Remark, None, None, "No newline at end of file"),
            ]
        );
        assert_eq!((shown.added, shown.removed, shown.left_out, shown.remark), (1, 1, 0, None));
        assert_eq!(shown.hunks[0].lines[1].marks.first(), Some(&(0..3)));
    }

    #[test]
    fn what_does_not_fit_is_counted_and_left_out() {
        let mut room = 3;
        let shown = read(PART, &mut room);
        assert_eq!((shown.hunks[0].lines.len(), shown.left_out, room), (3, 2, 0));
        assert_eq!((shown.added, shown.removed), (1, 1));
        let shown = read(PART, &mut room);
        assert_eq!((shown.hunks.len(), shown.left_out, shown.added), (0, 5, 1));
        let long = format!("@@ -1 +1 @@\n+{}\n", "ü".repeat(MOST_CHARACTERS + 7));
        assert_eq!(read(&long, &mut 9).hunks[0].lines[0].cut, 7);
    }

    #[test]
    fn files_that_come_go_and_change_their_mode_say_so() {
        let remark = |part: &str| read(part, &mut 9).remark.unwrap_or_default();
        assert_eq!(remark("diff --git a/f b/f\nnew file mode 100644\nBinary files differ\n"), "created, binary");
        assert_eq!(remark("diff --git a/f b/f\ndeleted file mode 100644\n"), "removed");
        assert_eq!(remark("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"), "mode 100644 → 100755");
    }
}
