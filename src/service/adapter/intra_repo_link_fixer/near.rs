//! The anchor that a wrong one was meant to be: near to it, and clearly nearer than any other. Pure.

use std::{collections::BTreeSet, sync::LazyLock};

/// Words that come and go in headings.
const SMALL: &[&str] = &["a", "an", "and", "for", "of", "the", "to", "your"];

/// Words that are a letter away from another word of documentation, so that they are no slips of it.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("words.txt").split_whitespace().collect());

/// The longest text that is compared, in characters.
const LONGEST: usize = 200;
/// The largest difference in length, in characters.
const MOST_APART: usize = 16;
/// The largest number of anchors that are compared letter by letter for one list of similar ones.
const MOST_COMPARED: usize = 100;

/// The single anchor that is near.
pub(super) fn nearest(wanted: &str, anchors: &BTreeSet<String>) -> Option<String> {
    let wanted = wanted.to_lowercase();
    let mut near = comparable(&wanted, anchors).filter_map(|anchor| Some((distance(&wanted, anchor)?, anchor)));
    let best = near.next()?;
    let (distance, anchor) = near.fold(best, |best, next| if next.0 < best.0 { next } else { best });
    let margin = (2 * distance + 1).max(distance + 2).max(strsim::osa_distance(&wanted, anchor) + 1);
    let length = wanted.chars().count();
    let own: BTreeSet<&str> = words(anchor).into_iter().collect();
    let is_strange = |word: &&str| !own.iter().any(|own| own == word || is_plural(own, word));
    let strange: Vec<&str> = words(&wanted).into_iter().filter(is_strange).collect();
    let is_apart = |other: &String| {
        let is_far = length.abs_diff(other.chars().count()) >= margin
            || least_distance(&wanted, other) >= margin
            || strsim::osa_distance(&wanted, other) >= margin;
        is_far && letters(&wanted) != letters(other) && !words(other).iter().any(|word| strange.contains(word))
    };
    anchors.iter().filter(|other| *other != anchor).all(is_apart).then(|| anchor.clone())
}

/// Up to three anchors that resemble it, the most similar first.
pub(super) fn similar(wanted: &str, anchors: &BTreeSet<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let most = wanted.chars().count() / 2;
    let alike = comparable(&wanted, anchors).filter(|anchor| anchor.chars().next() == wanted.chars().next());
    let mut alike: Vec<&String> = alike.filter(|anchor| least_distance(&wanted, anchor) <= most).collect();
    if alike.len() > MOST_COMPARED {
        alike.sort_by_key(|anchor| std::cmp::Reverse(shared(&wanted, anchor)));
        alike.truncate(MOST_COMPARED);
    }
    let mut near: Vec<_> = alike.into_iter().map(|anchor| (strsim::osa_distance(&wanted, anchor), anchor)).collect();
    near.retain(|(distance, _)| *distance <= most);
    near.sort();
    near.into_iter().take(3).map(|(_, anchor)| anchor.clone()).collect()
}

/// A number of changes that no way from one text to the other can do with less of: the letters that only one of them has.
fn least_distance(one: &str, other: &str) -> usize {
    // Texts beyond ASCII share counts, which only makes the number smaller.
    let mut counts = [0_i32; 128];
    for c in one.chars() {
        counts[c as usize % 128] += 1;
    }
    for c in other.chars() {
        counts[c as usize % 128] -= 1;
    }
    let sum = |sign: i32| counts.iter().map(|count| (sign * count).max(0).unsigned_abs() as usize).sum::<usize>();
    sum(1).max(sum(-1))
}

/// The length of the beginning that two texts share, in bytes.
fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// The anchors of about the same length.
fn comparable<'a>(wanted: &str, anchors: &'a BTreeSet<String>) -> impl Iterator<Item = &'a String> {
    let length = wanted.chars().count();
    anchors.iter().filter(move |anchor| length <= LONGEST && length.abs_diff(anchor.chars().count()) <= MOST_APART)
}

/// The number of changes from one anchor to another; none if they may be about different things.
fn distance(wanted: &str, anchor: &str) -> Option<usize> {
    if !numbers(wanted).eq(numbers(anchor)) {
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
        changes += apart_by(word, other, words.len() > 2)?;
    }
    Some(changes)
}

/// `setup` and `stup` may be the same word. `get` and `set`, or `path` and `patch`, are not, as both are words.
fn apart_by(word: &str, other: &str, has_company: bool) -> Option<usize> {
    if word.chars().next() != other.chars().next() || are_protocols(word, other) {
        return None;
    }
    let (shorter, longer) = lengths(word, other);
    if shorter >= 4 && is_plural(word, other) {
        return Some(1);
    }
    if WORDS.binary_search(&word).is_ok() {
        return None;
    }
    let changes = strsim::osa_distance(word, other);
    let is_replaced = shorter == longer && letters_of(word) != letters_of(other);
    let is_slip = changes == 1 && longer > shorter && shorter >= if has_company { 3 } else { 4 };
    let is_near = match shorter {
        9.. => changes <= 2,
        7..9 => changes == 1,
        4.. => changes == 1 && !is_replaced && longer >= 5,
        _ => false,
    };
    (is_near || is_slip).then_some(changes)
}

fn is_plural(word: &str, other: &str) -> bool {
    [(word, other), (other, word)].iter().any(|(word, other)| word.strip_suffix('s') == Some(other))
}

fn letters_of(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
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
fn numbers(anchor: &str) -> impl Iterator<Item = &str> {
    anchor.split(|c: char| !c.is_numeric()).filter(|digits| !digits.is_empty())
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
        check("list-the-options", &["list-the-option", "more-options"], Some("list-the-option"));
        check("gettng-started", &["getting-started", "usage"], Some("getting-started"));
        check("seperate-files", &["separate-files", "usage"], Some("separate-files"));
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
            ("path-options", &["patch-options"]),
            ("upload-file", &["unload-file"]),
            ("server", &["serve"]),
            ("quite-list", &["quiet-list"]),
            ("is-it-on-by-default", &["is-it-one-by-default"]),
            ("compliment-list", &["complement-list"]),
            ("adapter-names", &["adopter-names"]),
            ("the-kafka-topic", &["the-kafta-topic"]),
            ("stup-of-a", &["setup-of-a", "stup-of-b"]),
        ] {
            check(wanted, anchors, None);
        }
    }

    #[test]
    fn two_near_ones_are_none() {
        check("instalation", &["installation", "instalations"], None);
        check("set-up", &["setup", "s-etup"], None);
    }

    #[test]
    fn similar_anchors_are_few_of_many() {
        let anchors: BTreeSet<String> = (0..2000).map(|n| format!("heading-{n}-of-a-page")).collect();
        let found = similar("heading-1234-of-a-pgae", &anchors);
        assert_eq!(found.first().map(String::as_str), Some("heading-1234-of-a-page"));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn no_way_is_shorter_than_the_least_distance() {
        for (one, other) in
            [("", "abc"), ("setup", "stup"), ("ab", "ba"), ("über", "uber"), ("a-b-c", "c-b-a"), ("x", "yz")]
        {
            assert!(least_distance(one, other) <= strsim::osa_distance(one, other), "{one} {other}");
        }
        assert_eq!(least_distance("abc", "abd-e"), 3);
    }
}
