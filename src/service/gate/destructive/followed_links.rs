//! Links on the way to a file that a command writes: they are followed as the kernel would follow them.
//!
//! Only where the start of the line gives the workspace and a function that reads links; else paths are what they say.

use super::{guarded::guarded, walk::Walk};

/// How many paths of one line are looked up.
const LOOKUPS: u32 = 512;

impl Walk<'_> {
    /// The rule that guards the file to which links lead. `follows` tells whether a link at the end is followed too.
    pub(super) fn led(&mut self, path: &str, follows: bool) -> Option<&'static str> {
        let real = self.stand.real?;
        let path = self.whole(path.trim_matches('"'))?;
        // What the shell puts in the place of a pattern or a variable is not known; what stands before it is.
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

    /// A folder for a command that goes there without a shell: behind a link `..` is above the folder that it leads to.
    pub(super) fn landed(&self, folder: String) -> String {
        if !folder.split('/').any(|name| name == "..") {
            return folder;
        }
        let root = self.stand.root.as_deref().unwrap_or_default();
        self.stand.real.and_then(|real| real(root, &self.whole(&folder)?)).unwrap_or(folder)
    }

    /// The path of an operand from the workspace's folder, or an absolute one, with every `..` in it; none if nobody can tell where it begins.
    fn whole(&self, path: &str) -> Option<String> {
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
