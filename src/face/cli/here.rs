//! The folder where a command was started, the workspace there, and its policy.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::Read,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use super::{
    arguments::{Cli, Command, PlanArguments, ResumeArguments, RunArguments},
    progress::Meter,
    redact,
    trusted::{keeper, lock},
};
use adapter::Adapters;
use base::error::{Code, Error};
use host::{CI, Context, Options, Progress, Started};
use record::Runs;
use script::{approval, own};
use system::{
    net::Way,
    policy::{Cassettes, Policy},
    workspace::Workspace,
};

/// The folder where a command was started, and the root of the workspace that it works on.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) root: PathBuf,
    /// The reason for that root.
    pub(super) reason: String,
}

impl Place {
    pub(super) fn find(cli: &Cli) -> Result<Self, Error> {
        let folder = current_folder()?;
        if let Some(root) = &cli.global.root {
            return Ok(Place { root: folder.join(root), folder, reason: "`--root` names it".to_owned() });
        }
        let root = Workspace::discover(&folder);
        let mark = ["nrv.toml", ".git"].into_iter().find(|mark| root.join(mark).exists());
        let reason = match mark {
            Some(mark) if root == folder => format!("it holds `{mark}`"),
            Some(mark) => format!("it is the nearest folder above that holds `{mark}`"),
            None => "neither it nor a folder above holds `nrv.toml` or `.git`".to_owned(),
        };
        Ok(Place { folder, root, reason })
    }
}

/// A place with its policy, and the context of its runs.
pub(crate) struct Here {
    pub(super) place: Place,
    pub(super) context: Context,
    pub(super) meter: Arc<Meter>,
}

impl Here {
    pub(super) fn open(cli: &Cli) -> Result<Self, Error> {
        let mut here = Here::with(cli, |workspace, options| with_own_adapters(cli, workspace, options))?;
        if here.is_ci() {
            here.context.policy = here.context.policy.in_ci()?;
        }
        if cli.has_strict_tools() {
            here.context.policy = here.context.policy.strict()?;
        }
        if let Some(provider) = cli.provider() {
            here.context.policy = here.context.policy.asking(provider)?;
        }
        redact::know(&here.context.rules);
        Ok(here)
    }

    /// For commands whose policy comes from records: that of the workspace is not even read.
    pub(super) fn without_policy(cli: &Cli) -> Result<Self, Error> {
        Here::with(cli, |workspace, options| Context::with_policy(workspace, Policy::default(), options))
    }

    pub(super) fn with(
        cli: &Cli,
        context: impl FnOnce(Workspace, Options) -> Result<Context, Error>,
    ) -> Result<Self, Error> {
        let place = Place::find(cli)?;
        let meter = Arc::new(Meter::new(cli.mode()));
        let threads = match cli.global.threads {
            Some(n) => n.get(),
            None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        };
        let advance = Arc::clone(&meter);
        let environment = environment();
        let options = with_trust(Options {
            threads,
            network: Way::of(&environment),
            environment,
            progress: Progress(Arc::new(move |phase, done, total| advance.advance(phase, done, total))),
            ..Options::default()
        });
        let context = context(Workspace::open(&place.root)?, options)?;
        Ok(Here { place, context, meter })
    }

    /// True in CI, where no person watches and nothing may be recorded.
    pub(super) fn is_ci(&self) -> bool {
        self.context.options.is_ci()
    }

    /// True if only approved scripts run, even without a flag.
    pub(super) fn is_locked(&self) -> bool {
        self.is_ci() && self.context.policy.settings().ci.locked
    }

    /// True if only recorded replies answer requests to language models.
    pub(super) fn replays_only(&self) -> bool {
        self.is_ci() && self.context.policy.settings().ci.cassettes == Cassettes::Replay
    }

    /// How adapters of users are run; approvals do not matter.
    pub(super) fn how(&self) -> own::How {
        how(&self.context.options, &self.context.policy, None)
    }

    /// The available adapters.
    pub(super) fn adapters(&self) -> &Adapters {
        &self.context.options.adapters
    }

