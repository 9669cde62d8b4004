//! The anchor that a wrong one was meant to be: near to it, and clearly nearer than any other. Pure.

use std::collections::BTreeSet;

/// Words that come and go in headings.
const SMALL: &[&str] = &["a", "an", "and", "for", "of", "the", "to", "your"];

/// The single anchor that is near.
pub(super) fn nearest(wanted: &str, anchors: &BTreeSet<String>) -> Option<String> {
    let wanted = wanted.to_lowercase();
    let mut near = anchors.iter().filter_map(|anchor| Some((distance(&wanted, anchor)?, anchor)));
    let best = near.next()?;
    let (distance, anchor) = near.fold(best, |best, next| if next.0 < best.0 { next } else { best });
    let others = anchors.iter().filter(|other| *other != anchor);
    let margin = (2 * distance + 1).max(distance + 2);
    let is_apart =
        |other: &String| strsim::osa_distance(&wanted, other) >= margin && letters(&wanted) != letters(other);
    others.clone().all(is_apart).then(|| anchor.clone())
}

/// Up to three anchors that resemble it, the most similar first.
pub(super) fn similar(wanted: &str, anchors: &BTreeSet<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let most = wanted.chars().count() / 2;
    let mut near: Vec<_> = anchors.iter().map(|anchor| (strsim::osa_distance(&wanted, anchor), anchor)).collect();
    near.retain(|(distance, _)| *distance <= most);
    near.sort();
    near.into_iter().take(3).map(|(_, anchor)| anchor.clone()).collect()
}

/// The number of changes from one anchor to another; none if they may be about different things.
fn distance(wanted: &str, anchor: &str) -> Option<usize> {
    if numbers(wanted) != numbers(anchor) {
        return None;
    }
    if letters(wanted) == letters(anchor) {
        return Some(0);
    }
    let (all, all_others) = (words(wanted), words(anchor));
    if all.len() == all_others.len() {
        return apart(&all, &all_others).filter(|changes| *changes <= most(wanted));
    }
    let large = |words: &[&str]| {
        words.iter().copied().filter(|word| !SMALL.contains(word)).map(str::to_owned).collect::<Vec<_>>()
    };
    let (some, others) = (large(&all), large(&all_others));
    let is_same = some.len() > 1 && some == others;
    is_same.then(|| all.len().abs_diff(all_others.len())).filter(|changes| *changes <= 2)
}

/// The changes between words, each of which has one or two at most.
fn apart(words: &[&str], others: &[&str]) -> Option<usize> {
    let mut changes = 0;
    for (word, other) in words.iter().zip(others).filter(|(word, other)| word != other) {
        let is_slip = words.len() > 2 && lacks_letter(word, other);
        changes += if is_slip { 1 } else { apart_by(word, other)? };
    }
    Some(changes)
}

/// `setup` and `stup` may be the same word; `get` and `set`, or `include` and `exclude`, are not.
fn apart_by(word: &str, other: &str) -> Option<usize> {
    let (shorter, longer) = lengths(word, other);
    let changes = strsim::osa_distance(word, other);
    let is_near = shorter >= 4 && longer >= 5 && changes <= if shorter >= 9 { 2 } else { 1 };
    (is_near && word.chars().next() == other.chars().next() && !are_protocols(word, other)).then_some(changes)
}

/// True if a letter is missing in one of the words, but not its first, as in `from` and `fro`.
fn lacks_letter(word: &str, other: &str) -> bool {
    let (shorter, longer) = lengths(word, other);
    let is_one = shorter >= 2 && longer == shorter + 1 && strsim::osa_distance(word, other) == 1;
    is_one && word.chars().next() == other.chars().next() && !are_protocols(word, other)
}

fn lengths(word: &str, other: &str) -> (usize, usize) {
    let (one, two) = (word.chars().count(), other.chars().count());
    (one.min(two), one.max(two))
}

/// True for `http` and `https`, `ftp` and `ftps`: a letter makes another thing of them.
fn are_protocols(word: &str, other: &str) -> bool {
    [(word, other), (other, word)]
        .iter()
        .any(|(word, other)| word.strip_suffix('s') == Some(other) && other.ends_with('p'))
}

fn most(wanted: &str) -> usize {
    (wanted.chars().count() / 8).clamp(1, 3)
}

fn words(anchor: &str) -> Vec<&str> {
    anchor.split(['-', '_']).filter(|word| !word.is_empty()).collect()
}

fn letters(anchor: &str) -> String {
    anchor.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The numbers in an anchor: `v1-2` has other ones than `v12`.
fn numbers(anchor: &str) -> Vec<&str> {
    anchor.split(|c: char| !c.is_numeric()).filter(|digits| !digits.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, anchors: &[&str], expected: Option<&str>) {
        let anchors = anchors.iter().map(|anchor| (*anchor).to_owned()).collect();
        assert_eq!(nearest(wanted, &anchors).as_deref(), expected, "{wanted}");
    }

    #[test]
    fn slips_are_near() {
        check("instalation", &["usage", "installation"], Some("installation"));
        check("set-up", &["setup", "usage"], Some("setup"));
        check("Getting_Started", &["getting-started"], Some("getting-started"));
        check("getting-startde", &["getting-started"], Some("getting-started"));
        check("use-the-cli", &["use-cli", "other"], Some("use-cli"));
        check("configure-the-server", &["configure-server", "other"], Some("configure-server"));
        check("plugin", &["plugins", "usage"], Some("plugins"));
        check("install-fro-the-cli", &["install-from-the-cli", "usage"], Some("install-from-the-cli"));
    }

    #[test]
    fn other_things_are_not_near() {
        for (wanted, anchors) in [
            ("v1-2-0", &["v1-3-0"][..]),
            ("v1-23", &["v12-3"]),
            ("foo-1", &["foo"]),
            ("get", &["set"]),
            ("include-files", &["exclude-files"]),
            ("http-server", &["sftp-server"]),
            ("use-http-server", &["use-https-server"]),
            ("a-to-b", &["a-or-b"]),
            ("step-one", &["step-two"]),
            ("contributors", &["contributing"]),
            ("usage", &["usage-notes"]),
            ("plugin", &["plugins", "plugin-a"]),
            ("option-a", &["option-b"]),
            ("x", &[]),
        ] {
            check(wanted, anchors, None);
        }
    }

    #[test]
    fn two_near_ones_are_none() {
        check("instalation", &["installation", "instalations"], None);
        check("set-up", &["setup", "s-etup"], None);
    }
}
