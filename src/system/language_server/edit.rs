//! The edits that a server proposes: of files of the workspace alone, in their versions, without overlaps.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    str::FromStr,
};

use lsp_types::{DocumentChanges, OneOf, Position, TextEdit, Uri, WorkspaceEdit};
use url::Url;

use base::{path::RepoPath, text::escape};

/// The edits of files, each list in the order of places.
pub type Edits = BTreeMap<RepoPath, Vec<Edit>>;

/// A replaced piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
}

/// The unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16.
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// The encoding of a name of the protocol; UTF-16 if there is none. The error is the unknown name.
    pub(super) fn parse(name: Option<&str>) -> Result<Self, String> {
        match name {
            Some("utf-8") => Ok(Encoding::Utf8),
            None | Some("utf-16") => Ok(Encoding::Utf16),
            Some("utf-32") => Ok(Encoding::Utf32),
            Some(other) => Err(other.to_owned()),
        }
    }

    fn units(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }

    /// The position of a byte of a text.
    pub(super) fn position(self, text: &str, at: usize) -> Position {
        let (line, begin) = all_lines(text).take_while(|(_, line)| line.start <= at).last().unwrap_or((0, 0..0));
        let column: usize = text[begin.start..at].chars().map(|c| self.units(c)).sum();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { line: number(line), character: number(column) }
    }

    /// The byte of a position in a text with these lines; none if the text has no such place.
    pub(super) fn byte(self, text: &str, lines: &[Range<usize>], position: Position) -> Option<usize> {
        let line = lines.get(usize::try_from(position.line).ok()?)?;
        let mut left = usize::try_from(position.character).ok()?;
        for (at, c) in text[line.clone()].char_indices() {
            if left == 0 {
                return Some(line.start + at);
            }
            left = left.checked_sub(self.units(c))?;
        }
        (left == 0).then_some(line.end)
    }
}

/// The lines of a text with their numbers, without line ends. A line ends with `\n`, `\r\n` or `\r`.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    all_lines(text).map(|(_, line)| line).collect()
}

fn all_lines(text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut begin = Some(0);
    let all = std::iter::from_fn(move || {
        let start = begin?;
        let rest = &text.as_bytes()[start..];
        let end = memchr::memchr2(b'\n', b'\r', rest);
        begin = end.map(|end| start + end + if rest[end..].starts_with(b"\r\n") { 2 } else { 1 });
        Some(start..end.map_or(text.len(), |end| start + end))
    });
    all.enumerate()
}

/// The most edits of a proposal.
const EDITS: usize = 100_000;

/// The address of a file or folder.
pub(super) fn uri(path: &Path) -> String {
    let uri = Url::from_file_path(path).map_or_else(|()| String::new(), String::from);
    // Characters that the types of the protocol take encoded only.
    let encoded = |c: char| match c {
        '[' | ']' | '^' | '`' | '|' => format!("%{:02X}", u32::from(c)),
        _ => c.to_string(),
    };
    uri.trim_end_matches('/').chars().map(encoded).collect()
}

/// The address of a file, as a type of the protocol.
pub(super) fn document(root: &Path, path: &RepoPath) -> Result<Uri, String> {
    Uri::from_str(&uri(&root.join(path.as_str()))).map_err(|error| format!("can't be told of `{path}` ({error})"))
}

/// The file of the workspace at an address; none if it lies outside.
pub(super) fn file(root: &Path, address: &Uri) -> Option<RepoPath> {
    let path: PathBuf = Url::parse(address.as_str()).ok()?.to_file_path().ok()?;
    let path = path.strip_prefix(root).ok()?.to_str()?.to_owned();
    RepoPath::parse(&path).ok()
}

/// A text as the server has it, with the version in which it was opened.
pub(super) type Known = (String, Option<i32>);

