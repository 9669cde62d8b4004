//! nrv runs a team's plan → apply → verify workflows, written in Rhai, and owns every change that they make.
//!
//! A script says *what* is to change. The host decides whether it may, writes all files or none, has the result measured by
//! another process, and can undo it exactly. Everything that a run asked, was answered and changed stands in its record.
//!
//! [`run_file`] runs a script and is all that most programs need. [`Host::perform`] makes one [`Call`] of a run without a script.
//! The modules hold what else a program may need:
//!
//! - [`adapter`]: tools of your own whose changes are verified.
//! - [`apply`], [`edit`], [`toolkit`]: diffs, micro-edits and plans from Rust, each application a run of its own.
//! - [`entry`]: the processes of nrv, which your program becomes when it is asked to.
//! - [`flow`]: planners, graphs and agents.
//! - [`gate`]: verdicts without a run.
//! - [`llm`], [`prompt`]: requests to language models, and the prompts for them.
//!
//! # In a program of your own
//!
//! The example `embed` adds an adapter and a call, runs a script that uses both, and makes a call without a script. Its
//! adapter and its script are the other files of `examples/embed`; `docs/embedding.md` says what a project needs.
//!
//! ```no_run
//! use std::{path::Path, process::ExitCode};
//!
//! use nrv::{Context, Error, Invocation, Options, Silent, Workspace};
//!
//! fn main() -> ExitCode {
//!     // Scripts and verifiers run in processes of their own, which are this very program: it becomes one here.
//!     if let Some(code) = nrv::entry::main_if_requested() {
//!         return code;
//!     }
//!     run().unwrap_or_else(|error| {
//!         eprintln!("{error}");
//!         ExitCode::from(error.code().exit_code())
//!     })
//! }
//!
//! fn run() -> Result<ExitCode, Error> {
//!     let context = Context::new(Workspace::open(Path::new("."))?, Options::default())?;
//!     let finished = nrv::run_file(&context, "scripts/tidy.rhai", Invocation::default(), &mut Silent)?;
//!     println!("{}", finished.sentence());
//!     Ok(ExitCode::from(finished.exit_code()))
//! }
//! ```

#![deny(missing_docs)]

#[doc(hidden)]
pub use ::base;
#[doc(hidden)]
pub mod face;
#[doc(hidden)]
pub use ::host;
#[doc(hidden)]
pub use ::record;
#[doc(hidden)]
pub use ::script;
#[doc(hidden)]
pub use ::service;
#[doc(hidden)]
pub use ::system;

/// A request to the host.
///
/// ```
/// use nrv::Call;
/// use serde_json::json;
///
/// let wire = json!({"name": "files.read", "args": {"path": "a.html"}});
/// let call: Call = serde_json::from_value(wire)?;
/// assert_eq!(call, Call::FilesRead { path: "a.html".to_owned() });
/// # Ok::<(), serde_json::Error>(())
/// ```
pub use self::base::call::Call;

/// One file before and after.
///
/// ```
/// use nrv::{Change, Content, RepoPath};
///
/// let made = Change {
///     path: RepoPath::parse("notes.md")?,
///     before: None,
///     after: Some(Content::new(b"# Notes\n".to_vec(), 0o644)),
/// };
/// assert_eq!(made.entry().before, None);
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::base::change::Change;

/// Changes of several files, sorted by path, one per file, none of them empty.
///
/// ```
/// use nrv::{Change, ChangeSet, Code, Content, RepoPath};
///
/// let write = |text: &str| -> Result<Change, nrv::Error> {
///     let after = Some(Content::new(text.into(), 0o644));
///     Ok(Change { path: RepoPath::parse("notes.md")?, before: None, after })
/// };
/// assert_eq!(ChangeSet::new(vec![write("one")?])?.len(), 1);
/// let error = ChangeSet::new(vec![write("one")?, write("two")?]).unwrap_err();
/// assert_eq!(error.code(), Code::InvalidInput);
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::base::change::ChangeSet;

