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
