//! `nrv doctor`: checks the requirements of nrv, explains the missing ones, and advises.
//!
//! The library probes the system; this module judges and reports its findings.

use std::{path::Path, sync::atomic::AtomicBool};

use serde::Serialize;
use serde_json::json;

use super::{
    commands,
    here::{Place, context_of, environment, with_trust},
    output::{Mode, Output},
};

use base::{
    error::Error,
    frame::Limits,
    text::{counted, escape},
};
use host::{Context, Options, Records, VerifierProbe, WorkspaceProbe};
use service::exec;
use system::{
    git,
    net::Way,
    policy::{Exec, Settings},
    process::{
        self,
        sandbox::{self, Bound, Confinement, Hold, NotStarted},
    },
    workspace::{Overlay, View, Workspace},
};

/// Free bytes below which a change of some size may not fit.
const LITTLE_SPACE: u64 = 1 << 30;

/// Free bytes below which not even a record fits.
const NO_SPACE: u64 = 16 << 20;

/// The version of Landlock's interface that can deny every access that nrv denies.
const COMPLETE_LANDLOCK: i32 = 6;

/// Milliseconds that a command on trial may take.
const TRIAL_MS: u64 = 30_000;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One check and its finding.
#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    level: Level,
    /// The finding and its meaning.
    found: String,
    /// The advice on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

pub(super) fn doctor(place: &Place, out: &mut Output) -> Result<u8, Error> {
    let environment = environment();
    let options = with_trust(Options { network: Way::of(&environment), environment, ..Options::default() });
    let mut checks = vec![ok("nrv", env!("CARGO_PKG_VERSION"))];
    kernel(&mut checks);
    checks.push(git(&place.root, &options));
    let limits = match Workspace::open(&place.root) {
        Ok(workspace) => look_at(place, workspace, &options, &mut checks),
        Err(error) => {
            checks.push(failed("workspace", &error, "choose a folder that you may read with `--root`"));
            Settings::default().script.limits
        }
    };
    worker(&options, &limits, &mut checks);
    checks.push(verifier(&options));
    sandbox(&options, &mut checks);
    let worst = checks.iter().map(|check| check.level).max().unwrap_or(Level::Ok);
    if out.mode() == Mode::Text {
        checks.iter().for_each(|check| out.data(&line(check)));
        out.say(match worst {
            Level::Ok => "Everything that nrv needs is here.",
            Level::Warn => "nrv works here; the warnings list missing guarantees.",
            Level::Fail => "Something that nrv needs is missing.",
        });
    } else {
        let root = place.root.display().to_string();
        out.document(&json!({"ok": worst != Level::Fail, "root": root, "checks": checks}));
    }
    Ok(u8::from(worst == Level::Fail))
}

fn line(check: &Check) -> String {
    let level = match check.level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Fail => "fail",
    };
    let advice = check.advice.as_ref().map(|advice| format!("      → {}\n", escape(advice)));
    format!("{level:<4}  {}: {}\n{}", check.check, escape(&check.found), advice.unwrap_or_default())
}

fn ok(check: &'static str, found: impl Into<String>) -> Check {
    Check { check, level: Level::Ok, found: found.into(), advice: None }
}

fn warn(check: &'static str, found: impl Into<String>, advice: &str) -> Check {
    Check { check, level: Level::Warn, found: found.into(), advice: Some(advice.to_owned()) }
}

fn fail(check: &'static str, found: impl Into<String>, advice: &str) -> Check {
    Check { check, level: Level::Fail, found: found.into(), advice: Some(advice.to_owned()) }
}

/// A failure with the error's own advice, if it has one.
fn failed(check: &'static str, error: &Error, advice: &str) -> Check {
    fail(check, error.message(), error.hint_text().unwrap_or(advice))
}

fn kernel(checks: &mut Vec<Check>) {
    let kernel = process::kernel();
    checks.push(ok("kernel", format!("Linux {}", kernel.release)));
    let newer = "use a kernel of 6.12 or later with Landlock enabled (`lsm=…,landlock`)";
    checks.push(match kernel.landlock {
        Some(abi) if abi >= COMPLETE_LANDLOCK => ok("landlock", format!("version {abi}")),
        Some(abi) => {
            warn("landlock", format!("version {abi} is old: it does not deny all that scripts must not do"), newer)
        }
        None => warn("landlock", "missing: the kernel does not deny files to scripts and verifiers", newer),
    });
    checks.push(if kernel.seccomp {
        ok("seccomp", "system calls can be filtered")
    } else {
        warn(
            "seccomp",
            "missing: scripts' processes may make any system call",
            "use a kernel with CONFIG_SECCOMP_FILTER",
        )
    });
    checks.push(if kernel.user_namespaces {
        ok("user_namespaces", "can be made")
    } else {
        let means = "can't be made: commands work on a copy of the tree, and see which processes run on this machine";
        warn("user_namespaces", means, "allow unprivileged user namespaces (`user.max_user_namespaces`, AppArmor)")
    });
}