/// A file's bytes, permission bits and hash, or a symbolic link.
///
/// ```
/// use nrv::Content;
///
/// let file = Content::new(b"hello\n".to_vec(), 0o644);
/// assert_eq!(file.stamp().length, 6);
/// assert!(Content::link(b"hello.txt".to_vec()).is_link());
/// ```
pub use self::base::change::Content;

/// The kind of a failure, from a closed list.
///
/// ```
/// use nrv::Code;
///
/// assert_eq!(Code::StalePreimage.as_str(), "stale_preimage");
/// assert_eq!(Code::StalePreimage.exit_code(), 5);
/// ```
pub use self::base::error::Code;

/// An error with everything that a person or a program needs to go on.
///
/// ```
/// use nrv::{Code, Error};
///
/// let error = Error::new(Code::NotFound, "`a.md` does not exist").detail("path", "a.md").hint("create it first");
/// assert_eq!(error.code(), Code::NotFound);
/// assert_eq!(error.hint_text(), Some("create it first"));
/// ```
pub use self::base::error::Error;

/// A path relative to the workspace's root:
///
/// ```
/// use nrv::{Code, RepoPath};
///
/// assert_eq!(RepoPath::parse("./docs//a.md")?.as_str(), "docs/a.md");
/// assert_eq!(RepoPath::parse("../a.md").unwrap_err().code(), Code::InvalidPath);
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::base::path::RepoPath;

/// An agent of a run.
///
/// ```
/// use nrv::{Agent, AgentState};
///
/// fn told(agent: &Agent) -> String {
///     let how = if agent.state == AgentState::Done { "is done" } else { "is not done" };
///     format!("{} {how}", agent.name)
/// }
/// # assert_eq!(told(&Agent { name: "Ada".to_owned(), ..Agent::default() }), "Ada is not done");
/// ```
pub use self::host::Agent;

/// The state of an agent.
///
/// ```
/// use nrv::AgentState;
///
/// assert_eq!(AgentState::Verifying.as_str(), "verifying");
/// ```
pub use self::host::AgentState;

/// The callbacks of a program for the agents of its runs.
///
/// ```
/// use nrv::{Agents, Options};
///
/// let agents = Agents::default().on_summon(|agent| eprintln!("{} is there", agent.name));
/// let options = Options { agents, ..Options::default() };
/// options.agents.dismiss("01234567-89ab-4def-8123-456789abcdef");
/// ```
pub use self::host::Agents;

/// The answer to a question.
///
/// ```
/// use nrv::Answer;
///
/// fn read(line: &str) -> Answer {
///     match line.trim() {
///         "y" => Answer::Yes,
///         "a" => Answer::All,
///         _ => Answer::No,
///     }
/// }
/// assert_eq!(read("y\n"), Answer::Yes);
/// ```
pub use self::host::Answer;

/// The tools of MCP servers that a person has approved:
///
/// ```
/// use nrv::{ApprovedTools, Options};
///
/// let options = Options { tools: ApprovedTools::default(), ..Options::default() };
/// assert!(options.tools.of("docs", "search").is_none());
/// ```
pub use self::host::ApprovedTools;

/// The calls that a program adds, by name.
///
/// ```
/// use nrv::{Calls, CustomCall};
/// use serde_json::json;
///
/// let answer = CustomCall::new("oracle.ask", "gives the answer", json!({"type": "object"}), |_, _| Ok(json!(42)));
/// let calls = Calls::default().with(answer.read_only())?;
/// assert_eq!(calls.describe()[0]["name"], "oracle.ask");
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::host::Calls;

/// A workspace with its policy and records.
///
/// ```
/// use nrv::{Context, Options, Workspace};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("nrv.toml"), "[budget]\nfiles = 10\n")?;
/// let context = Context::new(Workspace::open(folder.path())?, Options::default())?;
/// assert_eq!(context.policy.settings().budget.files, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use self::host::Context;

