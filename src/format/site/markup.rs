//! The sites of a page, and of the template, programs and style sheets of a component.

use std::ops::Range;

use super::{
    Element, Markup, Sheet, Site, Sites, Spelling,
    mask::{Masked, mask},
    script, sheet,
};
use crate::code::tree::{self, SyntaxNode};
use base::{
    error::{Code, Error},
    language::Language,
    micro::Kind,
    pulse::Pulse,
};

/// Reads a page.
pub(super) fn read(text: &str, markup: Markup, pulse: Pulse<'_>) -> Result<Sites, Error> {
    let Some(masked) = mask(text, markup) else {
        return Err(Error::new(Code::InvalidInput, "an expression of the template has no end that is certain")
            .hint("close its braces and strings, or change the file by `nrv.apply`"));
    };
    let tree = tree::parse(Language::Html, &masked.text, pulse)?;
    let mut reader = Reader { text, masked, markup, pulse, sites: Sites::default(), open: Vec::new(), broken_until: 0 };
    let root = tree.root();
    reader.text_of(&root, 0..text.len());
    for node in root.dfs() {
        reader.node(&node)?;
    }
    Ok(reader.sites)
}

struct Reader<'a> {
    text: &'a str,
    masked: Masked,
    markup: Markup,
    pulse: Pulse<'a>,
    sites: Sites,
    /// The elements that are open, each with its end.
    open: Vec<(usize, usize)>,
    /// The end of the part that could not be read, if it goes on.
    broken_until: usize,
}

