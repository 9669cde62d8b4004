//! Chooses the one place that a request means, or says why there is none.

use std::ops::Range;

use serde_json::{Value, json};

use super::{
    document::{Document, Place},
    place::{Wanted, selected, words_in},
};
use base::{
    error::{Code, Error},
    micro::{Edit, Handle, Kind, Tool},
};
use format::site::{Site, Spelling};

/// The lines above and below the target in which near misses are looked for.
const NEAR: u64 = 5;

/// The most handles that an error holds.
const MOST: usize = 20;

/// The place that a request means.
pub(super) fn locate(document: &Document<'_>, edit: &Edit, wanted: &Wanted<'_>) -> Result<Place, Error> {
    let places = wanted.places(document);
    if let Some(selector) = &wanted.selector {
        let found = selected(document, places, selector);
        if found.is_empty() {
            return Err(nothing_selected(document, edit, wanted));
        }
        return choose(document, edit, found);
    }
    let Some(line) = edit.line else {
        if places.is_empty() {
            return Err(absent(edit, "the file").detail("near", handles(document, &others(document, wanted))));
        }
        return choose(document, edit, places);
    };
    let line = if is_fresh(document, edit, line) { line } else { moved(document, edit, line, &places)? };
    let is_column = |place: &Place| {
        let columns = [place.range.start, place.begin(&document.sites), document.sites.sites[place.site].range.start];
        edit.column.is_none_or(|column| columns.into_iter().any(|at| document.column(at) == column))
    };
    let on_line = |place: &&Place| {
        document.line(place.begin(&document.sites)) == line && document.line(place.range.start) == line
    };
    let found: Vec<Place> = places.iter().filter(on_line).filter(|place| is_column(place)).cloned().collect();
    // A target that stands where the request says has not moved.
    if found.is_empty()
        && let Some(error) = out_of_reach(document, edit, wanted, line)
    {
        return Err(error);
    }
    match (found.as_slice(), places.as_slice()) {
        ([], [only]) if edit.relocate => Ok(only.clone()),
        ([], _) => Err(missed(document, edit, wanted, (line, &places))),
        _ => choose(document, edit, found),
    }
}

/// The error for a text that stands on the line where no edit can change it; none if it does not stand there.
fn out_of_reach(document: &Document<'_>, edit: &Edit, wanted: &Wanted<'_>, line: u64) -> Option<Error> {
    let (old, text) = (wanted.old?, document.line_text(line)?);
    let start = text.as_ptr() as usize - document.text.as_ptr() as usize;
    let is_within = |site: &Site, range: &Range<usize>| site.range.start <= range.start && range.end <= site.range.end;
    // What is spelt out is no target of this request, and neither is the name of a tag or attribute.
    let is_other = |range: &Range<usize>| {
        let (before, after) = (&document.text[..range.start], &document.text[range.end..]);
        let is_literal =
            |site: &Site| !matches!(site.spelling, Spelling::Computed | Spelling::Tag) && is_within(site, range);
        before.ends_with('<')
            || before.ends_with("</")
            || after.starts_with('=')
            || document.sites.sites.iter().any(is_literal)
    };
    let found = words_in(text, old).into_iter().map(|range| start + range.start..start + range.end);
    let found: Vec<Range<usize>> = found.filter(|range| !is_other(range)).collect();
    let first = found.first()?;
    let is_computed = |site: &Site| site.spelling == Spelling::Computed && is_within(site, first);
    let why = match wanted.sites(document).any(|(_, site)| is_computed(site)) {
        true => "a program computes the value there",
        false => "not as a target of edits: a program computes it, or it is a comment or a name",
    };
    let message = format!("`{}` stands on line {line}, but {why}", old.escape_debug());
    Some(
        Error::new(Code::StalePreimage, message)
            .detail("path", document.path)
            .detail("line", line)
            .detail("near", handles(document, &near(document, &wanted.places(document), line)))
            .hint(format!("change it by `nrv.apply`; `{}` changes only what is spelt out", edit.tool.as_str())),
    )
}

/// True if a handle is as it was, or if the request has none. A line that did not change is fresh wherever else its file did, if it
/// can't have been moved.
fn is_fresh(document: &Document<'_>, edit: &Edit, line: u64) -> bool {
    let Some(sha256) = edit.line_sha256 else {
        return edit.file_sha256.is_none_or(|sha256| sha256 == document.sha256());
    };
    if edit.file_sha256 == Some(document.sha256()) {
        return true;
    }
    let same = document.lines_of(sha256);
    same.contains(&line) && (same.len() == 1 || edit.lines == Some(document.lines()))
}

/// The line to which the target of a handle has moved, if that was asked for and is certain.
fn moved(document: &Document<'_>, edit: &Edit, line: u64, places: &[Place]) -> Result<u64, Error> {
    let now = edit.line_sha256.map(|sha256| document.lines_of(sha256)).unwrap_or_default();
    if let ([only], true) = (now.as_slice(), edit.relocate) {
        return Ok(*only);
    }
    let error = Error::new(
        Code::StalePreimage,
        format!("line {line} of `{}` is not what it was when the target was found", document.path),
    )
    .detail("path", document.path)
    .detail("line", line)
    .detail("near", handles(document, &near(document, places, line)));
    Err(match now.as_slice() {
        [] => error.hint("find the target again"),
        [only] => error.hint(format!("it stands on line {only} now; take a fresh handle, or set `relocate`")),
        many => {
            error.detail("lines", json!(many)).hint("the same line stands at several places; find the target again")
        }
    })
}

