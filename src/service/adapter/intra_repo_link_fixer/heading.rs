//! The reading of a heading by each generator: its explicit anchor, or the text that an anchor is made from.
//!
//! A heading that a generator may read otherwise is unknown. It is never guessed.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    hidden::{self, Elements},
    params::Dialect,
    scheme::Scheme,
};
use format::outline::{Heading, Part, Piece};

/// A heading as a generator reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The anchor that it names.
    Id(String),
    /// The text that its anchor is made from.
    Text(String),
    /// The reason that neither is known.
    Unknown(&'static str),
}

const BRACES: &str = "its braces may be attributes or text";
const CODE: &str = "it has code of the generator";
const HTML: &str = "it has HTML, or a sign of it";
const MARKUP: &str = "the generator may read its marks otherwise";
const PLACE: &str = "the generator may not take it for a heading";
const SIGNS: &str = "the generator may replace signs in it";

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// Hyphens that are written for dashes.
static DASHES: LazyLock<Regex> = LazyLock::new(|| pattern("--+"));
/// Quotes, dashes and dots that Hugo's typographer replaces.
static TYPOGRAPHIC: LazyLock<Regex> = LazyLock::new(|| pattern(r#"---|--|\.\.\.|['"]|<<|>>"#));
/// URLs and addresses of mail that are links by themselves, with the character before them.
static BARE_URL: LazyLock<Regex> = LazyLock::new(|| {
    let rest = r"[-\w@:%.+~#=]*\.[a-z]+(?::\d+)?(?:[/#?][^\s<]*[^\s<?!.,:*_~])?";
    pattern(&format!(
        r"(^|[\s*_~(])(?:(?:https?|ftp)://{rest}|www\.{rest}|[0-9A-Za-z_.+-]+@[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)+)"
    ))
});

/// Attributes at the end of a line, by the rules of pulldown-cmark: anything without braces, tags and escapes.
static BLOCK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{([^{}<>\\\r\n]*)\}[ \t\r\n]*$"));
/// Attributes that every generator reads alike: words with `#`, `.` or `=`.
static PLAIN_BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let value = r#"(?:"[^"{}\\&<>*_`]*"|[A-Za-z][\w-]*)"#;
    let word = format!(r"(?:[#.][\w.:-]+|[A-Za-z][\w-]*={value})");
    pattern(&format!(r"^\{{(:?) *({word}(?: +{word})*) *\}}$"))
});
/// The end of a line from its last opening brace.
static TAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{[^{}]*\}[ \t\r\n]*$"));
/// The id in a comment of MDX.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{/\*\s*#([^\s{}*/]+)(?: [^{}*/]*)?\*/\}[ \t\r\n]*$"));
/// Character references, as far as a heading may have them.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r"&(?:#|\w+;)"));
/// Escapes of signs that HTML escapes, too.
static ESCAPED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\\[&<>"]"#));
/// A tilde that stands alone, which is a mark to some.
static TILDE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:^|[^~])~(?:[^~]|$)"));
/// The names of emoji and the signs for them, of markdown-it-emoji.
static EMOJI: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i):[\w+-]+:|[:;][-']?[()/*|o@dpsz$",'\[\]]|</?3|<\\3|\b[x8b]-\)|\b[o0]:-?\)"#));
/// A directive of MDX sites.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r":[A-Za-z]"));
/// Signs that extensions of Python-Markdown read.
static EXTENSIONS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"--|\.\.\.|[$^~@|]|==|\+\+|:\w|\((?i:c|r|tm|p)\)|\+/-|\b\d/\d|->|<-|\[\^|\{"));

/// Reads the headings of a page.
pub(super) fn readings(source: &str, headings: &[Heading], scheme: &Scheme) -> Vec<Reading> {
    let has_programs = hidden::has_programs(source, scheme);
    let mut elements = Elements::of(source);
    let mut is_hidden = |heading: &Heading| {
        has_programs || (scheme.dialect == Dialect::Mkdocs && elements.are_open(heading.range.start))
    };
    let read = |heading: &Heading| match is_hidden(heading) {
        true => Reading::Unknown(PLACE),
        false => read(source, heading, scheme),
    };
    headings.iter().map(read).collect()
}

fn read(source: &str, heading: &Heading, scheme: &Scheme) -> Reading {
    let raw = source.get(heading.range.clone()).unwrap_or_default();
    let own = Own { pieces: joined(&heading.pieces), raw, source, start: heading.range.start, scheme };
    let reading = match scheme.dialect {
        _ if own.has(Part::Program) => Reading::Unknown(CODE),
        Dialect::Auto => Reading::Unknown("two sites have it, with other rules"),
        Dialect::Github if scheme.is_extended && own.is_odd_in_astro() => Reading::Unknown(SIGNS),
        Dialect::Github | Dialect::Gitlab => Reading::Text(own.text(false, "\n")),
        Dialect::Mdbook => own.of_mdbook(),
        Dialect::Hugo => own.of_hugo(),
        Dialect::Docusaurus => own.of_docusaurus(),
        Dialect::Vitepress => own.of_vitepress(),
        Dialect::Mkdocs => own.of_mkdocs(),
    };
    match (&scheme.doubt, reading) {
        (Some(_), Reading::Text(_)) => Reading::Unknown("the site makes anchors by settings of its own"),
        (_, reading) => reading,
    }
}

