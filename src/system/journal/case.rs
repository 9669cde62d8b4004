//! Detects names that differ by case alone, which may be one file on some file systems.

use std::collections::BTreeMap;

use super::target::Target;
use crate::workspace::Workspace;
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// Refuses two targets that are one file. Two new targets are told apart at their creation: only one of them finds its place
/// free.
pub fn check(workspace: &Workspace, targets: &[Target<'_>]) -> Result<(), Error> {
    for (one, other) in alike(targets.iter().map(|target| target.path)) {
        let identity = |path| workspace.stat(path).map(|found| found.map(|found| found.identity));
        if identity(one)?.is_some_and(|found| identity(other).is_ok_and(|same| same == Some(found))) {
            return Err(Error::new(
                Code::Unwritable,
                format!("`{one}` and `{other}` are one file here: the file system takes no notice of case"),
            )
            .detail("path", other.as_str())
            .hint("name the file once, as it is written on the disk"));
        }
    }
    Ok(())
}

/// Pairs of paths that differ by case alone.
fn alike<'p>(paths: impl Iterator<Item = &'p RepoPath>) -> Vec<(&'p RepoPath, &'p RepoPath)> {
    let mut folded: BTreeMap<String, &RepoPath> = BTreeMap::new();
    paths.filter_map(|path| folded.insert(path.to_lowercase(), path).map(|other| (other, path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_by_case_alone_are_found() {
        let paths = ["A/b", "a/B", "a/c", "ä", "Ä"].map(|text| RepoPath::parse(text).unwrap());
        let pairs: Vec<(&str, &str)> = alike(paths.iter()).iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(pairs, [("A/b", "a/B"), ("ä", "Ä")]);
    }
}
