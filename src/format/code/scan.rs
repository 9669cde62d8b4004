//! The matches of rules in a text, with their variables and their edits.

use std::{collections::BTreeMap, ops::Range};

use ast_grep_config::{CombinedScan, Fixer, RuleConfig};
use ast_grep_core::{Doc as _, NodeMatch, meta_var::MetaVariable, tree_sitter::StrDoc};

use super::{
    form,
    grammar::Grammar,
    rule::Rules,
    tree::Tree,
    verbatim::{self, Literals},
};
use base::{
    error::{Code, Error},
    language::Language,
};

/// The message of a match that stays, because ast-grep would drop what was not understood.
const HAS_ERROR: &str = "it has a syntax error";

/// The message of a match that stays, because the fix would go on within a comment.
const HAS_COMMENT: &str = "a comment at its end would take in the text after it";

/// The message of a match that stays, because it was rewritten already.
const HAS_FORM: &str = "it has the form of the fix already";

/// A match of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The rule's name.
    pub rule: String,
    /// Its bytes.
    pub range: Range<usize>,
    /// The bytes of its variables by name: one range, or from the first to the last node of `$$$NAME`.
    pub variables: BTreeMap<String, Variable>,
    /// The edit of its rule; none if the rule has no fix, or the match is to stay.
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
/// `invalid_input` if a new text would depend on the indentation of a literal.
pub(crate) fn scan(rules: &Rules, path: &str, language: Language, tree: &Tree) -> Result<Vec<Match>, Error> {
    let configs = rules.of_file(path, language, tree.source());
    if configs.is_empty() {
        return Ok(Vec::new());
    }
    let mut matches = settled(language, tree, |tree| {
        let mut matches: Vec<Match> = Vec::new();
        if rules.is_suppressible {
            let combined = CombinedScan::new(configs.clone());
            let found = combined.scan(tree, true);
            matches.extend(found.diffs.iter().map(|(rule, found)| of(rules, rule, found)));
            matches.extend(found.matches.iter().flat_map(|(rule, all)| all.iter().map(|found| of(rules, rule, found))));
        } else {
            for rule in &configs {
                matches.extend(tree.root().find_all(&rule.matcher).map(|found| of(rules, rule, &found)));
            }
        }
        matches
    })?;
    sort(&mut matches);
    Ok(matches)
}

/// The matches of a search, with new texts in which the lines of literals are as they were.
fn settled(language: Language, tree: &Tree, find: impl Fn(&Tree) -> Vec<Match>) -> Result<Vec<Match>, Error> {
    let mut matches = find(tree);
    let has = |has: fn(&[u8]) -> bool| matches.iter().filter_map(|one| one.edit.as_ref()).any(|edit| has(&edit.text));
    if !has(verbatim::has_lines) && !has(verbatim::has_mark) {
        return Ok(matches);
    }
    if verbatim::has_mark(tree.source().as_bytes()) {
        return Err(Error::new(
            Code::InvalidInput,
            "a new text of several lines would stand in a file with a vertical tab",
        )
        .hint("replace the vertical tab, or exclude the file"));
    }
    let literals = Literals::read(language, tree);
    let marked = literals.marked(tree).map(|tree| find(&tree)).unwrap_or_default();
    let is_marked = literals.has_lines();
    let by_place: BTreeMap<_, _> = marked.iter().map(|one| (place(one), one)).collect();
    for one in &mut matches {
        let key = place(one);
        let start = one.range.start;
        let Some(edit) = &mut one.edit else { continue };
        let plain = verbatim::unmarked(&edit.text, 0);
        if is_marked && verbatim::has_lines(&edit.text) {
            let other = by_place.get(&key).and_then(|other| other.edit.as_ref());
            let other = other.filter(|other| verbatim::is_alike(&verbatim::unmarked(&other.text, 0), &plain));
            edit.text = other.ok_or_else(|| unsettled(&one.rule))?.text.clone();
        }
        edit.text = verbatim::unmarked(&edit.text, literals.added(tree.source(), start).unwrap_or_default());
    }
    Ok(matches)
}

type Place = (String, usize, usize, Vec<(String, Vec<(usize, usize)>)>);

fn place(found: &Match) -> Place {
    let variables = found.variables.iter().map(|(name, variable)| {
        let ranges = match variable {
            Variable::Node(range) => std::slice::from_ref(range),
            Variable::Nodes(ranges) => ranges,
        };
        (name.clone(), ranges.iter().map(|range| (range.start, range.end)).collect())
    });
    (found.rule.clone(), found.range.start, found.range.end, variables.collect())
}

fn unsettled(rule: &str) -> Error {
    Error::new(
        Code::InvalidInput,
        format!("the rule `{rule}` reads the line breaks of a literal, and its lines would be indented anew"),
    )
    .detail("rule", rule)
    .hint("write the fix in one line, or let no regular expression of the rule match a line break")
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
pub(crate) fn scan_rule(rules: &Rules, id: &str, language: Language, tree: &Tree) -> Result<Vec<Match>, Error> {
    settled(language, tree, |tree| {
        let mut matches = Vec::new();
        rules.collection.for_each_rule(|rule| {
            if rule.id == id {
                matches.extend(tree.root().find_all(&rule.matcher).map(|found| of(rules, rule, &found)));
            }
        });
        matches
    })
}

fn of(rules: &Rules, rule: &RuleConfig<Grammar>, found: &Found<'_>) -> Match {
    let reason = if form::has_lost_error(found) {
        Some(HAS_ERROR)
    } else {
        rules.forms.get(&rule.id).filter(|form| form.has(found)).map(|_| HAS_FORM)
    };
    let reason = reason.filter(|_| !rule.fixer.is_empty());
    let fixer = rule.fixer.first().filter(|_| reason.is_none());
    let (edit, reason) = fixer.map_or((None, reason), |fixer| fix(rules, rule, fixer, found));
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
    let message = reason.map_or_else(|| rule.get_message(found), str::to_owned);
    Match { rule: rule.id.clone(), range: found.range(), variables, edit, message, ends: &[] }
}

/// The edit of a match, or the reason that it stays.
fn fix(
    rules: &Rules,
    rule: &RuleConfig<Grammar>,
    fixer: &Fixer,
    found: &Found<'_>,
) -> (Option<Edit>, Option<&'static str>) {
    let slots = rules.slots.get(&rule.id);
    let mut found = found.clone();
    slots.inspect(|slots| slots.fit(&mut found));
    let edit = found.make_edit(&rule.matcher, fixer);
    let range = edit.position..edit.position + edit.deleted_length;
    let after = &found.get_node().get_doc().get_source()[range.end..];
    if slots.is_some_and(|slots| slots.has_open_comment(&found, after)) {
        return (None, Some(HAS_COMMENT));
    }
    (Some(Edit { range, text: edit.inserted_text }), None)
}
