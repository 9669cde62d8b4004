//! Names of Python, Rust, Go and Java, resolved on syntax trees as far as syntax tells them.
//!
//! A module for each language says which role a token plays. This one finds the binding of every reference, and refuses a new
//! name wherever that stands without a receiver in the scope of the old one.

mod capture;
mod go;
mod java;
mod python;
mod python_import;
pub mod python_text;
mod rust;
pub mod rust_macro;

use std::{cell::RefCell, collections::BTreeMap, ops::Range, rc::Rc};

use tree_sitter::Node;

pub use self::go::is_struct;
pub(super) use self::python_import::{Imported, imported, imported_modules};
use super::{
    facts::{
        Against, By, Called, Export, Facts, Form, Group, Kind, Loose, MODULE, Meaning, Obstacle, Origin, Reach,
        SEVERAL_WAYS, Site,
    },
    node::{around, attributes, is_field, last, nodes, nodes_within, root, text_at, text_of},
    script::Change,
    word::Word,
};
use crate::code::tree::Tree;
use base::language::Language;

/// A declaration of the name.
pub struct Declaration<'t> {
    /// The node in which the name is bound.
    scope: Node<'t>,
    /// The bytes from which on, and up to which, the binding is seen.
    seen: Range<usize>,
    kind: Kind,
    reach: Reach,
    form: Form,
    /// A reason against any other name.
    obstacle: Option<&'static str>,
    /// A reason for which syntax does not tell all of its places.
    unclear: Option<&'static str>,
    /// True if it is another declaration of an earlier binding of the same scope, if there is one.
    merges: bool,
}

impl<'t> Declaration<'t> {
    fn new(scope: Node<'t>, kind: Kind, reach: Reach) -> Self {
        Declaration {
            scope,
            seen: 0..usize::MAX,
            kind,
            reach,
            form: Form::Plain,
            obstacle: None,
            unclear: None,
            merges: true,
        }
    }

    fn seen(self, seen: Range<usize>) -> Self {
        Declaration { seen, ..self }
    }
}

/// A token of a name, or a word of a string that refers to code.
struct Token<'t> {
    node: Node<'t>,
    pub range: Range<usize>,
    is_text: bool,
}

/// The role of a token.
pub enum Role<'t> {
    Declares(Declaration<'t>),
    Refers(Form),
    /// A member, a label, or another name that needs no binding.
    Member,
    /// The name of an argument in a call of the function at that node.
    Keyword(Node<'t>),
    Other(Meaning),
}

impl Role<'_> {
    fn unclear(reason: &'static str) -> Self {
        Role::Other(Meaning::Unclear(reason))
    }
}

/// The rules of a language.
pub trait Rules {
    /// The role of a token.
    fn role<'t>(&self, node: Node<'t>, text: &str) -> Role<'t>;

    /// True if bindings of a scope are seen from a child, one of its own nodes, and one of the child's.
    fn shows(&self, _scope: Node<'_>, _child: Node<'_>, _below: Node<'_>) -> bool {
        true
    }

    /// True if a binding beyond a scope is not seen from within.
    fn ends(&self, _scope: Node<'_>) -> bool {
        false
    }

    /// True if a binding is not seen from a function within its scope.
    fn is_shallow(&self, _: &Declaration<'_>) -> bool {
        false
    }

    /// True if a function declares a name as global, which skips the scopes between it and the file.
    fn is_global(&self, _scope: Node<'_>, _name: &str, _text: &str) -> bool {
        false
    }

    /// True if a node is a function for the rule above.
    fn is_function(&self, _: Node<'_>) -> bool {
        false
    }

    /// A reason against any renaming of a binding of that scope.
    fn obstacle(&self, _text: &str, _name: &str, _scope: Node<'_>) -> Option<&'static str> {
        None
    }

    /// A reason against the new name at a place, by the text before it.
    fn objection(&self, _before: &str, _to: &str) -> Option<&'static str> {
        None
    }

    /// The reason that this use may not take the new name; none if no other declaration can hide the one in `scope`.
    fn takes_over(&self, _use: Node<'_>, _scope: Node<'_>) -> Option<&'static str> {
        None
    }

    /// The role of a word in a string, which the node holds; none if it is data.
    fn in_text<'t>(&self, _: Node<'t>, _: &Range<usize>, _: &str) -> Option<Role<'t>> {
        None
    }

    /// True if a string that a node belongs to can't be a name that code looks up.
    fn is_inert(&self, _: Node<'_>, _: &str) -> bool {
        false
    }

    /// True if only code that computes names could look up a string that a node belongs to.
    fn is_data(&self, _: Node<'_>, _: &str) -> bool {
        false
    }

    /// The imported name that a path leads to.
    fn imported(&self, _: Node<'_>, _: &str) -> Option<Origin> {
        None
    }

    /// True if collisions are found by reading the renamed text again, so that only doubt about the new name is a reason here.
    fn is_read_again(&self) -> bool {
        false
    }

    /// The nodes that refer to a name without having it. None if a new name is refused wherever it stands in the scope, and not only
    /// where it would take over a use of another binding.
    fn implied<'t>(&self, _root: Node<'t>, _name: &str, _text: &str) -> Option<Vec<Node<'t>>> {
        None
    }

    /// The package of a file, and the modules that it takes everything from.
    fn file(&self, _root: Node<'_>, _text: &str) -> (Option<String>, Vec<String>) {
        (None, Vec::new())
    }
}

