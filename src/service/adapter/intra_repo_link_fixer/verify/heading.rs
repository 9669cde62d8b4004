//! A heading as each renderer reads it: the explicit anchor that it has, or the text from which its anchor is made.

use comrak::{
    arena_tree::NodeEdge,
    nodes::{Node, NodeValue, Sourcepos},
};

use super::{
    super::params::Dialect,
    braces::{self, Braces},
    hugo,
    place::Lines,
    rules::Rules,
    signs,
};

/// The reading of a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Its explicit anchor.
    Id(String),
    /// The text from which the anchor is made.
    Text(String),
    /// A renderer may read it in several ways.
    Unknown,
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Code,
    /// In the description of an image.
    Image,
    /// A URL in angle brackets.
    Url,
    Html,
    Break,
}

/// A part of a heading, with the number of marks around it.
#[derive(Clone, Debug)]
struct Part {
    kind: Kind,
    depth: usize,
    text: String,
}

/// A heading in a tree.
pub(super) struct Heading<'a> {
    pub(super) node: Node<'a>,
    pub(super) rules: &'a Rules,
    pub(super) source: &'a str,
    pub(super) lines: &'a Lines,
    /// True if an element of HTML is open around it, or a program.
    pub(super) is_enclosed: bool,
}

impl<'a> Heading<'a> {
    /// Reads the heading.
    pub(super) fn taken(&self) -> Taken {
        if self.is_enclosed {
            return Taken::Unknown;
        }
        let parts = self.parts();
        let taken = match self.rules.dialect {
            Dialect::Auto => Taken::Unknown,
            Dialect::Github if self.rules.extended && self.is_odd_in_astro(&parts) => Taken::Unknown,
            Dialect::Github | Dialect::Gitlab => Taken::Text(text(&parts, false, "\n")),
            Dialect::Mdbook => self.mdbook(parts),
            Dialect::Hugo => self.hugo(),
            Dialect::Docusaurus => self.docusaurus(&parts),
            Dialect::Vitepress => self.vitepress(parts),
            Dialect::Mkdocs => self.mkdocs(parts),
        };
        match taken {
            Taken::Text(_) if self.rules.doubt.is_some() => Taken::Unknown,
            taken => taken,
        }
    }

    fn is_odd_in_astro(&self, parts: &[Part]) -> bool {
        let running = running(parts);
        parts.iter().any(|part| part.kind == Kind::Html) || ["--", "{", "<"].iter().any(|sign| running.contains(sign))
    }

    fn mdbook(&self, mut parts: Vec<Part>) -> Taken {
        let line = self.line();
        if self.rules.extended && line.contains("--") {
            return Taken::Unknown;
        }
        let block = braces::last(line).filter(|block| !block.contains(['<', '>', '\\']));
        if self.rules.smart {
            for part in parts.iter_mut().filter(|part| part.kind == Kind::Text) {
                part.text = with_dashes(&part.text);
            }
        }
        let Some(block) = block else { return Taken::Text(text(&parts, false, "\n")) };
        let words = || block[1..block.len() - 1].split_ascii_whitespace().filter(|word| word.len() > 1);
        if let Some(id) = words().rev().find(|word| word.starts_with('#')) {
            return Taken::Id(id[1..].to_owned());
        }
        let block = if self.rules.smart { with_dashes(block) } else { block.to_owned() };
        match block.contains("id=") || !is_cut(&mut parts, &block) {
            true => Taken::Unknown,
            false => Taken::Text(text(&parts, false, "\n")),
        }
    }

    fn hugo(&self) -> Taken {
        let is_odd_code = |part: &Part| part.kind == Kind::Code && signs::has_reference(&part.text);
        if self.parts().iter().any(is_odd_code) {
            return Taken::Unknown;
        }
        let whole = self.whole();
        let is_odd =
            whole.contains("{{") || whole.contains("&#") || (!self.rules.smart && hugo::has_typography(&whole));
        if is_odd
            || (self.rules.extended
                && (whole.contains(['$', '^', '~', '=', '+']) || hugo::without_urls(&whole) != whole))
        {
            return Taken::Unknown;
        }
        let line = self.line().trim_end();
        if !line.trim_end_matches(['#', ' ', '\t']).ends_with('}') {
            return hugo::first_texts(self.node, "").map_or(Taken::Unknown, Taken::Text);
        }
        let Some(block) = braces::last(line).filter(|_| self.rules.attributes) else { return Taken::Unknown };
        let before = line[..line.len() - block.len()].trim_end();
        if before.is_empty() || before.ends_with(['\\', '}', '#']) {
            return Taken::Unknown;
        }
        match braces::plain(block, false) {
            Braces::Id(id) => Taken::Id(id),
            Braces::Bare => hugo::first_texts(self.node, block).map_or(Taken::Unknown, Taken::Text),
            Braces::Unclear => Taken::Unknown,
        }
    }

