//! New values as YAML blocks.

use serde_json::Value;

use super::super::{
    draft::{Body, Entry},
    output::Output,
    pen::{Pen, Step},
    tree::{Form, Node, Shape},
};

/// A value without an indentation on its first line.
pub(super) enum Text {
    /// It stands behind a colon or a dash.
    Inline(String),
    /// It is a block: behind a colon it begins on the next line.
    Block(String),
}

/// One value to be written: a cell, or a value that has none yet.
pub(super) enum Source<'v> {
    Cell(usize),
    /// One that takes its comments along.
    Moved(usize),
    Fresh(&'v Value),
}

/// The text of a cell in the place of a node.
pub(super) fn cell_like(pen: &Pen<'_>, cell: usize, indent: &str, place: usize) -> Step<Text> {
    source(pen, &Source::Cell(cell), indent, Some(place))
}

/// A new member, without the indentation of its first line. The comments of one that moved stand on both sides of it.
pub(super) fn member(pen: &Pen<'_>, entry: &Entry, indent: &str) -> Step<String> {
    let text = named(pen, entry.name.as_deref().unwrap_or(""), &Source::Moved(entry.cell), indent)?;
    Ok(commented(pen, entry, indent, text))
}

/// A new item, without the indentation of its first line. The comments of one that moved stand on both sides of it.
pub(super) fn item(pen: &Pen<'_>, entry: &Entry, indent: &str) -> Step<String> {
    let text = dashed(pen, &Source::Moved(entry.cell), indent)?;
    Ok(commented(pen, entry, indent, text))
}

fn commented(pen: &Pen<'_>, entry: &Entry, indent: &str, text: String) -> String {
    let mut whole = String::new();
    for comment in pen.comments_above(entry.cell) {
        whole.extend([comment, pen.style.newline, indent]);
    }
    whole + &text + &pen.comment_behind(entry.cell).unwrap_or_default()
}

/// The indentation of a block beneath a key.
pub(super) fn deeper(pen: &Pen<'_>, indent: &str, is_array: bool) -> String {
    if is_array && pen.style.has_flush_items { indent.to_owned() } else { format!("{indent}{}", pen.style.unit) }
}

fn named(pen: &Pen<'_>, name: &str, value: &Source<'_>, indent: &str) -> Step<String> {
    let key = pen.key(name, None);
    let inner = deeper(pen, indent, is_array(pen, value));
    Ok(match source(pen, value, &inner, None)? {
        Text::Inline(text) => format!("{key}: {text}"),
        Text::Block(text) => {
            let beside = head(pen, value).filter(|(_, is_beside)| *is_beside);
            let beside: Vec<String> = beside.map(|(comment, _)| format!(" {comment}")).collect();
            format!("{key}:{}{}{inner}{text}", beside.concat(), pen.style.newline)
        }
    })
}

fn dashed(pen: &Pen<'_>, value: &Source<'_>, indent: &str) -> Step<String> {
    let (Text::Inline(text) | Text::Block(text)) = source(pen, value, &format!("{indent}  "), None)?;
    let beside = head(pen, value).filter(|(_, is_beside)| *is_beside);
    let beside: Vec<String> = beside.map(|(comment, _)| format!("{comment}{}{indent}  ", pen.style.newline)).collect();
    Ok(format!("- {}{text}", beside.concat()))
}

/// The comments between the key or dash of a block that moves and its first child, with true for those on the line of the key.
fn head<'p>(pen: &'p Pen<'_>, value: &Source<'_>) -> impl Iterator<Item = (&'p str, bool)> {
    let node = match value {
        Source::Moved(cell) => pen.draft.cells[*cell].source.map(|node| pen.draft.tree.node(node)),
        Source::Cell(_) | Source::Fresh(_) => None,
    };
    let comments = pen.draft.tree.comments.iter();
    node.filter(|node| node.form == Form::Block).into_iter().flat_map(move |node| {
        let between = comments.clone().filter(|comment| comment.start > node.begin && comment.end <= node.span.start);
        between.map(|comment| {
            let is_beside = pen.style.line(comment.start) == pen.style.line(node.begin);
            (pen.text[comment.clone()].trim_end(), is_beside)
        })
    })
}

