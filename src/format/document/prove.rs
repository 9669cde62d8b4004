//! Proves an edited text: it is read again and compared with the source and with the expected value.

use std::{collections::BTreeMap, ops::Range};

use serde_json::Value;

use super::{
    draft::{Body, Draft, Entry},
    edit::{Edited, Region},
    source::Source,
    tree::{Form, Node, Shape},
};

type Step<T> = Result<T, String>;

/// Refuses a text whose value isn't the expected one, or that lost or changed an untouched scalar, name or comment.
pub(super) fn prove(source: &Source, draft: &Draft<'_>, edited: &Edited, expected: &Value) -> Step<()> {
    let result = Source::read(source.syntax, &edited.text)
        .map_err(|malformed| format!("the edited text would not be well-formed: {malformed}"))?;
    if result.value != *expected {
        return Err("the edited text would have another value".to_owned());
    }
    check_regions(&source.text, edited)?;
    Proof { source, draft, result: &result }.check(draft.root, result.tree.root)?;
    check_comments(source, draft, &result)
}

/// All bytes outside the regions are those of the source.
fn check_regions(source: &str, edited: &Edited) -> Step<()> {
    let (mut before, mut after) = (0, 0);
    let end = Region { before: source.len()..source.len(), after: edited.text.len()..edited.text.len() };
    for region in edited.regions.iter().chain([&end]) {
        let kept = source.get(before..region.before.start);
        if kept.is_none() || kept != edited.text.get(after..region.after.start) {
            return Err("bytes outside the edits would change".to_owned());
        }
        (before, after) = (region.before.end, region.after.end);
    }
    Ok(())
}

struct Proof<'p> {
    source: &'p Source,
    draft: &'p Draft<'p>,
    result: &'p Source,
}

impl Proof<'_> {
    /// Compares a cell with a node of the result.
    fn check(&self, cell: usize, node: usize) -> Step<()> {
        let result = self.result.tree.node(node);
        let cell = &self.draft.cells[cell];
        match (&cell.body, &result.shape) {
            (Body::Kept, _) => {
                let source = cell.source.ok_or("a value has no text")?;
                self.check_kept(source, node)
            }
            (Body::Fresh(_), _) => Ok(()),
            (Body::Array(entries), Shape::Array(items)) if entries.len() == items.len() => {
                entries.iter().zip(items).try_for_each(|(entry, item)| self.check(entry.cell, *item))
            }
            (Body::Wrapped(entry), Shape::Array(items)) if items.len() == 1 => self.check(entry.cell, items[0]),
            (body @ Body::Object(_), Shape::Object(_)) => {
                let source = cell.source.map(|node| self.source.tree.node(node));
                self.check_members(source, &body.entries(), result)
            }
            _ => Err("the edited text would have another shape".to_owned()),
        }
    }

    /// Members are found by name in TOML, whose sections may follow new members, and have their order elsewhere.
    fn check_members(&self, source: Option<&Node>, entries: &[&Entry], result: &Node) -> Step<()> {
        let Shape::Object(members) = &result.shape else {
            return Err("the edited text would have another shape".to_owned());
        };
        let by_name: BTreeMap<&str, usize> =
            members.iter().enumerate().map(|(index, member)| (member.name.as_str(), index)).collect();
        let mut previous = None;
        for entry in entries {
            let index = entry.name.as_deref().and_then(|name| by_name.get(name).copied());
            let index = index.ok_or("the edited text would lack a member")?;
            if self.source.layout.is_none() && previous.is_some_and(|previous| previous > index) {
                return Err("the edited text would have its members in another order".to_owned());
            }
            previous = Some(index);
            let old = source.and_then(|source| source.member(entry.place?)).filter(|_| !entry.is_renamed);
            if let Some(old) = old
                && self.source.text[old.key.clone()] != self.result.text[members[index].key.clone()]
            {
                return Err("an untouched name would be spelled otherwise".to_owned());
            }
            self.check(entry.cell, members[index].value)?;
        }
        Ok(())
    }

    /// Compares a value that no edit touched, to its last scalar.
    fn check_kept(&self, source: usize, result: usize) -> Step<()> {
        let (old, new) = (self.source.tree.node(source), self.result.tree.node(result));
        let (before, after) = (&self.source.text[old.span.clone()], &self.result.text[new.span.clone()]);
        if before == after && old.form == new.form {
            return Ok(());
        }
        match (&old.shape, &new.shape) {
            // A string on several lines may be written anew where its lines can't stand.
            (Shape::Scalar(old_value), Shape::Scalar(new_value))
                if old_value == new_value
                    && (matches!(old.form, Form::BlockScalar | Form::Absent)
                        || old_value.is_string() && before.contains('\n')) =>
            {
                Ok(())
            }
            (Shape::Array(before), Shape::Array(after)) if before.len() == after.len() => {
                before.iter().zip(after).try_for_each(|(before, after)| self.check_kept(*before, *after))
            }
            (Shape::Object(before), Shape::Object(after)) if before.len() == after.len() => {
                for (before, after) in before.iter().zip(after) {
                    if self.source.text[before.key.clone()] != self.result.text[after.key.clone()] {
                        return Err("an untouched name would be spelled otherwise".to_owned());
                    }
                    self.check_kept(before.value, after.value)?;
                }
                Ok(())
            }
            _ => Err("an untouched value would be spelled otherwise".to_owned()),
        }
    }
}

/// Every comment stays, but those in values that were replaced or removed, and behind them on their last line.
fn check_comments(source: &Source, draft: &Draft<'_>, result: &Source) -> Step<()> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for comment in &result.tree.comments {
        *left.entry(result.text[comment.clone()].trim_end()).or_default() += 1;
    }
    let gone = gone(source, draft);
    for comment in &source.tree.comments {
        let after = gone.partition_point(|range| range.start <= comment.start);
        let is_gone = after > 0 && comment.start < gone[after - 1].end;
        if is_gone {
            continue;
        }
        match left.get_mut(source.text[comment.clone()].trim_end()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => return Err("a comment outside the edits would be lost".to_owned()),
        }
    }
    Ok(())
}

/// The ranges of detached nodes with their comments, each up to its line end, merged.
fn gone(source: &Source, draft: &Draft<'_>) -> Vec<Range<usize>> {
    let line_ends: Vec<usize> = memchr::memchr_iter(b'\n', source.text.as_bytes()).collect();
    let mut ranges: Vec<Range<usize>> = source.extents(&draft.detached);
    for range in &mut ranges {
        let line = line_ends.partition_point(|end| *end < range.end);
        range.end = line_ends.get(line).copied().unwrap_or(source.text.len());
    }
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
