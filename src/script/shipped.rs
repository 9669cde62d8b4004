//! The workflows that are shipped with the program. `std:NAME` names one where a script is named.
//!
//! Each works in any repository: it asks no model, and imports nothing but shipped modules.

use base::{
    error::{Code, Error, nearest},
    path::RepoPath,
};

/// The beginning of a shipped workflow's name.
const SCHEME: &str = "std:";

/// The shipped workflows by name, sorted.
pub const WORKFLOWS: &[(&str, &str)] = &[
    ("build_first", include_str!("scripts/build_first.rhai")),
    ("bump_header", include_str!("scripts/bump_header.rhai")),
    ("fix_links", include_str!("scripts/fix_links.rhai")),
    ("format", include_str!("scripts/format.rhai")),
    ("front_matter", include_str!("scripts/front_matter.rhai")),
    ("migrate_all_links", include_str!("scripts/migrate_all_links.rhai")),
    ("migrate_links", include_str!("scripts/migrate_links.rhai")),
    ("migrate_schema", include_str!("scripts/migrate_schema.rhai")),
    ("rename_symbol", include_str!("scripts/rename_symbol.rhai")),
    ("rewrite_code", include_str!("scripts/rewrite_code.rhai")),
];

/// The text of a shipped workflow, by its name `std:NAME`.
pub fn workflow(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix(SCHEME)?;
    WORKFLOWS.iter().find(|(known, _)| *known == bare).map(|(_, text)| *text)
}

/// The names of all shipped workflows, as they stand in place of a path.
pub fn workflows() -> Result<Vec<RepoPath>, Error> {
    WORKFLOWS.iter().map(|(name, _)| RepoPath::parse(&format!("{SCHEME}{name}"))).collect()
}

/// The shipped workflow that a text names; none if the text does not begin as such a name.
///
/// `not_found` if there is none of that name.
pub fn named(text: &str) -> Option<Result<RepoPath, Error>> {
    let bare = text.strip_prefix(SCHEME)?;
    if workflow(text).is_some() {
        return Some(RepoPath::parse(text));
    }
    let error = Error::new(Code::NotFound, format!("there is no shipped workflow `{}`", text.escape_debug()));
    let bare = bare.strip_suffix(".rhai").unwrap_or(bare);
    Some(Err(match nearest(bare, WORKFLOWS.iter().map(|(name, _)| *name)) {
        Some(near) => error.hint(format!("did you mean `{SCHEME}{near}`?")),
        None => error.hint("`nrv scripts --shipped` lists them"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_each_has_a_header() {
        assert!(WORKFLOWS.is_sorted_by_key(|(name, _)| *name));
        for (name, text) in WORKFLOWS {
            assert!(text.starts_with("//! ") && text.contains("const WORKFLOW = #{"), "{name}");
        }
    }

    #[test]
    fn a_shipped_workflow_imports_shipped_modules_alone_and_asks_no_model() {
        for (name, text) in WORKFLOWS {
            let imports = text.lines().filter_map(|line| line.strip_prefix("import \""));
            assert!(imports.clone().all(|import| import.starts_with("std/")), "{name}");
            assert!(!text.contains("nrv.llm."), "{name}");
        }
    }

    #[test]
    fn a_name_leads_to_its_text_and_a_misspelt_one_to_the_nearest() {
        assert!(workflow("std:format").is_some_and(|text| text.contains("nrv.exec.check")));
        assert!(workflow("format").is_none() && workflow("std:nothing").is_none());
        assert_eq!(named("std:format").unwrap().unwrap().as_str(), "std:format");
        assert!(named("scripts/format.rhai").is_none());
        let error = named("std:formt").unwrap().unwrap_err();
        assert_eq!(error.hint_text(), Some("did you mean `std:format`?"));
        let error = named("std:format.rhai").unwrap().unwrap_err();
        assert_eq!(error.hint_text(), Some("did you mean `std:format`?"));
    }
}
