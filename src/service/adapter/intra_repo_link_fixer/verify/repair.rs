//! The reason for a repair: the kind that explains a changed destination, found again from the tree and its history.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::params::{Params, Repair},
    aim::{Aim, Local, aim, decoded, joined},
    tree::{Hit, Judged, Tree, When},
};
use crate::{
    base::{error::Error, path::RepoPath},
    system::git::{Renamed, Trace},
};

/// The kind of a repair, as its count is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The parameters chose it.
    Chosen,
    /// As the parameters name it.
    Of(Repair),
}

/// A changed destination.
pub(super) struct Changed<'a> {
    pub(super) file: &'a RepoPath,
    pub(super) old: &'a [u8],
    pub(super) new: &'a [u8],
}

/// Everything that can explain a repair.
pub(super) struct Reasons {
    /// The files of the workspace by their names in lower case.
    names: BTreeMap<String, Vec<String>>,
    /// The files that a path became, with the evidence.
    moved: BTreeMap<String, BTreeSet<(String, Trace)>>,
    /// The paths that a file had.
    origins: BTreeMap<String, BTreeSet<String>>,
    /// The reason that the history is not known as a whole, if any.
    remark: Option<String>,
}

impl Kind {
    /// The name of the kind.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Chosen => "chosen",
            Kind::Of(Repair::Decoded) => "decoded",
            Kind::Of(Repair::Case) => "case",
            Kind::Of(Repair::Moved) => "moved",
            Kind::Of(Repair::Content) => "content",
            Kind::Of(Repair::Name) => "name",
            Kind::Of(Repair::Anchor) => "anchor",
        }
    }
}

impl Reasons {
    /// Lists the workspace, and reads the renames of its history.
    pub(super) fn new(tree: &Tree<'_>) -> Result<Self, Error> {
        let renames = (tree.ctx.renames)()?;
        let (names, moved, origins) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut reasons = Reasons { names, moved, origins, remark: renames.remark };
        for path in &tree.entries {
            let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
            reasons.names.entry(name).or_default().push(path.clone());
        }
        for Renamed { from, to, trace } in renames.renamed {
            let (from, to) = (from.as_str().to_owned(), to.as_str().to_owned());
            if trace == Trace::Rename {
                reasons.origins.entry(to.clone()).or_default().insert(from.clone());
            }
            reasons.moved.entry(from).or_default().insert((to, trace));
        }
        Ok(reasons)
    }

