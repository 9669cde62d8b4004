//! The formats of files by name, and the entry point to their readers.

use serde_json::Value;

use super::{
    census::{self, Census},
    link_text,
    origin::Moves,
    params::{Include, Params},
};
use base::{error::Error, path::RepoPath, pulse::Pulse};
pub(super) use format::{css, escape::Escape, html, json, markdown, mdx, scan::Scan, text, xml};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    /// HTML.
    Html,
    /// HTML that must mean the same as XML.
    Xhtml,
    /// Markdown of GitHub's kind.
    Markdown,
    /// Markdown with programs and tags of JavaScript.
    Mdx,
    /// Style sheets.
    Css,
    /// Sitemaps, feeds, OPML and SVG.
    Xml,
    /// Plain text.
    Text,
    /// JSON, on request only.
    Json,
}

/// The globs of each format. A name in mixed case matches none of them.
pub(super) const GLOBS: &[(&str, Format)] = &[
    ("**/*.html", Format::Html),
    ("**/*.HTML", Format::Html),
    ("**/*.htm", Format::Html),
    ("**/*.HTM", Format::Html),
    ("**/*.xhtml", Format::Xhtml),
    ("**/*.XHTML", Format::Xhtml),
    ("**/*.md", Format::Markdown),
    ("**/*.MD", Format::Markdown),
    ("**/*.markdown", Format::Markdown),
    ("**/*.MARKDOWN", Format::Markdown),
    ("**/*.mdx", Format::Mdx),
    ("**/*.MDX", Format::Mdx),
    ("**/*.css", Format::Css),
    ("**/*.CSS", Format::Css),
    ("**/*.xml", Format::Xml),
    ("**/*.XML", Format::Xml),
    ("**/*.rss", Format::Xml),
    ("**/*.RSS", Format::Xml),
    ("**/*.atom", Format::Xml),
    ("**/*.ATOM", Format::Xml),
    ("**/*.svg", Format::Xml),
    ("**/*.SVG", Format::Xml),
    ("**/*.txt", Format::Text),
    ("**/*.TXT", Format::Text),
    ("**/*.json", Format::Json),
    ("**/*.JSON", Format::Json),
    ("**/*.webmanifest", Format::Json),
    ("**/*.WEBMANIFEST", Format::Json),
];

impl Format {
    /// Globs of the files that are read. Other meanings of the parameters do not matter here.
    pub(super) fn globs(params: &Value) -> Vec<&'static str> {
        let json = Params::parse(params).is_ok_and(|params| params.includes(Include::Json));
        let is_wanted = |format: Format| format != Format::Json || json;
        GLOBS.iter().filter(|(_, format)| is_wanted(*format)).map(|(glob, _)| *glob).collect()
    }

    /// The format of a matching file, by the last extension of its name.
    pub(super) fn of(path: &RepoPath) -> Self {
        let extension = |glob: &'static str| glob.trim_start_matches("**/*");
        let known = GLOBS.iter().find(|(glob, _)| path.as_str().ends_with(extension(glob)));
        known.map_or(Format::Text, |(_, format)| *format)
    }

    /// The name in counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Html | Format::Xhtml => "html",
            Format::Markdown => "markdown",
            Format::Mdx => "mdx",
            Format::Css => "css",
            Format::Xml => "xml",
            Format::Text => "text",
            Format::Json => "json",
        }
    }
}

/// The links of a file and the moving ones among them, if a quick reader can tell; none if [`scan`] is needed.
pub(super) fn census(format: Format, bytes: &[u8], params: &Params, moves: &Moves) -> Option<Census> {
    match format {
        _ if params.link_text => None,
        Format::Html if unreadable(bytes).is_none() => census::take(bytes, params.includes(Include::JsonLd), moves),
        Format::Html
        | Format::Xhtml
        | Format::Markdown
        | Format::Mdx
        | Format::Css
        | Format::Xml
        | Format::Text
        | Format::Json => None,
    }
}

/// Finds every value with URLs in a file, and the texts that move with their links. Fails only if `pulse` does.
pub(super) fn scan(format: Format, bytes: &[u8], params: &Params, pulse: Pulse<'_>) -> Result<Scan, Error> {
    let mut found = read(format, bytes, params, pulse)?;
    match format {
        Format::Markdown if params.link_text => link_text::add(link_text::of_markdown, bytes, &mut found.values),
        Format::Html | Format::Xhtml if params.link_text => {
            link_text::add(link_text::of_html, bytes, &mut found.values);
        }
        _ => {}
    }
    Ok(found)
}

