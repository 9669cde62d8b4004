//! `nrv scripts`: the workflows of a repository.

use super::{Here, output::Output, table};
use crate::{base::error::Error, script};

pub(super) fn list(here: &Here, out: &mut Output) -> Result<u8, Error> {
    let listed = script::list(&here.context)?;
    if out.is_json() {
        out.document(&listed);
    } else if listed.is_empty() {
        out.say("There are no workflows here yet. `nrv init` writes a first one.");
    } else {
        out.data(&table::scripts(&listed));
    }
    Ok(0)
}
