//! Splits a patch of git or nrv into its parts, for display. Nothing is checked: oddities stay.

use super::{Strip, name};

/// One file's part of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its lines, from `diff --git` on.
    pub bytes: &'a [u8],
}

impl Part<'_> {
    /// The file's path, if the first line names it.
    pub fn path(&self) -> Option<String> {
        let line = self.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let (_, name) = name::git_line(line, Strip::Exactly(1));
        String::from_utf8(name?).ok()
    }
}

/// The parts of a patch, in their order. No line of a hunk begins as a part does.
pub fn parts(patch: &[u8]) -> Vec<Part<'_>> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts.iter().zip(ends).map(|(start, end)| Part { bytes: &patch[*start..end] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_its_parts_and_each_names_its_file() {
        let patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-diff --git\n+x\ndiff --git \"a/\\303\\274\\n\" \"b/\\303\\274\\n\"\nnew file mode 100644\n";
        let parts = parts(patch);
        let paths: Vec<_> = parts.iter().map(Part::path).collect();
        assert_eq!(paths, [Some("a".to_owned()), Some("ü\n".to_owned())]);
        assert_eq!(parts.iter().map(|part| part.bytes.len()).sum::<usize>(), patch.len());
        assert_eq!(super::parts(b"no patch\n"), []);
    }
}
