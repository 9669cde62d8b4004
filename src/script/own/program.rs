//! An adapter that is a program in any language: it reads a batch as JSON on stdin and writes its answer as JSON on stdout.
//!
//! It is started once for each phase of a batch, on a private copy of its own files. It sees neither the tree nor the network,
//! and nothing that it writes outlives it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::Permissions,
    io::{BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    str::Utf8Error,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use tempfile::{Builder, NamedTempFile, TempPath};

use super::{
    counts::Written,
    description::Description,
    measure::{self, Measurer},
    propose::{self, Work},
};
use adapter::{
    Adapter, Context,
    contract::{Counted, Counts, Invocation, Proposal},
    deadline::Deadline,
    evidence::{Evidence, Measured},
    source::{Program as Described, Source},
};
use base::{
    batch::{Answer, Batch, Body, File, Phase},
    error::{Code, Error},
    text::{escape, shortened},
};
use service::exec::{PrivateFolder, look_up};
use system::process::{
    Program,
    sandbox::{self, Confine, Ended, Launch, NotStarted, Output},
};

/// The longest answer to a batch, in bytes.
const LONGEST: usize = 32 << 20;

/// Bytes of a piece of a batch that is written.
const PIECE: usize = 64 << 10;

/// Bytes of the head, and of the tail, of longer output.
const ENDS: usize = 16 << 10;

/// Characters of stderr that an error shows.
const SHOWN: usize = 1000;

/// Characters of the beginning of stdout in a message.
const BEGIN: usize = 60;

/// Characters of a line of stderr in a message.
const LINE: usize = 200;

/// Milliseconds that a program has to end after a request to stop.
const GRACE_MS: u64 = 500;

/// Its environment, beside `PATH`: the same on every machine.
const ENVIRONMENT: &[(&str, &str)] =
    &[("LANG", "C.UTF-8"), ("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONHASHSEED", "0"), ("TZ", "UTC")];

/// The remark on a program that has no other one to measure its result.
const SELF_MEASURED: &str = "self-measured";

/// The remark on a program that this machine can't confine in full.
const PARTLY_CONFINED: &str = "partly-confined";

/// An adapter that is a program.
pub(super) struct ProgramAdapter {
    pub(super) description: Description,
    pub(super) params: String,
    pub(super) source: Source,
    pub(super) program: Described,
    /// The program that supervises it.
    pub(super) supervisor: Program,
    /// The folders in which programs are looked for.
    pub(super) path: String,
}

impl Adapter for ProgramAdapter {
    fn name(&self) -> &str {
        &self.description.name
    }

    fn version(&self) -> &str {
        &self.description.version
    }

    fn summary(&self) -> &str {
        &self.description.summary
    }

    fn params_schema(&self) -> &str {
        &self.params
    }

    fn counts(&self) -> Counted<'_> {
        self.description.counted()
    }

    fn domain(&self) -> Vec<&str> {
        self.description.globs.iter().map(String::as_str).collect()
    }

    fn source(&self) -> Option<&Source> {
        Some(&self.source)
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        let (deadline, gaps) = (Deadline::begin(input, "proposing"), Mutex::default());
        propose::propose(ctx, input, &self.description, || Start {
            adapter: self,
            run: ctx.run,
            argv: &self.program.argv,
            cancel: ctx.cancel,
            deadline,
            gaps: &gaps,
        })
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        let argv = if self.program.measure.is_empty() { &self.program.argv } else { &self.program.measure };
        let gaps = Mutex::default();
        let deadline = Deadline::begin(input, "measuring");
        let start = Start { adapter: self, run: ctx.run, argv, cancel: ctx.cancel, deadline, gaps: &gaps };
        let mut measured = measure::measure(ctx, input, evidence, &start)?;
        let gaps = gaps.into_inner().unwrap_or_else(PoisonError::into_inner);
        measured.remarks.extend(gaps.into_iter().map(|gap| format!("{PARTLY_CONFINED}: {gap}")));
        if self.program.measures_itself() {
            measured
                .remarks
                .push(format!("{SELF_MEASURED}: the program of `{}` measured its own result", self.source.name));
        }
        Ok(measured)
    }
}

/// A private folder with copies of a program's files, and the command line with their paths.
struct Desk {
    private: PrivateFolder,
    /// The copies, which the program may read.
    copies: PathBuf,
    /// The program's temporary files.
    temporary: PathBuf,
    program: PathBuf,
    args: Vec<String>,
    _files: Vec<TempPath>,
}

