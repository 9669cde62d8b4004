//! No command line makes the judge of destructive commands panic, and the same line is judged the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nrv::gate::destructive::{Command, Rules, examine};

fuzz_target!(|line: &str| {
    let rules = Rules::built_in();
    assert_eq!(examine(Command::Line(line), rules), examine(Command::Line(line), rules));
    let argv: Vec<String> = line.split('\0').map(str::to_owned).collect();
    examine(Command::Argv(&argv), rules);
});
