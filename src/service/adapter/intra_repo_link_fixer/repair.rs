//! Decides on the repair of a broken link: one that is certain, or none and the candidates. It writes no text.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    history::History,
    near,
    page::{ENDINGS, Kind},
    params::Repair,
    reference::{Reference, decoded, folder, is_common, is_licence, is_telling, joined, name},
    resolve::{Break, Page, Rules, Target},
    roots::Roots,
};
use base::{
    error::{Code, Error},
    text::counted,
};

/// The largest number of candidates that are listed.
const MOST_CANDIDATES: usize = 10;

/// The largest number of spellings that are decoded further.
const MOST_SPELLINGS: usize = 16;

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
    /// True if a move of a file tells where the link leads now. A site may read a relative path from another place.
    fn follows_moves(&self) -> bool {
        let is_rooted = self.reference.path().starts_with('/') && Kind::of(self.file) != Some(Kind::Html);
        is_rooted || !self.reference.is_by_address
    }

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
            (Break::Anchor, Some(target)) => match self.left(broken, target)? {
                Some(decision) => Ok(decision),
                None => self.anchor(broken.reference, target, None),
            },
            (Break::Unsure, Some(target)) => Ok(Decision::Open(self.doubt(target)?, Vec::new())),
            (Break::Ignored, _) => {
                Ok(Decision::Open(format!("`{}` is not in Git", broken.place(&self.rules)), Vec::new()))
            }
            (Break::Unknown, target) => {
                let doubt = target.and_then(|target| self.rules.doubt(target, broken.reference.fragment()));
                Ok(Decision::Open(doubt.unwrap_or_default(), Vec::new()))
            }
            (Break::Line, _) => {
                Ok(Decision::Open(format!("`{}` has fewer lines", broken.place(&self.rules)), Vec::new()))
            }
            (Break::File | Break::Outside | Break::Anchor | Break::Unsure, _) => self.path(broken),
        }
    }

    /// Checks the targets that `choose` names: they exist, with their anchors.
    pub(super) fn check_choices(&self) -> Result<(), Error> {
        for choice in self.rules.params.choose.values() {
            let (target, anchor) = self.choice(choice);
            let found = match (&target, anchor) {
                (None, _) => Some(Break::File),
                (Some(target), _) if target.page == Page::Absent => Some(Break::File),
                // Another copy of an ignored page may lack the anchor.
                (Some(target), Some(_)) if self.rules.is_ignored(target) => Some(Break::Anchor),
                (Some(target), Some(anchor)) => self.rules.fragment_in(anchor, false, target)?,
                (Some(_), None) => None,
            };
            let (what, hint) = match (found, &target) {
                (None, _) => continue,
                (Some(Break::Unsure), Some(target)) => (
                    format!("but {}", self.doubt(target)?),
                    "give an anchor that is certain, or name it in the heading",
                ),
                _ => (
                    "which does not exist".to_owned(),
                    "give a file of the workspace, with one of its anchors or without: `docs/a.md#usage`",
                ),
            };
            return Err(Error::new(Code::InvalidInput, format!("`params.choose` names `{choice}`, {what}")).hint(hint));
        }
        Ok(())
    }

    /// The reason that an anchor of a target is unknown.
    fn doubt(&self, target: &Target) -> Result<String, Error> {
        let Page::File(page) = &target.page else { return Ok(format!("`{}` has no such anchor", target.entry)) };
        let facts = (self.rules.look)(page, false)?;
        let why = facts.doubt.as_deref().unwrap_or_default();
        Ok(format!("it is unknown if `{}` has this anchor: {why}", target.entry))
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
        if anchor.is_none() && broken.reference.fragment().is_some() && self.rules.is_ignored(&target) {
            let reason = format!("`{choice}` was chosen for it, which Git ignores, so that its anchors are unknown");
            return Ok(Some(Decision::Open(reason, Vec::new())));
        }
        let stays = broken.target == Some(&target);
        let anchor = anchor.filter(|_| broken.reference.fragment().is_some()).map(str::to_owned);
        Ok(Some(Decision::Fix(Fix { how, target: Some(target).filter(|_| !stays), anchor })))
    }

    fn path(&self, broken: Broken<'_>) -> Result<Decision, Error> {
        let readings = Readings::of(self, broken);
        for repair in [Repair::Decoded, Repair::Case, Repair::Moved, Repair::Content, Repair::Name] {
            // From another address, neither a name nor a spelling tells of a file.
            let is_told = !broken.reference.is_by_address || (repair == Repair::Moved && broken.follows_moves());
            if !is_told || !self.rules.params.repairs(repair) {
                continue;
            }
            let mut found = match repair {
                Repair::Decoded => readings.again.iter().filter_map(|place| self.rules.at(place, false)).collect(),
                Repair::Case => readings.here().flat_map(|place| self.in_other_case(place)).collect(),
                Repair::Moved => self.moved(&readings),
                Repair::Content => self.with_content(&readings),
                Repair::Name => self.named(broken.file, &readings),
                Repair::Anchor => Vec::new(),
            };
            if !found.is_empty() && matches!(repair, Repair::Decoded | Repair::Case) {
                // The link of a moved file may rather lead to its old target.
                found.extend(readings.earlier.iter().filter_map(|place| self.at_earlier(place, readings.is_folder)));
            }
            found.retain(|target| !self.rules.is_ignored(target));
            let found = sorted(found);
            match found.as_slice() {
                [] => {}
                [target] => {
                    return match self.uncertain(repair, broken, target)? {
                        Some(reason) => Ok(Decision::Open(reason, vec![target.entry.clone()])),
                        None => self.whole(repair, broken.reference, target),
                    };
                }
                several => return Ok(self.ambiguous(broken, several)),
            }
        }
        let named = |place: &String| self.rules.tree.named(name(place)).to_vec();
        // Many sites serve a page without its extension.
        let with_end = |place: &String| {
            let pages = ENDINGS.iter().map(|(end, _)| format!("{place}{end}"));
            pages.filter(|page| self.rules.tree.has_file(page)).collect::<Vec<_>>()
        };
        let candidates = readings.plain.iter().flat_map(with_end).chain(readings.plain.iter().flat_map(named));
        let candidates = candidates.take(MOST_CANDIDATES).collect();
        let from =
            if broken.reference.is_by_address { ", though its site may read it from the page's address" } else { "" };
        Ok(Decision::Open(format!("`{}` does not exist{from}", broken.place(&self.rules)), candidates))
    }

    /// The reason that a single target is not certain.
    fn uncertain(&self, repair: Repair, broken: Broken<'_>, target: &Target) -> Result<Option<String>, Error> {
        let entry = &target.entry;
        let by = match repair {
            Repair::Name => "name",
            Repair::Content => "content",
            Repair::Moved => "move",
            Repair::Decoded | Repair::Case | Repair::Anchor => {
                return Ok(self.rules.doubt(target, broken.reference.fragment()));
            }
        };
        let old = self.rules.places(broken.file, &decoded(broken.reference.path()));
        let is_apart = match repair {
            Repair::Moved => Roots::are_other_editions(broken.file, entry, &old),
            _ => self.rules.roots.are_apart(broken.file, entry, &old),
        };
        let apart = is_apart
            .then(|| format!("only its {by} leads to `{entry}`, in another documentation, language or version"));
        let may_differ =
            (broken.reference.is_by_address && has_capitals(entry) && !(is_simple(entry) && self.is_lowered(&old)))
                .then(|| format!("it moved to `{entry}`, which its site may have at an address in lower case"));
        let is_original = (repair == Repair::Name && self.history.originals.contains(broken.file)).then(|| {
            format!("only its name leads to `{entry}`, and its file is as old as the history, which can't tell of earlier moves")
        });
        let is_plain = repair == Repair::Name && Kind::of(entry).is_none() && !is_telling(name(entry));
        let is_plain = is_plain
            .then(|| format!("only its name leads to `{entry}`, and other files may have had a name of one word"));
        let remark = self.history.remark.as_ref().filter(|_| repair == Repair::Name);
        let unknown = || Some(format!("only its name leads to `{entry}`, and moves may be unknown: {}", remark?));
        let hides = || {
            (repair == Repair::Name && self.rules.tree.lacks_submodule()).then(|| {
                format!("only its name leads to `{entry}`, and a submodule that is not here may have that name, too")
            })
        };
        let doubt = self.rules.doubt(target, broken.reference.fragment());
        let named = match &target.page {
            Page::File(page) if broken.reference.is_by_address && Kind::of(page).is_some() => {
                let has_own = (self.rules.look)(page, false)?.has_own_address;
                has_own.then(|| format!("it moved to `{entry}`, which names its own address"))
            }
            _ => None,
        };
        let doubt = doubt.or(apart).or(named).or(may_differ);
        Ok(doubt.or_else(unknown).or_else(hides).or(is_original).or(is_plain))
    }

    /// True if a site has the paths of files in lower case: a link was so written to a file whose path had capitals.
    fn is_lowered(&self, places: &[String]) -> bool {
        let variants = |place| self.rules.variants(place);
        let is_lower = |place: &String| place.to_lowercase() == *place;
        places.iter().all(|place| is_lower(place) && self.history.renamed(&variants(place)).is_empty())
            && places.iter().any(|place| !self.history.renamed_in_any_case(&variants(place)).is_empty())
    }

    fn ambiguous(&self, broken: Broken<'_>, several: &[Target]) -> Decision {
        let count = counted(several.len() as u64, "file");
        let candidates = several.iter().take(MOST_CANDIDATES).map(|target| target.entry.clone());
        Decision::Open(format!("`{}` may mean {count}", broken.place(&self.rules)), candidates.collect())
    }

    /// The decision on an anchor that its target lacks because the page with it moved, or the file with the link.
    fn left(&self, broken: Broken<'_>, target: &Target) -> Result<Option<Decision>, Error> {
        let is_told = !broken.reference.path().is_empty() && broken.follows_moves();
        if !is_told || !self.rules.params.repairs(Repair::Moved) {
            return Ok(None);
        }
        let readings = Readings::of(self, broken);
        let has_page = target.page != Page::None;
        let fronts = readings.plain.iter().filter(|_| !has_page).map(|place| self.rules.fronts(place));
        let mut found: Vec<Target> = fronts.flat_map(|fronts| self.led(&self.history.renamed(&fronts))).collect();
        found.extend(self.earlier_targets(&readings));
        let mut found = sorted(found);
        let is_other = |found: &Target| Roots::are_other_editions(broken.file, &found.entry, &readings.plain);
        found.retain(|found| found.page != target.page && !self.rules.is_ignored(found) && !is_other(found));
        if let Some(absent) = found.iter().find(|found| found.page == Page::Absent) {
            let reason = self.rules.doubt(absent, broken.reference.fragment()).unwrap_or_default();
            return Ok(Some(Decision::Open(reason, vec![absent.entry.clone()])));
        }
        let mut right = Vec::new();
        for found in &found {
            right.extend(self.rules.fragment(broken.reference, found)?.is_none().then(|| found.clone()));
        }
        match (right.as_slice(), found.as_slice()) {
            ([target], _) | ([], [target]) if !right.is_empty() || !has_page => {
                Ok(Some(match self.uncertain(Repair::Moved, broken, target)? {
                    Some(reason) => Decision::Open(reason, vec![target.entry.clone()]),
                    None => self.whole(Repair::Moved, broken.reference, target)?,
                }))
            }
            ([], _) => Ok(None),
            (several, _) => Ok(Some(self.ambiguous(broken, several))),
        }
    }

    /// The repair of a path, if the link is right with it.
    fn whole(&self, repair: Repair, reference: &Reference, target: &Target) -> Result<Decision, Error> {
        match self.rules.fragment(reference, target)? {
            None => {}
            // The path is certain without the anchor, which stays in doubt.
            Some(Break::Unsure) if repair != Repair::Name => {}
            Some(_) => return self.anchor(reference, target, Some(repair)),
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
        if facts.doubt.is_some() {
            return Ok(Decision::Open(self.doubt(target)?, self.similar(reference, target)?));
        }
        let Some(anchors) = &facts.anchors else { return open() };
        let Some((repair, anchor)) = self.other_anchor(&decoded(fragment), anchors) else { return open() };
        if repair == Repair::Anchor && self.were_together(page, &decoded(fragment), &anchor)? {
            let reason = format!("`{page}` had this heading and `#{anchor}` at the same time");
            return Ok(Decision::Open(reason, self.similar(reference, target)?));
        }
        let how = How::By(path.unwrap_or(repair));
        Ok(Decision::Fix(Fix { how, target: path.map(|_| target.clone()), anchor: Some(anchor) }))
    }

    /// True if the last version of a page with an anchor had another one, too.
    fn were_together(&self, page: &str, wanted: &str, other: &str) -> Result<bool, Error> {
        let Some(names) = self.history.versions.get(page) else { return Ok(false) };
        let versions = (self.rules.earlier)(page, names)?;
        Ok(versions.iter().find(|anchors| anchors.contains(wanted)).is_some_and(|anchors| anchors.contains(other)))
    }

    fn other_anchor(&self, fragment: &str, anchors: &BTreeSet<String>) -> Option<(Repair, String)> {
        let may = |repair: Repair| self.rules.params.repairs(repair).then_some(repair);
        let single = |mut found: Vec<&String>| if found.len() == 1 { found.pop().cloned() } else { None };
        let again = || spellings(fragment.to_owned()).into_iter().find(|spelling| anchors.contains(spelling));
        let by_decoding = || may(Repair::Decoded).and_then(|way| Some((way, again()?)));
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

    fn in_other_case(&self, place: &str) -> Vec<Target> {
        let variants = self.rules.variants(place);
        let others = variants.iter().flat_map(|place| self.rules.tree.in_any_case(place));
        others.filter_map(|place| self.rules.at(place, false)).collect()
    }

    /// The targets that moved, and those that the link had from the earlier places of its file.
    fn moved(&self, readings: &Readings) -> Vec<Target> {
        let places: Vec<Vec<String>> = readings.here().map(|place| self.rules.variants(place)).collect();
        let mut found: Vec<Target> = places.iter().flat_map(|all| self.led(&self.history.renamed(all))).collect();
        if found.is_empty() {
            found = places.iter().flat_map(|all| self.led(&self.history.renamed_in_any_case(all))).collect();
        }
        found.extend(self.earlier_targets(readings));
        found
    }

    /// The targets that the link had from the earlier places of its file, where they are now.
    fn earlier_targets(&self, readings: &Readings) -> Vec<Target> {
        let landed = |place: &String| match self.at_earlier(place, readings.is_folder) {
            // The page of a folder may have left it.
            Some(target) if target.page == Page::None => {
                let led = self.led(&self.history.renamed(&self.rules.fronts(place)));
                if led.is_empty() { vec![target] } else { led }
            }
            // Another file may have taken the place since.
            Some(target) => [vec![target], self.led(&self.history.replaced(&self.rules.variants(place)))].concat(),
            None => {
                let variants = self.rules.variants(place);
                let led = self.led(&self.history.renamed(&variants));
                let led = if led.is_empty() { self.in_other_case(place) } else { led };
                if led.is_empty() { self.led(&self.history.renamed_in_any_case(&variants)) } else { led }
            }
        };
        readings.earlier.iter().flat_map(landed).collect()
    }

    /// The target at an earlier place of a link. Ignored places and those in submodules are not candidates.
    fn at_earlier(&self, place: &str, is_folder: bool) -> Option<Target> {
        self.rules.at(place, is_folder).filter(|it| it.page != Page::Absent || self.rules.tree.is_left_out(&it.entry))
    }

    /// The files with the content that was there. A licence tells nothing by it.
    fn with_content(&self, readings: &Readings) -> Vec<Target> {
        let telling = readings.all().filter(|place| !is_licence(place));
        telling.flat_map(|place| self.led(&self.history.with_content_of(&self.rules.variants(place)))).collect()
    }

    fn led(&self, paths: &BTreeSet<String>) -> Vec<Target> {
        paths.iter().filter_map(|path| self.rules.at(path, false)).collect()
    }

    /// True if the history knows a file to be another than the one at the link's path.
    fn is_other(&self, readings: &Readings, file: &str) -> bool {
        let mut places = readings.all().flat_map(|place| self.rules.variants(place));
        places.any(|place| self.history.are_apart(&place, file))
    }

    /// The file of that name, if no other has it in any case. A name that many folders have counts with its folder.
    fn named(&self, file: &str, readings: &Readings) -> Vec<Target> {
        let mut found: BTreeMap<&String, bool> = BTreeMap::new();
        for path in &readings.spellings {
            let last = name(path);
            if matches!(last, "" | "." | "..") || readings.plain.is_empty() {
                continue;
            }
            for wanted in std::iter::once(last.to_owned()).chain(self.rules.spelled_otherwise(last)) {
                for other in self.rules.tree.named(&wanted) {
                    let has_folder = !is_common(last) || name(folder(other)) == name(folder(path));
                    *found.entry(other).or_default() |= has_folder && wanted == name(other);
                }
            }
        }
        match found.pop_first() {
            Some((only, true)) if found.is_empty() && only != file && !self.is_other(readings, only) => {
                self.rules.at(only, false).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The ways to read the path of a broken link. Places are beneath the workspace.
struct Readings {
    /// The path, decoded, and what becomes of it by further decoding.
    spellings: Vec<String>,
    /// The places of the path.
    plain: Vec<String>,
    /// The places of its other spellings.
    again: Vec<String>,
    /// The places of all spellings from earlier places of the file.
    earlier: Vec<String>,
    is_folder: bool,
}

impl Readings {
    fn of(repairer: &Repairer<'_>, Broken { file, reference, .. }: Broken<'_>) -> Self {
        let path = decoded(reference.path()).into_owned();
        let rules = &repairer.rules;
        let plain = rules.places(file, &path);
        let is_folder = path.ends_with('/');
        let spellings = spellings(path);
        let again = spellings[1..].iter().flat_map(|spelling| rules.places(file, spelling)).collect();
        // A version of a documentation that was cut from it did not move.
        let moved = repairer.history.earlier(file).filter(|earlier| Roots::are_of_one_version(file, earlier));
        let earlier = moved.flat_map(|earlier| {
            let relative = spellings.iter().filter(|spelling| !spelling.starts_with('/'));
            relative.filter_map(|spelling| joined(folder(earlier), spelling))
        });
        let earlier = earlier.collect();
        Readings { spellings, plain, again, earlier, is_folder }
    }

    /// The places from the file's own folder.
    fn here(&self) -> impl Iterator<Item = &String> {
        self.plain.iter().chain(&self.again)
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.here().chain(&self.earlier)
    }
}

/// True for the path of a page or folder with capitals, which an address may lack.
pub(super) fn has_capitals(path: &str) -> bool {
    (Kind::of(path).is_some() || !name(path).contains('.')) && path.to_lowercase() != path
}

/// True for a path that every generator takes for an address but for its case.
fn is_simple(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte))
}

/// A path, then everything that further decoding of it makes.
fn spellings(path: String) -> Vec<String> {
    let mut found = vec![path];
    let mut at = 0;
    while at < found.len().min(MOST_SPELLINGS) {
        let path = &found[at];
        let next = [
            decoded(path).into_owned(),
            path.replace("%25", "%"),
            path.replace('\\', "/"),
            path.replace("&amp;", "&"),
            path.trim().to_owned(),
            path.replace('+', " "),
        ];
        for path in next {
            if !path.is_empty() && !found.contains(&path) {
                found.push(path);
            }
        }
        at += 1;
    }
    found
}

/// The targets in order, each once. A folder stands for its page, too.
fn sorted(mut found: Vec<Target>) -> Vec<Target> {
    found.sort_by(|a, b| a.entry.cmp(&b.entry));
    let mut seen = BTreeSet::new();
    found.retain(|target| match &target.page {
        Page::File(page) => seen.insert(page.clone()),
        Page::None | Page::Unknown | Page::Absent => seen.insert(target.entry.clone()),
    });
    found
}