/// The languages with rules.
const RULES: &[(Language, &(dyn Rules + Sync))] = &[
    (Language::Go, &go::Go),
    (Language::Java, &java::Java),
    (Language::Python, &python::Python),
    (Language::Rust, &rust::Rust),
];

/// The facts of a file; none for a language without rules.
pub fn facts(language: Language, tree: &Tree, text: &str, change: Change<'_>) -> Option<Facts> {
    let (_, rules) = RULES.iter().find(|(of, _)| *of == language)?;
    let root = tree.root().get_inner_node();
    let of = |root: Node<'_>, text: &str| {
        let mut resolution = Resolution::new((*rules, language), root, text, true);
        resolution.resolve(change.from);
        resolution.facts(change)
    };
    let is_rust = language == Language::Rust;
    let expanded = if is_rust { rust_macro::expanded(tree, text, [change.from, change.to]) } else { None };
    let Some(expanded) = expanded else { return Some(of(root, text)) };
    let facts = of(expanded.tree.root().get_inner_node(), &expanded.text);
    Some(in_source(facts, expanded))
}

/// The facts of an expanded text at the places of its source.
fn in_source(mut facts: Facts, expanded: rust_macro::Expanded) -> Facts {
    let at = |at: usize| expanded.source(&(at..at)).start;
    for group in &mut facts.groups {
        group.declared = at(group.declared);
        group.sites.iter_mut().for_each(|site| site.range = expanded.source(&site.range));
        group.sites.sort_by_key(|site| site.range.start);
        group.obstacle.iter_mut().for_each(|obstacle| obstacle.at = at(obstacle.at));
    }
    facts.loose.iter_mut().for_each(|loose| loose.range = expanded.source(&loose.range));
    facts.loose.sort_by_key(|loose| loose.range.start);
    facts.taken = facts.taken.map(at);
    facts.macros = expanded.macros;
    facts
}

struct Binding<'t> {
    declaration: Declaration<'t>,
    declared: usize,
    sites: Vec<Site>,
}

/// The collisions with a new name: a place that would mean another thing for each binding, and for one that another file declares.
struct Collisions {
    of_bindings: Vec<Option<usize>>,
    of_package: Option<usize>,
}

struct Resolution<'s, 't> {
    rules: &'s dyn Rules,
    root: Node<'t>,
    text: &'s str,
    language: Language,
    bindings: Vec<Binding<'t>>,
    loose: Vec<Loose>,
    /// The names of arguments, each with the function that is called.
    keywords: Vec<(Range<usize>, Called)>,
    /// False if the name is only resolved to bind a function or a receiver of the name that is sought.
    is_sought: bool,
    /// The bindings of those names.
    others: RefCell<BTreeMap<String, Rc<Resolution<'s, 't>>>>,
}

