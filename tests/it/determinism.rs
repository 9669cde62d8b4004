//! The same inputs give the same patch and the same record, wherever and on however many threads.
#![expect(clippy::disallowed_methods, reason = "the artefacts that are compared are read as they are")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use crate::support::site::Site;

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
