//! `nrv runs`: the records of past runs.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Here, ask::ask, output::Output, table, target::Target};
use base::{
    error::{Code, Error},
    text::{counted, escape, escape_in_json},
};
use host::Overview;
use record::{Record, Seal};

/// The latest run that changed files and is one of those that are wanted.
pub(super) fn latest(here: &Here, is_wanted: impl Fn(&Overview) -> bool) -> Result<String, Error> {
    let is_it = |run: &Overview| run.files_changed > 0 && run.mode == "apply" && is_wanted(run);
    let found = host::overviews(&here.context)?.into_iter().rfind(is_it).map(|run| run.run);
    found
        .ok_or_else(|| Error::new(Code::NotFound, "no run has changed anything").hint("`nrv runs list` shows the runs"))
}

pub(super) fn list(here: &Here, state: Option<&str>, limit: Option<usize>, out: &mut Output) -> Result<u8, Error> {
    let mut overviews = host::overviews(&here.context)?;
    overviews.retain(|run| state.is_none_or(|state| run.state == state));
    overviews.drain(..overviews.len().saturating_sub(limit.unwrap_or(usize::MAX)));
    if out.is_json() {
        out.document(&overviews);
    } else if overviews.is_empty() {
        out.say(if state.is_some() { "There are no such runs." } else { "There are no runs yet." });
    } else {
        out.data(&table::runs(&overviews));
        for run in overviews.iter().filter(|run| run.state == host::State::Suspended.as_str()) {
            let folder = here.context.runs.open(&run.run)?;
            // A damaged record is for `runs verify` to report.
            tell_waiting(&folder, &folder.records().unwrap_or_default(), out);
        }
    }
    Ok(0)
}

/// Shows the confirmation or lock that a run waits for, in one line.
fn tell_waiting(folder: &record::RunFolder, records: &[record::Record], out: &mut Output) {
    if let Some(waiting) = host::waiting(folder, records) {
        out.line(&format!("{} {}", folder.id(), waiting.sentence()));
    }
}

/// Shows the files of the change that waits for confirmation, and the path of its diff.
fn tell_waiting_change(folder: &record::RunFolder, records: &[record::Record], out: &mut Output) {
    let end = records.last().filter(|_| host::waiting(folder, records).is_some());
    let error = end.and_then(|end| end.event.end()?.error.as_ref());
    if let Some(text) = error.and_then(table::waiting) {
        out.data(&text);
    }
}

pub(super) fn show(here: &Here, run: &str, canonical: bool, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let records = folder.records()?;
    let readable = records.iter().try_for_each(Record::check).map(|()| 0);
    if out.is_json() {
        readable.clone()?;
    }
    if canonical {
        let rows = host::canonical_records(&folder, &records, here.context.workspace.root())?;
        if out.is_json() {
            out.document(&rows);
            return Ok(0);
        }
        for row in rows {
            out.line(&escape_in_json(&base::json::canonical(&row)?));
        }
        return readable;
    }
    let overview = host::overview(&here.context, &folder)?;
    if out.is_json() {
        let records = records.iter().map(Record::to_json).collect::<Result<Vec<_>, Error>>()?;
        out.document(&json!({"run": overview, "records": records}));
        return Ok(0);
    }
    out.data(&table::runs(&[overview]));
    tell_waiting(&folder, &records, out);
    tell_waiting_change(&folder, &records, out);
    for record in &records {
        let place = if record.position.is_empty() { "-" } else { &record.position };
        out.line(&format!("{:>4}  {place:<6} {:<22} {}", record.seq, record.kind(), record.summary()));
        if let Some(output) = record.event.exec_ended().and_then(|ended| ended.volatile.output.as_ref()) {
            out.line(&table::output(output, "             "));
        }
    }
    if let Some(end) = records.iter().rev().find_map(|record| record.event.end()) {
        out.line("");
        out.data(&table::account(end, records.iter().find_map(|record| record.event.run_started())));
    }
    host::commitments(&records).iter().for_each(|one| out.data(&table::commitment(one)));
    // Calls that can't be read are named below.
    host::agents(&here.context, folder.id()).unwrap_or_default().iter().for_each(|one| out.line(&table::agent(one)));
    for verified in records.iter().filter_map(|record| record.event.dta_verified()) {
        out.line("");
        let output = record::outcome::settled(&records, &verified.output);
        out.data(&table::adapter(&json!(output), &json!(verified.after)));
    }
    let error = records.iter().rev().find_map(|record| record.event.end()).and_then(|end| end.error.as_ref());
    let left = host::Left::of(&records, error, |path| folder.read(path).ok());
    left.lines().for_each(|line| out.line(&escape(&line)));
    // Everything else is shown before a record that can't be read is named.
    readable
}

pub(super) fn agents(here: &Here, run: &str, out: &mut Output) -> Result<u8, Error> {
    let agents = host::agents(&here.context, run)?;
    if out.is_json() {
        out.document(&json!({"agents": agents}));
        return Ok(0);
    }
    if agents.is_empty() {
        out.say("The run has no agents.");
    }
    agents.iter().for_each(|agent| out.line(&table::agent(agent)));
    Ok(0)
}

