//! Judges the gate for destructive commands by the cases of other projects.

use std::collections::BTreeMap;

use nrv::gate::destructive::{Command, Rules, examine};
use serde::Deserialize;

use crate::support::corpora;

#[derive(Deserialize)]
struct Case {
    id: String,
    command: String,
    #[serde(default)]
    argv: Option<Vec<String>>,
    expected: String,
    scope: String,
    category: String,
    consensus: String,
    #[serde(default)]
    disputed: bool,
}

/// The results of some cases.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    flagged: u32,
    missed: u32,
    passed: u32,
    alarms: u32,
}

impl Tally {
    fn add(&mut self, wanted: bool, found: bool) {
        match (wanted, found) {
            (true, true) => self.flagged += 1,
            (true, false) => self.missed += 1,
            (false, false) => self.passed += 1,
            (false, true) => self.alarms += 1,
        }
    }

    fn recall(&self) -> f64 {
        f64::from(self.flagged) / f64::from((self.flagged + self.missed).max(1))
    }

    fn alarms(&self) -> f64 {
        f64::from(self.alarms) / f64::from((self.alarms + self.passed).max(1))
    }
}

#[test]
fn what_other_projects_agree_upon_is_found_and_what_they_let_pass_passes() {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut wrong = BTreeMap::new();
    for case in corpora::require::<Case>("destructive-commands/commands") {
        let wanted = match case.expected.as_str() {
            "flag" => true,
            "allow" => false,
            _ => continue,
        };
        let command = case.argv.as_ref().map_or(Command::Line(&case.command), |argv| Command::Argv(argv));
        let examined = examine(command, Rules::built_in());
        let found = !examined.hits.is_empty() || examined.unparsed.is_some();
        for group in groups(&case) {
            tallies.entry(group).or_default().add(wanted, found);
        }
        if wanted != found {
            let rules: Vec<String> = examined.hits.into_iter().map(|hit| hit.rule).chain(examined.unparsed).collect();
            let half = if is_kept_aside(&case.id) { "kept" } else { "seen" };
            let kind = if wanted { "missed" } else { "alarm" };
            let text = format!("{half} {kind} {} {} {:?} {rules:?}", case.consensus, case.category, case.command);
            wrong.insert(case.id, text);
        }
    }
    for text in wrong.values() {
        say(text);
    }
    for (group, tally) in &tallies {
        say(&format!("{group}: recall {:.3}, false alarms {:.3} {tally:?}", tally.recall(), tally.alarms()));
    }
    let (agreed, core) = (tallies["agreed all"], tallies["core all"]);
    assert!(agreed.recall() >= 0.97 && agreed.alarms() <= 0.02, "{agreed:?}");
    assert!(core.recall() >= 0.90 && core.alarms() <= 0.05, "{core:?}");
}

/// The groups in which a case is counted.
fn groups(case: &Case) -> Vec<String> {
    let half = if is_kept_aside(&case.id) { "kept aside" } else { "seen" };
    let mut groups = Vec::new();
    if case.consensus != "one-peer" {
        groups.push("agreed");
    }
    if case.scope == "core" && !case.disputed {
        groups.push("core");
    }
    if case.scope == "extended" {
        groups.push("extended");
    }
    groups.iter().flat_map(|group| [format!("{group} all"), format!("{group} {half}")]).collect()
}

/// Held-out cases: they were not seen while the rules were written, and show the quality of the rules on new input.
fn is_kept_aside(id: &str) -> bool {
    let hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0x94d0_49bb_1331_11eb);
    (hash >> 32) & (mixed ^ mixed >> 31) & 1 == 1
}

#[expect(clippy::print_stderr, reason = "shown with --nocapture")]
fn say(text: &str) {
    eprintln!("{text}");
}