/// Tries the confinement of commands with all of its parts but the command.
fn sandbox(options: &Options, checks: &mut Vec<Check>) {
    let advice =
        "see `landlock`, `seccomp` and `user_namespaces` above; `[exec] sandbox = \"require\"` runs nothing then";
    let tried = tempfile::tempdir()
        .map_err(|error| NotStarted::Failed(Error::io("no private folder can be made", &error)))
        .and_then(|folder| sandbox::ability(&options.program, folder.path(), exec::limits(&Exec::default())));
    let bounds = tried.as_ref().ok().map(bounds);
    checks.push(match tried {
        Ok(Confinement { isolated: true, .. }) => {
            ok("sandbox", "commands are confined, see only permitted files, and work on a view of the tree")
        }
        Ok(Confinement { missing, .. }) | Err(NotStarted::Unconfined(missing)) => {
            warn("sandbox", format!("commands are not fully confined: {}", missing.join("; ")), advice)
        }
        Err(NotStarted::NoStage(why)) => {
            let found = format!("there is no view of the tree for commands, which work on a copy of it: {why}");
            warn("sandbox", found, advice)
        }
        Err(NotStarted::Failed(error)) => failed("sandbox", &error, advice),
    });
    checks.extend(bounds);
}

/// Reports the mechanism that bounds commands here.
fn bounds(found: &Confinement) -> Check {
    let by = |bound, what: &str| match found.bounds.get(&bound) {
        Some(Hold::Group) => format!("{what} by a control group"),
        Some(Hold::Limit) => format!("{what} by a limit of the kernel"),
        Some(Hold::Watch) => format!("{what} by looking"),
        None => format!("{what} by nothing"),
    };
    let told = [(Bound::Memory, "memory"), (Bound::Processes, "processes"), (Bound::Disk, "the disk")];
    let told = told.map(|(bound, what)| by(bound, what)).join(", ");
    if found.bounds.get(&Bound::Memory) == Some(&Hold::Group) {
        return ok("bounds", format!("commands are bounded: {told}"));
    }
    // Without isolation, `sandbox` reports the missing parts.
    let why = if found.isolated { format!("; {}", found.missing.join("; ")) } else { String::new() };
    let advice = "run nrv where you may make control groups, as by `systemd-run --user --scope nrv …`";
    warn("bounds", format!("commands are bounded: {told}{why}"), advice)
}

/// Checks the repository, which nrv reads without the git program, and reports unsupported features.
fn git(root: &Path, options: &Options) -> Check {
    let outlook = match git::outlook(root, &options.environment_of_git()) {
        Err(error) => {
            let advice = "make `git status` work here; until then runs that write need `--allow-dirty`";
            return warn("git", error.message(), error.hint_text().unwrap_or(advice));
        }
        Ok(None) => {
            return ok("git", "there is no repository: the hashes of files alone decide if a change is applied");
        }
        Ok(Some(outlook)) => outlook,
    };
    let commit = outlook.head.as_ref().map_or("no commit yet", |head| head.get(..10).unwrap_or(head));
    let verb = if outlook.tracked == 1 { "is" } else { "are" };
    let found = format!("{commit}, {} {verb} tracked", counted(outlook.tracked, "file"));
    let mut limits = Vec::new();
    let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    // Git LFS is known by its pointers.
    let filters: Vec<&str> = outlook.filters.iter().map(String::as_str).filter(|name| *name != "lfs").collect();
    if !filters.is_empty() {
        let names = quoted(filters);
        limits.push(format!("filters are not run ({names}): an edited file that has one counts as changed"));
    }
    if !outlook.nested.is_empty() {
        let names = quoted(outlook.nested.iter().take(5).map(|path| path.as_str()).collect());
        limits.push(format!("repositories within it are not opened ({names}): a change in one is refused"));
    }
    if outlook.partial {
        limits.push("objects that are missing are not fetched: a file that needs one counts as changed".to_owned());
    }
    if limits.is_empty() {
        return ok("git", found);
    }
    let advice = "`--allow-dirty` starts a run nonetheless; for a repository within, `--root FOLDER`";
    warn("git", format!("{found}; {}", limits.join("; ")), advice)
}

