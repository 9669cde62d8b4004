//! The sites of a program: imports, JSX elements with their attributes and text, class strings, and style objects.

use std::ops::Range;

use super::{Element, Site, Sites, Spelling, class, object};
use crate::code::tree::{self, Base, SyntaxNode, Tree};
use base::{error::Error, language::Language, micro::Kind, pulse::Pulse};

/// Reads a program. The tree is kept for edits of the text, if all of it was understood.
pub(super) fn read(text: &str, language: Language, pulse: Pulse<'_>) -> Result<(Sites, Option<Base>), Error> {
    let (tree, base) = tree::parse_first(language, text, pulse)?;
    let mut reader = Reader::of(&tree);
    // Types of Flow are those of TypeScript, as far as both have them.
    if reader.sites.errors > 0 && language == Language::JavaScript {
        let other = Reader::of(&tree::parse(Language::Tsx, text, pulse)?);
        if other.sites.errors < reader.sites.errors {
            reader = other;
        }
    }
    Ok((reader.sites, base))
}

/// Reads a program whose tree was edited.
pub(super) fn edited(tree: &Tree) -> Sites {
    Reader::of(tree).sites
}

/// Reads an expression in an attribute of a template, as a list of classes or as a style object.
pub(super) fn expression(
    text: &str,
    kind: Kind,
    pulse: Pulse<'_>,
) -> Result<Vec<(String, Range<usize>, Spelling)>, Error> {
    let tree = tree::parse(Language::TypeScript, &format!("({text})"), pulse)?;
    if !tree::error_lines(&tree).is_empty() {
        return Ok(Vec::new());
    }
    let root = tree.root();
    let whole = root.dfs().find(|node| node.kind() == "parenthesized_expression");
    let found = whole.map(|whole| match kind {
        Kind::Style => object::declarations(&whole),
        _ => class::strings(&whole).into_iter().map(|(range, spelling)| (String::new(), range, spelling)).collect(),
    });
    let back =
        |(name, range, spelling): (String, Range<usize>, Spelling)| (name, range.start - 1..range.end - 1, spelling);
    Ok(found.unwrap_or_default().into_iter().map(back).collect())
}

/// The kinds of nodes that have sites, or hold the nodes of sites.
const KINDS: &[&str] = &[
    "call_expression",
    "export_statement",
    "import_require_clause",
    "import_statement",
    "jsx_element",
    "jsx_self_closing_element",
    "variable_declarator",
];

/// The numbers of these kinds, as far as a grammar has them.
fn wanted(language: &tree_sitter::Language) -> Vec<u16> {
    KINDS.iter().map(|kind| language.id_for_node_kind(kind, true)).filter(|number| *number != 0).collect()
}

struct Reader {
    sites: Sites,
    /// The elements that are open, each with its end.
    open: Vec<(usize, usize)>,
    /// The end of the part that could not be read, if it goes on.
    broken_until: usize,
    /// The end of the expression whose classes are known already.
    classes_until: usize,
    /// The end of the style object that is known already.
    styles_until: usize,
}

impl Reader {
    fn of(tree: &Tree) -> Self {
        let mut reader =
            Reader { sites: Sites::default(), open: Vec::new(), broken_until: 0, classes_until: 0, styles_until: 0 };
        let root = tree.root();
        let wanted = wanted(&root.get_inner_node().language());
        let is_broken = tree::has_errors(tree);
        for node in root.dfs() {
            // Most nodes are words and marks, and their numbers are compared faster than the names of their kinds.
            if wanted.contains(&node.kind_id()) || is_broken && (node.is_error() || node.is_missing()) {
                reader.node(&node);
            }
        }
        reader
    }

    fn node(&mut self, node: &SyntaxNode<'_>) {
        let range = node.range();
        if node.is_error() || node.is_missing() {
            self.sites.errors += 1;
            self.broken_until = self.broken_until.max(range.end);
        }
        if range.start < self.broken_until {
            return;
        }
        while self.open.last().is_some_and(|(_, end)| *end <= range.start) {
            self.open.pop();
        }
        match &*node.kind() {
            "jsx_element" => {
                let tag = node.field("open_tag");
                if let Some(tag) = tag {
                    self.element(&tag, &range);
                    self.text(node, &tag);
                }
            }
            "jsx_self_closing_element" => self.element(node, &range),
            "import_statement" | "export_statement" | "import_require_clause" => {
                self.import(node.field("source").as_ref())
            }
            "call_expression" => self.call(node),
            "variable_declarator" => self.variable(node),
            _ => {}
        }
    }