/// The pieces, of which texts in a row are one.
fn joined(pieces: &[Piece]) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        let goes_on = |last: &&mut Piece| {
            let place = |piece: &Piece| (piece.part, piece.depth, piece.leads);
            piece.part == Part::Text && place(last) == place(piece)
        };
        match joined.last_mut().filter(goes_on) {
            Some(last) => last.text.push_str(&piece.text),
            None => joined.push(piece.clone()),
        }
    }
    joined
}

/// A heading with its source.
struct Own<'a> {
    pieces: Vec<Piece>,
    /// Its source, with the marks of a heading.
    raw: &'a str,
    /// The page, and the place in it.
    source: &'a str,
    start: usize,
    scheme: &'a Scheme,
}

impl Own<'_> {
    fn of_mdbook(&self) -> Reading {
        let line = self.line();
        if self.scheme.is_extended && DASHES.is_match(line) {
            return Reading::Unknown(SIGNS);
        }
        let Some(found) = BLOCK.captures(line).filter(|_| self.scheme.has_attributes) else {
            return Reading::Text(self.text(false, "\n"));
        };
        let words = found[1].split_ascii_whitespace().filter(|word| word.len() > 1);
        match words.filter_map(|word| word.strip_prefix('#')).next_back() {
            Some(id) => Reading::Id(id.to_owned()),
            None if found[1].contains("id=") => Reading::Unknown(BRACES),
            None => self.without(found[0].trim_end(), "\n"),
        }
    }

    fn of_hugo(&self) -> Reading {
        let (line, whole) = (self.line().trim_end(), self.whole());
        if self.pieces.iter().any(|piece| piece.part == Part::Code && REFERENCE.is_match(&piece.text)) {
            return Reading::Unknown(SIGNS);
        }
        if whole.contains("{{") || whole.contains("&#") {
            return Reading::Unknown(if whole.contains("{{") { CODE } else { SIGNS });
        }
        let has_more = || whole.contains(['$', '^', '~', '=', '+']) || BARE_URL.is_match(whole);
        if (!self.scheme.is_smart && TYPOGRAPHIC.is_match(whole)) || (self.scheme.is_extended && has_more()) {
            return Reading::Unknown(SIGNS);
        }
        if !line.trim_end_matches(['#', ' ', '\t']).ends_with('}') {
            return Reading::Text(self.hugo_text(&self.pieces));
        }
        let Some(block) = TAIL.find(line).filter(|_| self.scheme.has_attributes) else {
            return Reading::Unknown(BRACES);
        };
        let before = line[..block.start()].trim_end();
        match plain_id(block.as_str(), false) {
            Some(_) if before.ends_with(['\\', '}', '#']) || before.is_empty() => Reading::Unknown(BRACES),
            Some(Some(id)) => Reading::Id(id),
            Some(None) => match self.cut(block.as_str()) {
                Some(pieces) => Reading::Text(self.hugo_text(&pieces)),
                None => Reading::Unknown(BRACES),
            },
            None => Reading::Unknown(BRACES),
        }
    }

    fn is_odd_in_astro(&self) -> bool {
        let running = self.running();
        self.has(Part::Html) || running.contains("--") || running.contains(['{', '<'])
    }

    fn has(&self, part: Part) -> bool {
        self.pieces.iter().any(|piece| piece.part == part)
    }

    fn hugo_text(&self, pieces: &[Piece]) -> String {
        pieces
            .iter()
            .map(|piece| if piece.part == Part::Break { "\n".to_owned() } else { text_of_hugo(piece) })
            .collect()
    }

    fn of_docusaurus(&self) -> Reading {
        let running = self.running();
        if self.has(Part::Html) || self.has(Part::Url) || running.contains('<') {
            return Reading::Unknown(HTML);
        }
        if DIRECTIVE.is_match(&running) {
            return Reading::Unknown(SIGNS);
        }
        let text = self.text(true, "\n");
        // The text ends before white space at the end of the line.
        let first = self.source[self.start..].lines().next().unwrap_or_default();
        let text = if first.ends_with([' ', '\t']) { text.trim_end_matches([' ', '\t']).to_owned() } else { text };
        let braces = (running.matches('{').count(), running.matches('}').count());
        let in_code = self.pieces.iter().any(|piece| piece.part == Part::Code && piece.text.contains("{#"));
        let comment = COMMENT.captures(self.line());
        match (braces, comment) {
            ((0, 0), _) if !in_code => Reading::Text(text),
            _ if in_code || braces != (1, 1) => Reading::Unknown(BRACES),
            (_, Some(comment)) => Reading::Id(comment[1].to_owned()),
            (_, None) => {
                // Elsewhere the braces hold a program.
                let is_escaped = self.raw.starts_with('#') && self.margin().is_empty();
                let inner = text.strip_suffix('}').and_then(|text| Some(text.rsplit_once("{#")?.1.trim()));
                let inner = inner.filter(|id| is_escaped && !id.is_empty() && !id.contains(['{', '}']));
                inner.map_or(Reading::Unknown(BRACES), |id| Reading::Id(id.to_owned()))
            }
        }
    }

    fn of_vitepress(&self) -> Reading {
        let running = self.running();
        if REFERENCE.is_match(self.whole())
            || ESCAPED.is_match(self.whole())
            || TILDE.is_match(self.whole())
            || EMOJI.is_match(&running)
            || (self.scheme.is_extended && running.contains('$'))
        {
            return Reading::Unknown(SIGNS);
        }
        match running.contains(['{', '}']) {
            false => Reading::Text(self.text(false, "")),
            true => self.attributes(false, ""),
        }
    }

    fn of_mkdocs(&self) -> Reading {
        let running = self.running();
        let is_tag =
            running.split('<').skip(1).any(|rest| rest.starts_with(|c: char| c.is_alphabetic() || "/!?".contains(c)));
        if !self.is_placed() {
            return Reading::Unknown(PLACE);
        }
        if self.has(Part::Html) || self.has(Part::Url) || is_tag {
            return Reading::Unknown(HTML);
        }
        let is_odd_code = |piece: &Piece| {
            piece.part == Part::Code && (piece.text.trim() != piece.text || piece.text.contains(['`', '&']))
        };
        let is_deep = self.pieces.iter().any(|piece| piece.depth > 1);
        if self.raw.contains('\\')
            || self.raw.contains("[^")
            || is_deep
            || self.pieces.iter().any(is_odd_code)
            || has_marks(&running)
        {
            return Reading::Unknown(MARKUP);
        }
        let braces = running.rfind('{').filter(|_| self.scheme.has_attributes).unwrap_or(running.len());
        if REFERENCE.is_match(self.whole()) || (self.scheme.is_extended && EXTENSIONS.is_match(&running[..braces])) {
            return Reading::Unknown(SIGNS);
        }
        match self.scheme.has_attributes && running.contains(['{', '}']) {
            false => Reading::Text(self.text(false, "\n")),
            true => self.attributes(true, "\n"),
        }
    }

    /// Attributes that are read behind the text, where no mark may be in them.
    fn attributes(&self, may_have_colon: bool, line_end: &str) -> Reading {
        let running = self.running();
        let Some(Piece { part: Part::Text, depth: 0, text: last, .. }) = self.pieces.last() else {
            return Reading::Unknown(BRACES);
        };
        let line = self.line().trim_end_matches(['#', ' ', '\t', '\r', '\n']);
        let single = running.matches('{').count() == 1 && running.matches('}').count() == 1;
        let Some(block) = TAIL.find(last).filter(|_| single).map(|block| block.as_str().trim_end()) else {
            return Reading::Unknown(BRACES);
        };
        let is_apart =
            line.strip_suffix(block).is_some_and(|before| before.ends_with(' ') && !before.trim().is_empty());
        let has_text = self.pieces.len() > 1 || last.trim_end().len() > block.len();
        match plain_id(block, may_have_colon).filter(|_| is_apart && has_text) {
            Some(Some(id)) => Reading::Id(id),
            Some(None) => self.without(block, line_end),
            None => Reading::Unknown(BRACES),
        }
    }

    /// The heading without the block at its end.
    fn without(&self, block: &str, line_end: &str) -> Reading {
        let Some(pieces) = self.cut(block) else { return Reading::Unknown(BRACES) };
        Reading::Text(Own { pieces, ..*self }.text(false, line_end))
    }

    fn cut(&self, block: &str) -> Option<Vec<Piece>> {
        let mut pieces = self.pieces.clone();
        let last = pieces.last_mut().filter(|last| last.part == Part::Text)?;
        let rest = last.text.trim_end().strip_suffix(block)?.trim_end();
        let bare = rest.trim_end_matches('#');
        let rest = if bare.len() == rest.len() || bare.ends_with([' ', '\t']) || bare.is_empty() { bare } else { rest };
        last.text = rest.trim_end().to_owned();
        Some(pieces)
    }

    /// The text without marks.
    fn text(&self, with_images: bool, line_end: &str) -> String {
        let is_dashed = self.scheme.dialect == Dialect::Mdbook && self.scheme.is_smart;
        let mut text = String::new();
        for piece in &self.pieces {
            match piece.part {
                Part::Break => text.push_str(line_end),
                Part::Text if is_dashed => text.push_str(&DASHES.replace_all(&piece.text, "–")),
                Part::Text | Part::Code | Part::Url => text.push_str(&piece.text),
                Part::Alt if with_images => text.push_str(&piece.text),
                Part::Alt | Part::Html | Part::Program => {}
            }
        }
        text
    }

    /// Everything that is neither code nor a tag.
    fn running(&self) -> String {
        let is_running = |piece: &&Piece| matches!(piece.part, Part::Text | Part::Alt | Part::Break);
        self.pieces
            .iter()
            .filter(is_running)
            .map(|piece| if piece.part == Part::Break { "\n" } else { piece.text.as_str() })
            .collect()
    }

    /// Its last line of text, with the marks at its ends.
    fn line(&self) -> &str {
        self.whole().rsplit(['\n', '\r']).next().unwrap_or_default()
    }

    /// Its lines with text.
    fn whole(&self) -> &str {
        let raw = self.raw.trim_end();
        match raw.trim_start().starts_with('#') {
            true => raw,
            false => raw.rfind(['\n', '\r']).map_or("", |end| raw[..end].trim_end_matches(['\n', '\r'])),
        }
    }

    /// The text before it on its line.
    fn margin(&self) -> &str {
        let before = &self.source[..self.start];
        &before[before.rfind(['\n', '\r']).map_or(0, |end| end + 1)..]
    }

    /// True if Python-Markdown takes it for a heading, too.
    fn is_placed(&self) -> bool {
        let margin = self.margin().trim_start_matches('\u{feff}');
        if self.raw.starts_with('#') {
            return margin.is_empty() || (margin.starts_with('>') && margin.ends_with("> ") && !margin.contains("  "));
        }
        let mut lines = self.raw.trim_end().lines();
        let (first, second, third) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), lines.next());
        let before = &self.source[..self.start - margin.len()];
        let is_first = before.is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n");
        let is_line =
            !second.is_empty() && second.trim_end_matches(' ').bytes().all(|byte| matches!(byte, b'=' | b'-'));
        margin.is_empty() && third.is_none() && is_first && is_line && !first.starts_with(' ')
    }
}

