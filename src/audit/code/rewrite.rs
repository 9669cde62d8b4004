//! The text that rules make of a text: all matches are rewritten, and the result again, until nothing is left.

use super::{
    scan::{Match, Scan},
    source::Source,
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

/// The number of times that a text is rewritten.
const MOST_PASSES: usize = 32;

/// The bytes by which a text may grow, and the factor. A rule that doubles its matches would fill the memory.
const MOST_GROWTH: (usize, usize) = (1 << 17, 8);

/// A rewritten text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The new text.
    pub text: String,
    /// The number of edits of all passes.
    pub edits: u64,
    /// The reading of the new text, in which nothing is left to rewrite.
    pub scan: Scan,
}

/// Rewrites a text that was read before; none if nothing changes. `invalid_input` if the rules would go on for ever, or
/// would end a script within a page.
pub fn rewritten(
    source: &Source<'_>,
    (text, first): (&str, &Scan),
    pulse: Pulse<'_>,
) -> Result<Option<Rewritten>, Error> {
    let Some((mut current, mut n_edits)) = pass(source, text, &first.matches)? else { return Ok(None) };
    for _ in 1..MOST_PASSES {
        if current.len() > text.len() * MOST_GROWTH.1 + MOST_GROWTH.0 {
            break;
        }
        let scan = source.scan(&current, pulse)?;
        let Some((next, made)) = pass(source, &current, &scan.matches)? else {
            return Ok((current != text).then_some(Rewritten { text: current, edits: n_edits, scan }));
        };
        current = next;
        n_edits += made;
    }
    let found = source.scan(&current, pulse)?;
    let rule = found.matches.first().map(|found| found.rule.clone()).unwrap_or_default();
    let message = format!("the rule `{rule}` would rewrite `{}` for ever", source.path());
    Err(Error::new(Code::InvalidInput, message).detail("rule", rule))
}

/// The text after one pass and the number of its edits; none if there is nothing to do. Of overlapping edits the first is made.
fn pass(source: &Source<'_>, text: &str, found: &[Match]) -> Result<Option<(String, u64)>, Error> {
    let mut out = String::with_capacity(text.len());
    let (mut at, mut made) = (0, 0);
    for (found, edit) in found.iter().filter_map(|found| Some((found, found.edit.as_ref()?))) {
        let Some(old) = text.get(edit.range.clone()) else { continue };
        if edit.range.start >= at && old != edit.text {
            out.push_str(&text[at..edit.range.start]);
            let after = &text[edit.range.end..];
            let is_new = |end: &&&str| {
                occurrences(end, (&out, &edit.text, after)) > occurrences(end, (&text[..edit.range.start], old, after))
            };
            if let Some(end) = found.ends.iter().find(is_new) {
                let message = format!("the rule `{}` writes `{end}` within code of `{}`", found.rule, source.path());
                return Err(Error::new(Code::InvalidInput, message).detail("rule", found.rule.as_str()));
            }
            out.push_str(&edit.text);
            at = edit.range.end;
            made += 1;
        }
    }
    out.push_str(&text[at..]);
    Ok((made > 0).then_some((out, made)))
}

/// The number of times that a word is in a text or reaches into it, in any case.
fn occurrences(word: &str, (before, text, after): (&str, &str, &str)) -> usize {
    let before = &before.as_bytes()[before.len().saturating_sub(word.len())..];
    let after = &after.as_bytes()[..after.len().min(word.len())];
    let all = [before, text.as_bytes(), after].concat().to_ascii_lowercase();
    memchr::memmem::find_iter(&all, word).count()
}
