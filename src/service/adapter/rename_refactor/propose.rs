//! Discovers and proposes: reads every file, chooses the places of one thing, and writes the new name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CHANGED, FOUND, absent, lexical, lsp,
    page::{Family, Page},
    params::{Engine, Params, Scope},
    places::Places,
    refusal::finding,
    rewrite::{self, Rewritten, Tally},
    scope,
    world::{Marks, World},
};
use crate::{
    Context,
    contract::{self, Counts, Finding, Invocation, Proposal},
    deadline::Deadline,
    survey::{Look, Results, Survey, survey},
};
use base::{
    change::Stamp,
    error::{Code, Error},
    language::Language,
    text::counted,
};
use format::name::{
    facts::{Form, Meaning},
    reserved,
    script::Change,
    token::{Class, Token},
    word::Word,
};

/// The number of remaining places that a proposal lists.
const LISTED: usize = 2000;

/// The finding at a member that no binding explains.
const MEMBER: &str = "it is a member of a value whose type is not known";

/// The findings in one file.
struct Found {
    page: Option<Page>,
    marks: Marks,
}

/// Reads every file of the target and proposes the new name.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let deadline = Deadline::begin(input, "looking at the files");
    let change = Change { from: &params.from, to: &params.to };
    let (word, to) = (Word::new(&params.from), Word::new(&params.to));
    let mut survey = survey(ctx, input, looked_at, |source| {
        let marks = Marks::of(source.path, source.bytes, &to);
        if !word.is_in(source.bytes) {
            return Ok(Look::Read(Found { page: None, marks }));
        }
        let Ok(text) = std::str::from_utf8(source.bytes) else { return Ok(Look::Skip("it is not UTF-8".into())) };
        let page = Page::read(source.path, text, change, &|| source.pulse())?;
        Ok(Look::Read(Found { page, marks }))
    })?;
    survey.check_skipped(params.on_skip)?;
    let stamps: BTreeMap<String, Stamp> =
        survey.files.iter().map(|file| (file.path.to_string(), file.before)).collect();
    let world = world(&mut survey, (ctx, change, &deadline));
    check_names(&world, &params)?;
    let places = choose(&world, &params)?;
    let Some(places) = places else { return Err(absent::no_match(&world, survey.skipped.len())?) };
    let done = rewrite::rewrite(&world, &params, &places, &stamps)?;
    let results = results(&world, done, &places);
    let mut proposal = survey.propose(results)?;
    proposal.baseline.engine = Some(contract::Engine { name: places.engine.to_owned(), server: places.server });
    Ok(proposal)
}

fn world<'a>(survey: &mut Survey<Found>, surroundings: (&'a Context<'a>, Change<'a>, &'a Deadline)) -> World<'a> {
    let marks = survey.files.iter().map(|file| (file.path.to_string(), file.found.marks)).collect();
    let pages = survey.files.iter_mut().filter_map(|file| file.found.page.take()).collect();
    World::new(surroundings, pages, marks)
}

/// `invalid_input` if a language of the files refuses the new name.
fn check_names(world: &World<'_>, params: &Params) -> Result<(), Error> {
    let wanted = |page: &&Page| match &params.scope {
        Scope::Glob(_) => page.is_in_code(),
        Scope::File { file } => page.path.as_str() == file,
        Scope::Symbol { path, .. } => page.path.as_str() == path,
    };
    let languages: BTreeSet<Language> = world.target().filter(wanted).map(|page| page.language).collect();
    for language in languages {
        if let Some(reason) = reserved::refusal(language, &params.to) {
            return Err(Error::new(Code::InvalidInput, reason).hint("choose another `params.to`; nothing was changed"));
        }
    }
    Ok(())
}

