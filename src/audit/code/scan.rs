//! The matches of rules in a text.

use std::{cmp::Reverse, ops::Range};

use tree_sitter::{Node, Tree};

use super::{
    binding::Bindings,
    gaps,
    judge::{Edit, Judge},
    literal::Literals,
    rule::Config,
    rules::Rules,
    suppression::Suppressions,
    tree,
};
use base::{error::Error, language::Language, pulse::Pulse};

/// The number of nodes between two looks at the pulse.
const NODES_PER_PULSE: usize = 256;

/// A match of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The rule's name.
    pub rule: String,
    /// Its bytes.
    pub range: Range<usize>,
    /// The edit of its rule; none if the rule has no fix, or the match is to stay.
    pub edit: Option<Edit>,
    /// The texts that would end the code within a page that the match stands in; none outside of such code.
    pub(crate) ends: &'static [&'static str],
    /// True if the edit would lose code that `$$$` left out before a mark.
    pub(crate) has_lost: bool,
}

/// The results of one reading of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Every match, in the order of the text; nested ones too.
    pub matches: Vec<Match>,
    /// The number of syntax errors.
    pub errors: u64,
    /// The number of places of lists without an element, as in `f(, z)`, `[a,, b]` and `{ , z }`.
    pub empty: u64,
}

impl Scan {
    /// Counts the faults of one tree.
    pub(super) fn count(&mut self, tree: &Tree) {
        self.errors += tree::errors_of(tree);
        self.empty += gaps::empty_places(tree);
    }
}

/// Finds every match in one tree of a text. `path` decides which rules concern the file.
pub(super) fn scan(
    rules: &Rules,
    (path, language): (&str, Language),
    (text, tree): (&str, &Tree),
    pulse: Pulse<'_>,
) -> Result<Vec<Match>, Error> {
    let configs = rules.of_file(path, language, text);
    if configs.is_empty() {
        return Ok(Vec::new());
    }
    found(rules, &configs, &Literals::new(language, text, tree.root_node()), tree, pulse)
}

/// Sorts matches by their place, outer ones first.
pub(super) fn sort(matches: &mut [Match]) {
    matches.sort_by(|a, b| {
        let place = |m: &Match| (m.range.start, Reverse(m.range.end));
        // Of two rules at one place the one that rewrites is first.
        (place(a), a.edit.is_none(), &a.rule).cmp(&(place(b), b.edit.is_none(), &b.rule))
    });
}

fn found(
    rules: &Rules,
    configs: &[&Config],
    file: &Literals<'_>,
    tree: &Tree,
    pulse: Pulse<'_>,
) -> Result<Vec<Match>, Error> {
    let root = tree.root_node();
    let suppressions = match rules.is_suppressible {
        true => Suppressions::read(file.text, root),
        false => Suppressions::default(),
    };
    let mut found = Vec::new();
    if suppressions.is_everything() {
        return Ok(found);
    }
    for (count, node) in tree::descend(root).enumerate() {
        if count % NODES_PER_PULSE == 0 {
            pulse()?;
        }
        for config in configs {
            let named = &config.named;
            let judge = Judge { file, root, named, utilities: &rules.utilities, call: None, exported: None };
            if let Some(one) = of_node(config, &judge, node)
                && !suppressions.has(&config.id, node)
            {
                found.push(one);
            }
        }
    }
    Ok(found)
}

fn of_node<'t>(config: &Config, judge: &Judge<'_, 't>, node: Node<'t>) -> Option<Match> {
    // Most nodes are of another kind, and need no bindings.
    if config.core.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&node.kind_id())) {
        return None;
    }
    let mut bindings = Bindings::default();
    let node = judge.core(&config.core, &config.rewriters, node, &mut bindings)?;
    let is_done = config.form.as_ref().is_some_and(|form| form.has(judge.file.text, judge.root, node));
    // A pattern goes over what was not understood, and the new text has it only as a part of a variable.
    let is_lost = |inner: Node<'t>| inner.is_error() && !bindings.hold(&inner.byte_range());
    let stays = is_done || node.has_error() && tree::descend(node).any(is_lost);
    let edit = config.fix.as_ref().filter(|_| !stays).and_then(|fix| judge.edit(fix, node, &bindings));
    Some(Match { rule: config.id.clone(), range: node.byte_range(), edit, ends: &[], has_lost: bindings.has_lost() })
}
