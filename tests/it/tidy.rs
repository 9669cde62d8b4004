//! Rules of the repository that the compiler does not check, each a test of its own.
//!
//! A new edge in the tables below is a design change: the commit that makes it says why.

mod circles;
mod crates;
mod figures;
mod host;
mod source;

use std::{collections::BTreeSet, sync::LazyLock};

use nrv::{base::error::Code, gate::GATES, system::schema::Schema};

use self::source::Source;
use crate::repository;

/// Plain data. Each may use those before it.
const BASE: &[&str] = &[
    "named",
    "error",
    "toml_file",
    "language",
    "pulse",
    "hash",
    "json",
    "text",
    "path",
    "change",
    "diff",
    "seed",
    "tokens",
    "batch",
    "micro",
    "call",
    "frame",
    "verdict",
    "output",
    "regular",
    "span",
];

/// Crates that parse formats and that adapters name themselves, each with the side that may. All others are no
/// dependencies of `adapter`.
const PARSERS: &[(&str, &str)] = &[("boon", "audit"), ("comrak", "audit"), ("htmlize", "format")];

/// The owners of one effect each. They know the base and these three, not each other.
const SHARED: &[&str] = &["clock", "plain_file", "threads"];
const OWNERS: &[&str] =
    &["git", "language_server", "lock", "mcp_client", "net", "policy", "process", "schema", "signature", "workspace"];

/// Typed request in, typed reply or change set out. They don't know each other.
const SERVICES: &[&str] = &["apply", "assertion", "code", "edit", "exec", "prompt"];

/// Crates of one room: Cargo says which crates use them, and the table which rooms of `script` and of the face do.
const WHOLE: &[&str] = &["format", "audit", "record", "gate", "llm", "adapter", "host", "flow"];

/// The other rooms, from below, each with the rooms that it may use beside the base and whole crates.
const ROOMS: &[(&str, &[&[&str]])] = &[
    // It has to recognise the files that it is about to replace.
    ("journal", &[SHARED, &["workspace"]]),
    // Objects in a folder or, by requests, in a bucket.
    ("store", &[SHARED, &["net"]]),
    // The chain, its packs and heads, and events as types, which hold what confined a program.
    ("record", &[SHARED, &["process"]]),
    ("host", &[SHARED, OWNERS, &["journal"], SERVICES]),
    // Protocols that make calls: a script makes them in its process, a program at the door of a run.
    ("flow", &[&["schema"]]),
    // It runs in the script's process, which reaches nothing: only pure functions. Adapters of users get the readers of formats.
    ("guest", &[&["format", "audit", "schema", "flow"]]),
    // The pages on the interface of scripts, made from the doc comments of the bindings: it parses and runs nothing.
    ("reference", &[&["guest"]]),
    ("worker", &[SHARED]),
    // Repositories elsewhere: their addresses, and git under bounds.
    ("remote", &[&["exec", "git", "plain_file", "process"]]),
    // Packs from elsewhere: git fetches them into a private folder, and their files become changes.
    ("pack", &[&["exec", "git", "process", "workspace", "remote"]]),
    ("script", &[SHARED, &["mcp_client", "policy", "process", "schema", "worker", "pack", "host"]]),
    // Runs scripts in private copies of the inputs of cases, and compares trees. It returns the changes of an update as data.
    ("cases", &[SHARED, &["policy", "workspace", "host", "script"]]),
    // Adapters of users: a worker's process proposes, and the verifier's process runs the other functions by itself.
    ("own", &[SHARED, &["policy", "process", "schema", "workspace", "adapter", "exec", "guest", "script"]]),
    // Calls of the door for programs that have no script. It parses the plans that `llm` brings them.
    ("toolkit", &[&["workspace", "apply", "edit", "llm", "host"]]),
    // From a run's record to a text and a page: it reads, removes secrets, and performs nothing.
    ("report", &[&["record", "gate", "host"]]),
    // The server of a protocol: a request becomes a call of a run that a thread holds.
    ("mcp", &[SHARED, &["net", "policy", "schema", "record", "gate", "host", "flow", "report", "script"]]),
    // Tasks over many repositories: runs in private clones, and their results in a store.
    (
        "fleet",
        &[
            SHARED,
            &[
                "policy",
                "process",
                "store",
                "workspace",
                "record",
                "exec",
                "gate",
                "host",
                "report",
                "remote",
                "script",
            ],
        ],
    ),
    (
        "cli",
        &[
            SHARED,
            OWNERS,
            &["store", "record", "gate", "llm", "adapter"],
            SERVICES,
            &["reference", "host", "flow", "fleet", "mcp", "pack", "remote", "report", "script", "cases", "own"],
        ],
    ),
    // It becomes a process of nrv's own, before there is a command line: one that runs a script, verifies, or checks a commitment.
    ("entry", &[&["process", "assertion", "adapter", "guest", "own"]]),
    // The public modules of the library, which only export.
    ("modules", &[SERVICES, &["adapter", "flow", "gate", "llm", "entry", "toolkit"]]),
];

