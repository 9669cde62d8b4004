//! Tests this machine's support for sandboxing by a trial.

use std::{fs, io, path::Path, sync::atomic::AtomicBool};

use super::{Confinement, Launch, Limits, NotStarted, Stage, launch};
use crate::process::Program;
use base::error::{Code, Error};

/// Prepares a program under these limits, on a stage, without starting one. The private folder is empty; leftovers in it are
/// useless.
pub fn ability(supervisor: &Program, folder: &Path, limits: Limits) -> Result<Confinement, NotStarted> {
    let make = |name: &str| {
        let path = folder.join(name);
        make_folder(&path).map(|()| path)
    };
    let [root, upper, work, temporary] = ["tree", "upper", "work", "temporary"].map(make);
    let failed = |error| Error::io("no private folder can be made", &error);
    let root = root.map_err(failed)?;
    let stage =
        Stage { root: root.clone(), upper: upper.map_err(failed)?, work: work.map_err(failed)?, ..Stage::default() };
    let order = Launch {
        program: "/proc/self/exe".into(),
        cwd: root,
        temporary: temporary.map_err(failed)?,
        stage: Some(stage),
        limits,
        ..Launch::default()
    };
    let mut found = None;
    let mut look = |confinement: &Confinement| {
        found = Some(confinement.clone());
        Err(Error::new(Code::Cancelled, "nothing is to be started"))
    };
    match (launch(&order, supervisor, &AtomicBool::new(false), &mut look), found) {
        (_, Some(confinement)) => Ok(confinement),
        (Err(refused), None) => Err(refused),
        (Ok(ended), None) => Ok(ended.confinement),
    }
}

#[expect(clippy::disallowed_methods, reason = "it lies in a private folder, outside of any tree")]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}