    fn docusaurus(&self, parts: &[Part]) -> Taken {
        let running = running(parts);
        let is_tag = parts.iter().any(|part| matches!(part.kind, Kind::Html | Kind::Url)) || running.contains('<');
        if is_tag
            || signs::has_directive(&running)
            || parts.iter().any(|part| part.kind == Kind::Code && part.text.contains("{#"))
        {
            return Taken::Unknown;
        }
        let text = text(parts, true, "\n");
        let count = |sign: char| running.chars().filter(|c| *c == sign).count();
        if count('{') == 0 && count('}') == 0 {
            return Taken::Text(text);
        }
        if (count('{'), count('}')) != (1, 1) {
            return Taken::Unknown;
        }
        if let Some(id) = braces::comment(self.line()) {
            return Taken::Id(id);
        }
        // A brace elsewhere than in a line that begins with `#` opens a program.
        let start = self.node.data().sourcepos.start;
        let is_escaped = start.column == 1 && self.lines.text(self.source, start.line).starts_with('#');
        let id = text.rfind("{#").and_then(|open| text[open + 2..].strip_suffix('}')).map(str::trim);
        match id.filter(|id| is_escaped && !id.is_empty() && !id.contains(['{', '}'])) {
            Some(id) => Taken::Id(id.to_owned()),
            None => Taken::Unknown,
        }
    }

    fn vitepress(&self, parts: Vec<Part>) -> Taken {
        let running = running(&parts);
        let whole = self.whole();
        if signs::has_reference(&whole)
            || whole.split('\\').skip(1).any(|rest| rest.starts_with(['&', '<', '>', '"']))
            || signs::has_single_tilde(&whole)
            || signs::has_emoji(&running)
            || (self.rules.extended && running.contains('$'))
        {
            return Taken::Unknown;
        }
        match running.contains(['{', '}']) {
            true => self.attributes(parts, false, ""),
            false => Taken::Text(text(&parts, false, "")),
        }
    }

    fn mkdocs(&self, parts: Vec<Part>) -> Taken {
        let (running, whole) = (running(&parts), self.whole());
        let is_code = |part: &&Part| part.kind == Kind::Code;
        let is_odd_code = |part: &Part| part.text.trim() != part.text || part.text.contains(['`', '&']);
        let is_odd = parts.iter().any(|part| matches!(part.kind, Kind::Html | Kind::Url) || part.depth > 1)
            || parts.iter().filter(is_code).any(is_odd_code)
            || whole.contains('\\')
            || whole.contains("[^")
            || signs::has_tag(&running)
            || signs::has_loose_marks(&running)
            || signs::has_reference(&whole);
        if is_odd || !self.stands_free() {
            return Taken::Unknown;
        }
        let before = running.rfind('{').filter(|_| self.rules.attributes).map_or(running.as_str(), |at| &running[..at]);
        if self.rules.extended && signs::has_extended(before) {
            return Taken::Unknown;
        }
        match self.rules.attributes && running.contains(['{', '}']) {
            true => self.attributes(parts, true, "\n"),
            false => Taken::Text(text(&parts, false, "\n")),
        }
    }

    /// Braces that are read after emphasis: all of them have to be plain text at the end.
    fn attributes(&self, mut parts: Vec<Part>, with_colon: bool, end: &str) -> Taken {
        let running = running(&parts);
        let line = self.line().trim_end_matches(['#', ' ', '\t']);
        let Some(block) = braces::last(line) else { return Taken::Unknown };
        let before = &line[..line.len() - block.len()];
        let is_single = running.matches('{').count() == 1 && running.matches('}').count() == 1;
        let is_last = parts.last().is_some_and(|part| part.kind == Kind::Text && part.depth == 0);
        if !is_single || !is_last || !before.ends_with(' ') || !is_cut(&mut parts, block) {
            return Taken::Unknown;
        }
        let is_empty = parts.iter().all(|part| part.text.is_empty() && part.kind == Kind::Text);
        match braces::plain(block, with_colon) {
            _ if is_empty => Taken::Unknown,
            Braces::Id(id) => Taken::Id(id),
            Braces::Bare => Taken::Text(text(&parts, false, end)),
            Braces::Unclear => Taken::Unknown,
        }
    }

