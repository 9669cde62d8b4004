//! Files that a filter program of the user would change on their way into git: the program is not run.
//!
//! A file is unchanged if its times and size are those of the index. Otherwise it counts as changed, with the reason. The
//! exception is Git LFS, whose filter is pure data: the committed pointer has the hash and size of the file in its place.

use std::{fs, path::Path};

use gix::bstr::{BStr, ByteSlice};

use super::opened::Opened;
use base::hash::Sha256;

/// The first line of a pointer.
const VERSION: &str = "version https://git-lfs.github.com/spec/v1";

/// The largest size of a pointer, as in Git LFS.
const LONGEST_POINTER: u64 = 1024;

/// The name of the filter that attributes give a path.
pub(super) fn name(stack: &mut gix::worktree::Stack, opened: &Opened, path: &BStr) -> Option<String> {
    let mut found = stack.selected_attribute_matches(["filter"]);
    let platform = stack.at_path(path, None, &opened.repository.objects).ok()?;
    if !platform.matching_attributes(&mut found) {
        return None;
    }
    found.iter_selected().find_map(|found| match found.assignment.state {
        gix::attrs::StateRef::Value(value) => Some(value.as_bstr().to_str_lossy().into_owned()),
        gix::attrs::StateRef::Set | gix::attrs::StateRef::Unset | gix::attrs::StateRef::Unspecified => None,
    })
}

/// True if the blob is a Git LFS pointer to exactly the file's content.
pub(super) fn is_pointed_to(opened: &Opened, blob: gix::ObjectId, file: &Path) -> bool {
    let is_short = opened.repository.find_header(blob).is_ok_and(|header| header.size() <= LONGEST_POINTER);
    if !is_short {
        return false;
    }
    let Ok(blob) = opened.repository.find_blob(blob) else { return false };
    let Some(pointer) = Pointer::parse(&blob.data) else { return false };
    let is_that_long = fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() == pointer.size);
    is_that_long && hash(file).is_some_and(|found| found == pointer)
}

/// The content that a pointer names.
#[derive(Debug, PartialEq, Eq)]
struct Pointer {
    sha256: String,
    size: u64,
}

impl Pointer {
    /// Exactly three lines: a pointer with an extension was made by a further program.
    fn parse(blob: &[u8]) -> Option<Pointer> {
        let mut lines = std::str::from_utf8(blob).ok()?.strip_suffix('\n')?.split('\n');
        if lines.next()? != VERSION {
            return None;
        }
        let sha256 = lines.next()?.strip_prefix("oid sha256:")?;
        let size = lines.next()?.strip_prefix("size ")?;
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
        if lines.next().is_some() || !is_hash || !is_number {
            return None;
        }
        Some(Pointer { sha256: sha256.to_owned(), size: size.parse().ok()? })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file of the tree is compared with its commit, and nothing of it is kept"
)]
fn hash(file: &Path) -> Option<Pointer> {
    let (sha256, size) = Sha256::of_reader(fs::File::open(file).ok()?).ok()?;
    Some(Pointer { sha256: sha256.to_string(), size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_exactly_what_git_lfs_writes() {
        let hash = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!("{VERSION}\noid sha256:{hash}\nsize 12345\n");
        let pointer = Pointer { sha256: hash.to_owned(), size: 12345 };
        assert_eq!(Pointer::parse(text.as_bytes()), Some(pointer));
        let lines = |text: &str| Pointer::parse(text.as_bytes()).is_some();
        for broken in [
            text.trim_end().to_owned(),
            format!("{text}x\n"),
            text.replace("size 12345", "size -1"),
            text.replace("size 12345", "size "),
            text.replace("sha256:4", "sha256:g"),
            text.replace("sha256:4", "sha256:"),
            text.replace("oid", "ext-0-x sha256:0\noid"),
            text.replace("v1", "v2"),
        ] {
            assert!(!lines(&broken), "{broken:?}");
        }
    }
}