/// Takes the edits of a proposal. `text` gives the text of a file as the server has it, with the version that it was opened in.
/// The error is a phrase that goes on after "it".
pub(super) fn edits(
    proposal: WorkspaceEdit,
    root: &Path,
    encoding: Encoding,
    text: &dyn Fn(&RepoPath) -> Option<Known>,
) -> Result<Edits, String> {
    let (mut all, mut count) = (Edits::new(), 0);
    for (address, version, list) in listed(proposal)? {
        let path = file(root, &address)
            .ok_or_else(|| format!("wants to edit `{}`, which is outside of the workspace", shown(&address)))?;
        if list.is_empty() {
            continue;
        }
        count += list.len();
        if count > EDITS {
            return Err(format!("proposes more than {EDITS} edits"));
        }
        let (text, open) =
            text(&path).ok_or_else(|| format!("wants to edit `{path}`, which is no text of the workspace"))?;
        if let Some(version) = version
            && open.is_some_and(|open| open != version)
        {
            return Err(format!("proposes edits of `{path}` in a version that is not the one it was given"));
        }
        let lines = lines(&text);
        let place = |position| {
            encoding.byte(&text, &lines, position).ok_or_else(|| {
                format!(
                    "wants to edit `{path}` at a place that it does not have, in line {}",
                    u64::from(position.line) + 1
                )
            })
        };
        let file = all.entry(path.clone()).or_default();
        for edit in list {
            let range = place(edit.range.start)?..place(edit.range.end)?;
            if range.start > range.end {
                return Err(format!("proposes an edit of `{path}` whose end comes before its beginning"));
            }
            file.push(Edit { range, text: edit.new_text });
        }
    }
    for (path, list) in &mut all {
        list.sort_by(|one, other| {
            let key = |edit: &Edit| (edit.range.start, edit.range.end);
            key(one).cmp(&key(other)).then_with(|| one.text.cmp(&other.text))
        });
        // The same edit twice, as some servers send it for a file in two projects, is one.
        list.dedup();
        if list.windows(2).any(|pair| pair[0].range.end > pair[1].range.start || pair[0].range == pair[1].range) {
            return Err(format!("proposes edits of `{path}` that overlap"));
        }
    }
    Ok(all)
}

/// The characters of an address that a message shows.
const SHOWN: usize = 200;

fn shown(address: &Uri) -> String {
    let shown: String = address.as_str().chars().take(SHOWN).collect();
    escape(&shown)
}

/// The edits of a document with its version.
type Listed = (Uri, Option<i32>, Vec<TextEdit>);

fn listed(proposal: WorkspaceEdit) -> Result<Vec<Listed>, String> {
    let plain = |edit: OneOf<TextEdit, lsp_types::AnnotatedTextEdit>| match edit {
        OneOf::Left(edit) => edit,
        OneOf::Right(annotated) => annotated.text_edit,
    };
    let document = |edit: lsp_types::TextDocumentEdit| {
        (edit.text_document.uri, edit.text_document.version, edit.edits.into_iter().map(plain).collect())
    };
    match proposal.document_changes {
        // The protocol says that they take the place of the other field.
        Some(DocumentChanges::Edits(edits)) => Ok(edits.into_iter().map(document).collect()),
        Some(DocumentChanges::Operations(operations)) => {
            let one = |operation| match operation {
                lsp_types::DocumentChangeOperation::Edit(edit) => Ok(document(edit)),
                lsp_types::DocumentChangeOperation::Op(_) => {
                    Err("wants to create, move or remove files, which a rename does not ask for".to_owned())
                }
            };
            operations.into_iter().map(one).collect()
        }
        None => {
            #[expect(clippy::mutable_key_type, reason = "the type of the protocol has an unused cache in its keys")]
            let changes = proposal.changes.unwrap_or_default();
            let mut list: Vec<Listed> = changes.into_iter().map(|(uri, edits)| (uri, None, edits)).collect();
            list.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
            Ok(list)
        }
    }
}