    /// The kind that explains a repair of a broken link, of its path before its anchor; else the reason that none does.
    pub(super) fn explain(&self, tree: &Tree<'_>, changed: &Changed<'_>) -> Result<Result<Kind, String>, Error> {
        let roots = &tree.params.site_root;
        let (Aim::Local(old), Aim::Local(new)) =
            (aim(changed.old, changed.file, roots), aim(changed.new, changed.file, roots))
        else {
            return Ok(Err("it leads out of the tree".to_owned()));
        };
        let Some(hit) = tree.hit(&new)? else { return Ok(Err("its new target does not exist".to_owned())) };
        if is_chosen(tree.params, &old, &new, &hit) {
            return Ok(Ok(Kind::Chosen));
        }
        if old.query != new.query {
            return Ok(Err("its query is another one".to_owned()));
        }
        let anchor = match (&old.anchor, &new.anchor) {
            (None, None) => Ok(None),
            (Some(old), Some(new)) if old == new => Ok(None),
            (Some(old), Some(new)) => self.anchor(tree, &hit, old, new)?.map(Some),
            (Some(_), None) => Err("its anchor is gone".to_owned()),
            (None, Some(_)) => Err("it got an anchor".to_owned()),
        };
        let anchor = match anchor {
            Ok(anchor) => anchor.map(Kind::Of),
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(match (tree.judge(changed.file, changed.old, When::Before)?, anchor) {
            (Judged::NoAnchor(before), Some(kind)) if before == hit => Ok(kind),
            (Judged::NoAnchor(_), _) => Err("its target was right".to_owned()),
            (Judged::NoTarget, _) => self.path(tree, changed.file, &old, &hit)?.map(Kind::Of),
            (Judged::External | Judged::Right(_), _) => Err("it was not broken".to_owned()),
        })
    }

    /// The kind that explains a new anchor.
    fn anchor(&self, tree: &Tree<'_>, hit: &Hit, old: &str, new: &str) -> Result<Result<Repair, String>, Error> {
        let reached = decodings(old);
        if reached.iter().any(|text| text == new) {
            return Ok(Ok(Repair::Decoded));
        }
        let Some(page) = &hit.page else { return Ok(Err("its target has no anchors".to_owned())) };
        let all = tree.with_anchors(page, When::After, |document| document.anchors.clone())?.unwrap_or_default();
        let folded = |text: &str| text.to_lowercase();
        let same_case: Vec<&String> = all.iter().filter(|anchor| folded(anchor) == folded(old)).collect();
        match same_case.as_slice() {
            [only] if only.as_str() == new => return Ok(Ok(Repair::Case)),
            [] => {}
            _ => return Ok(Err("other anchors differ from the old one in case alone".to_owned())),
        }
        let plain = |text: &str| text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        let nearest: Vec<&String> = all.iter().filter(|anchor| plain(anchor) == plain(old)).collect();
        let is_rival = nearest.iter().any(|anchor| anchor.as_str() == new) || nearest.is_empty();
        Ok(match is_rival {
            true => Ok(Repair::Anchor),
            false => Err("another anchor is nearer".to_owned()),
        })
    }

    /// The kind that explains a new path.
    fn path(&self, tree: &Tree<'_>, file: &RepoPath, old: &Local, hit: &Hit) -> Result<Result<Repair, String>, Error> {
        let goals: BTreeSet<&str> = [Some(hit.path.as_str()), hit.page.as_deref()].into_iter().flatten().collect();
        let is_goal = |path: &str| goals.contains(path);
        let folder = file.parent();
        let below = |written: &str| match written.strip_prefix('/') {
            Some(rest) => tree.params.site_root.iter().filter_map(|root| joined(root, rest)).collect::<Vec<_>>(),
            None => Vec::from_iter(joined(folder.as_ref().map_or("", RepoPath::as_str), written)),
        };
        let again = decodings(&old.written);
        let decoded: Vec<String> = again.iter().flat_map(|written| below(written)).collect();
        for path in &decoded {
            if tree.at(path, false)?.is_some_and(|found| found == *hit) {
                return Ok(Ok(Repair::Decoded));
            }
        }
        let plain = below(&old.written);
        let variants: BTreeSet<String> = plain.iter().chain(&decoded).flat_map(|path| tree.spellings(path)).collect();
        let fits = |fits: fn(&str, &str) -> bool| variants.iter().any(|path| goals.iter().any(|goal| fits(path, goal)));
        if fits(|path, goal| path.to_lowercase() == goal.to_lowercase()) {
            return Ok(Ok(Repair::Case));
        }
        for (trace, repair) in [(Trace::Rename, Repair::Moved), (Trace::Content, Repair::Content)] {
            let exact: Vec<_> = variants.iter().filter_map(|path| self.moved.get(path)).collect();
            let folded: BTreeSet<String> = variants.iter().map(|path| path.to_lowercase()).collect();
            let in_other_case = || self.moved.iter().filter(|(from, _)| folded.contains(&from.to_lowercase()));
            let known = if exact.is_empty() { in_other_case().map(|(_, targets)| targets).collect() } else { exact };
            let targets = known.into_iter().flatten();
            let targets: BTreeSet<&str> = targets.filter(|(_, by)| *by == trace).map(|(to, _)| to.as_str()).collect();
            let is_among = targets.iter().any(|to| is_goal(to));
            if is_among && targets.len() > 1 {
                return Ok(Err("its old target has become several files".to_owned()));
            }
            let is_moved = || self.came_along(tree, file, old, &is_goal) || self.folder_moved(&variants, hit);
            if is_among || trace == Trace::Rename && is_moved() {
                return Ok(Ok(repair));
            }
        }
        let told = |why: String| match &self.remark {
            Some(remark) => format!("{why}; of the history {remark}"),
            None => why,
        };
        Ok(self.name(&variants, &goals).map_err(told))
    }

    /// `name`, if the new target is the only one with the old one's name. A name that many folders have counts with its folder.
    fn name(&self, variants: &BTreeSet<String>, goals: &BTreeSet<&str>) -> Result<Repair, String> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let folder = |path: &str| path.rsplit('/').nth(1).unwrap_or_default().to_lowercase();
        let mut all = BTreeSet::new();
        let mut near = BTreeSet::new();
        // The files that stand for a folder have names of their own.
        let is_index = |path: &str| path.rsplit_once('/').is_some_and(|(folder, _)| variants.contains(folder));
        for path in variants.iter().filter(|path| !is_index(path)) {
            for found in self.names.get(&name(path)).into_iter().flatten() {
                all.insert(found.as_str());
                near.extend((folder(found) == folder(path)).then_some(found.as_str()));
            }
        }
        let is_only = |found: &BTreeSet<&str>| found.len() == 1 && found.iter().any(|path| goals.contains(path));
        match () {
            () if is_only(&all) || is_only(&near) => Ok(Repair::Name),
            () if all.len() < 2 => Err("nothing leads from the old target to the new one".to_owned()),
            () => Err("several files have the name of its old target".to_owned()),
        }
    }

