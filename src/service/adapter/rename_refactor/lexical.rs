//! The places of a name by tokens alone: all of them, if nothing but one thing can have the name.

use super::{
    page::{Family, Page, SYNTAX_ERROR},
    params::{Params, Scope},
    places::Places,
    refusal::{Refusal, TAKEN},
    world::World,
};
use base::error::Error;
use format::name::{
    facts::Form,
    token::{Class, Part, Token},
};

/// The word of the record for this engine.
pub(super) const NAME: &str = "lexical";

/// Every token of the name; none if there is none.
pub(super) fn choose(world: &World<'_>, params: &Params) -> Result<Option<Places>, Error> {
    let mut places = Places { engine: NAME, ..Places::default() };
    let mut refusal = Refusal::default();
    let in_scope = |page: &&Page| match &params.scope {
        // The place of a symbol only says which name is meant.
        Scope::Glob(_) | Scope::Symbol { .. } => page.is_target,
        Scope::File { file } => page.path.as_str() == file,
    };
    let pages: Vec<&Page> = world.target().filter(in_scope).filter(|page| page.is_in_code()).collect();
    let mut declared: Vec<(&Page, usize)> = Vec::new();
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for page in &pages {
        for token in page.tokens.iter().filter(|token| token.class == Class::Code) {
            let at = token.range.start;
            match token.part {
                _ if !token.is_whole => refusal.add(page, at, ("unknown", "it is a part of a longer token")),
                Part::Declaration => declared.push((page, at)),
                Part::Member => members.push((*page, at)),
                Part::Other => others.push((*page, at)),
            }
            places.add(&page.path, &token.range, Form::Plain);
        }
        if let Some(taken) = page.taken {
            refusal.add(page, taken, (TAKEN, "the new name is in use in the same file"));
        }
        if page.facts.as_ref().err() == Some(&SYNTAX_ERROR) {
            refusal.add(page, 0, ("unknown", SYNTAX_ERROR));
        }
    }
    let Some(first) = pages.first() else { return Ok(None) };
    check(&mut refusal, (&declared, &members, &others), first);
    outside(world, params, &pages, &mut refusal)?;
    places.homes = declared.iter().map(|(page, at)| (page.path.to_string(), *at)).collect();
    refusal.check(world)?;
    Ok(Some(places))
}

/// Tokens with their files.
type Found<'p> = Vec<(&'p Page, usize)>;

/// Refuses a name that several things may have.
fn check(refusal: &mut Refusal, (declared, members, others): (&Found<'_>, &Found<'_>, &Found<'_>), first: &Page) {
    const SCOPE: &str = "tokens alone do not tell which thing it means";
    match declared[..] {
        [_] if members.is_empty() => {}
        [(page, at)] if others.is_empty() => refusal.add(page, at, ("other_meaning", SCOPE)),
        [_] => members.iter().for_each(|(page, at)| refusal.add(page, *at, ("other_meaning", SCOPE))),
        [] => {
            let at = first
                .tokens
                .iter()
                .find(|token: &&Token| token.class == Class::Code)
                .map_or(0, |token| token.range.start);
            refusal.add(first, at, ("unknown", "no file of the target declares it"));
        }
        [..] => declared
            .iter()
            .for_each(|(page, at)| refusal.add(page, *at, ("other_meaning", "it is declared more than once"))),
    }
}

/// Refuses a name that other files use.
fn outside(world: &World<'_>, params: &Params, pages: &[&Page], refusal: &mut Refusal) -> Result<(), Error> {
    let families: Vec<Family> = pages.iter().map(|page| page.family()).collect();
    let is_whole = !matches!(params.scope, Scope::File { .. });
    for page in world.pages()?.filter(|page| families.contains(&page.family())) {
        let is_chosen = pages.iter().any(|chosen| chosen.path == page.path);
        let token = page.tokens.iter().find(|token| token.class == Class::Code);
        if let Some(token) = token.filter(|_| !is_chosen && (!is_whole || !page.is_target)) {
            refusal.add(page, token.range.start, ("outside", "it is used outside of the files of the target"));
        }
    }
    Ok(())
}
