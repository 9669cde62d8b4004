//! The workspace as it is served now: its policy, and what follows from it.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use super::{
    script::{Runnable, runnable},
    setup::Setup,
    tool::{Offer, offers},
};
use base::{error::Error, hash::Sha256, path::RepoPath, toml_file::TomlFile};
use host::Context;
use script::approval;
use system::policy;

/// The files by which the workspace is served. Another content is another policy, or other approvals.
const FILES: [(&str, TomlFile); 2] = [(policy::FILE, policy::BOUNDS), (approval::FILE, approval::BOUNDS)];

/// The contents of the files by which a workspace is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(Vec<Option<Sha256>>);

impl Mark {
    pub(super) fn of(context: &Context) -> Mark {
        let hash = |(name, bounds): (&str, TomlFile)| {
            let path = RepoPath::parse(name).ok()?;
            context.workspace.read_own(&path, bounds).ok().map(|text| Sha256::of(text.as_bytes()))
        };
        Mark(FILES.into_iter().map(hash).collect())
    }
}

/// The workspace under one policy.
pub(super) struct Base {
    pub(super) context: Context,
    pub(super) mark: Mark,
    /// Read when they are first asked for, since a process reads each script.
    scripts: OnceLock<Result<Vec<Runnable>, Error>>,
    tools: OnceLock<Result<Vec<Offer>, Error>>,
}

impl Base {
    pub(super) fn open(setup: &Setup) -> Result<Base, Error> {
        let context = (setup.open)()?;
        let mark = Mark::of(&context);
        Ok(Base { context, mark, scripts: OnceLock::new(), tools: OnceLock::new() })
    }

    /// The scripts that clients may run.
    pub(super) fn scripts(&self, setup: &Setup) -> Result<&[Runnable], Error> {
        let scripts = self.scripts.get_or_init(|| runnable(&self.context, &setup.scripts));
        scripts.as_deref().map_err(Clone::clone)
    }

    /// The tools.
    pub(super) fn tools(&self, setup: &Setup) -> Result<&[Offer], Error> {
        let tools = self.tools.get_or_init(|| offers(&self.context, self.scripts(setup)?));
        tools.as_deref().map_err(Clone::clone)
    }

    /// The workspace for a run, with a wish to stop of its own.
    pub(super) fn for_run(&self, cancel: Arc<AtomicBool>) -> Result<Context, Error> {
        self.context.renewed(cancel)
    }
}
