//! The selectors of `kind`, a part of those of CSS: `call_expression > identifier:nth-child(2n of number)`.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    grammar,
    rule::{Nth, Relation, Rule, Stop},
};
use base::language::Language;

/// Reads a list of selectors. The error is the reason that it is none.
pub(super) fn parse(language: Language, text: &str) -> Result<Rule, String> {
    let mut input = Input { language, rest: text.trim(), ahead: None };
    let rule = list(&mut input)?;
    if input.is_empty() { Ok(rule) } else { Err("it goes on after its end".to_owned()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    /// `>`, `+`, `~` or a space.
    Combinator(char),
    /// Any other mark.
    Mark(char),
}

struct Input<'a> {
    language: Language,
    rest: &'a str,
    ahead: Option<Token<'a>>,
}

impl<'a> Input<'a> {
    fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.ahead.is_none()
    }

    fn next(&mut self) -> Result<Option<Token<'a>>, String> {
        match self.ahead.take() {
            Some(token) => Ok(Some(token)),
            None => self.read(),
        }
    }

    fn peek(&mut self) -> Result<Option<Token<'a>>, String> {
        if self.ahead.is_none() {
            self.ahead = self.read()?;
        }
        Ok(self.ahead)
    }

    fn read(&mut self) -> Result<Option<Token<'a>>, String> {
        let blank_end = if self.rest.starts_with(' ') { self.rest.trim_start() } else { self.rest };
        if blank_end.len() < self.rest.len() {
            let is_idle = blank_end.starts_with(['+', '~', '>', ')', ',']);
            self.rest = blank_end;
            if !is_idle {
                return Ok(Some(Token::Combinator(' ')));
            }
        }
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let (token, length) = match first {
            '+' | '~' | '>' => (Token::Combinator(first), 1),
            '.' | ':' | '(' | ')' | ',' => (Token::Mark(first), 1),
            'a'..='z' | 'A'..='Z' | '_' | '-' => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                let length = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
                (Token::Name(&self.rest[..length]), length)
            }
            other => return Err(format!("`{other}` can't stand there")),
        };
        self.rest = &self.rest[length..];
        if matches!(token, Token::Combinator(_) | Token::Mark('(' | ',')) {
            self.rest = self.rest.trim_start();
        }
        Ok(Some(token))
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        match self.next()? {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            _ => Err(format!("it lacks a `{mark}`")),
        }
    }
}

fn list(input: &mut Input<'_>) -> Result<Rule, String> {
    let mut rules = Vec::new();
    while !input.is_empty() {
        rules.push(complex(input)?);
        match input.peek()? {
            Some(Token::Mark(',')) => input.ahead = None,
            Some(_) => break,
            None => {}
        }
    }
    Ok(Rule::any(rules))
}

/// Compounds with combinators between them.
fn complex(input: &mut Input<'_>) -> Result<Rule, String> {
    let mut rule = compound(input)?;
    while let Some(Token::Combinator(combinator)) = input.peek()? {
        input.ahead = None;
        let next = compound(input)?;
        let stop = if matches!(combinator, '>' | '+') { Stop::Neighbor } else { Stop::End };
        let relation = Box::new(Relation { rule, stop, field: None });
        let relation = if matches!(combinator, '>' | ' ') { Rule::Inside(relation) } else { Rule::Follows(relation) };
        rule = Rule::all(vec![next, relation]);
    }
    Ok(rule)
}

/// A kind with pseudo-classes; either may be missing.
fn compound(input: &mut Input<'_>) -> Result<Rule, String> {
    let mut rules = Vec::new();
    if let Some(Token::Name(name)) = input.peek()? {
        input.ahead = None;
        let kind = grammar::kind(input.language, name);
        rules.push(Rule::Kind(kind.ok_or_else(|| format!("the language has no node of kind `{name}`"))?));
    }
    while let Some(Token::Mark(mark @ ('.' | ':'))) = input.peek()? {
        input.ahead = None;
        if mark == '.' {
            return Err("it has a class, and nodes have none".to_owned());
        }
        rules.push(pseudo_class(input)?);
    }
    if rules.is_empty() { Err("it lacks a kind".to_owned()) } else { Ok(Rule::all(rules)) }
}

