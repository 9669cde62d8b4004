//! Tests of the parser: accepted diffs, the reading of their headers, and refusals.

use super::*;

#[track_caller]
fn read(text: &str, strip: Strip, prose: Prose) -> Result<Patch, String> {
    parse(text.as_bytes(), &ParseOptions { strip, recount: false, prose }).map_err(|error| error.to_string())
}

/// The operations of a diff, as text.
#[track_caller]
fn check(text: &str, strip: Strip, expected: Result<&str, &str>) {
    let found = read(text, strip, Prose::Refuse).map(|patch| {
        let one = |part: &FilePatch| match &part.operation {
            Operation::Modify { path } => format!("modify {path}"),
            Operation::Create { path } => format!("create {path}"),
            Operation::Delete { path } => format!("delete {path}"),
            Operation::Rename { from, to } => format!("rename {from} to {to}"),
            Operation::Copy { from, to } => format!("copy {from} to {to}"),
        };
        patch.files.iter().map(one).collect::<Vec<_>>().join(", ")
    });
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (Err(found), Err(words)) => assert!(found.contains(words), "{found}"),
        (found, expected) => panic!("{found:?} instead of {expected:?}"),
    }
}

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

/// The names of a part that changes a line.
#[track_caller]
fn names(old: &str, new: &str, strip: Strip, expected: Result<&str, &str>) {
    check(&format!("--- {old}\n+++ {new}\n{HUNK}"), strip, expected);
}

#[test]
fn names_lose_as_many_folders_as_they_should() {
    names("a/d/x", "b/d/x", Strip::Guess, Ok("modify d/x"));
    names("d/x", "d/x", Strip::Guess, Ok("modify d/x"));
    names("a/d/x", "a/d/x", Strip::Guess, Ok("modify a/d/x"));
    names("a/d/x", "b/d/x", Strip::Exactly(0), Err("names `a/d/x`, and the next line `b/d/x`"));
    names("a/d/x", "b/d/x", Strip::Exactly(2), Ok("modify x"));
    names("/d/x", "/d/x", Strip::Exactly(1), Ok("modify d/x"));
    names("/d/x", "/d/x", Strip::Guess, Err("is absolute"));
    names("x", "x", Strip::Exactly(1), Err("names no file after 1 leading folders"));
    names("a/../x", "b/../x", Strip::Guess, Err("leaves its folder with `..`"));
    names("a/d/", "b/d/", Strip::Guess, Err("names the folder `d/`"));
    names("a/./d", "b/d", Strip::Guess, Err("has a part `.`"));
    names("a/x", "b/x.orig", Strip::Guess, Ok("modify x"));
    names("a/x~", "b/x", Strip::Guess, Ok("modify x"));
}

#[test]
fn dates_and_quotes_are_no_part_of_names() {
    names("a/x y\t2024-01-02 03:04:05.678 +0900", "b/x y\t2024-01-02", Strip::Guess, Ok("modify x y"));
    names("a/x 2024-01-02 03:04:05", "b/x   2024-01-02 03:04:05 +09:00", Strip::Guess, Ok("modify x"));
    names("a/x\t(revision 7)", "b/x\t(working copy)", Strip::Guess, Ok("modify x"));
    names("\"a/\\303\\274 \\\"\\t\"", "\"b/\\303\\274 \\\"\\t\"", Strip::Guess, Ok("modify ü \"\t"));
    names("\"a/\\377\"", "\"b/\\377\"", Strip::Guess, Err("is not UTF-8"));
    names("a/x\r", "b/x\r", Strip::Guess, Ok("modify x"));
}

#[test]
fn the_beginning_of_time_says_that_a_file_does_not_exist() {
    let new = "@@ -0,0 +1 @@\n+b\n";
    check(&format!("--- a/x\t1970-01-01 01:00:00 +0100\n+++ b/x\t2024-01-01\n{new}"), Strip::Guess, Ok("create x"));
    check(&format!("--- a/x\t1969-12-31 16:00:00.000 -0800\n+++ b/x\n{new}"), Strip::Guess, Ok("create x"));
    check(&format!("--- a/x\t1970-01-01 01:00:00 +0000\n+++ b/x\n{new}"), Strip::Guess, Ok("modify x"));
    check("--- a/x\n+++ b/x\t1970-01-01 00:00:00 +0000\n@@ -1 +0,0 @@\n-b\n", Strip::Guess, Ok("delete x"));
    names(
        "a/x\t1970-01-01 00:00:00 +0000",
        "b/x",
        Strip::Guess,
        Err("creates `x`, but its hunks have lines of an old file"),
    );
}

