//! The reason for a repair: the kind that explains a changed destination, found again from the tree and its history.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::params::{Params, Repair},
    aim::{Aim, Local, aim, decoded, joined},
    document::{Document, Found},
    format::Format,
    root,
    tree::{Hit, Judged, Sight, Tree, When},
};
use audit::spelling::{Layer, Spelled};
use base::{error::Error, path::RepoPath};
use system::git::{Renamed, Trace};

/// The longest anchor that is compared with others, in characters.
const LONGEST: usize = 256;
/// The largest number of texts that decoding one may make.
const MOST_TEXTS: usize = 32;

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
    pub(super) old: &'a Found,
    pub(super) new: &'a Found,
}

/// Old paths, each with all that became of it.
type Ends = BTreeMap<String, BTreeSet<String>>;

/// Everything that can explain a repair.
#[derive(Default)]
pub(super) struct Reasons {
    /// The files of the workspace by their names in lower case.
    names: Ends,
    /// The files and folders by their paths in lower case.
    cased: Ends,
    /// The files that a path became.
    moved: Ends,
    /// The same by the old path in lower case.
    folded: Ends,
    /// The files with the content that a path had.
    contents: Ends,
    /// The other files of a removed path's name.
    apart: Ends,
    /// The files that a path became before it was another one's.
    replaced: Ends,
    /// The paths that a file had.
    origins: Ends,
    /// The names of the contents that files had, the newest first.
    versions: BTreeMap<RepoPath, Vec<String>>,
    /// The files that the history begins with.
    originals: BTreeSet<RepoPath>,
    /// The reason that the history is not known as a whole, if any.
    remark: Option<String>,
}

