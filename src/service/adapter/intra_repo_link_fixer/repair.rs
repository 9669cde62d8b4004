//! Decides on the repair of a broken link: one that is certain, or none and the candidates. It writes no text.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    history::History,
    near,
    params::Repair,
    reference::{Reference, decoded, folder, joined, name},
    resolve::{Break, FRONT_PAGES, Page, Rules, Target},
};
use crate::base::{
    error::{Code, Error},
    text::counted,
};

/// Names that many folders have, in lower case and without extension.
const COMMON: &[&str] = &[
    "__init__",
    "_index",
    "cargo",
    "changelog",
    "contributing",
    "dockerfile",
    "index",
    "lib",
    "license",
    "main",
    "makefile",
    "mod",
    "package",
    "pyproject",
    "readme",
    "summary",
    "toc",
];

/// The largest number of candidates that are listed.
const MOST_CANDIDATES: usize = 10;

/// A way of repair, as the counts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    /// A parameter names the target.
    Chosen,
    /// A kind of repair.
    By(Repair),
}

impl How {
    /// Every way, in the order of their trial.
    pub(super) const ALL: [How; 7] = [
        How::Chosen,
        How::By(Repair::Decoded),
        How::By(Repair::Case),
        How::By(Repair::Moved),
        How::By(Repair::Content),
        How::By(Repair::Name),
        How::By(Repair::Anchor),
    ];

    /// The count of links that were repaired in this way.
    pub(super) fn count(self) -> &'static str {
        match self {
            How::Chosen => "repairs_chosen",
            How::By(Repair::Decoded) => "repairs_decoded",
            How::By(Repair::Case) => "repairs_case",
            How::By(Repair::Moved) => "repairs_moved",
            How::By(Repair::Content) => "repairs_content",
            How::By(Repair::Name) => "repairs_name",
            How::By(Repair::Anchor) => "repairs_anchor",
        }
    }
}

/// A repair of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fix {
    /// The way; that of the path, if both parts are new.
    pub(super) how: How,
    /// The new target; none if the path stays.
    pub(super) target: Option<Target>,
    /// The new anchor; none if the fragment stays.
    pub(super) anchor: Option<String>,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The link can be repaired.
    Fix(Fix),
    /// It can't be: the reason, and the targets that it may mean.
    Open(String, Vec<String>),
}

/// A broken link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broken<'a> {
    /// The file with the link.
    pub(super) file: &'a str,
    pub(super) reference: &'a Reference,
    pub(super) why: Break,
    /// The target of its path, if it has one.
    pub(super) target: Option<&'a Target>,
}

/// All that a decision depends on.
#[derive(Clone, Copy)]
pub(super) struct Repairer<'a> {
    pub(super) rules: Rules<'a>,
    pub(super) history: &'a History,
}

impl Broken<'_> {
    /// The path beneath the workspace that it names, as a key of `choose`; outside of it, the path as it is written.
    pub(super) fn place(&self, rules: &Rules<'_>) -> String {
        let path = decoded(self.reference.path());
        match self.target {
            Some(target) => target.entry.clone(),
            None => rules.places(self.file, &path).into_iter().next().unwrap_or_else(|| path.into_owned()),
        }
    }
}

