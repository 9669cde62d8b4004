//! Trees of documents with known links, a history and known faults: every repair leads where the link led, no right link is
//! touched, and a link without a single right repair is listed and left.
//!
//! The judge reads the documents by the marks that their maker left, and resolves paths by itself. `NRV_LINK_TREES` makes more.

mod faults;
mod judge;
mod maker;

use serde_json::{Value, json};

use self::{
    judge::{Found, Sum, judged},
    maker::World,
};
use crate::support::{
    chance::{Chance, setting},
    long,
    site::Site,
};

/// Runs the adapter; returns its output.
fn run(site: &Site, mode: &str, params: &Value) -> (i32, Value) {
    let ran = site.adapt("intra_repo_link_fixer", mode, "**", params);
    let output =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr));
    (ran.code, output)
}

/// The findings of the last run, each as file and destination.
fn findings(site: &Site) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    site.findings().iter().map(|finding| (text(&finding["path"]), text(&finding["place"]))).collect()
}

/// Makes a tree, breaks it, has it repaired, and judges the result.
fn round(seed: u64, sum: &mut Sum) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    let mut world = World::make(&mut chance);
    world.write(&site);
    site.commit();
    let fresh = run(&site, "dry-run", &world.params());
    assert_eq!(
        (fresh.0, &fresh.1["baseline"]["links_broken"]),
        (0, &json!(0)),
        "seed {seed}: {:#} {:?}",
        fresh.1,
        findings(&site)
    );
    faults::inject(&mut world, &site, &mut chance);
    let before = site.tree();
    let links = judge::links(&world, &before);
    let (_, dry) = run(&site, "dry-run", &world.params());
    assert!(site.tree() == before, "seed {seed}: a dry run writes nothing");
    let listed = findings(&site);
    let mut params = world.params();
    let allowed = listed.iter().map(|(file, link)| json!({"file": file, "link": link}));
    params["allow_broken"] = allowed.collect();
    let (code, output) = run(&site, "apply", &params);
    assert_eq!(code, 0, "seed {seed}: {output:#}\n{dry:#}\n{}", shown(&links));
    let after = site.tree();
    judged(seed, &world, (&links, &listed), (&before, &after), sum);
    let (code, second) = run(&site, "apply", &params);
    assert_eq!((code, &second["proposed_changes"]["files"]), (0, &json!(0)), "seed {seed}: the second pass is empty");
    assert!(site.tree() == after, "seed {seed}");
    let applied = output["run"].as_str().expect("it names its run").to_owned();
    site.nrv(&["rollback", &applied]).exits(0);
    assert!(site.tree() == before, "seed {seed}: a rollback is exact");
}

fn shown(links: &[Found]) -> String {
    links.iter().map(|found| format!("{found:?}\n")).collect()
}

#[test]
fn known_trees_are_repaired_as_they_were() {
    let (first, count) = (setting("NRV_LINK_SEED", 1), long::rounds("NRV_LINK_TREES", 1, 15));
    let mut sum = Sum::default();
    for seed in first..first + count {
        round(seed, &mut sum);
    }
    assert!(sum.repaired * 100 >= sum.one_right * 90, "too few repairs: {sum:?}");
    assert!(
        sum.one_right >= count * 4 && sum.hopeless >= count && sum.good >= count * 20,
        "the trees try too little: {sum:?}"
    );
}