impl<'s, 't> Resolution<'s, 't> {
    fn new((rules, language): (&'s dyn Rules, Language), root: Node<'t>, text: &'s str, is_sought: bool) -> Self {
        let (bindings, loose, keywords, others) = (Vec::new(), Vec::new(), Vec::new(), RefCell::default());
        Resolution { rules, root, text, language, bindings, loose, keywords, is_sought, others }
    }

    /// The bindings of another name.
    fn other(&self, name: &str) -> Rc<Resolution<'s, 't>> {
        if let Some(known) = self.others.borrow().get(name) {
            return Rc::clone(known);
        }
        let mut other = Resolution::new((self.rules, self.language), self.root, self.text, false);
        other.resolve(name);
        let other = Rc::new(other);
        self.others.borrow_mut().insert(name.to_owned(), Rc::clone(&other));
        other
    }

    /// True if a local binding hides the import that the receiver of a member would name.
    fn is_shadowed(&self, node: Node<'t>) -> bool {
        let is_path = |node: &Node<'t>| matches!(node.kind(), "attribute" | "selector_expression" | "qualified_type");
        let Some(mut first) = node.parent().filter(is_path) else { return false };
        while let Some(child) = first.child(0) {
            first = child;
        }
        let other = self.other(text_of(first, self.text));
        other.binding_of(first).is_some_and(|at| other.bindings[at].declaration.kind != Kind::Import)
    }

    /// The function that a node names.
    fn called(&self, node: Node<'t>) -> Called {
        let is_name = matches!(node.kind(), "identifier" | "attribute");
        let name = if is_name { text_of(node, self.text).rsplit('.').next().unwrap_or_default() } else { "" };
        let mut name = name;
        let by = match node.kind() {
            "identifier" => {
                let functions = self.other(name);
                let binding = functions.binding_of(node).map(|at| &functions.bindings[at]);
                let is_one = binding.is_none_or(|binding| binding.declaration.unclear != Some(SEVERAL_WAYS));
                match binding.map(|binding| (binding.declaration.kind, &binding.declaration.reach)) {
                    None => By::Free,
                    Some(_) if !is_one => {
                        name = "";
                        By::Value
                    }
                    Some((_, Reach::Imported(origin))) => By::Import(origin.clone()),
                    Some((Kind::Class | Kind::Function, _)) => By::Own(binding.map_or(0, |binding| binding.declared)),
                    // If several imports bind the name, it may be any function.
                    Some((Kind::Import, _)) => self.rules.imported(node, self.text).map_or_else(
                        || {
                            name = "";
                            By::Value
                        },
                        By::Import,
                    ),
                    Some(_) => By::Value,
                }
            }
            "attribute" => self.rules.imported(node, self.text).map_or(By::Value, By::Import),
            _ => By::Value,
        };
        Called { name: name.to_owned(), by }
    }

    /// The tokens of a name, and the words of strings that refer to code.
    fn tokens(&self, name: &str) -> Vec<Token<'t>> {
        let places = Word::new(name).places(self.language, self.text).into_iter();
        let token = |range: Range<usize>| {
            let node = self.root.descendant_for_byte_range(range.start, range.end)?;
            // The tokens of a macro of Rust may be the name of a function where the grammar sees a type such as `i8`.
            let is_token =
                node.kind() == "primitive_type" && around(node, |node| node.kind() == "token_tree").is_some();
            let is_word = node.kind().contains("identifier") || is_token;
            let is_name = node.child_count() == 0 && node.byte_range() == range && is_word;
            let is_text = !is_name && self.rules.in_text(node, &range, self.text).is_some();
            (is_name || is_text).then_some(Token { node, range, is_text })
        };
        places.filter_map(token).collect()
    }

