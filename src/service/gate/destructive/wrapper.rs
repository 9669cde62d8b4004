//! Programs that run other programs: the position of the inner program in their arguments.

use std::sync::LazyLock;

use super::names::Names;

/// The command that a wrapper runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// The program at this argument, with the rest.
    Argv(usize),
    /// A line that a shell parses.
    Line(String),
    /// Its input, or nothing.
    Input,
}

/// A program that runs another one.
struct Wrapper {
    /// Its names.
    names: &'static str,
    /// The first operands that make it a wrapper: one of each list, in order.
    under: &'static [&'static str],
    /// Options that take the next argument.
    valued: &'static str,
    /// Operands before the program.
    skip: usize,
    /// With the rights of another user, or on another machine.
    elsewhere: bool,
    /// Its operands are joined and passed to a shell.
    line: bool,
    /// The program comes after one of these words, and nowhere else.
    after: &'static str,
}

const PLAIN: Wrapper = Wrapper { names: "", under: &[], valued: "", skip: 0, elsewhere: false, line: false, after: "" };

/// Options of container engines that take the next argument.
const CONTAINER: &str = "-e -u -w -v -p -h -l -m -c -a --env --env-file --user --workdir --volume --publish --hostname \
    --name --network --net --label --memory --cpus --mount --entrypoint --add-host --cap-add --cap-drop --device --dns \
    --expose --gpus --group-add --ip --ipc --link --log-driver --log-opt --pid --platform --pull --restart \
    --security-opt --shm-size --stop-signal --sysctl --tmpfs --ulimit --userns --volumes-from --detach-keys -H --host \
    --context --config --log-level -f --file --project-name --profile --project-directory --index --cgroupns --runtime";

/// Options of git itself that take the next argument.
const GIT: &str = "-C -c --git-dir --work-tree --namespace --exec-path --config-env";