impl Kind {
    /// True for evidence of a page that holds without its anchor.
    pub(super) fn is_certain(self) -> bool {
        !matches!(self, Kind::Chosen | Kind::Of(Repair::Name | Repair::Anchor))
    }

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
        let renames = tree.renames()?;
        let mut reasons = Reasons {
            remark: renames.remark.clone(),
            versions: renames.versions.clone(),
            originals: renames.originals.clone(),
            ..Reasons::default()
        };
        let note = |ends: &mut Ends, key: &str, end: &str| {
            ends.entry(key.to_owned()).or_default().insert(end.to_owned());
        };
        for path in tree.entries.iter().chain(&tree.left_out) {
            note(&mut reasons.names, &last(path).to_lowercase(), path);
            let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            for path in folders.chain([path.as_str()]) {
                note(&mut reasons.cased, &path.to_lowercase(), path);
            }
        }
        for Renamed { from, to, trace } in &renames.renamed {
            let (from, to) = (from.as_str(), to.as_str());
            match trace {
                Trace::Content => note(&mut reasons.contents, from, to),
                Trace::Apart => note(&mut reasons.apart, from, to),
                Trace::Replaced => {
                    note(&mut reasons.origins, to, from);
                    note(&mut reasons.replaced, from, to);
                }
                Trace::Rename => {
                    note(&mut reasons.origins, to, from);
                    note(&mut reasons.folded, &from.to_lowercase(), to);
                    note(&mut reasons.moved, from, to);
                }
            }
        }
        Ok(reasons)
    }

    /// The kind that explains a repair of a broken link, of its path before its anchor; else the reason that none does.
    pub(super) fn explain(&self, tree: &Tree<'_>, changed: &Changed<'_>) -> Result<Result<Kind, String>, Error> {
        let roots = &tree.params.site_root;
        let (Aim::Local(old), Aim::Local(new)) =
            (aim(&changed.old.url, changed.file, roots), aim(&changed.new.url, changed.file, roots))
        else {
            return Ok(Err("it leads out of the tree".to_owned()));
        };
        // Where the path stays, it may be that of a page that another one stands in for.
        let hit = if old.paths == new.paths { tree.hit_or_stand_in(&new)? } else { tree.hit(&new)? };
        let by_url = || match tree.is_of_url(changed.file, changed.new, &new) {
            true => tree.hit_of_url(changed.file, &new),
            false => Ok(None),
        };
        let hit = hit.map_or_else(by_url, |hit| Ok(Some(hit)))?.filter(|hit| hit.sight != Sight::Elsewhere);
        let Some(hit) = hit else { return Ok(Err("its new target does not exist".to_owned())) };
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
            (Judged::NoAnchor(_), _)
                if tree.is_of_url(changed.file, changed.old, &old)
                    && !self.may_follow(tree, changed.file, [&old, &new], &hit)? =>
            {
                Err("its site reads it from the URL of the page".to_owned())
            }
            (Judged::NoAnchor(before), kind) if before.page.is_none() || kind.is_none() => {
                self.left(tree, (changed.file, &old), &before, &hit)?.map(Kind::Of)
            }
            (Judged::NoAnchor(_), _) => Err("its target was right".to_owned()),
            (Judged::NoTarget, _) => {
                let is_of_url = tree.is_of_url(changed.file, changed.old, &old);
                let may_move = !is_of_url || self.may_follow(tree, changed.file, [&old, &new], &hit)?;
                self.path(tree, (changed.file, &old, is_of_url), (&hit, may_move))?.map(Kind::Of)
            }
            (Judged::External | Judged::Unknown | Judged::Right(_) | Judged::Unsure(_), _) => {
                Err("it was not broken".to_owned())
            }
        })
    }

    /// The kind that explains a new anchor.
    fn anchor(&self, tree: &Tree<'_>, hit: &Hit, old: &str, new: &str) -> Result<Result<Repair, String>, Error> {
        let reached = decodings(old);
        if reached.iter().any(|text| text == new) {
            return Ok(Ok(Repair::Decoded));
        }
        let Some(page) = &hit.page else { return Ok(Err("its target has no anchors".to_owned())) };
        let known = |document: &Document| (document.anchors.clone(), document.is_open);
        let (all, is_open) = tree.with_anchors(page, When::After, known)?.unwrap_or_default();
        if is_open {
            return Ok(Err("its target may have the old anchor".to_owned()));
        }
        let folded = old.to_lowercase();
        let same_case: Vec<&String> = all.iter().filter(|anchor| anchor.to_lowercase() == folded).collect();
        match same_case.as_slice() {
            [only] if only.as_str() == new => return Ok(Ok(Repair::Case)),
            [] => {}
            _ => return Ok(Err("other anchors differ from the old one in case alone".to_owned())),
        }
        let plain = |text: &str| text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        let old_plain = plain(old);
        let alike: Vec<&String> = all.iter().filter(|anchor| plain(anchor) == old_plain).collect();
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let length = old.chars().count();
        let distance = |anchor: &str| strsim::osa_distance(&folded, anchor);
        let bound = || length <= LONGEST && distance(new) <= 3 + length / 3;
        let is_nearest = || {
            let own = distance(new);
            all.iter().all(|other| other == new || are_apart(&folded, other, own) || distance(other) > own)
        };
        Ok(match alike.as_slice() {
            [only] if only.as_str() != new => Err("another anchor is nearer".to_owned()),
            [] if digits(old) != digits(new) || !bound() || !is_nearest() => {
                Err("its new anchor is not near to the old one, or another is nearer".to_owned())
            }
            [_] | [] if self.had_both(tree, page, [old, new])? => Err("the page had both anchors once".to_owned()),
            [_] | [] => Ok(Repair::Anchor),
            _ => Err("another anchor is nearer".to_owned()),
        })
    }

    /// True if a page had a new anchor already when it last had the old one.
    fn had_both(&self, tree: &Tree<'_>, page: &str, [old, new]: [&str; 2]) -> Result<bool, Error> {
        let path = RepoPath::parse(page)?;
        let (Some(names), Some(format)) = (self.versions.get(&path), Format::of(&path)) else { return Ok(false) };
        for content in (tree.ctx.contents)(names)?.into_iter().flatten() {
            let anchors = tree.document(format, &path, &content)?.anchors;
            if anchors.contains(old) {
                return Ok(anchors.contains(new));
            }
        }
        Ok(false)
    }

    /// The kind that explains a new path: the first way that leads from the old path, and to the new target alone.
    fn path(
        &self,
        tree: &Tree<'_>,
        (file, old, is_of_url): (&RepoPath, &Local, bool),
        (hit, may_move): (&Hit, bool),
    ) -> Result<Result<Repair, String>, Error> {
        let texts = [vec![old.written.clone()], decodings(&old.written)].concat();
        let here: Vec<String> = texts.iter().flat_map(|text| below(tree, file, text)).collect();
        let again: Vec<String> = texts[1..].iter().flat_map(|text| below(tree, file, text)).collect();
        for repair in [Repair::Decoded, Repair::Case, Repair::Moved, Repair::Content] {
            let mut ends = match repair {
                _ if !tree.params.repairs(repair) || (is_of_url && (repair != Repair::Moved || !may_move)) => {
                    continue;
                }
                Repair::Decoded => at(tree, again.iter())?,
                Repair::Case => self.in_other_case(tree, &here)?,
                Repair::Moved => {
                    let exact = self.became(tree, &here)?;
                    let there = if exact.is_empty() { self.became_in_any_case(tree, &here)? } else { exact };
                    [there, self.hits_of_origins(tree, file, &texts)?].concat()
                }
                _ => {
                    let places = [here.clone(), self.at_origins(file, &texts)].concat();
                    let telling = places.iter().filter(|place| !is_licence(place));
                    let contents = telling.filter_map(|place| first(&self.contents, &tree.spellings(place)));
                    at(tree, contents.flatten())?
                }
            };
            if !ends.is_empty() && matches!(repair, Repair::Decoded | Repair::Case) {
                ends.extend(self.still_at_origins(tree, file, &texts)?);
            }
            ends.retain(|end| self.is_known(&end.path));
            match ends.as_slice() {
                [] => {}
                _ if repair == Repair::Moved && root::are_other_editions(file, &hit.path, &old.paths) => {
                    return Ok(Err("its new target is of another language or version".to_owned()));
                }
                _ if repair == Repair::Content && root::are_apart(tree, file, &hit.path, &old.paths) => {
                    return Ok(Err("its new target is of another documentation".to_owned()));
                }
                _ if is_only(&ends, hit) => return Ok(Ok(repair)),
                _ => return Ok(Err(format!("its old path may mean another file by `{}`", Kind::Of(repair).name()))),
            }
        }
        self.by_name(tree, (file, old, is_of_url), (&texts, &here), hit)
    }

    /// `name`, if the new target is the only file with the old name.
    fn by_name(
        &self,
        tree: &Tree<'_>,
        (file, old, is_of_url): (&RepoPath, &Local, bool),
        (texts, here): (&[String], &[String]),
        hit: &Hit,
    ) -> Result<Result<Repair, String>, Error> {
        let told = |why: String| match &self.remark {
            Some(remark) => format!("{why}; of the history {remark}"),
            None => why,
        };
        let places = [here.to_vec(), self.at_origins(file, texts)].concat();
        let others = places.iter().flat_map(|place| tree.spellings(place)).filter_map(|path| self.apart.get(&path));
        if others.flatten().any(|other| is_goal(hit, other)) {
            return Ok(Err("its new target existed beside the old one".to_owned()));
        }
        match here.is_empty() {
            _ if is_of_url => Ok(Err("its site reads it from the URL of the page".to_owned())),
            true => Ok(Err("its old path left the workspace".to_owned())),
            false if root::are_apart(tree, file, &hit.path, &old.paths) => {
                Ok(Err("its new target is of another documentation".to_owned()))
            }
            false if self.originals.contains(file) => {
                Ok(Err("the history begins with its file, so that it can't tell of earlier moves".to_owned()))
            }
            false => Ok(self.name(tree, texts, hit).map_err(told)),
        }
    }

    /// The kind that explains a new path where only the anchor was missing: the page left its folder, or the file moved.
    fn left(
        &self,
        tree: &Tree<'_>,
        (file, old): (&RepoPath, &Local),
        before: &Hit,
        hit: &Hit,
    ) -> Result<Result<Repair, String>, Error> {
        let texts = [vec![old.written.clone()], decodings(&old.written)].concat();
        let mut ends = self.hits_of_origins(tree, file, &texts)?;
        if before.page.is_none() {
            for place in &old.paths {
                ends.extend(at(tree, first(&self.moved, &tree.fronts(place)).into_iter().flatten())?);
            }
        }
        let anchor = old.anchor.as_deref().unwrap_or_default();
        let mut right = Vec::new();
        for end in &ends {
            if tree.has_anchor(end, &old.query, anchor, When::After)? {
                right.push(end.clone());
            }
        }
        let may_be = |end: &Hit| self.is_known(&end.path) && !root::are_other_editions(file, &end.path, &old.paths);
        right.retain(may_be);
        ends.retain(may_be);
        let is_explained = is_only(&right, hit) || (right.is_empty() && before.page.is_none() && is_only(&ends, hit));
        let is_asked = !old.written.is_empty() && tree.params.repairs(Repair::Moved);
        Ok((is_explained && is_asked).then_some(Repair::Moved).ok_or_else(|| "its target was right".to_owned()))
    }

    /// The targets that a moved file's link has from the earlier places of the file.
    fn still_at_origins(&self, tree: &Tree<'_>, file: &RepoPath, texts: &[String]) -> Result<Vec<Hit>, Error> {
        let is_folder = texts.first().is_some_and(|text| text.ends_with('/'));
        self.at_origins(file, texts).iter().filter_map(|place| at_origin(tree, place, is_folder).transpose()).collect()
    }

    /// True if a move of a file tells the new target of a link that a site resolves against the URL of its page.
    fn may_follow(&self, tree: &Tree<'_>, file: &RepoPath, [old, new]: [&Local; 2], hit: &Hit) -> Result<bool, Error> {
        if let Some(page) = hit.page.as_ref().filter(|page| is_page(page))
            && tree.with_anchors(page, When::After, |document| document.has_address)? == Some(true)
        {
            return Ok(false);
        }
        // A page has its URL in lower case.
        let is_other = last(&hit.path).contains('.') && !is_page(&hit.path);
        let keeps_case = is_other || hit.path.chars().all(|c| !c.is_uppercase());
        let is_told = keeps_case || (is_url(&hit.path) && self.are_lower(tree, [old, new]));
        Ok(is_told && old.written.starts_with('/') && Format::of(file) != Some(Format::Html))
    }

    /// True if a link in lower case led to a moved path with capitals, and the new one is in lower case as well.
    fn are_lower(&self, tree: &Tree<'_>, [old, new]: [&Local; 2]) -> bool {
        let spelled = || old.paths.iter().map(|path| tree.spellings(path));
        let is_lower = |text: &String| text.chars().all(|c| !c.is_uppercase());
        let is_exact = spelled().any(|all| first(&self.moved, &all).is_some());
        let had_capitals = spelled().any(|all| is_lower(&all[0]) && first(&self.folded, &all).is_some());
        is_lower(&old.written) && is_lower(&new.written) && had_capitals && !is_exact
    }

    /// True for a file that Git does not ignore, or a folder with such files.
    fn is_known(&self, path: &str) -> bool {
        path.is_empty() || self.cased.get(&path.to_lowercase()).is_some_and(|paths| paths.contains(path))
    }

    fn in_other_case(&self, tree: &Tree<'_>, places: &[String]) -> Result<Vec<Hit>, Error> {
        let all = places.iter().flat_map(|place| tree.spellings(place));
        let all: BTreeSet<String> = all.map(|path| path.to_lowercase()).collect();
        at(tree, all.iter().filter_map(|path| self.cased.get(path)).flatten())
    }

    /// The files and folders that places became, each in the first of its spellings of which that is known.
    fn became(&self, tree: &Tree<'_>, places: &[String]) -> Result<Vec<Hit>, Error> {
        at(tree, places.iter().filter_map(|place| first(&self.moved, &tree.spellings(place))).flatten())
    }

    fn became_in_any_case(&self, tree: &Tree<'_>, places: &[String]) -> Result<Vec<Hit>, Error> {
        let folded =
            |place: &String| tree.spellings(place).into_iter().map(|path| path.to_lowercase()).collect::<Vec<_>>();
        at(tree, places.iter().filter_map(|place| first(&self.folded, &folded(place))).flatten())
    }

    /// The places of relative paths from the earlier places of a file.
    fn at_origins(&self, file: &RepoPath, texts: &[String]) -> Vec<String> {
        let origins = self.origins.get(file.as_str()).into_iter().flatten();
        let origins = origins.filter(|origin| root::versions(origin).eq(root::versions(file)));
        let folders = origins.map(|origin| origin.rsplit_once('/').map_or("", |(folder, _)| folder));
        let relative =
            |folder| texts.iter().filter(|text| !text.starts_with('/')).filter_map(move |text| joined(folder, text));
        folders.flat_map(relative).collect()
    }

    /// The targets that a moved file's link had from the earlier places of the file, as they are now.
    fn hits_of_origins(&self, tree: &Tree<'_>, file: &RepoPath, texts: &[String]) -> Result<Vec<Hit>, Error> {
        let is_folder = texts.first().is_some_and(|text| text.ends_with('/'));
        let mut ends = Vec::new();
        for place in self.at_origins(file, texts) {
            let there = at_origin(tree, &place, is_folder)?;
            let places = [place];
            let found = match there {
                // The page of a folder may have left it.
                Some(hit) if hit.page.is_none() && hit.sight == Sight::Here => {
                    let led = at(tree, first(&self.moved, &tree.fronts(&places[0])).into_iter().flatten())?;
                    if led.is_empty() { vec![hit] } else { led }
                }
                Some(hit) => {
                    let others = first(&self.replaced, &tree.spellings(&places[0])).into_iter().flatten();
                    [vec![hit], at(tree, others)?].concat()
                }
                None => {
                    let led = self.became(tree, &places)?;
                    let led = if led.is_empty() { self.in_other_case(tree, &places)? } else { led };
                    if led.is_empty() { self.became_in_any_case(tree, &places)? } else { led }
                }
            };
            ends.extend(found);
        }
        Ok(ends)
    }

    /// `name`, if the new target is the only one with the old one's name. A name that many folders have counts with its folder.
    fn name(&self, tree: &Tree<'_>, texts: &[String], hit: &Hit) -> Result<Repair, String> {
        let folder = |path: &str| path.rsplit('/').nth(1).unwrap_or_default().to_owned();
        let (mut all, mut near) = (BTreeSet::new(), BTreeSet::new());
        for text in texts {
            for name in [vec![last(text).to_owned()], tree.extended(last(text))].concat() {
                for found in self.names.get(&name.to_lowercase()).into_iter().flatten() {
                    all.insert(found.as_str());
                    near.extend((folder(found) == folder(text)).then_some(found.as_str()));
                }
            }
        }
        let is_only = |found: &BTreeSet<&str>| found.len() == 1 && found.iter().all(|path| is_goal(hit, path));
        match () {
            () if !tree.params.repairs(Repair::Name) => {
                Err("nothing leads from the old target to the new one".to_owned())
            }
            () if self.remark.is_some() || tree.lacks_submodule() => {
                Err("nothing but its name leads to the new target".to_owned())
            }
            () if !is_page(&hit.path) && !has_words(last(&hit.path)) => {
                Err("nothing but a name of one word leads to the new target".to_owned())
            }
            () if is_only(&all) || is_only(&near) => Ok(Repair::Name),
            () if all.len() < 2 => Err("nothing leads from the old target to the new one".to_owned()),
            () => Err("several files have the name of its old target".to_owned()),
        }
    }
}

