//! Compares our application of patches with git's: damaged patches on changed files give git's result, or a refusal with a
//! reason from the table below. `NRV_FUZZ_SECONDS` sets the duration, and `NRV_FUZZ_SEED` the seed.
#![expect(clippy::disallowed_methods, reason = "the judge is a program and works on files")]

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{mutation::Random, oracle::git, *};

/// Files by path: mode and bytes. A link's bytes are its target.
type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// The reasons for which we may refuse a patch that git takes, each by words of the message.
const REASONS: &[(&str, &str)] = &[
    ("ambiguous place", "are at several other places"),
    ("no context at all", "without any context"),
    ("hunks not in order", "an earlier hunk"),
    ("hunks not in order", "not behind the hunk before"),
    ("lines after a hunk might be lost", "and looks like a line of it"),
    ("header of a hunk that is none", "looks like the header of a hunk"),
    ("header of a hunk that is none", "is no header of a hunk"),
    ("names without hunks", "looks like a line of a hunk"),
    ("names without hunks", "but no hunk follows"),
    ("two names", ", and the next line `"),
    ("`dev/null` as a file", "says that the file comes or goes"),
    ("two names", "without saying that it is a rename"),
    ("rename to itself", "rename of a file to itself"),
    ("no line feed in the middle", "said to be the last of the file"),
    ("no line feed in the middle", "says twice that a line has no line feed"),
    ("no line feed in the middle", "could be without a line feed"),
    ("no line feed in the middle", "last line that has no line feed"),
    // Git compares as many bytes as the hunk has, so that a last line without its end matches any line that begins like it.
    ("last line is another line's beginning", "without a line feed and is"),
    ("header that contradicts itself", "name a file that does not exist"),
    ("half a rename", "of which one name is missing"),
    ("name of a folder", "names the folder"),
    ("odd mode", "names no mode of a file"),
    ("path that is never accepted", "the path `"),
    ("binary file", "binary"),
    ("creates what exists", ", which exists"),
    ("file that is not said to be new", "which does not exist"),
];

/// Applies the parts one after the other, all or nothing. A rename or copy reads the original file, as in git.
fn ours(before: &Tree, patch: &[u8]) -> Result<Tree, Error> {
    let options = ParseOptions { strip: Strip::Exactly(1), recount: false, prose: Prose::Skip };
    let patch = parse(patch, &options)?;
    let mut after = before.clone();
    for part in &patch.files {
        let is_move = matches!(part.operation, Operation::Rename { .. } | Operation::Copy { .. });
        let source = part.source().and_then(|path| if is_move { before } else { &after }.get(path.as_str()));
        let side = source.map(|(mode, bytes)| Side { bytes, mode: *mode });
        let patched = part.apply(side, Placement::Unique)?;
        if let Operation::Rename { from: path, .. } | Operation::Delete { path } = &part.operation {
            after.remove(path.as_str());
        }
        if let (Some(path), Some((bytes, mode))) = (part.target(), patched.after) {
            if part.source() != Some(path) && after.contains_key(path.as_str()) {
                return Err(reject::exists(part, path));
            }
            after.insert(path.to_string(), (mode, bytes));
        }
    }
    Ok(after)
}

fn put(root: &Path, tree: &Tree) {
    for (path, (mode, bytes)) in tree {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if *mode == 0o120_777 {
            symlink(String::from_utf8_lossy(bytes).as_ref(), &file).unwrap();
        } else {
            fs::write(&file, bytes).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(*mode)).unwrap();
        }
    }
}

fn take(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if meta.is_dir() {
            take(root, &path, tree);
        } else if meta.is_symlink() {
            tree.insert(name, (0o120_777, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()));
        } else {
            tree.insert(name, (meta.permissions().mode() & 0o777, fs::read(&path).unwrap()));
        }
    }
}

/// Git's resulting tree, or its message.
fn theirs(base: &Path, before: &Tree, patch: &[u8]) -> Result<Tree, String> {
    let (root, file) = (base.join("tree"), base.join("patch"));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir(&root).unwrap();
    put(&root, before);
    fs::write(&file, patch).unwrap();
    let output = git(&root, ["apply", "-p1", "--whitespace=nowarn", file.to_str().unwrap()]);
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut after = Tree::new();
    take(&root, &root, &mut after);
    Ok(after)
}

/// The mode as far as git keeps it.
fn seen(tree: &Tree) -> Tree {
    tree.iter().map(|(path, (mode, bytes))| (path.clone(), (mode & 0o120_100, bytes.clone()))).collect()
}

/// The verdict on a case, or the difference.
fn judge(base: &Path, before: &Tree, patch: &[u8]) -> Result<String, String> {
    let (ours, theirs) = (ours(before, patch), theirs(base, before, patch));
    match (ours, theirs) {
        (Err(_), Err(_)) => Ok("both refuse".to_owned()),
        (Ok(ours), Ok(theirs)) if seen(&ours) == seen(&theirs) => Ok("the same bytes".to_owned()),
        (Ok(ours), Ok(theirs)) => Err(format!("git makes {theirs:?}\nwe make {ours:?}")),
        (Ok(ours), Err(said)) => Err(format!("git refuses: {said}\nwe make {ours:?}")),
        (Err(error), Ok(theirs)) => match REASONS.iter().find(|(_, words)| error.message().contains(words)) {
            Some((reason, _)) => Ok(format!("refused: {reason}")),
            None => Err(format!("git makes {theirs:?}\nwe say {error}")),
        },
    }
}

#[expect(clippy::print_stderr, reason = "a long run says what it has seen")]
fn report(counts: &BTreeMap<String, u64>, seed: u64) {
    let all: u64 = counts.values().sum();
    let accepted: u64 = counts.iter().filter(|(verdict, _)| *verdict != "both refuse").map(|(_, count)| count).sum();
    eprintln!("seed {seed}: {all} cases, git accepts {} %", 100 * accepted / all.max(1));
    counts.iter().for_each(|(verdict, count)| eprintln!("{count:9} {verdict}"));
}

#[test]
fn we_apply_as_git_does_or_are_stricter_with_a_reason() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("NRV_FUZZ_SECONDS");
    let seed = number("NRV_FUZZ_SEED").unwrap_or(1);
    let folder =
        ["/dev/shm"].iter().find_map(|folder| TempDir::new_in(folder).ok()).unwrap_or_else(|| TempDir::new().unwrap());
    let mut random = Random::new(seed);
    let (mut counts, mut unexplained) = (BTreeMap::new(), Vec::new());
    let start = Instant::now();
    let goes_on = |done: u64| seconds.map_or(done < 300, |seconds| start.elapsed() < Duration::from_secs(seconds));
    let mut done = 0;
    while goes_on(done) {
        let (before, patch) = mutation::case(&mut random);
        let verdict = judge(folder.path(), &before, &patch).unwrap_or_else(|what| {
            let shown = patch.escape_ascii().to_string().replace("\\n", "\n");
            unexplained.push(format!("case {done} of seed {seed}\n{shown}\n{before:?}\n{what}"));
            "not explained".to_owned()
        });
        *counts.entry(verdict).or_insert(0) += 1;
        done += 1;
    }
    if seconds.is_some() {
        report(&counts, seed);
    }
    assert!(unexplained.is_empty(), "{}", unexplained[..unexplained.len().min(9)].join("\n\n"));
    let accepted: u64 = counts.iter().filter(|(verdict, _)| *verdict != "both refuse").map(|(_, count)| count).sum();
    assert!(10 * accepted >= 3 * done, "git has to accept three cases in ten: {counts:?}");
}