/// The places by the engine of the parameters, or by the first that is certain.
fn choose(world: &World<'_>, params: &Params) -> Result<Option<Places>, Error> {
    let has_rules = |page: &Page| !matches!(page.family(), Family::Other(_));
    let is_known = match &params.scope {
        Scope::Glob(_) => world.target().filter(|page| page.is_in_code()).all(has_rules),
        Scope::File { file: path } | Scope::Symbol { path, .. } => world.page(path).is_none_or(has_rules),
    };
    let has_server = || lsp::server(world, params).is_some();
    match params.engine {
        Engine::Lexical => lexical::choose(world, params),
        Engine::Lsp => lsp::choose(world, params),
        Engine::Scope => scope::choose(world, params),
        Engine::Auto if !is_known && has_server() => lsp::choose(world, params),
        Engine::Auto if !is_known => lexical::choose(world, params),
        Engine::Auto => match scope::choose(world, params) {
            // A server knows what syntax leaves open.
            Err(refused) if lsp::may_overrule(&refused) && has_server() => lsp::choose(world, params),
            chosen => chosen,
        },
    }
}

fn results(world: &World<'_>, done: Rewritten, places: &Places) -> Results {
    let mut total = Tally::default();
    world.target().flat_map(|page| &page.tokens).for_each(|token| total.add(token.class));
    let Rewritten { renamed, kept, files, edited, changes } = done;
    let to_rename = renamed.total() + files;
    let of_renamed = [to_rename, renamed.code, renamed.strings, renamed.comments, files];
    let found = [total.total(), total.code, total.strings, total.comments].into_iter().chain(of_renamed);
    let left = [total.code - renamed.code + kept, total.strings - renamed.strings, total.comments - renamed.comments];
    let name = |((name, _), n): (&(&str, &str), u64)| ((*name).to_owned(), n);
    let counts: Counts = FOUND.iter().zip(found).map(name).collect();
    let changed = CHANGED.iter().zip(of_renamed.into_iter().chain(left)).map(name).collect();
    let findings = rest(world, places, &edited);
    Results { counts, changed, changes, findings, ..Results::default() }
}

/// The places in code that keep the old name, with the engine that told them apart, and the files that mention it.
fn rest(world: &World<'_>, places: &Places, edited: &BTreeMap<String, BTreeSet<usize>>) -> Vec<Finding> {
    let reason = format!("it means another thing, as the engine `{}` tells", places.engine);
    let left = world.target().flat_map(|page| {
        let renamed = edited.get(page.path.as_str());
        let is_left = move |at: usize| renamed.is_none_or(|renamed| !renamed.contains(&at));
        let code = page.tokens.iter().filter(|token| token.class == Class::Code);
        code.filter(move |token| is_left(token.range.start)).map(move |token| (page, token.range.start))
    });
    let is_member = |page: &Page, at: usize| {
        let loose = page.facts.iter().flat_map(|facts| &facts.loose);
        loose.filter(|loose| loose.range.start == at).any(|loose| loose.meaning == Meaning::Member)
    };
    let left = left.map(|(page, at)| {
        let is_member = places.engine == scope::NAME && is_member(page, at);
        finding(page, at, "other_meaning", if is_member { MEMBER } else { &reason })
    });
    let kept = places.code.iter().filter_map(|(path, sites)| Some((world.page(path)?, sites)));
    let kept = kept.flat_map(|(page, sites)| {
        let beside = sites.values().filter(|(_, form)| *form != Form::Plain);
        beside.map(|(range, _)| finding(page, range.start, "kept", "it keeps the old name beside the new one"))
    });
    let is_near = |page: &&Page| !places.is_local || places.code.contains_key(page.path.as_str());
    let texts = world.target().filter(is_near).filter_map(|page| texts(page, edited.get(page.path.as_str())));
    left.chain(kept).chain(texts).chain(places.mentions.iter().cloned()).take(LISTED).collect()
}

/// The strings and comments of a file that keep the old name; none if none does.
fn texts(page: &Page, renamed: Option<&BTreeSet<usize>>) -> Option<Finding> {
    let is_left =
        |token: &&Token| token.class != Class::Code && renamed.is_none_or(|at| !at.contains(&token.range.start));
    let mut left = page.tokens.iter().filter(is_left);
    let first = left.next()?;
    let more = left.count();
    let reason = match more {
        0 => "it stands in a string or a comment".to_owned(),
        more => format!("it stands in strings or comments, here and at {} below", counted(more, "place")),
    };
    Some(finding(page, first.range.start, "text", &reason))
}
