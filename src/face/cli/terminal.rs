//! The sink of the command line: shows the events of a run, and asks the person at the terminal.

use std::{
    collections::BTreeMap,
    io::BufRead,
    str::Utf8Chunk,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::Value;

use super::{
    Here,
    output::{Line, Output},
    pager,
    progress::Meter,
    redact, signals, table,
};
use base::{
    diff::Replacement,
    error::Error,
    text::{counted, escape, shortened},
};
use gate::GateResult;
use host::{Agent, AgentState, Answer, Event, Question, Sink, Work};

/// The most files that a question lists, and places that a proposal leaves; the rest is only counted.
pub(super) const LISTED: usize = 20;

/// The most characters of a command that are shown.
const COMMAND: usize = 500;

/// Shows events and asks questions. From its creation on, Ctrl-C asks to cancel; before, it ends the process.
///
/// Dropping it ends the progress bar.
pub(super) struct Terminal<'a> {
    out: &'a mut Output,
    /// Becomes true on Ctrl-C.
    cancel: &'a AtomicBool,
    meter: &'a Meter,
    /// The words that each proposal replaces, by its id.
    replaced: BTreeMap<String, Vec<Replacement>>,
}

impl<'a> Terminal<'a> {
    /// Tells what a gate says that does not stop the run.
    fn warning(&mut self, result: &GateResult) {
        self.out.warn(&format!("{} ({})", escape(&result.reason), result.triggered_rules.join(", ")));
    }

    /// Tells of an agent.
    fn agent(&mut self, agent: &Agent) {
        let what = match agent.state {
            AgentState::Idle => "is summoned",
            AgentState::Working => "works",
            AgentState::Verifying => "says that it is done",
            AgentState::Done => "is done: its commitments hold",
            AgentState::Finished => "has finished",
            AgentState::Failed => "FAILED: it has not finished",
            AgentState::Dismissed => "is dismissed",
        };
        self.out.say(&format!("• {} {what}", escape(&agent.name)));
    }

    pub(super) fn new(here: &'a Here, out: &'a mut Output) -> Result<Self, Error> {
        signals::listen(&here.context.options, &here.meter)?;
        Ok(Terminal::over(here, out))
    }

    /// As [`Terminal::new`], if Ctrl-C is handled already.
    pub(super) fn over(here: &'a Here, out: &'a mut Output) -> Self {
        Terminal { out, cancel: &here.context.options.cancel, meter: &here.meter, replaced: BTreeMap::new() }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.meter.end();
    }
}

impl Sink for Terminal<'_> {
    fn event(&mut self, event: Event) {
        self.meter.end();
        self.out.event(&event);
        match event {
            Event::Step { label } => self.out.say(&format!("• {}", escape(&label))),
            Event::Progress { label, total, .. } => self.out.say(&format!("• {} ({total})", escape(&label))),
            Event::Table { rows } => self.rows(&rows),
            Event::Show { value } => self.show(&value),
            Event::ShowFile { path, sha256, proposed, content } => {
                let source = if proposed { "proposed, not in the store" } else { "from the store" };
                let bytes = content.bytes().unwrap_or_default();
                self.show_as_is(&format!("{source}: {} (sha256 {sha256})", escape(&path)), &bytes);
            }
            Event::ShowReply { text, model, provider, label } => {
                let known: Vec<String> = [provider, label].iter().flatten().map(|text| escape(text)).collect();
                let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
                self.show_as_is(&format!("from the model: {}{known}", escape(&model)), text.as_bytes());
            }
            Event::Print { text } => text.split('\n').for_each(|line| self.out.tell(&escape(line))),
            Event::DtaVerified { output, after, .. } => {
                if !self.out.is_json() && !self.out.is_quiet() {
                    self.out.data(&table::adapter(&output, &after));
                }
            }
            Event::Applied { files, written } => tracing::info!("applied {}, written: {written}", of_files(files)),
            Event::Warning { result } => self.warning(&result),
            Event::CommitmentVerified { commitment } => {
                table::commitment(&commitment).lines().for_each(|line| self.out.say(line))
            }
            Event::Notice { text } => self.out.tell(&text),
            #[rustfmt::skip]
            Event::AgentSummoned { agent } | Event::AgentWorking { agent } | Event::AgentVerifying { agent }
            | Event::AgentDone { agent } | Event::AgentFailed { agent } | Event::AgentDismissed { agent } => self.agent(&agent),
            Event::DtaFailed { tool, reason } => tracing::info!("{tool} failed: {reason}"),
            Event::RunStarted { run } => tracing::info!("run {run}"),
            Event::CommandStarted { argv } => self.out.say(&format!("$ {}", command(&argv))),
            Event::CommandEnded { argv, status, duration_ms, output } => {
                tracing::info!("{} ended with {status:?} after {duration_ms} ms", command(&argv));
                self.ended(status, output.as_deref());
            }
            Event::ModelAsked { provider, model } => {
                tracing::info!("`{}` of `{}` was asked", escape(&model), escape(&provider));
            }
            Event::ModelAnswered { provider, model, usage, error, label, recorded } => {
                let told = table::model((&provider, &model), usage, error.as_deref(), label.as_deref(), recorded);
                self.out.say(&told);
            }
            Event::DtaStarted { tool } => {
                tracing::info!("{tool} started");
                self.meter.begin(&tool, Work::Discover, 0);
            }
            Event::DtaProgress { tool, phase, total, .. } => self.meter.begin(&tool, phase, total),
            Event::DtaProposed { tool, files: 0, .. } => self.out.say(&format!("{tool} proposes no change.")),
            Event::DtaProposed { tool, proposal, files, replacements } => {
                tracing::info!("{tool} proposes to change {}", of_files(files));
                self.replaced.insert(proposal, replacements);
            }
            Event::DtaApplied { tool, files } => tracing::info!("{tool} changed {}", of_files(files)),
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        self.meter.end();
        self.out.event(&Line::Question { question });
        if !self.out.can_ask() {
            return Answer::Nobody;
        }
        self.out.prompt(&table::question(question, LISTED));
        self.question(question)
    }

    fn is_attended(&self) -> bool {
        self.out.can_ask()
    }

    fn ask_trust(&mut self, question: &Question) -> Answer {
        self.meter.end();
        self.out.event(&Line::Question { question });
        if !self.out.can_ask() {
            return Answer::Nobody;
        }
        self.out.prompt("The policy came with the workspace, and you have not trusted it to do this:\n");
        for line in question.subject["permits"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.out.prompt(&format!("  {}\n", escape(line)));
        }
        self.question(question)
    }
}