#[test]
fn headers_of_git_say_what_happens() {
    let one = |lines: &str, expected| check(&format!("diff --git a/d/x b/d/x\n{lines}"), Strip::Guess, expected);
    one("old mode 100644\nnew mode 100755\n", Ok("modify d/x"));
    one("new file mode 100644\nindex 0000000..e69de29\n", Ok("create d/x"));
    one("deleted file mode 100644\n", Ok("delete d/x"));
    one("rename from d/x\nrename to y\n", Ok("rename d/x to y"));
    one("copy from d/x\ncopy to y\n", Ok("copy d/x to y"));
    one("rename from d/x\n", Err("of which one name is missing"));
    one("rename to y\n", Err("of which one name is missing"));
    one("rename from d/x\ncopy to y\n", Err("contradicts the lines before"));
    one("rename from d/x\nrename to d/x\n", Err("rename of a file to itself"));
    one("index 1234567..89abcde 100644\n", Err("but no hunk follows"));
    one("", Err("but no hunk follows"));
    one("new file mode 100644\n--- /dev/null\n+++ b/d/x\n", Err("but no hunk follows"));
    one("new file mode 100644\n+a\n", Err("follows the header of `d/x` and looks like a line of a hunk"));
    one(&format!("--- a/d/x\n+++ b/d/y\n{HUNK}"), Err("name `d/x` and `d/y` without saying that it is a rename"));
    one(&format!("--- /dev/null\n+++ b/d/x\n{HUNK}"), Err("no line before it says that the file comes or goes"));
    one(&format!("new file mode 100644\n--- a/d/x\n+++ b/d/x\n{HUNK}"), Err("has to name `/dev/null`"));
    let twice = format!("--- a/d/x\nnew file mode 100644\n--- /dev/null\n+++ b/d/x\n{HUNK}");
    one(&twice, Err("has to name `/dev/null`"));
    one(&format!("--- a/d/x\nnew file mode 100644\n{HUNK}"), Err("name a file that does not exist"));
    one("new file mode 644\n", Err("names no mode of a file"));
    one("old mode 160000\nnew mode 100644\n", Err("is about a submodule"));
}

#[test]
fn the_first_line_of_git_names_the_file_where_no_other_does() {
    let one =
        |names: &str, strip, expected| check(&format!("diff --git {names}\nnew file mode 100644\n"), strip, expected);
    one("a/x y b/x y", Strip::Guess, Ok("create x y"));
    one("a/x b/x b/x b/x", Strip::Guess, Ok("create x b/x"));
    one("\"a/\\ttab\" \"b/\\ttab\"", Strip::Guess, Ok("create \ttab"));
    one("a/x \"b/x\"", Strip::Guess, Ok("create x"));
    one("x x", Strip::Guess, Ok("create x"));
    one("a/b/x c/d/x", Strip::Exactly(2), Ok("create x"));
    one("a/x b/y", Strip::Guess, Err("name no file"));
    one("a/x", Strip::Guess, Err("name no file"));
}

#[test]
fn binary_files_are_refused_by_name() {
    let head = "diff --git a/x.png b/x.png\nindex 1234567..89abcde 100644\n";
    check(
        &format!("{head}Binary files a/x.png and b/x.png differ\n"),
        Strip::Guess,
        Err("says that `x.png` is binary"),
    );
    check(
        &format!("{head}GIT binary patch\nliteral 1\nIc${{Nk000010000\n"),
        Strip::Guess,
        Err("says that `x.png` is binary"),
    );
    check("Binary files x and y differ\n", Strip::Guess, Err("is about a binary file"));
}

