//! Entries of trust, and their key.
#![expect(clippy::disallowed_methods, reason = "tests make files")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use super::*;
use system::policy::{FILE, Policy};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.folder.path().join("tree")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn store(&self, state: &str) -> Store {
        let state = self.path(state).display().to_string();
        Store::of(&BTreeMap::from([("XDG_STATE_HOME".to_owned(), state)]))
    }

    fn wanted(&self, text: &str) -> Wanted {
        let entrusted = Policy::parse(text, FILE).unwrap().entrusted().unwrap().clone();
        Wanted { root: self.path("tree"), file: FILE.to_owned(), entrusted }
    }
}

const RULE: &str = "[[exec.allow]]\nprefix = ['a']";

#[track_caller]
fn refused(store: &Store, wanted: &Wanted, words: &str) {
    let error = store.refusal(wanted).unwrap();
    assert!(error.code() == Code::PermissionDenied && error.message().contains(words), "{error}");
    assert!(error.hint_text().is_some());
}

#[test]
fn what_was_trusted_is_trusted_until_its_tables_or_its_place_change() {
    let place = Place::new();
    let (store, wanted) = (place.store("state"), place.wanted(RULE));
    refused(&store, &wanted, "no person has trusted it here yet");
    store.remember(&wanted).unwrap();
    assert_eq!(store.refusal(&wanted), None);
    refused(&store, &place.wanted("[[exec.allow]]\nprefix = ['b']"), "have changed since it was trusted");
    refused(&store, &Wanted { file: "other.toml".to_owned(), ..wanted.clone() }, "no person has trusted it");
    fs::rename(place.path("tree"), place.path("moved")).unwrap();
    refused(&store, &Wanted { root: place.path("moved"), ..wanted.clone() }, "no person has trusted it");
    let [entry] = &store.list(&place.path("moved")).unwrap().0[..] else { panic!("one entry") };
    assert_eq!((entry.root.clone(), entry.file.as_str()), (wanted.root.clone(), FILE));
    assert_eq!((store.forget(&entry.root).unwrap(), store.list(&entry.root).unwrap().0.len()), (1, 0));
}

#[test]
fn the_files_are_for_their_owner_alone() {
    let place = Place::new();
    let (store, wanted) = (place.store("state"), place.wanted(RULE));
    store.remember(&wanted).unwrap();
    let folder = place.path("state/nrv/trusted");
    let file = folder.join(name(&wanted.root, FILE));
    assert_eq!(
        (fs::metadata(&folder).unwrap().mode() & 0o777, fs::metadata(&file).unwrap().mode() & 0o777),
        (0o700, 0o600)
    );
    assert_eq!(fs::metadata(folder.join("key")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "the entry and the key");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
    refused(&store, &wanted, "others may write it");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&store, &wanted, "others may write it");
    assert!(store.remember(&wanted).is_err());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(store.refusal(&wanted), None);
    fs::rename(&file, folder.join("elsewhere")).unwrap();
    symlink("elsewhere", &file).unwrap();
    refused(&store, &wanted, "can't be read");
}

const STRANGER: &str = "was not made by `nrv trust` on this machine";

