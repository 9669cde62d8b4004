//! Every name that the library exports at its root has an example in its documentation.

use crate::repository;

/// The names that `src/lib.rs` exports from the face, where they have their documentation.
fn exported() -> Vec<String> {
    let text = repository::text("src/lib.rs").expect("sources are UTF-8");
    let (_, list) = text.split_once("pub use self::face::{").expect("the library exports names");
    let (list, _) = list.split_once("};").expect("the list ends");
    let last = |path: &str| path.trim().trim_end_matches('}').rsplit("::").next().unwrap_or_default().to_owned();
    list.split([',', '{']).map(last).filter(|name| name.starts_with(char::is_uppercase)).collect()
}

/// True if a source declares the name with an example above it.
fn has_example(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let declares = |line: &str| {
        let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub fn "];
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind)?.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let above =
        |at: usize| lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
    (0..lines.len()).any(|at| declares(lines[at]) && above(at).any(|line| line.starts_with("/// ```")))
}

/// The names that the face exports with documentation of their own, each with whether it has an example.
fn documented(path: &str) -> Vec<(String, bool)> {
    let text = repository::text(path).expect("sources are UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let name = |line: &str| {
        Some(
            line.strip_prefix("pub use self::")
                .or_else(|| line.strip_prefix("pub use "))?
                .strip_suffix(';')?
                .rsplit("::")
                .next()?
                .to_owned(),
        )
    };
    let example = |at: usize| {
        lines[..at].iter().rev().take_while(|line| line.starts_with("///")).any(|line| line.starts_with("/// ```"))
    };
    let is_hidden = |at: usize| at > 0 && lines[at - 1] == "#[doc(hidden)]";
    (0..lines.len()).filter(|at| !is_hidden(*at)).filter_map(|at| Some((name(lines[at])?, example(at)))).collect()
}

#[test]
fn every_name_at_the_root_has_an_example() {
    let files = repository::files();
    let names = exported();
    let documented = [documented("src/lib.rs"), documented("src/face/adapter.rs")].concat();
    assert_eq!(names, ["Adapter", "Toolkit", "MicroChangeToolkit"]);
    assert!((36..=48).contains(&documented.len()), "about forty names stand at the root: {documented:?}");
    for name in names {
        let mut sources = files.iter().filter(|path| path.starts_with("src/face/"));
        let is_shown = documented.contains(&(name.clone(), true))
            || sources.any(|path| repository::text(path).is_some_and(|text| has_example(&text, &name)));
        assert!(is_shown, "`{name}` has no example in its documentation");
    }
    for (name, is_shown) in documented {
        assert!(is_shown, "`{name}` has no example in its documentation");
    }
}
