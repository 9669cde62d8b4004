//! An error as a person reads it: the line of the script with a mark under the place, and the next step.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};
use anstream::adapter::strip_str;

use crate::check;
use base::{
    error::{Error, Location},
    text::escape,
};

/// Removes secrets from a line of a script. It runs before a long line is cut: a secret that is cut is not found any more.
pub type Redact = for<'a> fn(&'a str) -> Cow<'a, str>;

/// Renders an error; `sources` are the scripts by name, as they were loaded.
///
/// Without the source of the error's place, the place is its name, line and column.
pub fn render(error: &Error, sources: &BTreeMap<String, String>, redact: Redact, color: bool) -> String {
    draw(error, (Level::ERROR, error.code().as_str()), sources, redact, color)
}

/// [`render`] of a warning, with its rule.
pub fn render_warning(warning: &Error, sources: &BTreeMap<String, String>, redact: Redact, color: bool) -> String {
    draw(warning, (Level::WARNING, check::rule(warning)), sources, redact, color)
}

fn draw(
    error: &Error,
    head: (Level<'_>, &str),
    sources: &BTreeMap<String, String>,
    redact: Redact,
    color: bool,
) -> String {
    let style = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = style.decor_style(DecorStyle::Ascii);
    let title = head.0.primary_title(printable(error.message())).id(head.1);
    let place = error.location();
    let line = place.and_then(|place| sources.get(&place.path)?.lines().nth(place.line.checked_sub(1)?));
    let group = match (place, line) {
        (Some(place), Some(line)) => {
            let (line, column) = redacted(line, place.column, redact);
            // Invisible characters stand in scripts as well.
            let Range { start, end } = span(&line, column);
            let [before, marked, after] = [&line[..start], &line[start..end], &line[end..]].map(escape);
            let annotation = AnnotationKind::Primary.span(before.len()..before.len() + marked.len());
            let snippet =
                Snippet::source([before, marked, after].concat()).line_start(place.line).path(escape(&place.path));
            title.element(snippet.annotation(annotation))
        }
        (Some(place), None) => title.element(Level::NOTE.message(format!("at {}", written(place)))),
        (None, _) => annotate_snippets::Group::with_title(title),
    };
    let group = match error.hint_text() {
        Some(hint) => group.element(Level::HELP.message(printable(hint))),
        None => group,
    };
    let text = renderer.render(&[group]).to_string();
    // Lines are padded to their gutter, which is noise in a log; a gutter without a source marks nothing.
    let is_idle = |line: &&str| place.is_none() && strip_str(line).to_string().trim() == "|";
    text.lines().map(str::trim_end).filter(|line| !is_idle(line)).collect::<Vec<_>>().join("\n")
}

/// `path:line:column`, which terminals and editors turn into a link.
fn written(place: &Location) -> String {
    format!("{}:{}:{}", escape(&place.path), place.line, place.column)
}

/// A line without secrets, and the column of a place in it: the line's first one, if the place was in a secret.
fn redacted(line: &str, column: usize, redact: Redact) -> (Cow<'_, str>, usize) {
    let shown = redact(line);
    if shown == line {
        return (shown, column);
    }
    let before = redact(&line[..span(line, column).start]).into_owned();
    let column = if shown.starts_with(&before) { before.chars().count() + 1 } else { 1 };
    (shown, column)
}

/// The bytes of the word at a column in characters; one character if it is no word; nothing at the line's end.
fn span(line: &str, column: usize) -> Range<usize> {
    let from = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word: usize = line[from..].chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum();
    let length = if word > 0 { word } else { line[from..].chars().next().map_or(0, char::len_utf8) };
    from..from + length
}

/// Escapes a quoted text, which may come from anywhere.
fn printable(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    fn error(line: usize, column: usize) -> Error {
        Error::new(Code::ScriptSyntax, "`raed` does not exist").at(Location { path: "a.rhai".to_owned(), line, column })
    }

    fn sources() -> BTreeMap<String, String> {
        BTreeMap::from([("a.rhai".to_owned(), "let x = 1;\nlet é = nrv.files.raed(\"x\");\n".to_owned())])
    }

    fn plain(line: &str) -> Cow<'_, str> {
        line.into()
    }

    #[test]
    fn the_word_at_the_place_is_marked() {
        let text = render(&error(2, 19).hint("did you mean `read`?"), &sources(), plain, false);
        let expected = "\
error[script_syntax]: `raed` does not exist
 --> a.rhai:2:19
  |
2 | let é = nrv.files.raed(\"x\");
  |                   ^^^^
  |
  = help: did you mean `read`?";
        assert_eq!(text, expected);
        assert!(render(&error(2, 19), &sources(), plain, true).contains("\u{1b}["));
    }

    #[test]
    fn a_secret_of_a_long_line_is_not_cut() {
        let text = |redact: Redact| {
            let line = format!("let token = \"hunter2hunter2\"; let x = nrv.files.raed({:?});", "long ".repeat(40));
            let sources = BTreeMap::from([("a.rhai".to_owned(), line)]);
            render(&error(1, 49), &sources, redact, false)
        };
        assert!(text(plain).contains("hunter2"));
        let text = text(|line| line.replace("hunter2hunter2", "[redacted]").into());
        assert!(!text.contains("hunter"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3].find("raed"), lines[4].find("^^^^"), "{text}");
    }

    #[test]
    fn a_place_without_a_source_is_told() {
        let text = render(&error(2, 19), &BTreeMap::new(), plain, false);
        assert_eq!(text, "error[script_syntax]: `raed` does not exist\n |\n = note: at a.rhai:2:19");
        let text = render(&Error::new(Code::Io, "no\u{1b}[2J disk").hint("buy one"), &sources(), plain, false);
        assert_eq!(text, "error[io]: no\\u{1b}[2J disk\n = help: buy one");
    }

    #[test]
    fn a_place_beyond_the_text_is_no_defect() {
        for (line, column) in [(0, 0), (1, 11), (1, 500), (2, 1), (99, 1)] {
            assert!(render(&error(line, column), &sources(), plain, false).contains("does not exist"));
        }
    }
}