const WRAPPERS: &[Wrapper] = &[
    Wrapper { names: "java", valued: "-cp -classpath --class-path -p --module-path", ..PLAIN },
    Wrapper {
        names: "sudo sudo-rs dzdo please sudoedit",
        valued: "-u -g -h -p -C -D -R -T -U -r -t -c -a --user --group --host --prompt --chdir --close-from --chroot \
            --command-timeout --other-user --role --type",
        elsewhere: true,
        ..PLAIN
    },
    Wrapper { names: "doas", valued: "-u -C -a", elsewhere: true, ..PLAIN },
    Wrapper { names: "pkexec", valued: "--user", elsewhere: true, ..PLAIN },
    Wrapper {
        names: "run0",
        valued: "-u -g -D -E -M -H --unit --property --user --group --chdir --setenv --slice --nice --description \
            --machine --background",
        elsewhere: true,
        ..PLAIN
    },
    Wrapper {
        names: "systemd-run",
        valued: "-p -u -E -M -H -C --unit --property --uid --gid --setenv --slice --nice --description --machine --host \
            --working-directory --on-active --on-boot --on-startup --on-calendar --on-unit-active --on-unit-inactive \
            --service-type --path-property --socket-property --timer-property --background",
        elsewhere: true,
        ..PLAIN
    },
    Wrapper { names: "gosu su-exec setuidgid", skip: 1, elsewhere: true, ..PLAIN },
    Wrapper { names: "chpst", valued: "-u -U -b -/ -C -n -l -L -m -d -o -p -f -c -t -e", elsewhere: true, ..PLAIN },
    Wrapper {
        names: "setpriv",
        valued: "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set --securebits \
            --pdeathsig --selinux-label --apparmor-profile",
        elsewhere: true,
        ..PLAIN
    },
    Wrapper { names: "nsenter", valued: "-t -S -G --target --setuid --setgid", elsewhere: true, ..PLAIN },
    Wrapper {
        names: "unshare",
        valued: "-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --propagation",
        elsewhere: true,
        ..PLAIN
    },
    Wrapper { names: "chroot arch-chroot", valued: "--userspec --groups -u", skip: 1, elsewhere: true, ..PLAIN },
    Wrapper { names: "proot", valued: "-r -b -w -R -S -q -m --rootfs --bind --pwd --cwd", elsewhere: true, ..PLAIN },
    Wrapper { names: "flatpak-spawn", elsewhere: true, ..PLAIN },
    Wrapper { names: "env", valued: "-u -C -P -a --unset --chdir --argv0", ..PLAIN },
    Wrapper { names: "exec", valued: "-a", ..PLAIN },
    Wrapper {
        names: "command builtin nohup setsid noglob nocorrect - eatmydata unbuffer chronic torsocks torify",
        ..PLAIN
    },
    Wrapper { names: "proxychains proxychains4 tsocks fakeroot fakechroot winpty dbus-run-session entr", ..PLAIN },
    Wrapper { names: "linux32 linux64 busybox toybox catchsegv", ..PLAIN },
    Wrapper { names: "faketime repeat", skip: 1, ..PLAIN },
    Wrapper { names: "rlwrap", valued: "-f -H -D -C -s -b -q -S -p", ..PLAIN },
    Wrapper { names: "xvfb-run", valued: "-n -s -e -f -p -w --server-num --server-args", ..PLAIN },
    Wrapper { names: "caffeinate", valued: "-t -w", ..PLAIN },
    Wrapper { names: "nice", valued: "-n --adjustment", ..PLAIN },
    Wrapper { names: "ionice", valued: "-c -n -p -P -u --class --classdata --pid", ..PLAIN },
    Wrapper { names: "time gtime", valued: "-f -o --format --output", ..PLAIN },
    Wrapper { names: "timeout gtimeout", valued: "-s -k --signal --kill-after", skip: 1, ..PLAIN },
    Wrapper { names: "stdbuf", valued: "-i -o -e --input --output --error", ..PLAIN },
    Wrapper { names: "chrt", valued: "-T -P -D", skip: 1, ..PLAIN },
    Wrapper { names: "taskset", skip: 1, ..PLAIN },
    Wrapper { names: "numactl", valued: "-N -m -C -i -p -P", ..PLAIN },
    Wrapper { names: "cpulimit", valued: "-l -p -e -P -c", ..PLAIN },
    Wrapper { names: "prlimit", valued: "-p -o", ..PLAIN },
    Wrapper { names: "strace ltrace", valued: "-e -o -p -s -u -a -b -E -I -O -P -S -X", ..PLAIN },
    Wrapper { names: "runcon", valued: "-t -u -r -l", ..PLAIN },
    Wrapper { names: "bundle", under: &["exec"], ..PLAIN },
    Wrapper { names: "npx bunx uvx pnpx", valued: "-p --package --from --with", ..PLAIN },
    Wrapper {
        names: "npm pnpm yarn bun",
        under: &["exec|x|dlx"],
        valued: "--package -p --prefix -C --filter",
        ..PLAIN
    },
    Wrapper {
        names: "poetry pipenv pdm hatch rye",
        under: &["run"],
        valued: "-C -e -p --directory -P --project",
        ..PLAIN
    },
    Wrapper {
        names: "uv",
        under: &["run"],
        valued: "--with --python -p --directory --project --extra --env-file",
        ..PLAIN
    },
    Wrapper { names: "conda mamba micromamba", under: &["run"], valued: "-n -p --name --prefix --cwd", ..PLAIN },
    Wrapper {
        names: "doppler op infisical teller railway dotenvx",
        under: &["run"],
        valued: "-p -c -f --env-file",
        ..PLAIN
    },
    Wrapper { names: "dotenv", valued: "-e -f", ..PLAIN },
    Wrapper { names: "mise rtx", under: &["exec|x"], after: "-- -c --command", ..PLAIN },
    Wrapper { names: "asdf goenv jenv nodenv phpenv pyenv rbenv", under: &["exec"], ..PLAIN },
    Wrapper { names: "dpkg-architecture", after: "-c --command", ..PLAIN },
    Wrapper { names: "pipx", under: &["run"], valued: "--spec --python --pip-args", ..PLAIN },
    Wrapper { names: "nix", under: &["develop|shell"], after: "-c --command", ..PLAIN },
    Wrapper { names: "nix", under: &["run"], after: "--", ..PLAIN },
    Wrapper { names: "devbox flox pixi", under: &["run|activate"], valued: "-c -e --config --env", ..PLAIN },
    Wrapper { names: "xterm urxvt konsole alacritty st kitty xfce4-terminal", after: "-e -x", ..PLAIN },
    Wrapper { names: "gnome-terminal wezterm ptyxis", after: "-- -x", ..PLAIN },
    Wrapper { names: "screen", after: "stuff", line: true, ..PLAIN },
    Wrapper { names: "screen", valued: "-S -p -t -c -e -h -s -T", ..PLAIN },
    Wrapper {
        names: "tmux",
        under: &[
            "new-session|new|new-window|neww|split-window|splitw|respawn-pane|respawn-window|run-shell|run|if-shell|if",
        ],
        valued: "-s -n -c -t -x -y -F -e -l -L -S -f -b",
        line: true,
        ..PLAIN
    },
    Wrapper { names: "git", under: &["submodule", "foreach"], valued: GIT, line: true, ..PLAIN },
    Wrapper { names: "git", under: &["bisect", "run"], valued: GIT, ..PLAIN },
    Wrapper { names: "direnv chamber aws-vault", under: &["exec"], skip: 1, ..PLAIN },
    Wrapper {
        names: "docker podman nerdctl",
        under: &["exec|run"],
        valued: CONTAINER,
        skip: 1,
        elsewhere: true,
        ..PLAIN
    },
    Wrapper {
        names: "docker podman nerdctl",
        under: &["container|compose", "exec|run"],
        valued: CONTAINER,
        skip: 1,
        elsewhere: true,
        ..PLAIN
    },
    Wrapper {
        names: "docker-compose podman-compose",
        under: &["exec|run"],
        valued: CONTAINER,
        skip: 1,
        elsewhere: true,
        ..PLAIN
    },
    Wrapper {
        names: "kubectl oc k",
        under: &["exec|rsh"],
        valued: "-n -c -f --namespace --container --context --kubeconfig --cluster --user --pod-running-timeout",
        skip: 1,
        elsewhere: true,
        ..PLAIN
    },
    Wrapper { names: "kubectl oc k", under: &["run|debug"], after: "--", elsewhere: true, ..PLAIN },
    Wrapper { names: "lxc incus multipass", under: &["exec"], skip: 1, elsewhere: true, ..PLAIN },
    Wrapper { names: "lxc-attach", valued: "-n --name", elsewhere: true, ..PLAIN },
    Wrapper { names: "machinectl", under: &["shell"], skip: 1, elsewhere: true, ..PLAIN },
    Wrapper { names: "toolbox", under: &["run"], valued: "-c --container", elsewhere: true, ..PLAIN },
    Wrapper { names: "distrobox", under: &["enter"], after: "-- -e --exec", elsewhere: true, ..PLAIN },
    Wrapper { names: "runuser", valued: "-u -g -G -s -w --user --group --shell", elsewhere: true, ..PLAIN },
    Wrapper {
        names: "gcloud",
        under: &["compute|alpha|beta", "ssh"],
        after: "--",
        elsewhere: true,
        line: true,
        ..PLAIN
    },
    Wrapper { names: "vagrant", under: &["ssh"], after: "--", elsewhere: true, line: true, ..PLAIN },
    Wrapper {
        names: "gh",
        under: &["codespace|cs", "ssh"],
        valued: "-c -R --codespace --repo --profile --server-port",
        elsewhere: true,
        line: true,
        ..PLAIN
    },
    Wrapper { names: "yarn", under: &["workspaces|workspace"], after: "exec", ..PLAIN },
    Wrapper { names: "wsl", valued: "-d -u --distribution --user --cd", elsewhere: true, ..PLAIN },
    Wrapper {
        names: "ssh mosh autossh sshpass",
        valued: "-b -c -D -E -e -F -I -i -J -L -l -m -M -O -o -p -Q -R -S -W -w -B",
        skip: 1,
        elsewhere: true,
        line: true,
        ..PLAIN
    },
    Wrapper { names: "adb", under: &["shell"], valued: "-s -t -H -P", elsewhere: true, line: true, ..PLAIN },
    Wrapper { names: "heroku", under: &["run|run:detached"], valued: "-a --app -r -s", elsewhere: true, ..PLAIN },
    Wrapper { names: "minikube", under: &["ssh"], valued: "-p -n", elsewhere: true, line: true, ..PLAIN },
    Wrapper { names: "watch", valued: "-n -q --interval --equexit", line: true, ..PLAIN },
    Wrapper { names: "eval iex invoke-expression", line: true, ..PLAIN },
    Wrapper { names: "sem", valued: "-j --jobs --id", line: true, ..PLAIN },
];