    /// The words of strings for which a test of the language holds.
    fn words(&self, name: &str, test: fn(&dyn Rules, Node<'_>, &str) -> bool) -> Vec<usize> {
        let places = Word::new(name).places(self.language, self.text).into_iter();
        let node = |range: &Range<usize>| self.root.descendant_for_byte_range(range.start, range.end);
        let holds = |range: &Range<usize>| node(range).is_some_and(|node| test(self.rules, node, self.text));
        places.filter(holds).map(|range| range.start).collect()
    }

    fn role(&self, token: &Token<'t>) -> Role<'t> {
        let in_text = if token.is_text { self.rules.in_text(token.node, &token.range, self.text) } else { None };
        in_text.unwrap_or_else(|| self.rules.role(token.node, self.text))
    }

    fn resolve(&mut self, name: &str) {
        let mut references = Vec::new();
        for token in self.tokens(name) {
            let role = self.role(&token);
            let Token { node, range, is_text } = token;
            match role {
                Role::Declares(declaration) => self.declare(node, declaration),
                Role::Refers(form) => references.push((node, range, form, is_text)),
                Role::Member => self.loose.push(Loose { range, meaning: Meaning::Member }),
                Role::Keyword(function) if self.is_sought => self.keywords.push((range, self.called(function))),
                Role::Keyword(_) => {}
                Role::Other(Meaning::Through(..)) if self.is_sought && self.is_shadowed(node) => {
                    self.loose.push(Loose { range, meaning: Meaning::Member });
                }
                Role::Other(meaning) => self.loose.push(Loose { range, meaning }),
            }
        }
        for (node, range, form, is_text) in references {
            match self.binding_of(node) {
                Some(at) => self.bindings[at].sites.push(Site { range, form }),
                // A text without a binding is judged as a text.
                None if is_text => {}
                None => self.loose.push(Loose { range, meaning: Meaning::Free }),
            }
        }
    }

    fn declare(&mut self, node: Node<'t>, declaration: Declaration<'t>) {
        let site = Site { range: node.byte_range(), form: declaration.form };
        let same = self.bindings.iter_mut().find(|known| {
            let known = &known.declaration;
            known.scope.id() == declaration.scope.id()
                && (declaration.merges && known.merges
                    || known.seen == declaration.seen && known.kind == declaration.kind)
                && known.seen.start <= declaration.seen.start
        });
        match same {
            Some(known) => {
                known.sites.push(site);
                let differs = known.declaration.reach != declaration.reach;
                let unclear = differs.then_some(SEVERAL_WAYS);
                known.declaration.obstacle = known.declaration.obstacle.or(declaration.obstacle);
                known.declaration.unclear = known.declaration.unclear.or(declaration.unclear).or(unclear);
            }
            None => self.bindings.push(Binding { declared: site.range.start, sites: vec![site], declaration }),
        }
    }

    /// The binding that a token is a reference to.
    fn binding_of(&self, node: Node<'t>) -> Option<usize> {
        let place = node.start_byte();
        let (mut below, mut child) = (node, node);
        let mut is_deep = false;
        loop {
            let scope = child.parent()?;
            let is_seen = self.rules.shows(scope, child, below);
            if is_seen && self.rules.is_global(scope, text_of(node, self.text), self.text) {
                while let Some(above) = child.parent().filter(|above| above.id() != self.root.id()) {
                    (below, child) = (child, above);
                }
                continue;
            }
            let of_scope = self.bindings.iter().enumerate().filter(|(_, Binding { declaration, .. })| {
                is_seen
                    && declaration.scope.id() == scope.id()
                    && declaration.seen.contains(&place)
                    && !(is_deep && self.rules.is_shallow(declaration))
            });
            if let Some((at, _)) = of_scope.max_by_key(|(_, binding)| binding.declaration.seen.start) {
                return Some(at);
            }
            if self.rules.ends(scope) {
                return None;
            }
            is_deep |= self.rules.is_function(scope) && self.rules.shows(scope, child, below);
            (below, child) = (child, scope);
        }
    }

    fn facts(mut self, change: Change<'_>) -> Facts {
        let collisions = self.collisions(change);
        // Places of the new name that need no receiver.
        let plain = |token: &Token<'t>| match self.role(token) {
            Role::Other(Meaning::Unclear(reason)) if reason != MODULE => Some(token.range.start),
            _ if self.rules.is_read_again() || collisions.is_some() => None,
            Role::Declares(_) | Role::Refers(_) | Role::Other(_) => Some(token.range.start),
            Role::Member | Role::Keyword(_) => None,
        };
        let taken: Vec<usize> = self.tokens(change.to).iter().filter_map(plain).collect();
        let in_scope = |binding: &Binding<'t>| {
            let scope = binding.declaration.scope.byte_range();
            taken.iter().copied().find(|at| scope.contains(at))
        };
        let mut found: Vec<Option<usize>> = self.bindings.iter().map(in_scope).collect();
        let mut taken = taken.first().copied();
        if let Some(Collisions { of_bindings, of_package }) = collisions {
            found.iter_mut().zip(of_bindings).for_each(|(found, other)| *found = found.or(other));
            taken = taken.or(of_package);
        }
        let bindings = std::mem::take(&mut self.bindings);
        let doubles = |binding: &Binding<'t>| {
            let same = |other: &&Binding<'t>| other.declaration.scope.id() == binding.declaration.scope.id();
            !binding.declaration.merges
                && bindings.iter().filter(same).any(|other| {
                    other.declared != binding.declared && other.declaration.seen == binding.declaration.seen
                })
        };
        let doubled: Vec<bool> = bindings.iter().map(doubles).collect();
        let mut facts = Facts::default();
        for ((binding, is_doubled), collision) in bindings.into_iter().zip(doubled).zip(found) {
            facts.groups.push(self.group(binding, is_doubled, change, collision));
        }
        let keywords = std::mem::take(&mut self.keywords);
        self.loose
            .extend(keywords.into_iter().map(|(range, function)| Loose { range, meaning: Meaning::Keyword(function) }));
        self.loose.sort_by_key(|loose| loose.range.start);
        facts.inert = self.words(change.from, |rules, node, text| rules.is_inert(node, text));
        facts.data = self.words(change.from, |rules, node, text| rules.is_data(node, text));
        facts.loose = self.loose;
        facts.taken = taken;
        (facts.package, facts.stars) = self.rules.file(self.root, self.text);
        if facts.has_exported() {
            facts.exports.insert(change.from.to_owned(), Export::Own);
        }
        facts
    }

    fn group(&mut self, binding: Binding<'t>, is_doubled: bool, change: Change<'_>, collision: Option<usize>) -> Group {
        let Binding { declaration, declared, mut sites } = binding;
        let scope = declaration.scope.byte_range();
        let reach = self.keywords_of(&declaration, &mut sites);
        sites.sort_by_key(|site| site.range.start);
        let in_scope = self.loose.iter().find_map(|loose| match loose.meaning {
            Meaning::Unclear(reason) if reason != MODULE && scope.contains(&loose.range.start) => {
                Some((loose.range.start, reason))
            }
            _ => None,
        });
        let objects = |site: &Site| {
            let node = || self.root.descendant_for_byte_range(site.range.start, site.range.end);
            let reason = self.rules.objection(&self.text[..site.range.start], change.to);
            let reason = reason.or_else(|| self.rules.takes_over(node()?, declaration.scope))?;
            Some((site.range.start, reason))
        };
        let own = declaration.obstacle.or_else(|| self.rules.obstacle(self.text, change.from, declaration.scope));
        let taken = || collision.map(|at| (at, "the new name is in use in the same scope"));
        let unclear = match declaration.unclear {
            _ if is_doubled => Some((declared, "several things of that name are declared side by side")),
            Some(reason) => Some((declared, reason)),
            None => in_scope,
        };
        let of = |against| move |(at, reason): (usize, &str)| Obstacle { at, reason: reason.to_owned(), against };
        let obstacle = own.map(|reason| (declared, reason)).map(of(Against::AnyName));
        let obstacle = obstacle.or_else(|| sites.iter().find_map(objects).or_else(taken).map(of(Against::NewName)));
        let obstacle = obstacle.or_else(|| unclear.map(of(Against::Unclear)));
        Group { declared, kind: declaration.kind, sites, reach, obstacle }
    }

    /// Moves the arguments that name a parameter to its places, and says who else may name it.
    fn keywords_of(&mut self, declaration: &Declaration<'t>, sites: &mut Vec<Site>) -> Reach {
        let Reach::Named(owner) = &declaration.reach else { return declaration.reach.clone() };
        let is_own = |(_, called): &(_, Called)| called.by == By::Own(owner.at);
        let (own, others) = std::mem::take(&mut self.keywords).into_iter().partition(is_own);
        self.keywords = others;
        sites.extend(Vec::into_iter(own).map(|(range, _): (Range<usize>, Called)| Site { range, form: Form::Plain }));
        declaration.reach.clone()
    }
}
