//! The differences that the schema forces, and the fixes that allow each.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::params::{DefaultMode, Fixes},
    cuts::{Changes, pointer},
    difference::{Difference, compare},
    expected::{Expected, mapped},
    grounds::{Grounds, Worlds},
};
use audit::document::{Cut, Document};

/// The texts of the scalars of a file, by pointer.
pub(super) struct Texts<'t>(BTreeMap<&'t str, &'t str>);

impl<'t> Texts<'t> {
    pub(super) fn of(text: &'t str, document: &'t Document) -> Self {
        let values = document.atoms.iter().filter(|atom| !atom.is_key);
        Texts(values.filter_map(|atom| Some((atom.pointer.as_str(), text.get(atom.range.clone())?))).collect())
    }

    fn at(&self, place: &[String]) -> Option<&'t str> {
        self.0.get(pointer(place).as_str()).copied()
    }
}

/// Judges the differences that the fixes at pointers leave, and counts them. The error is the reason that one is not allowed.
pub(super) fn judge(
    expected: &mut Expected<'_>,
    after: &Value,
    grounds: &Grounds,
    (before_texts, after_texts): (&Texts<'_>, &Texts<'_>),
    changes: &mut Changes,
) -> Result<(), String> {
    let base = expected.value.clone();
    let mut differences = Vec::new();
    let wraps = |old: &Value, new: &Value| wraps(expected, old, new);
    compare((&base, after), &[], &wraps, &mut differences);
    let worlds = Worlds::new(grounds, expected, after, &differences, changes);
    for difference in &differences {
        let Difference { place, old, new } = difference;
        let origin = changes.origin(place);
        let texts = |below: &[String]| Spelled {
            old: before_texts.at(&[&origin, below].concat()),
            new: after_texts.at(&[place, below].concat()),
        };
        let kind = explain(expected, grounds, difference, &texts)
            .ok_or_else(|| format!("`{}` changed, and no fix allows it", pointer(place)))?;
        match (old, new) {
            (Some(old), Some(_)) if kind == "fixes_wrap_array" => changes.wrapped(place, old),
            (Some(old), Some(new)) => {
                let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
                let cut = if is_scalar(old) && is_scalar(new) { Cut::Scalar } else { Cut::Value };
                changes.replaced(place, old, cut);
            }
            (Some(_), None) => {
                changes.before.push(Cut::Member(pointer(&origin)));
            }
            (None, _) => changes.after.push(Cut::Member(pointer(place))),
        }
        if is_needed(expected, kind) && worlds.do_without(changes, place, *old) {
            return Err(format!("`{}` changed, and the file is valid without that", pointer(place)));
        }
        if let (Some(old), None) = (old, new)
            && worlds.know(changes, place, old, &expected.stages)
        {
            return Err(format!("`{}` was removed, and the schema names it", pointer(place)));
        }
        *expected.counts.entry(kind).or_default() += 1;
    }
    Ok(())
}

/// True if a difference of that kind has to be one that the schema forces.
fn is_needed(expected: &Expected<'_>, kind: &str) -> bool {
    let any = |test: fn(&Fixes) -> bool| expected.stages.iter().any(|fixes| test(fixes));
    match kind {
        "fixes_defaults" => !any(|fixes| matches!(fixes.default_mode(), Some(DefaultMode::All | DefaultMode::Empty))),
        "fixes_remove_unknown" => !any(Fixes::removes_all),
        "fixes_coerce" | "fixes_wrap_array" => true,
        _ => false,
    }
}

/// True if a value became an array of one item by wrapping, and not by a map or as a default.
fn wraps(expected: &Expected<'_>, old: &Value, new: &Value) -> bool {
    let any = |test: &dyn Fn(&Fixes) -> bool| expected.stages.iter().any(|fixes| test(fixes));
    let Value::Array(items) = new else { return false };
    let [only] = items.as_slice() else { return false };
    let is_void = old.is_null() || old.as_str() == Some("");
    !old.is_array()
        && !is_mapped(expected, old, new)
        && (only == old || !is_void || !any(&|fixes| fixes.default_mode() == Some(DefaultMode::Empty)))
        && any(&|fixes| fixes.wraps_anywhere() || (fixes.coerces_arrays() && !old.is_object()))
}

/// The texts of a scalar before and after; none for other values, and for those that were not in the file.
struct Spelled<'t> {
    old: Option<&'t str>,
    new: Option<&'t str>,
}

/// The count of the fix that allows a difference.
fn explain<'t>(
    expected: &Expected<'_>,
    grounds: &Grounds,
    &Difference { old, new, .. }: &Difference<'_>,
    texts: &dyn Fn(&[String]) -> Spelled<'t>,
) -> Option<&'static str> {
    let any = |test: &dyn Fn(&Fixes) -> bool| expected.stages.iter().any(|fixes| test(fixes));
    let (old, new) = match (old, new) {
        (None, Some(new)) => {
            let inserts = any(&|fixes| fixes.default_mode().is_some());
            return (inserts && is_default(new, &grounds.defaults)).then_some("fixes_defaults");
        }
        (Some(_), None) => return any(&Fixes::removes).then_some("fixes_remove_unknown"),
        (Some(old), Some(new)) => (old, new),
        (None, None) => return None,
    };
    let first = ["0".to_owned()];
    if wraps(expected, old, new) {
        let spelled = Spelled { new: texts(&first).new, ..texts(&[]) };
        let keeps_digits = !old.is_number() || new[0] != *old || spelled.old == spelled.new;
        return keeps_digits.then_some("fixes_wrap_array");
    }
    if is_mapped(expected, old, new) {
        return Some("fixes_enum");
    }
    let is_void = old.is_null() || old.as_str() == Some("");
    if is_void && any(&|fixes| fixes.default_mode() == Some(DefaultMode::Empty)) {
        let also = any(&|fixes| fixes.coerces()) && same(old, new, &texts(&[]));
        return (is_default(new, &grounds.defaults) || also).then_some("fixes_defaults");
    }
    let unwraps = || {
        let Value::Array(items) = old else { return false };
        let [only] = items.as_slice() else { return false };
        let spelled = Spelled { old: texts(&first).old, ..texts(&[]) };
        let is_same = only == new && (!new.is_number() || decimal(spelled.old) == decimal(spelled.new));
        is_same || same(only, new, &spelled)
    };
    let coerced = any(&|fixes| fixes.coerces()) && same(old, new, &texts(&[]));
    (coerced || (any(&|fixes| fixes.coerces_arrays()) && unwraps())).then_some("fixes_coerce")
}

