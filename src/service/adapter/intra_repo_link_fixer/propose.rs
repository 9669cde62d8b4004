//! Discovers and proposes: counts links, finds the broken ones, and writes the repairs that are certain.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{
    diagnosis::{self, Defect},
    history::History,
    page::{self, Kind, Manner, Page},
    params::{Dialect, Params},
    reference::{folder, joined},
    repair::{Broken, Decision, Fix, How, Repairer},
    resolve::{Break, Facts, Rules},
    rewrite::{self, Original},
    roots::Roots,
    scheme::Scheme,
    site::Sites,
    tree::Tree,
};
use crate::{
    Context,
    contract::{Counts, Finding, Invocation, Proposal},
    deadline::Deadline,
    survey::{Look, Results, Surveyed, survey},
};
use base::{
    change::{Change, Content, Stamp},
    error::{Code, Error},
    path::RepoPath,
    pulse::Pulse,
};
use system::{
    git,
    workspace::{self, Globs},
};

/// Larger files have no known anchors, in bytes.
const LARGEST: u64 = 64 << 20;

/// Longer configurations are not read, in bytes.
const LONGEST_SETTINGS: u64 = 1 << 20;

/// The reason that a certain repair is left out.
const UNWRITTEN: &str = "its new destination can't be written in its place";

/// Reads every file of the target and repairs its links.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let deadline = Deadline::begin(input, "resolving the links");
    let mut tree = tree(ctx)?;
    let mut sites = sites(ctx, params.anchors, &tree, &|| deadline.check(ctx))?;
    tree.mount(&sites.mounts);
    let roots = Roots::new(&tree, &params.site_root, &|path| text_of(ctx, path));
    sites.lend(roots.alike());
    let mut survey = survey(ctx, input, looked_at, |source| {
        let Some(kind) = Kind::of(source.path) else { return Ok(Look::Skip("it is no page".into())) };
        let manner = Manner::of(&params, &sites, source.path);
        let mut page = page::read(kind, source.bytes, manner, &|| source.pulse())?;
        Ok(page.skipped.take().map_or_else(|| Look::Read(page), Look::Skip))
    })?;
    survey.check_skipped(params.on_skip)?;
    let included: BTreeSet<String> =
        survey.files.iter_mut().flat_map(|file| std::mem::take(&mut file.found.includes)).collect();
    for file in survey.files.iter_mut().filter(|file| included.contains(file.path.file_name())) {
        file.found.doubt.get_or_insert_with(|| "other pages include it".to_owned());
        file.found.links.iter_mut().for_each(|link| link.reference.is_by_address = true);
    }
    let known = survey
        .files
        .iter_mut()
        .map(|file| (file.path.to_string(), Arc::new(facts(&mut file.found, sites.scheme(&file.path)))));
    let pages = known.collect();
    let (others, versions) = (Mutex::default(), Mutex::default());
    let facts = Known { ctx, params: &params, sites: &sites, deadline, pages, others, versions };
    let look = |path: &str, lines: bool| facts.look(path, lines);
    let on_disk = |path: &str| on_disk(ctx, path);
    let ignored = ctx.view.workspace().ignore_files();
    let history = OnceLock::new();
    let known = || history.get_or_init(|| history_of(ctx));
    let covers = |path: &str| RepoPath::parse(path).is_ok_and(|path| ignored.cover(&path));
    let has_moved = |path: &str| known().as_ref().is_ok_and(|history| history.has_moved(path));
    let led = |file: &str, path: &str| {
        known().as_ref().is_ok_and(|history| {
            let earlier = history.earlier(file).filter(|earlier| Roots::are_of_one_version(file, earlier));
            let mut places = earlier.filter_map(|earlier| joined(folder(earlier), path));
            !path.starts_with('/') && places.any(|place| tree.has_file(&place) || history.has_moved(&place))
        })
    };
    let earlier = |path: &str, names: &[String]| facts.earlier(path, names);
    let rules = Rules {
        tree: &tree,
        roots: &roots,
        params: &params,
        look: &look,
        on_disk: &on_disk,
        covers: &covers,
        has_moved: &has_moved,
        led: &led,
        earlier: &earlier,
    };
    let fixer = Fixer { ctx, deadline, rules, history: &known };
    let mut results = fixer.results(&survey.files)?;
    results.settings = sites.settings(survey.files.iter().map(|file| file.path.as_str()));
    survey.propose(results)
}

