//! The pre-images of a run: whether its record still has them.

use crate::change::{restored::pre_image, transaction::Transacted};
use base::error::{Code, Error};
use record::{
    EVENTS, Finding, Record, RunFolder,
    event::{Event, Kind},
};

/// An error if a run's record came without the contents of files: nothing can be brought back from it.
pub(crate) fn check_contents(folder: &RunFolder) -> Result<(), Error> {
    if !folder.lacks_contents()? {
        return Ok(());
    }
    let run = folder.id();
    Err(Error::new(Code::NotFound, format!("what the files of run `{run}` were before is not here")).hint(format!(
        "its record was exported without contents; export it with `nrv runs export {run} --with-contents`"
    )))
}

/// The records of what a run did to the tree.
pub(super) fn moves(folder: &RunFolder) -> Result<Vec<Record>, Error> {
    let records = folder.records_of(&[Kind::Committed, Kind::Undone, Kind::Revoked])?;
    records.iter().try_for_each(Record::check)?;
    Ok(records)
}

/// Returns the transactions of a run in their order, its own undoing included. Together they give the changes that still stand.
pub(super) fn standing_transactions(records: &[Record]) -> Vec<Transacted> {
    let mut standing: Vec<Transacted> = Vec::new();
    for record in records {
        match &record.event {
            Event::Committed(moved) | Event::Undone(moved) => standing.push(moved.as_ref().into()),
            Event::Revoked(revoked) => standing.retain(|committed| committed.transaction != revoked.transaction),
            _ => {}
        }
    }
    standing
}

/// Pre-images of a run that are missing or not what they were; without them it can't be rolled back.
pub fn damaged_pre_images(folder: &RunFolder) -> Vec<Finding> {
    if folder.lacks_contents().unwrap_or(false) {
        return Vec::new();
    }
    let standing = match moves(folder) {
        Ok(records) => standing_transactions(&records),
        Err(error) => return vec![Finding { place: EVENTS.to_owned(), reason: error.message().to_owned() }],
    };
    let mut findings = Vec::new();
    for Transacted { transaction, entries } in &standing {
        for (index, entry) in entries.iter().enumerate() {
            let Some(stamp) = entry.before else { continue };
            if let Err(error) = pre_image(folder, transaction, index, &stamp, &entry.path) {
                let place = format!("packs/{transaction}/pre/{index}");
                findings.push(Finding { place, reason: error.message().to_owned() });
            }
        }
    }
    findings
}