/// Checks the parts of the workspace; returns the limits of its scripts.
fn look_at(place: &Place, workspace: Workspace, options: &Options, checks: &mut Vec<Check>) -> Limits {
    checks.push(ok("workspace", format!("{}: {}", place.root.display(), place.reason)));
    let found = host::probe_workspace(&workspace);
    checks.push(records(&found));
    file_system(&found, checks);
    checks.push(match &found.leftovers {
        Ok(dead) if dead.is_empty() => ok("leftovers", "no run died"),
        Ok(dead) => {
            warn("leftovers", format!("runs died: {}", dead.join(", ")), "`nrv recover` finishes or undoes them")
        }
        Err(error) => failed("leftovers", error, "look at `.runs`"),
    });
    let has_policy = workspace.root().join(system::policy::FILE).exists();
    let context = host::policy_of(&workspace).and_then(|policy| context_of(workspace, policy, options.clone(), false));
    match context {
        Ok(context) => {
            let what = if has_policy { "`nrv.toml` can be read" } else { "there is no `nrv.toml`; the defaults hold" };
            checks.push(ok("policy", what));
            checks.push(match commands::told(&context.policy) {
                Ok(found) => ok("commands", found),
                Err(found) => warn("commands", found, commands::ADVICE),
            });
            checks.extend(trust(&context));
            checks.push(llm(&context));
            checks.push(view(&context));
            context.policy.settings().script.limits.clone()
        }
        Err(error) => {
            checks.push(failed("policy", &error, "correct `nrv.toml`; no run starts before"));
            Settings::default().script.limits
        }
    }
}

/// Checks that a command can change files of any owner in a view of this tree.
fn view(context: &Context) -> Check {
    let nothing = Overlay::new();
    let advice = "run nrv as the owner of these files, or name folders that commands need in `[exec] scratch`";
    let tried = exec::trial(exec::Context {
        view: View::new(&context.workspace, &nothing),
        exec: &context.policy.settings().exec,
        environment: &context.options.environment,
        supervisor: &context.options.program,
        run: "doctor",
        from_workspace: false,
        variables: &[],
        permitted: &context.policy.settings().paths.allow_protected,
        discard: true,
        dry_run: false,
        timeout_ms: TRIAL_MS,
        threads: context.options.threads,
        cancel: &AtomicBool::new(false),
        critical: &context.options.critical,
        output: None,
    });
    match tried {
        Err(error) => warn("view", format!("a command could not be tried: {}", error.message()), advice),
        Ok(trial) => match trial.refused.first() {
            Some(first) => {
                let n = trial.refused.len();
                let found =
                    format!("a command can't change `{first}` ({n} of {} tried): {}", trial.tried, trial.reason);
                warn("view", found, advice)
            }
            None if trial.confinement.staged => {
                ok("view", format!("a command changed {} of this tree in a view of it", counted(trial.tried, "file")))
            }
            None => {
                let missing = trial.confinement.missing.join("; ");
                warn(
                    "view",
                    format!(
                        "a command changed {} of this tree in a copy of it: {missing}",
                        counted(trial.tried, "file")
                    ),
                    advice,
                )
            }
        },
    }
}

/// Checks the trust in the policy; none if it starts, sends and weakens nothing.
fn trust(context: &Context) -> Option<Check> {
    let wanted = context.wanted(&context.policy)?;
    Some(match context.check_trust() {
        Ok(()) => ok("trust", format!("`nrv.toml` {}, and is trusted", wanted.entrusted.verbs())),
        Err(error) => warn(
            "trust",
            format!("not trusted yet: {}", error.message()),
            error.hint_text().unwrap_or("`nrv trust` shows its permissions, and trusts it"),
        ),
    })
}