/// A call that a program adds.
///
/// ```
/// use nrv::CustomCall;
/// use serde_json::json;
///
/// let params = json!({"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}});
/// let create = CustomCall::new("tickets.create", "opens a ticket and gives its number", params, |params, _| {
///     println!("A ticket for {}.", params["title"]);
///     Ok(json!(1))
/// })
/// .preview(|_, _| Ok(json!(0)));
/// # let _ = create;
/// ```
pub use self::host::CustomCall;

/// The context that the handler of a call receives.
///
/// ```
/// use nrv::{CustomCall, CustomContext};
/// use serde_json::json;
///
/// /// The same key each time the call is made again, so that a server can tell a repetition.
/// fn key(ctx: &CustomContext<'_>) -> String {
///     format!("{}/{}", ctx.run, ctx.position)
/// }
///
/// let call = CustomCall::new("keys.next", "gives an idempotency key", json!({}), |_, ctx| Ok(json!(key(ctx))));
/// # let _ = call.read_only();
/// ```
pub use self::host::CustomContext;

/// A call's use of the budgets that nrv can't measure by itself.
///
/// ```
/// use nrv::{CustomCall, Demand};
/// use serde_json::json;
///
/// let call = CustomCall::new("oracle.ask", "asks a model", json!({}), |_, ctx| {
///     ctx.spent.set(Demand { tokens: 80, ..Demand::default() });
///     Ok(json!("yes"))
/// })
/// .demands(|_| Demand { tokens: 100, ..Demand::default() });
/// # let _ = call;
/// ```
pub use self::host::Demand;

/// Something that a run tells.
///
/// ```
/// use nrv::Event;
/// use serde_json::json;
///
/// let event = Event::Step { label: "read pages".to_owned() };
/// assert_eq!(serde_json::to_value(&event)?, json!({"event": "step", "label": "read pages"}));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub use self::host::Event;

/// The result of a run that has ended or is suspended.
///
/// ```no_run
/// use nrv::{Context, Invocation, Options, Silent, State, Workspace};
///
/// let workspace = Workspace::open(std::path::Path::new("."))?;
/// let context = Context::new(workspace, Options::default())?;
/// let finished = nrv::run_file(&context, "scripts/tidy.rhai", Invocation::default(), &mut Silent)?;
/// println!("{}", finished.sentence());
/// assert!(finished.state == State::Done || finished.error.is_some());
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::host::Finished;

/// The flags with which a user starts a run.
///
/// ```
/// use nrv::Flags;
///
/// let flags = Flags { dry_run: true, ..Flags::default() };
/// assert!(!flags.yes);
/// ```
pub use self::host::Flags;

/// A run that is going on.
///
/// ```
/// use nrv::{Call, Context, Host, Options, Positions, Request, Silent, State, Workspace};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.txt"), "one\n")?;
/// let context = Context::new(Workspace::open(folder.path())?, Options::default())?;
///
/// let mut positions = Positions::default();
/// let mut run = Host::start(&context, Request::program(&context, "read a file"), &mut Silent)?;
/// let read = Call::FilesRead { path: "a.txt".to_owned() };
/// let text = run.perform(&positions.take(&read), read, &mut Silent)?;
/// let finished = run.finish(Ok(text), &mut Silent)?;
/// assert_eq!((finished.state, finished.result), (State::Done, "one\n".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use self::host::Host;

/// How runs are to be done, apart from what they do.
///
/// ```
/// use nrv::{Calls, Options};
///
/// let options = Options { threads: 4, calls: Calls::default(), ..Options::default() };
/// assert!(!options.is_ci());
/// ```
pub use self::host::Options;

/// A place in a run:
///
/// ```
/// use nrv::Position;
///
/// assert_eq!(Position::nth(3).as_str(), "3");
/// ```
pub use self::host::Position;

