//! CSS selectors of elements: names, ids, classes, attributes and combinators. Anything else is refused.

use std::collections::BTreeSet;

use base::error::{Code, Error};
use format::site::{Element, alternatives};

/// A list of selectors.
#[derive(Debug)]
pub(super) struct Selector {
    /// Each as it is written, with single spaces.
    texts: Vec<String>,
    /// Each as steps; none if elements can't be told by it, and only rules of a style sheet can.
    steps: Vec<Option<Vec<Step>>>,
}

/// A compound selector, and its combinator with the one before.
#[derive(Debug)]
struct Step {
    combinator: Combinator,
    /// The whole compound, which may be the name of a component with dots.
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combinator {
    Descendant,
    Child,
    Next,
    Sibling,
}

#[derive(Debug)]
enum Part {
    Any,
    Name(String),
    Attribute(String, Test),
    First,
    Last,
    Nth(usize),
}

#[derive(Debug)]
enum Test {
    Exists,
    Is(String),
    Word(String),
    Begins(String),
    Ends(String),
    Holds(String),
}

impl Selector {
    /// Parses a list of selectors; `invalid_input` if it is none.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let texts = alternatives(text);
        if texts.iter().any(String::is_empty) {
            return Err(Error::new(Code::InvalidInput, format!("`{}` is no selector", text.escape_debug()))
                .hint("give a CSS selector, such as `#menu > .item` or `Button[type=submit]`"));
        }
        let steps = texts.iter().map(|text| steps(text)).collect();
        Ok(Selector { texts, steps })
    }

    /// The reason that no element can be found by it; none if elements can.
    pub(super) fn unsupported(&self) -> Option<&str> {
        let texts = self.texts.iter().zip(&self.steps);
        texts.into_iter().find(|(_, steps)| steps.is_none()).map(|(text, _)| text.as_str())
    }

    /// True if a rule has it among its selectors, or all of them.
    pub(super) fn is_rule(&self, rule: &[String]) -> bool {
        self.texts.iter().all(|text| rule.contains(text))
    }

    /// The elements that it matches.
    pub(super) fn elements(&self, elements: &[Element]) -> BTreeSet<usize> {
        let tree = Tree { elements, order: order(elements) };
        let all = self.steps.iter().flatten();
        all.flat_map(|steps| (0..elements.len()).filter(|at| tree.matches(steps, *at)).collect::<Vec<_>>()).collect()
    }
}

/// The elements with their places among their siblings.
struct Tree<'e> {
    elements: &'e [Element],
    /// For each element its siblings, itself among them, and its place there.
    order: Vec<(Vec<usize>, usize)>,
}

fn order(elements: &[Element]) -> Vec<(Vec<usize>, usize)> {
    let mut families: std::collections::BTreeMap<Option<usize>, Vec<usize>> = std::collections::BTreeMap::new();
    for (at, element) in elements.iter().enumerate() {
        families.entry(element.parent).or_default().push(at);
    }
    let place = |(at, element): (usize, &Element)| {
        let family = families.get(&element.parent).cloned().unwrap_or_default();
        let place = family.iter().position(|one| *one == at).unwrap_or_default();
        (family, place)
    };
    elements.iter().enumerate().map(place).collect()
}

impl Tree<'_> {
    /// True if the last step matches an element, and the others what is around it.
    fn matches(&self, steps: &[Step], at: usize) -> bool {
        let Some((last, before)) = steps.split_last() else { return true };
        if !self.fits(last, at) {
            return false;
        }
        if before.is_empty() {
            return true;
        }
        let (family, place) = &self.order[at];
        match last.combinator {
            Combinator::Child => self.elements[at].parent.is_some_and(|parent| self.matches(before, parent)),
            Combinator::Descendant => std::iter::successors(self.elements[at].parent, |at| self.elements[*at].parent)
                .any(|above| self.matches(before, above)),
            Combinator::Next => place.checked_sub(1).is_some_and(|place| self.matches(before, family[place])),
            Combinator::Sibling => family[..*place].iter().any(|other| self.matches(before, *other)),
        }
    }

    fn fits(&self, step: &Step, at: usize) -> bool {
        let element = &self.elements[at];
        let same =
            |one: &str, other: &str| if element.is_html { one.eq_ignore_ascii_case(other) } else { one == other };
        let (family, place) = &self.order[at];
        let fits = |part: &Part| match part {
            Part::Any => true,
            Part::Name(name) => same(&element.name, name),
            Part::First => *place == 0,
            Part::Last => place + 1 == family.len(),
            Part::Nth(n) => place + 1 == *n,
            Part::Attribute(name, test) => {
                let mut found = element.attributes.iter().filter(|(key, _)| same(key, name));
                found.any(|(_, value)| test.holds(value.as_deref()))
            }
        };
        !element.name.is_empty() && (element.name == step.text || step.parts.iter().all(fits))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let Some(value) = value else { return matches!(self, Test::Exists) };
        match self {
            Test::Exists => true,
            Test::Is(wanted) => value == wanted,
            Test::Word(wanted) => value.split_whitespace().any(|word| word == wanted),
            Test::Begins(wanted) => !wanted.is_empty() && value.starts_with(wanted),
            Test::Ends(wanted) => !wanted.is_empty() && value.ends_with(wanted),
            Test::Holds(wanted) => !wanted.is_empty() && value.contains(wanted),
        }
    }
}