impl ProgramAdapter {
    /// Lays out the files of a command line, for a start in a run.
    fn desk(&self, argv: &[String], run: Option<&str>) -> Result<Desk, Error> {
        let private = match run {
            Some(run) => PrivateFolder::of_run(run),
            None => PrivateFolder::make("adapter"),
        }?;
        let (copies, temporary) = (private.folder("copies")?, private.folder("temporary")?);
        let (mut files, mut words) = (Vec::new(), Vec::new());
        for (number, word) in argv.iter().enumerate() {
            let Some(content) = self.program.files.get(word) else {
                words.push(word.clone());
                continue;
            };
            let bytes = BASE64_STANDARD.decode(content).map_err(|_| {
                Error::new(Code::RecordDamaged, format!("the source of `{}` can't be decoded", self.source.name))
            })?;
            let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy();
            let name = if number == 0 { name.into_owned() } else { format!("{number}-{name}") };
            let made = Builder::new()
                .prefix(&name)
                .rand_bytes(0)
                .permissions(Permissions::from_mode(0o700))
                .tempfile_in(&copies);
            let mut made = made.map_err(|error| no_file(&error))?;
            made.write_all(&bytes).map_err(|error| no_file(&error))?;
            words.push(made.path().to_string_lossy().into_owned());
            // Closed, or the kernel would not start it.
            files.push(made.into_temp_path());
        }
        let mut words = words.into_iter();
        let name = words.next().unwrap_or_default();
        let program = if name.starts_with('/') { PathBuf::from(name) } else { look_up(&name, Some(&self.path))? };
        Ok(Desk { private, copies, temporary, program, args: words.collect(), _files: files })
    }

    fn launch(&self, desk: &Desk, stdin: &Path, timeout_ms: u64) -> Launch {
        let mut env: BTreeMap<String, String> =
            ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        env.insert("PATH".to_owned(), self.path.clone());
        let mut limits = self.program.limits;
        limits.memory = limits.memory.or_else(|| Some(sandbox::most_memory()));
        Launch {
            program: desk.program.clone(),
            name: self.program.argv.first().cloned().unwrap_or_default(),
            args: desk.args.clone(),
            cwd: desk.copies.clone(),
            env,
            stdin: Some(stdin.to_owned()),
            timeout_ms,
            grace_ms: GRACE_MS,
            confine: self.program.confine,
            network: false,
            private: true,
            read: [desk.copies.clone()].into_iter().chain(self.program.read.iter().cloned()).collect(),
            temporary: desk.temporary.clone(),
            limits,
            output: Output { whole: LONGEST, ends: ENDS, ..Output::default() },
            ..Launch::default()
        }
    }

    fn failed(&self, message: String, ended: Option<&Ended>) -> Error {
        let error = Error::new(Code::CommandFailed, message).detail("adapter", self.source.name.as_str());
        let Some(ended) = ended else { return error };
        let stderr = ended.stderr.tail.as_ref().unwrap_or(&ended.stderr.head);
        let said = String::from_utf8_lossy(stderr);
        let said = said.trim();
        let from = said.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at);
        if said.is_empty() { error } else { error.detail("stderr", &said[from..]) }
    }
}

/// Starts the program for a batch.
struct Start<'a> {
    adapter: &'a ProgramAdapter,
    run: Option<&'a str>,
    argv: &'a [String],
    cancel: &'a AtomicBool,
    /// The time of the phase, for all starts together.
    deadline: Deadline,
    /// The gaps in its confinement.
    gaps: &'a Mutex<BTreeSet<String>>,
}

/// The answer of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    /// Counts of the batch, in the phases `discover` and `measure`.
    counts: Option<Written>,
    /// The files that change, in the phase `propose`.
    files: Option<Vec<File>>,
    /// The reason that there is no answer.
    error: Option<String>,
}

