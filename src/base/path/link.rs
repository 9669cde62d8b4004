//! Targets of symbolic links: beneath the root, and not in folders that no link may expose.
//!
//! Pure: the existence of the target is not checked. A link's own folder is opened without following links, so that `..` at the
//! beginning of a target means the parent folder. Further on it might not, and is refused.

use super::{RepoPath, protected};
use crate::error::{Code, Error};

/// Checks the target of a new link.
///
/// `invalid_path` if it is absolute, leaves the workspace or can't be resolved; `protected_path` if it leads into a folder such
/// as `.git`.
pub fn check_target(link: &RepoPath, target: &[u8]) -> Result<(), Error> {
    let shown = String::from_utf8_lossy(target);
    let refuse = |why: &str| {
        Err(Error::new(Code::InvalidPath, format!("the link `{link}` to `{}` {why}", shown.escape_debug()))
            .detail("path", link.as_str())
            .hint("a link may be made to what lies in the workspace, by a relative path"))
    };
    if target.is_empty() || target.contains(&0) {
        return refuse("has no target");
    }
    if target.starts_with(b"/") {
        return refuse("is absolute");
    }
    let mut place: Vec<&str> = link.components().collect();
    place.pop();
    let mut climbs = true;
    for part in shown.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match (part, climbs) {
            ("..", false) => return refuse("goes up again after it went down"),
            ("..", true) if place.pop().is_none() => return refuse("leaves the workspace"),
            ("..", true) => {}
            (name, _) => {
                climbs = false;
                place.push(name);
            }
        }
    }
    // The root itself has no name, and nothing protects it.
    let Ok(place) = RepoPath::parse(&place.join("/")) else { return Ok(()) };
    match protected::read_refusal(&place) {
        None => Ok(()),
        Some(reason) => Err(Error::new(
            Code::ProtectedPath,
            format!("the link `{link}` leads to `{place}`, which is protected: {reason}"),
        )
        .detail("path", link.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(link: &str, target: &str, expected: Option<Code>) {
        let found = check_target(&RepoPath::parse(link).unwrap(), target.as_bytes());
        assert_eq!(found.err().map(|error| error.code()), expected, "{link} -> {target}");
    }

    #[test]
    fn a_link_leads_to_what_lies_in_the_workspace() {
        for (link, target) in [("a", "b"), ("a/b/l", "../../c/d"), ("a/l", ".."), ("l", "./x//y/"), ("l", "missing")] {
            check(link, target, None);
        }
        for (link, target) in [("l", "/etc"), ("l", ".."), ("a/l", "../../x"), ("l", ""), ("l", "a/../b"), ("l", "x\0")]
        {
            check(link, target, Some(Code::InvalidPath));
        }
        for (link, target) in [("l", ".git"), ("a/b", "../.GIT/hooks"), ("l", "sub/.runs/x")] {
            check(link, target, Some(Code::ProtectedPath));
        }
    }
}
