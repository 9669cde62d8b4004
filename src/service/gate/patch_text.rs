//! Patches between `*** Begin Patch` and `*** End Patch`, which some programs pass to a tool: the files that they edit, and the
//! edits.
//!
//! Reads only the parts that gates need; the patch may fail to apply.

use std::borrow::Cow;

use super::parts::Edit;

const BEGIN: &str = "*** Begin Patch";

/// The lines that name a file.
const FILES: &[&str] = &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// True for such a patch.
pub(super) fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with(BEGIN)
}

/// True for a text with such a patch on lines of its own, such as a command that passes it to a program.
pub(super) fn holds_patch(text: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), BEGIN).any(|at| at == 0 || text.as_bytes()[at - 1] == b'\n')
}

/// The edits of a patch, one for each file that it names.
pub(super) fn edits(text: &str) -> Vec<Edit<'_>> {
    let mut edits: Vec<Edit<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(path) = FILES.iter().find_map(|start| line.strip_prefix(start)) {
            let path = Cow::Borrowed(path.trim());
            edits.push(Edit { path, before: Cow::default(), after: Cow::default(), diff_lines: 0 });
            continue;
        }
        let Some(edit) = edits.last_mut() else { continue };
        let (side, content) = match line.split_at_checked(1) {
            Some(("+", content)) => (&mut edit.after, content),
            Some(("-", content)) => (&mut edit.before, content),
            Some(_) | None => continue,
        };
        side.to_mut().extend_from_slice(content.as_bytes());
        side.to_mut().push(b'\n');
        edit.diff_lines += 1;
    }
    edits
}

/// The same patch with other paths.
pub(super) fn relocated(text: &str, place: &dyn Fn(&str) -> String) -> String {
    let line = |line: &str| match FILES.iter().find_map(|start| Some((*start, line.strip_prefix(start)?))) {
        Some((start, path)) => format!("{start}{}\n", place(path.trim())),
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files_and_lines() {
        let text = "*** Begin Patch\n*** Update File: a b\n*** Move to: c\n@@ x\n-old\n+new\n+more\n same\n*** Delete File: d\n*** End Patch\n";
        let found: Vec<_> = edits(text).into_iter().map(|edit| (edit.path.into_owned(), edit.diff_lines)).collect();
        assert_eq!(found, [("a b".to_owned(), 0), ("c".to_owned(), 3), ("d".to_owned(), 0)]);
        assert_eq!(&*edits(text)[1].after, b"new\nmore\n");
        assert!(edits("+++ b/x\n+y").is_empty());
        assert!(holds_patch(text) && holds_patch(&format!("apply_patch <<'EOF'\n{text}EOF\n")));
        assert!(!holds_patch("echo '*** Begin Patch'"));
    }
}
