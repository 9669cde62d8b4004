//! The headings and links of a Markdown text, with their lines: the outline that an adapter asks for.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::markdown::front_matter;

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// A heading: its level, its text without marks, and its line from 1.
pub(crate) type Heading = (u8, String, usize);

/// A link or an image: its destination, and its line from 1.
pub type Link = (String, usize);

/// The headings of a Markdown text.
pub fn headings(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut open: Option<Heading> = None;
    let body = front_matter(text).end;
    let mut lines = Lines::of(text);
    for (event, range) in Parser::new_ext(&text[body..], OPTIONS).into_offset_iter() {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { level, .. }), _) => {
                open = Some((level as u8, String::new(), lines.at(body + range.start)));
            }
            (Event::End(TagEnd::Heading(_)), _) => headings.extend(open.take()),
            (Event::Text(part) | Event::Code(part), Some(heading)) => heading.1.push_str(&part),
            (Event::SoftBreak | Event::HardBreak, Some(heading)) => heading.1.push(' '),
            _ => {}
        }
    }
    headings
}

/// The links and images of a Markdown text.
pub fn links(text: &str) -> Vec<Link> {
    let body = front_matter(text).end;
    let mut lines = Lines::of(text);
    let mut links = Vec::new();
    for (event, range) in Parser::new_ext(&text[body..], OPTIONS).into_offset_iter() {
        if let Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) = event {
            let url = if link_type == LinkType::Email { format!("mailto:{dest_url}") } else { dest_url.into_string() };
            links.push((url, lines.at(body + range.start)));
        }
    }
    links
}

/// Numbers of lines, asked for from above to below.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Lines { text, at: 0, line: 1 }
    }

    fn at(&mut self, offset: usize) -> usize {
        if offset < self.at {
            *self = Lines::of(self.text);
        }
        let passed = &self.text.as_bytes()[self.at..offset];
        let ends = |(index, byte): (usize, &u8)| match byte {
            b'\n' => true,
            b'\r' => self.text.as_bytes().get(self.at + index + 1) != Some(&b'\n'),
            _ => false,
        };
        self.line += passed.iter().enumerate().filter(|found| ends(*found)).count();
        self.at = offset;
        self.line
    }
}
