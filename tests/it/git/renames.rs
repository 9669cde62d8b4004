//! The renames of a history are those of git, and lead to files that exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use nrv::{
    base::error::Code,
    system::git::{Renames, Trace},
};

use crate::support::{chance::Chance, long, site::Site};

fn renames(root: &Path) -> Renames {
    nrv::system::git::renames(root, &BTreeMap::new(), &Arc::new(AtomicBool::new(false))).expect("it can be read")
}

/// Each rename as `old > new`, or `old ~ new` if another file has the old path, `old = new` for a content that stands elsewhere, and
/// `old ! other` for another file of its name.
#[track_caller]
fn check(root: &Path, expected: &[&str]) {
    let shown = renames(root).renamed.into_iter().map(|renamed| {
        let sign = match renamed.trace {
            Trace::Rename => '>',
            Trace::Content => '=',
            Trace::Apart => '!',
            Trace::Replaced => '~',
        };
        format!("{} {sign} {}", renamed.from, renamed.to)
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

fn repository() -> Site {
    let site = Site::empty();
    site.git(&["init", "-q"]);
    site
}

fn text(name: &str) -> String {
    (0..20).map(|n| format!("line {n} of {name}\n")).collect()
}

fn commit(site: &Site) {
    site.git(&["add", "-A"]);
    site.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
}

fn rename(site: &Site, from: &str, to: &str) {
    let to = site.path(to);
    fs::create_dir_all(to.parent().expect("it has one")).expect("a folder");
    fs::rename(site.path(from), to).expect("a move");
}

#[test]
fn without_a_history_there_are_none() {
    let site = Site::empty();
    assert_eq!(renames(&site.root()), Renames::default());
    site.git(&["init", "-q"]);
    site.write("a.md", "a");
    assert_eq!(renames(&site.root()), Renames::default());
}

#[test]
fn chains_lead_to_files_that_exist() {
    let site = repository();
    for name in ["a.md", "gone.md", "kept.md", "first.md"] {
        site.write(name, text(name));
    }
    commit(&site);
    rename(&site, "a.md", "b.md");
    rename(&site, "first.md", "second.md");
    fs::remove_file(site.path("gone.md")).expect("it exists");
    commit(&site);
    site.write("b.md", text("a.md").replace("line 3 ", "another line "));
    rename(&site, "b.md", "c/d.md");
    commit(&site);
    fs::remove_file(site.path("second.md")).expect("it exists");
    commit(&site);
    check(&site.root(), &["a.md > c/d.md", "b.md > c/d.md"]);
    // A path that exists again is not gone.
    site.write("a.md", "new\n");
    commit(&site);
    check(&site.root(), &["a.md ~ c/d.md", "b.md > c/d.md"]);
}

#[test]
fn a_content_that_leaves_its_path_for_another_file_is_followed() {
    let site = repository();
    for name in ["a.md", "b.md", "c.md", "old.md"] {
        site.write(name, text(name));
    }
    site.write("empty.md", "");
    commit(&site);
    rename(&site, "old.md", "x.md");
    commit(&site);
    // Two files are exchanged, one gets a copy and another content, and the first of these had another name.
    site.write("a.md", text("b.md"));
    site.write("b.md", text("a.md"));
    site.write("y.md", text("old.md"));
    site.write("x.md", text("new"));
    site.write("empty.md", text("no longer"));
    site.write("other.md", "");
    commit(&site);
    let both = ["a.md ~ b.md", "b.md ~ a.md"];
    check(&site.root(), &[both[0], both[1], "old.md > x.md", "old.md > y.md", "x.md ~ y.md"]);
    // A path that is gone tells of its last content.
    fs::remove_file(site.path("x.md")).expect("it exists");
    commit(&site);
    check(&site.root(), &both);
}

#[test]
fn a_file_that_moved_out_of_sight_is_not_its_namesake() {
    let site = repository();
    for name in ["docs/a.md", "docs/sub/a.md", "other/b.md"] {
        site.write(name, text(name));
    }
    commit(&site);
    rename(&site, "docs/a.md", "other/c.md");
    commit(&site);
    check(&site.path("docs"), &["a.md ! sub/a.md"]);
    check(&site.root(), &["docs/a.md > other/c.md"]);
    site.git(&["sparse-checkout", "set", "--cone", "docs"]);
    check(&site.root(), &["docs/a.md > other/c.md"]);
}

#[test]
fn moves_that_are_not_committed_count() {
    let site = repository();
    for name in ["a.md", "b.md", "c.md"] {
        site.write(name, text(name));
    }
    site.write(".gitignore", "*.log\n");
    commit(&site);
    rename(&site, "a.md", "x/a.md");
    site.git(&["mv", "b.md", "y.md"]);
    site.write("z.md", text("c.md").replace("line 7 ", "line seven "));
    fs::remove_file(site.path("c.md")).expect("it exists");
    check(&site.root(), &["a.md > x/a.md", "b.md > y.md", "c.md > z.md"]);
    rename(&site, "z.md", "z.log");
    check(&site.root(), &["a.md > x/a.md", "b.md > y.md"]);
}

#[test]
fn equal_contents_are_ambiguous_unless_their_paths_tell() {
    let site = repository();
    for name in ["a/one/index.md", "a/two/index.md", "copied.md", "twice.md"] {
        site.write(name, text(name.split_once('/').map_or(name, |(_, name)| &name[4..])));
    }
    commit(&site);
    rename(&site, "a/one/index.md", "b/one/index.md");
    rename(&site, "a/two/index.md", "b/two/index.md");
    site.write("x.md", text("twice.md"));
    rename(&site, "twice.md", "y.md");
    commit(&site);
    site.write("other.md", text("copied.md"));
    commit(&site);
    fs::remove_file(site.path("copied.md")).expect("it exists");
    commit(&site);
    check(
        &site.root(),
        &[
            "a/one > b/one",
            "a/one/index.md > b/one/index.md",
            "a/two > b/two",
            "a/two/index.md > b/two/index.md",
            "copied.md = other.md",
            "twice.md > x.md",
            "twice.md > y.md",
        ],
    );
}

#[test]
fn a_file_that_existed_beside_a_removed_one_is_another() {
    let site = repository();
    for name in ["one/a.md", "two/A.md", "three/b.md", "five/c.md", "six/x.md"] {
        site.write(name, text(name));
    }
    commit(&site);
    for name in ["one/a.md", "three/b.md", "five/c.md"] {
        fs::remove_file(site.path(name)).expect("it exists");
    }
    commit(&site);
    site.write("four/b.md", text("another"));
    rename(&site, "six/x.md", "six/c.md");
    commit(&site);
    check(&site.root(), &["five/c.md ! six/c.md", "one/a.md ! two/A.md", "six/x.md > six/c.md"]);
}

#[test]
fn folders_move_with_all_of_their_files() {
    let site = repository();
    for name in ["a/x.md", "a/c/y.md", "d/x.md", "d/y.md", "e/x.md", "e/y.md", "f/old.md", "f/x.md"] {
        site.write(name, text(name));
    }
    commit(&site);
    fs::remove_file(site.path("f/old.md")).expect("it exists");
    commit(&site);
    fs::rename(site.path("a"), site.path("b")).expect("a move");
    rename(&site, "d/x.md", "g/x.md");
    rename(&site, "d/y.md", "h/y.md");
    rename(&site, "e/x.md", "i/x.md");
    fs::remove_file(site.path("e/y.md")).expect("it exists");
    rename(&site, "f/x.md", "j/x.md");
    commit(&site);
    let found = renames(&site.root()).renamed;
    let folders: Vec<_> = found.iter().filter(|renamed| !renamed.from.as_str().ends_with(".md")).collect();
    let shown: Vec<String> = folders.iter().map(|renamed| format!("{} > {}", renamed.from, renamed.to)).collect();
    assert_eq!(shown, ["a > b", "a/c > b/c", "f > j"]);
}

#[test]
fn forms_and_empty_files_are_no_renames() {
    let site = repository();
    let form = |about: &str| format!("{}{}", text("a form"), text(about));
    site.write("cats.md", form("cats"));
    site.write("old.md", "");
    site.write("short.md", "short\n");
    site.write("copy.md", "short\n");
    commit(&site);
    for name in ["cats.md", "old.md", "short.md"] {
        fs::remove_file(site.path(name)).expect("it exists");
    }
    site.write("dogs.md", form("dogs"));
    site.write("other.md", "");
    commit(&site);
    check(&site.root(), &[]);
}

#[test]
fn a_folder_of_a_repository_sees_its_own_files() {
    let site = repository();
    site.write("docs/a.md", text("a"));
    site.write("b.md", text("b"));
    commit(&site);
    rename(&site, "docs/a.md", "docs/x.md");
    rename(&site, "b.md", "docs/b.md");
    commit(&site);
    check(&site.path("docs"), &["a.md > x.md"]);
}

#[test]
fn names_that_are_no_text_are_passed_over() {
    let site = repository();
    site.write("a.md", text("a"));
    site.write("b.md", text("b"));
    commit(&site);
    fs::rename(site.path("a.md"), site.root().join(OsStr::from_bytes(b"a\xff.md"))).expect("a move");
    rename(&site, "b.md", "ü b.md");
    commit(&site);
    check(&site.root(), &["b.md > ü b.md"]);
}

#[test]
fn a_history_that_is_cut_off_says_so() {
    let site = repository();
    site.write("a.md", text("a"));
    commit(&site);
    rename(&site, "a.md", "b.md");
    commit(&site);
    rename(&site, "b.md", "c.md");
    commit(&site);
    let url = format!("file://{}", site.root().display());
    let above = site.root().parent().expect("it has one").to_owned();
    let copy = above.join("copy");
    site.git(&["clone", "-q", "--depth", "2", &url, &copy.display().to_string()]);
    let found = renames(&copy);
    assert_eq!(found.renamed.len(), 1);
    assert!(found.remark.expect("it is shallow").contains("shallow"));
    fs::remove_dir_all(site.path(".git/objects")).expect("it exists");
    assert!(renames(&site.root()).remark.is_some());
}

#[test]
fn long_hashes_merges_and_a_stop() {
    let site = Site::empty();
    site.git(&["init", "-q", "--object-format=sha256", "-b", "main"]);
    for name in ["a.md", "b.md"] {
        site.write(name, text(name));
    }
    commit(&site);
    site.git(&["checkout", "-q", "-b", "side"]);
    rename(&site, "a.md", "side/a.md");
    commit(&site);
    site.git(&["checkout", "-q", "main"]);
    rename(&site, "b.md", "main/b.md");
    commit(&site);
    site.git(&["merge", "-q", "-m", "x", "side"]);
    check(&site.root(), &["a.md > side/a.md", "b.md > main/b.md"]);
    let stopped = nrv::system::git::renames(&site.root(), &BTreeMap::new(), &Arc::new(AtomicBool::new(true)));
    assert_eq!(stopped.unwrap_err().code(), Code::Cancelled);
}

/// The renames and removals of each commit, the newest first, by git itself. A rename to another name takes 75 %.
fn log(site: &Site) -> Vec<Vec<(String, Option<String>)>> {
    let format = ["log", "-M50%", "--no-merges", "--topo-order", "--name-status", "-z", "--format=%x01"];
    let text = site.git(&format);
    let commits = text.split('\u{1}').skip(1).map(|commit| {
        let mut words = commit.split('\0').map(|word| word.trim_start_matches('\n')).filter(|word| !word.is_empty());
        let mut found = Vec::new();
        while let Some(word) = words.next() {
            let mut path = || words.next().expect("a path follows").to_owned();
            match word.as_bytes()[0] {
                b'R' => {
                    let (from, to) = (path(), path());
                    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
                    let is_sure = word[1..].parse::<u32>().is_ok_and(|score| score >= 75) || name(&from) == name(&to);
                    found.push((from, is_sure.then_some(to)));
                }
                b'D' => found.push((path(), None)),
                _ => drop(path()),
            }
        }
        found
    });
    commits.collect()
}

/// The present path of each path that is gone, by the history alone.
fn ends(site: &Site) -> BTreeMap<String, String> {
    let (mut next, mut newest) = (BTreeMap::new(), BTreeMap::new());
    for commit in log(site) {
        let ends: Vec<(String, Option<String>)> = commit
            .into_iter()
            .map(|(from, to)| {
                let end = to.and_then(|to| next.get(&to).cloned().unwrap_or(Some(to)));
                (from, end)
            })
            .collect();
        for (from, end) in ends {
            newest.entry(from.clone()).or_insert(end.clone());
            next.insert(from, end);
        }
    }
    let is_there = |path: &str| site.path(path).is_file();
    let ends = newest.into_iter().filter_map(|(from, end)| Some((from, end?)));
    ends.filter(|(from, to)| !is_there(from) && is_there(to)).collect()
}

#[test]
fn random_histories_have_the_renames_that_git_finds() {
    for seed in 0..long::rounds("NRV_GIT_RENAMES", 1, 18) {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9).wrapping_add(1));
        let site = repository();
        let mut files: Vec<String> = Vec::new();
        let mut made = 0;
        for _ in 0..12 {
            for _ in 0..=chance.below(8) {
                step(&site, &mut files, &mut made, &mut chance);
            }
            commit(&site);
        }
        let found = renames(&site.root());
        assert_eq!(found.remark, None);
        let pairs: BTreeSet<(String, String)> =
            found.renamed.iter().map(|renamed| (renamed.from.to_string(), renamed.to.to_string())).collect();
        let ends = ends(&site);
        let missed: Vec<_> =
            ends.iter().filter(|(from, to)| !pairs.contains(&((*from).clone(), (*to).clone()))).collect();
        assert!(missed.is_empty(), "seed {seed}: {missed:?} of {ends:?}\n{found:?}");
        // A path that git leads to one file may be ambiguous, and no other path has a rename.
        let is_file = |renamed: &&nrv::system::git::Renamed| renamed.from.as_str().ends_with(".md");
        let others = found.renamed.iter().filter(is_file).filter(|renamed| renamed.trace == Trace::Rename);
        let others: Vec<_> = others.filter(|renamed| !ends.contains_key(renamed.from.as_str())).collect();
        assert!(others.is_empty(), "seed {seed}: {others:?} not in {ends:?}");
    }
}

/// Adds, moves, edits, moves with edits, or removes a file.
fn step(site: &Site, files: &mut Vec<String>, made: &mut u64, chance: &mut Chance) {
    *made += 1;
    let folder = ["", "a/", "a/b/", "c/"][usize::try_from(chance.below(4)).unwrap_or_default()];
    let name = match chance.below(4) {
        0 => format!("{folder}index-{}.md", chance.below(3)),
        _ => format!("{folder}f{made}.md"),
    };
    let is_new = !site.path(&name).exists();
    if files.len() < 4 || chance.below(4) == 0 && is_new {
        if is_new {
            site.write(
                &name,
                text(&format!("{}", chance.below(30))).repeat(usize::try_from(1 + chance.below(3)).unwrap_or(1)),
            );
            files.push(name);
        }
        return;
    }
    let at = usize::try_from(chance.below(files.len() as u64)).unwrap_or_default();
    match chance.below(5) {
        0 => {
            fs::remove_file(site.path(&files.swap_remove(at))).expect("it exists");
        }
        1 => edit(site, &files[at], chance),
        kind if is_new => {
            rename(site, &files[at], &name);
            files[at] = name;
            if kind == 2 {
                edit(site, &files[at], chance);
            }
        }
        _ => {}
    }
}

fn edit(site: &Site, name: &str, chance: &mut Chance) {
    let text = String::from_utf8(site.read(name)).expect("it is text");
    let most = chance.below(20);
    let lines = text.lines().map(|line| match chance.below(20) < most {
        true => format!("changed {}\n", chance.below(1000)),
        false => format!("{line}\n"),
    });
    site.write(name, lines.collect::<String>());
}