/// True for values that become block sequences.
fn is_array(pen: &Pen<'_>, value: &Source<'_>) -> bool {
    match value {
        Source::Fresh(value) => value.is_array(),
        Source::Cell(cell) | Source::Moved(cell) => {
            let cell = &pen.draft.cells[*cell];
            match &cell.body {
                Body::Fresh(value) => value.is_array(),
                Body::Array(_) | Body::Wrapped(_) => true,
                Body::Kept => cell.source.is_some_and(|node| !pen.draft.tree.node(node).dashes.is_empty()),
                Body::Object(_) => false,
            }
        }
    }
}

/// True for cells that become block sequences.
pub(super) fn is_array_cell(pen: &Pen<'_>, cell: usize) -> bool {
    is_array(pen, &Source::Cell(cell))
}

fn source(pen: &Pen<'_>, value: &Source<'_>, indent: &str, place: Option<usize>) -> Step<Text> {
    let (cell, takes_comments) = match value {
        Source::Fresh(value) => return fresh(pen, value, indent, None),
        Source::Cell(cell) => (*cell, false),
        Source::Moved(cell) => (*cell, true),
    };
    let end = |node: usize| if takes_comments { pen.below(node) } else { pen.draft.tree.node(node).span.end };
    let lead = head(pen, value).filter(|(_, is_beside)| !is_beside);
    let lead: String = lead.map(|(comment, _)| format!("{comment}{}{indent}", pen.style.newline)).collect();
    let led = |text: Text| match text {
        Text::Block(text) => Text::Block(format!("{lead}{text}")),
        Text::Inline(_) => text,
    };
    let at = &pen.draft.cells[cell];
    match (&at.body, at.source) {
        (Body::Fresh(value), _) => fresh(pen, value, indent, place),
        (Body::Kept, Some(id)) => {
            let node = pen.draft.tree.node(id);
            let end = if node.form == Form::Block { end(id) } else { node.span.end };
            moved(pen, node, pen.text[node.span.start..end].to_owned(), indent).map(led)
        }
        (Body::Array(_) | Body::Object(_), Some(id)) => {
            let mut out = Output::new(pen.text);
            let node = pen.draft.tree.node(id);
            if node.form == Form::Flow {
                pen.value(&mut out, cell, at.source.unwrap_or_default())?;
                return Ok(Text::Inline(out.into_text()));
            }
            if at.body.entries().is_empty() {
                return Ok(Text::Inline(empty(matches!(at.body, Body::Array(_))).to_owned()));
            }
            let at = (pen.write_block)(pen, &mut out, at, node)?;
            out.keep(at..end(id).max(at));
            moved(pen, node, out.into_text(), indent).map(led)
        }
        (Body::Wrapped(entry), _) if pen.style.has_flat_arrays && has_flow_text(pen, entry.cell) => {
            Ok(Text::Inline(format!("[{}]", pen.cell(entry.cell, None)?)))
        }
        (Body::Wrapped(entry), _) => Ok(Text::Block(dashed(pen, &Source::Cell(entry.cell), indent)?)),
        (Body::Array(entries), None) if entries.is_empty() => Ok(Text::Inline("[]".to_owned())),
        (Body::Array(entries), None) => {
            let items = entries.iter().map(|entry| dashed(pen, &Source::Cell(entry.cell), indent));
            block(pen, items, indent)
        }
        (body @ Body::Object(_), None) => {
            let entries = body.entries();
            if entries.is_empty() {
                return Ok(Text::Inline("{}".to_owned()));
            }
            block(pen, entries.into_iter().map(|entry| member(pen, entry, indent)), indent)
        }
        (Body::Kept, None) => Err("a value has no text".to_owned()),
    }
}

