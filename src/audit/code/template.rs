//! The new text of a match: a text with the variables of its rule.

use std::collections::BTreeSet;

use super::{binding::Bindings, grammar, layout, tree};

/// A text with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
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
    pub(super) fn parse(text: &str, made: &BTreeSet<String>) -> Self {
        let mut pieces = Vec::new();
        let (mut done, mut at) = (0, 0);
        while let Some(dollar) = memchr::memchr(b'$', &text.as_bytes()[at..]).map(|found| at + found) {
            match slot(&text[dollar..], made) {
                Some((slot, length)) => {
                    pieces.push(Piece::Text(text[done..dollar].to_owned()));
                    pieces.push(Piece::Slot { slot, indentation: layout::indentation(text, dollar) });
                    at = dollar + length;
                    done = at;
                }
                None => at = dollar + 1,
            }
        }
        pieces.push(Piece::Text(text[done..].to_owned()));
        Template { pieces }
    }

    /// The new text for a match that begins at `start`. Variables without nodes are left out.
    pub(super) fn render(&self, text: &str, start: usize, bindings: &Bindings<'_>) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Slot { slot, indentation } => {
                    out.push_str(&slot.text(text, bindings, *indentation).unwrap_or_default());
                }
            }
        }
        layout::shifted(&out, 0, layout::indentation(text, start))
    }
}

impl Slot {
    fn text(&self, text: &str, bindings: &Bindings<'_>, indentation: usize) -> Option<String> {
        let (start, end) = match self {
            Slot::Made(name) => return Some(layout::shifted(bindings.made(name)?, 0, indentation)),
            Slot::One(name) => {
                let node = bindings.one(name)?;
                return Some(moved(text, tree::text_of(text, node), node.start_byte(), indentation));
            }
            Slot::Many(name) => {
                let nodes = bindings.many(name);
                (nodes.first()?.start_byte(), nodes.last()?.end_byte())
            }
        };
        Some(moved(text, text.get(start..end)?, start, indentation))
    }
}

/// A piece of the file, written for another indentation.
fn moved(text: &str, piece: &str, start: usize, indentation: usize) -> String {
    layout::shifted(piece, layout::indentation(text, start), indentation)
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
        let parsed = Template::parse(text, &BTreeSet::from(["M".to_owned()]));
        let shown = parsed.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
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
