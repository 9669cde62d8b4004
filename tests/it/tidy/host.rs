//! The size of the parts that `Host` wires: none becomes what `Host` was.

use regex::Regex;

use super::{none, sources};

/// Methods of a part, and of what borrows several parts for one purpose.
const METHODS: usize = 25;
const PARTS: &[&str] = &[
    "Adapters", "Asking", "Draft", "Ending", "Ledger", "Pipeline", "Pledges", "Recorder", "Requests", "Tally", "Terms",
    "Turn",
];

#[test]
fn the_parts_of_the_host_have_few_methods() {
    let method = Regex::new(r"\bfn \w+").expect("a pattern");
    let mut broken = Vec::new();
    for part in PARTS {
        let own = Regex::new(&format!(r"impl(<[^>]*>)? {part}(<[^>]*>)? \{{")).expect("a pattern");
        let mut methods = 0;
        for source in sources().iter().filter(|source| source.path.starts_with("host/")) {
            for found in own.find_iter(&source.code) {
                let block = &source.code[found.start()..source.end_of_block(found.end() - 1)];
                methods += method.find_iter(block).count();
            }
        }
        if methods == 0 || methods > METHODS {
            broken.push(format!("`{part}` has {methods} methods"));
        }
    }
    none(&broken);
}