    fn push(&mut self, kind: Kind, name: &str, (range, spelling): (Range<usize>, Spelling)) {
        let element = self.open.last().map(|(at, _)| *at);
        let name = name.to_owned();
        self.sites.sites.push(Site { kind, name, range, spelling, within: None, element, rule: None });
    }

    fn import(&mut self, source: Option<&SyntaxNode<'_>>) {
        if let Some(place) = source.filter(|source| source.kind() == "string").and_then(class::string) {
            self.push(Kind::Import, "", place);
        }
    }

    /// `import(…)`, `require(…)`, and functions that join classes.
    fn call(&mut self, node: &SyntaxNode<'_>) {
        let Some(function) = node.field("function") else { return };
        let is_import = function.kind() == "import" || function.kind() == "identifier" && function.text() == "require";
        if is_import {
            let argument = node.field("arguments").and_then(|all| all.children().find(SyntaxNode::is_named));
            return self.import(argument.as_ref());
        }
        if class::joins(node) && node.range().start >= self.classes_until {
            self.classes(node, false);
        }
    }

    /// The classes of an expression, and a mark for what a program computes.
    fn classes(&mut self, expression: &SyntaxNode<'_>, marks: bool) {
        let strings = class::strings(expression);
        if strings.is_empty() && marks {
            self.push(Kind::Class, "", (expression.range(), Spelling::Computed));
        }
        strings.into_iter().for_each(|place| self.push(Kind::Class, "", place));
        self.classes_until = self.classes_until.max(expression.range().end);
    }

    /// `const styles = {…}` and the like.
    fn variable(&mut self, node: &SyntaxNode<'_>) {
        let (Some(name), Some(value)) = (node.field("name"), node.field("value")) else { return };
        let is_typed = node.field("type").is_some_and(|kind| kind.text().contains("CSSProperties"))
            || matches!(&*value.kind(), "as_expression" | "satisfies_expression")
                && value.text().contains("CSSProperties");
        let is_named = name.text().to_ascii_lowercase().contains("style");
        let is_object = match &*value.kind() {
            "object" | "as_expression" | "satisfies_expression" => true,
            "call_expression" => value.field("function").is_some_and(|function| function.text() == "StyleSheet.create"),
            _ => false,
        };
        if is_object && (is_typed || is_named || value.kind() == "call_expression") {
            self.styles(&value);
        }
    }

    fn styles(&mut self, value: &SyntaxNode<'_>) {
        if value.range().start < self.styles_until {
            return;
        }
        for (name, range, spelling) in object::declarations(value) {
            self.push(Kind::Style, &name, (range, spelling));
        }
        self.styles_until = value.range().end;
    }

    /// An element with the attributes of its tag.
    fn element(&mut self, tag: &SyntaxNode<'_>, range: &Range<usize>) {
        let name = tag.field("name");
        let text = name.as_ref().map(|name| name.text().into_owned()).unwrap_or_default();
        let parent = self.open.last().map(|(at, _)| *at);
        let element =
            Element { name: text.clone(), start: range.start, parent, attributes: Vec::new(), is_html: false };
        self.sites.elements.push(element);
        let at = self.sites.elements.len() - 1;
        self.open.push((at, range.end));
        if let Some(name) = name {
            let after = tag.field("type_arguments").map_or(name.range().end, |types| types.range().end);
            self.push(Kind::Element, &text, (after..after, Spelling::Tag));
        }
        for attribute in tag.children().filter(|child| child.kind() == "jsx_attribute") {
            self.attribute(at, &attribute);
        }
    }