fn pseudo_class(input: &mut Input<'_>) -> Result<Rule, String> {
    let Some(Token::Name(name)) = input.next()? else { return Err("it lacks a name after `:`".to_owned()) };
    input.expect('(')?;
    let rule = match name {
        "has" => {
            let is_child = input.peek()? == Some(Token::Combinator('>'));
            if is_child {
                input.ahead = None;
            }
            let stop = if is_child { Stop::Neighbor } else { Stop::End };
            Rule::Has(Box::new(Relation { rule: complex(input)?, stop, field: None }))
        }
        "not" => Rule::Not(Box::new(complex(input)?)),
        "is" => list(input)?,
        "nth-child" => nth_child(input, false)?,
        "nth-last-child" => nth_child(input, true)?,
        other => return Err(format!("there is no pseudo-class `:{other}`")),
    };
    input.expect(')')?;
    Ok(rule)
}

fn nth_child(input: &mut Input<'_>, is_reverse: bool) -> Result<Rule, String> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, 'n' | 'N' | '+' | '-' | ' ');
    let length = input.rest.find(|c| !is_part(c)).unwrap_or(input.rest.len());
    let (step, offset) = position(input.rest[..length].trim())?;
    input.rest = input.rest[length..].trim_start();
    let mut of = None;
    if input.peek()? == Some(Token::Name("of")) {
        input.ahead = None;
        input.rest = input.rest.trim_start();
        of = Some(Box::new(complex(input)?));
    }
    Ok(Rule::Nth(Nth { step, offset, of, is_reverse }))
}

/// The step and the offset of `An+B`.
pub(super) fn position(text: &str) -> Result<(i32, i32), String> {
    static FORM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^([+-]?)(?:([0-9]*)[nN](?:([+-])([0-9]+))?|([0-9]+))$").ok());
    let wrong = || format!("`{text}` is no position of the form `2n+1`");
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let parts = FORM.as_ref().and_then(|form| form.captures(&compact)).ok_or_else(wrong)?;
    let part = |at| parts.get(at).map(|part| part.as_str());
    let signed = |sign: Option<&str>, digits: &str| {
        let number: i32 = digits.parse().map_err(|_| wrong())?;
        Ok::<i32, String>(if sign == Some("-") { -number } else { number })
    };
    match (part(2), part(5)) {
        (Some(step), _) => {
            let step = signed(part(1), if step.is_empty() { "1" } else { step })?;
            Ok((step, part(4).map_or(Ok(0), |digits| signed(part(3), digits))?))
        }
        (None, Some(digits)) => Ok((0, signed(part(1), digits)?)),
        (None, None) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_steps_and_offsets() {
        let all =
            [("2", (0, 2)), ("-1", (0, -1)), ("n", (1, 0)), ("2n+1", (2, 1)), (" - n + 3", (-1, 3)), ("0n", (0, 0))];
        for (text, expected) in all {
            assert_eq!(position(text), Ok(expected), "{text}");
        }
        for wrong in ["", "+", "2n+", "2n1", "n+1n", "2+1", "odd", "+-1", "99999999999"] {
            assert!(position(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn selectors_are_read_or_refused() {
        for right in [
            "identifier",
            "call_expression > identifier",
            "call_expression identifier,number",
            "identifier:nth-child(2n + 1 of identifier)",
            "call_expression:has(> identifier):not(:has(number))",
            ":is(identifier, number) + number ~ string",
            "",
        ] {
            assert!(parse(Language::JavaScript, right).is_ok(), "{right}");
        }
        for wrong in ["nothing", "identifier.a", "identifier:odd(1)", "identifier:has", "identifier)", "a ! b", ">"] {
            assert!(parse(Language::JavaScript, wrong).is_err(), "{wrong}");
        }
    }
}
