//! The remedies that a refusal names. None leads from a doubt to a change that breaks the program.

use std::collections::BTreeSet;

use super::{
    refusal::{MEANING, OUTSIDE, TAKEN, UNKNOWN},
    world::World,
};
use crate::contract::Finding;
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

impl Remedy {
    /// The way out of a doubt of a kind; none if its reason tells more.
    pub(super) fn of_kind(kind: &str) -> Option<Self> {
        let ways =
            [(MEANING, Remedy::Server), (OUTSIDE, Remedy::Glob), (TAKEN, Remedy::Name), (UNKNOWN, Remedy::Server)];
        ways.into_iter().find(|(of, _)| *of == kind).map(|(_, remedy)| remedy)
    }
}

/// The hint of a refusal. `look_ups` counts the strings of the target that certainly look the thing up.
pub(super) fn hint(
    world: &World<'_>,
    remedies: &BTreeSet<Remedy>,
    (findings, is_lasting): (&[Finding], bool),
    look_ups: usize,
) -> String {
    let of_remedy = |remedy: &Remedy| match remedy {
        Remedy::Place => Some("name one of the things by `params.scope` with path, line and column".to_owned()),
        Remedy::Glob => Some("widen `target.glob`".to_owned()),
        Remedy::Name => Some("choose another `params.to`".to_owned()),
        // No server knows more about a lasting reason.
        Remedy::Server => server(world, findings).filter(|_| !is_lasting),
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
fn server(world: &World<'_>, findings: &[Finding]) -> Option<String> {
    let doubts = findings.iter().filter(|finding| matches!(finding.kind.as_str(), MEANING | UNKNOWN));
    let mut languages = doubts.filter_map(|finding| Language::of_path(&finding.path)).map(Language::name);
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
