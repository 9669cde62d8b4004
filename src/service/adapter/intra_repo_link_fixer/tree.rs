//! The files and folders of a tree, looked up by path, by name and without regard to case. It reads nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use super::reference::{folder, name};
use base::path::RepoPath;
use system::git::Tracked;

/// An index of the entries that Git does not ignore.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: BTreeSet<String>,
    links: BTreeSet<String>,
    /// Files that a sparse checkout left out.
    absent: BTreeSet<String>,
    /// Repositories of their own: submodules.
    repositories: BTreeSet<String>,
    /// Places at which a site shows files from elsewhere.
    mounts: BTreeSet<String>,
    /// With the workspace itself, which is empty.
    folders: BTreeSet<String>,
    by_name: OnceLock<BTreeMap<String, Vec<String>>>,
    by_lower_case: OnceLock<BTreeMap<String, Vec<String>>>,
}

impl Tree {
    /// Takes the paths of regular files and of symbolic links, and those of the index.
    pub(super) fn new(files: &[RepoPath], links: &[RepoPath], tracked: &[(String, Tracked)]) -> Self {
        let texts = |paths: &[RepoPath]| paths.iter().map(|path| path.as_str().to_owned()).collect::<BTreeSet<_>>();
        let (mut files, links) = (texts(files), texts(links));
        // Ignore files have no effect on a tracked file.
        files.extend(tracked.iter().filter(|(_, tracked)| *tracked == Tracked::File).map(|(path, _)| path.clone()));
        let mut folders = BTreeSet::from([String::new()]);
        for path in files.iter().chain(&links) {
            let mut at = folder(path);
            while !at.is_empty() && folders.insert(at.to_owned()) {
                at = folder(at);
            }
        }
        let of = |wanted: Tracked| {
            let found = tracked.iter().filter(|(_, tracked)| *tracked == wanted);
            found.map(|(path, _)| path.clone()).collect()
        };
        let (absent, repositories) = (of(Tracked::Absent), of(Tracked::Repository));
        Tree { files, links, folders, absent, repositories, ..Tree::default() }
    }

    /// The reason that a path, which the tree lacks, may exist in another copy of it.
    pub(super) fn may_lack(&self, path: &str) -> Option<&'static str> {
        let below = format!("{path}/");
        let is_absent = |path: &str| self.absent.contains(path);
        // A link that is left out may lead to anything below it.
        let mut parts = below.match_indices('/').map(|(at, _)| &below[..at]);
        if parts.any(is_absent)
            || self.absent.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
        {
            return Some("a sparse checkout left it out");
        }
        let is_inside = below.match_indices('/').any(|(at, _)| self.repositories.contains(&below[..at]));
        let is_mounted = || below.match_indices('/').any(|(at, _)| self.mounts.contains(&below[..at]));
        let mounted = || is_mounted().then_some("its site mounts it from elsewhere");
        is_inside.then_some("it is in a submodule").or_else(mounted)
    }

    /// Notes the places at which sites show files from elsewhere.
    pub(super) fn mount(&mut self, places: &[String]) {
        self.mounts.extend(places.iter().cloned());
    }

    /// The regular files, sorted.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Paths whose contents are not read here: symbolic links, and files that a sparse checkout left out.
    pub(super) fn unread(&self) -> impl Iterator<Item = &str> {
        self.links.iter().chain(&self.absent).map(String::as_str)
    }

    /// True for a file that a sparse checkout left out.
    pub(super) fn is_left_out(&self, path: &str) -> bool {
        self.absent.contains(path)
    }

    /// True if a submodule is not checked out, so that the names in it are unknown.
    pub(super) fn lacks_submodule(&self) -> bool {
        self.repositories.iter().any(|path| !self.has_folder(path))
    }

    /// The folders directly in a folder, sorted.
    pub(super) fn folders_of(&self, at: &str) -> Vec<String> {
        let begin = if at.is_empty() { String::new() } else { format!("{at}/") };
        let below = self.folders.range(begin.clone()..).take_while(|path| path.starts_with(&begin));
        below.filter(|path| !path.is_empty() && folder(path) == at).cloned().collect()
    }

    /// True for a regular file or a symbolic link.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path) || self.is_link(path)
    }

    /// True for a symbolic link.
    pub(super) fn is_link(&self, path: &str) -> bool {
        self.links.contains(path)
    }

    /// True for a folder with entries.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// True if a part of the path before its last is a symbolic link.
    pub(super) fn is_below_link(&self, path: &str) -> bool {
        if self.links.is_empty() {
            return false;
        }
        let mut at = folder(path);
        while !at.is_empty() {
            if self.is_link(at) {
                return true;
            }
            at = folder(at);
        }
        false
    }

    /// The files with that name in any case, sorted; also those that a sparse checkout left out.
    pub(super) fn named(&self, wanted: &str) -> &[String] {
        let all = || self.files.iter().chain(&self.absent).map(|path| (name(path).to_lowercase(), path.clone()));
        grouped(&self.by_name, all, &wanted.to_lowercase())
    }

    /// The files and folders whose path differs from this in case at most, sorted; also those that a sparse checkout left out.
    pub(super) fn in_any_case(&self, wanted: &str) -> &[String] {
        let all = || {
            self.files.iter().chain(&self.folders).chain(&self.absent).map(|path| (path.to_lowercase(), path.clone()))
        };
        grouped(&self.by_lower_case, all, &wanted.to_lowercase())
    }
}

type Groups = BTreeMap<String, Vec<String>>;

fn grouped<'a, I: Iterator<Item = (String, String)>>(
    groups: &'a OnceLock<Groups>,
    all: impl FnOnce() -> I,
    wanted: &str,
) -> &'a [String] {
    let made = || {
        let mut groups = Groups::new();
        all().for_each(|(key, path)| groups.entry(key).or_default().push(path));
        groups
    };
    groups.get_or_init(made).get(wanted).map_or(&[], Vec::as_slice)
}
