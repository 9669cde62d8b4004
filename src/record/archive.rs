//! A run's record as one file, to be taken elsewhere: a gzipped tar that begins with `export.json`, which holds the head.
//!
//! Without contents only hashes of files go along. What comes in is not trusted: only regular files with the names that records
//! have, up to a limit, and nothing takes its place before its chain and head are verified.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    sync::atomic::AtomicBool,
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::Serialize;
use serde_json::Value;
use tar::{Archive, Builder, EntryType, Header};

use super::{RunFolder, Runs, Seal, verify::verify_against};
use crate::about::{About, FORMAT, holds_contents};
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// The name of the file that describes an export. The file stays in the folder of a run that was imported.
pub(super) const EXPORT: &str = "export.json";

/// How many files a record has at most when it comes from elsewhere.
const MAX_FILES: usize = 200_000;

/// The longest `export.json` that is read.
const MAX_ABOUT: u64 = 1 << 22;

/// A summary of an export: how many files it has, and how many were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The run.
    pub run: String,
    /// How many files of the record are in it.
    pub files: usize,
    /// How many were left out because they hold contents of files, or show a secret.
    pub left_out: usize,
}

/// The scope of an export: the files that it includes.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// True if contents of files do.
    pub contents: bool,
    /// True for a JSON document that shows a secret, which does not go along without contents.
    pub shows_secret: &'a dyn Fn(&Value) -> bool,
}

impl RunFolder {
    /// True if the record was imported without contents of files, so that it can be shown and verified, not rolled back.
    pub fn lacks_contents(&self) -> Result<bool, Error> {
        Ok(self.export()?.is_some_and(|about| !about.contents))
    }

    /// Returns the description of the export from which the record was imported; none if it was not imported.
    pub(super) fn export(&self) -> Result<Option<About>, Error> {
        let Some(file) = self.open_file(EXPORT)? else { return Ok(None) };
        Ok(serde_json::from_reader(file.take(MAX_ABOUT)).ok())
    }
}

/// Writes a run's record as one file.
///
/// Only a run that has stopped has a head; another is `invalid_input`. What holds contents of files is left out unless it is
/// asked for, and so is every file beside the chain that shows a secret.
pub fn export(runs: &Runs, run: &RunFolder, scope: Scope<'_>, out: &mut dyn Write) -> Result<Exported, Error> {
    let contents = scope.contents;
    let Some(head) = runs.head(run.id())? else {
        return Err(Error::new(Code::InvalidInput, format!("run `{}` has no end that could go along", run.id()))
            .hint("wait until it stops, or run `nrv recover` if its process died"));
    };
    if contents && run.lacks_contents()? {
        return Err(Error::new(Code::NotFound, format!("the contents of run `{}` are not here", run.id()))
            .hint("it was imported without them; leave `--with-contents` out"));
    }
    let failed = |error: std::io::Error| Error::io("the export can't be written", &error);
    let mut about = About { format: FORMAT, run: run.id().to_owned(), contents, head, withheld: Vec::new() };
    let names: Vec<String> = run.files()?.into_iter().filter(|name| name != EXPORT).collect();
    if !contents {
        about.withheld = withheld(run, &names, scope.shows_secret)?;
    }
    let text = serde_json::to_vec(&about).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    let mut archive = Builder::new(GzEncoder::new(out, Compression::default()));
    append(&mut archive, EXPORT, &text).map_err(failed)?;
    let mut exported = Exported { run: run.id().to_owned(), files: 0, left_out: 0 };
    for name in names {
        if about.lacks(&name) {
            exported.left_out += 1;
            continue;
        }
        append(&mut archive, &name, &run.read_image(&name, u64::MAX)?.0).map_err(failed)?;
        exported.files += 1;
    }
    archive.into_inner().and_then(GzEncoder::finish).map_err(failed)?;
    Ok(exported)
}

