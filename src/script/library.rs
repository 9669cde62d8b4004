//! The target of an `import`: a shipped module, or a file of the workspace beside the importing one.

use base::{
    error::{Code, Error, nearest},
    hash::Sha256,
    path::RepoPath,
};

/// The prefix of a shipped module's literal.
const SHIPPED: &str = "std/";

/// The scheme in the names of shipped modules' sources; no file of a workspace has that form.
const SCHEME: &str = "nrv:";

pub(super) const EXTENSION: &str = ".rhai";

/// The version of the shipped modules, which approvals pin. It changes with their texts.
pub const STDLIB_VERSION: &str = "5";

/// The shipped modules by literal, sorted.
pub const MODULES: &[(&str, &str)] = &[
    ("std/agents", include_str!("stdlib/agents.rhai")),
    ("std/assert", include_str!("stdlib/assert.rhai")),
    ("std/checker", include_str!("stdlib/checker.rhai")),
    ("std/plan", include_str!("stdlib/plan.rhai")),
    ("std/report", include_str!("stdlib/report.rhai")),
    ("std/retry", include_str!("stdlib/retry.rhai")),
    ("std/scaffold", include_str!("stdlib/scaffold.rhai")),
    ("std/table", include_str!("stdlib/table.rhai")),
];

/// A module that an `import` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A shipped module: its name among the sources, and its text.
    Shipped(String, &'static str),
    /// A file.
    File(RepoPath),
}

impl Target {
    /// The name among the sources.
    pub(super) fn name(&self) -> &str {
        match self {
            Target::Shipped(name, _) => name,
            Target::File(path) => path,
        }
    }
}

/// True for the name and text of a module that is shipped now. A record may hold one of that name with another text.
pub(super) fn is_shipped(name: &str, sha256: Sha256) -> bool {
    shipped(name).is_some_and(|text| Sha256::of(text.as_bytes()) == sha256)
}

/// True for a name that only shipped modules have among the sources.
pub(super) fn has_shipped_name(name: &str) -> bool {
    name.starts_with(SCHEME)
}

/// The text of a shipped module by its name among the sources.
fn shipped(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix(SCHEME)?.strip_suffix(EXTENSION)?;
    MODULES.iter().find(|(name, _)| *name == bare).map(|(_, text)| *text)
}

/// Resolves the literal of an `import` in the source of that name. `.rhai` may be left out.
pub(super) fn resolve(importer: &str, literal: &str) -> Result<Target, Error> {
    let bare = literal.strip_suffix(EXTENSION).unwrap_or(literal);
    if bare.starts_with(SHIPPED) || importer.starts_with(SCHEME) {
        let Some((name, text)) = MODULES.iter().find(|(name, _)| *name == bare) else {
            let near = nearest(bare, MODULES.iter().map(|(name, _)| *name));
            let error = Error::new(Code::NotFound, format!("there is no shipped module `{literal}`"));
            return Err(error.hint(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("shipped are {}", MODULES.iter().map(|one| one.0).collect::<Vec<_>>().join(", ")),
            }));
        };
        return Ok(Target::Shipped(format!("{SCHEME}{name}{EXTENSION}"), text));
    }
    let refuse = |why: &str| {
        Err(Error::new(Code::InvalidPath, format!("the import `{}` {why}", literal.escape_debug()))
            .hint("import `std/…`, or a file of the workspace relative to the importing file's folder"))
    };
    if literal.starts_with('/') {
        return refuse("is absolute");
    }
    if bare.rsplit('/').next().is_none_or(|last| matches!(last, "" | "." | "..")) {
        return refuse("names no file");
    }
    let mut parts: Vec<&str> = importer.rsplit_once('/').map_or(Vec::new(), |(folder, _)| folder.split('/').collect());
    for part in bare.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return refuse("leaves the workspace"),
            ".." => {}
            name => parts.push(name),
        }
    }
    RepoPath::parse(&format!("{}{EXTENSION}", parts.join("/"))).map(Target::File)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An approval pins the version in place of the texts, so that these must not change behind its back.
    #[test]
    fn the_version_belongs_to_these_texts() {
        let all: String =
            MODULES.iter().map(|(name, text)| format!("{name} {}\n", Sha256::of(text.as_bytes()))).collect();
        let pinned = ("5", "a4bdbed359736fd0ed71a7eea6fb97da07934b7477f62b27daba48a5b33ea9df");
        let found = Sha256::of(all.as_bytes()).to_string();
        assert_eq!((STDLIB_VERSION, found.as_str()), pinned, "give `STDLIB_VERSION` another number and pin it here");
    }

    #[test]
    fn modules_are_sorted_and_every_file_is_one() {
        assert!(MODULES.is_sorted());
        for (name, _) in MODULES {
            leads("a.rhai", name, &format!("nrv:{name}.rhai"));
        }
    }

    #[track_caller]
    fn leads(importer: &str, literal: &str, expected: &str) {
        assert_eq!(resolve(importer, literal).unwrap().name(), expected);
    }

    #[test]
    fn imports_are_relative_to_their_file() {
        leads("a.rhai", "b", "b.rhai");
        leads("s/a.rhai", "lib/b.rhai", "s/lib/b.rhai");
        leads("s/t/a.rhai", "./../b", "s/b.rhai");
        leads("s/a.rhai", "../b", "b.rhai");
        leads("s/a.rhai", "std/report", "nrv:std/report.rhai");
    }

    #[test]
    fn imports_stay_inside() {
        for literal in ["/etc/passwd", "../../x", "..", "a/../../../x", "a\0"] {
            assert_eq!(resolve("s/a.rhai", literal).unwrap_err().code(), Code::InvalidPath, "{literal}");
        }
        assert_eq!(resolve("nrv:std/report.rhai", "x").unwrap_err().code(), Code::NotFound);
        let error = resolve("a.rhai", "std/raport").unwrap_err();
        assert_eq!(error.hint_text(), Some("did you mean `std/report`?"));
    }
}
