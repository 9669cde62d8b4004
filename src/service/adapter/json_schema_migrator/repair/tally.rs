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
/// maps name, an array of the old one, which may differ in turn, a default in place of nothing, or a coercion.
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
        (_, _) if rules.maps(before, after) => tally.add(Kind::Enum, true),
        (_, Value::Array(new)) if new.len() == 1 && (new[0] == *before || !rules.fills(before)) => {
            tally.add(Kind::WrapArray, true);
            differences(before, &new[0], rules, tally);
        }
        (_, _) if rules.fills(before) => tally.add(Kind::Defaults, true),
        (_, _) => tally.add(Kind::Coerce, true),
    }
}

impl Rules<'_> {
    /// True if the maps of the stages make the new value of the old one.
    fn maps(&self, before: &Value, after: &Value) -> bool {
        let mut reached = vec![before];
        for map in &self.maps {
            let more: Vec<&Value> = reached.iter().filter_map(|old| map.get(old)).collect();
            reached.extend(more);
        }
        reached[1..].contains(&after)
    }

    fn fills(&self, before: &Value) -> bool {
        self.fills_empty && (before.is_null() || before == "")
    }
}
