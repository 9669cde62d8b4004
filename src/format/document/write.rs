//! Writes an edited document in its syntax.

use super::{
    draft::Draft,
    edit::Edited,
    output::Output,
    pen::{Pen, Step},
    source::Source,
    style::Style,
    syntax::Syntax,
    toml, yaml,
};

/// Writes the edited text.
pub(super) fn write(source: &Source, draft: &Draft<'_>) -> Step<Edited> {
    let text = source.text.as_str();
    let style = Style::of(source.syntax, text, &source.tree);
    let pen = Pen { syntax: source.syntax, text, draft, style, write_block: yaml::block::children };
    let mut out = Output::new(text);
    match (&source.layout, source.syntax) {
        (Some(layout), _) => toml::write::write(&pen, layout, &mut out)?,
        (None, Syntax::Yaml) => yaml::block::write(&pen, &mut out)?,
        (None, _) => {
            let root = draft.tree.root;
            let span = draft.tree.node(root).span.clone();
            out.keep(0..span.start);
            pen.value(&mut out, draft.root, root)?;
            out.keep(span.end..text.len());
        }
    }
    out.finish()
}
