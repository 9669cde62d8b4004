//! Runs that are held at a certain moment: in the middle of a transaction, or where a script waits for a file.
#![expect(clippy::disallowed_methods, reason = "tests look at records")]

use std::{fs, path::PathBuf};

use super::site::{Running, Site, wait_until};

/// The number of tries for a moment before the test gives up.
const TRIES: usize = 25;

/// The policy of held scripts, which wait by looking for a file again and again.
pub(crate) const PATIENT: &str =
    "[script.limits]\noperations = 50_000_000_000\ncpu_s = 600\n[budget]\ncalls = 10_000_000\n";

/// A script that proposes, waits for the file `go`, applies, then waits for the file `end` and ends with `last`.
pub(crate) fn held_script(before: &str, after: &str, last: &str) -> String {
    format!(
        "const WORKFLOW = #{{ name: \"held\", permissions: #{{ write: [\"site/**\"] }} }};
fn wait_for(name) {{
    while !nrv.files.exists(name) {{ let i = 0; while i < 10000 {{ i += 1; }} }}
}}
let links = nrv.dta(\"link_updater\");
let proposal = links.propose(#{{ target: #{{ glob: \"site/**/*.html\" }},
    params: #{{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" }} }});
{before}
links.apply(proposal);
{after}
{last}
"
    )
}

/// Starts a run of `site` and stops its process in the middle of a transaction; its output is kept.
///
/// `reset` makes everything as it was if the moment was missed.
pub(crate) fn stopped_in_transaction(site: &Site, arguments: &[&str], reset: impl Fn()) -> Running {
    for _ in 0..TRIES {
        // An incomplete intent does not count: nothing was done.
        let whole = |path: &PathBuf| fs::read(path).is_ok_and(|text| text.ends_with(b"}"));
        let open = || site.recorded("*/journal/*.json").iter().any(whole);
        assert!(!open(), "no other transaction is open");
        let mut running = site.start_heard(arguments);
        wait_until("a transaction is open", || open() || running.has_ended());
        let stands = running.stop();
        if stands && open() && site.recorded("*/journal/*.committed").is_empty() {
            return running;
        }
        running.signal(rustix::process::Signal::CONT);
        running.end();
        reset();
    }
    panic!("the moment was missed {TRIES} times");
}
