//! A file as this side reads it: its links in order, and the anchors that it gives.

use std::{collections::BTreeSet, ops::Range};

use super::rules::Rules;
use audit::{
    markup,
    page::{Page, Subject},
};
use base::{error::Error, pulse::Pulse};

/// A file's links and anchors.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    /// Every destination, in reading order; those of definitions last.
    pub(super) links: Vec<Found>,
    /// Every known anchor.
    pub(super) anchors: BTreeSet<String>,
    /// True if it may have others.
    pub(super) is_open: bool,
    /// The names of files whose text it takes.
    pub(super) includes: BTreeSet<String>,
    /// True if the data at its beginning may give it an address of its own.
    pub(super) has_address: bool,
    /// The reason to leave it alone, if any.
    pub(super) doubt: Option<&'static str>,
}

/// A destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its meaning.
    pub(super) url: Vec<u8>,
    /// Its line, from 1; 0 if it is unknown.
    pub(super) line: usize,
    /// Its place, with angle brackets, if it was looked for and found.
    pub(super) span: Option<Range<usize>>,
    /// True for one of raw HTML in Markdown, and one of a template.
    pub(super) is_raw: bool,
}

/// The manner of reading.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    /// The rules for anchors.
    pub(super) rules: &'a Rules,
    /// True if the places of links are needed.
    pub(super) is_located: bool,
    /// The check for cancellation.
    pub(super) pulse: Pulse<'a>,
}

impl Document {
    /// Takes the links and anchors of HTML that begins at a line. `place` maps a place in it to one in the file.
    pub(super) fn html(
        &mut self,
        html: &[u8],
        manner: Manner<'_>,
        (_, line): (usize, usize),
        place: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Error> {
        let mut page = Page { is_brief: true, subject: Subject::Tree, ..Page::default() };
        markup::read(html, manner.pulse, &mut page)?;
        self.page(page, html, line, place);
        Ok(())
    }

    /// Takes the links and anchors that were read in a text, which begins at a line.
    pub(super) fn page(&mut self, page: Page, text: &[u8], line: usize, place: impl Fn(usize) -> Option<usize>) {
        self.doubt = self.doubt.or(page.doubt);
        let mut lines = (0, line);
        for (link, span) in page.links.into_iter().zip(page.spans) {
            let line = span.as_ref().map_or(0, |span| {
                if span.start >= lines.0 {
                    lines =
                        (span.start, lines.1 + text[lines.0..span.start].iter().filter(|byte| **byte == b'\n').count());
                }
                lines.1
            });
            let span = span.and_then(|span| Some(place(span.start)?..place(span.end.checked_sub(1)?)? + 1));
            self.links.push(Found { url: link.0, line, span, is_raw: true });
        }
        self.anchors.extend(page.anchors.into_iter().filter_map(|anchor| String::from_utf8(anchor).ok()));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{super::params::Dialect, format::Format},
        *,
    };

    fn document(source: &str, format: Format, dialect: Dialect) -> Document {
        let manner = Manner { rules: &Rules::of(dialect), is_located: true, pulse: &|| Ok(()) };
        format.read(source.as_bytes(), manner).expect("nothing stops it")
    }

    /// Each link with its source.
    #[track_caller]
    fn check(source: &str, format: Format, expected: &[(&str, &str)]) {
        let document = document(source, format, Dialect::Github);
        let found: Vec<(String, &str)> = document
            .links
            .iter()
            .map(|found| (found.shown(), found.span.clone().map_or("?", |span| &source[span])))
            .collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(url, raw)| (url.as_str(), *raw)).collect();
        assert_eq!((found.as_slice(), document.doubt), (expected, None), "{source}");
    }

    #[test]
    fn destinations_know_their_places() {
        check("[a](b.md) ![c]( <d e.md>  'f')", Format::Markdown, &[("b.md", "b.md"), ("d e.md", "<d e.md>")]);
        check("[![a](b.png)](c.md \"](d)\")", Format::Markdown, &[("c.md", "c.md"), ("b.png", "b.png")]);
        check("> [a\n> b](\n> c\\_d&amp;.md\n> 'x')\n", Format::Markdown, &[("c_d&.md", "c\\_d&amp;.md")]);
        check("\u{feff}[a](b)\r\n\r\n- [c](d(e))\r\n", Format::Markdown, &[("b", "b"), ("d(e)", "d(e)")]);
        check("| [a](b\\|c) |\n|---|\n| [d](e) `[x](y)` |\n", Format::Markdown, &[("b|c", "b\\|c"), ("e", "e")]);
        check("---\na: [b](c)\n---\n\n1.  [d](e)\n\n\t[f](g)\n", Format::Markdown, &[("e", "e"), ("g", "g")]);
    }

