//! Compares the gate with bash itself: every `rm` that bash runs has to be among the gate's objections.
//!
//! Bash runs in namespaces of its own, on an empty file system in memory and without programs, so that a line can do nothing. A handler
//! records each command that bash does not find.

use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Stdio},
};

use super::super::{Command as Asked, Rules, examine};

/// Makes the file system, and gives up all rights in it.
const CAGE: &str = r#"
root=/tmp && mount -t tmpfs -o size=64m none "$root" && cd "$root" && mkdir usr dev box log
mount --rbind /usr usr && mount -o remount,bind,ro,nosuid usr
for name in bin lib lib64; do ln -s "usr/$name" "$name"; done
touch dev/null && mount --bind /dev/null dev/null
printf '%s' "$PRELUDE" > prelude && printf '%s' "$DRIVER" > driver
exec chroot "$root" setpriv --bounding-set=-all --inh-caps=-all --no-new-privs prlimit --nproc=300 --cpu=60 --fsize=100000 \
    /bin/bash --norc /driver
"#;

/// Answers each line, which ends in a NUL byte, with the recorded commands and a NUL byte.
const DRIVER: &str = r#"
cd /box; ulimit -t 1; count=0
while IFS= read -r -d '' line; do
    count=$((count + 1))
    for first in 0 1; do
        LOG=/log/$count.$first FIRST=$first FUNCNEST=9 BASH_ENV=/prelude PATH=/nowhere \
            /usr/bin/timeout -s KILL 0.5 /bin/bash --norc -c "$line" < /dev/null > /dev/null 2>&1
    done
done
for ((at = 1; at <= count; at++)); do
    for log in /log/$at.*; do [[ -f $log ]] && printf '%s\n' "$(< "$log")"; done
    printf '\0'
done
"#;

/// Records a command. Most loops end, since its status changes; the others end with the shell.
const PRELUDE: &str = r#"
readonly LOG FIRST PATH FUNCNEST
command_not_found_handle() {
    { printf '%s\037' "$@"; printf '\n'; } >> "$LOG"
    IFS= read -r -d '' -n 400 all < "$LOG"
    ((${#all} < 400)) || kill -9 $$
    ((${#all} < 180 ? FIRST == 0 : FIRST != 0))
}
"#;

/// A command whose folder tells it from others.
pub(super) type Ran = BTreeSet<String>;

/// The line with `rm -rf s1` for `mk1`.
pub(super) fn armed(line: &str) -> String {
    line.replace("mk", "rm -rf s")
}

/// True if lines can be run.
pub(super) fn is_possible() -> bool {
    run(&["rm -rf s1".to_owned()]).is_some_and(|ran| ran[0].contains("s1"))
}

/// The commands that bash runs in each line.
pub(super) fn run(lines: &[String]) -> Option<Vec<Ran>> {
    let mut cage = Command::new("unshare");
    cage.args([
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--net",
        "--ipc",
        "bash",
        "-ec",
        CAGE,
    ]);
    cage.env_clear().envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("PRELUDE", PRELUDE), ("DRIVER", DRIVER)]);
    let mut child = cage.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut input = child.stdin.take()?;
    let text: Vec<u8> = lines.iter().flat_map(|line| line.bytes().filter(|byte| *byte != 0).chain([0])).collect();
    // The driver answers after the last line, so that no pipe fills up.
    input.write_all(&text).ok()?;
    drop(input);
    let output = child.wait_with_output();
    let output = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    let mut ran: Vec<Ran> = output.split('\0').map(|all| all.lines().filter_map(removed).collect()).collect();
    ran.pop();
    (ran.len() == lines.len()).then_some(ran)
}

/// The folder of a recorded `rm`.
fn removed(record: &str) -> Option<String> {
    let mut words = record.split('\u{1f}');
    let is_whole = words.next() == Some("rm") && words.next() == Some("-rf");
    words.next().filter(|folder| is_whole && is_mark(folder)).map(str::to_owned)
}

fn is_mark(folder: &str) -> bool {
    folder
        .strip_prefix('s')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The folders to whose removal the gate objects; none if it can't tell all commands.
pub(super) fn objected(line: &str) -> Option<Ran> {
    let examined = examine(Asked::Line(line), Rules::built_in());
    let folder = |argv: &[String]| argv.get(2).filter(|folder| argv[0] == "rm" && is_mark(folder)).cloned();
    examined.unparsed.is_none().then(|| examined.hits.iter().filter_map(|hit| folder(&hit.argv)).collect())
}
