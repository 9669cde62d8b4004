//! The judgement of nodes by rules.
//!
//! A rule may judge another node than the one it was given, as `has` does, and returns it. Variables that a failed rule has bound
//! are forgotten by the rule around it, as in ast-grep; `nthChild` alone keeps those of its `ofRule`.

use std::{cell::RefCell, collections::BTreeMap};

use tree_sitter::Node;

use super::{
    binding::Bindings,
    grammar::Variable,
    layout::Lines,
    literal::Literals,
    rule::{Core, Fix, Named, Nth, Place, Relation, Rewriter, Rule, Stop, Utilities},
    transform::Way,
    tree,
    unify::unify,
};

/// New text in place of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The replaced bytes.
    pub range: std::ops::Range<usize>,
    /// The new text.
    pub text: String,
    /// The places in it at which lines begin that are indented anew.
    pub(crate) moved: Vec<usize>,
    /// The places of the lines that are not, since they begin within a literal.
    pub(crate) kept: Vec<usize>,
}

/// New lines in place of bytes.
struct Written {
    range: std::ops::Range<usize>,
    lines: Lines,
}

/// A file, and the rules that a rule can refer to.
#[derive(Clone, Copy)]
pub(super) struct Judge<'r, 't> {
    /// The text, with its literals.
    pub(super) file: &'r Literals<'t>,
    /// The root of its tree.
    pub(super) root: Node<'t>,
    /// The rules that are named where the rule stands.
    pub(super) named: &'r Named,
    /// The utilities of all rules.
    pub(super) utilities: &'r Utilities,
    /// The arguments of the utility that the rule belongs to.
    pub(super) call: Option<&'r Call<'r, 't>>,
    /// The variables that the arguments of the innermost utility have bound.
    pub(super) exported: Option<&'r RefCell<Bindings<'t>>>,
}

/// The call of a utility with arguments.
pub(super) struct Call<'r, 't> {
    arguments: &'r BTreeMap<String, Rule>,
    /// The names that the arguments refer to are those of the caller.
    caller: Judge<'r, 't>,
}