/// Numbers the calls of a run in the order in which they are made.
///
/// ```
/// use nrv::{Call, Positions};
///
/// let mut positions = Positions::default();
/// let begin = Call::AttemptBegin {};
/// assert_eq!(positions.take(&begin).as_str(), "1");
/// let mut within = positions.after(&begin);
/// assert_eq!(within.take(&Call::DtaList {}).as_str(), "1.1");
/// ```
pub use self::host::Positions;

/// A question to a person.
///
/// ```
/// use nrv::{Answer, Question};
///
/// /// Small changes need nobody.
/// fn answer(question: &Question) -> Answer {
///     if question.files.len() <= 3 { Answer::Yes } else { Answer::Nobody }
/// }
/// # let _ = answer;
/// ```
pub use self::host::Question;

/// A run that is to start.
///
/// ```
/// use nrv::{Context, Flags, Options, Request, Workspace};
///
/// let folder = tempfile::tempdir()?;
/// let context = Context::new(Workspace::open(folder.path())?, Options::default())?;
/// let flags = Flags { dry_run: true, ..Flags::default() };
/// let request = Request { flags, seed: 7, ..Request::program(&context, "rename pages") };
/// assert_eq!(request.writes, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use self::host::Request;

/// How a run is to go on.
///
/// ```
/// use nrv::{Resumption, Ruling};
///
/// let approve = Ruling { id: "c1".to_owned(), by: Some("alice".to_owned()), reason: None };
/// let resumption = Resumption { approve: Some(approve), ..Resumption::default() };
/// assert!(!resumption.yes);
/// ```
pub use self::host::Resumption;

/// A person's decision on a confirmation.
///
/// ```
/// use nrv::Ruling;
///
/// let ruling = Ruling { id: "c1".to_owned(), reason: Some("reviewed".to_owned()), ..Ruling::default() };
/// assert_eq!(ruling.by, None);
/// ```
pub use self::host::Ruling;

/// Tells nobody, asks nobody.
///
/// ```
/// use nrv::{Event, Silent, Sink};
///
/// Silent.event(Event::Notice { text: "nobody sees this".to_owned() });
/// ```
pub use self::host::Silent;

/// Takes what a run tells and asks a person.
///
/// ```
/// use nrv::{Answer, Event, Question, Sink};
///
/// struct Console;
///
/// impl Sink for Console {
///     fn event(&mut self, event: Event) {
///         if let Event::Print { text } = event {
///             println!("{text}");
///         }
///     }
///
///     fn ask(&mut self, question: &Question) -> Answer {
///         println!("nobody answers `{}`", question.label);
///         Answer::Nobody
///     }
/// }
/// # let _ = Console;
/// ```
pub use self::host::Sink;

/// How a run ended.
///
/// ```
/// use nrv::State;
///
/// assert_eq!(State::UndoRefused.as_str(), "undo_refused");
/// ```
pub use self::host::State;

/// The options of a script's run.
///
/// ```
/// use nrv::{Flags, Invocation};
/// use serde_json::json;
///
/// let flags = Flags { dry_run: true, ..Flags::default() };
/// let invocation = Invocation { args: json!({"glob": "docs/**/*.md"}), flags, ..Invocation::default() };
/// assert_eq!(invocation.seed, 0);
/// ```
pub use self::script::Invocation;

/// Resumes a run that waits, or whose process died, from its record; see [`Host::resume`].
///
/// ```no_run
/// use nrv::{Context, Options, Resumption, Ruling, Silent, Workspace};
///
/// let workspace = Workspace::open(std::path::Path::new("."))?;
/// let context = Context::new(workspace, Options::default())?;
/// let approve = Some(Ruling { id: "c1".to_owned(), ..Ruling::default() });
/// let resumption = Resumption { approve, ..Resumption::default() };
/// let finished = nrv::resume(&context, "20260101-000000-1-a", resumption, &mut Silent)?;
/// println!("{}", finished.sentence());
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::script::resume;

