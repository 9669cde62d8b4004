//! Detects destructive commands, from the command line and the looks at the disk that the caller passes in ([`Disk`]).
//!
//! The line is parsed like a shell's; programs that run other programs are followed; the final commands are checked against
//! [`Rules`]. Nothing is run. Quoted data is data: only executed words count. An unparsable line is
//! reported as such, and is never harmless.
//!
//! The guard of an agent has parts of its own: `acts` lists the commands of nrv that only a person may start. `brought` finds the
//! folder into which a copy or an archive brings files, and `landing` judges their names there. `patched` reads patches, and
//! `revisions` compares commits, and `kept` guards the key of a person's trust. The command line looks at the disk for them, in `face/cli/gate`.

mod acts;
mod arguments;
mod brought;
mod builtins;
mod check;
#[cfg(test)]
mod class_tests;
mod code;
mod command;
mod describe;
#[cfg(test)]
mod differential;
mod embedded;
mod examine;
mod exception;
mod finding;
mod followed_links;
mod guard;
mod guard_code;
#[cfg(test)]
mod guard_tests;
mod guarded;
mod kept;
mod kind;
mod landing;
mod line_state;
mod lists;
mod made;
mod names;
mod output;
mod patched;
mod place;
mod printed;
#[cfg(test)]
mod program_tests;
mod programs;
mod revisions;
mod rule;
mod run;
mod script;
mod sed;
mod settings;
mod shell;
#[cfg(test)]
mod shell_tests;
mod source;
mod sql;
mod taken;
#[cfg(test)]
mod tests;
mod trial;
mod value;
mod variables;
mod walk;
mod wrapper;
mod written;

pub(super) use self::guarded::is_in_store;
pub use self::{
    acts::{Act, VALUED, act},
    command::{Command, Disk, Listed, Start},
    describe::Described,
    examine::{examine, examine_from},
    exception::Exception,
    finding::{Examined, Hit, Severity},
    rule::{OwnRule, Rules},
    run::runs_what_follows,
};
