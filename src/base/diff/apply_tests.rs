//! Tests of the placement of hunks, and of the messages of refusals.

use serde_json::{Value, json};

use super::*;

fn part(diff: &[u8]) -> Result<FilePatch, Error> {
    let options = ParseOptions { prose: Prose::Skip, ..ParseOptions::default() };
    parse(diff, &options).map(|patch| patch.files[0].clone())
}

fn patched(diff: &[u8], before: Option<&[u8]>, placement: Placement) -> Result<Patched, Error> {
    part(diff)?.apply(before.map(|bytes| Side { bytes, mode: 0o644 }), placement)
}

/// A hunk for the file `x`.
fn hunk(hunk: &str) -> Vec<u8> {
    format!("--- a/x\n+++ b/x\n{hunk}").into_bytes()
}

/// Applies with an offset where there is only one place. `Err` holds words of the message.
#[track_caller]
fn check(hunks: &str, before: &str, expected: Result<&str, &str>) {
    compare(patched(&hunk(hunks), Some(before.as_bytes()), Placement::Unique), expected);
}

/// Applies exactly at the position in the header.
#[track_caller]
fn check_exact(hunks: &str, before: &str, expected: Result<&str, &str>) {
    compare(patched(&hunk(hunks), Some(before.as_bytes()), Placement::Exact), expected);
}

#[track_caller]
fn compare(found: Result<Patched, Error>, expected: Result<&str, &str>) {
    let found = found.map(|patched| patched.after.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()));
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), Some(expected)),
        (Err(error), Err(words)) => assert!(error.message().contains(words), "{error}"),
        (found, _) => panic!("{found:?} instead of {expected:?}"),
    }
}

#[track_caller]
fn rejected(hunks: &str, before: &str) -> Error {
    let error = patched(&hunk(hunks), Some(before.as_bytes()), Placement::Unique).unwrap_err();
    assert_eq!(error.code(), Code::PatchRejected);
    error
}

const EDIT: &str = "@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n";

#[test]
fn a_hunk_applies_where_it_says() {
    check_exact(EDIT, "a\nb\nc\nd\ne\n", Ok("a\nb\nC\nd\ne\n"));
    check_exact(EDIT, "a\nx\nb\nc\nd\ne\n", Err("they are at line 3"));
    check_exact("@@ -1 +1,2 @@\n a\n+b\n", "a\n", Ok("a\nb\n"));
}

#[test]
fn an_offset_is_taken_where_the_lines_are_at_one_place() {
    let found = patched(&hunk(EDIT), Some(b"1\n2\na\nb\nc\nd\n"), Placement::Unique).unwrap();
    assert_eq!(found.after.unwrap().0, b"1\n2\na\nb\nC\nd\n");
    assert_eq!(found.hunks, [PlacedHunk { header_line: 3, at: 4, offset: 2 }]);
    assert_eq!(found.warnings, ["hunk 1 of `x` was applied at line 4, +2 from where it says"]);
}

#[test]
fn the_stated_line_wins_over_other_places() {
    check(EDIT, "a\nb\nc\nd\nb\nc\nd\n", Ok("a\nb\nC\nd\nb\nc\nd\n"));
}

#[test]
fn several_places_are_listed_and_none_is_chosen() {
    let error = rejected(EDIT, "a\na\nb\nc\nd\nb\nc\nd\n");
    assert_eq!(error.details()["places"], json!([3, 6]));
    assert!(error.message().contains("says line 2, but its lines are not there and are at several other places: 3, 6"));
    let error = rejected("@@ -2,3 +2,3 @@\n b\n b\n-c\n+C\n b\n", &format!("a\n{}", "b\nb\nc\n".repeat(50)));
    assert_eq!(error.details()["places"].as_array().map(Vec::len), Some(20));
}