#[test]
fn text_around_a_diff_is_refused_or_skipped_with_a_warning() {
    let diff = format!("Look:\n```diff\n--- a/x\n+++ b/x\n{HUNK}```\nDone.\n");
    assert!(
        read(&diff, Strip::Guess, Prose::Refuse)
            .unwrap_err()
            .contains("line 1 of the diff is not part of a diff: `Look:`")
    );
    let patch = read(&diff, Strip::Guess, Prose::Skip).unwrap();
    assert_eq!(patch.warnings, ["4 lines that are no part of a diff were skipped, between lines 1 and 9: `Look:`"]);
    let mail = format!("From 1234 Mon\nSubject: x\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n{HUNK}-- \n2.47.3\n\n");
    assert_eq!(read(&mail, Strip::Guess, Prose::Skip).unwrap().files.len(), 1);
    let svn = format!("Index: x\n{}\n--- x\t(revision 1)\n+++ x\t(working copy)\n{HUNK}\n", "=".repeat(67));
    assert_eq!(read(&svn, Strip::Guess, Prose::Refuse).unwrap().files.len(), 1);
}

/// Changes that git would skip silently.
#[test]
fn no_change_is_lost_in_text_that_is_skipped() {
    let one = |text: &str, words: &str| {
        let said = read(&format!("--- a/x\n+++ b/x\n{HUNK}{text}"), Strip::Guess, Prose::Skip).unwrap_err();
        assert!(said.contains(words), "{said}");
    };
    one("+c\n", "follows hunk 1 of `x` and looks like a line of it: `+c`");
    one(" c\n-d\n", "follows hunk 1 of `x` and looks like a line of it: ` c`");
    one(" c\n@@ -7 +7 @@\n-d\n+e\n", "follows hunk 1 of `x` and looks like a line of it: ` c`");
    one("--- a/y\n+++ b/y\n@@ ... @@\n-a\n+b\n", "names a file, but no hunk follows");
    one("@@ ... @@\n-a\n+b\n", "is no header of a hunk");
    one("text\n@@ -1 +1 @@\n-a\n+b\n", "no lines `--- a/FILE` and `+++ b/FILE` come before it");
    one("diff --git a/y b/y\n@@ -1 +1 @@\n-a\n+b\n", "but no hunk follows");
    one("Binary files y and z differ\n", "is about a binary file");
}

#[test]
fn hunks_have_as_many_lines_as_their_headers_say() {
    let one = |hunk: &str, words: &str| {
        let said = read(&format!("--- a/x\n+++ b/x\n{hunk}"), Strip::Guess, Prose::Skip).unwrap_err();
        assert!(said.contains(words), "{said}");
    };
    one("@@ -1,3 +1 @@\n-a\n+b\n", "hunk 1 (line 3 of the diff) says -1,3 +1,1, but the diff ends before that");
    one("@@ -1,2 +1,2 @@\n-a\n+b\ntext\n", "line 6 is none of its lines: `text`");
    one("@@ -1,2 +1,1 @@\n-a\n+b\n+c\n-d\n", "line 6 is one more line of the new file: `+c`");
    one("@@ -1 +1 @@\n-a\n+b", "the diff ends within its last line, which has no line feed");
    one("@@ -1 +1 @@\n a\n", "begins a hunk that changes nothing");
    one("@@ -1,99999999999 +1 @@\n-a\n", "is no header of a hunk");
    one("@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+c\n", "follows a line that is said to be the last");
    one(
        "@@ -1,2 +1 @@\n\\ No newline at end of file\n-b\n-b\n+c\n",
        "follows no line that could be without a line feed",
    );
    one("@@ -1 +1 @@\n-a\n\\ short\n+b\n", "line 5 is none of its lines");
}

#[test]
fn recount_takes_the_numbers_of_lines_from_the_lines() {
    let text = "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n+c\n d\n--- a/y\n+++ b/y\n@@ -1 +1,5 @@\n-a\n+b\n";
    let options = ParseOptions { recount: true, ..ParseOptions::default() };
    let patch = parse(text.as_bytes(), &options).unwrap();
    let counts: Vec<_> = patch.files.iter().map(|part| (part.hunks[0].old.count, part.hunks[0].new.count)).collect();
    assert_eq!(counts, [(2, 3), (1, 1)]);
    let broken = "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\nlost its space\n-c\n";
    let options = ParseOptions { prose: Prose::Skip, ..options };
    assert!(parse(broken.as_bytes(), &options).unwrap_err().message().contains("but other text stands before it"));
}

