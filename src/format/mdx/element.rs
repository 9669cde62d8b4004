//! The tags of MDX: the links and ids that they spell out.

use std::ops::Range;

use ::markdown::mdast::{AttributeContent, AttributeValue};

use super::program;
use crate::{
    escape::Escape,
    table::{self, Form},
    value::Decoded,
};

/// A tag that opens an element.
pub(super) struct Tag<'n> {
    /// The name; empty for a fragment.
    pub(super) name: &'n str,
    /// The names of its literal attributes with their values. Those of HTML do not depend on case.
    literals: Vec<(String, &'n str)>,
    /// The names of the attributes that are programs.
    programs: Vec<&'n str>,
}

/// A use of a literal attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is an anchor.
    Id,
    /// It holds URLs.
    Urls(Form),
    /// It is a style sheet.
    Style,
}

impl<'n> Tag<'n> {
    pub(super) fn of(name: Option<&'n str>, attributes: &'n [AttributeContent]) -> Self {
        let name = name.unwrap_or_default();
        let mut tag = Tag { name, literals: Vec::new(), programs: Vec::new() };
        for attribute in attributes {
            let AttributeContent::Property(property) = attribute else { continue };
            match &property.value {
                Some(AttributeValue::Literal(value)) => tag.literals.push((tag.key(&property.name), value)),
                Some(AttributeValue::Expression(_)) => tag.programs.push(&property.name),
                None => {}
            }
        }
        tag
    }

    fn key(&self, name: &str) -> String {
        let is_html = self.name.starts_with(|c: char| c.is_ascii_lowercase()) && !self.name.contains('.');
        if is_html { name.to_ascii_lowercase() } else { name.to_owned() }
    }

    /// True if the element may have an anchor that is not spelled out.
    pub(super) fn may_make_anchor(&self) -> bool {
        let is_heading = matches!(self.name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        self.programs.iter().any(|name| self.is_id(name)) || (is_heading && self.first("id").is_none())
    }

    /// The literal attributes with a use, each with its value and its place. The tag begins a part of the text. None if it is
    /// not clear where they stand.
    pub(super) fn uses(&self, text: &str, part: Range<usize>) -> Option<Vec<(Use, &'n str, Range<usize>)>> {
        let mut uses = Vec::new();
        for (at, (name, value)) in self.literals.iter().enumerate() {
            let is_first = !self.literals[..at].iter().any(|(other, _)| other == name);
            uses.extend(self.use_of(name).filter(|_| is_first).map(|using| (using, *value, at)));
        }
        if uses.is_empty() {
            return Some(Vec::new());
        }
        let places = program::attributes(text, part, self.name)?;
        let agree = |((one, place), (other, value)): (&program::Attribute, &(String, &str))| {
            let decoded = Decoded::new(text.as_bytes().get(place.clone()).unwrap_or_default(), &[Escape::MarkdownText]);
            self.key(one) == *other && decoded.text == *value
        };
        let is_same = places.len() == self.literals.len() && places.iter().zip(&self.literals).all(agree);
        is_same.then(|| uses.into_iter().map(|(using, value, at)| (using, value, places[at].1.clone())).collect())
    }

    fn first(&self, wanted: &str) -> Option<&'n str> {
        self.literals.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value)
    }

    fn is_id(&self, attribute: &str) -> bool {
        attribute == "id" || (attribute == "name" && self.name == "a")
    }

    /// The use of an attribute. A component has a name of its own, and any element may be one.
    fn use_of(&self, attribute: &str) -> Option<Use> {
        let meta = || table::meta_form(self.first("http-equiv"), self.first("property"), self.first("name"));
        match attribute {
            _ if self.is_id(attribute) => Some(Use::Id),
            "style" => Some(Use::Style),
            "href" | "src" => Some(Use::Urls(Form::Url)),
            "content" if self.name == "meta" => meta().map(Use::Urls),
            _ => table::form(self.name, false, attribute).map(Use::Urls),
        }
    }
}