/// True for signs of marks that CommonMark left as text.
fn has_marks(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let is_space = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_none_or(|c| c.is_whitespace());
    let is_mark = |(at, c): (usize, &char)| match c {
        '`' => true,
        '*' => !(is_space(at.checked_sub(1)) && is_space(Some(at + 1))),
        '_' => !(is_word(at.checked_sub(1)) && is_word(Some(at + 1))),
        ']' => {
            matches!(chars.get(at + 1), Some('(' | '['))
                || (chars.get(at + 1) == Some(&' ') && chars.get(at + 2) == Some(&'['))
        }
        _ => false,
    };
    chars.iter().enumerate().any(is_mark)
}

/// The id in braces that all generators read alike; the inner none if they name none.
fn plain_id(block: &str, may_have_colon: bool) -> Option<Option<String>> {
    let found = PLAIN_BLOCK.captures(block)?;
    let bare: String = found[2].split('"').step_by(2).collect();
    let mut words = bare.split(' ');
    if words.clone().any(|word| word.starts_with("id=")) || (!may_have_colon && !found[1].is_empty()) {
        return None;
    }
    Some(words.rfind(|word| word.starts_with('#')).map(|word| word[1..].to_owned()))
}

/// The text that Hugo takes of a piece: of each mark only the first thing in it, and none of a URL that is a link by itself. A
/// character that its typographer changes gives no character of an anchor. Within a mark it ends the first thing, as signs of
/// emphasis do.
fn text_of_hugo(piece: &Piece) -> String {
    match piece.part {
        _ if !piece.leads => String::new(),
        Part::Code => piece.text.clone(),
        Part::Text | Part::Alt if piece.depth > 0 => {
            let text = TYPOGRAPHIC.replace_all(&piece.text, "…");
            let mark = text.find('…').map_or(text.len(), |at| if at == 0 { '…'.len_utf8() } else { at });
            let first = &text[..mark];
            let sign = first.find(['_', '*']).unwrap_or(first.len());
            let rest = first[sign..].trim_start_matches(['_', '*']);
            first[..first.len() - rest.len()].to_owned()
        }
        Part::Text => TYPOGRAPHIC.replace_all(&BARE_URL.replace_all(&piece.text, "$1"), "…").into_owned(),
        Part::Alt | Part::Url | Part::Html | Part::Program | Part::Break => String::new(),
    }
}
