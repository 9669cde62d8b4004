//! A program that has the terminal for a while: a pager for long text.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::threads;
use base::error::Error;

/// The exit codes of a shell that can't run a program.
const NOT_RUN: [i32; 2] = [126, 127];

/// Shows a text with a command line of the user's shell, such as `less -R`, and waits for its end. False if there is no such
/// program. Programs are looked up in `path`, which is the shell's `PATH`.
///
/// Unlike all other children it has the environment and the process group of this process. It reads keys from the terminal, and
/// the owner of the environment chose it.
#[expect(clippy::disallowed_methods, reason = "this is the one place that spawns something for a person to look at")]
pub fn page(line: &str, path: &str, text: Vec<u8>) -> Result<bool, Error> {
    let failed = |error: std::io::Error| Error::io(format_args!("`{}` can't be run", line.escape_debug()), &error);
    let mut command = Command::new("/bin/sh");
    // Stdout may be a file or a pipe; questions appear on stderr.
    command.env("PATH", path);
    command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::from(std::io::stderr()));
    let mut child = command.spawn().map_err(failed)?;
    // A pager that is left early does not read everything. Without a thread it gets nothing.
    let feed = child.stdin.take().map(|mut pipe| threads::start(move || drop(pipe.write_all(&text))));
    let status = child.wait().map_err(failed)?;
    drop(feed);
    Ok(status.code().is_none_or(|code| !NOT_RUN.contains(&code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, text: Vec<u8>) -> Result<bool, Error> {
        page(line, "/usr/bin:/bin", text)
    }

    #[test]
    fn a_pager_gets_the_text_and_may_leave_early() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shown");
        assert!(
            shown(&format!("grep -x 'a text' > {0} && mv {0} {0}.whole", file.display()), b"a text\n".to_vec())
                .unwrap()
        );
        assert!(folder.path().join("shown.whole").exists());
        assert!(shown("true", vec![b'x'; 1 << 20]).unwrap());
        assert!(!shown("does-not-exist-nrv 2> /dev/null", b"x".to_vec()).unwrap());
    }
}