impl Start<'_> {
    fn ask(&self, batch: &Batch) -> Result<Answer, Error> {
        // Each start has copies of its own: nothing passes from one to the next, whatever the machine lets it change.
        let desk = self.adapter.desk(self.argv, self.run)?;
        let mut stdin = NamedTempFile::new_in(desk.private.path()).map_err(|error| no_file(&error))?;
        write(batch, &mut stdin).map_err(|error| no_file(&error))?;
        let launch = self.adapter.launch(&desk, stdin.path(), self.deadline.left_ms());
        let ended = sandbox::launch(&launch, &self.adapter.supervisor, self.cancel, &mut |_| Ok(()));
        let ended = ended.map_err(|refused| self.not_started(refused))?;
        if !ended.confinement.isolated {
            let mut gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
            gaps.extend(ended.confinement.missing.iter().cloned());
        }
        let text = std::str::from_utf8(&ended.stdout.head);
        let reply = serde_json::from_str::<Reply>(text.unwrap_or_default());
        // A reason is told whatever the status.
        let has_reason = reply.as_ref().is_ok_and(|reply| reply.error.is_some());
        if !has_reason || ended.status.is_none() || ended.cancelled || ended.timed_out {
            self.check_end(batch.phase, (&ended, &desk.program))?;
        }
        let reply = reply.map_err(|error| self.no_reply(batch.phase, (text, &error), &ended))?;
        self.answer(batch, reply)
    }

    /// The error of an output that is no reply.
    fn no_reply(
        &self,
        phase: Phase,
        (text, error): (Result<&str, Utf8Error>, &serde_json::Error),
        ended: &Ended,
    ) -> Error {
        let (name, phase) = (&self.adapter.source.name, phase.as_str());
        let how = match text.unwrap_or_default().trim_start() {
            _ if text.is_err() => "wrote bytes to stdout that are not UTF-8".to_owned(),
            "" => "wrote nothing to stdout".to_owned(),
            said if !said.starts_with('{') => {
                format!("wrote something else than its reply to stdout: {}", escape(&shortened(said, BEGIN)))
            }
            said => {
                let begin = escape(&shortened(said, BEGIN));
                format!("wrote something else than its reply to stdout, `{begin}`: {error}")
            }
        };
        let message = format!("the program of `{name}` {how} in the phase `{phase}`");
        self.adapter
            .failed(message, Some(ended))
            .detail("stdout", shortened(text.unwrap_or_default(), SHOWN))
            .hint(FORM)
    }

    fn not_started(&self, refused: NotStarted) -> Error {
        match refused {
            NotStarted::Failed(error) => error.within(format_args!("the program of `{}`", self.adapter.source.name)),
            NotStarted::NoStage(why) => Error::new(Code::Internal, why),
            NotStarted::Unconfined(missing) => Error::new(
                Code::PermissionDenied,
                format!(
                    "the program of `{}` can't be confined in full here: {}",
                    self.adapter.source.name,
                    missing.join("; ")
                ),
            )
            .hint("`nrv doctor` says what this machine can do; `sandbox` in `[exec]` says how much of it is needed"),
        }
    }

    /// An error unless the program came to a good end of its own.
    fn check_end(&self, phase: Phase, (ended, program): (&Ended, &Path)) -> Result<(), Error> {
        if ended.cancelled {
            return Err(Error::new(Code::Cancelled, "the run was cancelled"));
        }
        let how = match (ended.timed_out, ended.exceeded, ended.status, ended.signal) {
            (true, ..) => format!("took longer than `constraints.timeout_ms` allows ({} ms)", self.deadline.most_ms()),
            (_, Some(bound), ..) => format!("took more than its bound of {bound:?}").to_lowercase(),
            (_, _, Some(0), _) if ended.stdout.tail.is_some() => format!("wrote more than {} MiB", LONGEST >> 20),
            (_, _, Some(0), _) => return Ok(()),
            (_, _, Some(status), _) => format!("ended with status {status}"),
            (_, _, None, Some(signal)) => format!("was ended by signal {signal}"),
            (_, _, None, None) => "did not end".to_owned(),
        };
        let last = last_line(&ended.stderr).map(|line| format!(": {line}")).unwrap_or_default();
        let message =
            format!("the program of `{}` {how} in the phase `{}`{last}", self.adapter.source.name, phase.as_str());
        let hint = match ended.status {
            // The statuses with which shells and loaders say that a program can't be run or found.
            Some(126 | 127) => format!(
                "`{}` was started: a program outside of the system's folders needs them in `read` of `[exec]`, or name another one",
                program.display()
            ),
            _ if ended.exceeded.is_some() => {
                "`memory`, `disk` and `processes` of `[exec]` bound it; nothing was changed".to_owned()
            }
            _ if ended.timed_out => {
                "raise `constraints.timeout_ms`, and `timeout_ms` of the adapter in `nrv.toml`, or narrow `target.glob`; nothing was changed".to_owned()
            }
            _ => "nothing was changed; `--json` shows the end of its stderr".to_owned(),
        };
        Err(self.adapter.failed(message, Some(ended)).detail("phase", phase.as_str()).hint(hint))
    }

    fn answer(&self, batch: &Batch, reply: Reply) -> Result<Answer, Error> {
        let name = &self.adapter.source.name;
        let phase = batch.phase.as_str();
        if let Some(why) = reply.error {
            let message = format!("the program of `{name}` refuses `{phase}`: {}", shortened(&why, SHOWN));
            return Err(self.adapter.failed(message, None));
        }
        match (batch.phase, reply.counts, reply.files) {
            (Phase::Discover | Phase::Measure, Some(counts), None) => Ok(Answer::Counts(counts.0)),
            (Phase::Propose, None, Some(files)) => {
                let asked: BTreeMap<&str, usize> =
                    batch.files.iter().enumerate().map(|(at, file)| (file.path.as_str(), at)).collect();
                let mut answered = BTreeSet::new();
                let mut bodies: Vec<Option<Body>> = vec![None; batch.files.len()];
                for file in files {
                    let at = asked.get(file.path.as_str()).copied();
                    let Some(at) = at.filter(|at| answered.insert(*at)) else {
                        let path = file.path.escape_debug();
                        let message = match asked.contains_key(file.path.as_str()) {
                            true => format!("the program of `{name}` answered about `{path}` twice"),
                            false => format!("the program of `{name}` answered about `{path}`, which it was not asked"),
                        };
                        return Err(self.adapter.failed(message, None).detail("path", file.path));
                    };
                    bodies[at] = (file.body.bytes() != batch.files[at].body.bytes()).then_some(file.body);
                }
                Ok(Answer::Files(bodies))
            }
            (..) => {
                let message = format!("the program of `{name}` answered `{phase}` with another phase's reply");
                Err(self.adapter.failed(message, None).hint(FORM))
            }
        }
    }
}

