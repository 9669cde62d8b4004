//! A check that the gate judges every command of nrv and knows which options take a value.

use std::collections::BTreeSet;

use clap::CommandFactory;

use crate::face::cli::arguments::Cli;
use gate::destructive::{VALUED, act};

/// The commands that may run, each with its words.
fn commands(command: &clap::Command, words: &[&str], found: &mut Vec<String>) {
    let inner: Vec<&clap::Command> = command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    if !words.is_empty() && (inner.is_empty() || !command.is_subcommand_required_set()) {
        found.push(words.join(" "));
    }
    for one in inner {
        commands(one, &[words, &[one.get_name()]].concat(), found);
    }
}

/// The options that take the next argument.
fn valued(command: &clap::Command, found: &mut BTreeSet<String>) {
    for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
        let takes =
            argument.get_action().takes_values() && argument.get_num_args().is_none_or(|count| count.min_values() > 0);
        if takes {
            found.extend(argument.get_long().map(|name| format!("--{name}")));
            found.extend(argument.get_short().map(|name| format!("-{name}")));
        }
    }
    command.get_subcommands().for_each(|inner| valued(inner, found));
}

#[test]
fn every_command_is_an_act_of_a_person_or_excused() {
    let mut cli = Cli::command();
    cli.build();
    let mut found = Vec::new();
    commands(&cli, &[], &mut found);
    assert!(found.len() > 40, "{found:?}");
    for command in &found {
        let words: Vec<&str> = command.split(' ').collect();
        assert!(act(&words).is_some(), "add `nrv {command}` to `ACTS` in `src/service/gate/destructive/acts.rs`");
    }
}

#[test]
fn options_that_take_a_value_are_known_to_the_gate() {
    let mut cli = Cli::command();
    cli.build();
    let mut found = BTreeSet::new();
    valued(&cli, &mut found);
    let known: BTreeSet<String> = VALUED.iter().map(|option| (*option).to_owned()).collect();
    assert_eq!(
        found, known,
        "write the options of the left side to `VALUED` in `src/service/gate/destructive/acts.rs`"
    );
}
