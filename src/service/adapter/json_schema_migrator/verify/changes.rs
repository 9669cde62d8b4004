//! The differences that the schema forces, and the fixes that allow each.

use serde_json::Value;

use super::{
    super::params::{DefaultMode, Fixes, RemoveMode},
    cuts::{Changes, pointer},
    expected::{Expected, mapped, put, take},
    judge::Judge,
};
use crate::audit::document::Cut;

/// A difference that only the schema can explain.
struct Difference<'v> {
    place: Vec<String>,
    old: Option<&'v Value>,
    new: Option<&'v Value>,
}

/// Judges the differences that the fixes at pointers leave, and counts them. The error is the reason that one is not allowed.
pub(super) fn judge(
    expected: &mut Expected<'_>,
    after: &Value,
    judge: &Judge,
    defaults: &[Value],
    changes: &mut Changes,
) -> Result<(), String> {
    let base = expected.value.clone();
    let mut differences = Vec::new();
    compare(&base, after, Vec::new(), &mut differences);
    for Difference { place, old, new } in differences {
        let kind = explain(expected, defaults, old, new)
            .ok_or_else(|| format!("`{}` changed, and no fix allows it", pointer(&place)))?;
        let origin = changes.origin(&place);
        match (old, new) {
            (Some(old), Some(new)) => {
                let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
                let cut = if is_scalar(old) && is_scalar(new) { Cut::Scalar } else { Cut::Value };
                changes.before.push(cut(pointer(&origin)));
                changes.after.push(cut(pointer(&place)));
            }
            (Some(_), None) => {
                changes.before.push(Cut::Member(pointer(&origin)));
            }
            (None, _) => changes.after.push(Cut::Member(pointer(&place))),
        }
        if is_needed(expected, kind) && without(after, &place, old).is_some_and(|value| judge.accepts(&value)) {
            return Err(format!("`{}` changed, and the file is valid without that", pointer(&place)));
        }
        *expected.counts.entry(kind).or_default() += 1;
    }
    Ok(())
}

/// The value with one difference undone; none where items follow, which would then be others.
fn without(after: &Value, place: &[String], old: Option<&Value>) -> Option<Value> {
    let mut value = after.clone();
    match old {
        Some(old) => put(&mut value, place, old.clone()).then_some(value),
        None => take(&mut value, place).map(|_| value),
    }
}

/// True if a difference of that kind has to be one that the schema forces.
fn is_needed(expected: &Expected<'_>, kind: &str) -> bool {
    let any = |test: fn(&Fixes) -> bool| expected.stages.iter().any(|fixes| test(fixes));
    match kind {
        "fixes_defaults" => {
            !any(|fixes| matches!(fixes.default_mode(), Some(DefaultMode::All | DefaultMode::Empty)))
                && expected.stages.len() == 1
        }
        "fixes_remove_unknown" => {
            !any(|fixes| fixes.remove_mode() == Some(RemoveMode::All)) && expected.stages.len() == 1
        }
        "fixes_coerce" | "fixes_wrap_array" => expected.stages.len() == 1,
        _ => false,
    }
}

fn compare<'v>(old: &'v Value, new: &'v Value, place: Vec<String>, found: &mut Vec<Difference<'v>>) {
    let at = |name: &str| [&place[..], &[name.to_owned()][..]].concat();
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                match new.get(name) {
                    Some(now) => compare(value, now, at(name), found),
                    None => found.push(Difference { place: at(name), old: Some(value), new: None }),
                }
            }
            let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
            found.extend(added.map(|(name, value)| Difference { place: at(name), old: None, new: Some(value) }));
        }
        (Value::Array(old), Value::Array(new)) => {
            for n in 0..old.len().max(new.len()) {
                match (old.get(n), new.get(n)) {
                    (Some(old), Some(new)) => compare(old, new, at(&n.to_string()), found),
                    (old, new) => found.push(Difference { place: at(&n.to_string()), old, new }),
                }
            }
        }
        (_, _) => found.push(Difference { place, old: Some(old), new: Some(new) }),
    }
}

/// The count of the fix that allows a difference.
fn explain(
    expected: &Expected<'_>,
    defaults: &[Value],
    old: Option<&Value>,
    new: Option<&Value>,
) -> Option<&'static str> {
    let any = |test: &dyn Fn(&Fixes) -> bool| expected.stages.iter().any(|fixes| test(fixes));
    match (old, new) {
        (None, Some(new)) => {
            (any(&|fixes| fixes.default_mode().is_some()) && is_default(new, defaults)).then_some("fixes_defaults")
        }
        (Some(_), None) => any(&|fixes| fixes.removes()).then_some("fixes_remove_unknown"),
        (Some(old), Some(new)) => {
            if matches!(new, Value::Array(items) if matches!(items.as_slice(), [only] if only == old)) {
                return any(&|fixes| fixes.wraps_anywhere() || (fixes.coerces_arrays() && !old.is_object()))
                    .then_some("fixes_wrap_array");
            }
            let is_map = |fixes: &Fixes| {
                let places = fixes.values.iter().filter(|(at, _)| at.starts_with('#'));
                places.into_iter().any(|(_, map)| mapped(map, old).as_ref() == Some(new))
            };
            if any(&is_map) {
                return Some("fixes_enum");
            }
            let is_void = old.is_null() || old.as_str() == Some("");
            if is_void && any(&|fixes| fixes.default_mode() == Some(DefaultMode::Empty)) {
                let also = any(&|fixes| fixes.coerces()) && same(old, new);
                return (is_default(new, defaults) || also).then_some("fixes_defaults");
            }
            let allowed =
                |fixes: &Fixes| fixes.coerces() && (same(old, new) || (fixes.coerces_arrays() && unwraps(old, new)));
            any(&allowed).then_some("fixes_coerce")
        }
        (None, None) => None,
    }
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
    let below = |default: &Value| match default {
        Value::Object(map) => map.values().cloned().collect(),
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    defaults.iter().any(|default| {
        let parts: Vec<Value> = below(default);
        parts.iter().any(|part| part == value || same(part, value)) || (!parts.is_empty() && is_part(value, &parts))
    }) || defaults.iter().any(|default| same(default, value))
}

fn unwraps(old: &Value, new: &Value) -> bool {
    matches!(old, Value::Array(items) if matches!(items.as_slice(), [only] if only == new || same(only, new)))
}

/// True if two scalars of different types mean the same to JavaScript, as far as ajv uses that.
fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::String(old), Value::Number(new)) => !old.is_empty() && number(old) == new.as_f64(),
        (Value::Number(old), Value::String(new)) => !new.is_empty() && number(new) == old.as_f64(),
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

fn number(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let lower = text.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            #[expect(clippy::cast_precision_loss, reason = "both sides of the comparison lose the same")]
            return u64::from_str_radix(digits, radix).ok().map(|number| number as f64);
        }
    }
    if text.is_empty() {
        return Some(0.0);
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}
