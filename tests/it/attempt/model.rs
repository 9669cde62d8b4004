//! Random changes in random attempts against a model that knows nothing of transactions.
//!
//! `NRV_ATTEMPT_SEED` chooses other ones, and `NRV_ATTEMPT_ROUNDS` their number.
#![expect(clippy::print_stderr, reason = "the script of a failure is shown")]

use std::{collections::BTreeMap, fmt::Write, fs};

use serde_json::json;

use super::{agrees, events, site};
use crate::support::{
    chance::{Chance, setting},
    long,
    site::Site,
};

/// Texts by path.
type Files = BTreeMap<String, String>;

/// A random program with its expected effects.
struct Program {
    chance: Chance,
    text: String,
    files: Files,
    /// The files before the outermost open attempt.
    outside: Option<Files>,
    /// The files at each wait of the run.
    stops: Vec<Files>,
    ended: [u64; 2],
    n: u64,
}

impl Program {
    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", depth * 4);
    }

    fn any(&mut self) -> Option<String> {
        let n = self.chance.below(self.files.len() as u64);
        self.files.keys().nth(usize::try_from(n).unwrap()).cloned()
    }

    /// One change that fits.
    fn change(&mut self, depth: usize) {
        self.n += 1;
        let n = self.n;
        let fresh = format!("notes/{}/f{}.txt", self.chance.below(3), self.chance.below(6));
        let some = self.any();
        let is_free = !self.files.contains_key(&fresh);
        match (self.chance.below(4), some) {
            (0, Some(path)) => {
                self.line(depth, &format!("nrv.apply.write(\"{path}\", \"{n}\\n\", nrv.files.sha256(\"{path}\"));"));
                self.files.insert(path, format!("{n}\n"));
            }
            (1, Some(path)) => {
                self.line(depth, &format!("nrv.apply.remove(\"{path}\", nrv.files.sha256(\"{path}\"));"));
                self.files.remove(&path);
            }
            (2, Some(path)) if is_free => {
                self.line(depth, &format!("nrv.apply.rename(\"{path}\", \"{fresh}\", nrv.files.sha256(\"{path}\"));"));
                let text = self.files.remove(&path).unwrap();
                self.files.insert(fresh, text);
            }
            _ if is_free => {
                self.line(depth, &format!("nrv.apply.create(\"{fresh}\", \"{n}\\n\");"));
                self.files.insert(fresh, format!("{n}\n"));
            }
            _ => {}
        }
    }

    fn attempt(&mut self, depth: usize) {
        let before = self.files.clone();
        let outermost = self.outside.is_none();
        if outermost {
            self.outside = Some(before.clone());
        }
        self.line(depth, "nrv.attempt(|| {");
        self.steps(depth + 1);
        let last = ["true", "false", "throw \"no\"", "nrv.files.read(\"notes/none.txt\")"];
        let last = last[usize::try_from(self.chance.below(4)).unwrap()];
        self.line(depth + 1, last);
        self.line(depth, "});");
        let kept = last == "true";
        self.ended[usize::from(!kept)] += 1;
        if !kept {
            self.files = before;
        }
        if outermost {
            self.outside = None;
        }
    }

    fn steps(&mut self, depth: usize) {
        for _ in 0..2 + self.chance.below(4) {
            match self.chance.below(8) {
                0 | 1 if depth < 4 => self.attempt(depth),
                2 => {
                    let label = format!("stop {}", self.stops.len());
                    self.line(depth, &format!("nrv.gate.confirm(\"{label}\", 1);"));
                    self.stops.push(self.outside.as_ref().unwrap_or(&self.files).clone());
                }
                _ => self.change(depth),
            }
        }
        let known = serde_json::to_string(&self.files.keys().collect::<Vec<_>>()).unwrap();
        self.line(
            depth,
            &format!("if nrv.files.glob(\"notes/**\") != {known} {{ nrv.gate.require(false, \"{depth}\"); }}"),
        );
    }
}

fn program(seed: u64) -> Program {
    let files = Files::from([("notes/old.txt".to_owned(), "old\n".to_owned())]);
    let (text, stops) = (String::new(), Vec::new());
    let mut program = Program { chance: Chance(seed), text, files, outside: None, stops, ended: [0, 0], n: 0 };
    program.steps(0);
    program.attempt(0);
    program.steps(0);
    program
}

fn found(site: &Site) -> Files {
    let tree = site.tree().into_iter().filter(|(name, (kind, ..))| name.starts_with("notes/") && *kind == 'f');
    tree.map(|(name, (_, _, bytes))| (name, String::from_utf8(bytes).unwrap())).collect()
}

/// Runs it with a stop at each of its confirmations, and dry, and dry as a patch.
fn check(seed: u64) {
    let Program { text, files, stops, ended, .. } = program(seed);
    let site = site(&text).policy("[confirm]\nmode = \"policy\"\n[evaluators]\nfail = []\n");
    let untouched = site.tree();
    let label = "it".to_owned();
    // A dry run asks no questions.
    let dry = site.nrv(&["run", "tries.rhai", "--dry-run", "--json"]).exits(0);
    assert!(site.tree() == untouched, "{label}");
    agrees(&site);
    let patch = fs::read(site.last_run().join("artifacts/run.patch")).unwrap();
    let mut arguments = vec!["run".to_owned(), "tries.rhai".to_owned()];
    for (n, stop) in stops.iter().enumerate() {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        site.nrv(&words).exits(7);
        assert_eq!(found(&site), *stop, "stop {n}");
        arguments = ["resume", "last", "--approve"].map(str::to_owned).to_vec();
        arguments.push(format!("c{}", n + 1));
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = site.nrv(&words).exits(0);
    assert_eq!(found(&site), files);
    site.last_ended("done");
    agrees(&site);
    assert!(ran.stderr.contains("changed"), "{ran:?}");
    assert_eq!(events(&site).pop().unwrap()["data"]["attempts"], json!({"kept": ended[0], "undone": ended[1]}));
    let applied = site.tree();
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == untouched);
    if !patch.is_empty() {
        site.write("../run.patch", patch);
        site.git(&["apply", "../run.patch"]);
    }
    assert_eq!(found(&site), files, "{:?}", dry.json());
    assert!(site.tree() == applied);
}

#[test]
fn random_changes_in_random_attempts_come_to_what_a_model_says() {
    let seed = setting("NRV_ATTEMPT_SEED", 20_261_122);
    for round in 0..long::rounds("NRV_ATTEMPT_ROUNDS", 1, 9) {
        let seed = seed.wrapping_mul(round + 1) | 1;
        let told = std::panic::catch_unwind(|| check(seed));
        if let Err(panic) = told {
            eprintln!("seed {seed}:\n{}", program(seed).text);
            std::panic::resume_unwind(panic);
        }
    }
}
