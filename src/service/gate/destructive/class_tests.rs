//! Classes of commands that were once misjudged: each list is one class, not one case.

use super::{Command, Examined, Rules, examine};

fn examined(line: &str) -> Examined {
    examine(Command::Line(line), Rules::built_in())
}

#[track_caller]
pub(super) fn all_object(lines: &[&str]) {
    for line in lines {
        assert!(!examined(line).hits.is_empty(), "{line}: {:?}", examined(line));
    }
}

#[track_caller]
pub(super) fn none_objects(lines: &[&str]) {
    for line in lines {
        let examined = examined(line);
        assert!(examined.hits.is_empty() && examined.unparsed.is_none(), "{line}: {examined:?}");
    }
}

#[test]
fn compound_commands_need_no_separator_before_the_word_that_closes_another() {
    none_objects(&[
        "for d in a b; do ( cd \"$d\" && make ) done",
        "for x in a; do if true; then echo; fi done",
        "while true; do { echo; } done",
        "if ( true ) then ( echo ) else { echo; } fi",
        "if [[ a == b ]] then echo; fi",
        "while [[ a ]] do echo; done 2>&1",
        "f() { echo; } 2>/dev/null",
        "f() { if true; then echo; fi }",
        "case x in a) { echo; } esac",
        "until (( i > 3 )) do echo; done",
        "coproc X { echo; }",
    ]);
    all_object(&[
        "for x in a; do if true; then rm -rf src; fi done",
        "while true; do { rm -rf src; } done",
        "if ( true ) then rm -rf src; fi",
        "coproc X { rm -rf src; }",
        "db_$1() { rm -rf src; }",
    ]);
}

#[test]
fn lists_and_the_arguments_of_the_line_are_what_they_hold() {
    all_object(&[
        "a=(rm -rf /); \"${a[@]}\"",
        "a=(rm); a+=(-rf src); ${a[*]}",
        "declare -a c=(rm -rf src); \"${c[@]}\"",
        "a[0]=rm; a[1]=-rf; a[2]=src; \"${a[@]}\"",
        "a=(x rm -rf src); \"${a[@]:1}\"",
        "a=(echo rm -rf src); ${a[1]} -rf src",
        "a=(sh -c 'rm -rf src'); \"${a[@]}\"",
        "set -- rm -rf /; \"$@\"",
        "set -- x rm -rf src; shift; \"$@\"",
        "set -- x rm -rf src; \"${@:2}\"",
        "f() { \"$@\"; }; f rm -rf src",
        "sh -c '\"$@\"' x rm -rf src",
        "x=rm; x+=' -rf src'; $x",
        "a=(rm -rf src); (a=(echo)); \"${a[@]}\"",
        "x=rm; sh -c 'x=echo'; $x -rf src",
    ]);
    none_objects(&[
        "a=(1 2 3); echo \"${a[@]}\"",
        "args=(--foo bar); ./tool \"${args[@]}\"",
        "set -euo pipefail; npm ci",
    ]);
}

#[test]
fn a_loop_is_gone_through_for_each_value_that_the_line_tells() {
    all_object(&[
        "for f in x /etc/passwd; do rm -f \"$f\"; done",
        "for f in a nrv.toml; do rm $f; done",
        "for d in node_modules src; do rm -rf $d; done",
    ]);
    none_objects(&["for f in a b; do rm $f; done", "for d in node_modules .cache; do rm -rf $d; done"]);
}

#[test]
fn a_relative_path_is_where_the_line_has_gone() {
    all_object(&[
        "cd /etc && rm -f passwd",
        "pushd /etc; rm -f shadow",
        "CDPATH=/ cd etc && rm -f passwd",
        "CDPATH=/; cd etc; rm -f passwd",
        "cd / && cd etc && echo x > passwd",
        "cd /usr && chown -R me local/..",
    ]);
    none_objects(&[
        "(cd /etc && ls); rm -f x.txt",
        "pushd /etc; popd; rm -f x.txt",
        "sh -c 'cd /etc; ls'; rm -f x.txt",
        "cd /tmp/x && rm -rf y",
        "cd build && rm -f *.o",
        "tmp=$(mktemp -d); cd \"$tmp\" && rm -rf x",
        "trap 'rm -rf \"$tmp\"' EXIT; tmp=$(mktemp -d)",
    ]);
}

