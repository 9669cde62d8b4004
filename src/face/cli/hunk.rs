//! An error about a patch as a person reads it: the hunk's header, the line that does not fit, and the one in the file.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};

use super::redact;
use base::{error::Error, text::escape};

/// The most places of a hunk's lines that are listed.
const PLACES: usize = 10;

/// Renders an error with the part of the patch that it is about; none if it names no line of the patch.
pub(super) fn render(error: &Error, name: &str, patch: &[u8], color: bool) -> Option<String> {
    let first = usize::try_from(error.details().get("line")?.as_u64()?).ok()?;
    let hunk = hunk(patch, first.checked_sub(1)?);
    let (header, body) = hunk.split_first()?;
    let mut source = header.clone();
    body.iter().for_each(|line| source.extend(["\n", line]));
    let snippet = Snippet::source(source.as_str()).line_start(first).path(escape(name));
    let differing = differing(error, body);
    let kind = if differing.is_some() { AnnotationKind::Context } else { AnnotationKind::Primary };
    let mut snippet = snippet.annotation(kind.span(0..header.len()));
    if let Some(at) = differing {
        let start = header.len() + body[..at].iter().map(|line| line.len() + 1).sum::<usize>() + 1;
        let found = error.details().get("found").and_then(|found| found.as_str());
        let found = found.map_or("here the file ends".to_owned(), |found| format!("the file has `{}`", escape(found)));
        snippet = snippet.annotation(AnnotationKind::Primary.span(start..start + body[at].len()).label(found));
    }
    let title = Level::ERROR.primary_title(escape(error.message())).id(error.code().as_str());
    let mut group: Group<'_> = title.element(snippet);
    if let Some(places) = places(error) {
        group = group.element(Level::NOTE.message(places));
    }
    if let Some(hint) = error.hint_text() {
        group = group.element(Level::HELP.message(escape(hint)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let text = renderer.decor_style(DecorStyle::Ascii).render(&[group]).to_string();
    Some(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
}

/// The lines from a hunk's header to its end, escaped; of anything else its one line.
fn hunk(patch: &[u8], first: usize) -> Vec<String> {
    let mut lines = patch.split(|byte| *byte == b'\n').skip(first).map(|line| {
        // A long line is cut, and a secret that is cut is not found any more.
        escape(&redact::text(&String::from_utf8_lossy(line)))
    });
    let header: Vec<String> = lines.by_ref().take(1).collect();
    let is_hunk = header.iter().any(|line| line.starts_with("@@ "));
    let body = lines.take_while(|line| is_hunk && line.starts_with(['+', '-', ' ', '\\']));
    header.into_iter().chain(body).collect()
}

/// The index of the line in a hunk's body that differs from the file.
fn differing(error: &Error, body: &[String]) -> Option<usize> {
    let expected = error.details().get("expected")?.as_str()?;
    let is_it =
        |line: &String| line.strip_prefix([' ', '-']).is_some_and(|line| line.trim_end() == expected.trim_end());
    body.iter().position(is_it)
}

/// The places in the file with the lines of the hunk, if there are any.
fn places(error: &Error) -> Option<String> {
    // With a line that differs, the message names the only place.
    if error.details().contains_key("found") {
        return None;
    }
    let places = error.details().get("places")?.as_array()?;
    let listed: Vec<String> = places.iter().take(PLACES).map(ToString::to_string).collect();
    let more = if places.len() > PLACES { ", …" } else { "" };
    match listed.len() {
        0 => None,
        1 => Some(format!("its lines are at line {}{more}", listed[0])),
        _ => Some(format!("its lines are at each of the lines {}{more}", listed.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use base::error::Code;

    const PATCH: &[u8] = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\x1b[2J\n+zwei\n three\n--- a/y\n";

    fn error() -> Error {
        Error::new(Code::PatchRejected, "hunk 1 of `x` does not fit").detail("line", 3).hint("read it again")
    }

    #[test]
    fn the_line_that_does_not_fit_is_marked() {
        let error = error().detail("expected", "two\\u{1b}[2J").detail("found", "deux").detail("places", vec![1]);
        let text = render(&error, "x.patch", PATCH, false).unwrap();
        let expected = "\
error[patch_rejected]: hunk 1 of `x` does not fit
 --> x.patch:5:1
  |
3 | @@ -1,3 +1,3 @@
  | ---------------
4 |  one
5 | -two\\u{1b}[2J
  | ^^^^^^^^^^^^^ the file has `deux`
  |
  = help: read it again";
        assert_eq!(text, expected);
        assert!(render(&error, "x.patch", PATCH, true).unwrap().contains("\u{1b}[1m"));
    }

    #[test]
    fn the_places_of_a_hunk_are_listed() {
        let text = render(&error().detail("places", vec![4, 8]), "x.patch", PATCH, false).unwrap();
        assert!(text.contains("3 | @@ -1,3 +1,3 @@\n  | ^^^^^"), "{text}");
        assert!(text.contains("= note: its lines are at each of the lines 4, 8\n"), "{text}");
    }

    #[test]
    fn what_is_no_hunk_is_one_line() {
        let error = Error::new(Code::InvalidInput, "no").detail("line", 2);
        let text = render(&error, "x.patch", PATCH, false).unwrap();
        assert!(text.contains("2 | +++ b/x\n") && !text.contains("@@"), "{text}");
        for line in [json!(0), json!(99), json!("x"), json!(null)] {
            let error = Error::new(Code::InvalidInput, "no").detail("line", line.clone());
            let none = render(&error, "x.patch", PATCH, false).is_none_or(|text| text.contains("error["));
            assert!(none, "{line}");
        }
    }
}
