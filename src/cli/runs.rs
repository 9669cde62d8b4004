//! `nrv runs`: the records of past runs.

use serde_json::json;

use super::{Here, output::Output, table};
use crate::{
    error::{Code, Error},
    host, ledger,
    ledger::Seal,
    text::escape,
};

pub(super) fn list(here: &Here, out: &mut Output) -> Result<u8, Error> {
    let overviews = host::overviews(&here.context)?;
    if out.is_json() {
        out.document(&overviews);
    } else if overviews.is_empty() {
        out.say("There are no runs yet.");
    } else {
        out.data(&table::runs(&overviews));
    }
    Ok(0)
}

pub(super) fn show(here: &Here, run: &str, canonical: bool, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let records = folder.records()?;
    if canonical {
        let rows = host::canonical_records(&folder, &records, here.context.workspace.root());
        if out.is_json() {
            out.document(&rows);
            return Ok(0);
        }
        for row in rows {
            out.line(&crate::json::canonical(&row)?);
        }
        return Ok(0);
    }
    let overview = host::overview(&here.context, &folder)?;
    if out.is_json() {
        out.document(&json!({"run": overview, "records": records}));
        return Ok(0);
    }
    out.data(&table::runs(&[overview]));
    for record in &records {
        let place = if record.position.is_empty() { "-" } else { &record.position };
        out.line(&format!("{:>4}  {place:<6} {:<22} {}", record.seq, record.kind, host::summary(record)));
    }
    for record in records.iter().filter(|record| record.kind == "dta_verified") {
        out.line("");
        out.data(&table::adapter(&record.data["output"], &record.data["after"]));
    }
    Ok(0)
}

pub(super) fn verify(here: &Here, run: &str, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let report = ledger::verify(&here.context.runs, &folder)?;
    let packs = host::damaged_pre_images(&folder);
    let changed = host::changed_since(&here.context, &folder);
    let sound = report.is_sound() && packs.is_empty();
    if out.is_json() {
        let seal = report.seal;
        out.document(&json!({
            "run": folder.id(), "sound": sound, "seal": seal, "records": report.records, "files": report.files,
            "findings": report.findings, "damaged_pre_images": packs, "targets_changed_since": changed,
        }));
    } else {
        out.data(&table::report(&report));
        packs.iter().for_each(|finding| out.line(&format!("{}: {}", finding.place, finding.reason)));
        if report.seal == Seal::Unsealed {
            out.line("unsealed: no head says where the record ends");
        }
        for path in &changed {
            out.line(&format!("{}: is not as the run left it", escape(path)));
        }
    }
    if sound {
        out.say(&format!("The record of run {} is what was written.", folder.id()));
        return Ok(0);
    }
    out.say(&format!("The record of run {} is NOT what was written.", folder.id()));
    Ok(Code::RecordDamaged.exit_code())
}