    /// True if the file with the link was moved, and the link was right at its old place.
    fn came_along(&self, tree: &Tree<'_>, file: &RepoPath, old: &Local, is_goal: &dyn Fn(&str) -> bool) -> bool {
        let origins = self.origins.get(file.as_str()).into_iter().flatten();
        origins.into_iter().any(|origin| {
            let folder = origin.rsplit_once('/').map_or("", |(folder, _)| folder);
            let Some(path) = joined(folder, &old.written) else { return false };
            let is_moved =
                |path: &String| self.moved.get(path).is_some_and(|targets| targets.iter().any(|(to, _)| is_goal(to)));
            is_goal(&path) || tree.spellings(&path).iter().any(|path| is_goal(path) || is_moved(path))
        })
    }

    /// True if a file of an old folder is now below the new one.
    fn folder_moved(&self, variants: &BTreeSet<String>, hit: &Hit) -> bool {
        variants.iter().any(|path| {
            let below = format!("{path}/");
            let inside = self.moved.range(below.clone()..).take_while(|(from, _)| from.starts_with(&below));
            inside.into_iter().any(|(from, targets)| {
                let rest = &from[below.len()..];
                targets.iter().any(|(to, trace)| *trace == Trace::Rename && *to == format!("{}/{rest}", hit.path))
            })
        })
    }
}

/// The texts that further decoding of a path or anchor makes: percent-encoding, references, backslashes.
fn decodings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut last = text.to_owned();
    for _ in 0..4 {
        let references =
            crate::audit::spelling::Spelled::decode(last.as_bytes(), &[crate::audit::spelling::Layer::Entities]);
        let next = decoded(&String::from_utf8(references.bytes).unwrap_or_else(|_| last.clone()));
        for text in [next.clone(), next.replace('\\', "/"), next.trim().to_owned(), next.replace('+', " ")] {
            if text != last && !found.contains(&text) {
                found.push(text);
            }
        }
        last = next;
    }
    found
}

/// True if the parameters name the new target for the old one.
fn is_chosen(params: &Params, old: &Local, new: &Local, hit: &Hit) -> bool {
    let with =
        |path: &str, anchor: Option<&String>| anchor.map_or(path.to_owned(), |anchor| format!("{path}#{anchor}"));
    let goals = [Some(&hit.path), hit.page.as_ref()];
    let is_goal = |text: &String| {
        let (path, anchor) = text.split_once('#').map_or((text.as_str(), None), |(path, anchor)| (path, Some(anchor)));
        let is_path = goals.into_iter().flatten().any(|goal| goal == path.trim_end_matches('/'));
        is_path && anchor.is_none_or(|anchor| new.anchor.as_deref() == Some(anchor))
    };
    old.paths.iter().any(|path| {
        let keys = [with(path, old.anchor.as_ref()), path.clone(), format!("{path}/")];
        keys.iter().any(|key| params.choose.get(key).is_some_and(is_goal))
    })
}