#[test]
fn errors_of_malformed_diffs_are_invalid_input_with_their_line() {
    let error = parse(b"--- a/x\n+++ b/x\n@@ -1 +1,4 @@\n-a\n+b\n", &ParseOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidInput);
    assert_eq!(error.details()["line"], 3);
    assert_eq!(error.details()["found"], "@@ -1,1 +1,1 @@");
    assert!(error.hint_text().unwrap().contains("`@@ -1,1 +1,1 @@`"));
    let error = parse(b"--- /etc/x\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n", &ParseOptions::default()).unwrap_err();
    assert_eq!((error.code(), &error.details()["line"]), (Code::InvalidPath, &serde_json::json!(1)));
}

#[test]
fn recount_mends_the_last_line() {
    let options = ParseOptions { recount: true, ..ParseOptions::default() };
    for (hunk, last) in [
        ("@@ -1,2 +1,2 @@\n-a\n+b\n c", " c\n"),
        ("@@ -1 +1 @@\n-a\n+b", "+b\n"),
        ("@@ -1,2 +1,2 @@\r\n-a\r\n+b\r\n c", " c\r\n"),
        ("@@ -1,2 +1,2 @@\n-a\n+b\n c\r", " c\r\n"),
    ] {
        let patch = parse(format!("--- a/x\n+++ b/x\n{hunk}").as_bytes(), &options).unwrap();
        assert_eq!(patch.files[0].hunks[0].lines().last().unwrap().1, &last.as_bytes()[1..]);
        assert!(patch.warnings[0].contains("has no line feed at its end"), "{:?}", patch.warnings);
    }
    let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b";
    let error = parse(text.as_bytes(), &ParseOptions::default()).unwrap_err();
    let hint = error.hint_text().unwrap();
    assert!(hint.contains("`--recount`") && !hint.contains("@@"), "{hint}");
    let prose = ParseOptions { prose: Prose::Skip, ..options };
    assert_eq!(parse(format!("{text}\n\nDone").as_bytes(), &prose).unwrap().warnings.len(), 1);
}

/// A removed line `- ` looks like the end of a mail. The counts of the header tell them apart.
#[test]
fn recount_keeps_a_removed_line_of_dashes() {
    let options = ParseOptions { recount: true, ..ParseOptions::default() };
    for (hunk, lines) in [
        ("@@ -1,3 +1,2 @@\n-a\n+A\n b\n-- \n", 4),
        ("@@ -1,2 +1 @@\n a\n-- \n", 2),
        ("@@ -1,2 +1 @@\n a\n--\n", 2),
        ("@@ -1 +1 @@\n-a\n+A\n-- \n2.47.3\n", 2),
    ] {
        let text = format!("--- a/x\n+++ b/x\n{hunk}");
        let prose = ParseOptions { prose: Prose::Skip, ..options };
        let patch = parse(text.as_bytes(), &prose).unwrap();
        assert_eq!(patch.files[0].hunks[0].lines().count(), lines, "{hunk}");
    }
}

#[test]
fn a_mail_may_end_after_a_part_without_hunks() {
    let options = ParseOptions { prose: Prose::Skip, ..ParseOptions::default() };
    let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    let empty = "diff --git a/y b/y\nnew file mode 100644\nindex 0000000..e69de29\n";
    let moved = "diff --git a/x b/z\nsimilarity index 100%\nrename from x\nrename to z\n";
    for part in [mode, empty, moved] {
        for end in ["-- \n2.47.3\n", "--\n2.47.3\n\n", "-- \nA team\nand its town\n\n", "-- \n"] {
            let mail = format!("Subject: [PATCH] x\n\n---\n x | 0\n\n{part}{end}");
            assert_eq!(parse(mail.as_bytes(), &options).unwrap().files.len(), 1, "{mail}");
            assert_eq!(parse(mail.replace('\n', "\r\n").as_bytes(), &options).unwrap().files.len(), 1, "{mail}");
            let two = format!("{mail}\nFrom 0 Mon Sep 17 00:00:00 2001\n{mail}");
            let found = parse(two.as_bytes(), &options);
            // An empty line may be one of a hunk.
            assert!(found.map_or(end == "-- \n", |patch| patch.files.len() == 2), "{two}");
        }
        for lost in ["-- \n-a\n+b\n", "-a\n+b\n", "-- \n@@ -1 +1 @@\n-a\n+b\n"] {
            assert!(parse(format!("{part}{lost}").as_bytes(), &options).is_err(), "{lost}");
        }
    }
}
