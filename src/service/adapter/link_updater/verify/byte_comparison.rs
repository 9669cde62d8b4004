//! Compares a file before and after byte by byte, in any format: nothing may differ but links, and these only in the required
//! pieces.
//!
//! The comparison does not know the parser's links. So it sees what a parser overlooks, such as white space in a tag. The
//! parser sees false links, such as one in a comment.

use std::collections::{BTreeMap, BTreeSet};

use super::{expected_target::Edit, format::Format};
use audit::spelling::{Layer, Spelled};

/// The largest number of bytes of a spelled-out character; longer ones are not understood.
const SPELLED: usize = 16;
/// The number of tried edits after which the files count as different.
const MOST_WAYS: usize = 1 << 20;

/// The first difference that the edits do not explain, where each edit occurs as often as stated; none if there is no such
/// difference.
pub(super) fn stray(before: &[u8], after: &[u8], edits: &BTreeMap<Edit, usize>, format: Format) -> Option<usize> {
    let ways = format.ways();
    let longest = edits.keys().map(|(from, to)| from.len().max(to.len())).max().unwrap_or(0);
    let most = longest.saturating_mul(SPELLED) + SPELLED;
    let wanted: usize = edits.values().sum();
    let mut reached = 0;
    // The positions on both sides with the number of edits; one piece may begin like another, so there may be several paths.
    let mut open = vec![(0, 0, 0)];
    let mut seen = BTreeSet::new();
    while let Some((old, new, made)) = open.pop() {
        let same = common(&before[old..], &after[new..]);
        reached = reached.max(old + same);
        if (old + same, new + same) == (before.len(), after.len()) {
            if made == wanted {
                return None;
            }
            continue;
        }
        // The differing piece may have begun before the first differing byte.
        let ends = (0..=same.min(most)).map(|back| {
            let (old, new) = (old + same - back, new + same - back);
            let ends = edits.keys().filter_map(|(from, to)| {
                let ends = (old + begins(&before[old..], from, ways)?, new + begins(&after[new..], to, ways)?);
                (ends.0 > old + back || ends.1 > new + back).then_some((ends.0, ends.1, made + 1))
            });
            ends.collect::<BTreeSet<_>>()
        });
        let found = ends.into_iter().find(|ends| !ends.is_empty()).unwrap_or_default();
        let more = found.into_iter().filter(|end| made < wanted && seen.len() < MOST_WAYS && seen.insert(*end));
        open.extend(more);
    }
    Some(reached)
}

/// The length of the common beginning.
fn common(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
    steps + a[steps..].iter().zip(&b[steps..]).take_while(|(a, b)| a == b).count()
}

/// The number of bytes that spell the text at their beginning, if they do.
fn begins(raw: &[u8], text: &[u8], ways: &[&[Layer]]) -> Option<usize> {
    if raw.starts_with(text) {
        return Some(text.len());
    }
    let window = &raw[..raw.len().min(text.len().saturating_mul(SPELLED) + SPELLED)];
    let same = window.len().min(common(window, text) + 1);
    if !window[..same].iter().any(|byte| matches!(byte, b'&' | b'\\' | b'\r' | b'\n')) {
        return None;
    }
    ways.iter().find_map(|way| {
        let spelled = Spelled::decode(window, way);
        spelled.bytes.starts_with(text).then(|| spelled.raw(0..text.len()).end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, before: &str, after: &str, edits: &[(&str, &str)], expected: Option<usize>) {
        let piece = |(from, to): &(&str, &str)| (from.as_bytes().to_vec(), to.as_bytes().to_vec());
        let mut counted = BTreeMap::new();
        for edit in edits {
            *counted.entry(piece(edit)).or_insert(0) += 1;
        }
        let edits = counted;
        assert_eq!(stray(before.as_bytes(), after.as_bytes(), &edits, format), expected, "{before} {after}");
    }

    const SCHEME: (&str, &str) = ("http://", "https://");
    const HOST: (&str, &str) = ("old.x", "new.x");

    #[test]
    fn links_may_differ() {
        let edits = &[SCHEME, HOST];
        check(
            Format::Text,
            "a http://old.x/b http://old.x c",
            "a https://new.x/b https://new.x c",
            &[SCHEME, HOST, SCHEME, HOST],
            None,
        );
        check(Format::Text, "//u:p@old.x/", "//u:p@new.x/", &[HOST], None);
        check(Format::Html, "h&#116;tp&#x3a;//ol&#100;&period;x/&amp;", "https://new.x/&amp;", edits, None);
        check(Format::Json, "\"http:\\/\\/old.x\\/\"", "\"https:\\/\\/new.x\\/\"", edits, None);
        check(Format::Css, "url(\\68 ttp\\://\\6f ld.x/)", "url(https://new.x/)", edits, None);
        check(Format::Markdown, "[a](http\\://old&#46;x)", "[a](https://new.x)", edits, None);
        check(Format::Text, "x.y/a x.y", "x.y/x.y/a x.y/x.y", &[("x.y", "x.y/x.y"); 2], None);
        check(Format::Text, "o.x/a o.x:80/b", "n.x/a n.x/b", &[("o.x", "n.x"), ("o.x:80", "n.x")], None);
        check(Format::Text, "o.x/a o.x/b", "n.x/a n.x.y/b", &[("o.x", "n.x"), ("o.x", "n.x.y")], None);
        check(
            Format::Text,
            "o.x/a o.x/ao.x/a",
            "n.x/b n.x/bo.x/b",
            &[("o.x/a", "n.x/b"), ("o.x/ao.x/a", "n.x/bo.x/b")],
            None,
        );
    }

    #[test]
    fn every_other_byte_is_seen() {
        let edits = &[SCHEME, HOST];
        check(Format::Text, "a  b", "a b", &[], Some(2));
        check(Format::Text, "a\r\n", "a\n", &[], Some(1));
        check(Format::Html, "<a  href=http://old.x/&amp;>", "<a  href=https://new.x/&>", edits, Some(23));
        check(Format::Html, "<A href='http://old.x'>", "<a href='https://new.x'>", edits, Some(1));
        check(Format::Text, "http://old.x/a", "https://new.x/", edits, Some(13));
        check(Format::Text, "http://old.x", "https://new.x ", edits, Some(12));
        check(Format::Text, "http://old.x http://old.x", "https://new.x", edits, Some(12));
        check(Format::Text, "", "a", &[], Some(0));
        // One link more than there is, one less, and one edit in place of another.
        check(Format::Text, "http://old.x http://old.x", "https://new.x https://new.x", edits, Some(17));
        check(
            Format::Text,
            "http://old.x http://old.x",
            "https://new.x http://old.x",
            &[SCHEME, HOST, SCHEME, HOST],
            Some(25),
        );
    }
}
