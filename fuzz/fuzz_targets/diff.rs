//! No text makes the parser panic. A diff that applies exactly also applies with offsets, and its reverse restores the file.
#![cfg_attr(fuzzing, no_main)]

use nrv::base::diff::{self, FilePatch, ParseOptions, Placement, Prose, Side, Strip};
use nrv_fuzz::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (text, file) = input;
    for (strip, recount) in [(Strip::Guess, false), (Strip::Exactly(1), true)] {
        let options = ParseOptions { strip, recount, prose: Prose::Skip };
        let parts = diff::parse(text, &options).map(|patch| patch.files).unwrap_or_default();
        parts.iter().for_each(|part| apply(part, file));
    }
    if let Ok(repaired) = diff::repair(text, None) {
        let again = diff::repair(&repaired.text, None).expect("what is repaired is good");
        assert_eq!((again.text, again.repairs.len()), (repaired.text, 0));
    }
});

fn apply(part: &FilePatch, file: &[u8]) {
    let before = part.source().map(|_| Side { bytes: file, mode: 0o644 });
    let unique = part.apply(before, Placement::Unique);
    let Ok(exact) = part.apply(before, Placement::Exact) else { return };
    assert_eq!(unique.as_ref(), Ok(&exact));
    let after = exact.after.as_ref().map(|(bytes, mode)| Side { bytes, mode: *mode });
    if let Ok(undone) = part.reversed().apply(after, Placement::Exact) {
        assert_eq!(undone.after.map(|(bytes, _)| bytes).unwrap_or_default(), before.map_or(&[][..], |side| side.bytes));
    }
}
