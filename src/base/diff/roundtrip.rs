//! Properties of every text: a rendered patch applies and reverses, and no text makes the parser panic.

use proptest::prelude::*;

use super::{
    mutation::{self, Random},
    oracle::{change, pair},
    *,
};

fn strict() -> ParseOptions {
    ParseOptions::default()
}

/// The file after the parts of a patch, last to first if they are reversed.
fn apply_all(patch: &Patch, before: Option<Content>, reverse: bool) -> Result<Option<Content>, Error> {
    let mut parts = patch.files.clone();
    if reverse {
        parts = parts.iter().rev().map(FilePatch::reversed).collect();
    }
    parts.iter().try_fold(before, |file, part| {
        let side = file.as_ref().map(Side::from).filter(|_| part.source().is_some());
        Ok(part.apply(side, Placement::Exact)?.after.map(|(bytes, mode)| Content::new(bytes, mode)))
    })
}

/// The content, and the mode as far as git keeps it.
fn seen(content: Option<&Content>) -> Option<(Vec<u8>, u32)> {
    content.map(|content| (content.bytes.to_vec(), content.mode & 0o120_100))
}

#[track_caller]
fn check(name: &str, before: Option<Content>, after: Option<Content>) -> Result<(), TestCaseError> {
    let path = RepoPath::parse(name).unwrap();
    let (text, _) = render(&path, before.as_ref().map(Side::from), after.as_ref().map(Side::from)).unwrap();
    if text.is_empty() {
        return Ok(());
    }
    let patch = parse(&text, &strict()).unwrap();
    prop_assert!(patch.warnings.is_empty());
    prop_assert!(
        patch.files.iter().all(|part| [part.source(), part.target()].iter().flatten().all(|found| **found == path))
    );
    let forth = apply_all(&patch, before.clone(), false).unwrap();
    prop_assert_eq!(seen(forth.as_ref()), seen(after.as_ref()));
    let back = apply_all(&patch, forth, true).unwrap();
    prop_assert_eq!(seen(back.as_ref()), seen(before.as_ref()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_rendered_applies_and_is_undone(changes in prop::collection::vec(change(), 1..8)) {
        for (name, change) in changes {
            check(super::oracle::NAMES[name], change.before, change.after)?;
        }
    }

    #[test]
    fn a_diff_against_another_version_never_panics((before, after) in pair(), (other, _) in pair()) {
        let path = RepoPath::parse("x").unwrap();
        let side = |bytes| Some(Side { bytes, mode: 0o644 });
        let (text, _) = render(&path, side(&before), side(&after)).unwrap();
        for part in parse(&text, &strict()).map(|patch| patch.files).unwrap_or_default() {
            let exact = part.apply(side(&other), Placement::Exact);
            let unique = part.apply(side(&other), Placement::Unique);
            if let Ok(exact) = exact {
                prop_assert_eq!(Ok(exact), unique);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), seed in any::<u64>()) {
        read_all(&bytes)?;
        // Bytes that look more like a diff.
        let (_, mut patch) = mutation::case(&mut Random::new(seed));
        let at = seed as usize % (patch.len() + 1);
        patch.splice(at..at, bytes.into_iter().take(8));
        read_all(&patch)?;
    }
}

fn read_all(bytes: &[u8]) -> Result<(), TestCaseError> {
    for strip in [Strip::Guess, Strip::Exactly(0), Strip::Exactly(1), Strip::Exactly(usize::MAX)] {
        for (recount, prose) in
            [(false, Prose::Refuse), (true, Prose::Refuse), (false, Prose::Skip), (true, Prose::Skip)]
        {
            drop(parse(bytes, &ParseOptions { strip, recount, prose }));
        }
    }
    if let Ok(repaired) = repair(bytes, None) {
        prop_assert_eq!(
            repair(&repaired.text, None),
            Ok(Repaired { text: repaired.text.clone(), repairs: Vec::new() })
        );
    }
    Ok(())
}