    /// A path that the user typed, absolute and without `.` and `..`.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        let mut absolute = PathBuf::new();
        for part in self.place.folder.join(path).components() {
            match part {
                Component::ParentDir => drop(absolute.pop()),
                Component::CurDir => {}
                part => absolute.push(part),
            }
        }
        absolute
    }

    /// Reads a text that the user named, or stdin for `-`.
    pub(super) fn read_input(&self, path: &Path) -> Result<String, Error> {
        let not_text = || Error::new(Code::Io, format!("`{}` can't be read: it is not UTF-8", path.display()));
        String::from_utf8(self.read_bytes(path)?).map_err(|_| not_text())
    }

    /// Reads a file that the user named, or stdin for `-`.
    pub(super) fn read_bytes(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", path.display()), error);
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            return read.map(|_| bytes).map_err(|error| failed(&error));
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a file that the user names on the command line is theirs to name"
        )]
        std::fs::read(self.absolute(path)).map_err(|error| failed(&error))
    }
}

/// A context whose adapters are the built-in ones and those of the workspace.
fn with_own_adapters(cli: &Cli, workspace: Workspace, options: Options) -> Result<Context, Error> {
    let policy = host::policy_of(&workspace)?;
    let is_locked = match &cli.command {
        Command::Run(RunArguments { script, .. }) | Command::Plan(PlanArguments { script, .. }) if script.locked => {
            true
        }
        // A run that began locked goes on so.
        Command::Resume(ResumeArguments { run, .. }) if began_locked(&workspace, run) => true,
        // These compare what is there with its approval.
        Command::Approve(_) | Command::Check(_) => false,
        _ => options.is_ci() && policy.settings().ci.locked,
    };
    context_of(workspace, policy, options, is_locked)
}

/// The context of a workspace under its policy, with its own adapters; locked, with those alone that are approved.
pub(super) fn context_of(
    workspace: Workspace,
    policy: Policy,
    options: Options,
    is_locked: bool,
) -> Result<Context, Error> {
    // Without a server nobody has to read the approvals of tools.
    let has_servers = !policy.settings().mcp.servers.is_empty();
    let lock = if is_locked || has_servers { lock(&workspace)? } else { approval::Lock::default() };
    let tools = lock.tools();
    let pins = is_locked.then_some(lock.adapters);
    let adapters = own::with_own(options.adapters.clone(), &workspace, &policy, how(&options, &policy, pins))?;
    Context::with_policy(workspace, policy, Options { adapters, tools, ..options })
}

/// True if a run took approved scripts and adapters only. Whatever is wrong with its record is told when it is resumed.
fn began_locked(workspace: &Workspace, run: &str) -> bool {
    let started = Runs::of(workspace.root()).open(run).and_then(|folder| Started::load(&folder));
    started.is_ok_and(|started| started.is_locked())
}

/// How adapters of users are run.
fn how(options: &Options, policy: &Policy, pins: Option<BTreeMap<String, approval::PinnedAdapter>>) -> own::How {
    own::How {
        program: options.program.clone(),
        isolation: options.isolation,
        limits: policy.settings().script.limits.clone(),
        threads: options.threads,
        exec: policy.settings().exec.clone(),
        path: options.environment.get("PATH").cloned().unwrap_or_default(),
        home: options.environment.get("HOME").cloned().unwrap_or_default(),
        hidden: policy.hidden(),
        pins,
    }
}

/// The same options, with the user's trust store: a person has to trust the programs and requests of the policy.
pub(super) fn with_trust(options: Options) -> Options {
    Options { trust: keeper(&options), ..options }
}

#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
pub(super) fn current_folder() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::io("the current folder can't be told", &error))
}

/// The variables that are UTF-8. The library passes on those that git needs and the policy names.
pub(super) fn environment() -> BTreeMap<String, String> {
    let text = |text: OsString| text.into_string().ok();
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = text(name)?;
        // Its value does not matter.
        let value = if name == CI { value.to_string_lossy().into_owned() } else { text(value)? };
        Some((name, value))
    });
    variables.collect()
}