#[test]
fn programs_that_run_others_are_looked_through_whatever_their_options() {
    for wrapper in [
        "perf stat",
        "perf stat -e cycles",
        "perf record -o x.data --",
        "setarch x86_64",
        "setarch -R",
        "setarch x86_64 -R",
        "linux32",
        "chrt -f 10",
        "ionice -c3",
        "taskset -c 0",
        "unshare -r",
        "nsenter -t 1 -m",
        "flock /tmp/l",
        "watch",
        "timeout -k 5 10",
        "systemd-run --user",
        "busybox",
        "doas",
        "runuser -u bob --",
        "firejail --noprofile",
        "firejail --net=none --",
        "proot -r /",
        "fakeroot --",
        "catchsegv",
        "valgrind --tool=none",
        "gdb --args",
        "gdb -batch -ex run --args",
        "ltrace",
        "strace -f",
        "bwrap --dev-bind / /",
        "bwrap --bind / / --dev /dev",
        "hyperfine --warmup 3",
        "cgexec -g memory:x",
        "rr record",
        "uftrace record",
        "tini --",
        "cross-env A=1",
        "start-stop-daemon --start --exec",
    ] {
        let line = format!("{wrapper} rm -rf src");
        assert!(!examined(&line).hits.is_empty(), "{line}");
    }
    all_object(&[
        "script -qec 'git reset --hard' /dev/null",
        "hyperfine 'rm -rf src'",
        "nodemon --exec 'rm -rf src'",
        "echo 'rm -rf /' | xargs -I{} sh -c '{}'",
        "printf 'rm -rf src\\n' | xargs -I C bash -c C",
        "ls | xargs -I{} sh -c '{}'",
        "find . -exec echo {} \\; -exec rm -rf {} \\;",
    ]);
    none_objects(&[
        "perf stat -e cycles ls",
        "strace -f -e trace=open ls",
        "gdb --args ./app",
        "hyperfine 'cargo build'",
        "script -qc 'npm test' /dev/null",
        "xargs -n1 echo < list.txt",
        "find src -name '*.ts' -exec grep -l foo {} \\; -exec echo {} \\;",
    ]);
}

#[test]
fn what_is_copied_onto_a_disk_overwrites_it() {
    all_object(&[
        "cp x /dev/sda",
        "cat x > /dev/nvme0n1",
        "mv x.img /dev/sda",
        "install x /dev/sda",
        "rsync x.img /dev/sda",
        "tar -cf /dev/sda src",
        "ln -sf /dev/null /dev/sda",
        "dd if=x of=/dev/sda",
        "tee /dev/sdb < x",
        "wipefs -a /dev/sda",
        "qemu-img convert x.qcow2 /dev/sda",
    ]);
    none_objects(&["tar -cf x.tar src", "cp a b", "echo x | tee /dev/stderr"]);
}

#[test]
fn a_dry_run_is_none_that_is_taken_back_or_is_the_value_of_another_option() {
    none_objects(&[
        "kubectl drain n --dry-run",
        "kubectl drain n --ignore-daemonsets --dry-run=client",
        "kubectl delete pod x --dry-run",
        "aws s3 rm s3://b/p --recursive --dryrun",
        "helm uninstall web --dry-run",
        "apt-get --simulate remove x",
        "Remove-Item -Recurse -WhatIf src",
        "npm publish --dry-run",
    ]);
    all_object(&[
        "kubectl drain n --dry-run=none",
        "kubectl delete pod x --dry-run=false",
        "kubectl drain n --no-dry-run",
        "az storage blob delete-batch -s c --account-name --dryrun",
        "kubectl drain n --selector --dry-run",
        "Remove-Item -Recurse -WhatIf:$false src",
        "rm -rf src --dry-run",
    ]);
}

#[test]
fn rights_of_whole_folders_are_judged_by_where_they_are() {
    none_objects(&[
        "chmod -R u+w /tmp/x",
        "chown -R node:node /app",
        "chown -R x .",
        "chown -R x src",
        "chmod -R 755 .",
        "chmod -R a+rX /workspace/dist",
        "chown -R 1000:1000 build",
    ]);
    for line in [
        "chown -R x /",
        "chmod -R u+w /*",
        "chown -R x /etc",
        "chmod -R 700 /usr",
        "chown -R x ~",
        "chown -R x /home",
        "cd / && chown -R x etc",
    ] {
        let strictest = examined(line).hits.iter().map(|hit| hit.severity).max();
        assert_eq!(strictest, Some(super::Severity::Block), "{line}");
    }
    all_object(&["chmod -R 777 .", "chmod -R 777 src", "chmod -R a+w storage/../x o+w", "chown -R x /srv/www"]);
}

