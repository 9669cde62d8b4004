//! The words of a program's command line: a file of the workspace among them is named by its path beneath the root and in no other
//! way, since only such a file is copied, hashed and pinned.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use base::error::{Code, Error};
use service::exec::look_up;

/// An error if a command line reaches a file of the workspace in another way than by one of these files.
pub(super) fn check(
    root: &Path,
    (name, argv): (&str, &[String]),
    files: &BTreeMap<String, String>,
    path: &str,
) -> Result<(), Error> {
    for (number, word) in argv.iter().enumerate().filter(|(_, word)| !files.contains_key(*word)) {
        if reaches(root, word) {
            return Err(refused(name, &format!("`{}` leads to a file of the workspace", word.escape_debug())));
        }
        if number > 0 || word.starts_with('/') {
            continue;
        }
        if word.contains('/') {
            let message = format!("the program `{}` of `{name}` is no file of the workspace", word.escape_debug());
            return Err(Error::new(Code::NotFound, message).detail("adapter", name));
        }
        // A program that is not found is an error when it would start.
        let found = look_up(word, Some(&path.to_owned()));
        if found.is_ok_and(|place| is_beneath(root, &place)) {
            return Err(refused(name, &format!("`{word}` in `PATH` leads to a file of the workspace")));
        }
    }
    Ok(())
}

/// The folders of `PATH` that are absolute and not in the workspace.
pub(super) fn folders_outside(root: &Path, path: &str) -> String {
    let outside = |folder: &&str| folder.starts_with('/') && !is_beneath(root, Path::new(folder));
    path.split(':').filter(outside).collect::<Vec<_>>().join(":")
}

/// An error if a program may read a file of the workspace that is not pinned: no such folder is beneath the root or around it.
pub(super) fn check_readable(root: &Path, name: &str, read: &[PathBuf]) -> Result<(), Error> {
    let holds = |place: &&PathBuf| {
        let real = fs::canonicalize(place).unwrap_or_else(|_| (*place).clone());
        is_beneath(root, &real) || fs::canonicalize(root).is_ok_and(|root| root.starts_with(&real))
    };
    let Some(place) = read.iter().find(holds) else { return Ok(()) };
    let message =
        format!("`exec.read` lets the program of `{name}` read files of the workspace by `{}`", place.display());
    Err(Error::new(Code::PermissionDenied, message)
        .detail("adapter", name)
        .hint("name folders outside of the workspace alone, such as that of the interpreter"))
}

/// True if a word, or the end of it as in `--file=/place`, is a path into the workspace, or one that may lead there.
fn reaches(root: &Path, word: &str) -> bool {
    let climbs = word.split(['/', '=', ':', ',']).any(|part| part == "..");
    let names = word.contains('/') && root.to_str().is_some_and(|root| root != "/" && word.contains(root));
    climbs || names || word.find('/').is_some_and(|at| is_beneath(root, Path::new(&word[at..])))
}

/// True if a path, or the file that it leads to, is in the workspace.
fn is_beneath(root: &Path, place: &Path) -> bool {
    let real = |place: &Path| fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    let root: PathBuf = real(root);
    place.starts_with(&root) || real(place).starts_with(&root)
}

fn refused(name: &str, why: &str) -> Error {
    Error::new(Code::PermissionDenied, format!("the program of `{name}` can't be used: {why}"))
        .detail("adapter", name)
        .hint("name a file of the workspace by its path beneath the root, such as `dta/tool.py`, so that it can be approved")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make programs")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_of_the_workspace_is_reached_by_its_own_path_alone() {
        let place = tempfile::tempdir().unwrap();
        let (root, bin) = (place.path().join("site"), place.path().join("bin"));
        fs::create_dir_all(root.join("dta")).unwrap();
        fs::create_dir(&bin).unwrap();
        fs::write(root.join("dta/tool"), "").unwrap();
        fs::set_permissions(root.join("dta/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(root.join("dta/tool"), bin.join("linked")).unwrap();
        let (inside, linked) = (root.join("dta/tool").display().to_string(), bin.join("linked").display().to_string());
        let all = format!("{}:/usr/bin:{}:.:", root.join("dta").display(), bin.display());
        let path = folders_outside(&root, &all);
        assert_eq!(path, format!("/usr/bin:{}", bin.display()));
        let code = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let files = BTreeMap::from([("dta/known".to_owned(), String::new())]);
            check(&root, ("a", &words), &files, &path).err().map(|error| error.code())
        };
        for good in [&["sh", "dta/known", "-x"][..], &["dta/known"], &["/bin/sh", "-c", "a/b"], &["tool", "/etc/x"]] {
            assert_eq!(code(good), None, "{good:?}");
        }
        for bad in [inside.as_str(), linked.as_str(), "linked", "../site/dta/tool"] {
            assert_eq!(code(&[bad]), Some(Code::PermissionDenied), "{bad}");
        }
        for bad in
            [inside.clone(), linked.clone(), format!("--file={linked}"), format!("-I{inside}"), "../x".to_owned()]
        {
            assert_eq!(code(&["sh", &bad]), Some(Code::PermissionDenied), "{bad}");
        }
        assert_eq!(code(&["dta/other"]), Some(Code::NotFound));
    }
}