/// True for kept scalars that read alike within brackets.
fn has_flow_text(pen: &Pen<'_>, cell: usize) -> bool {
    let cell = &pen.draft.cells[cell];
    let node = cell.source.filter(|_| matches!(cell.body, Body::Kept)).map(|node| pen.draft.tree.node(node));
    node.is_some_and(|node| {
        let text = &pen.text[node.span.clone()];
        let is_quoted = text.starts_with(['"', '\'']);
        node.form == Form::Scalar
            && !text.contains('\n')
            && (is_quoted || !text.contains([',', '[', ']', '{', '}', ':']))
    })
}

pub(super) fn empty(is_array: bool) -> &'static str {
    if is_array { "[]" } else { "{}" }
}

fn block(pen: &Pen<'_>, lines: impl Iterator<Item = Step<String>>, indent: &str) -> Step<Text> {
    let lines: Vec<String> = lines.collect::<Step<_>>()?;
    Ok(Text::Block(lines.join(&format!("{}{indent}", pen.style.newline))))
}

fn fresh(pen: &Pen<'_>, value: &Value, indent: &str, place: Option<usize>) -> Step<Text> {
    let like = place.map(|place| &pen.text[pen.draft.tree.node(place).span.clone()]);
    let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
    match value {
        Value::Array(items) if items.is_empty() => Ok(Text::Inline("[]".to_owned())),
        Value::Object(members) if members.is_empty() => Ok(Text::Inline("{}".to_owned())),
        Value::Array(items) if pen.style.has_flat_arrays && items.iter().all(is_scalar) => {
            pen.flow(value).map(Text::Inline)
        }
        Value::Object(members) if pen.style.has_flat_objects && members.values().all(is_scalar) => {
            pen.flow(value).map(Text::Inline)
        }
        Value::Array(items) => block(pen, items.iter().map(|item| dashed(pen, &Source::Fresh(item), indent)), indent),
        Value::Object(members) => {
            block(pen, members.iter().map(|(name, value)| named(pen, name, &Source::Fresh(value), indent)), indent)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Ok(Text::Inline(super::scalar::text(value, like, pen.style.quote)))
        }
    }
}

/// The text of a node that moved, with another indentation.
fn moved(pen: &Pen<'_>, node: &Node, text: String, indent: &str) -> Step<Text> {
    match node.form {
        Form::Absent => Ok(Text::Inline("null".to_owned())),
        Form::Block => Ok(Text::Block(shifted(&text, &pen.style.column(pen.text, node.span.start), indent)?)),
        Form::Scalar if text.contains('\n') => anew(pen, node),
        Form::Flow if text.contains('\n') => {
            Ok(Text::Inline(shifted(&text, pen.style.indent(pen.text, node.span.start), indent)?))
        }
        Form::BlockScalar => {
            if text.split_whitespace().next().is_some_and(|head| head.contains(|next: char| next.is_ascii_digit())) {
                return anew(pen, node);
            }
            let content = text.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or("");
            let from = &content[..content.len() - content.trim_start_matches(' ').len()];
            Ok(Text::Inline(shifted(&text, from, indent)?))
        }
        Form::Scalar | Form::Flow | Form::Pair | Form::Alias => Ok(Text::Inline(text)),
    }
}

/// A string on several lines on one.
fn anew(pen: &Pen<'_>, node: &Node) -> Step<Text> {
    match &node.shape {
        Shape::Scalar(value) => Ok(Text::Inline(super::scalar::text(value, None, pen.style.quote))),
        Shape::Array(_) | Shape::Object(_) => Err("a value on several lines can't be moved".to_owned()),
    }
}

/// Lines after the first with another indentation.
fn shifted(text: &str, from: &str, to: &str) -> Step<String> {
    let mut lines = text.split('\n');
    let mut shifted = lines.next().unwrap_or("").to_owned();
    for line in lines {
        shifted.push('\n');
        match line.strip_prefix(from) {
            Some(rest) if rest.trim_end_matches('\r').is_empty() => shifted.push_str(rest),
            Some(rest) => shifted.extend([to, rest]),
            None if line.trim().is_empty() => shifted.push_str(line),
            None => return Err("a line stands left of its block, which can't be moved".to_owned()),
        }
    }
    Ok(shifted)
}
