//! Comments that suppress rules: `ast-grep-ignore` for all, `ast-grep-ignore: a, b` for some. One at the end of a line is for the
//! statement before it, another one for the next line, and one in the first line before an empty line for the file.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::tree;

const WORD: &str = "ast-grep-ignore";

/// The rules of a comment; none if it is for all.
type Chosen = Option<BTreeSet<String>>;

/// The comments of a file.
#[derive(Debug, Default)]
pub(super) struct Suppressions {
    file: Option<Chosen>,
    lines: BTreeMap<usize, Chosen>,
}

impl Suppressions {
    /// Looks for comments.
    pub(super) fn read(text: &str, root: Node<'_>) -> Self {
        let mut all = Suppressions::default();
        if memchr::memmem::find(text.as_bytes(), WORD.as_bytes()).is_none() {
            return all;
        }
        for node in tree::descend(root) {
            let own = tree::text_of(text, node);
            if !node.kind().contains("comment")
                || !own.trim_start_matches(|c: char| !c.is_alphabetic()).starts_with(WORD)
            {
                continue;
            }
            let line = node.start_position().row;
            let before = node.prev_sibling().filter(|before| before.end_position().row == line);
            let is_apart = || node.next_sibling().is_none_or(|next| next.start_position().row >= 2);
            if line == 0 && before.is_none() && is_apart() {
                all.file = Some(chosen(own));
                if all.is_everything() {
                    break;
                }
            } else {
                let line = before.map_or(line + 1, |before| before.start_position().row);
                all.lines.insert(line, chosen(own));
            }
        }
        all
    }

    /// True if no rule looks at the file.
    pub(super) fn is_everything(&self) -> bool {
        self.file == Some(None)
    }

    /// True if a rule does not count at a node.
    pub(super) fn has(&self, rule: &str, node: Node<'_>) -> bool {
        let comments = self.file.iter().chain(self.lines.get(&node.start_position().row));
        comments.into_iter().any(|chosen| chosen.as_ref().is_none_or(|chosen| chosen.contains(rule)))
    }
}

fn chosen(comment: &str) -> Chosen {
    let (_, after) = comment.trim().split_once(WORD)?;
    let (_, rules) = after.trim().split_once(':')?;
    // What follows a blank is the end of the comment.
    let name = |rule: &str| rule.trim_start().split(' ').next().unwrap_or_default().to_owned();
    Some(rules.split(',').map(name).collect())
}
