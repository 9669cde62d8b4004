//! Is a record what was written? Reads it whole and names everything that is not.
//!
//! Without a signature this finds damage, not a rewrite by someone who owns `.runs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde::Serialize;

use super::{
    FileRef, GENESIS, Head, Record, RunFolder, Runs, about::About, chain::EVENTS, event::Kind, line::Line,
    shared_file::HEADS,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
};
use system::threads;

/// The result of a verification.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The run.
    pub run: String,
    /// How many records the chain has.
    pub records: usize,
    /// How many files of the record were hashed.
    pub files: usize,
    /// How many were left out when the run was exported, since they hold contents of files or show a secret.
    pub left_out: usize,
    /// The relation between the chain's end and the head.
    pub seal: Seal,
    /// The findings; empty if the record is intact.
    pub findings: Vec<Finding>,
    /// True for a run that died before its first record, and has done nothing.
    #[serde(skip)]
    pub is_empty: bool,
}

/// The relation between a chain's end and the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seal {
    /// The last record is the one that the head names.
    Sealed,
    /// There is no head, or the run went on after it: it is going on, crashed, or was copied here.
    Unsealed,
    /// The head names another end.
    Broken,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file in the run's folder, with the line for the chain.
    pub place: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl Report {
    /// True if nothing is wrong and the end is known.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.seal == Seal::Sealed
    }
}

/// Verifies the chain, its end, and every file that it names, by up to `threads` threads.
///
/// `cancelled` once `stop` is set, since a record from elsewhere may be of any length.
pub fn verify(runs: &Runs, run: &RunFolder, threads: usize, stop: &AtomicBool) -> Result<Report, Error> {
    let heads = runs.heads_of(run.id())?;
    let mut report = verify_against(run, heads.last.as_ref(), run.export()?.as_ref(), threads, stop)?;
    if let Some(fault) = heads.fault {
        report.findings.push(Finding { place: HEADS.to_owned(), reason: fault.to_owned() });
        report.seal = Seal::Broken;
    }
    Ok(report)
}

/// As [`verify`], with a head from elsewhere. Files may be missing that the export says were left out.
pub(super) fn verify_against(
    run: &RunFolder,
    head: Option<&Head>,
    export: Option<&About>,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let mut findings = Vec::new();
    let chain = check_chain(head, run, stop, &mut findings)?;
    let seal = check_seal(head, &chain, &mut findings);
    let mut files = 0;
    let mut left_out = 0;
    let hashes = hash_all(run, chain.files.iter().map(|(_, file)| file.path.as_str()), threads, stop)?;
    for (seq, file) in &chain.files {
        files += 1;
        let found = match hashes.get(file.path.as_str()) {
            Some(Hashed::Missing) if export.is_some_and(|about| about.lacks(&file.path)) => {
                files -= 1;
                left_out += 1;
                None
            }
            None | Some(Hashed::Missing) => Some("is missing".to_owned()),
            Some(Hashed::Read(hash)) if *hash == file.sha256 => None,
            Some(Hashed::Read(hash)) => {
                Some(format!("was altered: its hash is {}, not {}", hash.short(), file.sha256.short()))
            }
            Some(Hashed::Unreadable(why)) => Some(format!("can't be read: {why}")),
        };
        if let Some(what) = found {
            findings.push(Finding { place: file.path.clone(), reason: format!("{what} (record {seq})") });
        }
    }
    let is_empty = chain.records == 0 && head.is_none() && findings.is_empty() && has_done_nothing(run)?;
    Ok(Report { run: run.id().to_owned(), records: chain.records, files, left_out, seal, findings, is_empty })
}

/// True if a run has no pre-images and no artefacts, which it writes after its first record.
fn has_done_nothing(run: &RunFolder) -> Result<bool, Error> {
    Ok(!run.files()?.iter().any(|name| name.starts_with("packs/") || name.starts_with("artifacts/")))
}

/// The result of hashing a file of the record.
enum Hashed {
    Read(Sha256),
    Missing,
    Unreadable(String),
}

/// A reader that fails once everything has to stop.
struct Until<'a, R> {
    reader: R,
    stop: &'a AtomicBool,
}

impl<R: io::Read> io::Read for Until<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        self.reader.read(buffer)
    }
}

fn stopped() -> Error {
    Error::new(Code::Cancelled, "the run was cancelled")
}