/// One of several places, by its number.
fn choose(document: &Document<'_>, edit: &Edit, found: Vec<Place>) -> Result<Place, Error> {
    let count = found.len();
    let listed = || handles(document, &found);
    match edit.nth {
        None if count == 1 => {}
        None => {
            return Err(Error::new(
                Code::InvalidInput,
                format!("{count} places of `{}` match, and one is to be changed", document.path),
            )
            .detail("path", document.path)
            .detail("matches", listed())
            .hint("choose one by `nth`, from 1 on in the order of the file"));
        }
        Some(nth) if nth as usize > count => {
            let (places, match_) = if count == 1 { ("place", "matches") } else { ("places", "match") };
            return Err(Error::new(Code::InvalidInput, format!("`nth` is {nth}, and {count} {places} {match_}"))
                .detail("path", document.path)
                .detail("matches", listed()));
        }
        Some(_) => {}
    }
    let at = edit.nth.map_or(0, |nth| nth as usize - 1);
    found.into_iter().nth(at).ok_or_else(|| Error::new(Code::Internal, "a place that was counted is not there"))
}

/// The error for a line without the target.
fn missed(document: &Document<'_>, edit: &Edit, wanted: &Wanted<'_>, (line, places): (u64, &[Place])) -> Error {
    let lines = document.lines();
    if line > lines {
        let (are, unit) = if lines == 1 { ("is", "line") } else { ("are", "lines") };
        return Error::new(
            Code::StalePreimage,
            format!("`{}` has no line {line}; there {are} {lines} {unit}", document.path),
        )
        .detail("path", document.path)
        .detail("line", line)
        .detail("near", handles(document, places));
    }
    let close = near(document, places, line);
    let on_line = |site: &&Site| document.line(site.range.start) <= line && line <= document.line(site.range.end);
    let computed =
        wanted.sites(document).map(|(_, site)| site).filter(on_line).any(|site| site.spelling == Spelling::Computed);
    let error = absent(edit, &format!("line {line}"));
    if computed && close.is_empty() {
        return error
            .detail("path", document.path)
            .detail("line", line)
            .hint("a program computes the value there; change the program by `nrv.apply`");
    }
    let shown = if close.is_empty() { near(document, &others(document, wanted), line) } else { close.clone() };
    let error = error.detail("path", document.path).detail("line", line).detail("near", handles(document, &shown));
    match (close.first(), shown.first()) {
        (Some(first), _) => {
            let at = document.line(first.range.start);
            error.hint(format!(
                "line {at} has it; give that line, or set `relocate` to have the only one in the file changed"
            ))
        }
        (None, Some(_)) => error.hint("`details.near` holds what stands there"),
        (None, None) => error.hint("find the target again, by `nrv edit find` or `nrv.edit.find`"),
    }
}

fn nothing_selected(document: &Document<'_>, edit: &Edit, wanted: &Wanted<'_>) -> Error {
    let selector = edit.selector.as_deref().unwrap_or_default();
    if let Some(part) = wanted.selector.as_ref().and_then(|selector| selector.unsupported())
        && wanted.kind != Kind::Style
    {
        return Error::new(Code::InvalidInput, format!("`{part}` has a part that micro-edits don't know"))
            .detail("path", document.path)
            .hint("use names, `#id`, `.class`, `[attribute=value]`, `:nth-child(2)` and the combinators ` `, `>`, `+`, `~`");
    }
    let elements =
        wanted.selector.as_ref().map(|selector| selector.elements(&document.sites.elements)).unwrap_or_default();
    let found = wanted.selector.as_ref().map(|selector| selected(document, others(document, wanted), selector));
    let place = format!("`{selector}`");
    let error = match elements.is_empty() && wanted.kind != Kind::Style {
        true => Error::new(Code::StalePreimage, format!("nothing in `{}` matches {place}", document.path)),
        false => absent(edit, &place),
    };
    error.detail("path", document.path).detail("near", handles(document, &found.unwrap_or_default()))
}

/// The error for a text that is not where it should be.
fn absent(edit: &Edit, place: &str) -> Error {
    let old = edit.old.as_deref().unwrap_or_default().escape_debug().to_string();
    let name = edit.name.as_deref().unwrap_or_default().escape_debug().to_string();
    let what = match edit.tool {
        Tool::AddAriaAttribute => match edit.element.as_deref() {
            Some(element) => format!("no element `{}` begins", element.escape_debug()),
            None => "no element begins".to_owned(),
        },
        Tool::UpdateClassName => format!("no class `{old}` is"),
        Tool::UpdateImport => format!("no import names `{old}`"),
        Tool::UpdatePropValue => format!("no `{name}` with the value `{old}` is"),
        Tool::UpdateStyleValue => format!("no declaration `{name}: {old}` is"),
        Tool::UpdateTextContent => format!("no text `{old}` is"),
    };
    let preposition = if place.starts_with("line") { "on" } else { "in" };
    Error::new(Code::StalePreimage, format!("{what} {preposition} {place}"))
}

/// The places of the same kind and name, whatever their text is.
fn others(document: &Document<'_>, wanted: &Wanted<'_>) -> Vec<Place> {
    let all = Wanted { kind: wanted.kind, name: wanted.name, old: None, selector: None };
    all.places(document)
}

/// The places within a few lines of one.
fn near(document: &Document<'_>, places: &[Place], line: u64) -> Vec<Place> {
    places.iter().filter(|place| document.line(place.range.start).abs_diff(line) <= NEAR).cloned().collect()
}

/// Fresh handles.
fn handles(document: &Document<'_>, places: &[Place]) -> Value {
    let handles: Vec<Handle> = places.iter().take(MOST).map(|place| document.handle(place)).collect();
    json!(handles)
}
