//! Texts that are made of a variable's text: a part of it, another case of letters, a replaced part, or rewritten nodes.

use regex::Regex;

use super::grammar::Variable;

/// A text that is made of a variable.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The variable.
    pub(super) source: Variable,
    /// The way.
    pub(super) way: Way,
}

/// A way to make a text of another.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// The characters from one place to another; negative places count from the end.
    Substring { start: Option<i32>, end: Option<i32> },
    /// The matches of a regular expression are replaced.
    Replace { regex: Regex, by: String },
    /// The words are joined in another case.
    Convert { case: Case, separators: Option<Vec<Separator>> },
    /// The nodes are rewritten by the first of the rewriters that matches; with `joint` only the new texts are kept.
    Rewrite { rewriters: Vec<String>, joint: Option<String> },
}

/// A case of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    Upper,
    Capital,
    Camel,
    Snake,
    Kebab,
    Pascal,
}

/// A border between words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    CaseChange,
    Mark(char),
}

impl Case {
    /// The case of a name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "lowerCase" => Case::Lower,
            "upperCase" => Case::Upper,
            "capitalize" => Case::Capital,
            "camelCase" => Case::Camel,
            "snakeCase" => Case::Snake,
            "kebabCase" => Case::Kebab,
            "pascalCase" => Case::Pascal,
            _ => return None,
        })
    }

    fn apply(self, text: &str, separators: Option<&[Separator]>) -> String {
        let words = || words(text, separators.unwrap_or(&ALL_SEPARATORS));
        let lower = |words: Vec<&str>| words.iter().map(|word| word.to_lowercase()).collect::<Vec<_>>();
        match self {
            Case::Lower => text.to_lowercase(),
            Case::Upper => text.to_uppercase(),
            Case::Capital => capital(text),
            Case::Snake => lower(words()).join("_"),
            Case::Kebab => lower(words()).join("-"),
            Case::Pascal => words().into_iter().map(capital).collect(),
            Case::Camel => {
                let words = words();
                let Some((first, rest)) = words.split_first() else { return String::new() };
                let rest = rest.iter().copied().map(capital);
                std::iter::once(first.to_lowercase()).chain(rest).collect()
            }
        }
    }
}

const ALL_SEPARATORS: [Separator; 6] = [
    Separator::CaseChange,
    Separator::Mark('-'),
    Separator::Mark('.'),
    Separator::Mark('/'),
    Separator::Mark(' '),
    Separator::Mark('_'),
];

impl Separator {
    /// The separator of a name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "caseChange" => Separator::CaseChange,
            "dash" => Separator::Mark('-'),
            "dot" => Separator::Mark('.'),
            "slash" => Separator::Mark('/'),
            "space" => Separator::Mark(' '),
            "underscore" => Separator::Mark('_'),
            _ => return None,
        })
    }
}

impl Way {
    /// The text that is made of another; none for [`Way::Rewrite`], which needs nodes.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        match self {
            Way::Substring { start, end } => Some(substring(text, *start, *end)),
            Way::Replace { regex, by } => Some(regex.replace_all(text, by.as_str()).into_owned()),
            Way::Convert { case, separators } => Some(case.apply(text, separators.as_deref())),
            Way::Rewrite { .. } => None,
        }
    }
}

fn substring(text: &str, start: Option<i32>, end: Option<i32>) -> String {
    let length = text.chars().count();
    let place = |place: i32| match usize::try_from(place) {
        Ok(place) => place.min(length),
        Err(_) => length.saturating_sub(place.unsigned_abs() as usize),
    };
    let (start, end) = (start.map_or(0, place), end.map_or(length, place));
    text.chars().take(end).skip(start).collect()
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next();
    first.into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

/// The letters before a place, as far as they tell a border of words by the change of their case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// A small letter, or nothing.
    Small,
    /// One other character.
    One,
    /// Several others, of which this is the last.
    Several(char),
}

fn words<'t>(text: &'t str, separators: &[Separator]) -> Vec<&'t str> {
    let by_case = separators.contains(&Separator::CaseChange);
    let mut words = Vec::new();
    let (mut start, mut run) = (0, Run::Small);
    for (at, c) in text.char_indices() {
        if separators.contains(&Separator::Mark(c)) {
            words.push(&text[start..at]);
            start = at + c.len_utf8();
            run = Run::Small;
            continue;
        }
        if !by_case {
            continue;
        }
        run = match run {
            Run::Small if c.is_uppercase() => {
                words.push(&text[start..at]);
                start = at;
                Run::One
            }
            // The last capital begins the next word, as in `XMLHttp`.
            Run::Several(last) if c.is_lowercase() => {
                let border = at - last.len_utf8();
                words.push(&text[start..border]);
                start = border;
                Run::Small
            }
            _ if c.is_lowercase() => Run::Small,
            Run::Small => Run::One,
            Run::One | Run::Several(_) => Run::Several(c),
        };
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(case: Case, text: &str, after: &str) {
        assert_eq!(case.apply(text, None), after, "{text}");
    }

    #[test]
    fn words_are_joined_in_another_case() {
        check(Case::Snake, "getElementById", "get_element_by_id");
        check(Case::Kebab, "XMLHttpRequest", "xml-http-request");
        check(Case::Camel, "foo-bar.baz_qux", "fooBarBazQux");
        check(Case::Pascal, "foo bar", "FooBar");
        check(Case::Snake, "a1B2", "a1b2");
        check(Case::Capital, "éa", "Éa");
        check(Case::Camel, "", "");
        let only = Case::Snake.apply("aB-cD", Some(&[Separator::Mark('-')]));
        assert_eq!(only, "ab_cd");
    }

    #[test]
    fn places_count_from_either_end() {
        assert_eq!(substring("\"äbc\"", Some(1), Some(-1)), "äbc");
        assert_eq!(substring("abc", Some(-2), None), "bc");
        assert_eq!(substring("abc", Some(2), Some(1)), "");
        assert_eq!(substring("abc", Some(-9), Some(9)), "abc");
    }
}
