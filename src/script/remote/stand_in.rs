//! A stand-in for a repository of this machine: a private folder that leads to its objects, and to its references for a push. It has a
//! configuration of its own and no hooks.
//!
//! Git would start the repository's hooks, and obey its configuration, by which other programs can be started.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use url::Url;

use super::is_commit;
use base::error::{Code, Error};
use service::exec::PrivateFolder;
use system::{
    git::{Elsewhere, special_below},
    plain_file,
};

/// The folder of a stand-in to which git pushes.
const TARGET: &str = "target.git";

/// The folder of a stand-in from which git fetches.
const SOURCE: &str = "source.git";

/// The folders and files of a repository to which it leads.
const FOLDERS: &[&str] = &["objects", "refs", "worktrees"];
const FILES: &[&str] = &["packed-refs", "shallow"];

/// The longest file of a repository that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Extensions of a repository's format that say nothing about its objects and references.
const HARMLESS: &[&str] =
    &["noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// Makes the address to which git pushes a branch, or from which it removes it. `settings` tells those of a file, a line each as
/// `key=value`.
///
/// `invalid_input` if a path on this machine has no repository that a stand-in can lead to. `stale_preimage` if the branch is checked
/// out there.
pub(super) fn push_address(
    place: &PrivateFolder,
    settings: &dyn Fn(&Path) -> Result<String, Error>,
    (url, branch): (&str, &str),
) -> Result<String, Error> {
    let Some(named) = path_of(url) else { return Ok(url.to_owned()) };
    let refused = |why: &str| {
        Error::new(Code::InvalidInput, format!("nothing is pushed to `{}`: {why}", named.display()))
            .hint("give the path of a whole repository, or an address by ssh or https")
    };
    let found = Elsewhere::at(&named).filter(|found| found.is_whole);
    let own = found.ok_or_else(|| refused("it is no repository, or a linked work tree of another one"))?.own;
    let text = |name: &str| short(&own.join(name)).map_err(|why| refused(&format!("its `{name}` {why}")));
    let head = text("HEAD")?.unwrap_or_default();
    let named_by_head = head.trim_end().strip_prefix("ref: ").filter(|name| name.starts_with("refs/"));
    if named_by_head.is_none() && !is_commit(head.trim_end()) || head.trim_end().contains('\n') {
        return Err(refused("its `HEAD` names no branch and no commit"));
    }
    let reference = format!("refs/heads/{branch}");
    if named_by_head == Some(&reference) {
        let message = format!("the branch `{branch}` is checked out in `{}`", named.display());
        return Err(Error::new(Code::StalePreimage, message).hint("check another branch out there, and start again"));
    }
    let is_link = |path: &&Path| own.join(path).symlink_metadata().is_ok_and(|found| found.is_symlink());
    if let Some(link) = Path::new(&reference).ancestors().find(is_link) {
        return Err(refused(&format!("its `{}` is a link", link.display())));
    }
    if let Some(special) = ["refs", "objects"].iter().find_map(|name| special_below(&own.join(name))) {
        return Err(refused(&format!("`{}` is no plain file", special.display())));
    }
    let hash = match text("config")? {
        Some(_) => object_format(&settings(&own.join("config"))?).map_err(|why| refused(&why))?,
        None => "sha1",
    };
    let root = place.folder(TARGET)?;
    place.write(&format!("{TARGET}/HEAD"), head.as_bytes())?;
    place.write(&format!("{TARGET}/config"), configuration(hash).as_bytes())?;
    for (names, is_kind) in [(FOLDERS, Path::is_dir as fn(&Path) -> bool), (FILES, Path::is_file)] {
        for name in names {
            let path = own.join(name);
            match path.symlink_metadata() {
                Ok(found) if found.is_symlink() || !is_kind(&path) => {
                    return Err(refused(&format!("its `{name}` is a link or a special file")));
                }
                Ok(_) => place.link(&format!("{TARGET}/{name}"), &path)?,
                // Git makes it at the end of the link.
                Err(_) if *name == "packed-refs" => place.link(&format!("{TARGET}/{name}"), &path)?,
                Err(_) => {}
            }
        }
    }
    address_of(&root)
}

/// Makes the address from which git fetches a commit: that of a stand-in with its objects alone, or the one that is given for a server.
///
/// `not_found` if a path on this machine has no repository.
pub(super) fn fetch_address(place: &PrivateFolder, url: &str, commit: &str) -> Result<String, Error> {
    let Some(named) = path_of(url) else { return Ok(url.to_owned()) };
    let common = elsewhere(&named)?.common;
    let objects = real(&common.join("objects"));
    if let Some(special) = special_below(&objects) {
        return Err(unreadable(&named, &format!("`{}` is no plain file", special.display())));
    }
    let root = place.folder(SOURCE)?;
    place.folder(&format!("{SOURCE}/refs"))?;
    place.write(&format!("{SOURCE}/HEAD"), format!("{commit}\n").as_bytes())?;
    let hash = if commit.len() == 64 { "sha256" } else { "sha1" };
    place.write(&format!("{SOURCE}/config"), configuration(hash).as_bytes())?;
    place.link(&format!("{SOURCE}/objects"), &objects)?;
    if let Some(shallow) = short(&real(&common.join("shallow"))).map_err(|why| unreadable(&named, &why))? {
        place.write(&format!("{SOURCE}/shallow"), shallow.as_bytes())?;
    }
    address_of(&root)
}

/// The row of a reference of a repository of this machine, as `git ls-remote` writes it, which is empty if there is none; none for a server.
///
/// `not_found` if a path on this machine has no readable repository.
pub(super) fn listed(url: &str, name: &str) -> Result<Option<String>, Error> {
    let Some(named) = path_of(url) else { return Ok(None) };
    let commit = elsewhere(&named)?.commit(name).map_err(|why| unreadable(&named, &why))?;
    Ok(Some(commit.map(|commit| format!("{commit}\t{name}\n")).unwrap_or_default()))
}

fn elsewhere(named: &Path) -> Result<Elsewhere, Error> {
    Elsewhere::at(named).ok_or_else(|| unreadable(named, "it is no repository"))
}

fn unreadable(named: &Path, why: &str) -> Error {
    Error::new(Code::NotFound, format!("`{}` can't be read: {why}", named.display()))
}

/// The path of an address on this machine.
fn path_of(url: &str) -> Option<PathBuf> {
    Url::parse(url).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

fn address_of(folder: &Path) -> Result<String, Error> {
    Url::from_file_path(folder)
        .map(|url| url.to_string())
        .map_err(|()| Error::new(Code::Io, format!("`{}` has no address", folder.display())))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The text of a short plain file; none if there is none.
fn short(path: &Path) -> Result<Option<String>, String> {
    match plain_file::open(path).and_then(|file| plain_file::all(&file, LONGEST)) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("can't be read: {error}")),
    }
}

/// The kind of a repository's hashes; the reason if nothing can be pushed to it.
fn object_format(settings: &str) -> Result<&'static str, String> {
    let mut hash = "sha1";
    for line in settings.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key.to_ascii_lowercase().strip_prefix("extensions.") {
            Some("objectformat") if value == "sha256" => hash = "sha256",
            Some("objectformat") if value == "sha1" => {}
            Some("refstorage") if value == "files" => {}
            Some(name) if HARMLESS.contains(&name) => {}
            Some(name) => return Err(format!("its format has the extension `{name}={value}`")),
            None => {}
        }
    }
    Ok(hash)
}

/// The configuration of a stand-in.
fn configuration(hash: &str) -> String {
    format!(
        "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n\thooksPath = /dev/null\n\talternateRefsCommand = true\n\
         \tlogAllRefUpdates = false\n[extensions]\n\tobjectFormat = {hash}\n\
         [receive]\n\tautogc = false\n\tadvertisePushOptions = true\n"
    )
}
