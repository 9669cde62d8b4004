//! A repository that wants more than a workflow of it: it fails alone, and reaches nothing.

use super::*;

#[test]
fn a_hostile_repository_fails_alone() {
    let fleet = Fleet::new();
    let page = ("x.md", "old.example.com\n");
    fleet.repository("good", &[page]);
    fleet.repository("records", &[page, (".runs/20260101T000000Z-0000/events.jsonl", "{}\n")]);
    fleet.repository("programs", &[page, ("nrv.toml", "[[exec.allow]]\nprefix = ['sh']\n")]);
    fleet.repository("wrong", &[page, ("nrv.toml", "colour = 1\n")]);
    // It asks for more than the fleet's policy gives, and gets less: the stricter of both counts.
    fleet.repository("loose", &[page, ("nrv.toml", "[paths]\nwrite = ['**']\n[confirm]\nmode = 'never'\n")]);
    fleet.repository("strict", &[page, ("nrv.toml", "[paths]\ndeny = ['x.md']\n")]);
    fleet.repository(
        "hooks",
        &[
            page,
            ("hooks/post-checkout", "#!/bin/sh\ntouch ../../escaped\n"),
            (".gitattributes", "*.md filter=evil diff=evil\n"),
        ],
    );
    let secret = fleet.beside("secret.md");
    std::fs::write(&secret, "old.example.com\n").unwrap();
    let links = fleet.beside("repositories").join("links");
    std::fs::create_dir_all(&links).unwrap();
    std::fs::write(links.join("x.md"), page.1).unwrap();
    std::os::unix::fs::symlink(&secret, links.join("out.md")).unwrap();
    std::os::unix::fs::symlink("/dev", links.join("device")).unwrap();
    commit(&links);
    let huge = fleet.beside("repositories").join("huge");
    std::fs::create_dir_all(&huge).unwrap();
    std::fs::write(huge.join("x.md"), page.1).unwrap();
    std::fs::File::create(huge.join("zeros")).unwrap().set_len(64 << 20).unwrap();
    commit(&huge);
    fleet.plan("clone_mb = 16\n").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]);
    let collected = fleet.collected(&[]);
    let found: BTreeMap<String, String> = kinds(&collected).into_iter().collect();
    let code = |name: &str| {
        let rows = collected["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        row["outcome"]["error"]["code"].as_str().unwrap_or_default().to_owned()
    };
    for name in ["good", "hooks", "links", "loose"] {
        assert_eq!(found[name], "changed", "{name}: {collected:#}");
    }
    for (name, expected) in [
        ("records", "invalid_input"),
        ("programs", "not_approved"),
        ("wrong", "invalid_policy"),
        ("strict", "permission_denied"),
        ("huge", "invalid_input"),
    ] {
        assert_eq!((found[name].as_str(), code(name).as_str()), ("failed", expected), "{name}: {collected:#}");
    }
    assert_eq!(std::fs::read(&secret).unwrap(), b"old.example.com\n");
    assert!(!fleet.beside("escaped").exists());
}