fn read(format: Format, bytes: &[u8], params: &Params, pulse: Pulse<'_>) -> Result<Scan, Error> {
    if let Some(reason) = unreadable(bytes) {
        return Ok(Scan::skipped(reason));
    }
    let whole = (0..bytes.len(), Escape::Plain);
    let json_ld = params.includes(Include::JsonLd);
    match (format, std::str::from_utf8(bytes)) {
        (Format::Html, _) => html::scan(bytes, json_ld, pulse).map(|page| page.scan),
        (Format::Xhtml, _) => html::scan(bytes, json_ld, pulse).map(html::Page::into_xml),
        (Format::Css, _) => Scan::of_part(bytes, whole, |text| css::scan(text, pulse)),
        (Format::Text, _) => Scan::of_part(bytes, whole, |text| text::scan(text, pulse)),
        (Format::Markdown, Ok(text)) => markdown::scan(text, json_ld, pulse),
        (Format::Mdx, Ok(text)) => mdx::scan(text, pulse),
        (Format::Xml, Ok(text)) => xml::scan(text, pulse),
        (Format::Json, Ok(text)) => json::scan(text, pulse),
        (Format::Markdown | Format::Mdx | Format::Xml | Format::Json, Err(_)) => Ok(Scan::skipped("it is not UTF-8")),
    }
}

/// The reason that a file can't be edited byte by byte; none if its encoding is ASCII-compatible.
fn unreadable(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some("it is UTF-16");
    }
    if let Some(at) = memchr::memchr(0, bytes) {
        let head = &bytes[..bytes.len().min(512)];
        let looks_wide = at < 4 && head.len() > 1 && head.chunks_exact(2).all(|pair| pair.contains(&0));
        return Some(if looks_wide { "it is UTF-16" } else { "it is binary" });
    }
    let escapes = [&b"\x1b$"[..], b"\x1b("];
    escapes.iter().any(|escape| memchr::memmem::find(bytes, escape).is_some()).then_some("it is ISO-2022")
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::workspace::Globs;

    #[test]
    fn encodings_that_are_not_like_ascii_are_told() {
        assert_eq!(unreadable(b"\xff\xfe<\0"), Some("it is UTF-16"));
        assert_eq!(unreadable(b"<\0a\0"), Some("it is UTF-16"));
        assert_eq!(unreadable(b"<a>\0"), Some("it is binary"));
        assert_eq!(unreadable(b"\x1b$B<"), Some("it is ISO-2022"));
        assert_eq!(unreadable(b"\xef\xbb\xbf<a>\xe9"), None);
    }

    #[test]
    fn the_last_extension_in_one_case_says_the_format() {
        let globs = Globs::parse(&Format::globs(&serde_json::json!({"include": ["json"]}))).unwrap();
        for (path, format) in [
            ("a.html", Some(Format::Html)),
            ("a/b.XHTML", Some(Format::Xhtml)),
            ("README.md", Some(Format::Markdown)),
            ("a.md.mdx", Some(Format::Mdx)),
            ("a.MDX", Some(Format::Mdx)),
            ("a.min.css", Some(Format::Css)),
            ("feed.atom", Some(Format::Xml)),
            ("a.html.txt", Some(Format::Text)),
            ("a.webmanifest", Some(Format::Json)),
            ("a.Html", None),
            ("html", None),
            ("a.html.bak", None),
            ("a.xhtm", None),
        ] {
            let path = RepoPath::parse(path).unwrap();
            assert_eq!(globs.matches(&path).then(|| Format::of(&path)), format, "{path}");
        }
    }

    #[test]
    fn json_is_looked_at_on_request() {
        let globs = |include: &[&str]| Format::globs(&serde_json::json!({"include": include}));
        assert!(!globs(&[]).contains(&"**/*.json") && !globs(&["json_ld"]).contains(&"**/*.json"));
        assert!(globs(&["json"]).contains(&"**/*.json") && globs(&["json"]).contains(&"**/*.html"));
    }
}
