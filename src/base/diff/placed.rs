//! Renders a change that a diff made: its hunks tell the lines that differ, so no comparison is needed.

use super::{
    PlacedHunk, Side, Stat,
    hunk::Hunks,
    line::{self, Replaced},
    patch::{FilePatch, Kind},
};
use crate::error::Error;

/// As [`super::render`], for a file that exists before and after the application of a part of a patch. Linear for any number of
/// hunks. `placed` holds their places.
pub fn render_placed(
    part: &FilePatch,
    placed: &[PlacedHunk],
    (before, after): (Side<'_>, Side<'_>),
) -> Result<(Vec<u8>, Stat), Error> {
    let runs = runs(part, placed);
    super::render_with(part.path(), Some(before), Some(after), |before, after| Hunks::of(before, after, runs))
}

/// The runs of lines that the hunks replace.
fn runs(part: &FilePatch, placed: &[PlacedHunk]) -> Vec<Replaced> {
    let mut runs: Vec<Replaced> = Vec::new();
    // The offset of the post-image when the pre-image is at its first line.
    let (mut added, mut removed) = (0, 0);
    for (hunk, placed) in part.hunks.iter().zip(placed) {
        let mut before = placed.at.saturating_sub(1);
        let mut after = before + added - removed;
        for changes in hunk.lines.chunk_by(|a, b| (a.0 == Kind::Context) == (b.0 == Kind::Context)) {
            let count = |kind: Kind| changes.iter().filter(|line| line.0 == kind).count();
            let common = count(Kind::Context);
            let run = Replaced {
                before: before..before + common + count(Kind::Removed),
                after: after..after + common + count(Kind::Added),
            };
            (before, after) = (run.before.end, run.after.end);
            if common == 0 {
                added += run.after.len();
                removed += run.before.len();
                runs.push(run);
            }
        }
    }
    line::merge(runs.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diff::{ParseOptions, Placement, parse, render},
        path::RepoPath,
    };

    /// Applies one rendering, renders again from the hunks, and compares.
    #[track_caller]
    fn check(before: &str, after: &str) {
        let side = |text: &'static str| Side { bytes: text.as_bytes(), mode: 0o644 };
        let (before, after) = (side(before.to_owned().leak()), side(after.to_owned().leak()));
        let path = RepoPath::parse("a").unwrap();
        let (diff, stat) = render(&path, Some(before), Some(after)).unwrap();
        let patch = parse(&diff, &ParseOptions::default()).unwrap();
        let patched = patch.files[0].apply(Some(before), Placement::Exact).unwrap();
        let (again, same) = render_placed(&patch.files[0], &patched.hunks, (before, after)).unwrap();
        assert_eq!((String::from_utf8(again).unwrap(), same), (String::from_utf8(diff).unwrap(), stat));
    }

    #[test]
    fn hunks_are_rendered_as_they_would_be_found() {
        check("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
        check("a\nb\n", "0\na\n");
        check("x\ny", "x\ny\n");
        check("", "a\nb\n");
        check("a\n", "");
        let lines = |edit: fn(usize) -> Option<&'static str>| -> String {
            (0..400).map(|at| edit(at).map_or_else(|| format!("{at}\n"), str::to_owned)).collect()
        };
        let edited = lines(|at| match at % 40 {
            3 => Some(""),
            12 => Some("new\nnewer\n"),
            20 => Some("other\n"),
            _ => None,
        });
        check(&lines(|_| None), &edited);
        check(&edited, &lines(|_| None));
    }
}