/// The hashes of files, each read once.
fn hash_all<'f>(
    run: &RunFolder,
    names: impl Iterator<Item = &'f str>,
    threads: usize,
    stop: &AtomicBool,
) -> Result<BTreeMap<&'f str, Hashed>, Error> {
    let names: Vec<&str> = names.collect::<BTreeSet<_>>().into_iter().collect();
    let hash = |name: &str| -> Result<Hashed, Error> {
        let until = |file| Until { reader: file, stop };
        Ok(match run.open_file(name).map(|file| file.map(|file| Sha256::of_reader(until(file)))) {
            Ok(None) => Hashed::Missing,
            Ok(Some(Ok((hash, _)))) => Hashed::Read(hash),
            Ok(Some(Err(_))) if stop.load(Ordering::Relaxed) => return Err(stopped()),
            Ok(Some(Err(error))) => Hashed::Unreadable(error.to_string()),
            Err(error) => Hashed::Unreadable(error.message().to_owned()),
        })
    };
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*name, hash(name)?));
        }
        Ok(done)
    };
    let most = threads.min(names.len()).saturating_sub(1);
    let parts: Vec<Result<Vec<_>, Error>> = std::thread::scope(|scope| {
        let others = threads::helpers(scope, most, take);
        let own = take();
        let defect = |_| Err(Error::new(Code::Internal, "a thread that hashed files panicked"));
        others.into_iter().map(|other| other.join().unwrap_or_else(defect)).chain([own]).collect()
    });
    Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The state of a chain whose lines are being checked.
#[derive(Default)]
struct Checked<'h> {
    /// How the run stopped last.
    head: Option<&'h Head>,
    /// True if the record that the head names is there.
    is_at_head: bool,
    /// True if the run was resumed right behind it: then the head does not say how the record ends.
    went_on: bool,
    records: usize,
    /// The number and hash of the last record.
    last: Option<(u64, String)>,
    /// The files that records name, each with the record's number.
    files: Vec<(u64, FileRef)>,
}

/// Checks every line of the chain, up to the first that is no record.
fn check_chain<'h>(
    head: Option<&'h Head>,
    run: &RunFolder,
    stop: &AtomicBool,
    findings: &mut Vec<Finding>,
) -> Result<Checked<'h>, Error> {
    let mut checked = Checked { head, ..Checked::default() };
    if run.open_file(EVENTS)?.is_none() {
        // A run that died before its first record has neither a chain nor a head: it is unsealed, not damaged.
        if head.is_some() {
            findings.push(Finding { place: EVENTS.to_owned(), reason: "is missing".to_owned() });
        }
        return Ok(checked);
    }
    let mut n_lines = 0;
    let mut is_lost = false;
    let is_whole = run.each_line(&mut |line| {
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        n_lines += 1;
        if !is_lost && let Some(reason) = checked.add(line) {
            findings.push(Finding { place: format!("{EVENTS}:{n_lines}"), reason });
            is_lost = checked.records < n_lines;
        }
        Ok(())
    })?;
    // A process that died while it wrote its first record has left a part of it.
    let is_stillborn = n_lines == 0 && head.is_none() && has_done_nothing(run)?;
    if !is_whole && !is_lost && !is_stillborn {
        let reason = "is cut off in the middle of a line".to_owned();
        findings.push(Finding { place: format!("{EVENTS}:{}", n_lines + 1), reason });
    }
    Ok(checked)
}

impl Checked<'_> {
    /// Takes the next line in, unless it is no record; what is wrong with it.
    fn add(&mut self, line: &[u8]) -> Option<String> {
        let whole = Line::read(line).filter(Line::is_whole);
        let fast = whole.and_then(|line| Some((line, line.seq()?, line.files()?)));
        let Some((line, seq, files)) = fast else { return self.add_altered(line) };
        let wrong = self.misplaced(seq, line.prev()).or_else(|| {
            let event = line.event();
            let why = event.unreadable()?;
            Some(format!("record {seq} (`{}`) can't be read: {why}", event.name()))
        });
        self.push(seq, line.hash(), line.kind(), files);
        wrong
    }

    /// The same for a line that is not what was written.
    fn add_altered(&mut self, line: &[u8]) -> Option<String> {
        let Ok(record) = Record::parse(line) else { return Some("is no record".to_owned()) };
        let altered = format!("record {} (`{}`) was altered", record.seq, record.kind());
        let wrong = self.misplaced(record.seq, &record.prev).unwrap_or(altered);
        self.push(record.seq, &record.hash, record.event.name(), record.files);
        Some(wrong)
    }

    /// Returns the reason why a record is out of place; none if it is in place.
    fn misplaced(&self, seq: u64, prev: &str) -> Option<String> {
        let here = self.records as u64 + 1;
        let last = self.last.as_ref().map_or(GENESIS, |(_, hash)| hash.as_str());
        match () {
            () if seq != here => Some(format!("record {seq} stands where record {here} belongs")),
            () if prev != last => Some(format!("record {seq} does not follow the record before it")),
            () => None,
        }
    }

    fn push(&mut self, seq: u64, hash: &str, kind: &str, files: Vec<FileRef>) {
        if let Some(head) = self.head {
            self.is_at_head |= (seq, hash) == (head.seq, head.hash.as_str());
            self.went_on |= self.is_at_head && seq == head.seq + 1 && kind == Kind::RunResumed.as_str();
        }
        self.records += 1;
        self.files.extend(files.into_iter().map(|file| (seq, file)));
        let last = self.last.get_or_insert_default();
        last.0 = seq;
        last.1.clear();
        last.1.push_str(hash);
    }
}