/// The sites of the workspace.
fn sites(ctx: &Context<'_>, dialect: Dialect, tree: &Tree, pulse: Pulse<'_>) -> Result<Sites, Error> {
    let read = |path: &str| {
        let content = ctx.view.read_within(&RepoPath::parse(path)?, LONGEST_SETTINGS)?;
        Ok(content.and_then(|content| String::from_utf8(content.into_bytes()).ok()))
    };
    Sites::of(dialect, tree, &read, pulse)
}

/// Reads the history of the workspace.
fn history_of(ctx: &Context<'_>) -> Result<History, Error> {
    let renames = (ctx.renames)()?;
    let mut history = History::default();
    history.remark = renames.remark;
    history.originals = renames.originals.into_iter().map(|path| path.to_string()).collect();
    history.versions = renames.versions.into_iter().map(|(path, names)| (path.to_string(), names)).collect();
    for renamed in renames.renamed {
        history.add(&renamed.from, &renamed.to, renamed.trace);
    }
    Ok(history)
}

fn facts(page: &mut Page, scheme: &Scheme) -> Facts {
    let has_prefix = matches!(scheme.dialect, Dialect::Github | Dialect::Gitlab);
    Facts {
        anchors: Some(std::mem::take(&mut page.anchors)),
        doubt: page.doubt.take(),
        has_prefix,
        lines: None,
        has_own_address: page.has_own_address,
    }
}

/// Lists every entry of the workspace that Git tracks or does not ignore.
fn tree(ctx: &Context<'_>) -> Result<Tree, Error> {
    let all = Globs::parse(&["**"])?;
    let files = ctx.view.list(&all, ctx.threads)?.paths;
    let mut links = ctx.view.list_entries(&all, ctx.threads)?.paths;
    links.retain(|path| files.binary_search(path).is_err());
    Ok(Tree::new(&files, &links, &git::tracked(ctx.view.workspace().root())?))
}

/// The text of a configuration file.
fn text_of(ctx: &Context<'_>, path: &str) -> Option<String> {
    let content = ctx.view.read_within(&RepoPath::parse(path).ok()?, LONGEST_SETTINGS).ok()??;
    String::from_utf8(content.into_bytes()).ok()
}

/// Tells of a path on the disk: true for a folder.
fn on_disk(ctx: &Context<'_>, path: &str) -> Option<bool> {
    let path = RepoPath::parse(path).ok()?;
    if ctx.view.overlay().get(&path).is_some() {
        return None;
    }
    let found = ctx.view.workspace().stat(&path).ok().flatten()?;
    Some(found.is_folder())
}

/// The facts of targets, each read once.
struct Known<'a> {
    ctx: &'a Context<'a>,
    params: &'a Params,
    sites: &'a Sites,
    deadline: Deadline,
    pages: BTreeMap<String, Arc<Facts>>,
    /// Those of files that the survey did not read.
    others: Mutex<BTreeMap<(String, bool), Arc<Facts>>>,
    /// The anchors that pages had.
    versions: Mutex<BTreeMap<String, Arc<Vec<BTreeSet<String>>>>>,
}