impl Reader<'_> {
    fn node(&mut self, node: &SyntaxNode<'_>) -> Result<(), Error> {
        let range = node.range();
        if node.is_error() || node.is_missing() || node.kind() == "erroneous_end_tag" {
            self.sites.errors += 1;
            self.broken_until = self.broken_until.max(range.end);
        }
        if range.start < self.broken_until {
            return Ok(());
        }
        while self.open.last().is_some_and(|(_, end)| *end <= range.start) {
            self.open.pop();
        }
        match &*node.kind() {
            "element" | "script_element" | "style_element" => self.element(node),
            _ => Ok(()),
        }
    }

    fn push(&mut self, kind: Kind, name: &str, (range, spelling): (Range<usize>, Spelling), within: Option<char>) {
        let element = self.open.last().map(|(at, _)| *at);
        let name = name.to_owned();
        self.sites.sites.push(Site { kind, name, range, spelling, within, element, rule: None });
    }

    fn is_hidden(&self, range: &Range<usize>) -> bool {
        let after = self.masked.hidden.partition_point(|hidden| hidden.end <= range.start);
        self.masked.hidden.get(after).is_some_and(|hidden| hidden.start < range.end)
    }

    fn element(&mut self, node: &SyntaxNode<'_>) -> Result<(), Error> {
        let is_tag = |child: &SyntaxNode<'_>| matches!(&*child.kind(), "start_tag" | "self_closing_tag");
        let Some(tag) = node.children().find(is_tag) else { return Ok(()) };
        let Some(name) = tag.children().find(|child| child.kind() == "tag_name") else { return Ok(()) };
        let (text, range) = (name.text().into_owned(), node.range());
        let parent = self.open.last().map(|(at, _)| *at);
        let is_html = self.markup == Markup::Html;
        let element = Element { name: text.clone(), start: range.start, parent, attributes: Vec::new(), is_html };
        self.sites.elements.push(element);
        let at = self.sites.elements.len() - 1;
        self.open.push((at, range.end));
        if !self.is_hidden(&name.range()) {
            let after = name.range().end;
            self.push(Kind::Element, &text, (after..after, Spelling::Tag), None);
        }
        for attribute in tag.children().filter(|child| child.kind() == "attribute") {
            self.attribute(at, &attribute)?;
        }
        let is_end = |child: &SyntaxNode<'_>| child.kind() == "end_tag";
        let end = node.children().find(is_end).map_or(range.end, |end| end.range().start);
        let inside = tag.range().end..end;
        match &*node.kind() {
            "element" => self.text_of(node, inside),
            "script_element" => self.program(at, inside)?,
            _ => self.style_sheet(at, inside),
        }
        Ok(())
    }

    /// The text in a node between its children.
    fn text_of(&mut self, node: &SyntaxNode<'_>, inside: Range<usize>) {
        let is_other = |child: &SyntaxNode<'_>| {
            !matches!(&*child.kind(), "text" | "entity" | "raw_text" | "start_tag" | "end_tag" | "self_closing_tag")
        };
        let children = node.children().filter(is_other).map(|child| child.range());
        let hidden =
            self.masked.hidden.iter().filter(|one| one.start >= inside.start && one.end <= inside.end).cloned();
        let mut others: Vec<Range<usize>> = children.chain(hidden).collect();
        others.sort_by_key(|range| range.start);
        let mut at = inside.start;
        for other in others {
            if other.start > at {
                self.gap(at..other.start);
            }
            at = at.max(other.end);
        }
        if at < inside.end {
            self.gap(at..inside.end);
        }
    }

    fn gap(&mut self, range: Range<usize>) {
        if !self.text[range.clone()].trim().is_empty() {
            self.push(Kind::Text, "", (range, Spelling::Html(self.markup)), None);
        }
    }

    fn attribute(&mut self, element: usize, attribute: &SyntaxNode<'_>) -> Result<(), Error> {
        let part = |kind: &str| attribute.children().find(|child| child.kind() == kind);
        let Some(name) = part("attribute_name").filter(|name| !self.is_hidden(&name.range())) else { return Ok(()) };
        let name = name.text().into_owned();
        let value = match (part("quoted_attribute_value"), part("attribute_value")) {
            (Some(quoted), _) => {
                let (range, text) = (quoted.range(), quoted.text());
                let quote = text.chars().next().filter(|quote| text.len() > 1 && text.ends_with(*quote));
                quote.map(|quote| (range.start + 1..range.end - 1, Some(quote)))
            }
            (None, Some(value)) => Some((value.range(), None)),
            (None, None) => None,
        };
        let key = if self.markup == Markup::Html { name.to_ascii_lowercase() } else { name.clone() };
        let Some((range, quote)) = value else {
            self.sites.elements[element].attributes.push((key, Some(String::new())));
            return Ok(());
        };
        let is_computed = self.is_hidden(&range);
        let spelling = if is_computed { Spelling::Computed } else { Spelling::Attribute(quote) };
        let bound = self.bound(&name);
        let known = (!is_computed && bound.is_none()).then(|| self.text[range.clone()].to_owned());
        self.sites.elements[element].attributes.push((key.clone(), known));
        match bound {
            Some(bound) => return self.bound_value(bound, &name, range, quote),
            None => self.push(Kind::Prop, &name, (range.clone(), spelling), None),
        }
        if key == "class" {
            self.push(Kind::Class, "", (range.clone(), spelling), None);
        }
        if key == "style" && !is_computed {
            self.inline_style(range, quote);
        }
        Ok(())
    }

    /// The attribute that an attribute of Vue computes; none if it computes none.
    fn bound<'n>(&self, name: &'n str) -> Option<&'n str> {
        if self.markup != Markup::Vue {
            return None;
        }
        let bound = name.strip_prefix(':').or_else(|| name.strip_prefix("v-bind:"));
        bound
            .or_else(|| name.starts_with(['@', '#']).then_some(name))
            .or_else(|| name.starts_with("v-").then_some(name))
    }

    /// The strings in an expression of Vue.
    fn bound_value(&mut self, bound: &str, name: &str, range: Range<usize>, quote: Option<char>) -> Result<(), Error> {
        let (text, start) = (&self.text[range.clone()], range.start);
        self.push(Kind::Prop, name, (range.clone(), Spelling::Computed), None);
        let kind = match bound {
            "class" => Kind::Class,
            "style" => Kind::Style,
            _ => return Ok(()),
        };
        // A reference would stand for another character in the program.
        let found = if text.contains('&') { Vec::new() } else { script::expression(text, kind, self.pulse)? };
        if found.is_empty() {
            self.push(kind, "", (range, Spelling::Computed), None);
        }
        for (name, range, spelling) in found {
            self.push(kind, &name, (range.start + start..range.end + start, spelling), quote);
        }
        Ok(())
    }

    /// The declarations of a `style` attribute.
    fn inline_style(&mut self, range: Range<usize>, quote: Option<char>) {
        let text = &self.text[range.clone()];
        if quote.is_none() || text.contains('&') {
            return;
        }
        for site in sheet::read(text, Sheet::Css).sites.into_iter().filter(|site| site.kind == Kind::Style) {
            let place = range.start + site.range.start..range.start + site.range.end;
            self.push(Kind::Style, &site.name, (place, site.spelling), quote);
        }
    }

    fn attribute_of(&self, element: usize, name: &str) -> Option<String> {
        let attributes = &self.sites.elements[element].attributes;
        attributes.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.clone())
    }

    /// The sites of a program in the page.
    fn program(&mut self, element: usize, inside: Range<usize>) -> Result<(), Error> {
        let language =
            match (self.attribute_of(element, "lang").as_deref(), self.attribute_of(element, "type").as_deref()) {
                (Some("ts" | "typescript"), _) => Language::TypeScript,
                (Some("tsx"), _) => Language::Tsx,
                (
                    Some("js" | "jsx" | "javascript") | None,
                    None | Some("" | "module" | "text/javascript" | "text/babel"),
                ) => Language::JavaScript,
                _ => return Ok(()),
            };
        let (part, _) = script::read(&self.text[inside.clone()], language, self.pulse)?;
        self.sites.add(part, inside.start);
        Ok(())
    }

    /// The sites of a style sheet in the page.
    fn style_sheet(&mut self, element: usize, inside: Range<usize>) {
        let sheet = match self.attribute_of(element, "lang").as_deref() {
            None | Some("css" | "postcss") => Sheet::Css,
            Some("scss") => Sheet::Scss,
            Some("less") => Sheet::Less,
            Some(_) => return,
        };
        let part = sheet::read(&self.text[inside.clone()], sheet);
        self.sites.add(part, inside.start);
    }
}
