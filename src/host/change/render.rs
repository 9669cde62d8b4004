//! Changes rendered as patches.

use std::collections::BTreeSet;

use crate::{change::patch::Patch, terms::Terms};
use base::{
    change::{Change, Stamp},
    diff::{self, Side, Stat},
    error::{Code, Error},
    path::RepoPath,
};
use service::apply::Proposed;
use system::workspace::{View, parallel_map, parallel_map_with};

impl Terms<'_> {
    /// Renders a change whose pre-images are at hand.
    pub(crate) fn render_proposed(&self, proposed: &Proposed) -> Result<Patch, Error> {
        let sides = proposed.changes.changes().iter().zip(&proposed.before);
        let all: Vec<_> = sides.zip(&proposed.parts).collect();
        let rendered = parallel_map(self.context.options.threads, &all, |((change, before), part)| match part {
            Some(_) => None,
            None => {
                let after = change.after.as_ref().map(Side::from);
                Some(diff::render(&change.path, before.as_ref().map(Side::from), after))
            }
        });
        let mut patch = Patch::default();
        let backups: BTreeSet<&RepoPath> = proposed.outcomes.iter().filter_map(|one| one.backup.as_ref()).collect();
        for (known, rendered) in proposed.parts.iter().zip(rendered) {
            let rendered = rendered.transpose()?;
            match known.as_ref().or(rendered.as_ref()) {
                Some((part, stat)) if backups.contains(&stat.path) => patch.push_backup(part, &stat.path),
                Some((part, stat)) => patch.push(part, stat.clone()),
                None => {}
            }
        }
        Ok(patch)
    }

    /// Renders changes against a tree; `stale_preimage` if a file there is no longer what it was.
    pub(crate) fn render(&self, view: View<'_>, changes: &[Change]) -> Result<Patch, Error> {
        let parts = parallel_map_with(self.context.options.threads, changes, Vec::new, |buffer, change| {
            self.check_cancelled()?;
            render_with(view, change, buffer)
        });
        let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut patch = Patch::default();
        patch.bytes.reserve_exact(parts.iter().map(|(part, _)| part.len()).sum());
        for (part, stat) in parts {
            patch.push(&part, stat);
        }
        Ok(patch)
    }
}

/// One file's part of a patch, with its size.
pub(crate) fn render(view: View<'_>, change: &Change) -> Result<(Vec<u8>, Stat), Error> {
    render_with(view, change, &mut Vec::new())
}

/// The same, with a buffer that is used again.
pub(super) fn render_with(view: View<'_>, change: &Change, buffer: &mut Vec<u8>) -> Result<(Vec<u8>, Stat), Error> {
    let path = &change.path;
    if let Some(expected) = change.before
        && !still_is(view, path, expected, buffer)?
    {
        let message = format!("`{path}` changed while the change was proposed");
        return Err(Error::new(Code::StalePreimage, message).detail("path", path.as_str()).hint("run it again"));
    }
    let before = change.before.map(|stamp| Side { bytes: buffer, mode: stamp.mode });
    diff::render(path, before, change.after.as_ref().map(Side::from))
}

/// Reads a path into a buffer; true if it is what was expected there.
fn still_is(view: View<'_>, path: &RepoPath, expected: Stamp, buffer: &mut Vec<u8>) -> Result<bool, Error> {
    match read(view, path, expected.length, buffer) {
        Err(error) if error.code() == Code::NotFound => Ok(false),
        found => Ok(found? == Some(expected)),
    }
}

/// Reads what stands at a path into a buffer; of a link, the link itself.
pub(crate) fn read(view: View<'_>, path: &RepoPath, limit: u64, buffer: &mut Vec<u8>) -> Result<Option<Stamp>, Error> {
    match view.read_into(path, limit, buffer) {
        Err(error) if error.code() == Code::InvalidPath => {
            let link = view.read_entry(path)?;
            buffer.clear();
            buffer.extend_from_slice(&link.bytes);
            Ok(Some(link.stamp()))
        }
        result => result,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use std::fs;

    use super::*;
    use base::change::Content;
    use system::workspace::{Overlay, Workspace};

    #[test]
    fn a_file_that_changed_or_is_gone_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let (workspace, overlay) = (Workspace::open(folder.path()).unwrap(), Overlay::new());
        let [before, after] = ["one\n", "two\n"].map(|text| Content::new(text.as_bytes().to_vec(), 0o644));
        let change =
            Change { path: RepoPath::parse("a").unwrap(), before: Some(before.stamp()), after: Some(after.clone()) };
        let code = || render(View::new(&workspace, &overlay), &change).err().map(|error| error.code());
        fs::write(&file, "one\n").unwrap();
        assert_eq!(code(), None);
        fs::write(&file, "other\n").unwrap();
        assert_eq!(code(), Some(Code::StalePreimage));
        fs::remove_file(&file).unwrap();
        assert_eq!(code(), Some(Code::StalePreimage));
    }
}