impl Known<'_> {
    fn look(&self, path: &str, lines: bool) -> Result<Arc<Facts>, Error> {
        if let Some(facts) = self.pages.get(path).filter(|_| !lines) {
            return Ok(Arc::clone(facts));
        }
        let key = (path.to_owned(), lines);
        if let Some(facts) = self.others.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(facts));
        }
        let facts = Arc::new(self.read(path, lines)?);
        self.others.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&facts));
        Ok(facts)
    }

    /// The anchors of a page in its earlier contents.
    fn earlier(&self, path: &str, names: &[String]) -> Result<Arc<Vec<BTreeSet<String>>>, Error> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = versions.get(path) {
            return Ok(Arc::clone(known));
        }
        let Some(kind) = Kind::of(path) else { return Ok(Arc::default()) };
        let manner = Manner::of(self.params, self.sites, path);
        let pulse = || self.deadline.check(self.ctx);
        let contents = (self.ctx.contents)(names)?;
        let read = |content: Vec<u8>| Ok(page::read(kind, &content, manner, &pulse)?.anchors);
        let read: Vec<_> = contents.into_iter().flatten().map(read).collect::<Result<_, Error>>()?;
        let read = Arc::new(read);
        versions.insert(path.to_owned(), Arc::clone(&read));
        Ok(read)
    }

    fn read(&self, path: &str, lines: bool) -> Result<Facts, Error> {
        let Some(content) = self.ctx.view.read_within(&RepoPath::parse(path)?, LARGEST)? else {
            return Ok(Facts::default());
        };
        let pulse = || self.deadline.check(self.ctx);
        let bytes = content.bytes.as_slice();
        if lines {
            let text = std::str::from_utf8(bytes).ok();
            return Ok(Facts { lines: text.map(|text| text.lines().count() as u64), ..Facts::default() });
        }
        let Some(kind) = Kind::of(path).filter(|_| std::str::from_utf8(bytes).is_ok()) else {
            return Ok(Facts::default());
        };
        let manner = Manner::of(self.params, self.sites, path);
        Ok(facts(&mut page::read(kind, bytes, manner, &pulse)?, manner.scheme))
    }
}

/// Finds broken links, and repairs them.
struct Fixer<'a> {
    ctx: &'a Context<'a>,
    deadline: Deadline,
    rules: Rules<'a>,
    history: &'a (dyn Fn() -> &'a Result<History, Error> + Sync),
}

/// The broken links of a file after their repair.
#[derive(Debug, Default)]
struct Mended {
    /// The number of links that were repaired in each way.
    ways: BTreeMap<How, u64>,
    change: Option<Change>,
    findings: Vec<Finding>,
}

type File = Surveyed<Page>;

