//! Follows links on the way to a file that a command writes, like the kernel.
//!
//! It needs the workspace and a function that reads links, both from the start of the line; else paths are taken literally.

use super::{guarded::guarded, walk::Walk};

/// The number of paths of one line that are looked up.
const LOOKUPS: u32 = 512;

impl Walk<'_> {
    /// The rule that guards the file at the end of the links. `follows` is true if a final link is followed too.
    pub(super) fn led(&mut self, path: &str, follows: bool) -> Option<&'static str> {
        let real = self.stand.disk?.real;
        let path = self.whole(path.trim_matches('"'))?;
        // The expansion of a pattern or a variable is unknown; the part before it is known.
        let open = path.find(['*', '?', '[', '{', '$', '`']).unwrap_or(path.len());
        let is_cut = open < path.len() || !follows;
        let cut = if is_cut { path[..open].rfind('/').unwrap_or_default() } else { path.len() };
        let (known, rest) = path.split_at(cut);
        let known = if known.is_empty() && rest.starts_with('/') { "/" } else { known };
        self.lookups += 1;
        if self.lookups > LOOKUPS {
            self.give_up("it names too many files to be judged");
            return None;
        }
        let root = self.stand.root.as_deref().unwrap_or_default();
        let folder = real(root, known)?;
        let there = format!("{}/{}", folder.trim_end_matches('/'), rest.trim_start_matches('/'));
        match there.strip_prefix(root) {
            Some(inner) if inner.is_empty() || inner.starts_with('/') => guarded(inner.trim_start_matches('/')),
            _ => guarded(&there).filter(|id| !self.is_thrown_away(&there, id)),
        }
    }

    /// The folder that a command enters without a shell: behind a link `..` is above the link's target.
    pub(super) fn landed(&self, folder: String) -> String {
        if !folder.split('/').any(|name| name == "..") {
            return folder;
        }
        let root = self.stand.root.as_deref().unwrap_or_default();
        self.stand.disk.and_then(|disk| (disk.real)(root, &self.whole(&folder)?)).unwrap_or(folder)
    }

    /// The path of an operand from the workspace's folder, or an absolute one, with every `..` in it; none if its start is
    /// unknown.
    pub(super) fn whole(&self, path: &str) -> Option<String> {
        let after = |starts: &[&str]| {
            let rest = starts.iter().find_map(|start| path.strip_prefix(start))?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        };
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        if let Some(rest) = after(&["$(git rev-parse --show-toplevel)", "`git rev-parse --show-toplevel`"]) {
            return Some(rest.trim_start_matches('/').to_owned());
        }
        let rest = after(&["$PWD", "${PWD}", "$(pwd)", "`pwd`"]);
        if rest.is_none() && path.starts_with(['~', '$', '%', '`', '<']) {
            return None;
        }
        let path = rest.unwrap_or(path).trim_start_matches('/');
        match self.folder() {
            None => Some(path.to_owned()),
            Some(folder) if folder.starts_with(['~', '$']) => None,
            Some(folder) => Some(format!("{folder}/{path}")),
        }
    }
}
