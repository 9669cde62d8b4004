//! The address to which a branch is pushed. For a repository of this machine that is a stand-in: a private folder that leads to its
//! objects and references, and has a configuration of its own and no hooks.
//!
//! Git would start the repository's hooks, and obey its configuration, by which other programs can be started.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use url::Url;

use base::error::{Code, Error};
use script::remote::{Git, is_commit};
use service::exec::PrivateFolder;
use system::plain_file;

/// The folder of the stand-in.
const NAME: &str = "target.git";

/// The folders and files of a repository to which it leads.
const FOLDERS: &[&str] = &["objects", "refs", "worktrees"];
const FILES: &[&str] = &["packed-refs", "shallow"];

/// The longest file of a repository that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Extensions of a repository's format that say nothing about its objects and references.
const HARMLESS: &[&str] =
    &["noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// Makes the address to which git pushes a branch, or from which it removes it.
///
/// `invalid_input` if a path on this machine has no repository that a stand-in can lead to. `stale_preimage` if the branch is checked
/// out there.
pub(super) fn address(git: &Git<'_>, url: &str, branch: &str, place: &PrivateFolder) -> Result<String, Error> {
    let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "file");
    let Some(named) = parsed.and_then(|url| url.to_file_path().ok()) else { return Ok(url.to_owned()) };
    let refused = |why: &str| {
        Error::new(Code::InvalidInput, format!("nothing is pushed to `{}`: {why}", named.display()))
            .hint("give the path of a whole repository, or an address by ssh or https")
    };
    let own = own_folder(&named).ok_or_else(|| refused("it is no repository, or a linked work tree of another one"))?;
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
    let hash = match text("config")? {
        Some(_) => object_format(&settings(git, &own)?).map_err(|why| refused(&why))?,
        None => "sha1",
    };
    let root = place.folder(NAME)?;
    place.write(&format!("{NAME}/HEAD"), head.as_bytes())?;
    place.write(&format!("{NAME}/config"), configuration(hash).as_bytes())?;
    for (names, is_kind) in [(FOLDERS, Path::is_dir as fn(&Path) -> bool), (FILES, Path::is_file)] {
        for name in names {
            let path = own.join(name);
            match path.symlink_metadata() {
                Ok(found) if found.is_symlink() || !is_kind(&path) => {
                    return Err(refused(&format!("its `{name}` is a link or a special file")));
                }
                Ok(_) => place.link(&format!("{NAME}/{name}"), &path)?,
                // Git makes it at the end of the link.
                Err(_) if *name == "packed-refs" => place.link(&format!("{NAME}/{name}"), &path)?,
                Err(_) => {}
            }
        }
    }
    Url::from_file_path(&root)
        .map(|url| url.to_string())
        .map_err(|()| Error::new(Code::Io, format!("`{}` has no address", root.display())))
}

/// The folder with git's own files, as git finds it; none for a repository that is a part of another one.
fn own_folder(named: &Path) -> Option<PathBuf> {
    let beside = |end: &str| {
        let mut name = named.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let found = [named.join(".git"), named.to_owned(), beside(".git/.git"), beside(".git")];
    // Git takes the first that it finds, too.
    let own = found.into_iter().find(|path| path.join("HEAD").symlink_metadata().is_ok() || path.is_file())?;
    let is_whole = ["objects", "refs"].iter().all(|name| own.join(name).is_dir()) && !own.join("commondir").exists();
    is_whole.then_some(own)
}

/// The text of a short plain file; none if there is none.
fn short(path: &Path) -> Result<Option<String>, String> {
    match plain_file::open(path).and_then(|file| plain_file::all(&file, LONGEST)) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("can't be read: {error}")),
    }
}

/// The settings of a repository, a line each, as `key=value`; other files that it includes are not read.
fn settings(git: &Git<'_>, own: &Path) -> Result<String, Error> {
    let file = own.join("config").display().to_string();
    git.run(["config", "--no-includes", "--file", &file, "--list"].map(str::to_owned).to_vec())
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