/// The steps of a selector; none if it has parts that are not known.
fn steps(text: &str) -> Option<Vec<Step>> {
    let (mut all, mut combinator, mut rest) = (Vec::new(), Combinator::Descendant, text);
    while !rest.is_empty() {
        let next = match rest.as_bytes()[0] {
            b'>' => Some(Combinator::Child),
            b'+' => Some(Combinator::Next),
            b'~' => Some(Combinator::Sibling),
            _ => None,
        };
        if let Some(next) = next {
            if combinator != Combinator::Descendant || all.is_empty() {
                return None;
            }
            combinator = next;
            rest = rest[1..].trim_start();
            continue;
        }
        let (parts, length) = compound(rest)?;
        all.push(Step { combinator, text: rest[..length].to_owned(), parts });
        combinator = Combinator::Descendant;
        rest = rest[length..].trim_start();
    }
    (combinator == Combinator::Descendant && !all.is_empty()).then_some(all)
}

/// A compound selector at the beginning of a text, and its length.
fn compound(text: &str) -> Option<(Vec<Part>, usize)> {
    let (mut parts, mut at) = (Vec::new(), 0);
    loop {
        let rest = &text[at..];
        match rest.chars().next() {
            None | Some(' ' | '>' | '+' | '~') => break,
            Some('*') => {
                parts.push(Part::Any);
                at += 1;
            }
            Some('#') => at += 1 + word(&rest[1..], |id| parts.push(Part::Attribute("id".to_owned(), Test::Is(id))))?,
            Some('.') => {
                at += 1 + word(&rest[1..], |name| parts.push(Part::Attribute("class".to_owned(), Test::Word(name))))?;
            }
            Some('[') => {
                let (part, length) = attribute(rest)?;
                parts.push(part);
                at += length;
            }
            Some(':') => {
                let (part, length) = pseudo(rest)?;
                parts.push(part);
                at += length;
            }
            Some(_) if parts.is_empty() => at += word(rest, |name| parts.push(Part::Name(name)))?,
            Some(_) => return None,
        }
    }
    (!parts.is_empty()).then_some((parts, at))
}

/// Gives the name at the beginning of a text away, without its escapes; its length.
fn word(text: &str, take: impl FnOnce(String)) -> Option<usize> {
    let (mut name, mut at) = (String::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\\' => {
                let escaped = text[at + 1..].chars().next()?;
                name.push(escaped);
                at += 1 + escaped.len_utf8();
            }
            c if c.is_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii() => {
                name.push(c);
                at += c.len_utf8();
            }
            _ => break,
        }
    }
    if name.is_empty() {
        return None;
    }
    take(name);
    Some(at)
}

/// `[name]`, `[name=value]` and the like.
fn attribute(text: &str) -> Option<(Part, usize)> {
    let quoted = |value: &str, quote: char| {
        value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote).map(str::to_owned))
    };
    let end = text.find(']')?;
    let inside = &text[1..end];
    let Some(equals) = inside.find('=') else {
        return Some((Part::Attribute(inside.trim().to_owned(), Test::Exists), end + 1));
    };
    let value = inside[equals + 1..].trim();
    let value = quoted(value, '"').or_else(|| quoted(value, '\'')).unwrap_or_else(|| value.to_owned());
    let name = inside[..equals].trim_end();
    let (name, test) = match name.as_bytes().last()? {
        b'~' => (&name[..name.len() - 1], Test::Word(value)),
        b'^' => (&name[..name.len() - 1], Test::Begins(value)),
        b'$' => (&name[..name.len() - 1], Test::Ends(value)),
        b'*' => (&name[..name.len() - 1], Test::Holds(value)),
        _ => (name, Test::Is(value)),
    };
    let is_name = !name.trim().is_empty() && !name.contains(['"', '\'', '|']);
    is_name.then(|| (Part::Attribute(name.trim().to_owned(), test), end + 1))
}

fn pseudo(text: &str) -> Option<(Part, usize)> {
    for (word, part) in [(":first-child", Part::First), (":last-child", Part::Last)] {
        if text.starts_with(word) {
            return Some((part, word.len()));
        }
    }
    let rest = text.strip_prefix(":nth-child(")?;
    let end = rest.find(')')?;
    let n = rest[..end].trim().parse().ok()?;
    Some((Part::Nth(n), ":nth-child(".len() + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(name: &str, parent: Option<usize>, attributes: &[(&str, &str)]) -> Element {
        let attributes = attributes.iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect();
        Element { name: name.to_owned(), start: 0, parent, attributes, is_html: false }
    }

    #[track_caller]
    fn check(selector: &str, expected: &[usize]) {
        let elements = [
            element("main", None, &[("id", "top"), ("class", "page wide")]),
            element("ul", Some(0), &[("class", "list")]),
            element("li", Some(1), &[("class", "item md:p-2")]),
            element("li", Some(1), &[("data-x", "abc")]),
            element("Card.Body", Some(0), &[]),
        ];
        let found = Selector::parse(selector).unwrap().elements(&elements);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{selector}");
    }

    #[test]
    fn elements_are_found_by_names_attributes_and_places() {
        check("li", &[2, 3]);
        check("#top .item, Card.Body", &[2, 4]);
        check("main.page.wide > ul", &[1]);
        check("main > li", &[]);
        check("li:first-child", &[2]);
        check("li:nth-child(2), li:last-child", &[3]);
        check("li + li", &[3]);
        check("ul ~ *", &[4]);
        check("[data-x^=ab][data-x$='c']", &[3]);
        check(".md\\:p-2", &[2]);
        check("[class~=\"item\"]", &[2]);
    }

    #[test]
    fn a_selector_that_is_not_understood_finds_no_element() {
        for text in ["li:hover", "li::before", "> li", "li >", "a[b", "a $"] {
            let selector = Selector::parse(text).unwrap();
            assert!(selector.unsupported().is_some(), "{text}");
        }
        assert!(Selector::parse("a,,b").is_err() && Selector::parse(" ").is_err());
    }
}