#[test]
fn what_an_image_throws_away_to_be_small_is_let_go() {
    none_objects(&[
        "apt-get update && apt-get install -y curl && rm -rf /var/lib/apt/lists/*",
        "rm -rf /var/cache/apt /tmp/* /var/tmp/*",
        concat!("rm -rf /", "root/.cache /", "root/.npm"),
        "rm -rf /usr/share/doc /usr/share/man /usr/share/locale",
        "rm -rf /var/cache/apk/*",
        "sudo rm -rf /var/lib/apt/lists/*",
    ]);
    all_object(&[
        "rm -rf /var/lib/apt",
        "rm -rf /var/lib/apt/lists/../../dpkg",
        "rm -rf /usr/share",
        concat!("rm -rf /", "root"),
        "rm -rf /usr/share/doc/$X/..",
        "rm -rf /var/lib/apt/lists /etc",
        "rm -rf /tmp",
        "sudo rm -rf /tmp/x",
    ]);
}

#[test]
fn what_an_agent_does_to_its_own_guard_blocks() {
    for line in [
        "timeout 60 nrv run x --yes",
        "bash -c 'nrv approve x --yes'",
        "alias n=nrv; n approve x --yes",
        "N=target/debug/nrv; $N run x --yes",
        "nrv --root . -v resume last --approve=c1",
        "nrv run x --arg --help --yes",
        "cargo run -q -p nrv -- resume last --approve c1",
        "set -- nrv trust; \"$@\"",
        "cd .claude && echo '{}' > settings.json",
        "rm -f \"$(git rev-parse --show-toplevel)/nrv.toml\"",
        "jq . x | sponge .claude/settings.json",
        "echo nrv.toml | xargs rm",
        "python3 -c \"import os; os.remove('.runs' + '/x')\"",
        "printf x | tee -a .git/config",
        "CI= nrv run x",
        "export NRV_TRUSTED_PATHS=/",
        "HOME=/tmp/h nrv run x",
        "NRV_TRUSTED_PATHS=. nrv run x",
        "git mv nrv.toml x.toml",
        "rsync /tmp/nrv.toml ./",
        "xargs -a list nrv approve --yes",
        "perl -pi -e 's/a/b/' nrv.toml",
        "awk '{print > \"nrv.toml\"}' x",
        "install -m 644 /tmp/x nrv.toml",
        "sort -o nrv.lock x",
        "sed -i.bak s/a/b/ nrv.toml",
        "git stash -- nrv.toml",
        "GIT_CONFIG_KEY_0=core.hooksPath git commit",
        "/lib64/ld-linux-x86-64.so.2 target/debug/nrv approve x --yes",
        "expect -c 'spawn nrv run x; expect y; send y'",
        "cp -l nrv.toml x",
        "echo x > .claude/plans/../settings.json",
        "rm .claude/projects/../settings.json",
        "echo x > .github/workflows/../hooks/a.json",
        "cd .claude/plans && echo x > ../settings.json",
        "env -C .git/hooks rm pre-commit",
        "env --chdir=.claude sh -c 'echo x > settings.json'",
        "env -iC .git/hooks rm pre-commit",
        "sudo -D .git rm config",
        "sudo --chdir .claude tee settings.json < x",
        "cp /tmp/x ~/.local/state/nrv/trusted/x",
        "cp /srv/nrv.toml /tmp/w/",
        "scp h:x nrv.toml",
        "scp h:nrv.toml .",
        "wget https://example.org/nrv.toml",
        "git clone https://example.org/x .claude",
        "git config --rename-section core x",
        "printf 'a\\0nrv.toml\\0' | xargs -0 rm",
        "sed -i nrv.toml -e s/a/b/",
        "sed -i -e s/a/b/ nrv.toml",
        "sed -i -f x.sed nrv.toml",
        "awk '{print > \"nrv\" \".toml\"}' x",
        "awk '/a/{print > \"o\"; print > \"nrv.toml\"}' x",
        "install -m 600 x $XDG_STATE_HOME/nrv/trusted/y",
        "mkdir -p ~/.local/state/nrv/trusted",
        "mkdir -p \"${XDG_STATE_HOME:-$HOME/.local/state}/nrv/trusted\"",
        "echo x | tee /srv/state/nrv/trusted/a",
        "echo x > ~/.local/state/nrv/trusted/x",
        "cd ~/.local/state/nrv && echo x > trusted/a",
        "cd ~/.local/state && echo x > nrv/a",
        "mv x ~/.local/state/nrv/trusted/",
        "ln -s /tmp/t ~/.local/state/nrv/trusted",
        "python3 -c \"open('/srv/nrv/trusted/x', 'w')\"",
        "python3 -c \"import os; open(os.path.expanduser('~/.local/state') + '/nrv/x', 'w')\"",
    ] {
        let found = examined(line);
        let blocks = |hit: &super::Hit| hit.rule.starts_with("guard.") && hit.severity == super::Severity::Block;
        assert!(found.hits.iter().any(blocks), "{line}: {found:?}");
    }
    none_objects(&[
        "nrv runs list",
        "nrv run x --dry-run",
        "nrv check",
        "cat nrv.toml",
        "git status",
        "git add nrv.toml && git commit -m x",
        "nrv gate command -- rm -rf /",
        "nrv plan x -o plan.json",
        "grep -rn approve .",
        "cp nrv.toml /tmp/nrv.toml.bak",
        "CI=true npm test",
        "git config core.hooksPath",
        "ls -la .git/hooks .claude",
        "echo x > .claude/plans/a.md",
        "env -C docs ls nrv.toml",
        "ls ~/.local/state/nrv/trusted",
        "mkdir -p src/nrv/rules",
        "cp nrv.toml /tmp/",
        "cp nrv.toml /tmp",
        "cp -r .claude /tmp/backup",
        "scp nrv.toml h:",
        "git clone https://example.org/x.git",
        "wget https://example.org/x.tar.gz",
        "rsync -a .claude me@host:backup/",
        "sed -i '/\\.runs/d' .gitignore",
        "sed -i 's/.git/x/' README.md",
        "awk '/nrv.toml/{print > \"o\"}' README.md",
    ]);
}

