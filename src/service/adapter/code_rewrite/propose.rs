//! Discovers and proposes: finds the matches of a pattern or of rules, and rewrites them.

use super::params::{Params, Sources};
use crate::{
    Context, SYNTAX_ERROR,
    contract::{Counts, Finding, Invocation, Proposal},
    deadline::Deadline,
    survey::{self, Look, Results, Surveyed, survey},
};
use base::{
    change::{Change, Content},
    error::{Code, Error},
    language::Language,
    path::RepoPath,
};
use format::code::{
    file::{File, Found},
    query::{Query, Words},
    rewrite::{Rewritten, rewrite},
    rule::Rules,
    rule_test,
    scan::Match,
};

/// The longest place of a finding, in characters.
const PLACE: usize = 80;

/// The matches in one file.
#[derive(Debug, Default)]
struct Page {
    /// The number of matches that are rewritten.
    matches: u64,
    after: Option<Rewritten>,
    /// Matches that stay, as those of rules without a fix: line, text, rule and message.
    left: Vec<(u64, String, String, String)>,
}

/// Reads every file of the target and rewrites its matches.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let sources = Sources::read(ctx, &params)?;
    let wanted = Wanted::new(&params, &sources)?;
    let deadline = Deadline::begin(input, "testing the rules");
    if let Wanted::Files(rules) = &wanted {
        rule_test::check(rules, &sources.tests, &|| deadline.check(ctx))?;
    }
    let mut survey = survey(ctx, input, looked_at, |source| look(&wanted, &params, source))?;
    survey.check_skipped(params.on_skip)?;
    let mut results = Results::default();
    let (mut matches, mut edits) = (0, 0);
    for file in &mut survey.files {
        matches += file.found.matches;
        results.findings.extend(file.found.left.drain(..).map(|left| finding(&file.path, left)));
        if let Some(after) = file.found.after.take() {
            edits += after.edits;
            results.changes.push(change(file, after));
        }
    }
    sources.check_unchanged(results.changes.iter().map(|change| &change.path))?;
    results.counts =
        Counts::from([("matches".to_owned(), matches), ("matches_left".to_owned(), results.findings.len() as u64)]);
    results.changed = Counts::from([("rewrites".to_owned(), edits)]);
    survey.propose(results)
}

/// The rules of files, or one rule for several languages.
enum Wanted<'a> {
    Files(Rules),
    One(Query<'a>),
}

impl<'a> Wanted<'a> {
    fn new(params: &'a Params, sources: &Sources) -> Result<Self, Error> {
        if !params.rules.list().is_empty() {
            let rules = Rules::parse(&sources.rules, &sources.utils)?;
            return Ok(Wanted::Files(if params.once { rules.once()? } else { rules }));
        }
        let query = Query::new(Words {
            pattern: params.pattern.as_deref(),
            selector: params.selector.as_deref(),
            strictness: params.strictness.as_deref(),
            rule: params.rule.as_ref(),
            fix: params.fix.as_deref(),
            language: params.language()?,
            once: params.once,
        });
        query.map(Wanted::One)
    }

    fn rules(&self, language: Language) -> Result<Option<&Rules>, Error> {
        match self {
            Wanted::Files(rules) => Ok(Some(rules)),
            Wanted::One(query) => query.rules(language),
        }
    }
}

fn look(wanted: &Wanted<'_>, params: &Params, source: &survey::Source<'_>) -> Result<Look<Page>, Error> {
    let Some(language) = Language::of_path(source.path) else {
        return Ok(Look::Skip("it has no known language".into()));
    };
    let Ok(text) = std::str::from_utf8(source.bytes) else { return Ok(Look::Skip("it is not UTF-8".into())) };
    let file = File::new(source.path, language, |language| wanted.rules(language))?;
    let pulse = || source.pulse();
    let found = match file.find(text, params.allow_errors, &pulse)? {
        Found::Matches(found) => found,
        Found::Broken(_) => return Ok(Look::Skip(SYNTAX_ERROR.into())),
    };
    let mut page = Page::default();
    for one in &found {
        match (&one.edit, one.effect(text)) {
            (None, _) => page.left.push(left(text, one)),
            (Some(_), Some(_)) => page.matches += 1,
            (Some(_), None) => {}
        }
    }
    page.after = rewrite(&file, (text, &found), &pulse)?;
    let edits = page.after.as_ref().map_or(0, |after| after.edits);
    if params.is_one_rule_once() && edits > page.matches {
        let message = format!("`once` would rewrite {edits} places of `{}`, where {} match", source.path, page.matches);
        return Err(Error::new(Code::InvalidInput, message)
            .hint("narrow the rule so that the new text does not match elsewhere"));
    }
    Ok(Look::Read(page))
}

fn left(text: &str, found: &Match) -> (u64, String, String, String) {
    let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..found.range.start]).count() as u64 + 1;
    let place = text[found.range.clone()].lines().next().unwrap_or_default().chars().take(PLACE).collect();
    (line, place, found.rule.clone(), found.message.clone())
}

fn finding(path: &RepoPath, (line, place, kind, message): (u64, String, String, String)) -> Finding {
    let reason = if message.is_empty() { "the rule has no fix".to_owned() } else { message };
    Finding { path: path.clone(), line: Some(line), place, kind, reason, candidates: Vec::new() }
}

fn change(file: &Surveyed<Page>, after: Rewritten) -> Change {
    let content = Content::new(after.text.into_bytes(), file.before.mode);
    Change { path: file.path.clone(), before: Some(file.before), after: Some(content) }
}
