//! The headings and links of a Markdown text, with their lines: the outline that an adapter's verifying side asks for.

use comrak::{
    Arena, Options,
    nodes::{Node, NodeValue},
    parse_document,
};

/// A heading: its level, its text without marks, and its line from 1.
pub(crate) type Heading = (u8, String, usize);

/// A link or an image: its destination, and its line from 1.
pub type Link = (String, usize);

/// The headings of a Markdown text.
pub fn headings(text: &str) -> Vec<Heading> {
    read(text, |node| match &node.data().value {
        NodeValue::Heading(heading) => {
            let mut text = String::new();
            for inner in node.descendants() {
                match &inner.data().value {
                    NodeValue::Text(part) => text.push_str(part),
                    NodeValue::Code(code) => text.push_str(&code.literal),
                    NodeValue::SoftBreak | NodeValue::LineBreak => text.push(' '),
                    _ => {}
                }
            }
            Some((heading.level, text, node.data().sourcepos.start.line))
        }
        _ => None,
    })
}

/// The links and images of a Markdown text.
pub fn links(text: &str) -> Vec<Link> {
    read(text, |node| match &node.data().value {
        NodeValue::Link(link) | NodeValue::Image(link) => Some((link.url.clone(), node.data().sourcepos.start.line)),
        _ => None,
    })
}

fn read<T>(text: &str, found: impl for<'a> Fn(Node<'a>) -> Option<T>) -> Vec<T> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.footnotes = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    let delimiter = if text.trim_start_matches('\u{feff}').starts_with("+++") { "+++" } else { "---" };
    options.extension.front_matter_delimiter = Some(delimiter.to_owned());
    options.parse.leave_footnote_definitions = true;
    let tree = Arena::new();
    let root = parse_document(&tree, text, &options);
    root.descendants().filter_map(found).collect()
}
