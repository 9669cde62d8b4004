//! The moves that a history knows, looked up by the old path and by the new one. It reads nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::reference::joined;

/// Moves of files.
#[derive(Debug, Default)]
pub(super) struct History {
    renames: BTreeMap<String, BTreeSet<String>>,
    contents: BTreeMap<String, BTreeSet<String>>,
    earlier: BTreeMap<String, BTreeSet<String>>,
}

impl History {
    /// Records that a file is at a new path. `by_content` says that only its content shows it.
    pub(super) fn add(&mut self, from: &str, to: &str, by_content: bool) {
        let moves = if by_content { &mut self.contents } else { &mut self.renames };
        moves.entry(from.to_owned()).or_default().insert(to.to_owned());
        if !by_content {
            self.earlier.entry(to.to_owned()).or_default().insert(from.to_owned());
        }
    }

    /// The files that were renamed from there. A folder that moved as a whole is one.
    pub(super) fn renamed(&self, from: &str) -> BTreeSet<String> {
        match self.renames.get(from) {
            Some(files) => files.clone(),
            None => self.moved_folder(from).into_iter().collect(),
        }
    }

    /// The files that were renamed from a path that differs from this one in case alone, if there is one such path.
    pub(super) fn renamed_in_other_case(&self, from: &str) -> BTreeSet<String> {
        let folded = from.to_lowercase();
        let mut same = self.renames.iter().filter(|(old, _)| old.to_lowercase() == folded);
        match (same.next(), same.next()) {
            (Some((_, files)), None) => files.clone(),
            _ => BTreeSet::new(),
        }
    }

    /// The files with a content that was there.
    pub(super) fn with_content_of(&self, from: &str) -> BTreeSet<String> {
        self.contents.get(from).cloned().unwrap_or_default()
    }

    /// The earlier paths of a file.
    pub(super) fn earlier(&self, file: &str) -> impl Iterator<Item = &str> {
        self.earlier.get(file).into_iter().flatten().map(String::as_str)
    }

    /// The single folder that all files of a folder were renamed to, beneath it as before.
    fn moved_folder(&self, from: &str) -> Option<String> {
        let beneath = format!("{from}/");
        let mut moved: Option<String> = None;
        for (old, files) in self.renames.range(beneath.clone()..).take_while(|(old, _)| old.starts_with(&beneath)) {
            let mut files = files.iter();
            let (Some(file), None) = (files.next(), files.next()) else { return None };
            let folder = file.strip_suffix(&old[from.len()..])?;
            if moved.get_or_insert_with(|| folder.to_owned()) != folder {
                return None;
            }
        }
        moved.and_then(|folder| joined("", &folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_move_with_all_of_their_files() {
        let mut history = History::default();
        for (from, to) in [("a/x.md", "b/x.md"), ("a/c/y.md", "b/c/y.md"), ("d/x.md", "e/x.md"), ("d/y.md", "f/y.md")] {
            history.add(from, to, false);
        }
        assert_eq!(history.renamed("a"), BTreeSet::from(["b".to_owned()]));
        assert_eq!(history.renamed("a/c"), BTreeSet::from(["b/c".to_owned()]));
        assert_eq!(history.renamed("d"), BTreeSet::new());
        assert_eq!(history.earlier("b/x.md").collect::<Vec<_>>(), ["a/x.md"]);
    }
}
