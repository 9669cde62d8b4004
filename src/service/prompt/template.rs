//! The templates of `stdlib/prompt/`, which are part of the program. They insert values unaltered.

use std::{collections::BTreeMap, sync::LazyLock};

use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

use base::error::{Code, Error};

/// A template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Template {
    /// The whole prompt.
    Prompt,
    /// A verbatim block in it.
    Block,
    /// A directive of that name.
    Directive(&'static str),
}

/// The templates and their sources.
const SOURCES: &[(&str, &str)] = &[
    ("block", include_str!("templates/block.jinja")),
    ("directives/dta", include_str!("templates/directives/dta.jinja")),
    ("directives/micro", include_str!("templates/directives/micro.jinja")),
    ("directives/plan", include_str!("templates/directives/plan.jinja")),
    ("prompt", include_str!("templates/prompt.jinja")),
];

/// The prefix of the names of directives.
const DIRECTIVES: &str = "directives/";

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    // Without filters, and without escapes of another language.
    let mut templates = Environment::empty();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    templates.set_syntax(syntax.expect("its delimiters are those of Jinja"));
    for (name, source) in SOURCES {
        templates.add_template(name, source).expect("the templates are tested");
    }
    templates
});

impl Template {
    /// Renders the template with these values.
    pub(super) fn render(self, values: BTreeMap<&'static str, Value>) -> Result<String, Error> {
        let name = match self {
            Template::Prompt => "prompt".to_owned(),
            Template::Block => "block".to_owned(),
            Template::Directive(name) => format!("{DIRECTIVES}{name}"),
        };
        let rendered = TEMPLATES.get_template(&name).and_then(|template| template.render(values));
        rendered.map_err(|error| Error::new(Code::Internal, format!("the template `{name}` can't be used: {error}")))
    }
}

/// The names of directives, sorted.
pub(super) fn directives() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().filter_map(|(name, _)| name.strip_prefix(DIRECTIVES))
}
