//! Set-id programs, which run with the rights of their owner: no confined program makes one, in its view or in a folder that stays.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{Cage, said};

/// Ways to make `s/p` one, in the folder `s` that is the real one.
const WAYS: &[&str] = &[
    "cp /usr/bin/id s/p; chmod 4755 s/p",
    "cp /usr/bin/id s/p; chmod u+s s/p",
    "cp /usr/bin/id s/p; chmod 2755 s/p",
    "cp /usr/bin/id s/p; chmod 6711 s/p; chmod =rwxs s/p",
    "cp /usr/bin/id s/p; cd s; chmod u+s ./p",
    "install -m 4755 /usr/bin/id s/p",
    "cp -p $(command -v su) s/p; cp -a $(command -v mount) s/p",
    "cp $(command -v su) q; chmod u+s q; mv q s/p; mv s/p s/q",
    "ln $(command -v su) s/p",
    "umask 0; perl -e 'syscall(OPENAT, -100, my $p1 = \"s/p\", 0101, 04777)'",
    "umask 0; perl -e 'syscall(OPENAT, -100, my $p1 = \"s/p\", 0102 | 02000000 | 04000, 07777)'",
    "perl -e 'sysopen(F, \"s/p\", 0101, 06755); chmod(04755, *F)'",
    "perl -e 'open(F, \">\", \"s/p\"); syscall(FCHMOD, fileno(F), 04755); syscall(FCHMOD, fileno(F), 0xffff0000 | 04755)'",
    "cp /usr/bin/id s/p; perl -e 'syscall(FCHMODAT, -100, my $p1 = \"s/p\", 04755)'",
    "cp /usr/bin/id s/p; perl -e 'syscall(FCHMODAT2, -100, my $p1 = \"s/p\", 04755, 0)'",
    "cp /usr/bin/id s/p; perl -e 'open(F, \"<\", \"s/p\"); syscall(FCHMODAT2, fileno(F), my $p1 = \"\", 04755, 0x1000)'",
    "cp /usr/bin/id s/p; perl -e 'open(F, \"<\", \"s/p\"); chmod(04755, \"/proc/self/fd/\" . fileno(F))'",
    "umask 0; perl -e 'syscall(MKNODAT, -100, my $p1 = \"s/p\", 0104755, 0)'",
    "umask 0; perl -e 'syscall(OPENAT2, -100, my $p1 = \"s/p\", my $p2 = pack(\"QQQ\", 0101, 04755, 0), 24)'",
    "perl -e '$f = syscall(OPENAT, -100, my $p1 = \"s\", 020200002, 04755); syscall(LINKAT, -100, my $p1 = \"/proc/self/fd/$f\", -100, my $p2 = \"s/p\", 0x400)'",
    "mkdir -m 6755 s/d; mkdir s/d; chmod g+s s/d; perl -e 'syscall(MKDIRAT, -100, my $p1 = \"s/e\", 02755)'",
    "setcap cap_setuid+ep s/p; cp /usr/bin/id s/p; perl -e 'syscall(SETXATTR, my $p1 = \"s/p\", my $p2 = \"security.capability\", \
     my $p3 = pack(\"V5\", 0x02000001, 128, 0, 0, 0), 20, 0)'",
    "cp /usr/bin/id p; chmod 755 p; tar cf - --mode=4755 p | (cd s; tar xpf -)",
    "python3 -c 'import os; os.open(\"s/p\", os.O_CREAT | os.O_WRONLY, 0o4755); os.chmod(\"s/p\", 0o4755)'",
    "printf x > s/was; perl -e 'open(F, \"+<\", \"s/was\"); print F \"changed\"'",
];

const X86_ONLY: &[&str] = &[
    "umask 0; perl -e 'syscall(2, my $p1 = \"s/p\", 0101, 04777)'",
    "umask 0; perl -e 'syscall(85, my $p1 = \"s/p\", 04777)'",
    "umask 0; perl -e 'syscall(133, my $p1 = \"s/p\", 0104755, 0)'",
    "cp /usr/bin/id s/p; perl -e 'syscall(90, my $p1 = \"s/p\", 04755); syscall(90 | 0x40000000, my $p1 = \"s/p\", 04755)'",
];

/// A cage with a folder `s` that is written as it is.
fn place() -> Cage {
    let cage = Cage::new();
    fs::create_dir(cage.path("tree/s")).unwrap();
    cage.with(|launch| launch.stage.as_mut().unwrap().through = vec!["s".to_owned()])
}

