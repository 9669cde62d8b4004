//! Indentation: a text that moves to another place keeps the shape of its lines. Only spaces count, as in ast-grep.
//!
//! A line that begins within a literal never moves, because its white space is a part of the program's value. ast-grep moves such lines too.

/// The bytes before a place within which its line has to begin.
const REACH: usize = 512;

/// Characters that stand for the line breaks of literals while a text is made of another. To a regular expression they are white space.
const MARKS: [char; 3] = ['\u{2028}', '\u{2029}', '\u{85}'];

/// The spaces at the begin of the line of a place. 0 if the line began too far away. Lines that begin within a literal are not looked at.
pub(super) fn indentation(text: &str, at: usize, is_kept: impl Fn(usize) -> bool) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let reach = before.len().saturating_sub(REACH);
    let ends = memchr::memrchr_iter(b'\n', &before[reach..]).map(|end| reach + end + 1);
    let begin = ends.into_iter().find(|begin| !is_kept(*begin));
    let begin = match begin {
        Some(begin) => begin,
        None if reach == 0 => 0,
        None => return 0,
    };
    before[begin..].iter().take_while(|byte| **byte == b' ').count()
}

/// A text by lines, each of which moves or is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lines(Vec<Line>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    text: String,
    /// True if it begins within a literal.
    is_kept: bool,
    /// The spaces that it has got, or lost. Of a kept line those of all moves that it did not take part in.
    shift: isize,
}

impl Lines {
    /// The lines of a text. `is_kept` is asked for the place of each line after the first.
    pub(super) fn new(text: &str, is_kept: impl Fn(usize) -> bool) -> Self {
        let lines = text.split('\n').zip(begins(text.split('\n').map(|line| line.len() + 1)));
        let line = |(line, begin): (&str, usize)| Line {
            text: line.to_owned(),
            is_kept: begin > 0 && is_kept(begin),
            shift: 0,
        };
        Lines(lines.map(line).collect())
    }

    /// The lines of a text without literals.
    pub(super) fn plain(text: &str) -> Self {
        Self::new(text, |_| false)
    }

    /// Adds other lines at the end. The first of them goes on with the last line.
    pub(super) fn push(&mut self, other: Lines) {
        let mut lines = other.0.into_iter();
        if let (Some(last), Some(first)) = (self.0.last_mut(), lines.next()) {
            last.text.push_str(&first.text);
        }
        self.0.extend(lines);
    }

    /// The lines, written for one indentation, as they are for another one. The first stays, and so do those of literals.
    pub(super) fn shifted(mut self, from: usize, to: usize) -> Self {
        let (added, removed) = (" ".repeat(to.saturating_sub(from)), " ".repeat(from.saturating_sub(to)));
        for line in self.0.iter_mut().skip(1) {
            if line.is_kept {
                line.shift += to.abs_diff(from).cast_signed();
                continue;
            }
            if let Some(rest) = line.text.strip_prefix(&removed).filter(|_| from > to) {
                line.text = rest.to_owned();
                line.shift -= removed.len().cast_signed();
            }
            line.text.insert_str(0, &added);
            line.shift += added.len().cast_signed();
        }
        self
    }

    /// True if the text has one line.
    pub(super) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        self.0.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The places of the lines that were indented anew, or of those that would have been.
    pub(super) fn moved(&self, is_kept: bool) -> Vec<usize> {
        let begins = begins(self.0.iter().map(|line| line.text.len() + 1));
        let is_moved = |line: &Line| line.shift != 0 && line.is_kept == is_kept;
        self.0.iter().zip(begins).filter(|(line, _)| is_moved(line)).map(|(_, begin)| begin).collect()
    }

    /// The lines of a text that is made of this one. Those of literals are kept, unless the new text depends on their line breaks.
    pub(super) fn made(&self, make: impl Fn(&str) -> Option<String>) -> Option<Lines> {
        let text = self.text();
        let made = make(&text)?;
        let mark = MARKS.into_iter().find(|mark| !text.contains(*mark));
        let has_kept = self.0.iter().any(|line| line.is_kept) && made.contains('\n');
        let marked = mark.filter(|_| has_kept).and_then(|mark| Some((mark, make(&self.marked(mark))?)));
        let lines = marked.map(|(mark, marked)| unmarked(&marked, mark)).filter(|lines| lines.text() == made);
        Some(lines.unwrap_or_else(|| Lines::plain(&made)))
    }

    fn marked(&self, mark: char) -> String {
        let mut out = String::new();
        for (number, line) in self.0.iter().enumerate() {
            if number > 0 {
                out.push(if line.is_kept { mark } else { '\n' });
            }
            out.push_str(&line.text);
        }
        out
    }
}

fn unmarked(text: &str, mark: char) -> Lines {
    let mut lines = Vec::new();
    let mut is_kept = false;
    for line in text.split_inclusive(['\n', mark]) {
        let own = line.trim_end_matches(['\n', mark]);
        lines.push(Line { text: own.to_owned(), is_kept, shift: 0 });
        is_kept = line.ends_with(mark);
    }
    if text.is_empty() || text.ends_with(['\n', mark]) {
        lines.push(Line { text: String::new(), is_kept, shift: 0 });
    }
    Lines(lines)
}

/// The place of each of several pieces that follow each other.
fn begins(lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    lengths.scan(0, |at, length| {
        let begin = *at;
        *at += length;
        Some(begin)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: usize) -> bool {
        false
    }

    #[test]
    fn the_spaces_of_a_line_are_its_indentation() {
        assert_eq!(indentation("a\n  b(c)", 6, none), 2);
        assert_eq!(indentation("   a", 3, none), 3);
        assert_eq!(indentation("\n\t  a", 4, none), 0);
        assert_eq!(indentation(&format!("  {}", "x".repeat(600)), 600, none), 0);
        assert_eq!(indentation("a\n  b`\nc` d", 9, |begin| begin == 7), 2);
    }

    #[test]
    fn lines_move_together() {
        let shifted = |text: &str, from, to| Lines::plain(text).shifted(from, to).text();
        assert_eq!(shifted("a\n  b\n    c\nd", 2, 0), "a\nb\n  c\nd");
        assert_eq!(shifted("a\n  b\n", 0, 2), "a\n    b\n  ");
        assert_eq!(shifted("a", 0, 2), "a");
    }

    #[test]
    fn kept_lines_do_not_move() {
        let lines = Lines::new("a`\n  b\n` +\n    c", |begin| begin < 9).shifted(4, 2);
        assert_eq!(lines.text(), "a`\n  b\n` +\n  c");
        assert_eq!((lines.moved(false), lines.moved(true)), (vec![11], vec![3, 7]));
        let back = lines.clone().shifted(2, 4);
        assert_eq!((back.moved(false), back.moved(true)), (vec![], vec![3, 7]));
        let upper = lines.made(|text| Some(text.to_uppercase())).unwrap().shifted(0, 1);
        assert_eq!(upper.text(), "A`\n  B\n` +\n   C");
        let joint = lines.made(|text| Some(text.replace("\n  b", ""))).unwrap().shifted(0, 1);
        assert_eq!(joint.text(), "a`\n ` +\n   c");
    }
}