/// The files that may use the methods that `clippy.toml` bans, outside tests.
const CHOKE_POINTS: &[&str] = &[
    "face/cli/",
    "face/entry.rs",
    "record/folder.rs",
    // Private copies outside of every workspace.
    "script/cases/copy.rs",
    "service/adapter/record_files.rs",
    // Private folders outside of the tree, and programs of the system; the tree itself is read through `workspace`.
    "service/exec/",
    "system/clock.rs",
    // Git's own files, and files of the tree that are compared with a commit; nothing of them is kept.
    "system/git/",
    "system/journal/entry.rs",
    "system/lock/mod.rs",
    "system/net/",
    // Files of records and leases, and of git, which may come from another user.
    "system/plain_file.rs",
    "system/process/",
    // Objects of a fleet's store, outside of every workspace.
    "system/store/",
];

/// Crates that reach the system without a method that `clippy.toml` bans, each with the rooms that may name it outside tests.
const SYSTEM_CRATES: &[(&str, &[&str])] = &[
    // It reads repositories, and could start the programs in their configuration.
    ("axum", &["mcp"]),
    ("gix", &["git"]),
    ("hyper", &["mcp"]),
    ("hyper_util", &["mcp"]),
    ("ignore", &["workspace"]),
    ("landlock", &["process"]),
    ("libc", &["process"]),
    ("nix", &["process"]),
    ("object_store", &["store"]),
    ("ring", &["net", "signature"]),
    // It speaks a protocol on streams that `net` or the program opened.
    ("rmcp", &["mcp", "mcp_client"]),
    // `exec` asks for the attributes by which an overlay marks its folders; `record` and `lock` name a flag of `open`, and `plain_file`
    // opens files without waiting for them.
    ("rustix", &["cli", "exec", "guest", "journal", "lock", "plain_file", "process", "record", "workspace"]),
    ("seccompiler", &["process"]),
    ("signal_hook", &["cli"]),
    ("tokio", &["mcp", "mcp_client", "store"]),
    ("tokio_rustls", &["mcp"]),
    ("tokio_util", &["mcp"]),
    ("ureq", &["net"]),
    ("walkdir", &["journal", "lock", "record"]),
];

/// Crates that the design builds on; the sources use every one of them.
const FOUNDATIONS: &[&str] = &[
    "clap",
    "crossbeam",
    "globset",
    "jsonschema",
    "regex",
    "rhai",
    "serde",
    "serde_json",
    "sha2",
    "similar",
    "tracing",
    "walkdir",
];

const MAX_FILE_LINES: usize = 600;
const MAX_FUNCTION_LINES: usize = 60;

/// Every file below `src/`.
fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let source = |path: &String| {
            let below = path.strip_prefix("src/").filter(|below| below.ends_with(".rs"))?;
            Some(Source::new(below, &repository::text(path).expect("sources are UTF-8")))
        };
        repository::files().iter().filter_map(source).collect()
    });
    &SOURCES
}

