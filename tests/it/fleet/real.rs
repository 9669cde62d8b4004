//! Real repositories: the sources of the crates that nrv is made of, changed by three workflows on one machine and by GNU parallel.

use super::*;
use crate::support::{long, need};

/// Adds a key to the file that cargo packs with each crate, and renames one.
const RECORDS: &str = "const WORKFLOW = #{ permissions: #{ write: [\"**/*.json\"] }, budget: #{ files: 500, diff_lines: 50000 } };
let proposal = nrv.dta(\"json_schema_migrator\").propose(#{ target: #{ glob: [\"**/.cargo_vcs_info.json\"] }, params: #{
    schema: #{ type: \"object\", required: [\"managed\"], properties: #{ managed: #{ \"default\": true }, path_in_vcs: false } },
    formats: [\"json\"], fixes: #{ rename: #{ \"/path_in_vcs\": \"path\" }, defaults: true }, allow_invalid: [\"**\"] } });
nrv.dta(\"json_schema_migrator\").apply(proposal).applied_changes.files
";

/// Replaces a word in code.
const WORDS: &str =
    "const WORKFLOW = #{ permissions: #{ write: [\"**\"] }, budget: #{ files: 2000, diff_lines: 500000 } };
let seen = \"\";
for hit in nrv.files.grep(\"\\\\bResult\\\\b\", [\"**/*.rs\"]) {
    if hit.path == seen { continue; }
    seen = hit.path;
    let text = nrv.files.read(seen);
    nrv.apply.write(seen, nrv.text.replace_all(text, \"\\\\bResult\\\\b\", \"Outcome\"), nrv.files.sha256(seen));
}
";

/// The folders of crates, as cargo has unpacked them, those with a record of their repository alone.
fn crates() -> Vec<(String, PathBuf)> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).unwrap();
    let registries: Vec<PathBuf> =
        std::fs::read_dir(home.join("registry/src")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let lock = std::fs::read_to_string(crate::repository::root().join("Cargo.lock")).unwrap();
    let value = |part: &str, key: &str| {
        part.lines().find_map(|line| Some(line.strip_prefix(key)?.trim_matches(['=', ' ', '"']).to_owned()))
    };
    let mut found = BTreeMap::new();
    for part in lock.split("[[package]]") {
        let (Some(name), Some(version)) = (value(part, "name "), value(part, "version ")) else { continue };
        let folders = registries.iter().map(|registry| registry.join(format!("{name}-{version}")));
        let mut real =
            folders.filter(|folder| folder.join(".cargo_vcs_info.json").exists() && folder.join("README.md").exists());
        found.extend(real.next().map(|folder| (name, folder)));
    }
    found.into_iter().collect()
}

/// The lines of a patch that it removes and adds, by file.
fn changed(patch: &[u8]) -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    let mut files: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    let mut path = String::new();
    for line in String::from_utf8_lossy(patch).split_inclusive('\n') {
        if let Some(name) = line.strip_prefix("+++ b/") {
            path = name.trim_end().to_owned();
        } else if let Some(removed) = line.strip_prefix('-').filter(|line| !line.starts_with("-- ")) {
            files.entry(path.clone()).or_default().0.push(removed.to_owned());
        } else if let Some(added) = line.strip_prefix('+').filter(|line| !line.starts_with("++ ")) {
            files.entry(path.clone()).or_default().1.push(added.to_owned());
        }
    }
    files
}

#[test]
fn three_workflows_over_real_repositories_give_the_same_on_one_machine_and_on_an_engine() {
    if !long::is_long() {
        return need::skip("long");
    }
    let number = 60;
    let fleet = Fleet::new();
    let all = crates();
    let step = all.len() / number;
    for (name, folder) in all.iter().step_by(step).take(number) {
        let copy = fleet.beside("repositories").join(name);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        assert!(Command::new("cp").arg("-r").args([folder, &copy]).status().unwrap().success());
        let _ = std::fs::remove_dir_all(copy.join(".git"));
        commit(&copy);
    }
    let has_parallel = Command::new("parallel").arg("--version").output().is_ok();
    if !has_parallel {
        need::skip("parallel");
    }
    let links = "script = 'std:migrate_all_links'\nargs = { from = ['github.com'], to = 'https://forge.example.org', glob = ['**/*.md'] }\n";
    fleet.site.script("records.rhai", RECORDS);
    fleet.site.script("words.rhai", WORDS);
    fleet.site.nrv(&["approve", "records.rhai", "words.rhai", "--yes"]).exits(0);
    let list: String =
        all.iter().step_by(step).take(number).map(|(name, _)| format!("../repositories/{name}\n")).collect();
    fleet.site.write("list", list);
    for (name, script) in
        [("links", links), ("records", "script = 'records.rhai'\n"), ("words", "script = 'words.rhai'\n")]
    {
        fleet.site.write("fleet.toml", format!("name = '{name}'\nstore = '../{name}'\n{script}"));
        fleet.site.nrv(&["fleet", "plan", "--repositories", "list"]).exits(0);
        fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
        let (rows, patches) = fleet.results(&[]);
        assert_eq!(rows.len(), number);
        check(&fleet, name, &patches);
        if has_parallel {
            let engine = format!("../{name}-engine");
            let worked = Command::new("sh")
                .args([
                    "-c",
                    "seq 0 $((N - 1)) | parallel -j 2 \"$NRV\" fleet work plan.jsonl --store \"$S\" --index {}",
                ])
                .envs([("N", number.to_string().as_str()), ("NRV", crate::repository::nrv()), ("S", engine.as_str())])
                .env("NRV_TRUSTED_PATHS", "/")
                .current_dir(fleet.site.root())
                .output()
                .unwrap();
            assert!(worked.status.success(), "{worked:?}");
            assert!(fleet.results(&["--store", &engine]) == (rows, patches), "{name}: the engine's results differ");
        }
    }
}

/// Looks at what a workflow changed by other means than nrv's own.
fn check(fleet: &Fleet, workflow: &str, patches: &BTreeMap<String, Vec<u8>>) {
    assert!(!patches.is_empty(), "{workflow} changed nothing");
    let word = regex::Regex::new(r"\bResult\b").unwrap();
    for (name, patch) in patches {
        let repository = fleet.beside("repositories").join(name.strip_suffix(".patch").unwrap());
        let file = fleet.beside("one.patch");
        std::fs::write(&file, patch).unwrap();
        let applies =
            Command::new("git").arg("-C").arg(&repository).args(["apply", "--check"]).arg(&file).output().unwrap();
        assert!(applies.status.success(), "{workflow} {name}: {applies:?}");
        let files = changed(patch);
        for (path, (removed, added)) in &files {
            match workflow {
                "links" => {
                    let moved: Vec<String> = removed
                        .iter()
                        .map(|line| {
                            line.replace("https://github.com/", "https://forge.example.org/")
                                .replace("http://github.com/", "https://forge.example.org/")
                        })
                        .collect();
                    assert_eq!(&moved, added, "{name} {path}");
                }
                "words" => {
                    let renamed: Vec<String> =
                        removed.iter().map(|line| word.replace_all(line, "Outcome").into_owned()).collect();
                    assert_eq!(&renamed, added, "{name} {path}");
                }
                _ => {
                    let before = std::fs::read_to_string(repository.join(path)).unwrap();
                    let before: Value = serde_json::from_str(&before).unwrap();
                    assert!(
                        added.concat().contains("\"managed\": true") && before["managed"].is_null(),
                        "{name} {path}"
                    );
                    assert_eq!(added.concat().contains("\"path\""), before["path_in_vcs"].is_string(), "{name} {path}");
                }
            }
        }
        if workflow == "words" {
            // Every file with the word is in the patch.
            let grep =
                Command::new("git").arg("-C").arg(&repository).args(["grep", "-lwz", "Result", "--", "*.rs"]).output();
            let grep = String::from_utf8(grep.unwrap().stdout).unwrap();
            let expected: Vec<&str> = grep.split_terminator('\0').collect();
            assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), expected, "{name}");
        }
    }
}
