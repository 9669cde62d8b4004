//! The environment of a command: the variables that the policy passes on, those of the call, and no others.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{Context, variable};
use base::error::{Code, Error};
use system::policy::Sandbox;

/// The variable for the file with a user's git settings.
const GIT_SETTINGS: &str = "GIT_CONFIG_GLOBAL";

/// The variable that lets git look for a repository above the view, which is another file system to git.
const GIT_ABOVE: &str = "GIT_DISCOVERY_ACROSS_FILESYSTEM";

/// The variables that the policy passes on.
pub(super) fn passed_on(ctx: &Context<'_>) -> BTreeMap<String, String> {
    let known = |name: &String| ctx.environment.get_key_value(name);
    ctx.exec.env.iter().filter_map(known).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The whole environment: the variables passed on, those of the call, and the working folder.
///
/// An unreadable settings file is an error to git. Where commands may not read the home, git gets a variable that disables the
/// file. By default git does not look above the workspace, since the view is mounted there.
pub(super) fn whole(
    ctx: &Context<'_>,
    call: &BTreeMap<String, String>,
    cwd: &Path,
) -> Result<BTreeMap<String, String>, Error> {
    let mut whole = passed_on(ctx);
    let settings = ctx.environment.get("HOME").map(|home| Path::new(home).join(".gitconfig"));
    let is_closed = settings.is_some_and(|file| !readable(ctx).iter().any(|path| file.starts_with(path)));
    if is_closed && ctx.exec.sandbox != Sandbox::Off {
        whole.entry(GIT_SETTINGS.to_owned()).or_insert_with(|| "/dev/null".to_owned());
    }
    whole.entry(GIT_ABOVE.to_owned()).or_insert_with(|| "1".to_owned());
    whole.extend(call.clone());
    let cwd = cwd.to_str().ok_or_else(|| {
        Error::new(Code::InvalidPath, format!("the path `{}` is not UTF-8", cwd.display()))
            .hint("commands can only be run where the paths of the workspace and of `TMPDIR` are UTF-8")
    })?;
    whole.insert("PWD".to_owned(), cwd.to_owned());
    Ok(whole)
}

/// Checks the variables of a call; `permitted` are those that the command's rule names.
pub(super) fn check(variables: &BTreeMap<String, String>, permitted: &[String]) -> Result<(), Error> {
    for (name, value) in variables {
        let shown = name.escape_debug();
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Error::new(Code::InvalidInput, format!("the variable `{shown}` of a command can't be set"))
                .hint("a name has no `=`, and neither name nor value has a NUL byte"));
        }
        if let Some(reason) = variable::refusal(name, permitted) {
            let message = format!("a call can't set the variable `{shown}` of a command: {reason}");
            return Err(Error::new(Code::PermissionDenied, message).detail("variable", name.as_str()).hint(
                "leave it out; `env` of its rule in `[[exec.allow]]` permits calls to set it, `env` in `[exec]` passes on nrv's own value",
            ));
        }
    }
    Ok(())
}

/// The existing files and folders outside of the workspace that the policy lets commands read.
pub(super) fn readable(ctx: &Context<'_>) -> Vec<PathBuf> {
    let home = ctx.environment.get("HOME").map(Path::new).filter(|home| home.is_absolute());
    let absolute = |text: &String| match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => Some(home.to_owned()),
        (Some(rest), Some(home)) if rest.starts_with('/') => Some(home.join(rest.trim_start_matches('/'))),
        (Some(_), _) => None,
        (None, _) => Some(PathBuf::from(text)),
    };
    let paths = ctx.exec.read.iter().filter_map(absolute);
    paths.filter(|path| path.is_absolute() && path.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(name: &str, value: &str) -> Option<Code> {
        check(&BTreeMap::from([(name.to_owned(), value.to_owned())]), &[]).err().map(|error| error.code())
    }

    #[test]
    fn a_call_sets_what_steers_a_program_but_not_what_replaces_it() {
        for name in ["RUST_LOG", "CI", "GITHUB_SHA"] {
            assert_eq!(refused(name, "1"), None, "{name}");
        }
        for name in
            ["LD_PRELOAD", "GIT_EXTERNAL_DIFF", "PATH", "NODE_OPTIONS", "PYTHONPATH", "TMPDIR", "BASH_FUNC_ls%%"]
        {
            assert_eq!(refused(name, "1"), Some(Code::PermissionDenied), "{name}");
        }
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
            assert_eq!(refused(name, value), Some(Code::InvalidInput), "{name:?}");
        }
    }
}
