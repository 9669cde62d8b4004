//! The surroundings of a command.

use std::{collections::BTreeMap, path::Path, sync::atomic::AtomicBool};

use system::{
    policy,
    process::{Critical, Program},
    workspace::View,
};

/// The surroundings of a command.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The tree as the run sees it; in a dry run with its proposals.
    pub view: View<'a>,
    /// The policy of commands.
    pub exec: &'a policy::Exec,
    /// The environment of nrv; the policy passes some of its variables on.
    pub environment: &'a BTreeMap<String, String>,
    /// The program with the hidden subcommands that supervise.
    pub supervisor: &'a Program,
    /// The run, whose id is part of the names of private folders.
    pub run: &'a str,
    /// True if the program may be a file of the workspace, by the rule that allows the command.
    pub from_workspace: bool,
    /// The variables that calls may set by that rule, beside those that any call may.
    pub variables: &'a [String],
    /// Protected paths that the policy lets runs write.
    pub permitted: &'a [String],
    /// True if the changes are discarded.
    pub discard: bool,
    /// True if writes to scratch folders are discarded, too.
    pub dry_run: bool,
    /// The time limit of the command, in milliseconds.
    pub timeout_ms: u64,
    /// Threads for listing; results don't depend on it.
    pub threads: usize,
    /// True as soon as it must stop.
    pub cancel: &'a AtomicBool,
    /// Entered while the command runs, which ends by itself after a request to stop.
    pub critical: &'a Critical,
    /// The files that take the whole output, of stdout and stderr.
    pub output: Option<(&'a Path, &'a Path)>,
}