    fn attribute(&mut self, element: usize, attribute: &SyntaxNode<'_>) {
        let mut parts = attribute.children().filter(SyntaxNode::is_named);
        let Some(name) = parts.next().map(|name| name.text().into_owned()) else { return };
        let value = parts.next();
        let inner = value.as_ref().map(inner);
        let place = match (&value, &inner) {
            // A string of JSX has references, and no escapes.
            (Some(value), _) if value.kind() == "string" => {
                class::string(value).map(|(range, spelling)| match spelling {
                    Spelling::Text(quote) => (range, Spelling::Attribute(Some(quote))),
                    other => (range, other),
                })
            }
            (Some(value), Some(Some(inner))) => {
                Some(object::literal(inner).unwrap_or((value.range(), Spelling::Computed)))
            }
            _ => None,
        };
        if let Some(place) = place.clone() {
            self.push(Kind::Prop, &name, place);
        }
        let is_class = matches!(name.as_str(), "class" | "className") || name.ends_with("ClassName");
        match (is_class, &inner, &place) {
            (true, _, Some((range, spelling @ (Spelling::Attribute(_) | Spelling::Text(_) | Spelling::Template)))) => {
                self.push(Kind::Class, "", (range.clone(), *spelling));
                self.classes_until = self.classes_until.max(range.end + 1);
            }
            (true, Some(Some(inner)), _) => self.classes(inner, true),
            _ => {}
        }
        let is_style = matches!(name.as_str(), "style" | "sx") || name.ends_with("Style");
        if let (true, Some(Some(inner))) = (is_style, &inner) {
            self.styles(inner);
        }
        let known = self.known_value(&name, is_class, place.as_ref(), attribute);
        let html = match name.as_str() {
            "className" => "class".to_owned(),
            "htmlFor" => "for".to_owned(),
            _ => name,
        };
        self.sites.elements[element].attributes.push((html, known));
    }

    /// The value of an attribute as selectors see it: of a computed class the strings in it.
    fn known_value(
        &self,
        name: &str,
        is_class: bool,
        place: Option<&(Range<usize>, Spelling)>,
        attribute: &SyntaxNode<'_>,
    ) -> Option<String> {
        let (start, text) = (attribute.range().start, attribute.text());
        let part = |range: &Range<usize>| text.get(range.start.checked_sub(start)?..range.end.checked_sub(start)?);
        match place {
            Some((range, spelling)) if *spelling != Spelling::Computed => part(range).map(str::to_owned),
            _ if is_class && matches!(name, "class" | "className") => {
                let of_it = self.sites.sites.iter().rev().take_while(|site| site.range.start >= start);
                let strings = of_it.filter(|site| site.kind == Kind::Class && site.spelling != Spelling::Computed);
                Some(strings.filter_map(|site| part(&site.range)).collect::<Vec<_>>().join(" "))
            }
            _ => None,
        }
    }

    /// The text between the children of an element.
    fn text(&mut self, node: &SyntaxNode<'_>, tag: &SyntaxNode<'_>) {
        let end = node.field("close_tag").map_or(node.range().end, |close| close.range().start);
        let mut at = tag.range().end;
        let (whole, start) = (node.text(), node.range().start);
        let inside = |child: &SyntaxNode<'_>| child.range().start >= at && child.range().end <= end;
        let is_text = |child: &SyntaxNode<'_>| matches!(&*child.kind(), "jsx_text" | "html_character_reference");
        let children: Vec<_> = node.children().filter(inside).filter(|child| !is_text(child)).collect();
        for child in &children {
            self.gap(&whole, start, at..child.range().start);
            at = child.range().end;
            if child.kind() == "jsx_expression"
                && let Some(place) = inner(child).as_ref().and_then(class::string)
            {
                self.push(Kind::Text, "", place);
            }
        }
        self.gap(&whole, start, at..end);
    }

    fn gap(&mut self, whole: &str, start: usize, range: Range<usize>) {
        let text = range.start.checked_sub(start).and_then(|from| whole.get(from..range.end.checked_sub(start)?));
        if text.is_some_and(|text| !text.trim().is_empty()) {
            self.push(Kind::Text, "", (range, Spelling::Jsx));
        }
    }
}

/// The expression within braces, if there is nothing else in them.
fn inner<'t>(value: &SyntaxNode<'t>) -> Option<SyntaxNode<'t>> {
    if value.kind() != "jsx_expression" {
        return None;
    }
    let mut parts = value.children().filter(SyntaxNode::is_named);
    parts.next().filter(|_| parts.next().is_none())
}