    /// True for a heading at the beginning of a line, or of a quote, as Python-Markdown needs it.
    fn stands_free(&self) -> bool {
        let Sourcepos { start, .. } = self.node.data().sourcepos;
        let line = self.lines.text(self.source, start.line).trim_start_matches('\u{feff}');
        if line.trim_start_matches('>').trim_start_matches(' ').starts_with('#') {
            let quote = line.split('#').next().unwrap_or_default();
            return quote.is_empty() || (quote.starts_with('>') && quote.ends_with("> ") && !quote.contains("  "));
        }
        let (above, below) = (self.lines.text(self.source, start.line.saturating_sub(1)), start.line + 1);
        let underline = self.lines.text(self.source, below).trim_end_matches(' ');
        let is_underline = !underline.is_empty() && underline.chars().all(|c| c == '=' || c == '-');
        is_underline && (start.line == 1 || above.is_empty()) && start.column == 1 && !line.starts_with(' ')
    }

    /// The parts, of which texts in a row are one.
    fn parts(&self) -> Vec<Part> {
        let (mut parts, mut images, mut urls, mut depth): (Vec<Part>, usize, usize, usize) = (Vec::new(), 0, 0, 0);
        for edge in self.node.traverse() {
            let (node, step) = match edge {
                NodeEdge::Start(node) => (node, true),
                NodeEdge::End(node) => (node, false),
            };
            let count = |number: &mut usize| *number = if step { *number + 1 } else { number.saturating_sub(1) };
            let data = node.data();
            let kind = match &data.value {
                NodeValue::Heading(_) => continue,
                NodeValue::Image(_) => {
                    count(&mut images);
                    count(&mut depth);
                    continue;
                }
                NodeValue::Link(link) => {
                    if hugo::is_autolink(node, &link.url) {
                        count(&mut urls);
                    }
                    count(&mut depth);
                    continue;
                }
                NodeValue::Text(_) | NodeValue::Code(_) if images > 0 => Kind::Image,
                NodeValue::Text(_) if urls > 0 => Kind::Url,
                NodeValue::Text(_) => Kind::Text,
                NodeValue::Code(_) => Kind::Code,
                NodeValue::HtmlInline(_) => Kind::Html,
                NodeValue::SoftBreak | NodeValue::LineBreak => Kind::Break,
                _ => {
                    count(&mut depth);
                    continue;
                }
            };
            let text = match &data.value {
                NodeValue::Text(text) => text.to_string(),
                NodeValue::Code(code) => code.literal.clone(),
                _ => String::new(),
            };
            match parts.last_mut().filter(|last| (last.kind, last.depth) == (kind, depth) && kind == Kind::Text) {
                _ if !step => {}
                Some(last) => last.text.push_str(&text),
                None => parts.push(Part { kind, depth, text }),
            }
        }
        parts
    }

    /// The last of its lines with text, from its beginning on.
    fn line(&self) -> &'a str {
        let start = self.node.data().sourcepos.start;
        let breaks = self.parts().iter().filter(|part| part.kind == Kind::Break).count();
        let line = self.lines.text(self.source, start.line + breaks);
        if breaks > 0 { line } else { line.get(start.column - 1..).unwrap_or(line) }
    }

    /// All of its lines with text.
    fn whole(&self) -> String {
        let start = self.node.data().sourcepos.start;
        let breaks = self.parts().iter().filter(|part| part.kind == Kind::Break).count();
        let lines = (start.line..=start.line + breaks).map(|line| self.lines.text(self.source, line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The text of the parts as a reader sees it.
fn text(parts: &[Part], with_images: bool, end: &str) -> String {
    let of = |part: &Part| match part.kind {
        Kind::Text | Kind::Code | Kind::Url => part.text.clone(),
        Kind::Image if with_images => part.text.clone(),
        Kind::Break => end.to_owned(),
        Kind::Image | Kind::Html => String::new(),
    };
    parts.iter().map(of).collect()
}

/// The text without code and tags, with that of images.
fn running(parts: &[Part]) -> String {
    let is_running = |part: &&Part| matches!(part.kind, Kind::Text | Kind::Image | Kind::Break);
    parts
        .iter()
        .filter(is_running)
        .map(|part| if part.kind == Kind::Break { "\n" } else { part.text.as_str() })
        .collect()
}

/// Takes a block off the end, and signs of a heading before it; false if it is not there as plain text.
fn is_cut(parts: &mut [Part], block: &str) -> bool {
    let Some(last) = parts.last_mut().filter(|part| part.kind == Kind::Text) else { return false };
    let Some(rest) = last.text.trim_end().strip_suffix(block) else { return false };
    last.text = braces::without_signs(rest).to_owned();
    true
}

/// The text with a dash for two and more hyphens in a row.
fn with_dashes(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        kept.push_str(&rest[..at]);
        kept.push('–');
        rest = rest[at..].trim_start_matches('-');
    }
    kept + rest
}
