//! The progress of long work: a bar on a terminal, `dta_progress` events for programs, nothing elsewhere.
//!
//! The bar stands on stderr while one piece of work goes on; any other output ends it first.

use std::{
    io::{IsTerminal, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{Mode, json_line};
use base::text::counted;
use host::{Event, Work};
use system::{clock::Stopwatch, threads};

/// The time of work before its progress is shown.
const PATIENCE: Duration = Duration::from_millis(300);

/// The time between two events.
const PAUSE: Duration = Duration::from_millis(100);

/// The interval at which a bar moves.
const TICK: Duration = Duration::from_millis(100);

/// The form of a bar without a count.
const SPINNER: &str = "{spinner} {msg} ({elapsed})";

/// Shows the progress of work.
pub(super) struct Meter {
    shown: Shown,
    job: Arc<Mutex<Option<Job>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Bar,
    Events,
    Nothing,
}

/// A piece of work that goes on.
struct Job {
    tool: String,
    phase: Work,
    done: u64,
    total: u64,
    /// The time since the beginning, or since the last event.
    watch: Stopwatch,
    bar: Option<ProgressBar>,
}

impl Meter {
    pub(super) fn new(mode: Mode) -> Self {
        let shown = match mode {
            Mode::Lines => Shown::Events,
            Mode::Text if std::io::stderr().is_terminal() => Shown::Bar,
            Mode::Text | Mode::Document => Shown::Nothing,
        };
        Meter { shown, job: Arc::default() }
    }

    /// Begins a piece of work; the one before it has ended.
    pub(super) fn begin(&self, tool: &str, phase: Work, total: u64) {
        if self.shown == Shown::Nothing {
            return;
        }
        let watch = Stopwatch::start();
        let mut job = self.lock();
        clear(&mut job);
        *job = Some(Job { tool: tool.to_owned(), phase, done: 0, total, watch, bar: None });
        drop(job);
        if self.shown == Shown::Bar {
            let job = Arc::clone(&self.job);
            // Most work is over by then, and nothing flickers.
            // Without a thread no bar is drawn.
            let _ = threads::start(move || {
                std::thread::sleep(PATIENCE);
                let mut job = job.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(job) = job.as_mut().filter(|job| job.bar.is_none() && job.watch.elapsed() >= PATIENCE) {
                    job.bar = Some(job.draw());
                }
            });
        }
    }

    /// Reports the work of a phase that is done. Within a phase it is called from any thread, in any order.
    pub(super) fn advance(&self, phase: Work, done: u64, total: u64) {
        if self.shown == Shown::Nothing {
            return;
        }
        let mut job = self.lock();
        let Some(job) = job.as_mut() else { return };
        let is_next = job.phase != phase;
        if is_next {
            (job.phase, job.done, job.total) = (phase, 0, 0);
            if let Some(bar) = &job.bar {
                bar.set_message(job.message());
                style(bar, SPINNER);
            }
        }
        if job.total == 0
            && total > 0
            && let Some(bar) = &job.bar
        {
            count(bar, total);
        }
        (job.done, job.total) = (job.done.max(done), total);
        if let Some(bar) = &job.bar {
            bar.set_position(job.done);
        }
        if self.shown == Shown::Events && (is_next || job.watch.elapsed() >= PAUSE) {
            job.watch = Stopwatch::start();
            let (tool, phase) = (job.tool.clone(), job.phase);
            let line = json_line(&Event::DtaProgress { tool, phase, done: job.done, total });
            // The next writer notices a closed pipe; the work goes on.
            let _ = std::io::stdout().lock().write_all(line.as_bytes());
        }
    }

    /// Ends the present work and removes its bar.
    pub(super) fn end(&self) {
        clear(&mut self.lock());
    }

    /// Calls `write` for stderr with the bar hidden; its argument is true if there was a bar, so that the line is free.
    pub(super) fn aside(&self, write: impl FnOnce(bool)) {
        let bar = self.lock().as_ref().and_then(|job| job.bar.clone());
        match bar {
            Some(bar) => bar.suspend(|| write(true)),
            None => write(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn message(&self) -> String {
        let what = match self.phase {
            Work::Discover => "looking at files".to_owned(),
            Work::StartServer => "starting the language server".to_owned(),
            Work::LoadProject => "waiting until the language server has read the project".to_owned(),
            Work::AskRename => "asking the language server for the rename".to_owned(),
            Work::AskPlaces => "asking the language server about other places".to_owned(),
            Work::AskErrors => "asking the language server for errors".to_owned(),
            Work::Apply => format!("writing {}", counted(self.total, "file")),
            Work::Verify => format!("verifying {}", counted(self.total, "file")),
        };
        format!("{}: {what}", self.tool)
    }

    fn draw(&self) -> ProgressBar {
        // It gets its style before it is shown.
        let bar = ProgressBar::hidden();
        bar.set_message(self.message());
        // Writing and verifying do not report their progress.
        if !matches!(self.phase, Work::Apply | Work::Verify) && self.total > 0 {
            count(&bar, self.total);
            bar.set_position(self.done);
        } else {
            style(&bar, SPINNER);
        }
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        bar.enable_steady_tick(TICK);
        bar
    }
}

fn count(bar: &ProgressBar, total: u64) {
    bar.set_length(total);
    style(bar, "{spinner} {msg} {bar:30} {pos}/{len}");
}

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

fn clear(job: &mut Option<Job>) {
    if let Some(bar) = job.take().and_then(|job| job.bar) {
        bar.finish_and_clear();
    }
}