impl<'t> Judge<'_, 't> {
    /// The node that fulfils a rule with its constraints; the variables of its transform are those of `rewriters`.
    pub(super) fn core(
        &self,
        core: &Core,
        rewriters: &BTreeMap<String, Rewriter>,
        node: Node<'t>,
        bindings: &mut Bindings<'t>,
    ) -> Option<Node<'t>> {
        let found = self.matched(core, node, bindings)?;
        let outer = bindings.clone();
        self.transform(core, rewriters, bindings, &outer);
        Some(found)
    }

    fn matched(&self, core: &Core, node: Node<'t>, bindings: &mut Bindings<'t>) -> Option<Node<'t>> {
        if core.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&node.kind_id())) {
            return None;
        }
        let found = self.judge(&core.rule, node, bindings)?;
        let mut constrained = bindings.clone();
        for (name, node) in bindings.all_of_one() {
            if let Some(rule) = core.constraints.get(&name) {
                self.judge(rule, node, &mut constrained)?;
            }
        }
        *bindings = constrained;
        Some(found)
    }

    /// The node that fulfils a rule.
    fn judge(&self, rule: &Rule, node: Node<'t>, bindings: &mut Bindings<'t>) -> Option<Node<'t>> {
        let this = |is_match: bool| is_match.then_some(node);
        match rule {
            Rule::Pattern(pattern) => this(unify(pattern, self.file.text, node, bindings)),
            Rule::Kind(kind) => this(node.kind_id() == *kind),
            Rule::Regex(regex) => this(regex.is_match(tree::text_of(self.file.text, node))),
            Rule::Nth(nth) => this(self.is_nth(nth, node, bindings)),
            Rule::Span { start, end } => this(self.is_span(*start, *end, node)),
            Rule::Inside(relation) => self.inside(relation, node, bindings),
            Rule::Has(relation) => self.has(relation, node, bindings),
            Rule::Precedes(relation) => self.beside(relation, true, node, bindings),
            Rule::Follows(relation) => self.beside(relation, false, node, bindings),
            Rule::All { kinds: Some(kinds), .. } | Rule::Any { kinds: Some(kinds), .. }
                if !kinds.contains(&node.kind_id()) =>
            {
                None
            }
            Rule::All { rules, .. } => {
                let mut bound = bindings.clone();
                rules.iter().all(|rule| self.judge(rule, node, &mut bound).is_some()).then(|| *bindings = bound)?;
                Some(node)
            }
            Rule::Any { rules, .. } => rules.iter().find_map(|rule| {
                let mut bound = bindings.clone();
                self.judge(rule, node, &mut bound)?;
                *bindings = bound;
                Some(node)
            }),
            Rule::Not(rule) => this(self.judge(rule, node, &mut bindings.clone()).is_none()),
            Rule::Named { name, .. } => self.named(name, node, bindings),
            Rule::Parameter(name) => self.parameter(name, node, bindings),
            Rule::Call { name, arguments, variables, .. } => self.call(name, (arguments, variables), node, bindings),
        }
    }

    /// True if a node fulfils a rule by itself.
    fn is_match(&self, rule: &Rule, node: Node<'t>) -> bool {
        self.judge(rule, node, &mut Bindings::default()).is_some()
    }

    fn named(&self, name: &str, node: Node<'t>, bindings: &mut Bindings<'t>) -> Option<Node<'t>> {
        if let Some(rule) = self.named.get(name) {
            return self.judge(rule, node, bindings);
        }
        // The variables of a utility are its own.
        let utility = self.utilities.get(name).filter(|utility| utility.parameters.is_empty())?;
        let inner = Judge { named: &utility.named, ..*self };
        inner.matched(&utility.core, node, &mut Bindings::default())
    }

    fn call(
        &self,
        name: &str,
        (arguments, variables): (&BTreeMap<String, Rule>, &[String]),
        node: Node<'t>,
        bindings: &mut Bindings<'t>,
    ) -> Option<Node<'t>> {
        let utility = self.utilities.get(name).filter(|utility| !utility.parameters.is_empty())?;
        let call = Call { arguments, caller: *self };
        let exported = RefCell::new(Bindings::default());
        let inner = Judge { named: &utility.named, call: Some(&call), exported: Some(&exported), ..*self };
        let found = inner.matched(&utility.core, node, &mut Bindings::default())?;
        bindings.take(self.file, &exported.borrow(), variables).then_some(found)
    }

    fn parameter(&self, name: &str, node: Node<'t>, bindings: &mut Bindings<'t>) -> Option<Node<'t>> {
        let call = self.call?;
        let rule = call.arguments.get(name)?;
        let caller = Judge { exported: self.exported, ..call.caller };
        let Some(exported) = self.exported else { return caller.judge(rule, node, bindings) };
        let mut bound = exported.borrow().clone();
        let found = caller.judge(rule, node, &mut bound)?;
        let mut names = Default::default();
        rule.variables(&mut names);
        let names: Vec<String> = names.into_iter().collect();
        exported.borrow_mut().take(self.file, &bound, &names).then_some(found)
    }

    fn is_nth(&self, nth: &Nth, node: Node<'t>, bindings: &mut Bindings<'t>) -> bool {
        let Some(parent) = node.parent() else { return false };
        let named = tree::children(parent).into_iter().filter(Node::is_named);
        let mut counted: Vec<Node<'t>> = match &nth.of {
            Some(rule) => named.filter_map(|child| self.judge(rule, child, &mut bindings.clone())).collect(),
            None => named.collect(),
        };
        if nth.is_reverse {
            counted.reverse();
        }
        let Some(index) = counted.iter().position(|child| child.id() == node.id()) else { return false };
        if let Some(rule) = &nth.of {
            self.judge(rule, node, bindings);
        }
        let beyond = i64::try_from(index).unwrap_or(i64::MAX) + 1 - i64::from(nth.offset);
        match i64::from(nth.step) {
            0 => beyond == 0,
            step => beyond / step >= 0 && beyond % step == 0,
        }
    }

    fn is_span(&self, start: Place, end: Place, node: Node<'t>) -> bool {
        let is_column = |column: Option<usize>, at: usize| {
            let line = self.file.text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
            column.is_none_or(|column| column == line.chars().count())
        };
        start.line == node.start_position().row
            && end.line == node.end_position().row
            && is_column(start.column, node.start_byte())
            && is_column(end.column, node.end_byte())
    }

    fn inside(&self, relation: &Relation, node: Node<'t>, bindings: &mut Bindings<'t>) -> Option<Node<'t>> {
        let mut below = node;
        let mut check = |outer: Node<'t>| {
            let inner = std::mem::replace(&mut below, outer);
            let is_there = |field| outer.child_by_field_id(field).is_some_and(|child| child.id() == inner.id());
            if relation.field.is_none_or(is_there) { self.judge(&relation.rule, outer, bindings) } else { None }
        };
        match &relation.stop {
            Stop::Neighbor => check(node.parent()?),
            stop => self.until(stop, tree::ancestors(self.root, node).into_iter(), check),
        }
    }

    fn beside(
        &self,
        relation: &Relation,
        is_after: bool,
        node: Node<'t>,
        bindings: &mut Bindings<'t>,
    ) -> Option<Node<'t>> {
        let check = |other| self.judge(&relation.rule, other, bindings);
        match &relation.stop {
            Stop::Neighbor => if is_after { node.next_sibling() } else { node.prev_sibling() }.and_then(check),
            stop => self.until(stop, tree::siblings(node, is_after), check),
        }
    }

    /// The first node of a way that passes a check.
    fn until(
        &self,
        stop: &Stop,
        way: impl Iterator<Item = Node<'t>>,
        mut check: impl FnMut(Node<'t>) -> Option<Node<'t>>,
    ) -> Option<Node<'t>> {
        for node in way {
            let is_last = match stop {
                Stop::At(rule) => self.is_match(rule, node),
                Stop::Neighbor | Stop::End => false,
            };
            let found = check(node);
            if found.is_some() || is_last {
                return found;
            }
        }
        None
    }

    fn has(&self, relation: &Relation, node: Node<'t>, bindings: &mut Bindings<'t>) -> Option<Node<'t>> {
        let mut check = |inner| self.judge(&relation.rule, inner, bindings);
        let Some(field) = relation.field else {
            return match &relation.stop {
                Stop::Neighbor => tree::children(node).into_iter().find_map(check),
                Stop::End => tree::descend(node).skip(1).find_map(check),
                Stop::At(stop) => self.has_above(relation, stop, node, bindings),
            };
        };
        let child = node.child_by_field_id(field)?;
        match &relation.stop {
            Stop::Neighbor => check(child),
            Stop::End => tree::descend(child).find_map(check),
            Stop::At(stop) => {
                let found = check(child);
                if found.is_some() || self.is_match(stop, child) {
                    return found;
                }
                tree::children(child).into_iter().find_map(check)
            }
        }
    }

    /// Looks below a node, but not below the nodes that end the search.
    fn has_above(
        &self,
        relation: &Relation,
        stop: &Rule,
        node: Node<'t>,
        bindings: &mut Bindings<'t>,
    ) -> Option<Node<'t>> {
        tree::children(node).into_iter().find_map(|child| {
            let found = self.judge(&relation.rule, child, bindings);
            if found.is_some() || self.is_match(stop, child) {
                return found;
            }
            self.has_above(relation, stop, child, bindings)
        })
    }

    /// Makes the variables of a transform. Rewriters see the variables in `outer`, not those of each other.
    fn transform(
        &self,
        core: &Core,
        rewriters: &BTreeMap<String, Rewriter>,
        bindings: &mut Bindings<'t>,
        outer: &Bindings<'t>,
    ) {
        for (name, change) in &core.transform {
            bindings.make(self.file, &change.source, name, Lines::plain(""));
            let made = match &change.way {
                Way::Rewrite { rewriters: chosen, joint } => {
                    let chosen: Vec<&Rewriter> = chosen.iter().filter_map(|name| rewriters.get(name)).collect();
                    self.rewritten(&change.source, (&chosen, joint.as_deref()), rewriters, (bindings, outer))
                }
                way => bindings.lines(self.file, &change.source).and_then(|lines| lines.made(|text| way.apply(text))),
            };
            bindings.make(self.file, &change.source, name, made.unwrap_or_else(|| Lines::plain("")));
        }
    }

    /// The text of a variable, whose nodes are rewritten.
    fn rewritten(
        &self,
        source: &Variable,
        (chosen, joint): (&[&Rewriter], Option<&str>),
        rewriters: &BTreeMap<String, Rewriter>,
        (bindings, outer): (&Bindings<'t>, &Bindings<'t>),
    ) -> Option<Lines> {
        let nodes = match source {
            Variable::One { name, .. } => bindings.one(name).into_iter().collect(),
            Variable::Many(name) => bindings.many(name).to_vec(),
            Variable::AnyOne { .. } | Variable::AnyMany => Vec::new(),
        };
        let start = nodes.first()?.start_byte();
        let old = bindings.lines(self.file, source)?.text();
        let mut out = Lines::plain("");
        let (mut at, mut is_first) = (start, true);
        for node in nodes.into_iter().flat_map(tree::descend) {
            let Some(edit) = chosen.iter().find_map(|rewriter| self.rewrite(rewriter, rewriters, node, outer)) else {
                continue;
            };
            // Of nodes within each other the outer one is rewritten.
            if edit.range.start < at {
                continue;
            }
            match joint {
                Some(joint) if !is_first => out.push(Lines::plain(joint)),
                Some(_) => {}
                None => out.push(self.file.lines(at..edit.range.start)?),
            }
            out.push(edit.lines);
            at = edit.range.end;
            is_first = false;
        }
        if joint.is_none() {
            out.push(self.file.lines(at..start + old.len())?);
        }
        Some(out)
    }

    fn rewrite(
        &self,
        rewriter: &Rewriter,
        rewriters: &BTreeMap<String, Rewriter>,
        node: Node<'t>,
        outer: &Bindings<'t>,
    ) -> Option<Written> {
        let mut bindings = outer.clone();
        let found = self.matched(&rewriter.core, node, &mut bindings)?;
        self.transform(&rewriter.core, rewriters, &mut bindings, outer);
        Some(self.written(&rewriter.fix, found, &bindings))
    }

    /// The edit of a match; none if a comment would take in code.
    pub(super) fn edit(&self, fix: &Fix, node: Node<'t>, bindings: &Bindings<'t>) -> Option<Edit> {
        let Written { range, lines } = self.written(fix, node, bindings);
        let is_lost = fix.template.extends_comment(self.file, bindings, &self.file.text[range.end..]);
        let edit = Edit { range, text: lines.text(), moved: lines.moved(false), kept: lines.moved(true) };
        (!is_lost).then_some(edit)
    }

    fn written(&self, fix: &Fix, node: Node<'t>, bindings: &Bindings<'t>) -> Written {
        let reached = |relation: &Option<Relation>, is_after| {
            self.beside(relation.as_ref()?, is_after, node, &mut bindings.clone())
        };
        let start = reached(&fix.before, false).unwrap_or(node).start_byte();
        let end = reached(&fix.after, true).unwrap_or(node).end_byte();
        let lines = fix.template.render(self.file, node.start_byte(), bindings);
        Written { range: start..end.max(start), lines }
    }
}