fn no_file(error: &std::io::Error) -> Error {
    Error::io("a private file can't be made", error)
}

/// Writes a batch as JSON, in large pieces: a piece of JSON is often a single byte.
fn write(batch: &Batch, to: impl Write) -> std::io::Result<()> {
    let mut to = BufWriter::with_capacity(PIECE, to);
    serde_json::to_writer(&mut to, batch)?;
    to.flush()
}

/// The last line of an output that is not blank.
fn last_line(output: &sandbox::Stream) -> Option<String> {
    let text = String::from_utf8_lossy(output.tail.as_ref().unwrap_or(&output.head));
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(escape(&shortened(line.trim(), LINE)))
}

/// The forms of a reply.
const FORM: &str = "it writes `{\"counts\": {…}}` for `discover` and `measure`, `{\"files\": [{\"path\", \"text\" | \"b64\"}]}` for `propose`, and nothing else to stdout";

impl Work for Start<'_> {
    const TAKES_BYTES: bool = true;
    const CODE: Code = Code::CommandFailed;

    fn work(&mut self, batch: Batch, _: &dyn Fn() -> Option<Error>) -> Result<Answer, Error> {
        self.ask(&batch)
    }
}

impl Measurer for Start<'_> {
    fn takes_bytes(&self) -> bool {
        <Start<'_> as Work>::TAKES_BYTES
    }

    fn work(&self) -> Option<&str> {
        self.adapter.description.work.as_deref()
    }

    fn measure(&self, batch: Batch) -> Result<Vec<Counts>, Error> {
        match self.ask(&batch)? {
            Answer::Counts(counts) => Ok(vec![counts]),
            Answer::Files(_) => Err(Error::new(Code::Internal, "`measure` gave files in place of counts")),
        }
    }

    /// The relations of the table hold; without them nothing is left to do, if the table says which count that is.
    fn expect(&self, baseline: &Counts, after: &Counts) -> Result<Vec<String>, Error> {
        let Description { expect, work, .. } = &self.adapter.description;
        if !expect.is_empty() {
            return Ok(expect.iter().filter_map(|relation| relation.objection(baseline, after)).collect());
        }
        let Some(work) = work else { return Ok(Vec::new()) };
        Ok(match after.get(work) {
            Some(0) => Vec::new(),
            Some(n) => vec![format!("`{work}` is {n} after the change, not 0")],
            None => vec![format!("`measure` does not count `{work}`")],
        })
    }
}

/// How much a program is confined, as the policy says of commands.
pub(super) fn confine(sandbox: system::policy::Sandbox) -> Confine {
    match sandbox {
        system::policy::Sandbox::Off => Confine::Off,
        system::policy::Sandbox::Auto => Confine::Auto,
        system::policy::Sandbox::Require => Confine::Require,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the pieces that reach it.
    struct Pieces(usize, Vec<u8>);

    impl Write for Pieces {
        fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
            self.0 += 1;
            self.1.extend(piece);
            Ok(piece.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_batch_is_written_in_large_pieces() {
        let file = |n: usize| File { path: format!("{n}.txt"), body: Body::Text("a\n\"b\"\n".repeat(50)) };
        let batch = Batch { phase: Phase::Discover, input: serde_json::json!({}), files: (0..500).map(file).collect() };
        let mut pieces = Pieces(0, Vec::new());
        write(&batch, &mut pieces).unwrap();
        assert_eq!(pieces.1, serde_json::to_vec(&batch).unwrap());
        assert!(pieces.0 <= pieces.1.len().div_ceil(PIECE) + 1, "{} pieces of {} bytes", pieces.0, pieces.1.len());
    }
}