/// The ids of the tasks of a plan, by name.
fn ids(fleet: &Fleet) -> BTreeMap<String, String> {
    let plan = String::from_utf8(fleet.site.read("plan.jsonl")).unwrap();
    let tasks = plan.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    tasks.map(|task| (task["name"].as_str().unwrap().to_owned(), task["id"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn a_thing_in_the_store_that_is_no_object_ends_its_own_task_alone() {
    use std::os::unix::fs::symlink;
    let secret = "root:x:0:0";
    for place in ["claims", "done"] {
        let garbage: &[&dyn Fn(&Path)] = &[
            &|path| std::fs::write(path, "garbage").unwrap(),
            &|path| std::fs::write(path, "").unwrap(),
            &|path| std::fs::write(path, "[[[[").unwrap(),
            &|path| std::fs::write(path, b"\xff\xfe").unwrap(),
            &|path| std::fs::write(path, "{}").unwrap(),
            &|path| std::fs::write(path, "[".repeat(1 << 20)).unwrap(),
            &|path| std::fs::File::create(path).unwrap().set_len(8 << 30).unwrap(),
            &|path| symlink("/etc/passwd", path).unwrap(),
            &|path| symlink("/dev/zero", path).unwrap(),
            &|path| symlink("nowhere", path).unwrap(),
            &|path| std::fs::create_dir(path).unwrap(),
            &|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        ];
        for (n, make) in garbage.iter().enumerate() {
            let fleet = Fleet::new();
            for name in ["a", "b"] {
                fleet.repository(name, &[("x.md", "old.example.com\n")]);
            }
            fleet.plan("").exits(0);
            let id = ids(&fleet)["a"].clone();
            let folder = fleet.beside("store").join(place);
            std::fs::create_dir_all(&folder).unwrap();
            make(&folder.join(if place == "claims" { format!("{id}-1") } else { id }));
            let worked = fleet.site.nrv(&["fleet", "work", "plan.jsonl"]);
            assert!(worked.stderr.contains("a: not done now"), "{place} {n}: {worked:?}");
            assert!(worked.stderr.contains("b: 1 file changed"), "{place} {n}: {worked:?}");
            assert!(!worked.stderr.contains(secret), "{worked:?}");
            let collected = fleet.site.nrv(&["fleet", "collect", "plan.jsonl"]);
            match place {
                "claims" => assert_eq!(collected.code, 75, "{collected:?}"),
                _ => drop(collected.exits(4).says("the task `a`")),
            }
        }
    }
}

#[test]
fn a_folder_of_the_store_that_is_a_link_is_not_followed() {
    for name in ["claims", "done", "results", ".unfinished"] {
        let fleet = Fleet::new();
        fleet.repository("a", &[("x.md", "old.example.com\n")]);
        fleet.plan("").exits(0);
        let (store, other) = (fleet.beside("store"), fleet.beside("other"));
        std::fs::create_dir_all(&store).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, store.join(name)).unwrap();
        assert_ne!(fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).code, 0, "{name}");
        assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0, "{name}");
    }
}

/// A fleet of one task that is done, with a patch of its own making beside the genuine record.
fn forged(patch: &dyn Fn(&str) -> String) -> Fleet {
    let fleet = Fleet::new();
    fleet.repository("a", &[("x.md", "see old.example.com\n"), ("y.sh", "#!/bin/sh\n")]);
    fleet.plan(super::delivered::FORM).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let id = ids(&fleet)["a"].clone();
    let (done, object) = (fleet.beside("store/done").join(&id), fleet.beside(&format!("store/results/{id}-1/patch")));
    let old = std::fs::read_to_string(&object).unwrap();
    let new = patch(&old);
    let hash = |text: &str| {
        let file = fleet.beside("hashed");
        std::fs::write(&file, text).unwrap();
        let output = Command::new("sha256sum").arg(file).output().unwrap();
        String::from_utf8(output.stdout).unwrap()[..64].to_owned()
    };
    let outcome = std::fs::read_to_string(&done).unwrap().replace(&hash(&old), &hash(&new));
    std::fs::write(done, outcome).unwrap();
    std::fs::write(object, new).unwrap();
    fleet
}

#[test]
fn a_forged_patch_beside_a_genuine_record_is_found() {
    const ZERO: &str = "0000000000000000000000000000000000000000";
    let evil = format!(
        "diff --git a/evil.sh b/evil.sh\nnew file mode 100755\nindex {ZERO}..{}\n--- /dev/null\n+++ b/evil.sh\n@@ -0,0 +1 @@\n+evil\n",
        "1".repeat(40)
    );
    let cases: &[&dyn Fn(&str) -> String] = &[
        &|_| evil.clone(),
        &|_| String::new(),
        &|old| format!("{old}{evil}"),
        &|old| format!("{evil}{old}"),
        &|old| old.replace("x.md", "y.sh"),
        &|old| old.replace("+++ b/x.md", "+++ b/evil"),
        &|old| old.replace(" 100644\n", " 100755\n"),
        &|old| old.replace("index ", "old mode 100644\nnew mode 100755\nindex "),
        &|old| format!("{old}--- a/y.sh\n+++ b/y.sh\n@@ -1 +1,2 @@\n #!/bin/sh\n+evil\n"),
        &|old| format!("{old}+evil\n").replace("+1 @@", "+1,2 @@"),
        &|old| old.replace("new.example.com", "evil.example.com"),
        &|old| format!("{old}diff --git a/y.sh b/z.sh\nsimilarity index 100%\nrename from y.sh\nrename to z.sh\n"),
        &|old| {
            format!(
                "{old}diff --git a/y.sh b/y.sh\ndeleted file mode 100644\nindex {}..{ZERO}\n--- a/y.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n",
                "1".repeat(40)
            )
        },
        &|old| old.replace("@@ -1 +1 @@", "@@ -1 +1 @@ \n diff"),
    ];
    for (n, forge) in cases.iter().enumerate() {
        let fleet = forged(forge);
        let collected = fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "-o", "out"]);
        assert!(
            collected.code == 4 && collected.stderr.contains("the task `a`: its patch is not that of its record"),
            "{n}: {collected:?}"
        );
        assert!(!fleet.site.path("out/patches/a.patch").exists(), "{n}");
    }
}

#[test]
fn contents_that_only_the_repository_tells_are_compared_before_they_are_pushed() {
    let fleet = forged(&|old| old.replace("+see new.example.com", "+see bad.example.com"));
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    for arguments in [&["--apply", "--approve", &hash][..], &["-o", "out", "--bundles"]] {
        let ran = fleet.site.nrv(&[&["fleet", "collect", "plan.jsonl"], arguments].concat());
        let why = "its patch is not that of its record: `x.md` gets other contents";
        assert!(ran.code != 0 && (ran.stderr.contains(why) || ran.stdout.contains(why)), "{ran:?}");
    }
    let folder = fleet.beside("repositories/a/.git/refs/heads/nrv");
    assert!(!folder.exists());
}