fn of_files(n: usize) -> String {
    counted(n, "file")
}

/// Bytes as lines for a person: each is marked, and bytes that are no UTF-8 or could deceive a reader are escaped.
fn quoted(bytes: &[u8]) -> String {
    let line = |line: &[u8]| {
        let chunk = |chunk: Utf8Chunk<'_>| format!("{}{}", escape(chunk.valid()), chunk.invalid().escape_ascii());
        format!("│ {}", line.utf8_chunks().map(chunk).collect::<String>())
    };
    bytes.split(|byte| *byte == b'\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A command as one line. Secrets are removed before it is cut: a secret that is cut would not be found any more.
fn command(argv: &[String]) -> String {
    escape(&shortened(&redact::text(&argv.join(" ")), COMMAND))
}

impl Terminal<'_> {
    /// Shows the end of a command that failed.
    fn ended(&mut self, status: Option<i32>, output: Option<&str>) {
        if let Some(output) = output {
            self.out.say_output(output);
        }
        match status {
            Some(0) => {}
            Some(status) => self.out.say(&format!("It ended with status {status}.")),
            None => self.out.say("It was ended by a signal."),
        }
    }

    /// Asks until the answer is a valid letter.
    fn question(&mut self, question: &Question) -> Answer {
        let has_patch = !question.patch.is_empty();
        let all = if question.may_all { ", [a]ll of this kind in this run" } else { "" };
        let diff = if has_patch { ", show the [d]iff" } else { "" };
        loop {
            self.out.prompt(&format!("{}? [y]es, [n]o{all}{diff}: ", escape(&question.label)));
            let Some(line) = self.answer() else { return Answer::No };
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Answer::Yes,
                "n" | "no" => return Answer::No,
                "a" | "all" if question.may_all => return Answer::All,
                "d" | "diff" if has_patch => pager::show(&table::patch(&question.patch), self.out),
                _ => {}
            }
        }
    }

    /// A line from the terminal; none if it was closed or Ctrl-C was pressed, which is no yes.
    fn answer(&self) -> Option<String> {
        let stdin = std::io::stdin();
        let pause = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        while rustix::event::poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&pause)).unwrap_or(0) == 0 {
            if self.cancel.load(Ordering::Relaxed) {
                return None;
            }
        }
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) | Err(_) => {
                // Ctrl-C and the end of the input may come together, and another thread reports the signal.
                for _ in 0..2 {
                    if !self.cancel.load(Ordering::Relaxed) {
                        let _ = rustix::event::poll(&mut [], Some(&pause));
                    }
                }
                None
            }
            Ok(_) => Some(line),
        }
    }

    /// Shows rows as a table; programs have them as events.
    fn rows(&mut self, rows: &[Value]) {
        if !self.out.is_json() {
            self.out.data(&table::rows(rows));
        }
    }

    /// Shows bytes with a mark of their origin. Off a terminal the bytes are exact, and the mark goes to stderr.
    fn show_as_is(&mut self, mark: &str, bytes: &[u8]) {
        if self.out.is_json() {
            return;
        }
        if self.out.is_terminal() {
            self.out.line(&format!("{mark}\n{}", quoted(bytes)));
        } else {
            self.out.say(mark);
            self.out.foreign(bytes);
        }
    }

    /// Shows a value: text exactly off a terminal, and marked and escaped on one; anything else as JSON.
    fn show(&mut self, value: &Value) {
        if self.out.is_json() {
            return;
        }
        match (value, self.out.is_terminal()) {
            (Value::String(text), false) => self.out.foreign(text.as_bytes()),
            (Value::String(text), true) => {
                self.out.line(&quoted(text.as_bytes()));
            }
            (value, _) if value.get("proposed_changes").is_some() && value.get("files").is_some() => {
                let replaced = value["id"].as_str().and_then(|id| self.replaced.get(id));
                let text = table::proposal(value, replaced.map(Vec::as_slice).unwrap_or_default(), LISTED);
                self.out.data(&text);
            }
            (value, true) => self.out.document(value),
            (value, false) => self.out.json_line(value),
        }
    }
}
