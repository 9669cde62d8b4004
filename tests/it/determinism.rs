//! The same inputs give the same patch and the same record, wherever and on however many threads.
#![expect(clippy::disallowed_methods, reason = "the artefacts that are compared are read as they are")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use serde_json::json;

use crate::support::site::{Site, Tree};

const SAMPLE: &str = "const WORKFLOW = #{ name: \"sample\", permissions: #{ write: [\"site/**\"] } };
let pages = nrv.files.glob(\"site/**\");
nrv.run.metric(\"chosen\", nrv.random.int(1, 1000000));
nrv.ui.table(nrv.random.sample(pages, 5).map(|path| #{ path: path, sha256: nrv.files.sha256(path) }));
let hits = nrv.files.grep(\"old[.]example\", \"site/**\");
let out = nrv.dta(\"link_updater\").run(#{ target: #{ glob: \"site/**/*.html\" },
    params: #{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" } });
#{ hits: hits.len, first: hits[0], shuffled: nrv.random.shuffle(pages), out: out }
";

/// The artefacts that must be equal: the dry run's patch, the apply's patch, and both records.
fn artefacts(threads: &str, seed: &str) -> [Vec<u8>; 5] {
    let site = Site::new(41);
    site.script("sample.rhai", SAMPLE);
    let shared = ["run", "sample.rhai", "--yes", "--seed", seed, "--threads", threads];
    let read = |pattern: &str| std::fs::read_to_string(site.recorded(pattern).pop().unwrap()).unwrap().into_bytes();
    let canonical = || site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout.into_bytes();
    site.nrv(&[&shared[..], &["--dry-run"]].concat()).exits(0);
    let (dry_patch, dry_record) = (read("*/artifacts/run.patch"), canonical());
    site.nrv(&shared).exits(0);
    let record = canonical();
    let migrated = site.migrate(&["--threads", threads, "--seed", seed]).exits(0);
    assert!(migrated.stderr.contains("Nothing was changed"));
    [dry_patch, dry_record, read("*/packs/t1/patch"), record, canonical()]
}

#[test]
fn the_same_inputs_give_the_same_patch_and_record() {
    let first = artefacts("1", "7");
    assert!(first[0].starts_with(b"diff --git") && first[0] == first[2], "the preview is the change");
    for threads in ["1", "2", "8"] {
        for (index, (one, other)) in first.iter().zip(&artefacts(threads, "7")).enumerate() {
            let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
            let differing = one.lines().zip(other.lines()).find(|(a, b)| a != b);
            assert!(one == other, "artefact {index} on {threads} threads: {differing:?}");
        }
    }
}

#[test]
fn another_seed_is_another_record() {
    let (one, other) = (artefacts("2", "1"), artefacts("2", "2"));
    assert!(one[0] == other[0] && one[3] != other[3]);
}

/// Edits of every place that a search finds.
const EDITS: &str = "const WORKFLOW = #{ name: \"edits\", permissions: #{ write: [\"src/**\"] } };
let found = nrv.edit.find(#{ kind: \"class\", glob: \"src/**/*\", name: \"p-2\" });
for target in found { nrv.edit.update_class_name(target, \"p-2\", \"p-4\"); }
for target in nrv.edit.find(#{ kind: \"text\", glob: \"src/**/*.html\", text: \"Old\" }) {
    nrv.edit.update_text_content(target, \"Old\", \"New\");
}
found
";

/// The tree after the edits, and what was recorded: the targets and changes, and every patch.
fn edited(threads: &str) -> (Tree, String, Vec<Vec<u8>>) {
    let site = Site::new(0);
    for index in 0..12 {
        let component = format!("export const C{index} = () => <p className=\"a p-2\">Old {index}</p>;\n");
        site.write(&format!("src/{}/c{index}.tsx", index % 3), component);
        site.write(&format!("src/{}/p{index}.html", index % 3), "<p class=\"p-2\">Old</p>\n<p>Old</p>\n");
    }
    site.script("edits.rhai", EDITS);
    let command = ["run", "edits.rhai", "--yes", "--json", "--allow-dirty", "--threads", threads];
    let ran = site.nrv(&command).exits(0).json();
    assert_eq!((ran["result"].as_array().unwrap().len(), &ran["files_changed"]), (24, &json!(24)));
    let record = site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout;
    let patches = site.recorded("*/packs/*/patch").into_iter().map(|path| std::fs::read(path).unwrap()).collect();
    let tree = site.tree();
    let again = site.nrv(&command).exits(0).json();
    assert_eq!((&again["result"], &again["files_changed"]), (&json!([]), &json!(0)), "{threads} threads");
    assert!(site.tree() == tree);
    (tree, record, patches)
}

#[test]
fn micro_edits_are_the_same_on_any_number_of_threads_and_leave_nothing_to_do() {
    let first = edited("1");
    assert_eq!(first.2.len(), 24 + 24);
    for threads in ["2", "8"] {
        let other = edited(threads);
        let differing = first.1.lines().zip(other.1.lines()).find(|(one, other)| one != other);
        assert!(first == other, "{threads} threads: {differing:?}");
    }
}