/// The files beside the chain that show a secret. The chain itself shows none.
fn withheld(run: &RunFolder, names: &[String], shows_secret: &dyn Fn(&Value) -> bool) -> Result<Vec<String>, Error> {
    let mut withheld = run.export()?.map(|about| about.withheld).unwrap_or_default();
    for name in names.iter().filter(|name| name.ends_with(".json") && !holds_contents(name)) {
        let is_shown = serde_json::from_slice(&run.read(name)?).is_ok_and(|value| shows_secret(&value));
        if is_shown && name != "run.json" {
            withheld.push(name.clone());
        }
    }
    Ok(withheld)
}

/// Adds one file, with nothing of this machine in it: no owner, no time.
fn append(archive: &mut Builder<impl Write>, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    archive.append(&header, bytes)
}

/// Takes in a record that [`export`] wrote, `limit` bytes at most, and verifies it before it takes its place.
///
/// `check_contents` looks at what only the host can tell to be right, if contents are in it. `invalid_input` if it is no export
/// or the run is here already with no less, `record_damaged` if it is not what was written.
pub fn import(
    runs: &Runs,
    input: &mut dyn Read,
    limit: u64,
    check_contents: &dyn Fn(&RunFolder) -> Result<(), Error>,
) -> Result<RunFolder, Error> {
    let mut archive = Archive::new(GzDecoder::new(input));
    // Raw: what extends a header could be of any length, and no export has it.
    let mut entries = archive.entries().map_err(|error| no_export(&error.to_string()))?.raw(true);
    let first = entries.next().ok_or_else(|| no_export("it is empty"))?;
    let about = read_about(&mut first.map_err(|error| no_export(&error.to_string()))?)?;
    let staged = runs.stage(&about.run)?;
    let checked = unpack(&mut entries, &staged, limit)
        .and_then(|()| check(runs, &staged, &about))
        .and_then(|()| if about.contents { check_contents(&staged) } else { Ok(()) });
    let taken = checked.and_then(|()| {
        let text = serde_json::to_vec(&about).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        staged.write(EXPORT, &text)?;
        runs.place(&staged, about.contents)
    });
    match taken {
        // Whoever took its folder away by hand has left its line.
        Ok(run) if runs.head(&about.run)?.as_ref() == Some(&about.head) => Ok(run),
        Ok(run) => runs.add_head(&about.head).map(|()| run),
        Err(error) => {
            staged.remove()?;
            Err(error)
        }
    }
}

fn read_about(entry: &mut tar::Entry<'_, impl Read>) -> Result<About, Error> {
    if entry.path_bytes().as_ref() != EXPORT.as_bytes() || entry.size() > MAX_ABOUT {
        return Err(no_export("it does not begin with `export.json`"));
    }
    let about: Value = serde_json::from_reader(entry.take(MAX_ABOUT)).map_err(|error| no_export(&error.to_string()))?;
    // Of a later form nothing else is known.
    match about["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            let message = format!("the export has the form {format}, and this version reads {FORMAT}");
            return Err(Error::new(Code::InvalidInput, message).hint("import it with the version of nrv that wrote it"));
        }
        None => return Err(no_export("it does not say which form it has")),
    }
    let about: About = serde_json::from_value(about).map_err(|error| no_export(&error.to_string()))?;
    if !is_run_id(&about.run) || about.head.run != about.run {
        return Err(no_export("it names no run"));
    }
    Ok(about)
}