/// Module paths whose files only tests compile.
fn test_modules(sources: &[Source]) -> BTreeSet<Vec<String>> {
    sources.iter().flat_map(Source::test_modules).collect()
}

/// The rooms that a room may use; none if the room has no place.
fn allowed(room: &str) -> Option<Vec<&'static str>> {
    if let Some(at) = BASE.iter().position(|base| *base == room) {
        return Some(BASE[..at].to_vec());
    }
    let beyond: &[&[&str]] = match ROOMS.iter().find(|(name, _)| *name == room) {
        Some((_, beyond)) => beyond,
        None if SHARED.contains(&room) => &[],
        None if OWNERS.contains(&room) => &[SHARED],
        None if SERVICES.contains(&room) => &[SHARED, OWNERS],
        None if WHOLE.contains(&room) => &[SHARED, OWNERS],
        None => return None,
    };
    Some([&[BASE], beyond].concat().concat())
}

#[track_caller]
fn none(broken: &[String]) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn a_room_uses_only_the_rooms_below_it() {
    let mut broken = Vec::new();
    for source in sources() {
        let room = source.room();
        // The sentence of a floor, and the list of its rooms.
        if matches!(room, "lib" | "main" | "base" | "system" | "service" | "face") {
            continue;
        }
        let Some(allowed) = allowed(room) else {
            broken.push(format!("src/{}: the room `{room}` has no place in `tests/it/tidy.rs`", source.path));
            continue;
        };
        for (at, path) in source.paths() {
            let other = source::room_of(path.iter().map(String::as_str));
            let has_rooms = ["script/", "face/"].iter().any(|floor| source.path.starts_with(floor));
            let is_left_to_cargo = WHOLE.contains(&other) && !has_rooms;
            if other != room && !is_left_to_cargo && !allowed.contains(&other) {
                broken.push(format!("src/{}:{}: `{room}` must not use `{other}`", source.path, source.line(at)));
            }
        }
    }
    none(&broken);
}

#[test]
fn the_table_of_rooms_has_no_cycle() {
    let order: Vec<&str> = [BASE, SHARED, OWNERS, &["journal", "store", "record"], SERVICES]
        .concat()
        .into_iter()
        .chain(["format", "audit", "gate", "llm", "adapter"])
        .chain(ROOMS[3..].iter().map(|room| room.0))
        .collect();
    let unique: BTreeSet<&str> = order.iter().copied().collect();
    assert_eq!(unique.len(), order.len(), "a room stands twice in the table");
    for (at, room) in order.iter().enumerate() {
        for other in allowed(room).expect("every room of the table has a place") {
            assert!(order[..at].contains(&other), "`{room}` may use `{other}`, which is not below it");
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    let files = repository::files();
    // The files in a case of a script are data.
    let rust = files.iter().filter(|path| path.ends_with(".rs") && !path.contains(".test/"));
    let silent = |path: &&String| !repository::text(path).is_some_and(|text| text.starts_with("//! "));
    none(&rust.filter(silent).map(|path| format!("{path} does not begin with `//! `")).collect::<Vec<_>>());
}

#[test]
fn files_and_functions_stay_readable() {
    let mut broken = Vec::new();
    for path in repository::files().iter().filter(|path| path.ends_with(".rs")) {
        let lines = repository::text(path).unwrap_or_default().lines().count();
        if lines > MAX_FILE_LINES {
            broken.push(format!("{path} has {lines} lines"));
        }
    }
    let sources = sources();
    let tests = test_modules(sources);
    for source in sources.iter().filter(|source| !tests.contains(&source.module())) {
        for function in source.functions().iter().filter(|function| function.lines > MAX_FUNCTION_LINES) {
            let (name, lines) = (&function.name, function.lines);
            broken.push(format!("src/{}:{}: `{name}` has {lines} lines", source.path, function.line));
        }
    }
    none(&broken);
}

/// An adapter uses both sides: its verifier reads by those of `audit`, and the rest of it by those of `format`.
#[test]
fn verifiers_share_nothing_with_the_side_that_proposes() {
    let sources = sources();
    let tests = test_modules(sources);
    let mut broken = Vec::new();
    for source in sources.iter().filter(|source| !tests.contains(&source.module())) {
        let module = source.module();
        let module = module.iter().map(String::as_str).collect::<Vec<_>>();
        let (side, adapter) = match module[..] {
            ["service", "adapter", adapter, "verify", ..] => ("audit", adapter),
            ["service", "adapter", adapter, ..] => ("format", adapter),
            _ => continue,
        };
        for (parser, its_side) in PARSERS {
            if side != *its_side && names_crate(source, parser).is_some() {
                broken.push(format!("src/{}: names `{parser}`, which reads for `{its_side}`", source.path));
            }
        }
        let home = ["service", "adapter", adapter].map(str::to_owned);
        let declared = sources.iter().find(|other| other.module() == home);
        let declared = declared.map(Source::declared).unwrap_or_default();
        let proposing = |name: &String| declared.contains(name) && name != "params" && name != "verify";
        let is_foreign = |path: &[String]| match side {
            "audit" if path.starts_with(&home) => path.get(3).is_some_and(proposing),
            _ => path.first().is_some_and(|first| matches!(first.as_str(), "format" | "audit") && first != side),
        };
        for (at, path) in source.paths().iter().filter(|(_, path)| is_foreign(path)) {
            broken.push(format!("src/{}:{}: names `{}`", source.path, source.line(*at), path.join("::")));
        }
        let words = source.code.split(|c: char| !c.is_alphanumeric() && c != '_');
        if side == "audit" && words.into_iter().any(|word| word == "propose") {
            broken.push(format!("src/{}: names `propose`", source.path));
        }
    }
    none(&broken);
}

#[test]
fn nothing_is_left_for_later() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")];
    let mut broken = Vec::new();
    for path in repository::files().iter().filter(|path| is_written_by_hand(path)) {
        let Some(text) = repository::text(path) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                broken.push(format!("{path}:{}: `{word}`", number + 1));
            }
        }
    }
    none(&broken);
}

