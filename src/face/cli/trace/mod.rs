//! Listens to the spans of a command, and writes a file for Perfetto.
//!
//! Only attributes of the fixed list pass, and texts pass the redactor. Nothing of it goes into a record.

mod attributes;
mod chrome;
mod seen;

use std::{
    cell::Cell,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use tracing::{
    Subscriber,
    span::{Attributes as Given, Id, Record},
};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::LookupSpan,
};

use self::{attributes::Attributes, chrome::ChromeFile, seen::Seen};
use super::{arguments::Cli, here::current_folder, output::Output, target::Target};
use base::error::{Code, Error};
use system::clock::Stopwatch;

/// The file that is being written, for whoever ends the process early.
static FILE: OnceLock<Arc<ChromeFile>> = OnceLock::new();

/// The trace of a command.
pub(super) struct Trace(Arc<ChromeFile>);

/// Passes spans on to the file.
pub(super) struct Spans {
    file: Arc<ChromeFile>,
    watch: Stopwatch,
    serial: AtomicU64,
}

impl Trace {
    /// The trace that the command line asks for; none if it asks for none.
    pub(super) fn start(cli: &Cli) -> Result<Option<Self>, Error> {
        Ok(cli.global.trace.as_deref().map(file).transpose()?.map(Trace))
    }

    /// The layer of a subscriber that passes spans on.
    pub(super) fn layer(&self) -> Spans {
        Spans { file: Arc::clone(&self.0), watch: Stopwatch::start(), serial: AtomicU64::new(1) }
    }

    /// Ends the listening. A failure changes no outcome: it is a warning.
    pub(super) fn finish(&self, out: &mut Output) {
        if let Err(error) = self.0.finish() {
            out.warn(error.message());
        }
    }
}

/// Keeps what a process that is about to be ended has written so far.
pub(super) fn keep() {
    if let Some(file) = FILE.get() {
        file.keep();
    }
}

fn file(path: &Path) -> Result<Arc<ChromeFile>, Error> {
    if path == Path::new("-") {
        return Err(Error::new(Code::Usage, "stdout can't hold a trace").hint("give a file: `--trace trace.json`"));
    }
    let target = Target::of(&current_folder()?.join(path), "a trace")?;
    let file = Arc::new(ChromeFile::begin(&target)?);
    // A process runs one command.
    let _ = FILE.set(Arc::clone(&file));
    Ok(file)
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, given: &Given<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut attributes = Attributes::default();
        given.record(&mut attributes);
        let seen = Seen {
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
            kind: given.metadata().name(),
            thread: thread_number(),
            begun: self.watch.elapsed(),
            told: attributes.len(),
            attributes,
        };
        self.file.begin_span(&seen);
        span.extensions_mut().insert(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(seen) = span.extensions_mut().get_mut::<Seen>() {
            values.record(&mut seen.attributes);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let at = self.watch.elapsed();
        let seen = context.span(&id).and_then(|span| span.extensions_mut().remove::<Seen>());
        if let Some(seen) = seen {
            self.file.end_span(&seen, at);
        }
    }
}

/// The number of this thread, in the order in which threads began spans.
fn thread_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static OWN: Cell<u64> = const { Cell::new(0) };
    }
    OWN.with(|own| {
        if own.get() == 0 {
            own.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        own.get()
    })
}
