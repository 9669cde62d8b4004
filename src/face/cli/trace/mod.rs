//! Listens to the spans of a command: a file for Perfetto and, with the feature `otlp`, a collector.
//!
//! Only attributes of the fixed list pass, and texts pass the redactor. Nothing of it goes into a record.

mod attributes;
mod chrome;
mod otlp;
mod seen;
mod variables;

use std::{
    cell::Cell,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tracing::{
    Subscriber,
    span::{Attributes as Given, Id, Record},
};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::LookupSpan,
};

use self::{attributes::Attributes, chrome::ChromeFile, otlp::Collector, seen::Seen};
use super::{
    arguments::Cli,
    here::{current_folder, environment},
    output::Output,
    target::Target,
};
use base::error::{Code, Error};
use system::clock::Stopwatch;

/// The file that is being written, for whoever ends the process early.
static FILE: OnceLock<Arc<ChromeFile>> = OnceLock::new();

/// The listeners to the spans of a command.
#[derive(Clone)]
pub(super) struct Trace {
    file: Option<Arc<ChromeFile>>,
    collector: Option<Arc<Collector>>,
}

/// Passes spans on to the listeners.
pub(super) struct Spans {
    trace: Trace,
    watch: Stopwatch,
    serial: AtomicU64,
}

impl Trace {
    /// The listeners that the command line and the environment ask for; none if they ask for none.
    pub(super) fn start(cli: &Cli, out: &mut Output) -> Result<Option<Self>, Error> {
        let file = cli.global.trace.as_deref().map(file).transpose()?;
        let collector = match cfg!(feature = "otlp") {
            true => Collector::start(&environment()).unwrap_or_else(|error| {
                out.warn_of(&error);
                None
            }),
            false => None,
        };
        let is_wanted = file.is_some() || collector.is_some();
        Ok(is_wanted.then(|| Trace { file, collector: collector.map(Arc::new) }))
    }

    /// The layer of a subscriber that passes spans on.
    pub(super) fn layer(&self) -> Spans {
        Spans { trace: self.clone(), watch: Stopwatch::start(), serial: AtomicU64::new(1) }
    }

    /// Ends the listening. A failure changes no outcome: it is a warning.
    pub(super) fn finish(&self, out: &mut Output) {
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.finish()) {
            out.warn(error.message());
        }
        if let Some(lost) = self.collector.as_ref().and_then(|collector| collector.finish()) {
            out.warn(&lost);
        }
    }

    fn begun(&self, seen: &Seen) {
        if let Some(file) = &self.file {
            file.begin_span(seen);
        }
    }

    fn ended(&self, seen: Seen, at: Duration) {
        if let Some(file) = &self.file {
            file.end_span(&seen, at);
        }
        if let Some(collector) = &self.collector {
            collector.take(seen, at);
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
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            let seen = extensions.get::<Seen>()?;
            Some((seen.serial, seen.root))
        });
        let seen = Seen {
            serial,
            parent: above.map(|(parent, _)| parent),
            root: above.map_or(serial, |(_, root)| root),
            kind: given.metadata().name(),
            thread: thread_number(),
            begun: self.watch.elapsed(),
            told: attributes.len(),
            attributes,
        };
        self.trace.begun(&seen);
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
            self.trace.ended(seen, at);
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