fn check_seal(head: Option<&Head>, chain: &Checked<'_>, findings: &mut Vec<Finding>) -> Seal {
    let Some(head) = head else { return Seal::Unsealed };
    if chain.last.as_ref().is_some_and(|(seq, hash)| *seq == head.seq && *hash == head.hash) {
        return Seal::Sealed;
    }
    if chain.went_on {
        return Seal::Unsealed;
    }
    let length = chain.records as u64;
    let reason = match length.cmp(&head.seq) {
        std::cmp::Ordering::Less => format!("ends at record {length}; the run ended at record {}", head.seq),
        std::cmp::Ordering::Greater => format!("goes on to record {length}; the run ended at record {}", head.seq),
        std::cmp::Ordering::Equal => "ends with another record than the run did".to_owned(),
    };
    findings.push(Finding { place: EVENTS.to_owned(), reason });
    Seal::Broken
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests damage records")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Chain, Draft, FileRef, Head};

    fn draft(kind: Kind) -> Draft {
        let (data, volatile) = (json!({}), json!(null));
        Draft { position: String::new(), kind, data, volatile, files: Vec::new() }
    }

    fn sealed() -> (tempfile::TempDir, Runs, RunFolder) {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        let run = runs.create(0, 1).unwrap();
        run.write("artifacts/a", b"content").unwrap();
        let mut chain = Chain::open(&run).unwrap();
        for n in 1..=4 {
            let files = if n == 2 {
                vec![FileRef { path: "artifacts/a".to_owned(), sha256: Sha256::of(b"content") }]
            } else {
                Vec::new()
            };
            chain
                .append("t".to_owned(), Draft { data: json!({"deep": {"n": n}}), files, ..draft(Kind::Call) })
                .unwrap();
        }
        let (seq, hash) = chain.tip();
        runs.add_head(&Head::new(run.id(), (seq, hash), "done")).unwrap();
        (folder, runs, run)
    }

    #[track_caller]
    fn check(tamper: impl Fn(&RunFolder, Vec<String>) -> Vec<String>, place: &str, reason: &str) {
        let (_folder, runs, run) = sealed();
        assert!(verify(&runs, &run, 2, &false.into()).unwrap().is_sound());
        let text = String::from_utf8(run.read(EVENTS).unwrap()).unwrap();
        let lines = tamper(&run, text.lines().map(str::to_owned).collect());
        run.write(EVENTS, (lines.join("\n") + "\n").as_bytes()).unwrap();
        let report = verify(&runs, &run, 2, &false.into()).unwrap();
        let hit = report.findings.iter().any(|finding| finding.place == place && finding.reason.contains(reason));
        assert!(hit, "{:?}", report.findings);
        assert!(!report.is_sound());
    }

    #[test]
    fn every_kind_of_tampering_is_named() {
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\":9")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(
            |_, lines| [&lines[..1], &lines[2..3], &lines[1..2], &lines[3..]].concat(),
            "events.jsonl:2",
            "record 3 stands",
        );
        check(|_, lines| lines[..3].to_vec(), "events.jsonl", "ends at record 3");
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\": 3")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\":9,\"n\":3")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(
            |_, lines| lines.iter().map(|l| l.replace("\"n\":3", "\"n\":3.0")).collect(),
            "events.jsonl:3",
            "was altered",
        );
        check(|_, lines| [&lines[..1], &lines[2..]].concat(), "events.jsonl:2", "record 3 stands");
        let edit = |run: &RunFolder, lines: Vec<String>| {
            run.write("artifacts/a", b"other").unwrap();
            lines
        };
        check(edit, "artifacts/a", "was altered");
    }

    #[test]
    fn any_other_byte_in_the_line_of_a_head_is_damage() {
        let (_folder, runs, run) = sealed();
        let (seq, hash) = Chain::open(&run).map(|chain| (chain.tip().0, chain.tip().1.to_owned())).unwrap();
        let overview = json!({"run": run.id(), "files_changed": 3, "subject": "x"});
        runs.add_head(&Head { overview: Some(overview), ..Head::new(run.id(), (seq, &hash), "done") }).unwrap();
        assert!(verify(&runs, &run, 1, &false.into()).unwrap().is_sound());
        let path = runs.path().join(HEADS);
        let text = std::fs::read(&path).unwrap();
        let start = memchr::memrchr(b'\n', &text[..text.len() - 1]).unwrap() + 1;
        for at in start..text.len() {
            for flip in [1, 2, 0x20, 0x80] {
                let mut flipped = text.clone();
                flipped[at] ^= flip;
                std::fs::write(&path, flipped).unwrap();
                let report = verify(&runs, &run, 1, &false.into()).unwrap();
                assert!(!report.is_sound(), "byte {} ^ {flip}: {report:?}", at - start);
            }
        }
        // A line that a crash cut off, and the whole one that recovery wrote behind it.
        let cut = [&text[..text.len() - 9], b"\n", &text[start..]].concat();
        std::fs::write(&path, cut).unwrap();
        assert!(verify(&runs, &run, 1, &false.into()).unwrap().is_sound());
    }

    #[test]
    fn a_line_of_a_head_that_stands_twice_is_damage() {
        let (_folder, runs, run) = sealed();
        let path = runs.path().join(HEADS);
        let line = std::fs::read(&path).unwrap();
        let other = Head::new("20261130T000000Z-0001", (1, "h"), "done");
        let verified = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            verify(&runs, &run, 1, &false.into()).unwrap()
        };
        for times in [2, 3, 9] {
            let report = verified(&line.repeat(times));
            let found = report.findings.iter().any(|finding| finding.reason == "a line of this run stands twice");
            assert!(found && !report.is_sound(), "{report:?}");
        }
        runs.add_head(&other).unwrap();
        let between = std::fs::read(&path).unwrap().split_off(line.len() * 9);
        assert!(!verified(&[&line[..], &between, &line].concat()).is_sound());
        let doubled = [&line[..], &between, &between].concat();
        assert!(verified(&doubled).is_sound(), "of another run");
    }

    #[test]
    fn a_run_that_died_before_its_first_record_is_empty_and_not_damaged() {
        for (text, has_pack, is_empty) in [
            (None, false, true),
            (None, true, false),
            (Some(&b""[..]), true, false),
            (Some(&b""[..]), false, true),
            (Some(b"{\"data\":{"), false, true),
            (Some(b"{\"data\":{"), true, false),
            (Some(b"{\"data\":{\n"), false, false),
            (Some(b"\n"), false, false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let runs = Runs::of(folder.path());
            let run = runs.create(0, 1).unwrap();
            if let Some(text) = text {
                run.write(EVENTS, text).unwrap();
            }
            if has_pack {
                run.make_folder("packs/t1").unwrap();
                run.write("packs/t1/0", b"x").unwrap();
            }
            let report = verify(&runs, &run, 1, &false.into()).unwrap();
            assert_eq!(report.is_empty, is_empty, "{text:?} {has_pack} {report:?}");
            runs.add_head(&Head::new(run.id(), (1, "h"), "done")).unwrap();
            assert!(!verify(&runs, &run, 1, &false.into()).unwrap().is_empty);
        }
    }

    #[test]
    fn a_run_that_went_on_after_its_head_is_unsealed_and_not_damaged() {
        for (kinds, seal) in [
            (&[Kind::RunResumed, Kind::Call][..], Seal::Unsealed),
            (&[Kind::Call, Kind::RunResumed], Seal::Broken),
            (&[Kind::Call], Seal::Broken),
        ] {
            let (_folder, runs, run) = sealed();
            let mut chain = Chain::open(&run).unwrap();
            for kind in kinds {
                chain.append("t".to_owned(), draft(*kind)).unwrap();
            }
            let report = verify(&runs, &run, 1, &false.into()).unwrap();
            assert_eq!((report.seal, report.findings.is_empty()), (seal, seal == Seal::Unsealed), "{kinds:?}");
            assert!(!report.is_sound());
        }
    }

    #[test]
    fn a_run_without_a_head_is_unsealed() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        let run = runs.create(0, 1).unwrap();
        Chain::open(&run).unwrap().append("t".to_owned(), draft(Kind::Call)).unwrap();
        let report = verify(&runs, &run, 2, &false.into()).unwrap();
        assert_eq!((report.seal, report.findings.len(), report.is_sound()), (Seal::Unsealed, 0, false));
    }
}
