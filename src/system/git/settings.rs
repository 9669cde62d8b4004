//! The settings of git for the comparison of files, and no other.
//!
//! git starts programs that its configuration names: filters, monitors, hooks, helpers. So only the keys listed here, which are
//! data, have an effect. Future settings of git are not among them either.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use gix::{
    bstr::ByteSlice,
    config::{File, Source, file::Metadata},
};

use super::{
    error::{said, unknown},
    place::{LONGEST_FILE, Place, bytes, check_file},
};
use base::error::Error;

/// The settings of the system.
pub(super) const SYSTEM: &str = "/etc/gitconfig";

/// The file in place of one that the user does not have.
pub(super) const NONE: &str = "/dev/null";

/// The keys that have an effect, from any of git's files.
const KEYS: &[&str] = &[
    "core.autocrlf",
    "core.checkRoundtripEncoding",
    "core.checkStat",
    "core.eol",
    "core.fileMode",
    "core.ignoreCase",
    "core.symlinks",
    "core.trustctime",
];

/// Keys that name a file: it is read only if it is a regular file within the limit.
const FILES: &[(&str, &str)] = &[("core.excludesFile", "ignore"), ("core.attributesFile", "attributes")];

/// The largest object or index that git's reader loads, in bytes.
const LONGEST_OBJECT: u64 = 1 << 29;

/// The extensions that a repository's format may have.
const EXTENSIONS: &[&str] = &[
    "compatobjectformat",
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// The settings of one repository and of its user.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// As `key=value`, for the reader of the repository.
    pub(super) overrides: Vec<String>,
    /// True if names that differ by case alone are the same.
    pub(super) ignore_case: bool,
    /// True if only a part of the files is checked out.
    pub(super) sparse: bool,
    /// True if missing objects could be fetched, which is not done.
    pub(super) partial: bool,
    /// The folder in which git looks for hooks, if a setting names one.
    pub(super) hooks: Option<String>,
    /// The filters with programs in the configuration.
    pub(super) filters: BTreeSet<String>,
}

