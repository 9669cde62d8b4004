//! Every name that the library exports has an example in its documentation.

use crate::repository;

/// The names of `pub use self::{…}` in `src/lib.rs`, each with its floor. Modules are left out.
fn exported() -> Vec<(String, String)> {
    let text = repository::text("src/lib.rs").expect("sources are UTF-8");
    let (_, list) = text.split_once("pub use self::{").expect("the library exports names");
    let (list, _) = list.split_once("};").expect("the list ends");
    let (mut names, mut open) = (Vec::new(), Vec::new());
    for line in list.split_inclusive(['{', '}', ',']) {
        let (word, end) = line.split_at(line.len() - 1);
        let path: Vec<&str> = word.trim().split("::").filter(|part| !part.is_empty()).collect();
        match end {
            "{" => open.push(path.join("::")),
            _ => {
                if let Some(name) = path.last() {
                    let whole = [open.join("::"), path.join("::")].join("::");
                    let floor = whole.trim_start_matches("::").split("::").next().unwrap_or_default();
                    names.push((floor.to_owned(), (*name).to_owned()));
                }
                if end == "}" {
                    open.pop();
                }
            }
        }
    }
    names.retain(|(floor, name)| !is_module(floor, name));
    names
}

/// True if a floor's `mod.rs` has it as a public module.
fn is_module(floor: &str, name: &str) -> bool {
    let text = repository::text(&format!("src/{floor}/mod.rs")).unwrap_or_default();
    name == "self" || text.lines().any(|line| line == format!("pub mod {name};"))
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
                .or(line.strip_prefix("pub use crate::"))?
                .strip_suffix(';')?
                .rsplit("::")
                .next()?
                .to_owned(),
        )
    };
    let example = |at: usize| {
        lines[..at].iter().rev().take_while(|line| line.starts_with("///")).any(|line| line.starts_with("/// ```"))
    };
    (0..lines.len()).filter_map(|at| Some((name(lines[at])?, example(at)))).collect()
}

#[test]
fn every_exported_name_has_an_example() {
    let files = repository::files();
    let names = exported();
    let documented = [documented("src/lib.rs"), documented("src/face/adapter.rs")].concat();
    assert!(names.len() + documented.len() > 40, "{names:?} {documented:?}");
    for (floor, name) in names {
        let mut sources = files.iter().filter(|path| path.starts_with("src/face/"));
        let is_shown = documented.contains(&(name.clone(), true))
            || sources.any(|path| repository::text(path).is_some_and(|text| has_example(&text, &name)));
        assert!(is_shown, "`{name}` of `{floor}` has no example in its documentation");
    }
    for (name, is_shown) in documented {
        assert!(is_shown, "`{name}` has no example in its documentation");
    }
}
