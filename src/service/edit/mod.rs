//! Micro-edits: finds the one place that a request names, and proposes its change. A file can't be rewritten by them.
//!
//! `document` reads a text with its places, `place` finds those that a request fits, and `target` chooses one or says why none.
//! `fit` keeps a new text from becoming anything else, `structure` reads the result again, and `proof` compares the bytes without
//! any reader. `hazard` warns of texts that are programs. Nothing here writes.

mod document;
mod fit;
mod hazard;
pub mod jsonl;
mod outcome;
mod place;
pub mod proof;
mod selector;
pub mod setting;
mod structure;
mod target;

pub use self::outcome::{EditOutcome, EditStatus};
use self::{
    document::{Document, Place},
    place::Wanted,
    proof::Span,
};
use base::{
    change::{Change, ChangeSet, Content},
    error::{Code, Error},
    hash::Sha256,
    micro::{Edit, Find, Handle, Kind, Tool},
    path::RepoPath,
    pulse::Pulse,
};
use system::workspace::View;

/// A proposed edit: the change of one file, and its outcome.
#[derive(Debug)]
pub struct Proposal {
    /// The change; empty if the new text is the present one.
    pub changes: ChangeSet,
    /// The file as it is.
    pub before: Content,
    /// The place of the change.
    pub span: Span,
    /// The outcome, as long as nothing is written.
    pub outcome: EditOutcome,
}

/// The edit of a text.
#[derive(Debug)]
struct Made {
    after: String,
    span: Span,
    place: Place,
    warnings: Vec<String>,
}

/// A text after an edit.
#[derive(Debug)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// Warnings about the new part, as sentences without final period.
    pub warnings: Vec<String>,
}

/// Proposes an edit of a file.
///
/// `stale_preimage` if the target is not where the request says; its `details.near` holds fresh handles. `invalid_input` if there
/// are several, or if the new text would change more than the target.
pub fn propose(view: View<'_>, edit: &Edit, pulse: Pulse<'_>) -> Result<Proposal, Error> {
    let path = RepoPath::parse(&edit.path)?;
    let content = view.read(&path).map_err(|error| error.detail("path", path.as_str()))?;
    let text = text_of(&path, &content.bytes)?;
    let document = Document::read(path.as_str(), text, pulse)?;
    let made = make(&document, edit, pulse)?;
    proof::prove(text.as_bytes(), made.after.as_bytes(), &made.span)?;
    let after = Content::new(made.after.into_bytes(), content.mode);
    let outcome = EditOutcome {
        tool: edit.tool,
        path: path.clone(),
        line: made.span.line,
        column: document.column(made.span.start),
        status: if after.sha256 == content.sha256 { EditStatus::Noop } else { EditStatus::Applied },
        written: false,
        before: made.span.old.clone(),
        after: made.span.new.clone(),
        pre_sha256: content.sha256,
        post_sha256: after.sha256,
        target: renewed(&document, &made.place, &made.span, (&after.bytes, after.sha256)),
        warnings: made.warnings,
    };
    let change = Change { path, before: Some(content.stamp()), after: Some(after) };
    Ok(Proposal { changes: ChangeSet::new(vec![change])?, before: content, span: made.span, outcome })
}

/// The new text of an edited one.
pub fn edited(text: &str, edit: &Edit, pulse: Pulse<'_>) -> Result<Edited, Error> {
    let made = make(&Document::read(&edit.path, text, pulse)?, edit, pulse)?;
    proof::prove(text.as_bytes(), made.after.as_bytes(), &made.span)?;
    Ok(Edited { text: made.after, warnings: made.warnings })
}

/// The targets in a text that a search wants, in the order of the text.
pub fn find(path: &str, text: &str, find: &Find, pulse: Pulse<'_>) -> Result<Vec<Handle>, Error> {
    let document = Document::read(path, text, pulse)?;
    let places = place::found(&document, find)?;
    Ok(places.iter().map(|place| document.handle(place)).collect())
}

/// True if a file has a format that micro-edits know.
pub fn knows(path: &str) -> bool {
    document::format_of(path).is_ok()
}

fn make(document: &Document<'_>, edit: &Edit, pulse: Pulse<'_>) -> Result<Made, Error> {
    fit::one_line(edit)?;
    let wanted = Wanted::of(edit)?;
    let place = target::locate(document, edit, &wanted)?;
    let site = &document.sites.sites[place.site];
    let (old, new) = match edit.tool {
        Tool::AddAriaAttribute => {
            fit::attribute(document, &place, edit)?;
            (String::new(), format!(" {}=\"{}\"", edit.name.as_deref().unwrap_or_default(), edit.new))
        }
        _ => (document.text[place.range.clone()].to_owned(), fit::spelt(document, site, edit)?),
    };
    let mut after = document.text.to_owned();
    after.replace_range(place.range.clone(), &new);
    structure::check(document, &after, &place, (edit, new.len()), pulse)?;
    let span = Span { line: document.line(place.range.start), start: place.range.start, old, new };
    let warnings = hazard::warnings(document, site, edit);
    Ok(Made { after, span, place, warnings })
}

/// The handle of a place after its edit. Every line but that one is as it was.
fn renewed(document: &Document<'_>, place: &Place, span: &Span, (after, sha256): (&[u8], Sha256)) -> Handle {
    let handle = document.handle(place);
    let line = after.split(|byte| *byte == b'\n').nth(usize::try_from(span.line - 1).unwrap_or(usize::MAX));
    let line = line.unwrap_or_default();
    let line_sha256 = Sha256::of(line.strip_suffix(b"\r").unwrap_or(line));
    // An element that got an attribute is still what it was.
    let text = if handle.kind == Kind::Element { handle.text } else { span.new.clone() };
    Handle { text, line_sha256, file_sha256: sha256, ..handle }
}

/// A file as text.
pub fn text_of<'b>(path: &RepoPath, bytes: &'b [u8]) -> Result<&'b str, Error> {
    std::str::from_utf8(bytes).map_err(|_| {
        Error::new(Code::Unreadable, format!("`{path}` is not UTF-8"))
            .detail("path", path.as_str())
            .hint("micro-edits change text; `nrv.apply` takes diffs of other files")
    })
}

#[cfg(test)]
mod tests;