impl Fixer<'_> {
    fn results(&self, files: &[File]) -> Result<Results, Error> {
        let pulse = || self.deadline.check(self.ctx);
        self.rules.check()?;
        let defects = workspace::parallel_map(self.ctx.threads, files, |file| {
            diagnosis::defects(&self.rules, (&file.path, &file.found), &pulse)
        });
        let defects = defects.into_iter().collect::<Result<Vec<_>, _>>()?;
        let needs_history = defects.iter().flatten().any(|defect| defect.why.is_break());
        let history =
            if needs_history { (self.history)().as_ref().map_err(Clone::clone)? } else { &History::default() };
        let repairer = Repairer { rules: self.rules, history };
        repairer.check_choices()?;
        let defective: Vec<(&File, &Vec<Defect>)> =
            files.iter().zip(&defects).filter(|(_, defects)| !defects.is_empty()).collect();
        let mended = workspace::parallel_map(self.ctx.threads, &defective, |(file, defects)| {
            pulse()?;
            self.mended(&repairer, file, defects)
        });
        let mut results = Results { counts: baseline(files, &defects), ..Results::default() };
        let mut total = Mended::default();
        for mended in mended {
            let Mended { ways, change, findings } = mended?;
            ways.into_iter().for_each(|(how, links)| *total.ways.entry(how).or_default() += links);
            results.changes.extend(change);
            results.findings.extend(findings);
        }
        let ways = How::ALL.map(|how| (how.count().to_owned(), total.ways.get(&how).copied().unwrap_or_default()));
        results.changed = Counts::from(ways);
        results.changed.insert("repairs".to_owned(), total.ways.values().sum());
        Ok(results)
    }

    /// Repairs the links of a file that can be. One that may be broken is repaired as well, and is told only if it is.
    fn mended(&self, repairer: &Repairer<'_>, file: &File, defects: &[Defect]) -> Result<Mended, Error> {
        let content = self.content(&file.path, file.before)?;
        let mut decisions = Vec::with_capacity(defects.len());
        for Defect { link, why, target, .. } in defects {
            self.deadline.check(self.ctx)?;
            let reference = &file.found.links[*link].reference;
            decisions.push(repairer.decide(Broken {
                file: &file.path,
                reference,
                why: *why,
                target: target.as_ref(),
            })?);
        }
        let fix = |(defect, decision): (&Defect, &'_ Decision)| match decision {
            Decision::Fix(fix) => Some((defect.link, fix.clone())),
            Decision::Open(..) => None,
        };
        let fixes: Vec<(usize, Fix)> = defects.iter().zip(&decisions).filter_map(fix).collect();
        let kind = Kind::of(&file.path).unwrap_or(Kind::Markdown);
        let original = Original { path: &file.path, kind, bytes: &content, page: &file.found };
        let rewritten = rewrite::rewrite(&self.rules, original, &fixes, &|| self.deadline.check(self.ctx))?;
        let written: BTreeSet<usize> = rewritten.written.into_iter().collect();
        let mut mended = Mended::default();
        for (defect, decision) in defects.iter().zip(decisions) {
            let (reason, candidates) = match decision {
                Decision::Fix(fix) if written.contains(&defect.link) => {
                    *mended.ways.entry(fix.how).or_default() += 1;
                    continue;
                }
                Decision::Fix(fix) => {
                    (UNWRITTEN.to_owned(), fix.target.map(|target| target.entry).into_iter().collect())
                }
                Decision::Open(reason, candidates) => (reason, candidates),
            };
            if defect.is_allowed {
                continue;
            }
            mended.findings.push(finding(file, &content, defect, (reason, candidates)));
        }
        mended.change = rewritten.bytes.map(|bytes| {
            let after = Some(Content::new(bytes, file.before.mode));
            Change { path: file.path.clone(), before: Some(file.before), after }
        });
        Ok(mended)
    }

    /// The bytes of a file that the survey has read.
    fn content(&self, path: &RepoPath, before: Stamp) -> Result<Vec<u8>, Error> {
        let content = self.ctx.view.read(path)?;
        if content.stamp() != before {
            return Err(Error::new(Code::StalePreimage, format!("`{path}` changed while its links were resolved"))
                .hint("run it again; nothing was changed"));
        }
        Ok(content.into_bytes())
    }
}

fn finding(file: &File, bytes: &[u8], defect: &Defect, (reason, mut candidates): (String, Vec<String>)) -> Finding {
    let link = &file.found.links[defect.link];
    let line = memchr::memchr_iter(b'\n', &bytes[..link.value.range.start]).count() as u64 + 1;
    candidates.sort();
    Finding {
        path: file.path.clone(),
        line: Some(line),
        place: link.reference.text().to_owned(),
        kind: defect.why.name().to_owned(),
        reason,
        candidates,
    }
}

/// The counts before the change.
fn baseline(files: &[File], defects: &[Vec<Defect>]) -> Counts {
    let links = files.iter().map(|file| file.found.links.len() as u64).sum();
    let breaks: Vec<&Defect> = defects.iter().flatten().filter(|defect| defect.why.is_break()).collect();
    let number = |is_wanted: fn(&Defect) -> bool| breaks.iter().filter(|defect| is_wanted(defect)).count() as u64;
    let unknown = defects.iter().flatten().filter(|defect| defect.why == Break::Unknown).count() as u64;
    let all = [
        ("links_total", links),
        ("links_allowed", number(|defect| defect.is_allowed)),
        ("links_broken", number(|defect| !defect.is_allowed)),
        ("links_broken_target", number(|defect| !defect.is_allowed && defect.target.is_none())),
        ("links_broken_anchor", number(|defect| !defect.is_allowed && defect.target.is_some())),
        ("links_unknown", unknown),
    ];
    all.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
