//! The text that rules make of a text: all matches are rewritten, and the result again, until nothing is left.

use super::{
    rules::Rules,
    scan::{Match, matches},
};
use crate::base::{
    error::{Code, Error},
    language::Language,
    pulse::Pulse,
};

/// The number of times that a text is rewritten.
const MOST_PASSES: usize = 32;

/// The bytes by which a text may grow, and the factor. A rule that doubles its matches would fill the memory.
const MOST_GROWTH: (usize, usize) = (1 << 17, 8);

/// The rewritten text and the number of edits; none if nothing changes. `invalid_input` if the rules would go on for ever.
pub(crate) fn rewritten(
    rules: &Rules,
    path: &str,
    language: Language,
    text: &str,
    pulse: Pulse<'_>,
) -> Result<Option<(String, u64)>, Error> {
    let mut current = text.to_owned();
    let mut n_edits = 0;
    for _ in 0..MOST_PASSES {
        let found = matches(rules, path, language, &current, pulse)?;
        let Some((next, made)) = pass(&current, &found) else {
            return Ok((current != text).then_some((current, n_edits)));
        };
        if next.len() > text.len() * MOST_GROWTH.1 + MOST_GROWTH.0 {
            break;
        }
        current = next;
        n_edits += made;
    }
    let found = matches(rules, path, language, &current, pulse)?;
    let rule = found.first().map(|found| found.rule.clone()).unwrap_or_default();
    let message = format!("the rule `{rule}` would rewrite `{path}` for ever");
    Err(Error::new(Code::InvalidInput, message).detail("rule", rule))
}

/// The text after one pass and the number of its edits; none if there is nothing to do. Of overlapping edits the first is made.
fn pass(text: &str, found: &[Match]) -> Option<(String, u64)> {
    let mut out = String::with_capacity(text.len());
    let (mut at, mut made) = (0, 0);
    for edit in found.iter().filter_map(|found| found.edit.as_ref()) {
        let Some(old) = text.get(edit.range.clone()) else { continue };
        if edit.range.start >= at && old != edit.text {
            out.push_str(&text[at..edit.range.start]);
            out.push_str(&edit.text);
            at = edit.range.end;
            made += 1;
        }
    }
    out.push_str(&text[at..]);
    (made > 0).then_some((out, made))
}
