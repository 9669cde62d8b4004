//! Trees of documents with known faults against a new schema: each right repair is made byte by byte, every other fault is
//! listed with its file, line, pointer and keyword, and its file stays.
//!
//! `NRV_JSON_TREES` makes more of them, from `NRV_JSON_SEED` on.

#![expect(clippy::print_stderr, reason = "counts are shown with --nocapture")]

mod maker;
mod model;

use serde_json::{Value, json};

use self::maker::{File, World};
use crate::support::{
    chance::{Chance, setting},
    long,
    site::Site,
};

/// The sums over all trees.
#[derive(Debug, Default)]
struct Sum {
    faults: u64,
    repaired: u64,
    hopeless: u64,
    missed: Vec<String>,
}

/// Runs the adapter; returns its output, or its error.
fn run(site: &Site, mode: &str, params: &Value) -> (i32, Value) {
    let ran = site.adapt("json_schema_migrator", mode, "conf/**", params);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| json!({"stderr": ran.stderr})))
}

/// True if the findings name the fault of a file that has no right repair.
fn is_listed(file: &File, findings: &[Value]) -> bool {
    let Some((keyword, pointer, words)) = file.listed else { return false };
    let line = file.before.lines().position(|line| line.contains(words)).map(|line| line as u64 + 1);
    findings.iter().any(|finding| {
        finding["path"] == file.path
            && finding["kind"] == keyword
            && finding["place"] == pointer
            && (pointer.is_empty() || finding["line"].as_u64() == line)
    })
}

/// Makes a tree, has it repaired, and judges the result.
fn round(seed: u64, sum: &mut Sum) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    let world = World::make(&mut chance);
    world.files.iter().for_each(|file| site.write(&file.path, &file.before));
    site.commit();
    let old = json!({"schema": maker::old_schema(), "formats": ["json", "jsonc", "json5", "yaml", "toml"]});
    let (code, fresh) = run(&site, "dry-run", &old);
    assert_eq!((code, &fresh["baseline"]["files_invalid"]), (0, &json!(0)), "seed {seed}: {:#?}", site.findings());
    let before = site.tree();
    run(&site, "dry-run", &world.params(&[]));
    let listed = site.findings();
    let hopeless: Vec<&str> =
        world.files.iter().filter(|file| file.after.is_none()).map(|file| file.path.as_str()).collect();
    let (code, output) = run(&site, "apply", &world.params(&[]));
    assert_eq!(code == 0, hopeless.is_empty() && listed.is_empty(), "seed {seed}: {output:#}");
    if code != 0 {
        assert!(site.tree() == before, "seed {seed}: nothing is written, neither by a dry run nor by a refused apply");
    }
    let allowed: Vec<&str> = listed.iter().filter_map(|finding| finding["path"].as_str()).collect();
    let (code, output) = match code {
        0 => (code, output),
        _ => run(&site, "apply", &world.params(&allowed)),
    };
    assert_eq!(code, 0, "seed {seed}: {output:#}");
    for file in &world.files {
        judge(seed, file, &String::from_utf8(site.read(&file.path)).expect("it is UTF-8"), &listed, sum);
    }
    let after = site.tree();
    let (code, second) = run(&site, "apply", &world.params(&allowed));
    assert_eq!((code, &second["proposed_changes"]["files"]), (0, &json!(0)), "seed {seed}: the second pass is empty");
    assert!(site.tree() == after, "seed {seed}");
    let applied = output["run"].as_str().expect("it names its run").to_owned();
    site.nrv(&["rollback", &applied]).exits(0);
    assert!(site.tree() == before, "seed {seed}: a rollback is exact");
}

fn judge(seed: u64, file: &File, now: &str, listed: &[Value], sum: &mut Sum) {
    let shown = || format!("seed {seed}: {}: {listed:#?}\n{:?}\n{now:?}\n{:?}", file.path, file.before, file.after);
    let Some(after) = &file.after else {
        assert!(now == file.before && is_listed(file, listed), "a fault without a right repair is listed: {}", shown());
        sum.hopeless += 1;
        return;
    };
    let is_listed = listed.iter().any(|finding| finding["path"] == file.path.as_str());
    assert_eq!(is_listed, now == file.before && now != after, "a file that stays is listed: {}", shown());
    sum.faults += file.faults;
    if now == after {
        sum.repaired += file.faults;
        return;
    }
    assert!(is_listed, "a repair is not the right one: {}", shown());
    sum.missed.push(shown());
}

#[test]
fn known_faults_are_repaired_byte_by_byte() {
    let (first, count) = (setting("NRV_JSON_SEED", 1), long::rounds("NRV_JSON_TREES", 1, 9));
    let mut sum = Sum::default();
    for seed in first..first + count {
        round(seed, &mut sum);
    }
    let Sum { faults, repaired, hopeless, missed } = &sum;
    assert!(repaired * 100 >= faults * 90, "{repaired} of {faults} repairs: {}", missed.join("\n"));
    assert!(*faults >= count * 20 && *hopeless >= count / 2, "the trees try too little: {sum:?}");
    eprintln!("{count} trees: {repaired} of {faults} faults repaired, {hopeless} files without a right repair listed");
}