/// Checks the providers of language models without asking them.
fn llm(context: &Context) -> Check {
    let listed = host::providers(context);
    let faults = listed.iter().filter_map(|one| one.fault.as_ref());
    let told: Vec<String> = faults.clone().map(|fault| fault.message().to_owned()).collect();
    let hint = faults.clone().find_map(Error::hint_text).unwrap_or("correct `[llm.providers]` of `nrv.toml`");
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    match (told.as_slice(), names.as_slice()) {
        ([], ["heuristic"]) => ok("llm", "no provider is configured; a table of patterns answers, and nothing is sent"),
        ([], names) => ok("llm", format!("ready to be asked: {}; none was", names.join(", "))),
        (told, _) => warn("llm", told.join("; "), hint),
    }
}

fn records(found: &WorkspaceProbe) -> Check {
    match &found.records {
        Ok(Records::Missing) => ok("records", "there are none yet; the first run makes `.runs`"),
        Ok(Records::NoFolder) => {
            fail("records", "`.runs` is no folder of its own", "remove the link or file of that name")
        }
        Ok(Records::Usable { ignored: true }) => ok("records", "`.runs` is writable, and git ignores it"),
        Ok(Records::Usable { ignored: false }) => {
            let found = "git does not ignore `.runs`: records may be committed";
            warn("records", found, "`nrv init` adds it to `.gitignore`")
        }
        Err(error) => failed("records", error, "make `.runs` writable for yourself; no run starts before"),
    }
}

fn file_system(found: &WorkspaceProbe, checks: &mut Vec<Check>) {
    let found = match &found.file_system {
        Ok(found) => found,
        Err(error) => {
            checks.push(failed("file_system", error, "make the workspace's folder writable"));
            return;
        }
    };
    checks.push(match found.doubt {
        None => ok("file_system", found.name.clone()),
        Some(doubt) => {
            warn("file_system", format!("{}: {doubt}", found.name), "work on a local disk where changes matter")
        }
    });
    let local = "work on a local file system such as ext4, xfs or btrfs";
    let needed = [
        ("open_beneath", &found.open_beneath, "openat2", "use Linux 5.6 or later, and allow `openat2` in containers"),
        ("no_replace", &found.no_replace, "renameat2 with NOREPLACE", local),
    ];
    for (check, tried, what, advice) in needed {
        checks.push(match tried {
            Ok(()) => ok(check, format!("{what} works")),
            Err(why) => fail(check, format!("{what} does not work ({why}): no file can be changed safely"), advice),
        });
    }
    checks.push(match &found.exchange {
        Ok(()) => ok("exchange", "renameat2 with EXCHANGE works"),
        Err(why) => {
            let means = "who saves a file in the very moment of a commit may not be noticed";
            warn("exchange", format!("renameat2 with EXCHANGE does not work ({why}): {means}"), local)
        }
    });
    checks.push(match &found.into_records {
        Ok(()) => ok("into_records", "files of the tree can be moved into the records"),
        Err(why) => {
            let found =
                format!("files of the tree can't be moved into the records ({why}): they are copied, which is slower");
            warn("into_records", found, "keep `.runs` on the file system of the tree")
        }
    });
    let free = format!("{} MiB free", found.free >> 20);
    checks.push(match found.free {
        free_bytes if free_bytes < NO_SPACE => {
            fail("space", format!("{free}: not even a record fits"), "make room on the disk")
        }
        free_bytes if free_bytes < LITTLE_SPACE => {
            warn("space", format!("{free}: a change and its pre-images may not fit"), "make room on the disk")
        }
        _ => ok("space", free),
    });
}

fn worker(options: &Options, limits: &Limits, checks: &mut Vec<Check>) {
    let reinstall = "install nrv again; if it still fails, report it with this message";
    match script::probe(&options.program, limits, &|| None) {
        Err(error) => checks.push(failed("worker", &error, reinstall)),
        Ok(isolation) if isolation.missing.is_empty() => {
            checks.push(ok("worker", "a script ran in a process that reaches nothing"));
        }
        Ok(isolation) => {
            let missing = isolation.missing.join("; ");
            let found = format!("a script ran, but its process is not fully confined: {missing}");
            checks.push(warn("worker", found, "see `landlock` and `seccomp` above; run only scripts that you trust"));
        }
    }
}

fn verifier(options: &Options) -> Check {
    match host::probe_verifier(options) {
        Ok(VerifierProbe::Confined) => ok("verifier", "it ran in a process that reads only its input"),
        Ok(VerifierProbe::Unconfined) => {
            let advice = "see `landlock` above; its own code writes nothing either way";
            warn("verifier", "it ran, but the kernel did not confine its process", advice)
        }
        Err(error) => failed("verifier", &error, "install nrv again; if it still fails, report it with this message"),
    }
}
