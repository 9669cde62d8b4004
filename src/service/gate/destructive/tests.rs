//! Properties of the whole, and the examples of every rule.

use proptest::prelude::*;

use super::*;

fn examined(line: &str) -> Examined {
    examine(Command::Line(line), Rules::built_in())
}

fn hits(line: &str) -> Vec<String> {
    examined(line).hits.into_iter().map(|hit| hit.rule).collect()
}

/// The severity of a line; an unparsable one needs a confirmation.
fn strictness(line: &str) -> Option<Severity> {
    let examined = examined(line);
    let unparsed = examined.unparsed.map(|_| Severity::Confirm);
    examined.hits.into_iter().map(|hit| hit.severity).chain(unparsed).max()
}

#[test]
fn every_rule_hits_its_examples_and_misses_its_counterexamples() {
    let rules = Rules::built_in();
    let tried = rules.all().iter().map(|rule| rules.try_examples(&rule.id));
    let wrong: Vec<String> = tried.filter_map(|tried| tried.err().map(|error| error.to_string())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_says_why_and_what_to_do_and_has_examples() {
    for rule in Rules::built_in().all() {
        let body = rule.body();
        let complete = !body.reason.is_empty() && !body.remediation.is_empty() && !body.reason.ends_with('.');
        assert!(complete && !body.examples.is_empty() && !body.counterexamples.is_empty(), "{}", rule.id);
    }
    let mut ids: Vec<&str> = Rules::built_in().all().iter().map(|rule| rule.id.as_ref()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "a rule stands twice");
}

/// Everyday commands, `+` before those with an objection; `⏎` stands for the end of a line.
const COMMANDS: &str = include_str!("commands.txt");

#[test]
fn commands_of_every_day_are_judged_as_people_would() {
    let wrong = COMMANDS.lines().filter(|line| {
        let examined = examined(&line[2..].replace('⏎', "\n"));
        let is_found = !examined.hits.is_empty() || examined.unparsed.is_some();
        is_found != line.starts_with("+ ")
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// The examples of all rules that consist of words alone.
fn plain_examples() -> impl Iterator<Item = &'static str> {
    let is_plain = |line: &&str| line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _./:=@,-".contains(&byte));
    let lines = Rules::built_in().all().iter().flat_map(|rule| rule.body().examples.iter().map(String::as_str));
    lines.filter(is_plain).filter(|line| sql::bare(line).is_none())
}

/// Compares each changed example with the original.
#[track_caller]
fn never_lowers(change: impl Fn(&str) -> Option<String>) {
    let lowered = |line: &&str| change(line).is_some_and(|changed| strictness(&changed) < strictness(line));
    assert_eq!(plain_examples().filter(lowered).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_path_of_a_program_never_lowers_a_verdict() {
    for path in ["/usr/bin/", "/opt/x-1.2/bin/", "./", "../bin/", "~/bin/"] {
        never_lowers(|line| Some(format!("{path}{line}")));
    }
}

#[test]
fn quotes_around_words_never_lower_a_verdict() {
    let quoted = |line: &str, quote: &str| {
        line.split_ascii_whitespace().map(|word| format!("{quote}{word}{quote}")).collect::<Vec<_>>().join(" ")
    };
    never_lowers(|line| Some(quoted(line, "'")));
    never_lowers(|line| Some(quoted(line, "\"")));
}

#[test]
fn white_space_never_lowers_a_verdict() {
    never_lowers(|line| Some(format!("  {} ", line.replace(' ', " \t "))));
    never_lowers(|line| Some(line.replace(' ', " \\\n")));
    never_lowers(|line| Some(format!("true\n{line}\ntrue")));
}

#[test]
fn wrappers_never_lower_the_verdict_of_any_example() {
    for (before, after) in [
        ("sudo -u root ", ""),
        ("env -u A B=c ", ""),
        ("timeout -k 5 10 ", ""),
        ("A=b nice -n 5 ", ""),
        ("bash -lc '", "'"),
        ("command ", ""),
        ("nohup ", " &"),
        ("if x; then ", "; fi"),
        ("x() { ", "; }; x"),
        ("y=$( ", " )"),
        ("x | ", " | y"),
        ("find . -exec ", " ;"),
        ("ssh -p 22 me@host ", ""),
        ("docker exec -it web ", ""),
        ("unknown-wrapper ", ""),
    ] {
        never_lowers(|line| Some(format!("{before}{line}{after}")));
    }
}

#[test]
fn the_place_of_an_option_never_lowers_a_verdict() {
    never_lowers(|line| {
        // An option at the end, behind an operand, trades places with it.
        let (rest, flag) = line.rsplit_once(' ')?;
        let (rest, operand) = rest.rsplit_once(' ')?;
        let (_, before) = rest.rsplit_once(' ')?;
        let swaps = flag.starts_with('-') && !operand.starts_with('-') && !before.starts_with('-');
        swaps.then(|| format!("{rest} {flag} {operand}"))
    });
}

#[test]
fn data_is_no_command() {
    for line in [
        "echo 'rm -rf is bad'",
        "grep -rn 'rm -rf /' src",
        "git commit -m 'drop table users'",
        "git commit -m \"git reset --hard\"",
        "echo \"git reset --hard\"",
        "git push --force-with-lease origin main",
        "password=\"${DB_PASS}\"",
        "cat <<EOF\nrm -rf /\nEOF",
        "printf '%s' 'rm -rf /' > notes.txt",
        "# rm -rf /",
        "ls # && rm -rf /",
        "",
        "rm -rf node_modules && npm install",
        "f() { git push -f; }",
    ] {
        let examined = examined(line);
        assert!(examined.hits.is_empty() && examined.unparsed.is_none(), "{line}: {examined:?}");
    }
}

#[test]
fn what_runs_is_found_wherever_it_hides() {
    for line in [
        "rm -fr /",
        "git push -f",
        "find . -delete",
        "DELETE FROM x;",
        "if true; then rm -rf src; fi",
        "while read x; do rm -rf \"$x\"; done < list",
        "case $1 in a) rm -rf src ;; esac",
        "f() { rm -rf src; }; f",
        "x=rm; $x -rf src",
        "alias d='rm -rf'; d src",
        "echo $(rm -rf src)",
        "echo `rm -rf src`",
        "echo \"`rm -rf src`\"",
        "echo ${x:-$(rm -rf src)}",
        "cat <<EOF\n$(rm -rf src)\nEOF",
        "cat <(rm -rf src)",
        "(cd a && { rm -rf src; })",
        "true && ! rm -rf src",
        "r''m -rf src",
        "$'\\x72m' -rf src",
        "r\\\nm -rf src",
        "{rm,-rf,src}",
        "echo 'rm -rf src' | bash",
        "bash <<< 'rm -rf src'",
        "bash <<'EOF'\nrm -rf src\nEOF",
        "echo 'rm -rf src' > x.sh; sh x.sh",
        "trap 'rm -rf src' EXIT",
        "sudo -u me env A=b nice -n 5 timeout -s KILL 10 xargs -n1 rm -rf",
        "bash -lc 'sh -c \"rm -rf src\"'",
        "python3 -c 'import os; os.system(\"rm -rf src\")'",
        "perl -e 'system(\"rm\", \"-rf\", \"src\")'",
        "ruby -e '`rm -rf src`'",
        "node -e 'require(\"child_process\").execSync(\"rm -rf src\")'",
        "psql -c '\\! rm -rf src'",
        "A=b rm -rf src",
        "nobody-knows rm -rf src",
        "nobody-knows sudo rm -rf src",
        "nobody-knows -x -- rm -rf src",
        "let x=1; [[ -n $(rm -rf src) ]]",
        "for ((i=0; i<3; i++)); do rm -rf src; done",
    ] {
        assert!(!hits(line).is_empty(), "{line}: {:?}", examined(line));
    }
}

#[test]
fn what_cannot_be_parsed_is_said() {
    for line in
        ["echo 'x", "echo \"x", "echo $(x", "(x", "x)", "if x", "case x in", "for", "echo `x", "done", "x &&", "a | "]
    {
        assert!(examined(line).unparsed.is_some(), "{line}");
    }
}

#[test]
fn a_line_that_is_longer_than_any_argument_is_not_parsed() {
    let line = |length: usize| format!("echo {}", "x".repeat(length - 5));
    assert_eq!(examined(&line(1 << 20)).unparsed, None);
    assert_eq!(examined(&line((1 << 20) + 1)).unparsed.as_deref(), Some("it is too long to be judged"));
}

#[test]
fn arguments_as_they_are_need_no_quotes() {
    let argv = ["rm", "-rf", "a b; c"].map(str::to_owned);
    let examined = examine(Command::Argv(&argv), Rules::built_in());
    assert_eq!(examined.hits[0].rule, "files.delete-tree");
    assert_eq!(examined.hits[0].argv, argv);
    let quoted = ["echo", "$(rm -rf src)", "; rm -rf src"].map(str::to_owned);
    assert_eq!(examine(Command::Argv(&quoted), Rules::built_in()), Examined::default());
    assert_eq!(examine(Command::Argv(&[]), Rules::built_in()), Examined::default());
}

#[test]
fn a_team_adds_rules_whose_examples_are_tried() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let own = OwnRule {
        id: "team.migrate".to_owned(),
        prefix: vec![words(&["just"]), words(&["migrate", "seed"])],
        severity: Severity::Block,
        reason: "it changes the shared database".to_owned(),
        examples: words(&["just migrate prod", "sudo just seed"]),
        counterexamples: words(&["just test", "echo just migrate"]),
        ..OwnRule::default()
    };
    let rules = Rules::with(std::slice::from_ref(&own)).unwrap();
    let hit = &examine(Command::Line("cd x && just migrate"), &rules).hits[0];
    assert_eq!((hit.rule.as_str(), hit.severity), ("team.migrate", Severity::Block));
    let tokens = OwnRule { id: "team.prod".to_owned(), tokens: words(&["--prod"]), ..OwnRule::default() };
    let rules = Rules::with(&[tokens]).unwrap();
    assert_eq!(examine(Command::Line("x -a --prod"), &rules).hits[0].rule, "team.prod");
    let refused = |own: OwnRule| Rules::with(&[own]).unwrap_err().to_string();
    let wrong = OwnRule { examples: words(&["just test"]), ..own.clone() };
    assert!(refused(wrong).contains("does not hit its example `just test`"));
    let wrong = OwnRule { counterexamples: words(&["just seed"]), ..own.clone() };
    assert!(refused(wrong).contains("hits what it must not: `just seed`"));
    assert!(refused(OwnRule { prefix: Vec::new(), ..own.clone() }).contains("fits every command"));
    assert!(refused(OwnRule { id: "git.reset".to_owned(), ..own }).contains("no name of its own"));
}

/// Misses and false alarms of other gates.
#[test]
fn the_known_defects_of_other_gates_are_none_here() {
    for line in ["rm -fr /", "rm -r -f /", "git push -f", "find . -delete", "DELETE FROM x;"] {
        assert!(strictness(line) >= Some(Severity::Confirm), "{line}");
    }
    for line in ["echo \"rm -rf is bad\"", "git push --force-with-lease", "password=\"${DB_PASS}\""] {
        assert_eq!(examined(line), Examined::default(), "{line}");
    }
}

/// Inputs that take a careless parser quadratic time, or worse. Each is long enough to notice.
#[test]
fn the_worst_lines_take_linear_time() {
    for piece in [
        "$(",
        "`",
        "(",
        "((",
        "$((",
        "{",
        "{a,",
        "<<A ",
        "<<A\n",
        "'",
        "\"$(",
        "${x:-",
        "[[ ",
        "f() ",
        "if ",
        "case x in a) ",
        "\\",
        "a=$a$a;",
        "a=(${a[@]} ${a[@]} x);",
        "set -- \"$@\" \"$@\" x;",
        "cd ../a;",
        "trap 'x' EXIT;",
        "x|",
        "eval ",
        "sudo ",
        "sh -c ",
        "find . -exec ",
        "xargs ",
        "alias a=a;",
        "rm -rf /;",
        "a[",
        "UPDATE (",
        "DELETE FROM x WHERE ((1=1 OR ",
        "for f in $(x); do ",
        "while read x; do $x; done <<< ",
        "echo \\x41 | ",
        "cmd /c ",
        "&~",
        "\nA\n",
        "d=$(mktemp -d);",
        "-- ",
        "/*",
        "<(",
        "echo x >y;",
        "for x in ",
        "time ",
        "! ",
        "#\n",
        "\u{1f680}",
        "db.x(",
        "ALTER DROP (",
        "=(",
        "@(",
        "->if -\\x}{a,b}ssh h \\git }if find . -exec C:\\",
        "{eval >\\x-xC:\\sh -c git ${C:\\case f() do trap ~trap a=$a$a;A\n((f() [bash ;;;{a,b}alias x=rm >/*git -f$afind . -exec C:\\",
        "\"x={a,b}done --x:-$a- %C:\\find . -exec %a=$a$a;((git <(in ){%f() ~python\n$(((\\<<< --$(drop =do esac*<<A\n~-- \\x((<(-- ]for x in ",
        "> ~sudo C:\\/*&>for x in $'${<<A\nf() psql -c git\nx:-;;f() find . -exec {done]docker run xgit -f\\-git trap $'",
    ] {
        let line = piece.repeat(60_000 / piece.len());
        let first = examined(&line);
        assert!(first.hits.len() <= 65, "{piece}");
    }
}

const WORST: &[&str] = &[
    "git push --force origin main",
    "git reset --hard HEAD~1",
    "rm -r -f src",
    "rm -rf /",
    "kubectl delete namespace prod",
    "docker system prune --all --force",
    "terraform destroy -auto-approve",
    "dd if=x of=/dev/sda",
    "chmod -R 777 .",
    "npm publish",
    "shutdown -h now",
    "aws s3 rm s3://b --recursive",
];

const WRAPPERS: &[&str] = &[
    "sudo ",
    "sudo -u root ",
    "doas ",
    "env A=b ",
    "env -i ",
    "command ",
    "nice -n 10 ",
    "nohup ",
    "timeout 5 ",
    "stdbuf -oL ",
    "setsid ",
    "exec ",
    "/usr/bin/",
    "ssh host ",
    "xargs ",
    "$X ",
    "ionice -c 3 ",
    "strace -f ",
    "busybox ",
    "eval ",
];

const GROUPS: &[(&str, &str)] = &[
    ("", ""),
    ("{ ", "; }"),
    ("( ", " )"),
    ("if true; then ", "; fi"),
    ("! ", ""),
    ("time ", ""),
    ("true && ", ""),
    ("cd x; ", ""),
    ("  \t", "  "),
    ("while x; do ", "; done"),
    ("echo $( ", " )"),
    ("echo \"$( ", " )\""),
    ("x & ", " &"),
    ("f() { ", "; }; f"),
];

#[test]
fn programs_that_run_whatever_follows_them_are_known() {
    let runs = |line: &str| runs_what_follows(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    for open in [
        "",
        "env",
        "env FOO=1",
        "sh",
        "/bin/sh -c",
        "bash -l",
        "sudo",
        "sudo env",
        "npx",
        "npx --yes",
        "npm exec",
        "npm",
        "python3",
        "python -m",
        "node -e",
        "xargs",
        "find .",
        "timeout 5",
        "poetry run",
        "docker run image",
        "git",
    ] {
        assert!(runs(open), "{open}");
    }
    for closed in [
        "cargo",
        "cargo test",
        "npm test",
        "npm run",
        "npx eslint",
        "env cargo",
        "python -m pytest",
        "bash scripts/x.sh",
        "sh -c make",
        "make",
        "ruff",
        "git status",
        "poetry run pytest",
        "timeout 5 make",
        "sudo ls",
        "pytest",
    ] {
        assert!(!runs(closed), "{closed}");
    }
}

#[test]
fn a_program_that_only_the_run_tells_hides_nothing_behind_a_path_or_another_program() {
    for before in [
        "/usr/bin/$X ",
        "./${X} ",
        "/usr/bin/$X $X ",
        "$X /usr/bin/$X ",
        "unknown-wrapper $X ",
        "unknown-wrapper ./$X ",
    ] {
        for worst in WORST {
            let line = format!("{before}{worst}");
            assert!(strictness(&line) >= strictness(worst), "{line}");
        }
    }
    for line in ["unknown-tool $X", "unknown-tool $(date) x", "unknown-tool \"$X\" src", "/opt/$X/bin/tool src"] {
        assert_eq!(strictness(line), None, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn wrappers_never_lower_a_verdict(
        at in 0..WORST.len(),
        wrappers in prop::collection::vec(0..WRAPPERS.len(), 0..4),
        groups in prop::collection::vec(0..GROUPS.len(), 0..3),
    ) {
        let line = wrappers.iter().fold(WORST[at].to_owned(), |line, wrapper| format!("{}{line}", WRAPPERS[*wrapper]));
        let wrap = |line: String, group: &usize| format!("{}{line}{}", GROUPS[*group].0, GROUPS[*group].1);
        let line = groups.iter().fold(line, wrap);
        prop_assert!(strictness(&line) >= strictness(WORST[at]), "{}", line);
    }

    #[test]
    fn quoting_and_white_space_never_lower_a_verdict(at in 0..WORST.len(), kinds in prop::collection::vec(0_u8..5, 8)) {
        let words = WORST[at].split(' ').zip(kinds.iter().cycle()).map(|(word, kind)| match kind {
            0 => word.to_owned(),
            1 => format!("'{word}'"),
            2 => format!("\"{word}\""),
            3 => format!("{}''{}", &word[..1], &word[1..]),
            _ => format!("\\{word} "),
        });
        let line = words.collect::<Vec<_>>().join("  ");
        prop_assert!(strictness(&line) >= strictness(WORST[at]), "{}", line);
    }

    #[test]
    fn a_shell_in_a_shell_never_lowers_a_verdict(at in 0..WORST.len(), depth in 0_usize..5) {
        let mut line = WORST[at].to_owned();
        for _ in 0..depth {
            line = format!("bash -c '{}'", line.replace('\'', "'\\''"));
        }
        prop_assert!(strictness(&line) >= strictness(WORST[at]), "{}", line);
    }

    #[test]
    fn the_order_and_the_spelling_of_options_do_not_matter(
        spelling in prop::sample::select(vec![
            "-rf", "-fr", "-r -f", "-f -r", "-R -f", "--recursive --force", "--force --recursive", "-fR", "-rvf", "--recurs -f",
        ]),
        place in prop::sample::select(vec!["src", "build", "/", "~", "../x", "\"$X\""]),
        after in any::<bool>(),
    ) {
        let line = if after { format!("rm {place} {spelling}") } else { format!("rm {spelling} {place}") };
        prop_assert!(strictness(&line) >= strictness(&format!("rm -rf {place}")), "{}", line);
    }

    #[test]
    fn the_same_line_is_judged_the_same(line in "[ -~\n]{0,80}") {
        prop_assert_eq!(examined(&line), examined(&line));
    }

    #[test]
    fn no_text_makes_it_panic(line in any::<String>(), argv in prop::collection::vec(any::<String>(), 0..4)) {
        examined(&line);
        examine(Command::Argv(&argv), Rules::built_in());
    }

    #[test]
    fn no_mess_of_a_shell_makes_it_panic(pieces in prop::collection::vec(prop::sample::select(vec![
        "$(", ")", "`", "\"", "'", "{", "}", "<<A\n", "A\n", "<<<", "|", "&", ";", ";;", "\n", "((", "))", "${", "x:-", "[[", "]]", "if ",
        "then ", "fi", "for x in ", "do ", "done", "case ", "in ", "esac", "rm -rf ", "git ", "sh -c ", "eval ", "xargs ", "find . -exec ",
        "sudo ", "=", "\\", "$'", "\\x", "é", " ", "a", ">", "<(", "f() ", "#", "{a,b}", "alias x=", "psql -c ", "python -c ", "*", "~",
        "sed 's/é/b/w ", "'nrv.toml'", "open(é, ", "rg -l x", "$(which nrv)", "../", "ed x",
    ]), 0..40)) {
        examined(&pieces.concat());
    }
}
