//! The sentences of a Markdown page, each with its line, its place and its number of words.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Words with a period that end no sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e."];

/// Where a sentence stands. Cells of tables are fragments, so that they count for the maximum and not for the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a paragraph or an item of a list.
    Text,
    /// In a cell of a table. Code is no word there, since a cell may be a list of names.
    Cell,
}

/// One sentence of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// The line on which its block begins, from 1.
    pub(super) line: usize,
    /// Its place.
    pub(super) place: Place,
    /// Its text, with code in backticks and without addresses of links.
    pub(super) text: String,
}

impl Sentence {
    /// The number of words; a span of code is one word.
    pub(super) fn words(&self) -> usize {
        let counts = |word: &&str| match self.place {
            Place::Text => word.contains(char::is_alphanumeric),
            Place::Cell => word.contains(char::is_alphanumeric) && !word.contains('`'),
        };
        self.text.split_whitespace().filter(counts).count()
    }

    /// True if the sentence begins with "what" or "whether" in place of a noun.
    pub(super) fn avoids_its_noun(&self) -> bool {
        let first = self.text.split_whitespace().next().unwrap_or_default();
        let first = first.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        matches!(first.as_str(), "what" | "whether") && !self.text.ends_with('?')
    }
}

/// The sentences of a page. Headings, code blocks, HTML and pictures have none.
pub(super) fn sentences(page: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut block = Block::default();
    for (event, range) in Parser::new_ext(page, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Image { .. } | Tag::HtmlBlock) => {
                block.silent += 1;
            }
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Image | TagEnd::HtmlBlock) => block.silent -= 1,
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell) => block.flush(page, Place::Text, &mut found),
            Event::Start(Tag::List(_)) | Event::HardBreak => block.flush(page, Place::Text, &mut found),
            Event::End(TagEnd::Paragraph | TagEnd::Item) => block.flush(page, Place::Text, &mut found),
            Event::End(TagEnd::TableCell) => block.flush(page, Place::Cell, &mut found),
            Event::Text(text) => block.push(&text, range.start),
            Event::Code(code) => block.push(&format!("`{}`", code.replace(char::is_whitespace, "_")), range.start),
            Event::SoftBreak => block.push(" ", range.start),
            _ => {}
        }
    }
    found
}

/// The text of a block that is being read.
#[derive(Default)]
struct Block {
    text: String,
    start: Option<usize>,
    silent: usize,
}

impl Block {
    fn push(&mut self, text: &str, at: usize) {
        if self.silent == 0 {
            self.start.get_or_insert(at);
            self.text.push_str(text);
        }
    }

    fn flush(&mut self, page: &str, place: Place, found: &mut Vec<Sentence>) {
        let text = std::mem::take(&mut self.text);
        let Some(start) = self.start.take() else { return };
        let line = page[..start].matches('\n').count() + 1;
        let with_words = split(&text).into_iter().filter(|text| text.contains(char::is_alphanumeric));
        found.extend(with_words.map(|text| Sentence { line, place, text }));
    }
}

/// Splits at a period, question or exclamation mark with space behind it.
fn split(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in text.split_whitespace() {
        let current = found.last_mut().expect("there is always one sentence");
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
        let bare = word.trim_end_matches([')', '"', '*', '”']);
        if bare.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&bare) {
            found.push(String::new());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, expected: &[(usize, usize, &str)]) {
        let found = sentences(page);
        let found: Vec<(usize, usize, &str)> =
            found.iter().map(|found| (found.line, found.words(), found.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn paragraphs_and_items_are_cut_into_sentences() {
        check(
            "# No sentence\n\nOne [link](a.md). `nrv a b` is\ntwo.\n\n- Three. Is it?\n  - four\n\n```text\nNone.\n```\n",
            &[(3, 2, "One link."), (3, 3, "`nrv_a_b` is two."), (6, 1, "Three."), (6, 2, "Is it?"), (7, 1, "four")],
        );
    }

    #[test]
    fn names_and_versions_do_not_end_a_sentence() {
        check(
            "See `a.b`, e.g. version 1.2, and nrv.toml. nrv ends.",
            &[(1, 7, "See `a.b`, e.g. version 1.2, and nrv.toml."), (1, 2, "nrv ends.")],
        );
    }

    #[test]
    fn a_cell_is_counted_without_its_code() {
        check(
            "| key | is |\n|---|---|\n| `a` | one `b` two |\n",
            &[(1, 1, "key"), (1, 1, "is"), (3, 0, "`a`"), (3, 2, "one `b` two")],
        );
    }

    #[test]
    fn a_question_may_begin_with_what() {
        let avoids = |text: &str| sentences(text).iter().any(Sentence::avoids_its_noun);
        assert!(avoids("Good. What it does is told.") && avoids("- whether it runs"));
        assert!(!avoids("What is it?") && !avoids("It says what it does.") && !avoids("# What it does"));
    }
}
