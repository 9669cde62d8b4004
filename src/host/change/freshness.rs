//! Checks that the files that a proposal looked at have not changed since.
//!
//! Files are looked at from outside first, and read again only if they may have changed: nothing sets back the moment at
//! which the system last saw a file change.

use crate::{recorder::Recorder, terms::Terms};
use adapter::contract::FileHash;
use base::{
    error::{Code, Error},
    text::first_file,
};
use record::EVENTS;
use system::workspace::{Metadata, View, parallel_map};

/// The metadata of files, taken after they had been read.
#[derive(Debug)]
pub(crate) struct Seen {
    /// A moment before the first of them was read, by the clock of the file system; none if it is not known.
    began_ns: Option<i128>,
    /// In the order of the files; none if a file could not be looked at.
    looks: Vec<Option<Metadata>>,
}

impl Seen {
    /// Nothing is known of any of so many files, so that each is read again.
    pub(crate) fn nothing(files: usize) -> Self {
        Seen { began_ns: None, looks: vec![None; files] }
    }
}

/// A moment of the file system's clock: when the record was last written.
pub(crate) fn moment(recorder: &Recorder<'_>) -> Option<i128> {
    recorder.folder.changed_ns(EVENTS).ok()
}

impl Terms<'_> {
    /// Looks at files that were read after a moment.
    pub(crate) fn see(&self, began_ns: Option<i128>, files: &[FileHash]) -> Seen {
        let workspace = &self.context.workspace;
        let look = |file: &FileHash| workspace.look(&file.path).ok().flatten();
        Seen { began_ns, looks: parallel_map(self.context.options.threads, files, look) }
    }

    /// Checks that every file that a proposal looked at is as it was.
    pub(crate) fn check_fresh(&self, view: View<'_>, files: &[FileHash], seen: &Seen) -> Result<(), Error> {
        let view = view.until(self.deadline.stop());
        let pairs: Vec<_> = files.iter().zip(&seen.looks).collect();
        let changed = parallel_map(self.context.options.threads, &pairs, |(file, look)| {
            let now = self.context.workspace.look(&file.path).ok().flatten();
            let is_old = |look: &Metadata| seen.began_ns.is_some_and(|began| look.changed_ns < began);
            if now.is_some() && now == **look && look.as_ref().is_some_and(is_old) {
                return None;
            }
            let same = view.hash(&file.path).is_ok_and(|stamp| stamp.sha256 == file.sha256);
            (!same).then(|| file.path.to_string())
        });
        self.check_cancelled()?;
        let changed: Vec<String> = changed.into_iter().flatten().collect();
        let Some(named) = first_file(&changed) else { return Ok(()) };
        Err(Error::new(Code::StalePreimage, format!("{named} changed since the change was proposed"))
            .detail("files", changed)
            .hint("run it again, so that the change is proposed against what is there now"))
    }
}
