//! Places are left only with evidence that they mean another thing, however exactly the caller names the thing.

use super::*;

/// Renames the thing at a place, from `old` to `new`: the files that change, or a part of the refusal.
#[track_caller]
fn at(files: Files<'_>, place: (&str, u64, u64), expected: Result<&[(&str, &str)], &str>) {
    let params = json!({"scope": {"path": place.0, "line": place.1, "column": place.2}});
    let answer = ask(files, &params, "**/*");
    match (answer, expected) {
        (Ok(answer), Ok(expected)) => {
            assert!(answer.output.verifier.passed, "{:#?}", answer.output.verifier);
            let expected: BTreeMap<String, Option<String>> =
                expected.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect();
            assert_eq!(answer.files, expected);
        }
        (Err(error), Err(part)) => assert!(error.message().contains(part), "{}", error.message()),
        (Ok(answer), Err(part)) => panic!("it was to be refused as `{part}`: {:#?}", answer.files),
        (Err(error), Ok(_)) => panic!("it was to be renamed: {}", error.message()),
    }
}

#[test]
fn files_that_nobody_parses_are_doubt() {
    let lib = ("lib.py", "def old(x):\n    return x\n");
    let fresh = ("lib.py", "def new(x):\n    return x\n");
    for (path, text) in [
        ("n.ipynb", "{\"cells\": [{\"source\": [\"from lib import old\\n\"]}]}"),
        ("ext.pyx", "from lib import old\n"),
        ("pyproject.toml", "[project.scripts]\nrun = \"lib:old\"\n"),
        ("setup.cfg", "console_scripts =\n    run = lib:old\n"),
        ("conf.yaml", "handler: lib.old\n"),
        ("Dockerfile", "CMD python -c 'from lib import old; old()'\n"),
    ] {
        at(&[lib, (path, text)], ("lib.py", 1, 5), Err(path));
    }
    // A large notebook is read, too.
    let large = format!("{}from lib import old", " ".repeat(5 << 20));
    at(&[lib, ("n.ipynb", &large)], ("lib.py", 1, 5), Err("n.ipynb"));
    // The word alone is mentioned.
    at(&[lib, ("notes.txt", "the old one, and glib.old\n")], ("lib.py", 1, 5), Ok(&[fresh]));
    let params = json!({"mentions": "list"});
    check(&[lib, ("conf.yaml", "handler: lib.old\n")], &params, &[("lib.py", Some(fresh.1))]);
}
