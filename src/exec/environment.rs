//! The environment of a command: what the policy passes on, what the call adds, and nothing else.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::Context;
use crate::{
    error::{Code, Error},
    policy::Sandbox,
};

/// Variables that no call may set, by name or by how the name begins (`*`), each with the reason.
///
/// Policies permit a program by its name and its first arguments. With these a call would make it run or load something else. A
/// policy may pass them on (`[exec] env`): then it knows their values.
const REFUSED: &[(&str, &str)] = &[
    ("BASH_ENV", "a shell runs what it names"),
    ("BASH_FUNC_*", "a shell takes functions from it"),
    ("DYLD_*", "the loader takes code from it"),
    ("EDITOR", "programs start what it names"),
    ("GIT_*", "git takes its repository, its configuration and the programs that it starts from it"),
    ("GLIBC_TUNABLES", "the loader is steered by it"),
    ("JAVA_TOOL_OPTIONS", "the program loads what it names"),
    ("LD_*", "the loader takes code from it"),
    ("LESSOPEN", "programs start what it names"),
    ("NODE_OPTIONS", "the program loads what it names"),
    ("PAGER", "programs start what it names"),
    ("PATH", "it says which programs are started"),
    ("PERL5LIB", "the program loads what it names"),
    ("PERL5OPT", "the program loads what it names"),
    ("PWD", "nrv sets it"),
    ("RUBYLIB", "the program loads what it names"),
    ("RUBYOPT", "the program loads what it names"),
    ("TMPDIR", "nrv sets it"),
    ("VISUAL", "programs start what it names"),
    ("_JAVA_OPTIONS", "the program loads what it names"),
];

/// Names the file with a user's settings of git.
const GIT_SETTINGS: &str = "GIT_CONFIG_GLOBAL";

/// Lets git look for a repository above the view, which to it is another file system.
const GIT_ABOVE: &str = "GIT_DISCOVERY_ACROSS_FILESYSTEM";

/// The variables that the policy passes on.
pub(super) fn passed_on(ctx: &Context<'_>) -> BTreeMap<String, String> {
    let known = |name: &String| ctx.environment.get_key_value(name);
    ctx.exec.env.iter().filter_map(known).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The whole environment: what is passed on, what the call adds, and the folder that the command runs in.
///
/// git takes a settings file that it may not read for an error. Where the home is closed to commands, it is told that there is none. And it
/// does not look above the workspace unless it is told to, since the view is mounted there.
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

/// Checks the variables of a call.
pub(super) fn check(variables: &BTreeMap<String, String>) -> Result<(), Error> {
    for (name, value) in variables {
        let shown = name.escape_debug();
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Error::new(Code::InvalidInput, format!("the variable `{shown}` of a command can't be set"))
                .hint("a name has no `=`, and neither name nor value has a NUL byte"));
        }
        let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        if let Some((_, reason)) = REFUSED.iter().find(|(pattern, _)| is_meant(pattern)) {
            let message = format!("a call can't set the variable `{shown}` of a command: {reason}");
            return Err(Error::new(Code::PermissionDenied, message)
                .detail("variable", name.as_str())
                .hint("leave it out; a policy can pass on what nrv's own environment has, with `env` in `[exec]`"));
        }
    }
    Ok(())
}

/// The files and folders outside of the workspace that the policy lets commands read, as far as they exist.
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
        check(&BTreeMap::from([(name.to_owned(), value.to_owned())])).err().map(|error| error.code())
    }

    #[test]
    fn a_call_sets_what_steers_a_program_but_not_what_replaces_it() {
        for name in ["RUST_LOG", "CI", "GITHUB_SHA", "ENV", "PYTHONPATH"] {
            assert_eq!(refused(name, "1"), None, "{name}");
        }
        for name in ["LD_PRELOAD", "GIT_EXTERNAL_DIFF", "PATH", "NODE_OPTIONS", "TMPDIR", "BASH_FUNC_ls%%"] {
            assert_eq!(refused(name, "1"), Some(Code::PermissionDenied), "{name}");
        }
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
            assert_eq!(refused(name, value), Some(Code::InvalidInput), "{name:?}");
        }
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(REFUSED.is_sorted());
    }
}
