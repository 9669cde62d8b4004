//! Finds the defects of a file's links. It repairs nothing.

use super::{
    page::Page,
    params::{Allowed, Params},
    reference::decoded,
    resolve::{Break, Rules, Target},
};
use base::{error::Error, pulse::Pulse};

/// Links between two calls of the pulse.
const STRIDE: usize = 1000;

/// A link of a page with a defect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Defect {
    /// Its index among the page's links within the repository.
    pub(super) link: usize,
    /// The defect.
    pub(super) why: Break,
    /// The target of its path, if that exists.
    pub(super) target: Option<Target>,
    /// True if the parameters allow it.
    pub(super) is_allowed: bool,
}

/// The defects of a file's links.
pub(super) fn defects(rules: &Rules<'_>, (file, page): (&str, &Page), pulse: Pulse<'_>) -> Result<Vec<Defect>, Error> {
    let mut defects = Vec::new();
    for (n, link) in page.links.iter().enumerate() {
        if n % STRIDE == 0 {
            pulse()?;
        }
        let reference = &link.reference;
        let target = rules.target(file, (reference.path(), reference.is_by_address));
        let target = target.filter(|target| !rules.has_left(file, reference.path(), target));
        let why = match &target {
            Some(target) if rules.doubt(target, reference.fragment()).is_some() => Some(Break::Unknown),
            Some(target) => rules.fragment(reference, target)?.or(rules.is_ignored(target).then_some(Break::Ignored)),
            None if rules.places(file, &decoded(reference.path())).is_empty() => Some(Break::Outside),
            None => Some(Break::File),
        };
        if let Some(why) = why {
            let is_allowed = is_allowed(rules.params, file, reference.text());
            defects.push(Defect { link: n, why, target, is_allowed });
        }
    }
    Ok(defects)
}

fn is_allowed(params: &Params, file: &str, link: &str) -> bool {
    params.allow_broken.iter().any(|allowed| match allowed {
        Allowed::Everywhere(pattern) => is_like(pattern, link),
        Allowed::In(allowed) => is_like(&allowed.file, file) && is_like(&allowed.link, link),
    })
}

/// True if the text is the pattern, in which `*` stands for any text.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    text.len() >= last.len() && text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text) in
            [("a", "a"), ("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*b*c", "a/b/b/c"), ("../../*", "../../issues")]
        {
            assert!(is_like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*a", "a"), ("a*b*c", "acb"), ("*.md", "a.md#x"), ("", "x")] {
            assert!(!is_like(pattern, text), "{pattern} {text}");
        }
    }
}