#[test]
fn no_file_names_a_folder_of_somebodys_machine() {
    let folders =
        regex::Regex::new(concat!(r"(^|[^\w.$)}\]>*-])/(wor", r"k\b|roo", r"t\b|hom", r"e/)")).expect("a pattern");
    let mut broken = Vec::new();
    for path in repository::files().iter().filter(|path| is_written_by_hand(path)) {
        let Some(text) = repository::text(path) else { continue };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| folders.is_match(line)) {
            broken.push(format!("{path}:{}: {}", number + 1, line.trim()));
        }
    }
    none(&broken);
}

/// False for files that are fetched, generated, or data of tests and examples.
fn is_written_by_hand(path: &str) -> bool {
    let is_data = path.starts_with("tests/") && !path.ends_with(".rs")
        || path.starts_with("examples/")
        || path.starts_with("src/service/gate/destructive/rules/");
    !is_data && !path.starts_with("LICENSE-") && !path.ends_with(".lock")
}

#[test]
fn registries_are_sorted() {
    assert!(GATES.windows(2).all(|pair| pair[0].name() < pair[1].name()));
    let registry = regex::Regex::new(r"const (\w+): &\[&dyn [\w:]+\] =\s*&\[([^\]]*)\]").expect("a pattern");
    let mut n_registries = 0;
    for source in sources() {
        for found in registry.captures_iter(&source.code) {
            n_registries += 1;
            let items: Vec<&str> = found[2].split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
            assert!(items.is_sorted(), "src/{}: `{}` is not sorted: {items:?}", source.path, &found[1]);
        }
    }
    assert!(n_registries > 0, "no registry was found: the pattern is out of date");
}