#[test]
fn entries_that_nrv_did_not_make_here_trust_nothing() {
    type Forge = fn(&Place, &str) -> String;
    let forged: &[(Forge, &str)] = &[
        (|_, text| text.replace(r#""version": 2"#, r#""version": 1"#), "an earlier version of nrv trusted it"),
        (|_, text| text.replace("\"trusted_at\": \"2", "\"trusted_at\": \"1"), STRANGER),
        (|_, text| text.replace("\"code\": \"", "\"code\": null, \"x\": \""), "no person has trusted it"),
        (|_, text| text[..text.find(",\n  \"code\"").unwrap()].to_owned() + "}", STRANGER),
        (|_, text| text.replace(r#""code": "#, r#""code": "abc", "code": "#), "no person has trusted it"),
        (
            |place, text| {
                let other = Sha256::of(place.path("tree").display().to_string().as_bytes());
                let at = text.find("\"code\": \"").unwrap() + 9;
                format!("{}{other}{}", &text[..at], &text[at + 64..])
            },
            STRANGER,
        ),
        (
            |place, text| {
                let other = place.wanted("[[exec.allow]]\nprefix = ['b']").entrusted.sha256.to_string();
                text.replace(&place.wanted(RULE).entrusted.sha256.to_string(), &other)
            },
            STRANGER,
        ),
    ];
    for (n, (forge, words)) in forged.iter().enumerate() {
        let place = Place::new();
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        store.remember(&wanted).unwrap();
        let file = place.path("state/nrv/trusted").join(name(&wanted.root, FILE));
        let text = forge(&place, &fs::read_to_string(&file).unwrap());
        fs::write(&file, text).unwrap();
        refused(&store, &wanted, words);
        store.remember(&wanted).unwrap();
        assert_eq!(store.refusal(&wanted), None, "case {n}: trusted anew");
    }
}

#[test]
fn an_entry_of_another_workspace_or_file_is_not_ones_own() {
    let place = Place::new();
    let (store, wanted) = (place.store("state"), place.wanted(RULE));
    fs::create_dir(place.path("other")).unwrap();
    let other = Wanted { root: place.path("other"), ..wanted.clone() };
    store.remember(&wanted).unwrap();
    let folder = place.path("state/nrv/trusted");
    let text = fs::read_to_string(folder.join(name(&wanted.root, FILE))).unwrap();
    let target = folder.join(name(&other.root, FILE));
    fs::write(&target, &text).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    refused(&store, &other, "no person has trusted it here yet");
    let root = |wanted: &Wanted| format!("\"{}\"", wanted.root.display());
    fs::write(&target, text.replace(&root(&wanted), &root(&other))).unwrap();
    refused(&store, &other, STRANGER);
    let (own, others) = store.list(&place.path("nowhere")).unwrap();
    assert_eq!((own.len(), others.len()), (1, 1));
    assert!(others[0].contains(STRANGER) && others[0].contains("other"), "{others:?}");
    assert_eq!(store.forget(&other.root).unwrap(), 1);
}

#[test]
fn a_folder_that_is_copied_or_moved_trusts_nothing() {
    for moves in [false, true] {
        let place = Place::new();
        let (store, wanted) = (place.store("elsewhere"), place.wanted(RULE));
        store.remember(&wanted).unwrap();
        fs::create_dir_all(place.path("state/nrv")).unwrap();
        let (from, to) = (place.path("elsewhere/nrv/trusted"), place.path("state/nrv/trusted"));
        if moves {
            fs::rename(&from, &to).unwrap();
        } else {
            fs::create_dir(&to).unwrap();
            for file in fs::read_dir(&from).unwrap() {
                let file = file.unwrap().path();
                fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
            }
        }
        refused(&place.store("state"), &wanted, STRANGER);
        // A copy at the same place has another key, by its inode.
        if moves {
            fs::rename(&to, &from).unwrap();
            assert_eq!(store.refusal(&wanted), None);
            fs::copy(from.join("key"), from.join("copy")).unwrap();
            fs::rename(from.join("copy"), from.join("key")).unwrap();
            refused(&store, &wanted, STRANGER);
        }
    }
}

#[test]
fn a_folder_to_which_a_link_leads_is_another_one() {
    let place = Place::new();
    let (store, wanted) = (place.store("elsewhere"), place.wanted(RULE));
    store.remember(&wanted).unwrap();
    symlink(place.path("elsewhere"), place.path("state")).unwrap();
    refused(&place.store("state"), &wanted, STRANGER);
    // Whoever keeps the folder behind a link trusts it by that name.
    place.store("state").remember(&wanted).unwrap();
    assert_eq!(place.store("state").refusal(&wanted), None);
    refused(&store, &wanted, STRANGER);
}

#[test]
fn a_key_that_others_may_know_or_that_is_none_trusts_nothing() {
    type Spoil = fn(&Path);
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for bits in [0o601, 0o604, 0o602, 0o610, 0o640, 0o620, 0o644, 0o666, 0o777] {
        let place = Place::new();
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        store.remember(&wanted).unwrap();
        let key = place.path("state/nrv/trusted/key");
        mode(&key, bits);
        refused(&store, &wanted, "others may read or write it");
        assert!(store.remember(&wanted).is_err() && store.list(&place.path("x")).is_err());
        mode(&key, 0o400);
        assert_eq!(store.refusal(&wanted), None, "its owner alone may read it");
    }
    let spoilt: &[(Spoil, &str)] = &[
        (|key| fs::write(key, "").unwrap(), "does not have 32 bytes"),
        (|key| fs::write(key, [7; 31]).unwrap(), "does not have 32 bytes"),
        (|key| fs::write(key, [7; 33]).unwrap(), "does not have 32 bytes"),
        (|key| fs::rename(key, key.with_extension("x")).and_then(|()| symlink("key.x", key)).unwrap(), "it is a link"),
        (|key| fs::remove_file(key).and_then(|()| symlink("/dev/zero", key)).unwrap(), "it is a link"),
        (|key| fs::remove_file(key).and_then(|()| symlink("nowhere", key)).unwrap(), "it is a link"),
        (|key| fs::remove_file(key).and_then(|()| fs::create_dir(key)).unwrap(), "not a plain file"),
        (
            |key| {
                fs::remove_file(key).unwrap();
                rustix::fs::mknodat(rustix::fs::CWD, key, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
            },
            "not a plain file",
        ),
    ];
    for (spoil, words) in spoilt {
        let place = Place::new();
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        store.remember(&wanted).unwrap();
        let key = place.path("state/nrv/trusted/key");
        spoil(&key);
        refused(&store, &wanted, words);
        let error = store.remember(&wanted).unwrap_err();
        assert!(error.message().contains(words) && error.hint_text().unwrap().contains("remove it"), "{error}");
    }
}

#[test]
fn without_its_key_every_entry_asks_again() {
    let place = Place::new();
    let (store, wanted) = (place.store("state"), place.wanted(RULE));
    let other = Wanted { file: "other.toml".to_owned(), ..wanted.clone() };
    store.remember(&wanted).unwrap();
    store.remember(&other).unwrap();
    fs::remove_file(place.path("state/nrv/trusted/key")).unwrap();
    refused(&store, &wanted, "is gone, by which nrv knows its entries");
    refused(&store, &other, "is gone, by which nrv knows its entries");
    assert_eq!(store.list(&place.path("x")).unwrap().1.len(), 2);
    store.remember(&wanted).unwrap();
    assert_eq!(store.refusal(&wanted), None);
    refused(&store, &other, STRANGER);
    assert_eq!(store.forget(&wanted.root).unwrap(), 2);
}

#[test]
fn the_key_of_another_user_trusts_nothing() {
    let place = Place::new();
    let (store, wanted) = (place.store("state"), place.wanted(RULE));
    store.remember(&wanted).unwrap();
    if std::os::unix::fs::chown(place.path("state/nrv/trusted/key"), Some(65534), None).is_err() {
        return need::skip("users");
    }
    refused(&store, &wanted, "belongs to another user");
}

#[test]
fn of_many_that_make_the_key_at_once_one_wins() {
    for _ in 0..20 {
        let place = Place::new();
        let files: Vec<String> = (0..8).map(|n| format!("{n}.toml")).collect();
        let barrier = std::sync::Barrier::new(files.len());
        std::thread::scope(|scope| {
            for file in &files {
                scope.spawn(|| {
                    let (store, wanted) = (place.store("state"), place.wanted(RULE));
                    barrier.wait();
                    store.remember(&Wanted { file: file.clone(), ..wanted }).unwrap();
                });
            }
        });
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        for file in files {
            assert_eq!(store.refusal(&Wanted { file, ..wanted.clone() }), None);
        }
        assert_eq!(fs::read_dir(place.path("state/nrv/trusted")).unwrap().count(), 9, "nothing is left over");
    }
}

#[test]
fn a_state_folder_in_the_workspace_trusts_nothing() {
    let place = Place::new();
    let wanted = place.wanted(RULE);
    refused(&place.store("tree/state"), &wanted, "lies in the workspace");
    assert!(place.store("tree/state").remember(&wanted).is_err());
    fs::create_dir_all(place.path("state")).unwrap();
    fs::create_dir_all(place.path("tree/nrv/trusted")).unwrap();
    symlink(place.path("tree/nrv"), place.path("state/nrv")).unwrap();
    refused(&place.store("state"), &wanted, "lies in the workspace");
    assert!(place.store("state").remember(&wanted).is_err());
    fs::remove_dir(place.path("tree/nrv/trusted")).unwrap();
    refused(&place.store("state"), &wanted, "lies in the workspace");
}

#[test]
fn the_folder_of_another_user_trusts_nothing() {
    let place = Place::new();
    let (store, wanted) = (place.store("state"), place.wanted(RULE));
    store.remember(&wanted).unwrap();
    if std::os::unix::fs::chown(place.path("state/nrv/trusted"), Some(65534), None).is_err() {
        return need::skip("users");
    }
    refused(&store, &wanted, "belongs to another user");
}

#[test]
fn folders_of_the_environment_are_trusted_with_all_below() {
    let place = Place::new();
    let wanted = place.wanted(RULE);
    let store = |paths: &str| Store::of(&BTreeMap::from([(PATHS.to_owned(), paths.to_owned())]));
    let folder = place.path("").display().to_string();
    assert_eq!(store(&format!("/nowhere:{folder}")).refusal(&wanted), None);
    assert_eq!(store(&place.path("tree").display().to_string()).refusal(&wanted), None);
    for paths in ["", ":", ".", "tree", "/nowhere", &place.path("tre").display().to_string()] {
        refused(&store(paths), &wanted, "no person has trusted it");
    }
}