/// Reads them: the system's file, the user's with its includes, and the repository's, which may include nothing.
pub(super) fn read(place: &Place, environment: &BTreeMap<String, String>) -> Result<Settings, Error> {
    let home = environment.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let xdg = environment.get("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let xdg = xdg.or_else(|| Some(home.as_ref()?.join(".config"))).map(|folder| folder.join("git"));
    let mut layers = Vec::new();
    let users = [
        (Some(PathBuf::from(SYSTEM)), Source::System),
        (xdg.as_ref().map(|folder| folder.join("config")), Source::Git),
        (home.as_ref().map(|home| home.join(".gitconfig")), Source::User),
    ];
    for (path, source) in users {
        layers.extend(path.and_then(|path| of_user(&path, source, place, home.as_deref())));
    }
    let local = of_repository(&place.common.join("config"), Source::Local)?;
    check_format(&local)?;
    check_work_tree(place, &local)?;
    let has_own = is_true(&local, "extensions.worktreeConfig");
    let partial = is_partial(&local);
    layers.push(local);
    if has_own {
        layers.push(of_repository(&place.own.join("config.worktree"), Source::Worktree)?);
    }
    let mut settings = Settings { partial, ..Settings::default() };
    for layer in &layers {
        settings.filters.extend(filters(layer));
    }
    let last = |key: &str| layers.iter().rev().find_map(|layer| layer.string_implicit(key));
    for key in KEYS {
        match last(key) {
            Some(Some(value)) => settings.overrides.push(format!("{key}={}", value.to_str_lossy())),
            Some(None) => settings.overrides.push(format!("{key}=true")),
            None => (),
        }
    }
    // git warns of line ends that would not survive; here they don't matter.
    settings.overrides.push("core.safecrlf=false".to_owned());
    // The index itself has the offsets for several threads, and could make a small file expand.
    settings.overrides.push("index.threads=1".to_owned());
    settings.overrides.push(format!("gitoxide.objects.allocLimit={LONGEST_OBJECT}"));
    for (key, name) in FILES {
        let given = last(key).map(|value| value.unwrap_or_default().to_str_lossy().into_owned());
        let path = match given {
            Some(given) => resolve(&given, &place.work, home.as_deref()),
            None => xdg.as_ref().map(|folder| folder.join(name)),
        };
        let path = path.filter(|path| is_short_file(path));
        let path = path.map_or_else(|| NONE.to_owned(), |path| path.display().to_string());
        settings.overrides.push(format!("{key}={path}"));
    }
    let is_true = |key: &str| {
        layers.iter().rev().find(|layer| layer.string_implicit(key).is_some()).is_some_and(|layer| is_true(layer, key))
    };
    settings.hooks = last("core.hooksPath").map(|value| value.unwrap_or_default().to_str_lossy().into_owned());
    settings.ignore_case = is_true("core.ignoreCase");
    settings.sparse = is_true("core.sparseCheckout");
    Ok(settings)
}

/// True if another repository has the objects that are missing here. Git names it in either way.
fn is_partial(file: &File) -> bool {
    let mut remotes = file.sections_by_name("remote").into_iter().flatten();
    file.string("extensions.partialClone").is_some()
        || remotes.any(|remote| remote.body().value("promisor").is_some_and(|value| value.to_vec() != b"false"))
}

fn is_true(file: &File, key: &str) -> bool {
    matches!(file.boolean(key), Ok(Some(true)))
}

/// Filter programs, which would change contents on their way.
fn filters(file: &File) -> Vec<String> {
    let sections = file.sections_by_name("filter").into_iter().flatten();
    sections.filter_map(|section| Some(section.header().subsection_name()?.to_str_lossy().into_owned())).collect()
}

/// A file of the user's: it is trusted, and may include others. An unreadable one counts as missing.
fn of_user(path: &Path, source: Source, place: &Place, home: Option<&Path>) -> Option<File> {
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let interpolate =
        gix::config::path::interpolate::Context { git_install_dir: None, home_dir: home, home_for_user: None };
    let conditional =
        gix::config::file::includes::conditional::Context { git_dir: Some(&place.own), branch_name: None };
    let mut includes = gix::config::file::includes::Options::follow(interpolate, conditional);
    includes.err_on_missing_config_path = false;
    let options = gix::config::file::init::Options { includes, lossy: true, ignore_io_errors: true };
    let metadata = Metadata::from(source).at(path.to_owned());
    File::from_paths_metadata([metadata], options).ok().flatten()
}

fn of_repository(path: &Path, source: Source) -> Result<File, Error> {
    check_file(path)?;
    if !path.is_file() {
        return Ok(File::default());
    }
    File::from_path_no_includes(path.to_owned(), source)
        .map_err(|error| unknown(&format!("`{}` can't be read: {}", path.display(), said(&error))))
}

/// An unknown format could mean anything.
fn check_format(local: &File) -> Result<(), Error> {
    let version = local.integer("core.repositoryFormatVersion").ok().flatten().unwrap_or(0);
    if !(0..=1).contains(&version) {
        return Err(unknown(&format!("the repository has format {version}, which nrv doesn't know")));
    }
    for section in local.sections_by_name("extensions").into_iter().flatten().filter(|_| version == 1) {
        if let Some(name) = section.value_names().find(|name| !EXTENSIONS.contains(&name.to_lowercase().as_str())) {
            return Err(unknown(&format!("the repository has the extension `{name}`, which nrv doesn't know")));
        }
    }
    match local.string("extensions.refStorage") {
        Some(storage) if storage != "files" => {
            let why = format!("the repository keeps its references as `{storage}`, which nrv doesn't read");
            Err(unknown(&why).hint("`git refs migrate --ref-format=files` changes that; or start with `--allow-dirty`"))
        }
        _ => Ok(()),
    }
}

/// A work tree elsewhere is not the one that nrv is about to change.
fn check_work_tree(place: &Place, local: &File) -> Result<(), Error> {
    let Some(given) = local.string("core.worktree") else { return Ok(()) };
    let path = place.common.join(gix::path::from_bstr(given.as_bstr()).unwrap_or_default());
    match (path.canonicalize(), place.work.canonicalize()) {
        (Ok(there), Ok(here)) if there == here => Ok(()),
        _ => Err(unknown(&format!("`core.worktree` of the repository is `{given}`, another folder than this one"))),
    }
}

/// The file that a setting names, if any.
fn resolve(given: &str, work: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match (given.strip_prefix("~/"), given) {
        (_, "") => None,
        (Some(rest), _) => Some(home?.join(rest)),
        (None, _) => Some(work.join(given)),
    }
}

fn is_short_file(path: &Path) -> bool {
    let is_text = std::str::from_utf8(bytes(path)).is_ok();
    is_text && fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST_FILE)
}