/// `flock FILE COMMAND…`
const FLOCK: Wrapper = Wrapper { valued: "-w -E --timeout --conflict-exit-code", skip: 1, ..PLAIN };

/// The wrappers of each name.
static BY_NAME: LazyLock<Names<&'static Wrapper>> = LazyLock::new(|| {
    let mut by_name = Names::default();
    for wrapper in WRAPPERS {
        wrapper.names.split(' ').for_each(|name| by_name.add(name.into(), wrapper));
    }
    by_name
});

/// Options whose value is a line for a shell: the program, and the options.
const LINES: &[(&str, &[&str], bool)] = &[
    ("su", &["-c", "--command"], true),
    ("runuser", &["-c", "--command"], true),
    ("script", &["-c", "--command"], false),
    ("flock", &["-c", "--command"], false),
    ("env", &["-S", "--split-string"], false),
    ("vagrant", &["-c", "--command"], true),
    ("gcloud", &["--command"], true),
    ("fly", &["-C", "--command"], true),
    ("flyctl", &["-C", "--command"], true),
    ("expect", &["-c"], false),
    ("nix-shell", &["--run", "--command"], false),
    ("fc", &["-e"], false),
    ("tar", &["--to-command", "--use-compress-program", "-I", "--rmt-command", "--rsh-command", "-F"], false),
    ("tar", &["--info-script", "--new-volume-script", "--checkpoint-action"], false),
    ("rsync", &["-e", "--rsh"], false),
    ("man", &["-P", "--pager"], false),
    ("zip", &["-TT", "--unzip-command"], false),
    ("cargo", &["-s", "--shell"], false),
    ("nc", &["-c", "-e"], true),
    ("ncat", &["-c", "-e", "--sh-exec"], true),
    ("git-rebase", &["-x", "--exec"], false),
];