#[test]
fn a_hunk_of_line_1_stands_at_the_start_and_one_without_context_behind_it_at_the_end() {
    check("@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "x\na\nb\n", Err("says line 1, and its lines are not there"));
    check("@@ -2,2 +2,2 @@\n a\n-b\n+B\n", "x\na\nb\nc\n", Err("it has to reach the end of the file"));
    check("@@ -2,2 +2,2 @@\n a\n-b\n+B\n", "x\na\nb\n", Ok("x\na\nB\n"));
    check("@@ -0,0 +1 @@\n+a\n", "", Ok("a\n"));
    check("@@ -0,0 +1 @@\n+a\n", "b\n", Err("without any context; the file has 1 line"));
    check("@@ -1,0 +2 @@\n+b\n", "a\n", Err("without any context"));
}

#[test]
fn lines_without_context_go_to_the_end_only() {
    check("@@ -2,0 +3 @@\n+c\n", "a\nb\n", Ok("a\nb\nc\n"));
    check("@@ -2,0 +3 @@\n+c\n", "a\nb\nx\n", Err("without any context"));
    check("@@ -2,0 +3 @@\n+c\n", "a\nb", Err("after a last line that has no line feed"));
}

#[test]
fn hunks_stand_in_the_order_of_the_file_and_do_not_overlap() {
    let (first, second) = ("@@ -1,3 +1,4 @@\n a\n+x\n b\n c\n", "@@ -4,3 +5,3 @@\n d\n-e\n+E\n f\n");
    let file = "a\nb\nc\nd\ne\nf\n";
    check(&format!("{first}{second}"), file, Ok("a\nx\nb\nc\nd\nE\nf\n"));
    check(&format!("{second}{first}"), file, Err("lines before those of an earlier hunk"));
    check(
        &format!("{first}@@ -3,2 +4,2 @@\n c\n-d\n+D\n e\n").replace("-3,2 +4,2", "-3,3 +4,3"),
        file,
        Err("lines that an earlier hunk has taken"),
    );
}

#[test]
fn a_later_hunk_is_placed_by_what_the_earlier_ones_add_and_not_by_their_offset() {
    let hunks = "@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -4,3 +5,2 @@\n d\n-e\n f\n";
    let found =
        patched(&hunk(&hunks.replace("-1,2 +1,3", "-2,2 +2,3")), Some(b"a\nb\nc\nd\ne\nf\n"), Placement::Unique)
            .unwrap();
    assert_eq!(found.hunks.iter().map(|hunk| hunk.offset).collect::<Vec<_>>(), [-1, 0]);
    check_exact(hunks, "a\nb\nc\nd\ne\nf\n", Ok("a\nx\nb\nc\nd\nf\n"));
}

#[test]
fn a_header_that_contradicts_itself_is_refused_where_no_offset_is_allowed() {
    let hunks = "@@ -2,3 +7,3 @@\n b\n-c\n+C\n d\n";
    check(hunks, "a\nb\nc\nd\n", Ok("a\nb\nC\nd\n"));
    check(hunks, "a\nb\nc\nd\nb\nc\nd\n", Err("at several other places"));
    check_exact(hunks, "a\nb\nc\nd\n", Err("contradicts itself: it is about line 2, which becomes line 2, not 7"));
}

#[test]
fn line_feeds_at_the_end_count() {
    let both = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
    check(both, "a", Ok("b"));
    check(both, "a\n", Err("line 1 should be `a` without a line feed and is `a`"));
    check("@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+a\n", "a", Ok("a\n"));
    check("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a\n", Ok("a"));
    check("@@ -1 +1 @@\n-a\n+b\n", "a", Err("line 1 should be `a` and is `a`"));
    check("@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", "a\nbc\n", Err("`b` without a line feed"));
    // Git would take the first place, and join `b` with the next line.
    let end = "@@ -2,2 +2,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n";
    check(end, "a\nb \na\nb", Err("at several other places: 1, 3"));
    check(end, "x\ny\na\nb", Ok("x\ny\nA\nb"));
}

#[test]
fn bytes_are_not_interpreted() {
    let diff = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n \xff\xfe\n-\0\n+\xc3\n\n";
    assert_eq!(
        patched(diff, Some(b"\xff\xfe\n\0\n\n"), Placement::Exact).unwrap().after.unwrap().0,
        b"\xff\xfe\n\xc3\n\n"
    );
}

#[test]
fn line_ends_and_white_space_are_told_apart() {
    let hint = |hunks: &str, before: &str| rejected(hunks, before).hint_text().unwrap().to_owned();
    assert!(
        hint("@@ -1 +1 @@\n-a\n+b\n", "a\r\n").contains("lines of the file end in CRLF and lines of the diff in LF")
    );
    assert!(
        hint("@@ -1 +1 @@\n-a\r\n+b\r\n", "a\n").contains("lines of the file end in LF and lines of the diff in CRLF")
    );
    assert!(hint("@@ -1 +1 @@\n-\ta\n+b\n", "    a\n").contains("only white space differs"));
    assert!(hint("@@ -1 +1 @@\n-a\n+b\n", "b\n").contains("it may have been applied before"));
    check("@@ -1,2 +1,2 @@\n-a\r\n+b\r\n c\r\n", "a\r\nc\r\n", Ok("b\r\nc\r\n"));
}

#[test]
fn an_error_shows_the_nearest_place_and_the_first_line_that_differs() {
    let error = rejected("@@ -2,4 +2,4 @@\n b\n c\n-d\n+D\n e\n", "1\n2\n3\n4\nb\nc\nx\ne\n");
    assert_eq!(error.message(), "hunk 1 of `x` (line 3 of the diff) does not fit: line 7 should be `d` and is `x`");
    let expected = [
        ("expected", json!("d")),
        ("found", json!("x")),
        ("hunk", json!(1)),
        ("line", json!(3)),
        ("path", json!("x")),
        ("places", json!([5])),
    ];
    let details: Vec<(&str, Value)> =
        error.details().iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    assert_eq!(details, expected);
}

#[test]
fn messages_are_short_however_long_the_lines_are() {
    let long = "x".repeat(100_000);
    let error = rejected(&format!("@@ -1 +1 @@\n-{long}y\n+a\n"), &format!("{long}z\n"));
    assert!(serde_json::to_string(&error).unwrap().len() < 4_000);
}

#[test]
fn files_come_and_go_as_the_header_says() {
    let new = b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
    compare(patched(new, None, Placement::Exact), Ok("a\n"));
    compare(patched(new, Some(b""), Placement::Exact), Err("creates `x`, which exists"));
    let gone = b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    assert_eq!(patched(gone, Some(b"a\n"), Placement::Exact).unwrap().after, None);
    compare(patched(gone, Some(b"a\nb\n"), Placement::Exact), Err("does not delete every line"));
    compare(patched(gone, None, Placement::Exact), Err("which does not exist"));
    let empty = b"diff --git a/x b/x\nnew file mode 100755\nindex 0000000..e69de29\n";
    assert_eq!(patched(empty, None, Placement::Exact).unwrap().after, Some((Vec::new(), 0o755)));
    let empty = b"diff --git a/x b/x\ndeleted file mode 100644\n";
    assert_eq!(patched(empty, Some(b""), Placement::Exact).unwrap().after, None);
    compare(patched(empty, Some(b"a\n"), Placement::Exact), Err("deletes `x`, but leaves 1 line of it"));
    // As in git, a file may be missing if its header leaves that open.
    compare(patched(&hunk("@@ -0,0 +1 @@\n+a\n"), None, Placement::Exact), Ok("a\n"));
}

#[test]
fn a_file_that_becomes_empty_stays_with_a_warning() {
    let found = patched(&hunk("@@ -1 +0,0 @@\n-a\n"), Some(b"a\n"), Placement::Exact).unwrap();
    assert_eq!(
        (found.after, found.warnings),
        (Some((Vec::new(), 0o644)), vec!["`x` becomes empty but is not deleted".to_owned()])
    );
}

#[test]
fn modes_change_the_execute_bits_only() {
    let mode =
        |diff: &str, mode: u32| part(diff.as_bytes())?.apply(Some(Side { bytes: b"a\n", mode }), Placement::Exact);
    let on = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    assert_eq!(mode(on, 0o640).unwrap().after.unwrap().1, 0o750);
    let found =
        mode(&on.replace("old mode 100644", "old mode 100755").replace("new mode 100755", "new mode 100644"), 0o604);
    let found = found.unwrap();
    assert_eq!(found.after.unwrap().1, 0o604);
    assert_eq!(found.warnings, ["`x` has mode 100644, and the patch expects 100755"]);
    let link = mode("diff --git a/x b/x\nindex 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 0o644);
    assert!(link.unwrap_err().message().contains("`x` is a regular file, and the patch gives it mode 120000"));
}

#[test]
fn links_are_files_whose_contents_are_their_targets() {
    let new = "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n\
               +d/y\n\\ No newline at end of file\n";
    assert_eq!(patched(new.as_bytes(), None, Placement::Exact).unwrap().after, Some((b"d/y".to_vec(), 0o120_777)));
    let empty = b"diff --git a/x b/x\nnew file mode 120000\n";
    compare(patched(empty, None, Placement::Exact), Err("a symbolic link without a target"));
}

#[test]
fn renames_and_copies_may_edit() {
    let diff = "diff --git a/x b/y\nsimilarity index 50%\nrename from x\nrename to y\n\
                --- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    let part = part(diff.as_bytes()).unwrap();
    assert_eq!((part.source().map(|path| &**path), part.target().map(|path| &**path)), (Some("x"), Some("y")));
    compare(patched(diff.as_bytes(), Some(b"a\nb\n"), Placement::Exact), Ok("a\nB\n"));
    let back = part.reversed();
    assert_eq!((back.source().map(|path| &**path), back.target().map(|path| &**path)), (Some("y"), Some("x")));
    compare(back.apply(Some(Side { bytes: b"a\nB\n", mode: 0o644 }), Placement::Exact), Ok("a\nb\n"));
}

#[test]
fn a_binary_file_goes_if_it_is_the_one_that_the_patch_knows() {
    let diff = "diff --git a/x b/x\ndeleted file mode 100644\n\
                index ce013625030ba8dba906f756967f9e9ca394464a..0000000000000000000000000000000000000000\n\
                Binary files a/x and /dev/null differ\n";
    assert_eq!(patched(diff.as_bytes(), Some(b"hello\n"), Placement::Exact).unwrap().after, None);
    compare(
        patched(diff.as_bytes(), Some(b"hello"), Placement::Exact),
        Err("is not the binary file that the patch deletes"),
    );
    compare(
        part(diff.as_bytes()).unwrap().reversed().apply(None, Placement::Exact),
        Err("is binary, and the patch does not hold it"),
    );
}

/// A file of many lines that mostly occur several times.
fn big(lines: usize) -> Vec<String> {
    (0..lines).map(|at| format!("{}\n", at % 1_000)).collect()
}

fn side(text: &str) -> Option<Side<'_>> {
    Some(Side { bytes: text.as_bytes(), mode: 0o644 })
}

#[test]
fn many_hunks_in_a_big_file_take_no_time_to_speak_of() {
    let before = big(100_000);
    let mut after = before.clone();
    (0..1_000).for_each(|at| after[100 * at + 50] = format!("new {at}\n"));
    let (before, after) = (before.concat(), after.concat());
    let (text, _) = render(&RepoPath::parse("x").unwrap(), side(&before), side(&after)).unwrap();
    let part = part(&text).unwrap();
    assert_eq!(part.hunks.len(), 1_000);
    compare(part.apply(side(&before), Placement::Exact), Ok(&after));
    compare(part.reversed().apply(side(&after), Placement::Exact), Ok(&before));
}

#[test]
fn ten_thousand_hunks_that_are_all_elsewhere_take_no_time_to_speak_of() {
    let before: Vec<String> = (0..100_000).map(|at| format!("{at}\n")).collect();
    let moved = |lines: &[String]| Some([b"first\n", lines.concat().as_bytes()].concat());
    let hunks: String = (0..10_000)
        .map(|at| {
            let (from, size) = (10 * at, 3 + at % 6);
            let context = |lines: &[String]| lines.iter().map(|line| format!(" {line}")).collect::<String>();
            let (head, tail) = (context(&before[from..from + 1]), context(&before[from + 2..from + size]));
            format!(
                "@@ -{0},{size} +{0},{size} @@\n{head}-{1}\n+{1}!\n{tail}",
                from + 1 + usize::from(at == 0),
                from + 1
            )
        })
        .collect();
    let found = patched(&hunk(&hunks), moved(&before).as_deref(), Placement::Unique).unwrap();
    assert_eq!(found.hunks.iter().filter(|hunk| hunk.offset == 1).count(), 9_999);
    let nowhere = "@@ -5,2 +5,2 @@\n-nowhere\n+x\n y\n".repeat(10_000);
    assert!(patched(&hunk(&nowhere), moved(&before).as_deref(), Placement::Unique).is_err());
}

#[test]
fn a_long_line_is_shown_where_it_differs() {
    let head = "ä".repeat(300);
    let error = rejected(&format!("@@ -1 +1 @@\n-{head}old\n+new\n"), &format!("{head}new\n"));
    let shown = "ä".repeat(20);
    let words = format!("line 1 should be `…{shown}old` and is `…{shown}new`");
    assert!(error.message().ends_with(&words), "{error}");
    assert_eq!(error.details()["found"], json!(format!("…{shown}new")));
}
