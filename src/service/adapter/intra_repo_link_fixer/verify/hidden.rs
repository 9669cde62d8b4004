//! Lines that a renderer may take for headings where CommonMark does not, and calls that bring headings from elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use comrak::nodes::{Node, NodeValue};

use super::{super::params::Dialect, place::Lines, rules::Rules};

/// Shortcodes of Hugo that bring no headings.
const PLAIN_SHORTCODES: &str = " details figure gist highlight instagram param qr ref relref tweet vimeo x youtube ";
/// Elements that never have an end.
const ALONE: &str = " area base br col embed hr img input link meta source wbr ";

/// The lines of a page by their meaning.
pub(super) struct Ground<'a> {
    source: &'a str,
    lines: &'a Lines,
    rules: &'a Rules,
    /// The number of the last line.
    count: usize,
    /// Lines of fenced code, with its fences.
    code: BTreeSet<usize>,
    /// Lines on which headings begin.
    headings: BTreeSet<usize>,
    /// Lines that underline headings.
    underlines: BTreeSet<usize>,
    /// The last line of data at the beginning of the page.
    matter: usize,
    /// True if generators disagree about a code fence.
    is_unclear: bool,
    /// The depth of open elements of HTML before each line that changes it.
    elements: BTreeMap<usize, i64>,
    /// True if a program of MDX goes over several lines.
    pub(super) has_programs: bool,
}

impl<'a> Ground<'a> {
    /// Reads the lines of a page.
    pub(super) fn of(root: Node<'a>, (source, lines): (&'a str, &'a Lines), rules: &'a Rules) -> Self {
        let mut ground = Ground {
            source,
            lines,
            rules,
            count: source.lines().count(),
            code: BTreeSet::new(),
            headings: BTreeSet::new(),
            underlines: BTreeSet::new(),
            matter: 0,
            is_unclear: false,
            elements: BTreeMap::new(),
            has_programs: false,
        };
        if !matches!(rules.dialect, Dialect::Mkdocs | Dialect::Docusaurus) {
            return ground;
        }
        for node in root.descendants() {
            let data = node.data();
            let (first, last) = (data.sourcepos.start.line, data.sourcepos.end.line);
            match &data.value {
                NodeValue::Heading(heading) => {
                    ground.headings.insert(first);
                    if heading.setext {
                        let is_break =
                            |node: &Node<'a>| matches!(node.data().value, NodeValue::SoftBreak | NodeValue::LineBreak);
                        ground.underlines.insert(first + node.descendants().filter(is_break).count() + 1);
                    }
                }
                NodeValue::FrontMatter(_) => ground.matter = last,
                NodeValue::CodeBlock(block) if block.fenced => ground.fenced(first, last, &block.info),
                _ => {}
            }
        }
        ground.read();
        ground
    }

