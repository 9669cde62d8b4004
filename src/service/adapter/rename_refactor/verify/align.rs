//! The comparison of a text before and after: at whole words of the old name it may have become the new one, and nowhere else.

use super::super::params::Params;
use audit::word;
use base::language::Language;

/// The text in the place of an old name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    /// It stayed.
    Same,
    /// The new name.
    New,
    /// The new name beside the old one, as for a member or an alias.
    Both,
}

/// A place of the old name before, and the text in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Aligned {
    /// The byte before.
    pub(super) before: usize,
    /// The byte after.
    pub(super) after: usize,
    /// The text in its place.
    pub(super) became: Became,
}

/// Every place of the old name; the error is the line after at which another byte differs.
pub(super) fn align((language, params): (Language, &Params), before: &str, after: &str) -> Result<Vec<Aligned>, usize> {
    let Params { from, to, .. } = params;
    let texts = [
        (from.clone(), Became::Same),
        (to.clone(), Became::New),
        (format!("{from}: {to}"), Became::Both),
        (format!("{to}: {from}"), Became::Both),
        (format!("{to} as {from}"), Became::Both),
        (format!("{from} as {to}"), Became::Both),
    ];
    let places = word::places(language, before, from);
    let first = places.first().map_or(before.len(), |place| place.start);
    let line = |at: usize| 1 + after.as_bytes()[..at.min(after.len())].iter().filter(|byte| **byte == b'\n').count();
    if after.get(..first) != Some(&before[..first]) {
        return Err(line(first));
    }
    let mut aligned = Vec::new();
    let mut at = first;
    for (n, place) in places.iter().enumerate() {
        let next = places.get(n + 1).map_or(before.len(), |next| next.start);
        let between = &before[place.end..next];
        let fits = |(text, _): &&(String, Became)| {
            let rest = after.get(at..).and_then(|rest| rest.strip_prefix(text.as_str()));
            // The last piece has to be the end.
            rest.is_some_and(|rest| if next == before.len() { rest == between } else { rest.starts_with(between) })
        };
        let (text, became) = texts.iter().find(fits).ok_or_else(|| line(at))?;
        aligned.push(Aligned { before: place.start, after: at, became: *became });
        at += text.len() + between.len();
    }
    if at == after.len() { Ok(aligned) } else { Err(line(at)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn became(before: &str, after: &str) -> Result<Vec<Became>, usize> {
        let params = Params::parse(&json!({"from": "old", "to": "new"})).unwrap();
        align((Language::TypeScript, &params), before, after).map(|all| all.into_iter().map(|one| one.became).collect())
    }

    #[test]
    fn only_whole_words_may_differ() {
        use Became::{Both, New, Same};
        assert_eq!(became("old(old, bold)", "new(old, bold)"), Ok(vec![New, Same]));
        assert_eq!(became("{ old }", "{ old: new }"), Ok(vec![Both]));
        assert_eq!(became("{ old: new }", "{ old: new }"), Ok(vec![Same]));
        assert_eq!(became("{ old }", "{ new: old }"), Ok(vec![Both]));
        assert_eq!(became("export { old };", "export { new as old };"), Ok(vec![Both]));
        assert_eq!(became("a\nold\nb", "a\nnew\nc"), Err(2));
        assert_eq!(became("bold", "bnew"), Err(1));
        assert_eq!(became("a old", "b old"), Err(1));
        assert_eq!(became("old", "newer"), Err(1));
        assert_eq!(became("a", "a b"), Err(1));
        assert_eq!(became("a b", "a"), Err(1));
    }
}
