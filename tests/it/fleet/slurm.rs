//! A fleet on a real cluster of Slurm with two nodes, one of which is lost in the middle.

use super::*;
use crate::support::{long, need};

/// Runs a script beside a cluster, or looks whether there can be one; its output if it ends well.
fn beside_a_cluster(fleet: &Fleet, folder: &str, script: Option<&str>) -> Result<String, String> {
    let here = crate::repository::root().join("tests/slurm");
    let program = Path::new(crate::repository::nrv());
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let folder = fleet.beside(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let ran = Command::new(here.join("cluster"))
        .arg(&folder)
        .args(script.iter().flat_map(|script| ["bash", "-c", script]))
        .env("PATH", path)
        .env("NRV", program)
        .env("CUT", here.join("cut"))
        .current_dir(fleet.site.root())
        .output()
        .unwrap();
    let said = format!("{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.success() { Ok(said) } else { Err(said) }
}

#[test]
fn a_lost_node_of_slurm_loses_no_task() {
    if !long::is_long() {
        return need::skip("long");
    }
    let fleet = Fleet::new();
    if beside_a_cluster(&fleet, "probe", None).is_err() {
        return need::skip("slurm");
    }
    for n in 0..60 {
        let text = if n % 7 == 3 { "broken\n" } else { "see old.example.com\n" };
        fleet.repository(&format!("r{n:02}"), &[("x.md", text)]);
    }
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--store", "../alone"]).exits(1);
    // A node counts as lost after some seconds, and its job waits two minutes before it is started again.
    let cut = "sleep 4; \"$CUT\" n1";
    let script = format!(
        "set -e\n\"$NRV\" fleet submit plan.jsonl --engine slurm --jobs 2 --dry-run\nsbatch --test-only plan.jsonl.slurm.sh\n\
         \"$NRV\" fleet submit plan.jsonl --engine slurm --jobs 2\n{cut}\n\
         for _ in $(seq 1500); do [ -n \"$(squeue --noheader)\" ] || break; sleep 0.2; done\nsqueue\n"
    );
    let said = beside_a_cluster(&fleet, "slurm", Some(&script)).unwrap_or_else(|said| panic!("{said}"));
    assert!(said.contains("Submitted batch job"), "{said}");
    assert_eq!(fleet.results(&[]), fleet.results(&["--store", "../alone"]), "{said}");
}
