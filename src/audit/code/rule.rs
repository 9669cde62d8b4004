//! Rules as data: what a node has to be, and the text that takes its place.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::{form::Form, pattern::Pattern, template::Template, transform::Change};
use base::language::Language;

/// The kinds that a match of a rule may have; none if it may have any.
pub(super) type Kinds = Option<BTreeSet<u16>>;

/// A condition on a node.
#[derive(Debug)]
pub(super) enum Rule {
    /// It looks like a pattern.
    Pattern(Pattern),
    /// It is of a kind.
    Kind(u16),
    /// Its text matches.
    Regex(Regex),
    /// It has a place among its siblings.
    Nth(Nth),
    /// It has a place in the file.
    Span { start: Place, end: Place },
    /// A node around it fulfils a condition.
    Inside(Box<Relation>),
    /// A node within it does.
    Has(Box<Relation>),
    /// A node after it does.
    Precedes(Box<Relation>),
    /// A node before it does.
    Follows(Box<Relation>),
    /// It fulfils all conditions.
    All { rules: Vec<Rule>, kinds: Kinds },
    /// It fulfils one of them.
    Any { rules: Vec<Rule>, kinds: Kinds },
    /// It does not fulfil a condition.
    Not(Box<Rule>),
    /// It fulfils the rule of that name.
    Named { name: String, kinds: Kinds },
    /// It fulfils the rule that a parameter of the utility stands for.
    Parameter(String),
    /// It fulfils a utility with arguments.
    Call { name: String, arguments: BTreeMap<String, Rule>, variables: Vec<String>, kinds: Kinds },
}

/// A condition on another node, and the way to it.
#[derive(Debug)]
pub(super) struct Relation {
    /// The condition.
    pub(super) rule: Rule,
    /// The end of the way.
    pub(super) stop: Stop,
    /// The field in which the inner node stands.
    pub(super) field: Option<u16>,
}

/// The last node of a way.
#[derive(Debug)]
pub(super) enum Stop {
    /// The nearest one.
    Neighbor,
    /// The last there is.
    End,
    /// The first that fulfils a condition; it is still looked at.
    At(Rule),
}

/// A place among the named siblings, `step * n + offset` from 1.
#[derive(Debug)]
pub(super) struct Nth {
    /// The step.
    pub(super) step: i32,
    /// The offset.
    pub(super) offset: i32,
    /// Only siblings that fulfil it count.
    pub(super) of: Option<Box<Rule>>,
    /// True if the last one is the first.
    pub(super) is_reverse: bool,
}

/// A line and a column in characters, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The line.
    pub(super) line: usize,
    /// The column; none if any will do.
    pub(super) column: Option<usize>,
}

/// A rule with the conditions on its variables, and the texts that are made of them.
#[derive(Debug)]
pub(super) struct Core {
    /// The rule.
    pub(super) rule: Rule,
    /// The kinds of its matches.
    pub(super) kinds: Kinds,
    /// Conditions by variable.
    pub(super) constraints: BTreeMap<String, Rule>,
    /// New variables, each after those that it is made of.
    pub(super) transform: Vec<(String, Change)>,
}

/// Named rules.
pub(super) type Named = BTreeMap<String, Rule>;

/// A rule that other files refer to.
#[derive(Debug)]
pub(super) struct Utility {
    /// The rule.
    pub(super) core: Core,
    /// The named rules that it refers to.
    pub(super) named: Named,
    /// Its parameters.
    pub(super) parameters: Vec<String>,
}

/// Utilities by name.
pub(super) type Utilities = BTreeMap<String, Utility>;

/// A rule that rewrites nodes within a match.
#[derive(Debug)]
pub(super) struct Rewriter {
    /// The rule.
    pub(super) core: Core,
    /// The new text of its matches.
    pub(super) fix: Fix,
}

/// The new text of a match, and the neighbours that it replaces too.
#[derive(Debug)]
pub(super) struct Fix {
    /// The text as it stands in the rule.
    pub(super) source: String,
    /// The text.
    pub(super) template: Template,
    /// The way to a node before.
    pub(super) before: Option<Relation>,
    /// The way to a node after.
    pub(super) after: Option<Relation>,
}