/// Rejects what a run waits for, and undoes the run.
///
/// ```no_run
/// use nrv::{Context, Options, Ruling, Silent, Workspace};
///
/// let workspace = Workspace::open(std::path::Path::new("."))?;
/// let context = Context::new(workspace, Options::default())?;
/// let ruling = Ruling { id: "c1".to_owned(), ..Ruling::default() };
/// let finished = nrv::reject(&context, "20260101-000000-1-a", &ruling, &mut Silent)?;
/// println!("{}", finished.sentence());
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::host::reject;

/// Providers of the program's own, by name.
///
/// ```
/// use nrv::{Options, Orchestrators, llm::Heuristic};
///
/// let orchestrators = Orchestrators::default().with("own", Heuristic::new([])?);
/// let options = Options { orchestrators, ..Options::default() };
/// # drop(options);
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::host::Orchestrators;

/// Loads a script of a workspace, checks its arguments against its header, and runs it:
///
/// ```
/// use nrv::{Context, Flags, Invocation, Options, Silent, State, Workspace};
///
/// let folder = tempfile::tempdir()?;
/// let script = r#"
///     const WORKFLOW = #{ name: "greet", permissions: #{ write: ["hello.txt"] } };
///     nrv.apply.create("hello.txt", "hello\n");
/// "#;
/// std::fs::write(folder.path().join("greet.rhai"), script)?;
/// // A thread runs the script here; a program of your own gives it a process, see `nrv::entry`.
/// let options = Options { isolation: nrv::entry::THREAD, ..Options::default() };
/// let context = Context::new(Workspace::open(folder.path())?, options)?;
/// let flags = Flags { yes: true, ..Flags::default() };
/// let invocation = Invocation { flags, ..Invocation::default() };
/// let finished = nrv::run_file(&context, "greet.rhai", invocation, &mut Silent)?;
/// assert_eq!((finished.state, finished.files_changed), (State::Done, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use self::script::run_file;

/// Adapters by name.
///
/// ```
/// use nrv::{Adapters, Code};
///
/// let adapters = Adapters::default();
/// assert_eq!(adapters.find("link_updater")?.version(), "1.0");
/// let error = adapters.find("link_updatr").err();
/// assert_eq!(error.map(|error| error.code()), Some(Code::NotFound));
/// # Ok::<(), nrv::Error>(())
/// ```
pub use ::adapter::Adapters;

/// Settings with their compiled globs, and where each setting comes from.
///
/// ```
/// use nrv::Policy;
///
/// let policy = Policy::parse("[budget]\nfiles = 10\n", "nrv.toml")?;
/// assert_eq!(policy.settings().budget.files, 10);
/// # Ok::<(), nrv::Error>(())
/// ```
pub use self::system::policy::Policy;

/// The isolation of a script from the rest of the program.
///
/// ```
/// use nrv::{Isolation, Options};
///
/// let options = Options { isolation: nrv::entry::THREAD, ..Options::default() };
/// assert!(matches!(options.isolation, Isolation::Thread(_)));
/// ```
pub use self::system::process::Isolation;

/// The program of a child.
///
/// ```
/// use nrv::{Options, Program};
///
/// // A program that does not call `nrv::entry::main_if_requested` names a binary that does.
/// let options = Options { program: Program::Path("/usr/bin/nrv".into()), ..Options::default() };
/// assert_ne!(options.program, Program::ReExec);
/// ```
pub use self::system::process::Program;

/// A folder in which runs work.
///
/// ```
/// use nrv::{RepoPath, Workspace};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.md"), "# A\n")?;
/// let workspace = Workspace::open(folder.path())?;
/// let content = workspace.read(&RepoPath::parse("a.md")?)?;
/// assert_eq!(*content.bytes, b"# A\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use self::system::workspace::Workspace;

pub use self::face::{
    adapter::Adapter,
    modules::{adapter, apply, edit, entry, flow, gate, llm, prompt},
    toolkit::{self, Toolkit, micro::MicroChangeToolkit},
};
