//! Masks the programs of MDX, so that a reader of Markdown sees the rest of it: modules, expressions and tags.
//!
//! MDX has no indented code. So lines are written with no more white space than their containers need. A reader of Markdown then
//! has to find the same code as this one; otherwise the file is doubtful.

mod block;
mod element;
mod line;
pub mod masked;
mod script;

use comrak::{
    Arena,
    nodes::{NodeCodeBlock, NodeValue},
};

use self::{
    line::Masker,
    masked::{Found, Masked, bare},
};
use super::{markdown, page::Page};
use base::{error::Error, pulse::Pulse};

const NOT_TEXT: &str = "it is no UTF-8, so it was to be left alone";
/// The doubt about a page whose links are not all known.
pub const UNREAD: &str = "a tag or a program in it does not end, so it was to be left alone";
const OTHER: &str = "its programs and its code can be read in several ways, so it was to be left alone";

impl Masked {
    /// Masks a page; an error if `pulse` gives one.
    pub fn of(source: &str, pulse: Pulse<'_>) -> Result<Masked, Error> {
        let mut masker = Masker::new(source);
        let mut start = front_matter(source);
        masker.copy(0..start);
        let mut is_read = true;
        while is_read && start < source.len() {
            let (line, next) = block::line(source.as_bytes(), start);
            is_read = masker.line(line.clone()).is_some();
            masker.copy(line.end..next);
            start = next;
            pulse()?;
        }
        let (mut masked, found) = masker.finish();
        if !is_read {
            masked.doubt = Some(UNREAD);
        } else if found != Found::of(&masked.text, pulse)? {
            masked.doubt = Some(OTHER);
        }
        masked.may_have_more = masked.tags.iter().any(|tag| element::makes_anchor(source, tag))
            || masked.programs.iter().any(|program| element::may_make_anchors(&source[program.clone()]));
        Ok(masked)
    }
}

/// Reads a file; an error if `pulse` gives one.
pub fn read(bytes: &[u8], pulse: Pulse<'_>, page: &mut Page) -> Result<(), Error> {
    let Ok(source) = std::str::from_utf8(bytes) else {
        page.doubt(NOT_TEXT);
        page.note(b'v', bytes);
        return Ok(());
    };
    let masked = Masked::of(source, pulse)?;
    if let Some(reason) = masked.doubt {
        page.doubt(reason);
    }
    for program in &masked.programs {
        page.note(b'm', &bytes[program.clone()]);
    }
    masked.elements(source, page);
    markdown::read(masked.text.as_bytes(), pulse, page)
}

impl Found {
    /// The code that a reader of Markdown finds. One of the second kind stands for anything else that only Markdown has.
    fn of(text: &str, pulse: Pulse<'_>) -> Result<Found, Error> {
        let arena = Arena::new();
        let mut found = Found::default();
        for node in markdown::parse(&arena, text, pulse)?.descendants() {
            let data = node.data();
            match &data.value {
                NodeValue::CodeBlock(block) => match &**block {
                    NodeCodeBlock { fenced: true, .. } => found.fences.push(data.sourcepos.start.line),
                    NodeCodeBlock { .. } => found.spans.push(String::new()),
                },
                NodeValue::HtmlBlock(_) | NodeValue::HtmlInline(_) => found.spans.push(String::new()),
                NodeValue::Code(code) => found.spans.push(bare(&code.literal)),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The end of data between lines of `---` or `+++` at the beginning.
fn front_matter(source: &str) -> usize {
    let begin = source.len() - source.trim_start_matches('\u{feff}').len();
    let mut lines = source[begin..].split_inclusive('\n');
    let fence = lines.next().map(str::trim_end).filter(|line| matches!(*line, "---" | "+++"));
    let Some(fence) = fence else { return begin };
    let mut end = begin + source[begin..].find('\n').map_or(source.len() - begin, |length| length + 1);
    for line in lines {
        end += line.len();
        if line.trim_end() == fence {
            return end;
        }
    }
    begin
}
