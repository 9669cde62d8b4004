//! The kinds of the differences that fixes by the schema make.

use serde_json::Value;

use super::{
    super::kind::{Kind, Tally},
    structure::ValueMap,
};

/// The fixes that decide the kind of a replaced value.
pub(super) struct Rules<'a> {
    /// The maps of values by place in the schema.
    pub(super) maps: Vec<&'a ValueMap>,
    /// True if a default stands in place of `null` and the empty text.
    pub(super) fills_empty: bool,
}

/// Counts the differences between a value after the fixes at pointers and the result.
///
/// An added member or item is a default and a missing one is removed, each with all that it holds. A replaced value is one that
/// a map names, an array of the old one, a default in place of nothing, or a coercion.
pub(super) fn differences(before: &Value, after: &Value, rules: &Rules<'_>, tally: &mut Tally) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                match new.get(name) {
                    Some(now) => differences(value, now, rules, tally),
                    None => tally.add(Kind::RemoveUnknown, true),
                }
            }
            new.keys().filter(|name| !old.contains_key(*name)).for_each(|_| tally.add(Kind::Defaults, true));
        }
        (Value::Array(old), Value::Array(new)) => {
            old.iter().zip(new).for_each(|(old, new)| differences(old, new, rules, tally));
            new.iter().skip(old.len()).for_each(|_| tally.add(Kind::Defaults, true));
            old.iter().skip(new.len()).for_each(|_| tally.add(Kind::RemoveUnknown, true));
        }
        (_, Value::Array(new)) if matches!(new.as_slice(), [only] if only == before) => {
            tally.add(Kind::WrapArray, true);
        }
        (_, _) => {
            let is_mapped = rules.maps.iter().any(|map| map.get(before) == Some(after));
            let is_filled = rules.fills_empty && (before.is_null() || before == "");
            tally.add(
                match (is_mapped, is_filled) {
                    (true, _) => Kind::Enum,
                    (false, true) => Kind::Defaults,
                    (false, false) => Kind::Coerce,
                },
                true,
            );
        }
    }
}
