//! The places of a pack's files in the workspace.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::Files;
use base::{
    change::Content,
    error::{Code, Error},
    path::{RepoPath, protected},
    text::{escape, is_hidden},
};

/// The folder of adapters, in a pack and in the workspace.
const ADAPTERS: &str = "dta/";
/// The folder of scripts in a pack.
const SCRIPTS: &str = "scripts/";
/// The folder of scripts from elsewhere in the workspace.
const VENDOR: &str = "scripts/vendor/";

/// The header of an adapter; the file is not parsed here.
static IS_ADAPTER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*const\s+ADAPTER\s*=").expect("the pattern compiles"));

/// Arranges the files of a pack: `dta/` stays, `scripts/` and the licences go to `scripts/vendor/NAME/`.
///
/// A pack without these folders has its scripts and adapters, with their cases, at its top. `invalid_input` if it has neither, for
/// a name that can't be a folder's, and for Git LFS pointers; `protected_path` for names that are never written.
pub fn arrange(name: &str, files: Files) -> Result<Files, Error> {
    check_name(name)?;
    let has_folders = files.keys().any(|path| path.starts_with(ADAPTERS) || path.starts_with(SCRIPTS));
    let mut placed = Files::new();
    let mut licences = Files::new();
    for (path, content) in &files {
        let place = match has_folders {
            true => below_folder(name, path),
            false => at_top(name, path, &files),
        };
        match place {
            Some(place) => {
                check_file(path, content)?;
                placed.insert(RepoPath::parse(&place)?, content.clone());
            }
            None if is_licence(path) => {
                licences.insert(RepoPath::parse(&format!("{VENDOR}{name}/{path}"))?, content.clone());
            }
            None => {}
        }
    }
    if placed.is_empty() {
        return Err(Error::new(Code::InvalidInput, "the pack has no adapter and no script")
            .hint("a pack has a folder `dta` or `scripts`, or files `*.rhai` at its top"));
    }
    placed.extend(licences);
    for path in placed.keys() {
        if path.chars().any(is_hidden) {
            let message = format!("`{}` of the pack has a name with hidden characters", escape(path));
            return Err(Error::new(Code::InvalidInput, message).hint("such a name shows another one in reviews"));
        }
        if let Some(reason) = protected::write_refusal(path) {
            return Err(Error::new(Code::ProtectedPath, format!("`{path}` of the pack is protected: {reason}"))
                .detail("path", path.as_str()));
        }
    }
    Ok(placed)
}

/// True for names that belong to a pack, whatever they are: its folders, scripts, cases and licences.
pub fn is_part(path: &str) -> bool {
    let (first, is_below) = path.split_once('/').map_or((path, false), |(first, _)| (first, true));
    matches!(first, "dta" | "scripts")
        || first.ends_with(".test")
        || !is_below && (first.ends_with(".rhai") || is_licence(first))
}

/// True for the places of a pack's files in the workspace.
pub(super) fn is_place(name: &str, path: &str) -> bool {
    let below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| !rest.is_empty());
    RepoPath::parse(path).is_ok_and(|parsed| parsed.as_str() == path)
        && (below(ADAPTERS) || below(&format!("{VENDOR}{name}/")))
}

/// True for the files that state a licence.
pub(super) fn is_licence(path: &str) -> bool {
    let upper = path.to_ascii_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|begin| upper.starts_with(begin)) && !path.contains('/')
}

fn below_folder(name: &str, path: &RepoPath) -> Option<String> {
    if path.starts_with(ADAPTERS) {
        return Some(path.to_string());
    }
    let script = path.strip_prefix(SCRIPTS)?;
    // Packs of the pack are somebody else's.
    (!path.starts_with(VENDOR)).then(|| format!("{VENDOR}{name}/{script}"))
}

fn at_top(name: &str, path: &RepoPath, files: &Files) -> Option<String> {
    // The cases `NAME.test/…` of a script or adapter `NAME.rhai` go with it.
    let owner = match path.split_once('/') {
        None => path.ends_with(".rhai").then(|| path.clone())?,
        Some((folder, _)) => RepoPath::parse(&format!("{}.rhai", folder.strip_suffix(".test")?)).ok()?,
    };
    let is_adapter = IS_ADAPTER.is_match(&files.get(&owner)?.bytes);
    Some(if is_adapter { format!("{ADAPTERS}{path}") } else { format!("{VENDOR}{name}/{path}") })
}

pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) && !name.starts_with(['.', '-']) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidInput, format!("`{}` can't be the name of a pack", name.escape_debug()))
        .hint("give one by `--name`: letters, digits, `-`, `_` and `.`, at most 64"))
}

fn check_file(path: &RepoPath, content: &Content) -> Result<(), Error> {
    if content.bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Err(Error::new(Code::InvalidInput, format!("`{path}` of the pack is a Git LFS pointer"))
            .hint("a pack holds its files themselves"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(files: &[(&str, &str)]) -> Result<Vec<String>, Error> {
        let file = |(path, text): &(&str, &str)| {
            (RepoPath::parse(path).unwrap(), Content::new(text.as_bytes().to_vec(), 0o644))
        };
        arrange("p", files.iter().map(file).collect()).map(|files| files.keys().map(ToString::to_string).collect())
    }

    #[test]
    fn folders_have_their_places() {
        let files = [
            ("dta/a.rhai", ""),
            ("dta/tool.py", ""),
            ("scripts/m.rhai", ""),
            ("scripts/lib/x.rhai", ""),
            ("scripts/vendor/o/y.rhai", ""),
            ("LICENSE-MIT", ""),
            ("src/main.rs", ""),
        ];
        let expected = [
            "dta/a.rhai",
            "dta/tool.py",
            "scripts/vendor/p/LICENSE-MIT",
            "scripts/vendor/p/lib/x.rhai",
            "scripts/vendor/p/m.rhai",
        ];
        assert_eq!(arranged(&files).unwrap(), expected);
    }

    #[test]
    fn files_at_the_top_are_told_apart() {
        let files = [
            ("a.rhai", "// x\nconst ADAPTER = #{};"),
            ("a.test/c/input/x.md", ""),
            ("m.rhai", "const WORKFLOW = #{};"),
            ("m.test/c/args.json", ""),
            ("x.test/c/args.json", ""),
            ("README.md", ""),
        ];
        let expected =
            ["dta/a.rhai", "dta/a.test/c/input/x.md", "scripts/vendor/p/m.rhai", "scripts/vendor/p/m.test/c/args.json"];
        assert_eq!(arranged(&files).unwrap(), expected);
    }

    #[test]
    fn a_place_is_below_the_folders_of_the_pack() {
        for path in ["dta/a.rhai", "dta/x/y", "scripts/vendor/p/m.rhai"] {
            assert!(is_place("p", path), "{path}");
        }
        for path in [
            "dta/",
            "dta",
            "notes/b.txt",
            "scripts/m.rhai",
            "scripts/vendor/q/m.rhai",
            "dta/../x",
            "dta//x",
            "/dta/x",
            "",
        ] {
            assert!(!is_place("p", path), "{path}");
        }
        for path in ["dta", "dta/x", "scripts/a/b", "a.rhai", "a.test", "a.test/c/x", "LICENSE", "COPYING.txt"] {
            assert!(is_part(path), "{path}");
        }
        for path in ["README.md", "src/a.rhai", "x/LICENSE", "data"] {
            assert!(!is_part(path), "{path}");
        }
    }

    #[test]
    fn what_can_not_be_a_pack_is_refused() {
        assert!(arranged(&[("README.md", "")]).unwrap_err().message().contains("no adapter"));
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
        assert!(arranged(&[("m.rhai", pointer)]).unwrap_err().message().contains("LFS"));
        for name in ["dta/a\nb.rhai", "dta/\u{1b}[31m.rhai", "dta/a\u{202e}b.rhai", "dta/a\u{2066}b.rhai"] {
            assert!(arranged(&[(name, "")]).unwrap_err().message().contains("hidden characters"), "{name:?}");
        }
        assert_eq!(arranged(&[("dta/.git/config", "")]).unwrap_err().code(), Code::ProtectedPath);
        for name in ["", "../x", "a/b", "-x", ".hidden", "a b"] {
            assert_eq!(arrange(name, Files::new()).unwrap_err().code(), Code::InvalidInput, "{name:?}");
        }
    }
}
