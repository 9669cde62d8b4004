//! Checks literal arguments of the host's calls against the registry: types, and the fields of maps.

use rhai::{Expr, FnPtr, Ident, Position, Stmt};

use super::{Lint, known::Known};
use crate::guest::bindings::{Call, Field};
use base::error::nearest;

/// The types of the registry, in the words of messages.
const WORDS: &[(&str, &str)] = &[
    ("()", "`()`"),
    ("adapter", "an adapter handle"),
    ("any", "any value"),
    ("array", "an array"),
    ("bool", "a boolean"),
    ("char", "a character"),
    ("float", "a number"),
    ("function", "a closure"),
    ("int", "an integer"),
    ("map", "a map"),
    ("mcp_server", "a handle of an MCP server"),
    ("stream", "a stream of events"),
    ("string", "a string"),
];

/// The place of a check: an argument of a call, or a field in it at the dotted place.
#[derive(Clone, Copy)]
struct Spot<'a> {
    call: &'static Call,
    place: &'a str,
    at: Position,
}

impl Lint<'_> {
    /// Checks the arguments of a call.
    pub(super) fn arguments(&mut self, call: &'static Call, given: &[Expr], at: Position) {
        if !self.whole {
            return;
        }
        for (parameter, argument) in call.params.iter().zip(given) {
            let position = or(argument.start_position(), at);
            if let Some(found) = self.misfit(parameter, argument, false) {
                let message =
                    format!("`{}` takes {} as `{}`, not {found}", call.path(), kinds(parameter.kind), parameter.name);
                let hint = Some(format!("its form is `{}`", call.form()));
                self.error("argument_type", position, message, hint);
            } else {
                self.inside(parameter, argument, Spot { call, place: "", at: position });
            }
        }
    }

    /// Checks a literal map, or each one of a literal array, against its fields.
    fn inside(&mut self, expected: &Field, given: &Expr, spot: Spot<'_>) {
        if expected.fields.is_empty() {
            return;
        }
        match given {
            Expr::Map(entries, position) if accepts(expected.kind, "map") => {
                self.fields(expected.fields, &entries.0, Spot { at: or(*position, spot.at), ..spot });
            }
            Expr::Array(items, _) if accepts(expected.kind, "array") => {
                let maps = items.iter().filter_map(|item| match item {
                    Expr::Map(entries, position) => Some((entries, position)),
                    _ => None,
                });
                for (entries, position) in maps {
                    self.fields(expected.fields, &entries.0, Spot { at: or(*position, spot.at), ..spot });
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, known: &[Field], given: &[(Ident, Expr)], spot: Spot<'_>) {
        let Spot { call, place, at } = spot;
        let of = if place.is_empty() { String::new() } else { format!("`{place}` of ") };
        for (name, value) in given {
            let Some(field) = known.iter().find(|field| field.name == name.name) else {
                let names = || known.iter().map(|field| field.name);
                let hint = match nearest(&name.name, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it takes {}", names().collect::<Vec<_>>().join(", ")),
                };
                let message = format!("{of}`{}` takes no field `{}`", call.path(), name.name);
                self.error("unknown_field", name.pos, message, Some(hint));
                continue;
            };
            let inner = if place.is_empty() { field.name.to_owned() } else { format!("{place}.{}", field.name) };
            if let Some(found) = self.misfit(field, value, true) {
                let message = format!("`{inner}` of `{}` is {}, not {found}", call.path(), kinds(field.kind));
                let hint = hint_of(field);
                self.error("field_type", or(value.start_position(), name.pos), message, Some(hint));
            } else {
                self.inside(field, value, Spot { call, place: &inner, at: name.pos });
            }
        }
        let is_given = |field: &&Field| given.iter().any(|(name, _)| name.name == field.name);
        let missing: Vec<&Field> = known.iter().filter(|field| !field.is_optional() && !is_given(field)).collect();
        if let [first, ..] = missing.as_slice() {
            let names = missing.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ");
            let plural = if missing.len() == 1 { "" } else { "s" };
            let message = format!("{of}`{}` needs the field{plural} {names}", call.path());
            self.error("missing_field", at, message, Some(hint_of(first)));
        }
    }

    /// The type of the given value, in words, if it can't be the expected one.
    fn misfit(&self, expected: &Field, given: &Expr, in_map: bool) -> Option<&'static str> {
        let Known::Value(found, _) = self.known(given) else { return None };
        // JSON has neither characters nor whole numbers of their own.
        let found = match (given, found) {
            (Expr::CharConstant(..), _) if in_map => "string",
            (Expr::FloatConstant(value, _), _) if in_map && value.fract() == 0.0 => "int",
            _ => found,
        };
        let fits = alternatives(found)
            .any(|found| accepts(expected.kind, found) || (found == "()" && expected.is_optional() && in_map));
        if fits { None } else { alternatives(found).next().map(said) }
    }
}

/// True if a type of the registry allows a value of another one; an unknown type is allowed.
pub(super) fn accepts(kind: &str, found: &str) -> bool {
    let is_known = |word: &str| WORDS.iter().any(|(known, _)| *known == word);
    !is_known(found)
        || found == "any"
        || alternatives(kind)
            .any(|one| one == found || one == "any" || (one == "float" && found == "int") || !is_known(one))
}

fn alternatives(kind: &str) -> impl Iterator<Item = &str> {
    kind.trim_end_matches('?').split('|').map(str::trim)
}

/// A type of the registry in words.
fn kinds(kind: &str) -> String {
    let optional = kind.ends_with('?');
    let words: Vec<&str> = alternatives(kind).filter(|one| !(optional && *one == "()")).map(said).collect();
    match words.as_slice() {
        [] => "a value".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

fn said(word: &str) -> &'static str {
    WORDS.iter().find(|(known, _)| *known == word).map_or("a value", |(_, said)| said)
}

fn hint_of(field: &Field) -> String {
    let sample = match alternatives(field.kind).next() {
        Some("string") => "\"…\"",
        Some("int") => "1",
        Some("bool") => "true",
        Some("array") => "[…]",
        Some("map") => "#{ … }",
        _ => "…",
    };
    format!("write `{}: {sample}`", field.name)
}

/// The type of a literal.
pub(super) fn word_of(expression: &Expr) -> Option<&'static str> {
    Some(match expression {
        Expr::Unit(_) => "()",
        Expr::BoolConstant(..) => "bool",
        Expr::IntegerConstant(..) => "int",
        Expr::FloatConstant(..) => "float",
        Expr::CharConstant(..) => "char",
        Expr::StringConstant(..) | Expr::InterpolatedString(..) => "string",
        Expr::Array(..) => "array",
        Expr::Map(..) => "map",
        Expr::DynamicConstant(value, _) if value.clone().try_cast::<FnPtr>().is_some() => "function",
        // A closure that captures variables.
        Expr::Stmt(block) if matches!(block.iter().next(), Some(Stmt::Share(_))) => "function",
        _ => return None,
    })
}

fn or(position: Position, other: Position) -> Position {
    if position.is_none() { other } else { position }
}
