//! The error of a rename that finds nothing to rename: the name that was probably meant, and the places that declare the new one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{page::Page, world::World};
use base::{
    error::{Code, Error, nearest},
    path::RepoPath,
    text::counted,
};
use format::name::{
    facts::{Facts, Kind},
    script::Change,
    token::Part,
};

/// The number of places in the error.
const SHOWN: usize = 3;

/// `no_match`, with what the name may have been, and where the new name is declared. `skipped` is the number of files of the target
/// that were not read.
pub(super) fn no_match(world: &World<'_>, skipped: usize) -> Result<Error, Error> {
    let (from, to) = world.names();
    let left: usize = world.target().map(|page| page.tokens.len()).sum();
    let files = counted(world.surveyed().len(), "file");
    let mut message = match left {
        0 => format!("`{from}` is in none of {files}"),
        left => {
            format!("no place of `{from}` in {files} can be renamed: {left} of them are members, strings or comments")
        }
    };
    if skipped > 0 {
        message.push_str(&format!("; {} not read", counted(skipped, "file")));
    }
    let declared = declared(world)?;
    let near = if declared.is_empty() && left == 0 { near(world)? } else { None };
    for (path, line) in &declared {
        message.push_str(&format!("; `{to}` is declared in `{path}`:{line}"));
    }
    let hint = match (&near, declared.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`? nothing was changed"),
        (None, false) => "perhaps the rename is done already; nothing was changed".to_owned(),
        (None, true) => "check the old name and the globs of `target.glob`; nothing was changed".to_owned(),
    };
    let places: Vec<Value> = declared.iter().map(|(path, line)| json!({"path": path, "line": line})).collect();
    let error = Error::new(Code::NoMatch, message)
        .hint(hint)
        .detail("left", left as u64)
        .detail("skipped", skipped as u64)
        .detail("declared", places);
    Ok(near.into_iter().fold(error, |error, near| error.detail("nearest", near)))
}

/// The first places that declare the new name: their files and lines.
fn declared(world: &World<'_>) -> Result<Vec<(RepoPath, u64)>, Error> {
    let (from, to) = world.names();
    let pulse = || world.deadline.check(world.ctx);
    let mut found = Vec::new();
    for path in world.taken_files()? {
        let (path, text) = (RepoPath::parse(path)?, world.text(path).unwrap_or_default());
        let Some(page) = Page::read(&path, &text, Change { from: to, to: from }, &pulse)? else { continue };
        let own =
            |facts: &Facts| facts.groups.iter().find(|group| group.kind != Kind::Import).map(|group| group.declared);
        let token = || page.tokens.iter().find(|token| token.part == Part::Declaration).map(|token| token.range.start);
        let at = page.facts.as_ref().map_or_else(|_| token(), own);
        found.extend(at.map(|at| (page.path.clone(), page.line(at))));
        if found.len() == SHOWN {
            break;
        }
    }
    Ok(found)
}

/// The word of the target's files that is nearest to the old name.
fn near(world: &World<'_>) -> Result<Option<String>, Error> {
    let (from, _) = world.names();
    let length = from.chars().count();
    let is_like = |word: &&str| word.chars().count().abs_diff(length) <= length / 2 + 1;
    let mut words = BTreeSet::new();
    for path in world.surveyed() {
        world.deadline.check(world.ctx)?;
        let text = world.text(path).unwrap_or_default();
        let all = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        words.extend(all.filter(|word| !word.is_empty()).filter(is_like).map(str::to_owned));
    }
    Ok(nearest(from, words.iter().map(String::as_str)).map(str::to_owned))
}
