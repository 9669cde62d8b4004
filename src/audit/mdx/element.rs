//! The elements of MDX: the links and ids that their tags spell out.

use std::ops::Range;

use super::{
    masked::Masked,
    script::{self, Value},
};
use crate::{
    attribute::{Tag, urls_of_components},
    css,
    page::{Page, Subject},
    spelling::{Layer, Spelled},
};

/// The name that stands for that of every component.
const COMPONENT: &[u8] = b"x-component";

impl Masked {
    /// Takes the links and ids in the tags of the page. Everything else in them stays.
    pub fn elements(&self, source: &str, page: &mut Page) {
        let bytes = source.as_bytes();
        let subject = std::mem::replace(&mut page.subject, Subject::Tree);
        for tag in &self.tags {
            let mut copied = tag.range.start;
            let known = known(bytes, tag);
            for attribute in &known.attributes {
                let Some(raw) = attribute.raw.clone() else { continue };
                page.note(b'm', &bytes[copied..raw.start]);
                copied = raw.end;
                if is_id(&known.name, &attribute.name) {
                    page.anchors.push(attribute.value.clone());
                }
                if attribute.name == b"style" {
                    let urls = css::read(&attribute.value, page);
                    page.located((bytes, raw, Some(0)), &attribute.value, &urls);
                    continue;
                }
                let urls = urls_of_components(&known, false, &attribute.name, &attribute.value);
                page.take(&attribute.value, &urls);
                page.located((bytes, raw, Some(0)), &attribute.value, &urls);
            }
            page.note(b'm', &bytes[copied..tag.range.end]);
        }
        page.subject = subject;
    }
}

/// The tag with its literal attributes, as one of HTML. The names of HTML do not depend on case.
fn known(bytes: &[u8], tag: &script::Tag) -> Tag {
    let (name, is_html) = (&bytes[tag.name.clone()], is_html(&bytes[tag.name.clone()]));
    let mut known = Tag::default();
    known.begin(if is_html { name } else { COMPONENT });
    for (name, value) in &tag.attributes {
        let Value::Literal(raw) = value else { continue };
        let name = &bytes[name.clone()];
        known.attribute(&if is_html { name.to_ascii_lowercase() } else { name.to_vec() });
        if !known.repeated
            && let Some(attribute) = known.attributes.last_mut()
        {
            attribute.value = Spelled::decode(&bytes[raw.clone()], &[Layer::Entities]).bytes;
            attribute.raw = Some(raw.clone());
        }
    }
    known
}

fn is_html(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_lowercase) && !name.contains(&b'.')
}

fn is_id(element: &[u8], attribute: &[u8]) -> bool {
    attribute == b"id" || (attribute == b"name" && element == b"a")
}

/// True if a tag has an anchor that a program makes.
pub(super) fn makes_anchor(source: &str, tag: &script::Tag) -> bool {
    let (bytes, element) = (source.as_bytes(), &source.as_bytes()[tag.name.clone()]);
    let is_made =
        |(name, value): &(Range<usize>, Value)| *value == Value::Program && is_id(element, &bytes[name.clone()]);
    let is_spelled =
        |(name, value): &(Range<usize>, Value)| matches!(value, Value::Literal(_)) && &bytes[name.clone()] == b"id";
    let is_heading = matches!(element, [b'h', b'1'..=b'6']) && !tag.is_end;
    tag.attributes.iter().any(is_made) || (is_heading && !tag.attributes.iter().any(is_spelled))
}

/// True if a program may bring anchors: those of a page that it imports, or an id of an element in it.
pub(super) fn may_make_anchors(program: &str) -> bool {
    let is_page = |text: &str| text.ends_with(".md") || text.ends_with(".mdx");
    let is_module = program.starts_with("import ") || program.starts_with("export ");
    program.contains("id=") || (is_module && program.split(['"', '\'']).skip(1).step_by(2).any(is_page))
}