#[test]
fn a_command_is_judged_by_the_folder_in_which_it_begins() {
    let found = |folder: &str, line: &str| {
        let start = super::Start { folder: Some(folder), root: Some("/tmp/w"), ..super::Start::default() };
        super::examine_from(start, Command::Line(line), Rules::built_in()).hits
    };
    for (folder, line) in [
        (".git/hooks", "rm pre-commit"),
        (".claude", "echo {} > settings.json"),
        (".claude/plans", "rm ../settings.json"),
        ("/srv/state/nrv", "echo x > trusted/a"),
        ("/etc", "echo x > passwd"),
        ("", "rm nrv.toml"),
        (".", "rm nrv.toml"),
        ("-", "rm -rf node_modules"),
    ] {
        assert!(!found(folder, line).is_empty(), "{folder}: {line}");
    }
    for (folder, line) in [("docs", "rm pre-commit"), ("", "ls"), ("/tmp/x", "rm -rf y"), (".git/hooks", "ls")] {
        assert_eq!(found(folder, line), [], "{folder}: {line}");
    }
}

#[test]
fn a_folder_that_is_thrown_away_has_a_guard_of_its_own_unless_a_link_leads_back() {
    let real = |from: &str, path: &str| match path.starts_with('/') {
        true => Some(path.replacen("/tmp/link", "/tmp/w", 1)),
        false => Some(format!("{from}/{path}")),
    };
    let start = super::Start { folder: None, root: Some("/tmp/w"), disk: Some(super::command::Disk::of_links(real)) };
    let hits = |line: &str| super::examine_from(start, Command::Line(line), Rules::built_in()).hits;
    for line in ["cd $(mktemp -d) && git init && echo x > nrv.toml", "rm -rf /tmp/t/.runs", "rm -rf /tmp/t/.git"] {
        assert_eq!(hits(line), [], "{line}");
    }
    for line in [
        "rm /tmp/w/nrv.toml",
        "rm //tmp/./w/nrv.toml",
        "rm /tmp/link/nrv.toml",
        "echo x > /tmp/*/nrv.toml",
        "ln -s . /tmp/x && echo x > /tmp/x/nrv.toml",
        "echo x > /tmp/t/../w/nrv.toml",
        "echo x > /tmp/state/nrv/trusted/a",
        "rm -rf .runs",
    ] {
        assert!(hits(line).iter().any(|hit| hit.rule.starts_with("guard.")), "{line}");
    }
}

