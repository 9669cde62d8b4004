//! The differences of two values.

use serde_json::Value;

/// A difference that only the schema can explain.
pub(super) struct Difference<'v> {
    pub(super) place: Vec<String>,
    pub(super) old: Option<&'v Value>,
    pub(super) new: Option<&'v Value>,
}

/// Lists the differences. A value that became an array of itself may differ in that array too.
pub(super) fn compare<'v>(
    (old, new): (&'v Value, &'v Value),
    place: &[String],
    wraps: &dyn Fn(&Value, &Value) -> bool,
    found: &mut Vec<Difference<'v>>,
) {
    let at = |name: &str| [place, &[name.to_owned()]].concat();
    let mut differ = |name: &str, old: Option<&'v Value>, new: Option<&'v Value>| match (old, new) {
        (Some(old), Some(new)) => compare((old, new), &at(name), wraps, found),
        (old, new) => found.push(Difference { place: at(name), old, new }),
    };
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            old.iter().for_each(|(name, value)| differ(name, Some(value), new.get(name)));
            let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
            added.for_each(|(name, value)| differ(name, None, Some(value)));
        }
        (Value::Array(old), Value::Array(new)) => {
            (0..old.len().max(new.len())).for_each(|n| differ(&n.to_string(), old.get(n), new.get(n)));
        }
        (_, _) => {
            found.push(Difference { place: place.to_vec(), old: Some(old), new: Some(new) });
            if wraps(old, new) {
                compare((old, &new[0]), &at("0"), wraps, found);
            }
        }
    }
}
