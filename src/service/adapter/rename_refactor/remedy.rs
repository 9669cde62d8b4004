//! The remedies that a refusal names. None leads from a doubt to a change that breaks the program.

use std::collections::BTreeSet;

use super::world::World;
use base::language::Language;
use format::name::token::Class;

/// A way out of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Remedy {
    /// Name one of several things.
    Place,
    /// Take more files into the target.
    Glob,
    /// Choose another new name.
    Name,
    /// Ask a language server.
    Server,
    /// Rename the strings that look the thing up.
    Strings,
    /// Change texts by hand.
    Text,
}

/// The hint of a refusal. `open` are the files with a doubt on which a server may know more. `look_ups` counts the strings of the
/// target that certainly look the thing up.
pub(super) fn hint(world: &World<'_>, remedies: &BTreeSet<Remedy>, open: &[&str], look_ups: usize) -> String {
    let of_remedy = |remedy: &Remedy| match remedy {
        Remedy::Place => Some("name one of the things by `params.scope` with path, line and column".to_owned()),
        Remedy::Glob => Some("widen `target.glob`".to_owned()),
        Remedy::Name => Some("choose another `params.to`".to_owned()),
        Remedy::Server => server(world, open),
        Remedy::Strings => Some(strings(world, look_ups).to_owned()),
        Remedy::Text => {
            Some("write the new name by hand where a text or a file that nrv does not parse means it".to_owned())
        }
    };
    let mut ways: Vec<String> = remedies.iter().filter_map(of_remedy).collect();
    if ways.is_empty() {
        ways.push(
            "no parameter makes this rename certain: make it by hand, and have a compiler or tests judge it".to_owned(),
        );
    }
    format!("{}; nothing was changed", ways.join("; "))
}

/// Asks for a server for the first language of the doubts that has none.
fn server(world: &World<'_>, open: &[&str]) -> Option<String> {
    let mut languages = open.iter().filter_map(|path| Language::of_path(path)).map(Language::name);
    let language = languages.find(|language| world.ctx.servers.of_language(language).is_none())?;
    world.ctx.servers.missing(language).hint_text().map(|hint| format!("a language server knows types: {hint}"))
}

/// `strings` also renames other strings, so that it is named only if every string of the target looks the thing up.
fn strings(world: &World<'_>, look_ups: usize) -> &'static str {
    let all = world.target().flat_map(|page| &page.tokens).filter(|token| token.class == Class::Strings).count();
    if look_ups > 0 && look_ups == all {
        "set `params.strings`, which renames the strings too"
    } else {
        "write the new name by hand in each string that looks the thing up; `params.strings` would rename other strings too"
    }
}