    fn line(&self, line: usize) -> &'a str {
        self.lines.text(self.source, line)
    }

    /// Takes a block of fenced code.
    fn fenced(&mut self, first: usize, last: usize, info: &str) {
        let is_python = self.rules.dialect == Dialect::Mkdocs;
        let bare = |line: &str| line.trim_start_matches([' ', '\t', '>']).trim_end().to_owned();
        let is_sign = |c: &char| matches!(c, '`' | '~');
        let open: String = bare(self.line(first)).chars().take_while(is_sign).collect();
        let close = bare(self.line(last));
        let is_language = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '.' | '+' | '-');
        let is_first = self.line(first).starts_with(is_sign_of) && info.trim().chars().all(is_language);
        if is_python && !self.rules.extended && !is_first {
            return;
        }
        self.is_unclear |= is_python && (close != open || last == first);
        self.code.extend(first..=last);
    }

    fn read(&mut self) {
        let mut depth = 0;
        for number in (1..=self.count).filter(|number| !self.code.contains(number)).collect::<Vec<_>>() {
            let line = self.line(number).trim();
            self.has_programs |= line.starts_with("export ") || (line.starts_with('{') && !line.ends_with('}'));
            if line.starts_with('<') {
                depth += change(line);
                self.elements.insert(number + 1, depth);
            }
        }
        self.has_programs &= self.rules.dialect == Dialect::Docusaurus;
    }

    /// True if a heading on a line stands in an element of HTML, which Python-Markdown leaves as it is.
    pub(super) fn is_enclosed(&self, line: usize) -> bool {
        let depth = self.elements.range(..=line).next_back().map_or(0, |(_, depth)| *depth);
        self.has_programs || (self.rules.dialect == Dialect::Mkdocs && depth != 0)
    }

    /// True if the page may have headings that are not known.
    pub(super) fn may_have_more(&self) -> bool {
        if has_calls(self.source, self.rules.dialect) {
            return true;
        }
        match self.rules.dialect {
            Dialect::Mkdocs | Dialect::Docusaurus => {
                let all = 1..=self.count;
                let mut others = all.filter(|line| !self.code.contains(line) && !self.headings.contains(line));
                self.is_unclear || others.any(|line| self.may_be_heading(self.line(line)) || self.may_underline(line))
            }
            _ => false,
        }
    }

    /// True for a line that Python-Markdown may take to underline the one above.
    fn may_underline(&self, line: usize) -> bool {
        let text = self.line(line).trim_end_matches(' ');
        let above = if line > 1 && !self.code.contains(&(line - 1)) { self.line(line - 1).trim() } else { "" };
        let is_line = !text.is_empty() && text.chars().all(|c| matches!(c, '=' | '-'));
        self.rules.dialect == Dialect::Mkdocs
            && is_line
            && !above.is_empty()
            && !above.starts_with('#')
            && !self.underlines.contains(&line)
            && line > self.matter
    }

    fn may_be_heading(&self, line: &str) -> bool {
        let mut rest = line.trim_start_matches([' ', '\t', '>']);
        while let Some(inside) = item(rest) {
            rest = inside;
        }
        let after = rest.trim_start_matches('#');
        let count = rest.len() - after.len();
        match self.rules.dialect {
            Dialect::Mkdocs => count > 0,
            _ => (1..7).contains(&count) && (after.is_empty() || after.starts_with([' ', '\t'])),
        }
    }
}

fn is_sign_of(c: char) -> bool {
    matches!(c, '`' | '~')
}

/// The text behind the mark of a list.
fn item(line: &str) -> Option<&str> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        _ => line[digits..].strip_prefix(['.', ')']),
    }?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start_matches([' ', '\t']))
}

/// The number of elements that a line opens, less those that it closes.
fn change(line: &str) -> i64 {
    let mut sum = 0;
    for part in line.split('<').skip(1) {
        let Some((tag, _)) = part.split_once('>') else { continue };
        let (tag, step) = tag.strip_prefix('/').map_or((tag, 1), |tag| (tag, -1));
        let length = tag.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(tag.len());
        let name = tag[..length].to_ascii_lowercase();
        let is_element = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !tag.ends_with('/');
        sum += if is_element && !ALONE.contains(&format!(" {name} ")) { step } else { 0 };
    }
    sum
}

/// True for calls of a renderer that may bring headings.
fn has_calls(source: &str, dialect: Dialect) -> bool {
    let begins_with = |text: &str, words: &[&str]| words.iter().any(|word| text.starts_with(word));
    match dialect {
        Dialect::Mdbook => source
            .split("{{")
            .skip(1)
            .any(|rest| begins_with(rest.trim_start(), &["#include", "#rustdoc_include", "#template"])),
        Dialect::Hugo => source.split("{{").skip(1).any(|rest| {
            let Some(call) = rest.strip_prefix(['<', '%']) else { return false };
            let call = call.strip_prefix('-').unwrap_or(call).trim_start();
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
            let name = &call[..call.find(|c| !is_name(c)).unwrap_or(call.len())];
            !name.is_empty() && !PLAIN_SHORTCODES.contains(&format!(" {} ", name.trim_start_matches('/')))
        }),
        Dialect::Docusaurus => source.lines().any(|line| {
            let is_page = line.split(['"', '\'']).skip(1).any(|text| text.ends_with(".md") || text.ends_with(".mdx"));
            line.strip_prefix("import").is_some_and(|rest| rest.starts_with(char::is_whitespace)) && is_page
        }),
        Dialect::Vitepress => source.split("<!--").skip(1).any(|rest| rest.trim_start().starts_with("@include:")),
        Dialect::Mkdocs => {
            let is_call = |text: &&str| source.contains(*text);
            ["--8<--", "{%", "{{", "{!"].iter().any(is_call) || source.lines().any(|line| line.starts_with("::: "))
        }
        Dialect::Auto | Dialect::Github | Dialect::Gitlab => false,
    }
}
