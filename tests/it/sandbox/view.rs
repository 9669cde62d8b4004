//! The files that a program sees: its stage in place of the tree, private folders, and none of other users.

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::Path,
    sync::atomic::AtomicBool,
};

use nrv::{
    base::error::{Code, Error},
    system::process::sandbox::{Confine, Laid, Launch, Laying, NotStarted, State, launch},
};

use super::{Cage, nrv, said, seen};

/// Changes of a folder that may be read and of the program itself, none of which may work.
const CHANGES_OF_WHAT_IS_READ: &str = "for way in 'echo x > read/b' 'echo x >> read/a' 'touch read/a' 'chmod 666 read/a' \
    'rm -f read/a' 'mv read/a write/c' 'mkdir read/d' 'touch program' 'chmod 777 program' 'rm -f program'; \
    do (eval \"$way\") && echo \"$way worked\"; done";

#[test]
fn what_a_program_writes_goes_to_its_stage() {
    // Also where the tree lies beneath a folder that the program has a private one in place of.
    for cage in [Cage::new(), Cage::in_folder(Path::new("/var/tmp")), Cage::in_folder(Path::new("/dev/shm"))] {
        let ended = cage.run("cat file; echo new > file; mkdir -p a/b; echo c > a/b/c; cat file; pwd; exit 3");
        let root = cage.path("tree");
        assert_eq!((said(&ended), ended.status), (format!("old\nnew\n{}\n", root.display()), Some(3)));
        assert_eq!(ended.confinement.missing, Vec::<String>::new());
        assert_eq!((ended.confinement.state, ended.confinement.staged), (State::Enforced, true));
        assert_eq!(fs::read_to_string(cage.path("tree/file")).unwrap(), "old\n");
        assert_eq!(fs::read_to_string(cage.path("upper/file")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(cage.path("upper/a/b/c")).unwrap(), "c\n");
        assert!(!cage.path("tree/a").exists());
    }
}

#[test]
fn a_stage_holds_what_is_proposed_and_hides_what_is_hidden() {
    let cage = Cage::new();
    for (path, text) in [(".runs/r/blob", "proposed\n"), (".git/hooks/a", "a\n"), ("target/x", "x\n"), ("gone", "")] {
        let path = cage.path("tree").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let blob = cage.path("tree/.runs/r/blob");
    let laid = |path: &str, what| Laid { path: path.to_owned(), what };
    let cage = cage.with(|launch| {
        let stage = launch.stage.as_mut().unwrap();
        stage.proposed = vec![
            laid("file", Laying::File(blob.clone(), 0o644)),
            laid("new/tool", Laying::File(blob, 0o755)),
            laid("link", Laying::Link("file".to_owned())),
            laid("gone", Laying::Gone),
        ];
        stage.through = vec!["target".to_owned()];
        stage.read_only = vec![".git".to_owned()];
        stage.hidden = vec![".runs".to_owned()];
    });
    let line = "cat file link new/tool; test -x new/tool || echo no tool; test -e gone && echo there; ls -A .runs; \
                cat .git/hooks/a; echo y > target/y; echo z > .git/z || echo kept; echo z > .runs/z || echo kept";
    for (cage, staged) in [(&cage, State::Enforced), (&cage.same().unconfined(), State::Unavailable)] {
        let ended = cage.run(line);
        let said = said(&ended);
        assert!(said.starts_with(&format!("{}a\nkept\nkept\n", "proposed\n".repeat(3))), "{said}");
        assert_eq!(ended.confinement.state, staged);
        assert_eq!(fs::read_to_string(cage.path("tree/target/y")).unwrap(), "y\n");
        assert_eq!(fs::read_to_string(cage.path("tree/file")).unwrap(), "old\n");
        for path in [".git/z", ".runs/z", "new", "link"] {
            assert!(!cage.path("tree").join(path).exists(), "{path}");
        }
        assert!(cage.path("tree/gone").exists());
    }
}

#[test]
fn a_program_is_told_from_its_output_and_status_only() {
    let cage = Cage::new();
    let ended = cage.run("echo $0 $#; echo $TMPDIR; umask; ls /proc/self/fd | wc -l; cat; tty 2>&1; exec 2>/dev/null; ( : > /dev/tty ) || kill -9 $$");
    assert_eq!((ended.status, ended.signal), (None, Some(9)), "{}", said(&ended));
    assert_eq!(said(&ended), "sh 0\n/tmp\n0022\n4\nnot a tty\n");
}

#[test]
fn a_program_reads_what_it_is_given() {
    let cage = Cage::new();
    let input = cage.path("input");
    fs::write(&input, "given\n").unwrap();
    let cage = cage.with(|launch| launch.stdin = Some(input));
    assert_eq!(said(&cage.run("cat")), "given\n");
}

#[test]
fn what_may_be_read_or_written_is_seen_wherever_it_lies() {
    // The second one is a file system of its own, as the first one is on many machines.
    for place in ["/tmp", "/dev/shm"] {
        let other = tempfile::tempdir_in(place).unwrap();
        for name in ["read", "write"] {
            fs::create_dir(other.path().join(name)).unwrap();
            fs::write(other.path().join(name).join("a"), name).unwrap();
        }
        let program = other.path().join("program");
        fs::copy("/bin/sh", &program).unwrap();
        let before = fs::metadata(&program).unwrap();
        let cage = Cage::new().with(|launch| {
            launch.read = vec![other.path().join("read")];
            launch.write = vec![other.path().join("write")];
        });
        let line =
            format!("cd {}; cat read/a write/a; echo x > write/b; {CHANGES_OF_WHAT_IS_READ}", other.path().display());
        let order = Launch { program: program.clone(), ..cage.order(&line) };
        let ended = launch(&order, &nrv(), &AtomicBool::new(false), &mut |_| Ok(())).unwrap();
        assert_eq!((said(&ended).get(..9), ended.confinement.state), (Some("readwrite"), State::Enforced), "{ended:?}");
        assert!(!said(&ended).contains("worked"), "{}", said(&ended));
        assert!(other.path().join("write/b").exists() && !other.path().join("read/b").exists());
        let text = fs::read_to_string(other.path().join("read/a")).unwrap();
        let now = fs::metadata(&program).unwrap();
        assert_eq!((text.as_str(), now.mode(), now.mtime()), ("read", before.mode(), before.mtime()));
    }
}

#[test]
fn without_a_stage_the_tree_is_there_and_is_not_written() {
    for cage in [Cage::new(), Cage::in_folder(Path::new("/var/tmp"))] {
        let cage = cage.with(|launch| {
            launch.stage = None;
            launch.read.push(launch.cwd.clone());
        });
        let ended = cage.run("cat file; echo new > file; touch file; chmod 600 file; pwd");
        let said = said(&ended);
        assert!(said.starts_with(&format!("old\n{}\n", cage.path("tree").display())), "{said}");
        assert_eq!(said.matches("Read-only file system").count(), 3, "{said}");
        assert_eq!((ended.confinement.state, ended.confinement.staged), (State::Enforced, false));
    }
}

#[test]
fn a_link_in_the_place_of_a_folder_that_is_written_through_is_refused() {
    let cage = Cage::new();
    let outside = cage.path("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, cage.path("tree/target")).unwrap();
    let cage = cage.with(|launch| launch.stage.as_mut().unwrap().through = vec!["target".to_owned()]);
    let refused = cage.try_run("true").unwrap_err();
    assert!(matches!(&refused, NotStarted::Failed(error) if error.message().contains("target")), "{refused:?}");
}

#[test]
fn a_program_that_can_not_run_is_told_with_what_to_do() {
    let cage = Cage::new();
    let tree = cage.path("tree");
    let script = |name: &str, text: &str, mode: u32| {
        fs::write(tree.join(name), text).unwrap();
        fs::set_permissions(tree.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    script("unreadable", "#!/bin/sh\n", 0o644);
    script("interpreter", "#!/no/such/thing\n", 0o755);
    script("garbage", "\u{1}\u{2}garbage", 0o755);
    let wanted = [
        ("unreadable", "executable"),
        ("interpreter", "interpreter"),
        ("garbage", "first line"),
        ("absent", "[exec] read"),
    ];
    for cage in [cage.same(), cage.same().without_namespaces(), cage.unconfined()] {
        for (name, hint) in wanted {
            let mut order = cage.order("");
            (order.program, order.args) = (tree.join(name), Vec::new());
            order.read.push(tree.clone());
            cage.fresh();
            let refused = launch(&order, &nrv(), &AtomicBool::new(false), &mut |_| Ok(())).unwrap_err();
            let NotStarted::Failed(error) = &refused else { panic!("{refused:?}") };
            assert!(error.hint_text().unwrap().contains(hint), "{name}: {error:?}");
            assert!(error.message().contains(name), "{error:?}");
        }
    }
}

#[test]
fn a_program_that_is_a_link_stays_one_in_a_private_folder_that_shows_it() {
    let cage = Cage::in_folder(Path::new("/var/tmp"));
    for folder in ["tools/bin", "tools/lib"] {
        fs::create_dir_all(cage.path(folder)).unwrap();
    }
    let [program, file] = ["tools/bin/tool", "tools/lib/tool.sh"].map(|path| cage.path(path));
    fs::write(&file, "#!/bin/sh\nreadlink \"$0\"\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../lib/tool.sh", &program).unwrap();
    let run = |order: &Launch| {
        cage.fresh();
        launch(order, &nrv(), &AtomicBool::new(false), &mut |_| Ok(())).map(|ended| said(&ended)).ok()
    };
    let shown = vec![cage.path("tools")];
    let mut order = Launch { program, args: Vec::new(), read: shown, ..cage.order("") };
    assert_eq!(run(&order).unwrap(), "../lib/tool.sh\n");
    // Its file alone is shown where nothing shows the folder.
    order.read.clear();
    assert_eq!(run(&order).unwrap(), "");
}

#[test]
fn an_interpreter_out_of_reach_is_named_with_its_folder() {
    // The first line of a script can't name a program with a space in its path.
    let cage = Cage::in_folder(&seen(|folder| !folder.as_os_str().as_bytes().contains(&b' ')));
    let home = cage.path("python");
    fs::create_dir_all(home.join("bin")).unwrap();
    fs::copy("/bin/sh", home.join("bin/python")).unwrap();
    symlink(home.join("bin/python"), cage.path("link")).unwrap();
    let program = cage.path("tree/tool");
    fs::write(&program, format!("#!{} -u\n", cage.path("link").display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let order = Launch { program, args: Vec::new(), ..cage.order("") };
    cage.fresh();
    let refused = launch(&order, &nrv(), &AtomicBool::new(false), &mut |_| Ok(())).unwrap_err();
    let NotStarted::Failed(error) = &refused else { panic!("{refused:?}") };
    let place = home.display();
    let hint = format!("its interpreter is `{place}/bin/python`; name `{place}` in `[exec] read`");
    assert!(error.hint_text().unwrap().starts_with(&hint), "{error:?}");
}

#[test]
fn nothing_starts_that_the_host_does_not_want_started() {
    for cage in [Cage::new(), Cage::new().without_namespaces(), Cage::new().unconfined()] {
        let written = cage.path("tree/written");
        let cage = cage.with(|launch| launch.write = vec![launch.cwd.clone()]);
        let mut refuse = |_: &_| Err(Error::new(Code::Blocked, "no"));
        cage.fresh();
        let refused =
            launch(&cage.order("echo x > written"), &nrv(), &AtomicBool::new(false), &mut refuse).unwrap_err();
        assert!(matches!(&refused, NotStarted::Failed(error) if error.code() == Code::Blocked), "{refused:?}");
        assert!(!written.exists());
    }
}

#[test]
fn what_is_missing_is_told_and_is_too_little_where_all_is_required() {
    let cage = Cage::new().without_namespaces();
    let ended = cage.run("true");
    assert_eq!((ended.confinement.state, ended.confinement.staged), (State::Partial, false));
    assert_eq!(ended.confinement.missing.len(), 1, "{:?}", ended.confinement);
    let cage = cage.with(|launch| launch.confine = Confine::Require);
    let refused = cage.try_run("true").unwrap_err();
    assert!(matches!(&refused, NotStarted::Unconfined(missing) if missing.len() == 1), "{refused:?}");

    let cage = Cage::new().with(|launch| launch.without_namespaces = true);
    let refused = cage.try_run("true").unwrap_err();
    assert!(matches!(&refused, NotStarted::NoStage(_)), "{refused:?}");

    let cage = Cage::new().with(|launch| launch.confine = Confine::Require);
    assert_eq!(cage.run("true").confinement.state, State::Enforced);
}
