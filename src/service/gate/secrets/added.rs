//! The secrets that a text has gained over the one that it replaces.

use std::collections::BTreeMap;

use super::{Found, Rules, scan};

/// The secrets of a text that the former one did not hold, or not as often.
///
/// Every reader of the former text knows its values, under whatever name they stand now. A value that is not more frequent than
/// before is not new, even if only its new name makes it a secret.
pub fn added(before: &[u8], after: &[u8], path: Option<&str>, rules: &Rules) -> Vec<Found> {
    let found = scan(after, path, rules);
    if found.is_empty() || before.is_empty() {
        return found;
    }
    let mut found = Moved::of(std::iter::once((path, before)), rules).without(found);
    let mut grown: BTreeMap<String, bool> = BTreeMap::new();
    found.retain(|one| {
        let value = &after[one.start..one.end];
        let times = |text: &[u8]| memchr::memmem::find_iter(text, value).count();
        *grown.entry(one.sha256_prefix.clone()).or_insert_with(|| times(after) > times(before))
    });
    found
}

/// The secrets of files that a change removes. Where they occur in a new file of the same change, that file was moved, and they
/// are not new.
///
/// Each counts once, so that of two copies one is new.
#[derive(Debug, Default)]
pub struct Moved(BTreeMap<(String, String), usize>);

impl Moved {
    /// The secrets of removed files, given their paths and contents.
    pub fn of<'t>(removed: impl Iterator<Item = (Option<&'t str>, &'t [u8])>, rules: &Rules) -> Self {
        let mut moved = Moved::default();
        for found in removed.flat_map(|(path, text)| scan(text, path, rules)) {
            *moved.0.entry((found.rule, found.sha256_prefix)).or_default() += 1;
        }
        moved
    }

    /// The findings in a new file without those that were moved to it.
    pub fn without(&mut self, mut found: Vec<Found>) -> Vec<Found> {
        found.retain(|one| match self.0.get_mut(&(one.rule.clone(), one.sha256_prefix.clone())) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            Some(_) | None => true,
        });
        found
    }
}

/// The secrets in a file's name.
pub fn in_name(path: Option<&str>, rules: &Rules) -> Vec<Found> {
    path.map(|path| scan(path.as_bytes(), None, rules)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(before: &str, after: &str) -> Vec<String> {
        let found = added(before.as_bytes(), after.as_bytes(), Some("a.yml"), Rules::built_in());
        found.into_iter().map(|found| found.rule).collect()
    }

    #[test]
    fn a_value_of_a_file_that_goes_is_moved_once() {
        let text = b"password: kJ8#mQ2!vXz9\n";
        let rules = Rules::built_in();
        let mut moved = Moved::of(std::iter::once((Some("old.yml"), &text[..])), rules);
        let mut new = || moved.without(scan(text, Some("new.yml"), rules)).len();
        assert_eq!((new(), new()), (0, 1));
    }

    #[test]
    fn a_value_that_was_there_under_another_name_is_not_new() {
        let (plain, named) = ("greeting: kJ8#mQ2!vXz9\n", "password: kJ8#mQ2!vXz9\n");
        assert_eq!(rules_of("", named).len(), 1);
        assert!(rules_of(plain, named).is_empty() && rules_of(named, named).is_empty());
        assert_eq!(rules_of(named, &[named, named].concat()).len(), 1, "a copy is new");
        assert_eq!(rules_of("greeting: other\n", named).len(), 1);
    }
}