/// True if a value becomes another by the maps for places in the schema, each stage once.
fn is_mapped(expected: &Expected<'_>, old: &Value, new: &Value) -> bool {
    let mut reached = vec![old.clone()];
    for fixes in &expected.stages {
        let maps = || fixes.values.iter().filter(|(at, _)| at.starts_with('#')).map(|(_, map)| map);
        let more: Vec<Value> = reached.iter().flat_map(|old| maps().filter_map(|map| mapped(map, old))).collect();
        reached.extend(more);
    }
    reached[1..].contains(new)
}

/// True if a value is a default, or is made of parts of defaults.
fn is_default(value: &Value, defaults: &[Value]) -> bool {
    defaults.contains(value)
        || match value {
            Value::Object(map) => map.values().all(|value| is_default(value, defaults)) || is_part(value, defaults),
            Value::Array(items) => items.iter().all(|value| is_default(value, defaults)) || is_part(value, defaults),
            scalar => is_part(scalar, defaults),
        }
}

fn is_part(value: &Value, defaults: &[Value]) -> bool {
    let nothing = Spelled { old: None, new: None };
    let below = |default: &Value| match default {
        Value::Object(map) => map.values().cloned().collect(),
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    defaults.iter().any(|default| {
        let parts: Vec<Value> = below(default);
        let is_one = |part: &Value| part == value || same(part, value, &nothing);
        parts.iter().any(is_one) || (!parts.is_empty() && is_part(value, &parts))
    }) || defaults.iter().any(|default| same(default, value, &nothing))
}

/// True if two scalars of different types mean the same to JavaScript, as far as ajv uses that, and no digit is lost.
fn same(old: &Value, new: &Value, spelled: &Spelled<'_>) -> bool {
    match (old, new) {
        (Value::String(old), Value::Number(new)) => {
            let written = spelled.new.map_or_else(|| new.to_string(), str::to_owned);
            !old.is_empty()
                && (radix(old).is_some_and(|old| new.as_u64() == Some(old)) || number(old) == number(&written))
        }
        (Value::Number(old), Value::String(new)) => {
            let written = spelled.old.map_or_else(|| old.to_string(), str::to_owned);
            let plain = |c: char| c.is_ascii_digit() || ".-+e".contains(c);
            *new == written && new.chars().all(plain) && new.parse().ok() == old.as_f64()
        }
        (Value::String(old), Value::Bool(new)) => *old == new.to_string(),
        (Value::Bool(old), Value::String(new)) => old.to_string() == *new,
        (Value::Bool(truth), Value::Number(number)) | (Value::Number(number), Value::Bool(truth)) => {
            number.as_f64() == Some(if *truth { 1.0 } else { 0.0 })
        }
        (Value::Null, Value::String(text)) | (Value::String(text), Value::Null) => text.is_empty(),
        (Value::Null, Value::Number(number)) | (Value::Number(number), Value::Null) => number.as_f64() == Some(0.0),
        (Value::Null, Value::Bool(truth)) | (Value::Bool(truth), Value::Null) => !truth,
        (_, _) => false,
    }
}

/// The whole number of a text in hexadecimal, octal or binary digits.
fn radix(text: &str) -> Option<u64> {
    let text = trimmed(text).to_ascii_lowercase();
    [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(prefix, radix)| {
        let digits = text.strip_prefix(prefix).filter(|digits| !digits.starts_with('+'))?;
        u64::from_str_radix(digits, radix).ok()
    })
}

/// The exact number of a text as JavaScript reads it; none if it is no number.
fn number(text: &str) -> Option<(String, i64)> {
    match trimmed(text) {
        "" => decimal(Some("0")),
        text => text.parse::<f64>().ok().filter(|number| number.is_finite()).and_then(|_| decimal(Some(text))),
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// The exact value of a decimal: `digits × 10^power`, without a zero at the end of the digits.
fn decimal(text: Option<&str>) -> Option<(String, i64)> {
    let lower = text?.to_ascii_lowercase();
    let (mantissa, power) = lower.split_once('e').unwrap_or((&lower, "0"));
    let mut power: i64 = power.parse().ok()?;
    if let Some((_, fraction)) = mantissa.split_once('.') {
        power = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    }
    let mut digits = mantissa.replace(['.', '+'], "");
    let negative = digits.starts_with('-');
    digits = digits.trim_start_matches('-').trim_start_matches('0').to_owned();
    while digits.ends_with('0') {
        digits.pop();
        power = power.checked_add(1)?;
    }
    match (digits.as_str(), negative) {
        ("", _) => Some(("0".to_owned(), 0)),
        (_, true) => Some((format!("-{digits}"), power)),
        (_, false) => Some((digits, power)),
    }
}