impl Repairer<'_> {
    /// Decides on one broken link.
    pub(super) fn decide(&self, broken: Broken<'_>) -> Result<Decision, Error> {
        if broken.why.is_break()
            && let Some(decision) = self.chosen(broken)?
        {
            return Ok(decision);
        }
        match (broken.why, broken.target) {
            (Break::Anchor, Some(target)) => self.anchor(broken.reference, target, None),
            (Break::Ignored, _) => {
                Ok(Decision::Open(format!("Git ignores `{}`", broken.place(&self.rules)), Vec::new()))
            }
            (Break::Line, _) => {
                Ok(Decision::Open(format!("`{}` has fewer lines", broken.place(&self.rules)), Vec::new()))
            }
            (Break::File | Break::Outside | Break::Anchor, _) => self.path(broken),
        }
    }

    /// Checks the targets that `choose` names: they exist, with their anchors.
    pub(super) fn check_choices(&self) -> Result<(), Error> {
        for choice in self.rules.params.choose.values() {
            let (target, anchor) = self.choice(choice);
            let wrong = match (&target, anchor) {
                (None, _) => true,
                (Some(target), Some(anchor)) => self.rules.fragment_in(anchor, false, target)?.is_some(),
                (Some(_), None) => false,
            };
            if wrong {
                return Err(Error::new(
                    Code::InvalidInput,
                    format!("`params.choose` names `{choice}`, which does not exist"),
                )
                .hint("give a file of the workspace, with one of its anchors or without: `docs/a.md#usage`"));
            }
        }
        Ok(())
    }

    fn choice<'c>(&self, choice: &'c str) -> (Option<Target>, Option<&'c str>) {
        let (path, anchor) = choice.split_once('#').map_or((choice, None), |(path, anchor)| (path, Some(anchor)));
        (joined("", path).and_then(|place| self.rules.at(&place, path.ends_with('/'))), anchor)
    }

    fn chosen(&self, broken: Broken<'_>) -> Result<Option<Decision>, Error> {
        let choose: &BTreeMap<String, String> = &self.rules.params.choose;
        if choose.is_empty() {
            return Ok(None);
        }
        let place = broken.place(&self.rules);
        let with_anchor = broken.reference.fragment().map(|fragment| format!("{place}#{}", decoded(fragment)));
        let Some(choice) = with_anchor.and_then(|key| choose.get(&key)).or_else(|| choose.get(&place)) else {
            return Ok(None);
        };
        let (Some(target), anchor) = self.choice(choice) else { return Ok(None) };
        let how = How::Chosen;
        if anchor.is_none() && self.rules.fragment(broken.reference, &target)?.is_some() {
            let reason = format!("`{choice}` was chosen for it, which does not have its anchor");
            return Ok(Some(Decision::Open(reason, self.similar(broken.reference, &target)?)));
        }
        let stays = broken.target == Some(&target);
        let anchor = anchor.filter(|_| broken.reference.fragment().is_some()).map(str::to_owned);
        Ok(Some(Decision::Fix(Fix { how, target: Some(target).filter(|_| !stays), anchor })))
    }

    fn path(&self, broken: Broken<'_>) -> Result<Decision, Error> {
        let path = decoded(broken.reference.path());
        for repair in [Repair::Decoded, Repair::Case, Repair::Moved, Repair::Content, Repair::Name] {
            if !self.rules.params.repairs(repair) {
                continue;
            }
            let mut found: Vec<Target> = match repair {
                Repair::Decoded => self.decoded(broken.file, &path),
                Repair::Case => self.in_other_case(broken.file, &path),
                Repair::Moved => self.moved(broken.file, &path),
                Repair::Content => self.with_content(broken.file, &path),
                Repair::Name => self.named(broken.file, &path),
                Repair::Anchor => Vec::new(),
            };
            found.sort_by(|a, b| a.entry.cmp(&b.entry));
            found.dedup();
            match found.as_slice() {
                [] => {}
                [target] => return self.whole(repair, broken.reference, target),
                several => {
                    let reason =
                        format!("`{}` may mean {}", broken.place(&self.rules), counted(several.len() as u64, "file"));
                    return Ok(Decision::Open(
                        reason,
                        several.iter().take(MOST_CANDIDATES).map(|target| target.entry.clone()).collect(),
                    ));
                }
            }
        }
        let candidates = self.rules.tree.named(name(&path)).iter().take(MOST_CANDIDATES).cloned().collect();
        Ok(Decision::Open(format!("`{}` does not exist", broken.place(&self.rules)), candidates))
    }

    /// The repair of a path, if the link is right with it.
    fn whole(&self, repair: Repair, reference: &Reference, target: &Target) -> Result<Decision, Error> {
        if self.rules.fragment(reference, target)?.is_some() {
            return self.anchor(reference, target, Some(repair));
        }
        Ok(Decision::Fix(Fix { how: How::By(repair), target: Some(target.clone()), anchor: None }))
    }

    /// The repair of an anchor in a target, to which `path` leads.
    fn anchor(&self, reference: &Reference, target: &Target, path: Option<Repair>) -> Result<Decision, Error> {
        let open = || -> Result<Decision, Error> {
            let reason = format!("`{}` has no such anchor", target.entry);
            Ok(Decision::Open(reason, self.similar(reference, target)?))
        };
        let (Some(fragment), Page::File(page)) = (reference.fragment(), &target.page) else { return open() };
        let facts = (self.rules.look)(page, false)?;
        let Some(anchors) = &facts.anchors else { return open() };
        let Some((repair, anchor)) = self.other_anchor(&decoded(fragment), anchors) else { return open() };
        let how = How::By(path.unwrap_or(repair));
        Ok(Decision::Fix(Fix { how, target: path.map(|_| target.clone()), anchor: Some(anchor) }))
    }

    fn other_anchor(&self, fragment: &str, anchors: &BTreeSet<String>) -> Option<(Repair, String)> {
        let may = |repair: Repair| self.rules.params.repairs(repair).then_some(repair);
        let single = |mut found: Vec<&String>| if found.len() == 1 { found.pop().cloned() } else { None };
        let again = decoded(fragment);
        let by_decoding = || may(Repair::Decoded).zip(anchors.get(&*again).cloned());
        let is_other_case = |anchor: &&String| anchor.to_lowercase() == fragment.to_lowercase();
        let by_case = || may(Repair::Case).zip(single(anchors.iter().filter(is_other_case).collect()));
        let by_nearness = || may(Repair::Anchor).zip(near::nearest(fragment, anchors));
        by_decoding().or_else(by_case).or_else(by_nearness)
    }

    fn similar(&self, reference: &Reference, target: &Target) -> Result<Vec<String>, Error> {
        let (Some(fragment), Page::File(page)) = (reference.fragment(), &target.page) else { return Ok(Vec::new()) };
        let facts = (self.rules.look)(page, false)?;
        let similar = facts.anchors.as_ref().map(|anchors| near::similar(&decoded(fragment), anchors));
        Ok(similar.unwrap_or_default().into_iter().map(|anchor| format!("{page}#{anchor}")).collect())
    }

    /// The targets of a path in other spellings.
    fn decoded(&self, file: &str, path: &str) -> Vec<Target> {
        let mut spellings =
            vec![decoded(path).into_owned(), decoded(&decoded(path)).into_owned(), path.replace('\\', "/")];
        spellings.extend([path.replace('+', " "), path.replace("&amp;", "&"), path.trim().to_owned()]);
        spellings.extend([path.replace('\\', "/")].iter().map(|path| decoded(path).into_owned()));
        spellings.retain(|spelling| spelling != path && !spelling.is_empty());
        let found = |spelling: &String| {
            self.rules.places(file, spelling).iter().find_map(|place| self.rules.at(place, spelling.ends_with('/')))
        };
        spellings.iter().filter_map(found).collect()
    }

    fn in_other_case(&self, file: &str, path: &str) -> Vec<Target> {
        let spelled = |place: String| {
            let others = self.rules.spelled_otherwise(&place);
            std::iter::once(place).chain(others).collect::<Vec<_>>()
        };
        let places = self.rules.places(file, path).into_iter().flat_map(spelled);
        places
            .flat_map(|place| self.rules.tree.in_any_case(&place).to_vec())
            .filter_map(|place| self.rules.at(&place, false))
            .collect()
    }

    /// The targets that moved, and those that the link had from the earlier place of its file.
    fn moved(&self, file: &str, path: &str) -> Vec<Target> {
        let ends_in_slash = path.ends_with('/');
        let places = self.rules.places(file, path);
        let mut found = self.renamed(places.clone(), ends_in_slash, |place| self.history.renamed(place));
        if found.is_empty() {
            found = self.renamed(places, ends_in_slash, |place| self.history.renamed_in_other_case(place));
        }
        if !path.starts_with('/') {
            for earlier in self.history.earlier(file) {
                let Some(place) = joined(folder(earlier), path) else { continue };
                match self.rules.at(&place, ends_in_slash) {
                    // The page of a folder may have left it.
                    Some(target) if target.page == Page::None => {
                        let pages = FRONT_PAGES.iter().filter_map(|name| joined(&place, name)).collect();
                        let led = self.renamed(pages, ends_in_slash, |page| self.history.renamed(page));
                        found.extend(if led.is_empty() { vec![target] } else { led });
                    }
                    Some(target) => found.push(target),
                    None => found.extend(self.renamed(vec![place], ends_in_slash, |place| self.history.renamed(place))),
                }
            }
        }
        found
    }

    fn with_content(&self, file: &str, path: &str) -> Vec<Target> {
        self.renamed(self.rules.places(file, path), path.ends_with('/'), |place| self.history.with_content_of(place))
    }

    /// The targets that places lead to, each also without its extension.
    fn renamed(
        &self,
        places: Vec<String>,
        ends_in_slash: bool,
        lead: impl Fn(&str) -> BTreeSet<String>,
    ) -> Vec<Target> {
        let mut found = Vec::new();
        for place in places {
            let others = self.rules.spelled_otherwise(&place);
            let led = std::iter::once(&place).chain(&others).map(|place| lead(place)).find(|led| !led.is_empty());
            let target = |to: String| self.rules.at(&to, false).or_else(|| self.rules.at(&to, ends_in_slash));
            found.extend(led.into_iter().flatten().filter_map(target));
        }
        found
    }

    /// The file of that name, if no other has it in any case. A name that many folders have counts with its folder.
    fn named(&self, file: &str, path: &str) -> Vec<Target> {
        let last = name(path);
        if last.is_empty() || matches!(last, "." | "..") {
            return Vec::new();
        }
        let names = self.rules.spelled_otherwise(last);
        let all = std::iter::once(last).chain(names.iter().map(String::as_str));
        let files: Vec<&String> = all.clone().flat_map(|name| self.rules.tree.named(name)).collect();
        let [found] = files.as_slice() else { return Vec::new() };
        let stem = last.split('.').next().unwrap_or_default().to_lowercase();
        let is_common = COMMON.contains(&stem.as_str()) || last.starts_with('.');
        let is_same = *found != file && all.clone().any(|wanted| wanted == name(found));
        if !is_same || (is_common && name(folder(found)) != name(folder(path))) {
            return Vec::new();
        }
        self.rules.at(found, false).into_iter().collect()
    }
}
