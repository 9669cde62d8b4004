//! The new text of a match: a text with the variables of its rule.

use std::{collections::BTreeSet, ops::Range};

use super::{
    binding::Bindings,
    grammar,
    layout::{self, Lines},
    literal::{self, Literals},
};
use base::{error::Error, language::Language};

/// A text with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// The lists that a comma follows. They are written without a comma of their own at the end.
    before_comma: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Lines),
    /// A variable, with the indentation of its line in the template.
    Slot {
        slot: Slot,
        indentation: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slot {
    One(String),
    Many(String),
    Made(String),
}

impl Template {
    /// Reads a template. `made` are the variables whose texts the rule makes.
    pub(super) fn parse(language: Language, text: &str, made: &BTreeSet<String>) -> Result<Self, Error> {
        let kept = literal::of_fix(language, text)?;
        let lines =
            |range: Range<usize>| Lines::new(&text[range.clone()], |begin| kept.contains(&(range.start + begin)));
        let mut pieces = Vec::new();
        let (mut done, mut at) = (0, 0);
        while let Some(dollar) = memchr::memchr(b'$', &text.as_bytes()[at..]).map(|found| at + found) {
            match slot(&text[dollar..], made) {
                Some((slot, length)) => {
                    pieces.push(Piece::Text(lines(done..dollar)));
                    let indentation = layout::indentation(text, dollar, |begin| kept.contains(&begin));
                    pieces.push(Piece::Slot { slot, indentation });
                    at = dollar + length;
                    done = at;
                }
                None => at = dollar + 1,
            }
        }
        pieces.push(Piece::Text(lines(done..text.len())));
        let before_comma = pieces.windows(2).filter_map(|pair| match pair {
            [Piece::Slot { slot: Slot::Many(name), .. }, Piece::Text(after)] => {
                after.text().trim_ascii_start().starts_with(',').then(|| name.clone())
            }
            _ => None,
        });
        let before_comma = before_comma.collect();
        Ok(Template { pieces, before_comma })
    }

    /// The new text for a match that begins at `start`. Variables without nodes are left out.
    pub(super) fn render(&self, file: &Literals<'_>, start: usize, bindings: &Bindings<'_>) -> Lines {
        let mut out = Lines::plain("");
        for piece in &self.pieces {
            match piece {
                Piece::Text(lines) => out.push(lines.clone()),
                Piece::Slot { slot, indentation } => {
                    if let Some(lines) = self.lines(slot, file, bindings, *indentation) {
                        out.push(lines);
                    }
                }
            }
        }
        if out.is_one() { out } else { out.shifted(0, file.indentation_of_match(start)) }
    }

    /// True if a variable ends with a comment, and text of the template, or of the file after it, would become a part of that comment.
    pub(super) fn extends_comment(&self, file: &Literals<'_>, bindings: &Bindings<'_>, after: &str) -> bool {
        let comments = bindings.comments_at_end(file.text);
        let has_text = |line: &str| !line.split('\n').next().unwrap_or_default().trim_ascii().is_empty();
        !comments.is_empty()
            && self.pieces.iter().enumerate().any(|(at, piece)| {
                let Piece::Slot { slot, .. } = piece else { return false };
                let text = self.lines(slot, file, bindings, 0).map(|lines| lines.text()).unwrap_or_default();
                let is_followed = match self.pieces.get(at + 1) {
                    Some(Piece::Text(lines)) if !lines.is_one() || has_text(&lines.text()) => has_text(&lines.text()),
                    Some(Piece::Text(_)) if at + 2 == self.pieces.len() => has_text(after),
                    _ => true,
                };
                is_followed && comments.iter().any(|comment| text.ends_with(comment))
            })
    }

    fn lines(&self, slot: &Slot, file: &Literals<'_>, bindings: &Bindings<'_>, indentation: usize) -> Option<Lines> {
        let range = match slot {
            Slot::Made(name) => return Some(bindings.made(name)?.clone().shifted(0, indentation)),
            Slot::One(name) => bindings.one(name)?.byte_range(),
            Slot::Many(name) => {
                let nodes = match bindings.many(name) {
                    [list @ .., comma]
                        if !list.is_empty() && comma.kind() == "," && self.before_comma.contains(name) =>
                    {
                        list
                    }
                    all => all,
                };
                nodes.first()?.start_byte()..nodes.last()?.end_byte()
            }
        };
        let lines = file.lines(range.clone())?;
        Some(if lines.is_one() { lines } else { lines.shifted(file.indentation(range.start), indentation) })
    }
}

/// The variable at the begin of a text that begins with `$`, and its length.
fn slot(text: &str, made: &BTreeSet<String>) -> Option<(Slot, usize)> {
    let n_dollars = text.bytes().take(3).take_while(|byte| *byte == b'$').count();
    let after = &text[n_dollars..];
    let name = &after[..after.find(|c| !grammar::is_name_char(c)).unwrap_or(after.len())];
    if !grammar::is_name(name) {
        return None;
    }
    let slot = match n_dollars {
        3 => Slot::Many(name.to_owned()),
        _ if made.contains(name) => Slot::Made(name.to_owned()),
        _ => Slot::One(name.to_owned()),
    };
    Some((slot, n_dollars + name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, pieces: &[&str]) {
        let parsed = Template::parse(Language::JavaScript, text, &BTreeSet::from(["M".to_owned()])).unwrap();
        let shown = parsed.pieces.iter().map(|piece| match piece {
            Piece::Text(lines) => lines.text(),
            Piece::Slot { slot: Slot::One(name), indentation } => format!("one {name} {indentation}"),
            Piece::Slot { slot: Slot::Many(name), indentation } => format!("many {name} {indentation}"),
            Piece::Slot { slot: Slot::Made(name), indentation } => format!("made {name} {indentation}"),
        });
        assert_eq!(shown.collect::<Vec<_>>(), pieces);
    }

    #[test]
    fn variables_are_found_in_a_text() {
        check("costs $5", &["costs $5"]);
        check("a\n  $A b", &["a\n  ", "one A 2", " b"]);
        check("$$$A$$B$M", &["", "many A 0", "", "one B 0", "", "made M 0", ""]);
        check("$$$$A", &["$", "many A 0", ""]);
        check("$$$M $a", &["", "many M 0", " $a"]);
    }
}
