//! Folders and files of the workspace that commands may delete, since a build makes them again.

use super::glob::PathSet;
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// The paths that `gates.destructive.disposable` covers.
#[derive(Clone, Debug, Default)]
pub struct Disposable(PathSet);

impl Disposable {
    /// The paths that some globs cover. A glob without `/` means that name at any depth, and `x/**` also means the folder `x`.
    pub fn new(globs: &[String]) -> Result<Self, Error> {
        let refused = |phrase: String| {
            let message = format!("a glob of `gates.destructive.disposable` {phrase}");
            Error::new(Code::InvalidPolicy, message).hint("name a folder that a build makes again, such as `dist`")
        };
        let names = |glob: &&String| glob.bytes().any(|byte| byte.is_ascii_alphanumeric());
        if let Some(glob) = globs.iter().find(|glob| !names(glob)) {
            return Err(refused(format!("is `{}`, which covers too much", glob.escape_debug())));
        }
        PathSet::trees(globs).map(Disposable).map_err(refused)
    }

    /// True if a path from the workspace's root is one of them, or lies in one of them.
    pub fn covers(&self, path: &str) -> bool {
        RepoPath::parse(path).is_ok_and(|path| self.0.covering(&path).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_holds_at_any_depth_and_a_path_from_the_root() {
        let globs = ["dist", "coverage/**", "packages/*/build", "*.egg-info"].map(str::to_owned);
        let disposable = Disposable::new(&globs).unwrap();
        for path in ["dist", "dist/a", "a/dist", "coverage", "coverage/x/y", "packages/a/build/x", "a.egg-info"] {
            assert!(disposable.covers(path), "{path}");
        }
        for path in ["src", "a/coverage", "packages/build", "distant", "../dist", "/dist", "."] {
            assert!(!disposable.covers(path), "{path}");
        }
    }

    #[test]
    fn a_glob_that_covers_everything_or_leads_out_is_refused() {
        for glob in ["*", "**", "**/*", ".*", "../x", "/x", "", "x["] {
            assert!(Disposable::new(&[glob.to_owned()]).is_err(), "{glob}");
        }
        assert!(!Disposable::default().covers("dist"));
    }
}
