//! Names of files for completion: those of one folder of the workspace that begin with the typed text.

use base::path::RepoPath;
use system::workspace::{Visit, Workspace};

/// The most names that are offered; a longer list helps no one.
const MOST: usize = 1000;

/// The start of a path's last name, and the candidates for it; folders end with a slash.
///
/// Names with a dot in front are offered only after a typed dot, and those of records and of git never.
pub(super) fn complete(workspace: &Workspace, typed: &str) -> (usize, Vec<String>) {
    let start = typed.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, beginning) = (typed[..start].trim_end_matches('/'), &typed[start..]);
    let survey = match folder {
        "" if start > 0 => return (start, Vec::new()),
        "" => workspace.survey(1, |_, _| Visit::Take),
        folder => match RepoPath::parse(folder) {
            Ok(folder) => workspace.survey_below(&[folder], 1, |_, _| Visit::Take),
            Err(_) => return (start, Vec::new()),
        },
    };
    let seen = survey.map(|survey| survey.seen).unwrap_or_default();
    let names = seen.iter().filter_map(|seen| {
        let name = seen.path.as_str().rsplit('/').next().unwrap_or_default();
        let is_hidden = name.starts_with('.') && !beginning.starts_with('.');
        let is_ours = matches!(name, ".git" | ".runs");
        let fits = name.starts_with(beginning) && !is_hidden && !is_ours && is_plain(name);
        fits.then(|| format!("{name}{}", if seen.metadata.is_folder() { "/" } else { "" }))
    });
    (start, names.take(MOST).collect())
}

/// True if a name can stand in a string as it is, and on a terminal.
fn is_plain(name: &str) -> bool {
    !name.contains(['"', '`', '\\']) && base::text::escape(name) == name && !name.contains('\t')
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_folder_is_listed_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["site/a", ".git", ".runs", ".hidden"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in ["site/a/x.html", "site/index.html", "site/q\"uote", "side.md", "site/\u{1b}"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.path().join("site/out")).unwrap();
        let workspace = Workspace::open(root.path()).unwrap();
        let check = |typed: &str, start: usize, expected: &[&str]| {
            assert_eq!(
                complete(&workspace, typed),
                (start, expected.iter().map(ToString::to_string).collect()),
                "{typed}"
            );
        };
        check("", 0, &["side.md", "site/"]);
        check("si", 0, &["side.md", "site/"]);
        check("site/", 5, &["a/", "index.html", "out"]);
        check("site/a/", 7, &["x.html"]);
        check("site/out/", 9, &[]);
        check(".", 0, &[".hidden/"]);
        for outside in ["/", "/etc/", "../", "none/", "site/index.html/", "**/"] {
            assert!(complete(&workspace, outside).1.is_empty(), "{outside}");
        }
    }
}