    #[test]
    fn definitions_are_links_and_references_are_none() {
        check(
            "[a][b] [b] [c](d)\n\n[b]: <e f> 'g'\n[h]: i\n",
            Format::Markdown,
            &[("d", "d"), ("e f", "<e f>"), ("i", "i")],
        );
        check("```\n[a]: b\n```\n[c]: d\n\nx\n[e]: f\n", Format::Markdown, &[("d", "d")]);
        check("[a]: b `c` d\n\n`[e]: f` [a]\n", Format::Markdown, &[]);
        check("> [a]:\n> b\n\n- [^1]: [c](d)\n\n[a] [^1]\n", Format::Markdown, &[("d", "d"), ("b", "b")]);
    }

    #[test]
    fn html_has_links_and_anchors() {
        check(
            "<a href='b&amp;c.md' id=x>y</a><img src=d.png srcset='e 1x, f'>",
            Format::Html,
            &[("b&c.md", "b&amp;c.md"), ("d.png", "d.png"), ("e", "e"), ("f", "f")],
        );
        check(
            "x <a href=\"b.md\">c</a>\n\n> <div>\n> <img src='d'>\n> </div>\n",
            Format::Markdown,
            &[("b.md", "b.md"), ("d", "d")],
        );
        check(
            "x <a\n  href=\"b.md\"\n\ttitle=y>c</a>\n\n> <img\n>   src=d\n> />\n\n- <img\n    src='e'  \n  alt=f>\n",
            Format::Markdown,
            &[("b.md", "b.md"), ("d", "d"), ("e", "e")],
        );
        check(
            "<style>a{b:url( c.png )}</style><p\n style=\"d:url('e&amp;f.png') image-set('g' 1x, &quot;h\\69&quot;)\">",
            Format::Html,
            &[("c.png", "c.png"), ("e&f.png", "e&amp;f.png"), ("g", "g"), ("hi", "h\\69")],
        );
        let anchors =
            document("<a name=p></a><p id=q>\n\n# r <i id=s>t</i>", Format::Markdown, Dialect::Github).anchors;
        assert_eq!(anchors.iter().map(String::as_str).collect::<Vec<_>>(), ["p", "q", "r-t", "s"]);
    }

    #[track_caller]
    fn anchors(dialect: Dialect, source: &str, expected: &[&str]) {
        let anchors = document(source, Format::Markdown, dialect).anchors;
        assert_eq!(anchors.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{dialect:?}");
    }

    #[test]
    fn headings_give_anchors() {
        let source = "# A [b](c) `d` ![e](f)\n\nG {#h .i}\n===\n\n> ## _j_ & k ##\n";
        anchors(Dialect::Github, source, &["a-b-d-", "g-h-i", "j--k"]);
        anchors(Dialect::Gitlab, source, &["a-b-d", "g-h-i", "j-k"]);
        anchors(Dialect::Mdbook, source, &["a-b-d", "h", "j--k"]);
        anchors(
            Dialect::Docusaurus,
            "# A ![e](f)\n\n# G {#h}\n\n# I {/* #j */}\n\n# K \\{#l}\n",
            &["a-e", "h", "j", "l"],
        );
        anchors(Dialect::Hugo, source, &["a-b-d-e", "h", "j--k"]);
        let cases: Vec<[String; 3]> = serde_json::from_str(include_str!("../tests/anchors.json")).unwrap();
        for [dialect, source, anchor] in &cases {
            let dialect = if dialect == "hugo" { Dialect::Hugo } else { Dialect::Gitlab };
            anchors(dialect, source, &[anchor]);
        }
        anchors(
            Dialect::Hugo,
            "# Foo {#dup}\n\n# Dup {#dup}\n\n# Dup\n\n# !!\n\n# ??\n\n#\n",
            &["dup", "dup-1", "heading", "heading-1"],
        );
        anchors(Dialect::Hugo, "# A {#a-1}\n\n# A\n\n# A\n", &["a", "a-1", "a-2"]);
    }
}