/// The names of system calls as their numbers.
fn numbered(way: &str) -> String {
    let names = [
        ("OPENAT2", libc::SYS_openat2),
        ("OPENAT", libc::SYS_openat),
        ("FCHMODAT2", 452),
        ("FCHMODAT", libc::SYS_fchmodat),
        ("FCHMOD", libc::SYS_fchmod),
        ("MKNODAT", libc::SYS_mknodat),
        ("MKDIRAT", libc::SYS_mkdirat),
        ("LINKAT", libc::SYS_linkat),
        ("SETXATTR", libc::SYS_setxattr),
    ];
    names.iter().fold(way.to_owned(), |way, (name, number)| {
        way.replace(&format!("syscall({name},"), &format!("syscall({number},"))
    })
}

/// Everything below a folder that runs with its owner's rights, and files that were given capabilities.
fn set_id(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        let mut value = [0; 64];
        let is_capable = rustix::fs::lgetxattr(entry.path(), "security.capability", &mut value).is_ok();
        if !metadata.is_symlink() && metadata.permissions().mode() & 0o6000 != 0 || is_capable {
            found.push(format!("{} {:o}", entry.path().display(), metadata.permissions().mode()));
        }
    }
    found
}

#[test]
fn no_confined_program_makes_a_set_id_file() {
    let x86 = if cfg!(target_arch = "x86_64") { X86_ONLY } else { &[] };
    let mut plain = place();
    let is_plain = plain.become_plain_user();
    for cage in [Some(place()), is_plain.then_some(plain)].into_iter().flatten() {
        for cage in [cage.same(), cage.without_namespaces()] {
            for way in WAYS.iter().chain(x86) {
                let folder = cage.path("tree/s");
                fs::remove_dir_all(&folder).unwrap();
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("was"), "").unwrap();
                std::os::unix::fs::chown(&folder, Some(rustix::fs::stat(cage.path("tree")).unwrap().st_uid), None)
                    .unwrap();
                let (_, ended) = cage.run_apart(&format!("( {} ) > /dev/null 2>&1; echo end", numbered(way)));
                assert!(ended["stdout"].as_str().unwrap_or_default().ends_with("end\n"), "{way}: {ended}");
                assert_eq!(set_id(&folder), Vec::<String>::new(), "{way}");
                assert_eq!(set_id(&cage.path("upper")), Vec::<String>::new(), "{way}");
            }
        }
    }
}

#[test]
fn the_ways_are_ways_without_a_sandbox() {
    let cage = place().unconfined();
    let mut worked = 0;
    for way in WAYS {
        fs::remove_dir_all(cage.path("tree/s")).unwrap();
        fs::create_dir(cage.path("tree/s")).unwrap();
        cage.run(&format!("( {} ) > /dev/null 2>&1", numbered(way)));
        worked += usize::from(!set_id(&cage.path("tree/s")).is_empty());
    }
    assert!(worked >= 15, "{worked} of {} ways", WAYS.len());
}

/// `open` without `O_CREAT` has no mode, whatever stands in its place; and sticky bits are no set-id bits.
#[test]
fn other_modes_are_set_as_usual() {
    let line = "umask 0; perl -e 'syscall(OPENAT, -100, my $p1 = \"file\", 0, 06777) >= 0 or die $!; \
                syscall(OPENAT, -100, my $p1 = \"new\", 0101, 0750) >= 0 or die $!; mkdir(\"d\", 01777) or die $!; \
                chmod(0711, \"file\") == 1 or die $!; chmod(01755, \"d\") == 1 or die $!' && stat -c %a file new d";
    for cage in [place(), place().without_namespaces()] {
        let ended = cage.run(&numbered(line));
        assert_eq!(said(&ended), "711\n750\n1755\n");
    }
}

#[test]
fn programs_do_without_what_is_absent() {
    let line = "mkdir a && echo x > a/f && cp -a a b && tar cf t.tar a && mkdir c && tar xf t.tar -C c && install -D -m 755 a/f \
                i/j/k && git init -q g && (cd g && echo x > f && git add f && git -c user.name=a -c user.email=b commit -qm c \
                && git status --porcelain) && rm -r b c && find . -name f | wc -l && perl -MFile::Temp -e 'File::Temp->new' && \
                python3 -c 'import tempfile, shutil, subprocess; d = tempfile.mkdtemp(); shutil.copytree(\"a\", d + \"/a\"); \
                subprocess.run([\"true\"], check=True)' && echo fine";
    for cage in [Cage::new(), Cage::new().without_namespaces()] {
        let ended = cage.run(line);
        assert_eq!(said(&ended), "2\nfine\n");
    }
}
