//! Converts the call, the policy and the tree into the launch and the view that `process::sandbox` takes.

use std::path::PathBuf;

use super::{environment, limits::limits, prepared::Prepared, private_folder::Desk};
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
};
use system::{
    policy::Sandbox,
    process::sandbox::{Confine, Laid, Launch, Laying, Output, Stage},
};

/// Bytes of the head, and of the tail, of output that is too long to show.
const ENDS: u64 = 64 << 10;

/// The launch of a command in a view at `root`, however the view is made.
pub(super) fn launch(prepared: &Prepared<'_>, desk: &Desk, root: PathBuf) -> Result<Launch, Error> {
    let Prepared { ctx, run, .. } = prepared;
    let temporary = desk.folder("tmp")?;
    let cwd = prepared.cwd.as_ref().map_or_else(|| root.clone(), |cwd| root.join(cwd.as_str()));
    let mut read = environment::readable(ctx);
    let program = match &prepared.program.inside {
        Some(inside) => root.join(inside.as_str()),
        None => prepared.program.found.path.clone(),
    };
    // Its name may be a link from a system folder to anywhere.
    read.push(prepared.program.real.clone());
    let whole = usize::try_from(ctx.exec.output).unwrap_or(usize::MAX);
    Ok(Launch {
        program,
        name: run.program.clone(),
        args: run.args.clone(),
        env: environment::whole(ctx, &run.env, &cwd)?,
        cwd,
        stdin: run.stdin.as_ref().map(|text| desk.write("stdin", text.as_bytes())).transpose()?,
        timeout_ms: ctx.timeout_ms,
        silence_ms: None,
        grace_ms: ctx.exec.grace_ms,
        confine: confine(ctx.exec.sandbox),
        network: ctx.exec.network,
        private: false,
        read,
        write: Vec::new(),
        temporary,
        stage: None,
        without_namespaces: false,
        limits: limits(ctx.exec),
        output: Output {
            whole,
            ends: usize::try_from(ENDS.min(ctx.exec.output / 2)).unwrap_or(0),
            files: ctx.output.map(|(stdout, stderr)| (stdout.to_owned(), stderr.to_owned())),
            stored: ctx.exec.stored,
        },
    })
}

fn confine(sandbox: Sandbox) -> Confine {
    match sandbox {
        Sandbox::Off => Confine::Off,
        Sandbox::Auto => Confine::Auto,
        Sandbox::Require => Confine::Require,
    }
}

/// The view over the workspace itself.
pub(super) fn stage(prepared: &Prepared<'_>, desk: &Desk) -> Result<Stage, Error> {
    let text = |paths: &[RepoPath]| paths.iter().map(ToString::to_string).collect();
    Ok(Stage {
        root: prepared.root.clone(),
        upper: desk.folder("upper")?,
        work: desk.folder("work")?,
        proposed: proposed(prepared, desk)?,
        through: text(&prepared.scratch()?),
        read_only: text(&prepared.stock.repositories),
        hidden: text(&prepared.stock.records),
    })
}

/// The changes that lie over the tree: the run's proposals, removals first.
pub(super) fn proposed(prepared: &Prepared<'_>, desk: &Desk) -> Result<Vec<Laid>, Error> {
    let view = &prepared.ctx.view;
    let mut laid = Vec::new();
    let mut removed = Vec::new();
    let mut folder = None;
    for (number, (path, content)) in view.overlay().iter().enumerate() {
        let what = match content {
            Some(content) if content.is_link() => Laying::Link(target(path, content)?),
            Some(content) => {
                if folder.is_none() {
                    folder = Some(desk.folder("proposed")?);
                }
                let file = desk.write(&format!("proposed/{number}"), &content.bytes)?;
                Laying::File(file, content.mode)
            }
            None => {
                if view.workspace().stat(path)?.is_some() {
                    removed.push(Laid { path: path.to_string(), what: Laying::Gone });
                }
                continue;
            }
        };
        laid.push(Laid { path: path.to_string(), what });
    }
    removed.append(&mut laid);
    Ok(removed)
}

fn target(path: &RepoPath, link: &Content) -> Result<String, Error> {
    String::from_utf8(link.bytes.to_vec())
        .map_err(|_| Error::new(Code::InvalidPath, format!("the link `{path}` leads to a name that is not UTF-8")))
}