#[test]
fn substitutions_run_wherever_a_shell_expands_words() {
    all_object(&[
        "x[$(rm -rf src)]=1",
        "x[y[0]]=1 rm -rf src",
        "x[\"$(rm -rf src)\"]+=a",
        "case x in $(rm -rf src)) ;; esac",
        "case x in a|\"`rm -rf src`\") ;; esac",
        "echo \"${x:-'$(rm -rf src)'}\"",
        "echo \"${x:-$'$(rm -rf src)'}\"",
        "cat <<E\n${x:-'$(rm -rf src)'}\nE\n",
        "echo ${x:-<(rm -rf src)}",
        "echo $(( ' $(rm -rf src) ' ))",
        "(( x = '$(rm -rf src)' ))",
        "echo $[ $(rm -rf src) ]",
        "[[ -n --x=<(rm -rf src) ]]",
        "make --x=<(rm -rf src)",
        "echo ${ rm -rf src; }",
        "echo ${| rm -rf src; }",
        "echo \"$\\\n(rm -rf src)\"",
        "cat <<E\n$\\\n(rm -rf src)\nE\n",
    ]);
    none_objects(&[
        "echo ${x:-'$(rm -rf src)'}",
        "echo \"${x%'$(rm -rf src)'}\"",
        "echo \"${x//'$(rm -rf src)'/}\"",
        "echo \"a$[1 + 2]\" '$[' \"[^$[]\"",
        "x[1 + 2]=a; x['a b']=c; x[y[0]]=1",
    ]);
}

#[test]
fn a_here_document_ends_where_a_shell_ends_it() {
    all_object(&[
        "cat <<E\nE\\\n\nrm -rf src\n",
        "cat <<E\\\nF\nEF\nrm -rf src\n",
        "cat <<\"E\\\nF\"\nEF\nrm -rf src\n",
        "cat <<$'E'\nE\nrm -rf src\n",
        "cat <<$\"E\"\nE\nrm -rf src\n",
        "cat <<E'F'\"G\"\\H\nEFGH\nrm -rf src\n",
        "cat <<''\n\nrm -rf src\n",
        "cat <<$x\n$x\nrm -rf src\n",
        "cat <<E $(\nrm -rf src\n)\nE\n",
        "cat <<E <<'F'\n$(rm -rf src)\nE\nF\n",
    ]);
    none_objects(&[
        "cat <<E\na\\\nE\nrm -rf src\nE\n",
        "cat <<'E\\\nF'\nEF\nrm -rf src\n",
        "cat <<E $(\necho\n)\nrm -rf src\nE\n",
        "cat <<\\E\n$(rm -rf src)\nE\n",
    ]);
}

#[test]
fn a_program_is_found_behind_every_prefix() {
    all_object(&[
        "echo $(rm() { :; }); rm -rf src",
        "a=1 [[ x && rm -rf src ]]",
        "> f [[ x && rm -rf src ]]",
        ">! rm -rf src",
        "2>&-rm -rf src",
        "<& -rm -rf src",
        "{fd}> f rm -rf src",
        "x=<(true) rm -rf src",
        "time -- rm -rf src",
        "time -p\trm -rf src",
        "!\\\n rm -rf src",
        "coproc X while rm -rf src; do :; done",
        "function f (rm -rf src); f",
        "$'rm\\0x' -rf src",
        "$'\\x{72}m' -rf src",
    ]);
    none_objects(&[
        "[[ x && rm ]] && echo a",
        "echo a >! b",
        "exec {fd}> f",
        "echo a >&-",
        "coproc X { echo; }",
        "coproc if true; then echo; fi",
        "function f () ( echo )",
    ]);
}