/// True for the path of a page.
fn is_page(path: &str) -> bool {
    RepoPath::parse(path).is_ok_and(|path| Format::of(&path).is_some())
}

/// True for a path of letters, digits and signs that stand for themselves in a URL.
fn is_url(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'))
}

/// True for a file name with two words or more before its extension.
fn has_words(name: &str) -> bool {
    let stem = &name[..name.rfind('.').unwrap_or(name.len())];
    let is_letter = |c: &char| c.is_alphabetic();
    let letters: Vec<char> = stem.chars().collect();
    let runs = letters.chunk_by(|a, b| is_letter(a) && is_letter(b) && !(a.is_lowercase() && b.is_uppercase()));
    runs.filter(|run| run.len() > 1 && run.iter().all(is_letter)).count() > 1
}

/// True for a file whose content is the same in many projects.
fn is_licence(path: &str) -> bool {
    let stem = last(path).split('.').next().unwrap_or_default().to_lowercase();
    ["copying", "licence", "license", "notice"].contains(&stem.as_str())
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The ends of the first path that has some.
fn first<'e>(ends: &'e Ends, paths: &[String]) -> Option<&'e BTreeSet<String>> {
    paths.iter().find_map(|path| ends.get(path))
}

/// The target at an earlier place of a link. What git ignores, and what is in a submodule, may have been any file.
fn at_origin(tree: &Tree<'_>, place: &str, is_folder: bool) -> Result<Option<Hit>, Error> {
    let hit = tree.at(place, is_folder)?;
    Ok(hit.filter(|hit| hit.sight != Sight::Elsewhere || tree.left_out.contains(&hit.path)))
}