/// The names of the programs that [`runs`] knows.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let own = ["git", "su", "flock"];
    let listed = WRAPPERS.iter().flat_map(|wrapper| wrapper.names.split(' '));
    listed.chain(LINES.iter().map(|(name, ..)| *name)).chain(own)
}

/// True if a program is known to run others.
pub(super) fn is_known(program: &str) -> bool {
    BY_NAME.of(program).next().is_some() || matches!(program, "find" | "xargs" | "parallel" | "trap")
}

/// The folder in which a program starts the inner one, if given.
pub(super) fn folder(program: &str, argv: &[String]) -> Option<String> {
    let options: &[&str] = match program {
        "env" => &["-C", "--chdir"],
        "sudo" | "sudo-rs" | "run0" => &["-D", "--chdir"],
        "systemd-run" => &["--working-directory"],
        "unshare" => &["-w", "--wd"],
        "conda" | "mamba" | "micromamba" => &["--cwd"],
        "npm" | "pnpm" => &["-C", "--prefix", "--dir"],
        "uv" => &["--directory"],
        _ => return None,
    };
    // The words after the inner program are its own options.
    let from = BY_NAME.of(program).find_map(|wrapper| wrapper.start(argv)).unwrap_or(argv.len());
    let own = argv.get(1..from.min(argv.len())).unwrap_or_default();
    let short = options.iter().find(|option| option.len() == 2);
    own.iter().enumerate().rev().find_map(|(at, word)| {
        if options.contains(&word.as_str()) || short.is_some_and(|short| is_cluster(word, short)) {
            return own.get(at + 1).cloned();
        }
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name.starts_with("--") {
            true => (options.contains(&name) && !value.is_empty()).then(|| value.to_owned()),
            false => {
                short.and_then(|short| word.strip_prefix(short)).map(|rest| rest.trim_start_matches('=').to_owned())
            }
        }
    })
}

/// Letters behind one dash, the last of which is this option: `-iC`.
fn is_cluster(word: &str, short: &str) -> bool {
    word.len() > 2
        && word.ends_with(&short[1..])
        && word.strip_prefix('-').is_some_and(|letters| letters.bytes().all(|byte| byte.is_ascii_alphabetic()))
        && !word.starts_with(short)
}

