//! Sites that git made once in this process: the next one of that size is written from memory, with the same commits.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

/// The folders and files of a workspace with its repository, each folder before its content: path, permission bits, and bytes.
type Files = Vec<(PathBuf, u32, Option<Vec<u8>>)>;

/// Writes the workspace of a site of `n` pages; `make` is called for the first one of that size.
pub(crate) fn write(n: usize, root: &Path, make: impl FnOnce()) {
    static KNOWN: Mutex<BTreeMap<usize, Arc<OnceLock<Files>>>> = Mutex::new(BTreeMap::new());
    let known = Arc::clone(KNOWN.lock().unwrap().entry(n).or_default());
    let mut is_made = false;
    let files = known.get_or_init(|| {
        make();
        is_made = true;
        read(root)
    });
    if is_made {
        return;
    }
    fs::create_dir(root).unwrap();
    for (path, mode, bytes) in files {
        let path = root.join(path);
        match bytes {
            None => fs::DirBuilder::new().mode(*mode).create(path).unwrap(),
            Some(bytes) => {
                let file = fs::OpenOptions::new().write(true).create_new(true).mode(*mode).open(path);
                file.unwrap().write_all(bytes).unwrap();
            }
        }
    }
}

fn read(root: &Path) -> Files {
    let entries = walkdir::WalkDir::new(root).min_depth(1).into_iter().map(Result::unwrap);
    let file = |entry: walkdir::DirEntry| {
        let bytes = entry.file_type().is_file().then(|| fs::read(entry.path()).unwrap());
        let path = entry.path().strip_prefix(root).unwrap().to_owned();
        (path, entry.metadata().unwrap().mode() & 0o777, bytes)
    };
    entries.map(file).collect()
}

#[cfg(test)]
mod tests {
    use crate::support::site::Site;

    #[test]
    fn a_site_from_memory_is_the_one_that_git_made() {
        let told = |site: &Site| {
            site.git(&["fsck", "--strict", "--no-dangling"]);
            (site.tree(), site.git(&["rev-parse", "HEAD"]), site.git(&["status", "--porcelain", "--branch"]))
        };
        for n in [3, 21] {
            let (first, second) = (told(&Site::new(n)), told(&Site::new(n)));
            assert!(first == second, "{n}: {} and {}", first.1, second.1);
            assert_eq!(second.2, "## main\n");
        }
    }
}
