//! No command line makes the judge of destructive commands panic, and the same line is judged the same.
#![cfg_attr(fuzzing, no_main)]

use nrv::gate::destructive::{Command, Rules, examine};
use nrv_fuzz::fuzz_target;

fuzz_target!(|line: &str| {
    let rules = Rules::built_in();
    assert_eq!(examine(Command::Line(line), rules), examine(Command::Line(line), rules));
    let argv: Vec<String> = line.split('\0').map(str::to_owned).collect();
    examine(Command::Argv(&argv), rules);
});