/// The inner command of a known wrapper, and true if it runs elsewhere.
pub(super) fn runs(program: &str, argv: &[String]) -> Option<(Runs, bool)> {
    let rebases = program == "git" && argv.iter().any(|word| word == "rebase");
    let named = if rebases { "git-rebase" } else { program };
    // The words after the inner program are its own options.
    let own = match program {
        "env" => BY_NAME.of("env").find_map(|wrapper| wrapper.start(argv)),
        "flock" => FLOCK.start(argv),
        _ => None,
    };
    let own = &argv[..own.map_or(argv.len(), |at| argv.len().min(at + 1))];
    let mut lines = LINES.iter().filter(|(name, ..)| *name == named);
    if let Some((line, elsewhere)) = lines.find_map(|(_, options, elsewhere)| Some((option(own, options)?, elsewhere)))
    {
        // `--checkpoint-action=exec=…`
        let line = line.strip_prefix("exec=").unwrap_or(&line).to_owned();
        return Some((Runs::Line(line), *elsewhere));
    }
    match program {
        "su" => return Some((Runs::Input, true)),
        "flock" => return FLOCK.start(argv).map(|from| (Runs::Argv(from), false)),
        "command" if argv.get(1).is_some_and(|word| matches!(word.as_str(), "-v" | "-V")) => return None,
        _ => {}
    }
    BY_NAME.of(program).find_map(|wrapper| {
        let from = wrapper.start(argv)?;
        let runs = match (wrapper.line, argv.get(from..)) {
            (_, None | Some([])) => Runs::Input,
            (true, Some(words)) => Runs::Line(words.join(" ")),
            (false, Some(_)) => Runs::Argv(from),
        };
        Some((runs, wrapper.elsewhere))
    })
}

impl Wrapper {
    /// The argument of the inner program; none if there is none.
    fn start(&self, argv: &[String]) -> Option<usize> {
        let mut under = self.under.iter();
        let (mut skip, mut at, mut expected) = (self.skip, 1, under.next());
        while let Some(word) = argv.get(at) {
            if expected.is_none() && !self.after.is_empty() {
                let mark = argv[at..].iter().position(|word| self.after.split(' ').any(|mark| mark == word));
                // Its own options may follow.
                let from = mark.map(|mark| at + mark + 1)?;
                let options = argv[from..].iter().take_while(|word| word.starts_with('-')).count();
                return Some(from + options);
            }
            if word == "--" && expected.is_none() {
                return Some(at + 1 + skip);
            }
            if word.starts_with('-') && word.len() > 1 {
                let whole = self.valued.split_ascii_whitespace().any(|option| option == word);
                let joined = !word.starts_with("--")
                    && word.chars().count() > 2
                    && word.chars().last().is_some_and(|last| {
                        self.valued.split_ascii_whitespace().any(|option| option.len() == 2 && option.ends_with(last))
                    });
                // The last joined letter may take a value, unless an earlier one has taken the rest.
                let first = word.chars().nth(1).unwrap_or_default();
                let rest =
                    self.valued.split_ascii_whitespace().any(|option| option.len() == 2 && option.ends_with(first));
                at += if whole || joined && !rest { 2 } else { 1 };
                continue;
            }
            if let Some(words) = expected {
                if !words.split('|').any(|one| one == word) {
                    return None;
                }
                expected = under.next();
            } else if skip > 0 {
                skip -= 1;
                // The options behind an image are those of its program.
                if skip == 0 && self.valued == CONTAINER {
                    return Some(at + 1);
                }
            } else if self.line || !is_assignment(word) {
                return Some(at);
            }
            at += 1;
        }
        expected.is_none().then_some(argv.len())
    }
}

/// `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'%'))
    })
}

/// The value of one of some options.
pub(super) fn option(argv: &[String], options: &[&str]) -> Option<String> {
    let at = argv.iter().position(|word| options.contains(&word.as_str()));
    if let Some(line) = at.and_then(|at| argv.get(at + 1)) {
        return Some(line.clone());
    }
    let value = |word: &String| {
        let (name, value) = word.split_once('=')?;
        options.contains(&name).then(|| value.to_owned())
    };
    let joined = |(at, word): (usize, &String)| {
        let short = options.iter().find(|option| option.len() == 2)?;
        let letters = word.strip_prefix('-')?;
        let ends = letters.ends_with(&short[1..]) && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
        match word.strip_prefix(short).filter(|rest| !rest.is_empty()) {
            Some(rest) => Some(rest.to_owned()),
            None => ends.then(|| argv.get(at + 1).cloned()).flatten(),
        }
    };
    argv.iter().find_map(value).or_else(|| argv.iter().enumerate().skip(1).find_map(joined))
}