pub(super) fn verify(here: &Here, run: &str, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let report =
        record::verify(&here.context.runs, &folder, here.context.options.threads, &here.context.options.cancel)?;
    let packs = host::damaged_pre_images(&folder);
    let changed = host::changed_since(&here.context, &folder);
    let sound = (report.is_sound() || report.is_empty) && packs.is_empty();
    if out.is_json() {
        let seal = report.seal;
        out.document(&json!({
            "run": folder.id(), "sound": sound, "seal": seal, "records": report.records, "files": report.files,
            "left_out": report.left_out,
            "findings": report.findings, "damaged_pre_images": packs, "targets_changed_since": changed,
        }));
    } else {
        out.data(&table::report(&report));
        packs.iter().for_each(|finding| out.line(&finding.to_string()));
        if report.seal == Seal::Unsealed && !report.is_empty {
            out.line("unsealed: no head marks the end of the record");
        }
        for path in &changed {
            out.line(&format!("{}: changed since the run", escape(path)));
        }
    }
    if sound {
        out.say(&match report.is_empty {
            true => format!("Run {} has no record: its process died before the first one.", folder.id()),
            false => format!("The record of run {} is intact.", folder.id()),
        });
        return Ok(0);
    }
    let is_open = report.seal == Seal::Unsealed && report.findings.is_empty() && packs.is_empty();
    out.say(&match is_open {
        true => format!("The record of run {} is intact so far; no head marks its end.", folder.id()),
        false => format!("The record of run {} is NOT intact.", folder.id()),
    });
    Ok(Code::RecordDamaged.exit_code())
}

pub(super) fn export(
    here: &Here,
    run: &str,
    file: Option<&Path>,
    contents: Option<bool>,
    out: &mut Output,
) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let waits = host::overview(&here.context, &folder)?.state == host::State::Suspended.as_str();
    // Without them it can't go on elsewhere.
    let contents = contents.map_or_else(|| folder.lacks_contents().map(|lacks| waits && !lacks), Ok)?;
    let named = file.map_or_else(|| PathBuf::from(format!("{}.nrv-run", folder.id())), Path::to_owned);
    let path = here.absolute(&named);
    let unwritten = |error: &std::io::Error| Error::io(format!("`{}` can't be written", named.display()), error);
    // An existing file is refused below.
    Target::of(&path, "an archive")?;
    #[expect(clippy::disallowed_methods, reason = "a file that the user names on the command line is theirs to name")]
    let file = File::create_new(&path).map_err(|error| {
        let error = unwritten(&error);
        if path.exists() { error.hint("name another file with `-o`; none is overwritten") } else { error }
    })?;
    let mut writer = BufWriter::new(file);
    let exported = host::export(&here.context, folder.id(), contents, &mut writer)
        .and_then(|done| writer.flush().map_err(|error| unwritten(&error)).map(|()| done));
    let exported = exported.inspect_err(|_| {
        #[expect(clippy::disallowed_methods, reason = "it was made here, and is not whole")]
        let _ = std::fs::remove_file(&path);
    })?;
    if out.is_json() {
        out.document(&json!({
            "run": exported.run, "file": path, "contents": contents,
            "files": exported.files, "left_out": exported.left_out,
        }));
    }
    let files = counted(exported.files, "file");
    out.say(&format!("Run {} is in {}: {files} of its record.", exported.run, named.display()));
    if exported.left_out > 0 {
        out.say(&format!(
            "Left out: {} with contents of the workspace; `--with-contents` includes them.",
            counted(exported.left_out, "file")
        ));
    }
    Ok(0)
}

pub(super) fn import(here: &Here, file: &Path, out: &mut Output) -> Result<u8, Error> {
    let unread = |error: &std::io::Error| Error::io(format!("`{}` can't be read", file.display()), error);
    let mut input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        #[expect(
            clippy::disallowed_methods,
            reason = "a file that the user names on the command line is theirs to name"
        )]
        let opened = File::open(here.absolute(file));
        Box::new(BufReader::new(opened.map_err(|error| unread(&error))?))
    };
    let run = host::import(&here.context, &mut input)?;
    if out.is_json() {
        out.document(&json!({"run": run}));
    }
    out.say(&format!("Run {run} was imported; its record is intact."));
    Ok(0)
}

pub(super) fn remove(
    here: &Here,
    runs: &[String],
    (dry_run, yes): (bool, bool),
    out: &mut Output,
) -> Result<u8, Error> {
    let found = host::remove_runs(&here.context, runs, true)?;
    if !dry_run && !yes {
        let names = found.iter().map(|one| one.run.as_str()).collect::<Vec<_>>().join(", ");
        let label = format!("remove the record of {names}; a rollback is not possible any more");
        ask(here, label, Vec::new(), "no record was removed", out)?;
    }
    let removed = host::remove_runs(&here.context, runs, dry_run)?;
    if out.is_json() {
        out.document(&json!({"removed": removed}));
        return Ok(0);
    }
    removed.iter().for_each(|gone| out.line(&format!("{}  {:>10}", gone.run, mib(gone.bytes))));
    let done = if dry_run { "would be removed" } else { "removed" };
    out.say(&format!("{} {done}, {}.", counted(removed.len(), "run"), mib(removed.iter().map(|one| one.bytes).sum())));
    Ok(0)
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

pub(super) fn gc(here: &Here, dry_run: bool, out: &mut Output) -> Result<u8, Error> {
    let collected = host::collect(&here.context, dry_run)?;
    if out.is_json() {
        out.document(&collected);
        return Ok(0);
    }
    for gone in &collected.removed {
        let why = if gone.beyond == Some("age") { "older than `retention.days`" } else { "beyond `retention.size`" };
        out.line(&format!("{}  {:>10}  {why}", gone.run, mib(gone.bytes)));
    }
    let (n, freed) = (collected.removed.len(), mib(collected.freed));
    let done = if dry_run { "would be removed" } else { "removed" };
    let (gone, kept) = (counted(n, "run"), counted(collected.kept, "run"));
    out.say(&format!("{gone} {done}, {freed}; {kept} kept, {}.", mib(collected.kept_bytes)));
    Ok(0)
}
