//! Judges the search for secrets by the cases of other projects: the share of secrets that it finds, and of false alarms.

use std::collections::BTreeMap;

use nrv::gate::secrets::{Rules, redact, scan};
use serde::Deserialize;

use crate::support::corpora;

#[derive(Deserialize)]
struct Case {
    id: String,
    expected: String,
    tier: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    consensus: Option<String>,
}

impl Case {
    fn is_secret(&self) -> bool {
        self.expected == "secret"
    }
}

/// Found and all, of secrets and of other texts.
#[derive(Debug, Default)]
struct Score {
    secret: (u32, u32),
    clean: (u32, u32),
}

impl Score {
    fn count(&mut self, secret: bool, found: bool) {
        let side = if secret { &mut self.secret } else { &mut self.clean };
        side.0 += u32::from(found);
        side.1 += 1;
    }

    #[track_caller]
    fn reaches(&self, recall: f64, false_alarms: f64) {
        let share = |(found, all): (u32, u32)| f64::from(found) / f64::from(all.max(1));
        assert!(share(self.secret) >= recall, "{self:?} is too little");
        assert!(share(self.clean) <= false_alarms, "{self:?} is too much");
    }
}

#[test]
fn other_projects_secrets_are_found_and_little_else() {
    let cases: Vec<Case> = corpora::require("secrets/secrets");
    // What one case calls a secret can't be clean in another: such cases were written about one rule and not about the text.
    let secrets: Vec<&str> =
        cases.iter().filter(|case| case.is_secret()).filter_map(|case| case.text.as_deref()).collect();
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for case in &cases {
        let Some(text) = &case.text else { continue };
        let mut found = scan(text.as_bytes(), case.path.as_deref(), Rules::built_in());
        if !case.is_secret() {
            found.retain(|found| !secrets.iter().any(|other| other.contains(&text[found.start..found.end])));
        }
        let mut count = |name| scores.entry(name).or_default().count(case.is_secret(), !found.is_empty());
        count("all");
        count(case.tier.as_str());
        if case.consensus.as_deref().is_some_and(|agreed| agreed != "one-peer") {
            count("consensus");
        }
        let redacted = redact(text, Rules::built_in());
        assert_eq!(redact(&redacted, Rules::built_in()), redacted, "{}", case.id);
    }
    tell(&scores);
    scores["consensus"].reaches(0.97, 0.02);
    scores["core"].reaches(0.90, 0.05);
}

#[expect(clippy::print_stderr, reason = "shown with --nocapture")]
fn tell(scores: &BTreeMap<&str, Score>) {
    for (name, score) in scores {
        eprintln!("{name}: secrets {:?}, clean {:?}", score.secret, score.clean);
    }
}