/// True for text of the form `20261121T202000Z-7f3a`.
fn is_run_id(text: &str) -> bool {
    let (time, rest) = text.split_once('-').unwrap_or_default();
    system::clock::parse_compact(time).is_some() && rest.len() == 4 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unpack<R: Read>(entries: &mut tar::Entries<'_, R>, staged: &RunFolder, limit: u64) -> Result<(), Error> {
    let mut rest = limit;
    for (count, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|error| no_export(&error.to_string()))?;
        let bytes = entry.path_bytes().into_owned();
        let name = str::from_utf8(&bytes).map_err(|_| no_export("a name in it is not UTF-8"))?.to_owned();
        if entry.header().entry_type() != EntryType::Regular || !is_record_file(&name) {
            return Err(no_export(&format!("`{}` is no file of a record", name.escape_debug())));
        }
        let size = entry.size();
        if count >= MAX_FILES || size > rest {
            return Err(Error::new(
                Code::InvalidInput,
                format!("the export holds more than {limit} bytes or {MAX_FILES} files"),
            )
            .hint("`retention.size` in `nrv.toml` bounds what is taken in"));
        }
        if staged.open_file(&name)?.is_some() {
            return Err(no_export(&format!("`{}` is in it twice", name.escape_debug())));
        }
        let mut content = Told { reader: &mut entry, failure: None };
        let written = staged.write_new(&name, &mut content, size);
        match (written, content.failure) {
            (_, Some(failure)) => return Err(no_export(&failure)),
            (Ok(written), None) if written != size => return Err(no_export("it is cut off")),
            (written, None) => drop(written?),
        }
        rest -= size;
    }
    Ok(())
}

/// A reader that keeps why it failed: what is wrong with an archive is not wrong with the file that it is written to.
struct Told<R> {
    reader: R,
    failure: Option<String>,
}

impl<R: Read> Read for Told<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(buffer).inspect_err(|error| self.failure = Some(error.to_string()))
    }
}

/// True for the names that files of a record have. Nothing may be left in its journal: recovery would act upon it.
fn is_record_file(name: &str) -> bool {
    let is_plain = RepoPath::parse(name).is_ok_and(|path| path.as_str() == name)
        && name.split('/').count() <= 8
        && name.split('/').all(|part| !part.starts_with('.'));
    let folders = ["packs/", "artifacts/", "dta/", "confirmations/"];
    is_plain && (name == "run.json" || name == super::EVENTS || folders.iter().any(|folder| name.starts_with(folder)))
}

/// Checks that the record is what was written, and that it is no other end of a run that is known here.
fn check(runs: &Runs, staged: &RunFolder, about: &About) -> Result<(), Error> {
    let damaged = |what: String| {
        Error::new(Code::RecordDamaged, format!("the record of run `{}` in the export {what}", about.run))
            .hint("export it again")
    };
    let run: Value = serde_json::from_slice(&staged.read("run.json")?).unwrap_or_default();
    if run["run"] != about.run.as_str() {
        return Err(damaged("is that of another run".to_owned()));
    }
    if runs.head(&about.run)?.is_some_and(|known| (known.seq, &known.hash) != (about.head.seq, &about.head.hash)) {
        return Err(damaged("has another end than the run had here".to_owned()));
    }
    let report = verify_against(staged, Some(&about.head), Some(about), 1, &AtomicBool::new(false))?;
    match (report.findings.first(), report.seal) {
        (Some(finding), _) => Err(damaged(format!("is NOT intact: {finding}"))),
        (None, Seal::Sealed) => drop_unnamed(staged),
        (None, Seal::Unsealed | Seal::Broken) => Err(damaged("does not end where its head says".to_owned())),
    }
}

/// Removes the files that no record vouches for. A call that failed may have left one; anybody could have added another.
fn drop_unnamed(staged: &RunFolder) -> Result<(), Error> {
    let mut named: BTreeSet<String> = ["run.json", super::EVENTS, super::REPLIES].map(str::to_owned).into();
    for file in staged.records()?.into_iter().flat_map(|record| record.files) {
        if let Some(pack) = file.path.strip_suffix("/manifest.json").filter(|_| file.path.starts_with("packs/")) {
            let manifest: Value = match staged.open_file(&file.path)? {
                Some(_) => serde_json::from_slice(&staged.read(&file.path)?).unwrap_or_default(),
                None => Value::Null,
            };
            let files = manifest["entries"].as_array().map_or(0, Vec::len);
            named.extend((0..files).map(|index| format!("{pack}/pre/{index}")));
        }
        named.insert(file.path);
    }
    staged.files()?.iter().filter(|name| !named.contains(*name)).try_for_each(|name| staged.remove_file(name))
}

fn no_export(why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("this is no export of a run: {why}"))
        .hint("`nrv runs export RUN` writes one")
}