/// A rule of a file.
#[derive(Debug)]
pub(super) struct Config {
    /// Its name.
    pub(super) id: String,
    /// Its language.
    pub(super) language: Language,
    /// The rule.
    pub(super) core: Core,
    /// The named rules that it refers to.
    pub(super) named: Named,
    /// Its rewriters by name.
    pub(super) rewriters: BTreeMap<String, Rewriter>,
    /// The new text of its matches.
    pub(super) fix: Option<Fix>,
    /// The form of matches that stay, since they are rewritten already.
    pub(super) form: Option<Form>,
    /// Globs of the files that it is for.
    pub(super) files: Option<globset::GlobSet>,
    /// Globs of the files that it is not for.
    pub(super) ignores: Option<globset::GlobSet>,
}

impl Rule {
    /// All conditions, in that order.
    pub(super) fn all(rules: Vec<Rule>) -> Self {
        let mut kinds: Kinds = None;
        for other in rules.iter().filter_map(Rule::kinds) {
            kinds = Some(kinds.map_or(other.clone(), |kinds| &kinds & &other));
        }
        Rule::All { rules, kinds }
    }

    /// One of the conditions.
    pub(super) fn any(rules: Vec<Rule>) -> Self {
        let kinds = rules.iter().map(Rule::kinds).collect::<Option<Vec<_>>>();
        Rule::Any { rules, kinds: kinds.map(|kinds| kinds.into_iter().flatten().collect()) }
    }

    /// The kinds of nodes that may fulfil it.
    pub(super) fn kinds(&self) -> Kinds {
        match self {
            Rule::Pattern(pattern) => pattern.kind().map(|kind| BTreeSet::from([kind])),
            Rule::Kind(kind) => Some(BTreeSet::from([*kind])),
            Rule::Nth(nth) => nth.of.as_ref()?.kinds(),
            Rule::All { kinds, .. } | Rule::Any { kinds, .. } => kinds.clone(),
            Rule::Named { kinds, .. } | Rule::Call { kinds, .. } => kinds.clone(),
            Rule::Regex(_)
            | Rule::Span { .. }
            | Rule::Inside(_)
            | Rule::Has(_)
            | Rule::Precedes(_)
            | Rule::Follows(_)
            | Rule::Not(_)
            | Rule::Parameter(_) => None,
        }
    }

    /// The rules that it is made of.
    pub(super) fn parts(&self) -> Vec<&Rule> {
        match self {
            Rule::Inside(relation) | Rule::Has(relation) | Rule::Precedes(relation) | Rule::Follows(relation) => {
                relation.parts()
            }
            Rule::All { rules, .. } | Rule::Any { rules, .. } => rules.iter().collect(),
            Rule::Not(rule) => vec![rule],
            Rule::Nth(nth) => nth.of.as_deref().into_iter().collect(),
            Rule::Call { arguments, .. } => arguments.values().collect(),
            Rule::Pattern(_) | Rule::Kind(_) | Rule::Regex(_) | Rule::Span { .. } => Vec::new(),
            Rule::Named { .. } | Rule::Parameter(_) => Vec::new(),
        }
    }

    /// Adds the names of the variables that it binds.
    pub(super) fn variables(&self, names: &mut BTreeSet<String>) {
        match self {
            Rule::Pattern(pattern) => pattern.part.variables(names),
            Rule::Call { variables, .. } => names.extend(variables.iter().cloned()),
            other => other.parts().iter().for_each(|part| part.variables(names)),
        }
    }
}

impl Relation {
    fn parts(&self) -> Vec<&Rule> {
        let stop = match &self.stop {
            Stop::At(rule) => Some(rule),
            Stop::Neighbor | Stop::End => None,
        };
        std::iter::once(&self.rule).chain(stop).collect()
    }
}

impl Core {
    /// A core of its parts.
    pub(super) fn new(rule: Rule, constraints: BTreeMap<String, Rule>, transform: Vec<(String, Change)>) -> Self {
        let kinds = rule.kinds();
        Core { rule, kinds, constraints, transform }
    }
}