#[test]
fn a_line_may_delete_what_it_has_surely_made() {
    none_objects(&[
        "mkdir scratch && cd scratch && npm init -y && cd .. && rm -rf scratch",
        "mkdir a b && touch a/x && rm -r a b",
        "mv /tmp/a /tmp/b; rm -rf /tmp/b",
        "mv out.log /tmp/y/out.log; rm -rf /tmp/x",
        "mkdir x && python3 -c 'print(1)' && rm -rf x",
        "git clone --depth 1 https://example.com/o/tool.git && (cd tool && make install) && rm -rf tool",
        "git clone https://example.com/o/tool t && ./t/install && rm -rf t/",
        "set -e; mkdir x; cd x; make; cd ..; rm -rf x",
        "set -euo pipefail\ngit clone git@example.com:o/tool.git\ncd tool\nmake\ncd ..\nrm -rf tool",
        "cargo new demo && cd demo && cargo build && cd .. && rm -rf demo",
        "mkdir x && curl -fsSLo x/a https://example.com/a && rm -rf x/*",
        "cd sub && mkdir x && rm -rf x",
        "d=$(mktemp -d); rm -rf \"${d:?}\"",
        "d=$(mktemp -d ./x.XXXXXX); cp a \"$d\"; rm -rf \"$d\"",
    ]);
    all_object(&[
        "mkdir -p src && rm -rf src",
        "mkdir src; rm -rf src",
        "mkdir src || true && rm -rf src",
        "true || mkdir src && rm -rf src",
        "! mkdir src && rm -rf src",
        "mkdir src & rm -rf src",
        "mkdir src | cat && rm -rf src",
        "{ mkdir src; true; } && rm -rf src",
        "(mkdir src; true) && rm -rf src",
        "$(mkdir src) && rm -rf src",
        "mkdir x && mv src x && rm -rf x",
        "mkdir x && sudo mv src x && rm -rf x",
        "mkdir x && python3 -c 'import os; os.rename(\"src\", \"x/src\")' && rm -rf x",
        "mkdir x && node -e 'fs.renameSync(\"src\", \"x/src\")' && rm -rf x",
        "mkdir x && rename 's,src,x/src,' src && rm -rf x",
        "mkdir x && 7z a -sdel x/y.7z src && rm -rf x",
        "d=$(mktemp -d) && mv src $d && rm -rf $d",
        "mv src /tmp/x && rm -rf /tmp/x",
        "mv -t /tmp/x src; rm -rf /tmp/*",
        "mkdir x && mv -t x src && rm -rf x",
        "mkdir x && cd x && mv ../src . && cd .. && rm -rf x",
        "mkdir x && git mv src x && rm -rf x",
        "mkdir x && mount --bind src x && rm -rf x",
        "mkdir x && ln -s ../src x/l && rm -rf x/l/*",
        "mkdir x && rm -rf x/../src",
        "mkdir x && rm -rf xy",
        "mkdir x && cd .. && rm -rf x",
        "mkdir x && sudo rm -rf x",
        "git clone https://example.com/o/tool; rm -rf tool",
        "git -C /srv clone https://example.com/o/tool && rm -rf tool",
        "mkdir a && find . -name '*.c' -exec mv {} a \\; && rm -rf a",
        "set -e; set +e; mkdir src; rm -rf src",
        "rm -rf \"${d:?}\"",
        "d=; rm -rf ${d:?}/*",
    ]);
}

#[test]
fn settings_come_from_a_program_that_the_line_has_not_replaced() {
    all_object(&[
        "kubectl() { echo \"rm -rf src\"; }; eval \"$(kubectl completion bash)\"",
        "alias brew='echo rm -rf src'; eval \"$(brew shellenv)\"",
        "eval \"$(PATH=.:$PATH brew shellenv)\"",
        "pkill -f '^.*$'",
    ]);
    none_objects(&["eval \"$(brew shellenv)\"", "f() { :; }; source <(kubectl completion bash)"]);
}

#[test]
fn a_line_may_delete_what_it_named_and_the_disk_did_not_have() {
    let real = |_: &str, path: &str| Some(path.to_owned());
    let mut disk = super::command::Disk::of_links(real);
    disk.list = |path| match path {
        "/w/src" | "/w/build" => super::Listed::Folder(Vec::new()),
        _ => super::Listed::Missing,
    };
    let start = super::Start { folder: None, root: Some("/w"), disk: Some(disk) };
    let objects = |line: &str| {
        let hits = super::examine_from(start, Command::Line(line), Rules::built_in()).hits;
        hits.iter().any(|hit| hit.rule.starts_with("files."))
    };
    for line in [
        "mkdir -p out/x && cp a out/x && rm -rf out/x",
        "python3 -m venv env1; env1/bin/pip install .; rm -rf env1",
        "npm pack; mkdir t; tar xzf a.tgz -C t; ls t; rm -r t",
        "unzip x.zip -d tool; mv tool/bin bin2; rm -rf tool",
        "git clone https://example.com/o/t /w/t; rm -rf /w/t",
        "cd sub; virtualenv e; rm -rf e",
    ] {
        assert!(!objects(line), "{line}");
    }
    for line in [
        "rm -rf out",
        "mkdir -p src; rm -rf src",
        "cp -r a build; rm -rf build",
        "mv a out; ls out; rm -rf out",
        "mkdir out; mv src/* out; rm -rf out",
        "mkdir out; cd ..; rm -rf out",
        "ls /w/src; rm -rf /w/src",
    ] {
        assert!(objects(line), "{line}");
    }
}
