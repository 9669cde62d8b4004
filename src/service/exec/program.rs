//! The program of a command: found once, by its path or in `PATH`, and identified by its hash.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustix::fs::Access;
use serde::{Deserialize, Serialize};

use super::Context;
use base::{
    error::{Code, Error, nearest},
    hash::Sha256,
    path::{RepoPath, protected},
};
use system::workspace::Metadata;

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its hash.
    pub sha256: Sha256,
}

/// A program, and its place.
#[derive(Debug)]
pub(super) struct Program {
    /// The program in its recorded form.
    pub(super) found: Found,
    /// Its path in the workspace, if it is there: the view may hold another version.
    pub(super) inside: Option<RepoPath>,
    /// Its file, without links on the way.
    pub(super) real: PathBuf,
}

/// Finds a program: an absolute path, a path in the workspace relative to its root, or a name in `PATH`.
pub(super) fn find(ctx: &Context<'_>, root: &Path, name: &str, path: Option<&String>) -> Result<Program, Error> {
    if name.is_empty() || name.contains('\0') {
        return Err(Error::new(Code::InvalidInput, "a command has no program")
            .hint("give a name that is looked for in `PATH`, or a path"));
    }
    let place = if name.starts_with('/') {
        PathBuf::from(name)
    } else if name.contains('/') {
        root.join(RepoPath::parse(name)?.as_str())
    } else {
        look_up(name, path)?
    };
    let real = fs::canonicalize(&place).unwrap_or_else(|_| place.clone());
    let beneath = |place: &Path| {
        let relative = place.strip_prefix(root).ok()?.to_str()?;
        RepoPath::parse(relative).ok()
    };
    let (inside, really_inside) = (beneath(&place), beneath(&real));
    if let Some(path) = inside.as_ref().or(really_inside.as_ref()) {
        check_permitted(ctx, path)?;
    }
    let sha256 = match &really_inside {
        Some(path) => hash_in_view(ctx, path)?,
        None => hash(&place, name)?,
    };
    Ok(Program { found: Found { path: place, sha256 }, inside: inside.or(really_inside), real })
}

/// Refuses a program of the workspace unless the rule that allows the command permits that.
fn check_permitted(ctx: &Context<'_>, path: &RepoPath) -> Result<(), Error> {
    if let Some(reason) = protected::read_refusal(path) {
        return Err(Error::new(Code::ProtectedPath, format!("`{path}` can't be run: {reason}")));
    }
    if ctx.from_workspace {
        return Ok(());
    }
    Err(Error::new(Code::PermissionDenied, format!("the program `{path}` is a file of the workspace"))
        .detail("path", path.as_str())
        .hint("only a rule of `[[exec.allow]]` with `from_workspace = true` lets such a program be run"))
}

/// The hash of a program of the workspace as the run sees it.
fn hash_in_view(ctx: &Context<'_>, path: &RepoPath) -> Result<Sha256, Error> {
    let stamp = ctx.view.hash(path)?;
    if stamp.mode & 0o111 == 0 {
        return Err(not_executable(path.as_str()));
    }
    Ok(stamp.sha256)
}

/// The first executable file of that name in `PATH`.
pub fn look_up(name: &str, path: Option<&String>) -> Result<PathBuf, Error> {
    let Some(path) = path else {
        return Err(Error::new(
            Code::NotFound,
            format!("the program `{name}` can't be looked for: there is no `PATH`"),
        )
        .hint("pass it on with `env` in `[exec]`, or give the program's absolute path"));
    };
    // An empty entry means the current folder, like `.`: a bare name must not find programs there.
    let folders: Vec<&Path> = path.split(':').filter(|entry| entry.starts_with('/')).map(Path::new).collect();
    let found = folders.iter().map(|folder| folder.join(name)).find(|place| is_program(place));
    found.ok_or_else(|| {
        let names: BTreeSet<String> = folders.iter().flat_map(|folder| names(folder)).collect();
        let places = folders.iter().map(|folder| format!("`{}`", folder.display())).collect::<Vec<_>>().join(", ");
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(other) => format!("did you mean `{other}`? it was looked for in {places}"),
            None => format!("it was looked for in {places}; install it, or give its absolute path"),
        };
        Error::new(Code::NotFound, format!("the program `{name}` is not found")).detail("program", name).hint(hint)
    })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn is_program(place: &Path) -> bool {
    place.is_file() && rustix::fs::access(place, Access::EXEC_OK).is_ok()
}

/// The hash of a program outside of the workspace. It is cached while the file's metadata stay the same: some programs are
/// larger than the files that they process.
#[expect(clippy::disallowed_methods, reason = "a program of the system, not a file of the tree")]
fn hash(place: &Path, name: &str) -> Result<Sha256, Error> {
    static KNOWN: Mutex<BTreeMap<(u64, u64), (Metadata, Sha256)>> = Mutex::new(BTreeMap::new());
    let failed = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(Code::NotFound, format!("the program `{name}` is not found"))
            .hint("give the path of a program, or a name that is looked for in `PATH`"),
        _ => Error::io(format!("the program `{name}` can't be read"), error),
    };
    if fs::metadata(place).map_err(|error| failed(&error))?.is_file() && !is_program(place) {
        return Err(not_executable(name));
    }
    let file = File::open(place).map_err(|error| failed(&error))?;
    let look = rustix::fs::fstat(&file).map_err(|errno| failed(&errno.into()))?;
    let look = Metadata::of(&look);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&look.identity).copied();
    if let Some((_, sha256)) = known.filter(|(known, _)| *known == look) {
        return Ok(sha256);
    }
    let (sha256, _) = Sha256::of_reader(file).map_err(|error| failed(&error))?;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(look.identity, (look, sha256));
    Ok(sha256)
}

fn not_executable(name: &str) -> Error {
    Error::new(Code::InvalidInput, format!("`{name}` is not executable"))
        .hint("give its file the mode of a program, or start it by the program that reads it, such as `sh`")
}
