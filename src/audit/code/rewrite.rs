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
    let Some(mut pass) = Pass::make(source, text, &first.matches)? else { return Ok(None) };
    let mut n_edits = pass.n_edits;
    for _ in 1..MOST_PASSES {
        if pass.text.len() > text.len() * MOST_GROWTH.1 + MOST_GROWTH.0 {
            break;
        }
        pass.check_literals(source, pulse)?;
        let scan = source.scan(&pass.text, pulse)?;
        let Some(next) = Pass::make(source, &pass.text, &scan.matches)? else {
            return Ok((pass.text != text).then_some(Rewritten { text: pass.text, edits: n_edits, scan }));
        };
        n_edits += next.n_edits;
        pass = next;
    }
    let found = source.scan(&pass.text, pulse)?;
    let rule = found.matches.first().map(|found| found.rule.clone()).unwrap_or_default();
    let message = format!("the rule `{rule}` would rewrite `{}` for ever", source.path());
    Err(Error::new(Code::InvalidInput, message).detail("rule", rule))
}

/// The result of the edits of one reading.
struct Pass {
    text: String,
    n_edits: u64,
    /// The places of the lines that were indented anew, each with the rule that did it.
    moved: Vec<(usize, String)>,
    /// Those of the lines that were kept.
    kept: Vec<(usize, String)>,
}

impl Pass {
    /// Makes edits; none if there is nothing to do. Of overlapping edits the first is made.
    fn make(source: &Source<'_>, text: &str, found: &[Match]) -> Result<Option<Pass>, Error> {
        let mut pass =
            Pass { text: String::with_capacity(text.len()), n_edits: 0, moved: Vec::new(), kept: Vec::new() };
        let mut at = 0;
        for (found, edit) in found.iter().filter_map(|found| Some((found, found.edit.as_ref()?))) {
            let Some(old) = text.get(edit.range.clone()) else { continue };
            if edit.range.start >= at && old != edit.text {
                if found.has_lost {
                    let message = format!(
                        "the rule `{}` would lose code of `{}` before the mark after `$$$`",
                        found.rule,
                        source.path()
                    );
                    let error = Error::new(Code::InvalidInput, message).detail("rule", found.rule.as_str());
                    return Err(error.hint("leave the mark out of the pattern, or write a line break in its place"));
                }
                let out = &mut pass.text;
                out.push_str(&text[at..edit.range.start]);
                let after = &text[edit.range.end..];
                let is_new = |end: &&&str| {
                    occurrences(end, (out, &edit.text, after))
                        > occurrences(end, (&text[..edit.range.start], old, after))
                };
                if let Some(end) = found.ends.iter().find(is_new) {
                    let message =
                        format!("the rule `{}` writes `{end}` within code of `{}`", found.rule, source.path());
                    return Err(Error::new(Code::InvalidInput, message).detail("rule", found.rule.as_str()));
                }
                let places = |begins: &[usize]| -> Vec<(usize, String)> {
                    begins.iter().map(|begin| (out.len() + begin, found.rule.clone())).collect()
                };
                pass.moved.extend(places(&edit.moved));
                pass.kept.extend(places(&edit.kept));
                out.push_str(&edit.text);
                at = edit.range.end;
                pass.n_edits += 1;
            }
        }
        pass.text.push_str(&text[at..]);
        Ok((pass.n_edits > 0).then_some(pass))
    }

    /// `invalid_input` if a line with a new indentation is within a literal now, or a line that was kept is outside of one. Then the
    /// fix turned code into a literal or a literal into code, or the fix does not parse.
    fn check_literals(&self, source: &Source<'_>, pulse: Pulse<'_>) -> Result<(), Error> {
        if self.moved.is_empty() && self.kept.is_empty() {
            return Ok(());
        }
        let is = source.kept(&self.text, pulse)?;
        let moved =
            self.moved.iter().find(|(begin, _)| is.content.contains(begin)).map(|(_, rule)| (rule, "of code into"));
        let kept = self.kept.iter().find(|(begin, _)| !is.lines.contains(begin)).map(|(_, rule)| (rule, "out of"));
        match moved.or(kept) {
            None => Ok(()),
            Some((rule, way)) => {
                let path = source.path();
                let message = format!(
                    "the rule `{rule}` takes lines {way} a literal of `{path}`, and their indentation is not known"
                );
                let error = Error::new(Code::InvalidInput, message).detail("rule", rule.as_str());
                Err(error.hint("write the fix in one line, or leave the literal out of it"))
            }
        }
    }
}

/// The number of times that a word is in a text or reaches into it, in any case.
fn occurrences(word: &str, (before, text, after): (&str, &str, &str)) -> usize {
    let before = &before.as_bytes()[before.len().saturating_sub(word.len())..];
    let after = &after.as_bytes()[..after.len().min(word.len())];
    let all = [before, text.as_bytes(), after].concat().to_ascii_lowercase();
    memchr::memmem::find_iter(&all, word).count()
}
