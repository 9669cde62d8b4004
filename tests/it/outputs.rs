//! The files that users name for outputs: written where they are named, and never through a link or into a pipe that somebody planted.
#![expect(clippy::disallowed_methods, reason = "tests plant links and pipes")]

use std::{fs, os::unix::fs::symlink};

use crate::support::site::{MIGRATE, Site};

/// The commands that write a file which the user names, without its name. `cli::arguments` lists their options.
fn writing() -> Vec<Vec<&'static str>> {
    let script = MIGRATE[1..].iter().copied().filter(|word| *word != "--yes");
    let plan = ["plan"].into_iter().chain(script).chain(["-o"]).collect();
    let traced = [&MIGRATE[..], &["--dry-run", "--trace"]].concat();
    vec![
        plan,
        traced,
        vec!["runs", "report", "last", "-o"],
        vec!["runs", "export", "last", "-o"],
        vec!["definitions"],
        vec!["fleet", "plan", "fleet.toml", "-o"],
    ]
}

#[test]
fn no_output_follows_a_link_or_waits_for_a_reader() {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    let mine = site.root().parent().unwrap().join("mine");
    fs::create_dir(&mine).unwrap();
    let secret = mine.join("secret");
    for command in writing() {
        fs::write(&secret, "mine").unwrap();
        for name in ["link", "dangling", "folder", "pipe", "inner"] {
            let _ = fs::remove_file(site.path(name)).and_then(|()| fs::remove_dir_all(site.path(name)));
        }
        symlink(&secret, site.path("link")).unwrap();
        symlink(mine.join("new"), site.path("dangling")).unwrap();
        symlink(&mine, site.path("folder")).unwrap();
        symlink("site", site.path("inner")).unwrap();
        let (mode, kind) = (rustix::fs::Mode::from(0o600), rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, site.path("pipe"), kind, mode, 0).unwrap();
        for place in ["link", "dangling", "folder/new", "folder/deep/new", "inner/new", "pipe", "./site/../link"] {
            let ran = site.nrv(&[&command[..], &[place]].concat());
            assert_ne!(ran.code, 0, "{command:?} {place}: {ran:?}");
        }
        assert_eq!(fs::read(&secret).unwrap(), b"mine", "{command:?}");
        assert_eq!(fs::read_dir(&mine).unwrap().count(), 1, "{command:?}");
    }
}

#[test]
fn devices_and_the_pipes_of_a_shell_are_written_into() {
    let site = Site::new(1);
    site.migrate(&[]).exits(0);
    for place in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/2"] {
        site.nrv(&["runs", "report", "last", "-o", place]).exits(0);
    }
    site.nrv(&["runs", "report", "last", "-o", "/dev/full"]).exits(1);
}
