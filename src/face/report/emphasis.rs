//! The differences between a line and its counterpart, by words.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines beyond this are shown without emphasis: comparing them takes long and helps little.
const LONGEST: usize = 1000;

/// How much of the longer line has to be the same, in per cent: where all is different nothing is emphasised.
const ALIKE: usize = 30;

/// The byte ranges that differ in an old and a new line. There are none if the lines are very long or have little in common.
pub(super) fn of(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len() > LONGEST || new.len() > LONGEST {
        return (Vec::new(), Vec::new());
    }
    let (a, b) = (words(old), words(new));
    let mut same = 0;
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                same += a[old_index..old_index + len].iter().map(|word| word.len()).sum::<usize>();
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                add(&mut gone, bytes(&a, op.old_range()));
                add(&mut come, bytes(&b, op.new_range()));
            }
        }
    }
    let longer = old.trim().len().max(new.trim().len());
    if same * 100 < longer * ALIKE { (Vec::new(), Vec::new()) } else { (gone, come) }
}

/// Letters and digits together, anything else alone.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut was_word = false;
    for (at, c) in line.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        if at > start && !(is_word && was_word) {
            words.push(&line[start..at]);
            start = at;
        }
        was_word = is_word;
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

fn bytes(words: &[&str], range: Range<usize>) -> Range<usize> {
    let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let start = length(&words[..range.start]);
    start..start + length(&words[range])
}

fn add(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, gone: &[&str], come: &[&str]) {
        let (old_marks, new_marks) = of(old, new);
        let texts = |line: &str, marks: &[Range<usize>]| -> Vec<String> {
            marks.iter().map(|mark| line[mark.clone()].to_owned()).collect()
        };
        assert_eq!((texts(old, &old_marks), texts(new, &new_marks)), (owned(gone), owned(come)));
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_that_differ_are_found() {
        check(
            "<a href=\"http://old.example.com/ü\">",
            "<a href=\"https://new.example.com/ü\">",
            &["http", "old"],
            &["https", "new"],
        );
        check("a b", "a b c", &[], &[" c"]);
    }

    #[test]
    fn lines_with_little_in_common_have_no_emphasis() {
        check("alpha beta", "gamma delta epsilon", &[], &[]);
        check(&"x ".repeat(LONGEST), &"y ".repeat(LONGEST), &[], &[]);
    }
}