/// The targets of paths, as far as they exist.
fn at<'p>(tree: &Tree<'_>, paths: impl Iterator<Item = &'p String>) -> Result<Vec<Hit>, Error> {
    paths.filter_map(|path| tree.at(path, false).transpose()).collect()
}

fn is_goal(hit: &Hit, path: &str) -> bool {
    hit.path == path || hit.page.as_deref() == Some(path)
}

/// True if all of them are that target. A folder is the same as its page.
fn is_only(ends: &[Hit], hit: &Hit) -> bool {
    let key = |hit: &Hit| hit.page.clone().unwrap_or_else(|| hit.path.clone());
    !ends.is_empty() && ends.iter().all(|end| key(end) == key(hit))
}

/// The paths beneath the workspace that a decoded path in a file may mean.
fn below(tree: &Tree<'_>, file: &RepoPath, text: &str) -> Vec<String> {
    let folder = file.parent();
    match text.strip_prefix('/') {
        Some(rest) => tree.params.site_root.iter().filter_map(|root| joined(root, rest)).collect(),
        None => Vec::from_iter(joined(folder.as_ref().map_or("", RepoPath::as_str), text)),
    }
}

/// The texts that further decoding of a path or anchor makes, in any order: percent-encoding, references, backslashes, `+` and
/// white space at the ends.
fn decodings(text: &str) -> Vec<String> {
    let mut found = BTreeSet::from([text.to_owned()]);
    let mut fresh = vec![text.to_owned()];
    while let Some(text) = fresh.pop().filter(|_| found.len() < MOST_TEXTS) {
        let references = Spelled::decode(text.as_bytes(), &[Layer::Entities]).bytes;
        let references = String::from_utf8(references).unwrap_or_default();
        for next in [
            decoded(&text),
            text.replace("%25", "%"),
            references,
            text.replace('\\', "/"),
            text.trim().to_owned(),
            text.replace('+', " "),
        ] {
            if !next.is_empty() && found.insert(next.clone()) {
                fresh.push(next);
            }
        }
    }
    found.remove(text);
    found.into_iter().collect()
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

/// True for texts that lack more of each other's letters than a number: so many changes don't make one of the other.
fn are_apart(one: &str, other: &str, changes: usize) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let (one, other) = (sorted(one), sorted(other));
    let (mut a, mut b, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        shared += usize::from(x == y);
        a += usize::from(x <= y);
        b += usize::from(y <= x);
    }
    one.len().max(other.len()) - shared > changes
}
