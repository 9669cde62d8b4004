//! `nrv plan`: a workflow run dry, and what it would do as a file.
//!
//! The plan is the user's own output, like that of any other program: it is not part of a run and not in the journal.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    Here,
    arguments::PlanArguments,
    output::{Mode, Output},
    run::{document, exit_code, prepare, tell_end},
    terminal::Terminal,
};
use crate::{
    error::{Code, Error},
    host::{Flags, Plan},
    path::{RepoPath, protected},
    script,
    text::escape,
};

/// How many of a plan's hash's digits people are shown.
const SHOWN: usize = 12;

pub(super) fn plan(here: &Here, arguments: &PlanArguments, out: &mut Output) -> Result<u8, Error> {
    let flags = Flags { dry_run: true, ..Flags::default() };
    let Some((loaded, invocation)) = prepare(here, "plan", &arguments.script, flags, out)? else { return Ok(0) };
    let Some(output) = &arguments.output else {
        return Err(Error::new(Code::Usage, "`-o` says where the plan is to be written"));
    };
    let to_stdout = output == Path::new("-");
    if to_stdout && arguments.script.events {
        return Err(Error::new(Code::Usage, "stdout can't hold both the plan and events")
            .hint("give a file for the plan: `-o plan.json`"));
    }
    // What can't be written is told before the work is done.
    let target = if to_stdout { None } else { Some(Target::of(&here.absolute(output))?) };
    let finished = script::run(&here.context, &loaded, invocation, &mut Terminal::new(here, out)?)?;
    if finished.error.is_some() {
        document(&finished, out);
        tell_end(&finished, out);
        return Ok(finished.exit_code());
    }
    let plan = Plan::of(&here.context, &finished)?;
    let (bytes, sha256) = plan.to_json()?;
    let code = exit_code(&finished, arguments.exit_code);
    let Some(target) = target else {
        tell_end(&finished, out);
        out.bytes(&bytes);
        return Ok(code);
    };
    target.write(&bytes)?;
    let sha256 = sha256.to_string();
    let name = output.display().to_string();
    let mut told = serde_json::to_value(&finished).unwrap_or_default();
    told["plan"] = json!({"path": name, "sha256": sha256});
    document(&told, out);
    tell_end(&finished, out);
    if out.mode() == Mode::Text {
        out.line(&name);
    }
    let name = escape(&name);
    out.say(&match plan.files.is_empty() {
        true => format!("The plan {} changes nothing.", &sha256[..SHOWN]),
        false => format!("`nrv apply {name}` does exactly that, or refuses. (plan {})", &sha256[..SHOWN]),
    });
    Ok(code)
}

/// Where a plan is to be written.
struct Target {
    path: PathBuf,
    /// True for a file that exists and is no regular one, such as a pipe: it is written into, never replaced.
    special: bool,
}

impl Target {
    /// Follows links, so that they stay; refuses folders and what no run may write either.
    fn of(path: &Path) -> Result<Self, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", path.display()), error);
        let found = match path.metadata() {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        if found.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            // A pipe that a shell hands over, such as `/dev/fd/63`, has no path but this one.
            return Ok(Target { path: path.to_owned(), special: true });
        }
        let real = match found {
            Some(_) => path.canonicalize().map_err(|error| failed(&error))?,
            None => {
                let folder = path.parent().unwrap_or(path).canonicalize().map_err(|error| failed(&error))?;
                folder.join(path.file_name().unwrap_or_default())
            }
        };
        let refusal = real.to_str().and_then(|text| RepoPath::parse(text.trim_start_matches('/')).ok());
        if let Some(reason) = refusal.and_then(|path| protected::write_refusal(&path)) {
            let message = format!("`{}` is no place for a plan: {reason}", path.display());
            return Err(Error::new(Code::ProtectedPath, message).hint("give another file to `-o`"));
        }
        if found.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(
                Error::new(Code::Unwritable, format!("`{}` is a folder", path.display())).hint("give a file to `-o`")
            );
        }
        Ok(Target { path: real, special: false })
    }

    /// Writes the file whole or not at all.
    fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", self.path.display()), error);
        if self.special {
            #[expect(clippy::disallowed_methods, reason = "a pipe that the user names is theirs to name")]
            return std::fs::write(&self.path, bytes).map_err(|error| failed(&error));
        }
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o666);
        let folder = self.path.parent().unwrap_or(&self.path);
        let file = tempfile::Builder::new().prefix(protected::TEMPORARY).permissions(permissions).tempfile_in(folder);
        let mut file = file.map_err(|error| failed(&error))?;
        file.write_all(bytes).map_err(|error| failed(&error))?;
        file.persist(&self.path).map_err(|error| failed(&error.error))?;
        Ok(())
    }
}
