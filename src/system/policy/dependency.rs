//! Dependencies that nobody wants: a name with `*`, and, if it is said, which versions.

use std::cmp::Ordering;

/// A rule such as `left-pad`, `@evil/*` or `openssl@<1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyRule {
    name: String,
    versions: Option<(Comparison, Vec<u64>)>,
}

/// How a version is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

/// Longer spellings first: `<=` begins with `<`.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::More),
    ("=", Comparison::Equal),
];

impl DependencyRule {
    /// Reads a rule; an error is a phrase that goes on after "which".
    pub fn parse(text: &str) -> Result<Self, String> {
        // A name may begin with `@`, as scopes of npm do.
        let (name, versions) = match text.char_indices().skip(1).filter(|(_, c)| *c == '@').last() {
            Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        if name.is_empty() || name.chars().any(char::is_whitespace) {
            return Err("is no name of a dependency, with `*` where anything may stand".to_owned());
        }
        let read = |text: &str| {
            let known = COMPARISONS.iter().find(|(sign, _)| text.starts_with(sign));
            let (rest, comparison) = known.map_or((text, Comparison::Equal), |(sign, how)| (&text[sign.len()..], *how));
            let numbers: Option<Vec<u64>> = rest.trim().split('.').map(|part| part.parse().ok()).collect();
            numbers.map(|numbers| (comparison, numbers))
        };
        let versions = match versions.map(|text| read(text.trim())) {
            None => None,
            Some(Some(versions)) => Some(versions),
            Some(None) => {
                return Err("has versions that can't be read: write `name@<1.2`, with <, <=, =, >= or >".to_owned());
            }
        };
        Ok(DependencyRule { name: name.to_owned(), versions })
    }

    /// True if a dependency breaks the rule. What is asked for is compared by the first version in it; one that names none may
    /// be any.
    pub fn forbids(&self, name: &str, asked: &str) -> bool {
        if !covers(self.name.as_bytes(), name.as_bytes()) {
            return false;
        }
        let (Some((comparison, limit)), Some(version)) = (&self.versions, first_version(asked)) else { return true };
        let order = compare(&version, limit);
        match comparison {
            Comparison::Less => order == Ordering::Less,
            Comparison::AtMost => order != Ordering::Greater,
            Comparison::Equal => order == Ordering::Equal,
            Comparison::AtLeast => order != Ordering::Less,
            Comparison::More => order == Ordering::Greater,
        }
    }
}

/// True if a pattern, in which `*` stands for anything, is the whole name.
///
/// Letters of both cases are alike, and so are `-`, `_` and `.`, which registries take for each other.
fn covers(pattern: &[u8], name: &[u8]) -> bool {
    let alike = |byte: u8| if matches!(byte, b'_' | b'.') { b'-' } else { byte.to_ascii_lowercase() };
    let (mut at, mut read) = (0, 0);
    // Behind the last star, and how much of the name that star stands for so far ends here.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, read));
            }
            Some(byte) if alike(*byte) == alike(name[read]) => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((behind, end)) = star else { return false };
                star = Some((behind, end + 1));
                (at, read) = (behind, end + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// The first version in a text such as `^1.2`, `>= 0.9, < 2` or `v1.2.3`.
fn first_version(text: &str) -> Option<Vec<u64>> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let end = text[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(text.len(), |at| start + at);
    let numbers: Vec<u64> = text[start..end].split('.').map_while(|part| part.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

/// Numbers that are not written are zeros.
fn compare(one: &[u64], other: &[u64]) -> Ordering {
    let at = |numbers: &[u64], at: usize| numbers.get(at).copied().unwrap_or(0);
    (0..one.len().max(other.len()))
        .map(|n| at(one, n).cmp(&at(other, n)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, name: &str, asked: &str, expected: bool) {
        assert_eq!(DependencyRule::parse(rule).unwrap().forbids(name, asked), expected, "{rule}: {name} {asked}");
    }

    #[test]
    fn names_may_have_stars_and_versions_are_compared_as_numbers() {
        check("left-pad", "left-pad", "1", true);
        check("left-pad", "left-pad-2", "1", false);
        check("left-*", "Left-pad-2", "", true);
        check("*a*b*", "xxaxxbxx", "", true);
        check("*a*b", "xxaxxbxx", "", false);
        check("python_jose", "python-jose", "", true);
        check("zope.interface", "zope-interface", "", true);
        check(&"*a".repeat(20), &"a".repeat(200_000).replace("aaaa", "aaab"), "", false);
        check("@evil/*", "@evil/x", "^1", true);
        check("@evil/*", "@good/x", "^1", false);
        check("openssl@<1", "openssl", "0.10.64", true);
        check("openssl@<1", "openssl", "^1.1", false);
        check("openssl@<1.10", "openssl", ">=1.9, <2", true);
        check("@a/b@>=2", "@a/b", "~2.0", true);
        check("x@1.2", "x", "=1.2.0", true);
        check("x@<=1.2", "x", "v1.2.1", false);
        check("x@>1", "x", "1.0.1", true);
    }

    #[test]
    fn a_dependency_that_names_no_version_may_be_any() {
        check("openssl@<1", "openssl", "*", true);
        check("openssl@<1", "openssl", "", true);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "a b", "x@new", "x@<", "x@1.x"] {
            assert!(DependencyRule::parse(text).is_err(), "{text}");
        }
    }
}
