//! The matches of rules in a text, with their variables and their edits.

use std::{collections::BTreeMap, ops::Range};

use ast_grep_config::{CombinedScan, RuleConfig};
use ast_grep_core::{NodeMatch, meta_var::MetaVariable, tree_sitter::StrDoc};

use super::{grammar::Grammar, rule::Rules, tree::Tree};
use base::language::Language;

/// A match of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The rule's name.
    pub rule: String,
    /// Its bytes.
    pub range: Range<usize>,
    /// The bytes of its variables by name: one range, or from the first to the last node of `$$$NAME`.
    pub variables: BTreeMap<String, Variable>,
    /// The edit of its rule; none if the rule has no fix.
    pub edit: Option<Edit>,
    /// The message of its rule; empty if there is none.
    pub message: String,
    /// The texts that would end the code that the match stands in, if that is a part of the file.
    pub(crate) ends: &'static [&'static str],
}

impl Match {
    /// The edit, if it alters the text.
    pub fn effect(&self, text: &str) -> Option<&Edit> {
        let is_same = |edit: &&Edit| text.as_bytes().get(edit.range.clone()) == Some(edit.text.as_slice());
        self.edit.as_ref().filter(|edit| !is_same(edit))
    }
}

/// The nodes that a variable stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// The node of `$NAME`.
    Node(Range<usize>),
    /// The nodes of `$$$NAME`; commas and the like are nodes too.
    Nodes(Vec<Range<usize>>),
}

/// New text in place of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The replaced bytes.
    pub range: Range<usize>,
    /// The new text.
    pub text: Vec<u8>,
}

type Found<'t> = NodeMatch<'t, StrDoc<Grammar>>;

/// Every match in a tree, in the order of the text; nested ones too. `path` decides which rules concern the file.
pub(crate) fn scan(rules: &Rules, path: &str, language: Language, tree: &Tree) -> Vec<Match> {
    let configs = rules.of_file(path, language, tree.source());
    if configs.is_empty() {
        return Vec::new();
    }
    let mut matches: Vec<Match> = Vec::new();
    if rules.is_suppressible {
        let combined = CombinedScan::new(configs);
        let found = combined.scan(tree, true);
        matches.extend(found.diffs.iter().map(|(rule, found)| of(rule, found)));
        matches.extend(found.matches.iter().flat_map(|(rule, all)| all.iter().map(|found| of(rule, found))));
    } else {
        for rule in configs {
            matches.extend(tree.root().find_all(&rule.matcher).map(|found| of(rule, &found)));
        }
    }
    sort(&mut matches);
    matches
}

/// Sorts matches by their place, outer ones first.
pub(super) fn sort(matches: &mut [Match]) {
    matches.sort_by(|a, b| {
        let place = |m: &Match| (m.range.start, std::cmp::Reverse(m.range.end));
        // Of two rules at one place the one that rewrites is first, as ast-grep has it.
        (place(a), a.edit.is_none(), &a.rule).cmp(&(place(b), b.edit.is_none(), &b.rule))
    });
}

/// The matches of one rule in a text of its language, whatever the file.
pub(crate) fn scan_rule(rules: &Rules, id: &str, tree: &Tree) -> Vec<Match> {
    let mut matches = Vec::new();
    rules.collection.for_each_rule(|rule| {
        if rule.id == id {
            matches.extend(tree.root().find_all(&rule.matcher).map(|found| of(rule, &found)));
        }
    });
    matches
}

fn of(rule: &RuleConfig<Grammar>, found: &Found<'_>) -> Match {
    let edit = rule.fixer.first().map(|fixer| {
        let edit = found.make_edit(&rule.matcher, fixer);
        Edit { range: edit.position..edit.position + edit.deleted_length, text: edit.inserted_text }
    });
    let env = found.get_env();
    let variables = env.get_matched_variables().filter_map(|variable| match variable {
        MetaVariable::Capture(name, _) => {
            let range = env.get_match(&name)?.range();
            Some((name, Variable::Node(range)))
        }
        MetaVariable::MultiCapture(name) => {
            let ranges = env.get_multiple_matches(&name).iter().map(|node| node.range()).collect();
            Some((name, Variable::Nodes(ranges)))
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => None,
    });
    let variables = variables.collect();
    Match { rule: rule.id.clone(), range: found.range(), variables, edit, message: rule.get_message(found), ends: &[] }
}
