//! The places of a name that edits change, with the text that each of them gets.

use std::ops::Range;

use format::name::{facts::Form, token::Token};
use system::language_server::Edit;

/// The text of a place that gets a form.
pub(super) fn text(form: Form, (from, to): (&str, &str)) -> String {
    match form {
        Form::Plain => to.to_owned(),
        Form::Member => format!("{from}: {to}"),
        Form::Key => format!("{to}: {from}"),
        Form::ExportedAs => format!("{to} as {from}"),
        Form::Import => format!("{from} as {to}"),
    }
}

/// The forms, each with its text. The longest that fits is the one that was meant.
fn texts(names: (&str, &str)) -> Vec<(Option<Form>, String)> {
    let forms = [Form::Import, Form::ExportedAs, Form::Member, Form::Key, Form::Plain];
    let known = forms.into_iter().map(|form| (Some(form), text(form, names)));
    known.chain([(None, names.0.to_owned())]).collect()
}

/// Places after and before an edit of their text, in order.
pub(super) type Moved = Vec<(Range<usize>, Range<usize>)>;

/// A text with other texts at some places, in order, and these places.
pub(super) fn written<'e>(text: &str, edits: impl Iterator<Item = (&'e Range<usize>, String)>) -> (String, Moved) {
    let (mut new, mut moved, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (range, edit) in edits {
        new.push_str(&text[at..range.start]);
        let begin = new.len();
        new.push_str(&edit);
        moved.push((begin..new.len(), range.clone()));
        at = range.end;
    }
    new.push_str(&text[at..]);
    (new, moved)
}

/// The changed places of the tokens of a name, in order. The error is a byte at which the edits change something else.
pub(super) fn of<'t>(
    text: &str,
    tokens: &'t [Token],
    edits: &[Edit],
    names: (&str, &str),
) -> Result<Vec<(&'t Token, Form)>, usize> {
    let texts = texts(names);
    let mut found = Vec::new();
    let mut edits = edits.iter().peekable();
    for token in tokens {
        // An edit may replace the token, or insert text at one of its ends.
        let mut of_token = Vec::new();
        while let Some(edit) = edits.next_if(|edit| edit.range.start <= token.range.end) {
            if edit.range.start < token.range.start || edit.range.end > token.range.end {
                return Err(edit.range.start);
            }
            of_token.push(edit);
        }
        if of_token.is_empty() {
            continue;
        }
        let mut new = String::new();
        let mut at = token.range.start;
        for edit in of_token {
            new.push_str(&text[at..edit.range.start]);
            new.push_str(&edit.text);
            at = edit.range.end;
        }
        new.push_str(&text[at..token.range.end]);
        let (form, _) = texts.iter().find(|(_, text)| *text == new).ok_or(token.range.start)?;
        found.extend(form.map(|form| (token, form)));
    }
    edits.next().map_or(Ok(found), |edit| Err(edit.range.start))
}
