//! Formats, sites and elements. Plain data.

use std::ops::Range;

use base::{
    error::{Code, Error},
    language::Language,
    micro::Kind,
};

/// A format that has sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A page, or a component with a template.
    Markup(Markup),
    /// A program.
    Script(Language),
    /// A style sheet.
    Sheet(Sheet),
}

/// A dialect of style sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sheet {
    /// CSS.
    Css,
    /// SCSS.
    Scss,
    /// Less.
    Less,
}

/// A format of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// HTML, perhaps with the marks of a template engine.
    Html,
    /// A component of Svelte.
    Svelte,
    /// A component of Vue.
    Vue,
}

impl Format {
    /// The format of a file by its ending; `invalid_input` names those that there are.
    pub fn of_path(path: &str) -> Result<Self, Error> {
        let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        let found = match (ending, Language::of_path(path)) {
            (Some("vue"), _) => Some(Format::Markup(Markup::Vue)),
            (Some("svelte"), _) => Some(Format::Markup(Markup::Svelte)),
            (Some("scss"), _) => Some(Format::Sheet(Sheet::Scss)),
            (Some("less"), _) => Some(Format::Sheet(Sheet::Less)),
            (_, Some(Language::Css)) => Some(Format::Sheet(Sheet::Css)),
            (_, Some(Language::Html)) => Some(Format::Markup(Markup::Html)),
            (_, Some(language @ (Language::JavaScript | Language::TypeScript | Language::Tsx))) => {
                Some(Format::Script(language))
            }
            _ => None,
        };
        found.ok_or_else(|| {
            Error::new(Code::InvalidInput, format!("micro-edits don't know the format of `{path}`"))
                .detail("path", path)
                .hint("they change HTML, JSX and TSX, JavaScript and TypeScript, Vue, Svelte, CSS, SCSS and Less")
        })
    }
}

/// The spelling of a site, which decides what may stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// An attribute between quotes, or without; no character ends it but the quote.
    Attribute(Option<char>),
    /// A string of a program between these quotes.
    Text(char),
    /// A template literal without expressions.
    Template,
    /// A number, `true`, `false` or `null` of a program.
    Literal,
    /// Text between tags of HTML.
    Html(Markup),
    /// Text between tags of JSX.
    Jsx,
    /// The value of a declaration.
    Value(Sheet),
    /// The address of an `@import` without quotes.
    Url,
    /// The beginning of an element's attributes.
    Tag,
    /// Something that a program computes.
    Computed,
}

/// A place that an edit may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its kind.
    pub kind: Kind,
    /// The name of the prop, property or element; empty if there is none.
    pub name: String,
    /// Its bytes, without quotes; of an element the place of a new attribute.
    pub range: Range<usize>,
    /// The way in which it is spelt.
    pub spelling: Spelling,
    /// The quote of the attribute in which it stands, which must not occur in it.
    pub within: Option<char>,
    /// The element to which it belongs.
    pub element: Option<usize>,
    /// The rule to which it belongs.
    pub rule: Option<usize>,
}

/// An element of a page or of JSX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name as it is written; empty for a fragment.
    pub name: String,
    /// The beginning of its tag.
    pub start: usize,
    /// The element around it.
    pub parent: Option<usize>,
    /// Its attributes by the names of HTML, with their values as far as they are known.
    pub attributes: Vec<(String, Option<String>)>,
    /// True if names are compared without regard to case.
    pub is_html: bool,
}

/// The places of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// The places, in the order of the reader.
    pub sites: Vec<Site>,
    /// The elements, in the order of the text.
    pub elements: Vec<Element>,
    /// The selectors of the rules, each as a list of alternatives with the rules around it.
    pub rules: Vec<Vec<String>>,
    /// The number of places that could not be understood.
    pub errors: usize,
}

impl Sites {
    /// Adds the places of a part that begins at `start`.
    pub(super) fn add(&mut self, part: Sites, start: usize) {
        let (elements, rules) = (self.elements.len(), self.rules.len());
        self.sites.extend(part.sites.into_iter().map(|site| Site {
            range: site.range.start + start..site.range.end + start,
            element: site.element.map(|at| at + elements),
            rule: site.rule.map(|at| at + rules),
            ..site
        }));
        self.elements.extend(part.elements.into_iter().map(|element| Element {
            start: element.start + start,
            parent: element.parent.map(|at| at + elements),
            ..element
        }));
        self.rules.extend(part.rules);
        self.errors += part.errors;
    }
}