#[test]
fn every_shipped_schema_compiles() {
    for path in repository::files().iter().filter(|path| path.starts_with("schemas/")) {
        let text = repository::text(path).expect("schemas are UTF-8");
        let schema = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Schema::compile(&schema).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

#[test]
fn every_error_code_is_documented_with_its_exit_code() {
    let page = repository::text("docs/formats.md").expect("docs are UTF-8");
    let missing = Code::ALL.iter().map(|code| format!("| `{code}` | {} |", code.exit_code()));
    none(
        &missing
            .filter(|row| !page.contains(row))
            .map(|row| format!("docs/formats.md has no row {row}"))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_sources_use_every_crate_that_the_design_builds_on() {
    let sources = sources();
    let unused = FOUNDATIONS.iter().filter(|name| !sources.iter().any(|source| names_crate(source, name).is_some()));
    none(&unused.map(|name| format!("no file uses `{name}`")).collect::<Vec<_>>());
}

#[test]
fn banned_methods_are_used_at_their_choke_points_only() {
    let sources = sources();
    let tests = test_modules(sources);
    let mut broken = Vec::new();
    for source in sources.iter().filter(|source| !tests.contains(&source.module())) {
        let is_choke_point = CHOKE_POINTS.iter().any(|point| source.path.starts_with(point));
        for (at, _) in source.code.match_indices("disallowed_methods") {
            if !is_choke_point && !source.is_test(at) {
                broken.push(format!("src/{}:{}: is no choke point", source.path, source.line(at)));
            }
        }
        for (at, _) in source.code.match_indices("allow(").filter(|(at, _)| source.code[..*at].ends_with('[')) {
            broken.push(format!("src/{}:{}: write `expect` for `allow`", source.path, source.line(at)));
        }
    }
    none(&broken);
}

#[test]
fn crates_that_reach_the_system_stay_in_their_rooms() {
    let sources = sources();
    let tests = test_modules(sources);
    let mut broken = Vec::new();
    for source in sources.iter().filter(|source| !tests.contains(&source.module())) {
        for (name, rooms) in SYSTEM_CRATES.iter().filter(|(_, rooms)| !rooms.contains(&source.room())) {
            if let Some(at) = names_crate(source, name) {
                broken.push(format!("src/{}:{}: names `{name}`, {rooms:?} may", source.path, source.line(at)));
            }
        }
    }
    none(&broken);
}

/// A bare name would be looked for in the user's `PATH`, and so perhaps in the current folder.
#[test]
fn no_program_is_started_by_its_name_alone() {
    let bare = regex::Regex::new(r#"(Program::Path|Command::new|Native::new)\(\s*"[^/"]"#).expect("a pattern");
    let sources = sources();
    let tests = test_modules(sources);
    let mut broken = Vec::new();
    let is_test = |source: &&Source| tests.iter().any(|test| source.module().starts_with(test));
    for source in sources.iter().filter(|source| !is_test(source)) {
        let text = repository::text(&format!("src/{}", source.path)).expect("sources are UTF-8");
        for found in bare.find_iter(&text).filter(|found| !source.is_test(found.start())) {
            broken.push(format!("src/{}:{}: {}", source.path, source.line(found.start()), found.as_str()));
        }
    }
    none(&broken);
}

/// The standard library's `spawn` panics where the user or the machine has no more threads.
#[test]
fn no_thread_is_started_without_a_look_at_whether_there_is_one() {
    let panics =
        regex::Regex::new(r"thread::spawn\(|scope\.spawn\(|thread::scope\(\|\w+\| \w+\.spawn\(").expect("a pattern");
    let sources = sources();
    let tests = test_modules(sources);
    let mut broken = Vec::new();
    for source in sources.iter().filter(|source| !tests.contains(&source.module())) {
        for found in panics.find_iter(&source.code).filter(|found| !source.is_test(found.start())) {
            broken.push(format!("src/{}:{}: use `threads`", source.path, source.line(found.start())));
        }
    }
    none(&broken);
}

/// The line where a file first names a crate outside tests.
fn names_crate(source: &Source, name: &str) -> Option<usize> {
    let path = format!("{name}::");
    let begins =
        |at: usize| !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'));
    source.code.match_indices(&path).map(|(at, _)| at).find(|at| begins(*at) && !source.is_test(*at))
}
