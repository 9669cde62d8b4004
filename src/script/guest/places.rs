//! The places of the keys of a header, for errors in it.

use rhai::Expr;

use crate::guest::place;
use base::frame::Inspection;

/// Notes the places of the keys of a literal map.
pub(super) fn note(expression: &Expr, within: &str, found: &mut Inspection) {
    let Expr::Map(entries, _) = expression else { return };
    for (name, value) in &entries.0 {
        let path = if within.is_empty() { name.name.to_string() } else { format!("{within}.{}", name.name) };
        note(value, &path, found);
        if let Some(at) = place::location(&found.path, name.pos) {
            found.places.insert(path, at);
        }
    }
}
