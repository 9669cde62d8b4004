//! The pieces of headings, from the events of a Markdown parser.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::outline::{Heading, Part, Piece};

/// Takes the events of a document in their order.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The marks around the present place in a heading; none outside of headings.
    marks: Option<Vec<Mark>>,
}

/// Emphasis, a link or an image that has not ended yet.
#[derive(Debug)]
struct Mark {
    kind: Kind,
    /// True if nothing precedes it within the marks around it.
    leads: bool,
    inside: Inside,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Image,
    Autolink,
    Other,
}

/// The things that stand in a mark so far.
#[derive(Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// One text, which may go on.
    Text,
    More,
}

impl Reader {
    /// Takes an event and its place.
    pub(super) fn event(&mut self, event: &Event<'_>, range: &Range<usize>, headings: &mut Vec<Heading>) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                headings.push(Heading { pieces: Vec::new(), range: range.clone() });
                self.marks = Some(Vec::new());
            }
            Event::End(TagEnd::Heading(_)) => self.marks = None,
            _ => {}
        }
        let (Some(heading), Some(marks)) = (headings.last_mut(), &mut self.marks) else { return };
        let heading = &mut heading.pieces;
        match event {
            Event::Start(Tag::Heading { .. }) => {}
            Event::Start(tag) => {
                let leads = lead(marks, Inside::More);
                marks.push(Mark { kind: Kind::of(tag), leads, inside: Inside::Nothing });
            }
            Event::End(_) => drop(marks.pop()),
            Event::Text(text) => heading.push(piece(marks, Part::Text, text)),
            Event::Code(text) => heading.push(piece(marks, Part::Code, text)),
            Event::SoftBreak | Event::HardBreak => heading.push(piece(marks, Part::Break, "")),
            Event::InlineHtml(_) => heading.push(piece(marks, Part::Html, "")),
            _ => {
                lead(marks, Inside::More);
            }
        }
    }
}

impl Kind {
    fn of(tag: &Tag<'_>) -> Self {
        match tag {
            Tag::Image { .. } => Kind::Image,
            Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. } => Kind::Autolink,
            _ => Kind::Other,
        }
    }
}

fn piece(marks: &mut [Mark], part: Part, text: &str) -> Piece {
    let leads = lead(marks, if part == Part::Text { Inside::Text } else { Inside::More });
    let is_in = |kind: Kind| marks.iter().any(|mark| mark.kind == kind);
    let part = match part {
        Part::Text | Part::Code if is_in(Kind::Image) => Part::Alt,
        Part::Text if is_in(Kind::Autolink) => Part::Url,
        part => part,
    };
    Piece { part, text: text.to_owned(), depth: marks.len(), leads }
}

/// Notes a thing in the innermost mark; true if nothing precedes it there, and nothing that within the marks around it.
fn lead(marks: &mut [Mark], thing: Inside) -> bool {
    let Some(mark) = marks.last_mut() else { return true };
    let goes_on = mark.inside == Inside::Text && thing == Inside::Text;
    let is_first = mark.inside == Inside::Nothing || goes_on;
    mark.inside = if is_first { thing } else { Inside::More };
    mark.leads && is_first
}
