//! Ways out of the sandbox: each is denied, to the administrator and to a plain user.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
};

use serde_json::{Value, json};

use super::Cage;

/// Ways out by files. `$OUT` is a folder beside the tree with a file `o`; `link` and `.git` are in the tree.
const FILES: &[&str] = &[
    "echo x > $OUT/o",
    "echo x >> $OUT/o",
    "echo x > $OUT/new",
    "mkdir $OUT/new",
    "stat $OUT/o && rm -f $OUT/o",
    "mv $OUT/o $OUT/p",
    "mv $OUT/o here",
    "mv file $OUT/p",
    "ln $OUT/o hard && echo x > hard",
    "ln -s $OUT/o soft && echo x > soft",
    "echo x > link",
    "truncate -s 0 link",
    "cat $OUT/o",
    "cat link",
    "ls $OUT",
    "ls $HOME",
    "echo x > $HOME/.profile",
    "echo x > /etc/nrv-escape",
    "echo x > /usr/nrv-escape",
    "mknod pipe c 1 3",
    "mknod disk b 254 0 && cat disk",
    "mknod /dev/shm/disk b 8 0",
    "head -c 1 $DISK",
    "cat /proc/1/mem",
    "cat /proc/1/environ",
    "readlink /proc/1/fd/0",
    "cat /proc/1/fd/0",
    "cat /proc/$PPID/environ",
    "ls /proc/1/root/",
    "echo x > /proc/1/root$OUT/o",
    "echo x > /proc/self/root$OUT/o",
    "echo x > /proc/$PPID/root$OUT/o",
    "echo x > /proc/1/cwd/../outside/o",
    "echo nrv > /proc/sys/kernel/domainname",
    "echo 1 > /proc/sys/vm/drop_caches",
    "echo h > /proc/sysrq-trigger",
    "echo 0 > /sys/kernel/profiling",
    "echo x > /dev/kmsg",
    "echo x > /dev/tty",
    "mount -t tmpfs none /tmp",
    "mount -o remount,rw /",
    "mount --bind $OUT /tmp",
    "umount /proc",
    "umount -l .",
    "unshare -Ur true",
    "unshare -m true",
    "unshare -p true",
    "chroot / true",
    "nsenter -t 1 -m true",
    "kill -9 $HOST",
    "kill -9 -$HOST",
    "test \"$(./own)\" = 0 && test $USER_ID != 0",
    "cp /usr/bin/id mine; chmod u+s mine; test \"$(./mine -u)\" != $USER_ID",
    "setpriv --reuid 1 true",
    "renice -n -5 $$",
    "hostname nrv",
];

/// Ways out that only a view of the machine's files closes.
const TIMES: &[&str] = &[
    "chmod 600 $OUT/o",
    "chmod u+s $OUT/o",
    "touch $OUT/o",
    "touch -c /usr/bin/env && test $USER_ID = 0",
    "chown $USER_ID $OUT/o",
    "echo x > .git/hooks/pre-commit",
    "chmod 700 .git/hooks",
    "mv .git git",
    "rm -r .git",
    "ls /run/nothing /run/* && ! test -d /run",
    "test -e /proc/$HOST/stat && test $HOST -gt 300",
];

/// System calls that are refused, with their arguments in Perl.
const CALLS: &[(libc::c_long, &str)] = &[
    (libc::SYS_ptrace, "0, 0, 0, 0"),
    (libc::SYS_process_vm_readv, "1, 0, 0, 0, 0, 0"),
    (libc::SYS_process_vm_writev, "1, 0, 0, 0, 0, 0"),
    (libc::SYS_keyctl, "0, -4, 1"),
    (libc::SYS_add_key, "0, 0, 0, 0, -4"),
    (libc::SYS_io_uring_setup, "1, 0"),
    (libc::SYS_bpf, "0, 0, 0"),
    (libc::SYS_userfaultfd, "0"),
    (libc::SYS_perf_event_open, "0, 0, -1, -1, 0"),
    (libc::SYS_open_by_handle_at, "-100, 0, 0"),
    (libc::SYS_unshare, "0x10000000"),
    (libc::SYS_setns, "0, 0"),
    (libc::SYS_clone, "0x10000011, 0, 0, 0, 0"),
    (libc::SYS_clone, "0x20000011, 0, 0, 0, 0"),
    (libc::SYS_mount, "0, 0, 0, 0, 0"),
    (libc::SYS_fsopen, "0, 0"),
    (libc::SYS_socket, "1, 1, 0"),
    (libc::SYS_socket, "2, 1, 0"),
    (libc::SYS_socket, "2, 2, 0"),
    (libc::SYS_socket, "2, 3, 255"),
    (libc::SYS_socket, "10, 1, 0"),
    (libc::SYS_socket, "10, 2, 0"),
    (libc::SYS_socket, "16, 3, 0"),
    (libc::SYS_socket, "17, 3, 0"),
    (libc::SYS_socket, "38, 5, 0"),
    (libc::SYS_socket, "40, 1, 0"),
    (libc::SYS_ioctl, "0, 0x5412, 0"),
    (libc::SYS_socketpair, "1, 2, 0, my $pair = \"12345678\""),
    (libc::SYS_socketpair, "1, 3, 0, my $pair = \"12345678\""),
    (libc::SYS_socketpair, "1, 0x80802, 0, my $pair = \"12345678\""),
    (libc::SYS_socketpair, "30, 1, 0, my $pair = \"12345678\""),
    (libc::SYS_connect, "0, 0, 0"),
    (libc::SYS_syslog, "10, 0, 0"),
    (libc::SYS_reboot, "0, 0, 0, 0"),
    (libc::SYS_init_module, "0, 0, 0"),
    (libc::SYS_settimeofday, "0, 0"),
];

/// A place with something outside that is worth reaching.
fn place() -> Cage {
    let cage = Cage::new();
    let outside = cage.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("o"), "old\n").unwrap();
    fs::create_dir_all(cage.path("tree/.git/hooks")).unwrap();
    symlink(outside.join("o"), cage.path("tree/link")).unwrap();
    cage.with(|launch| {
        launch.env.insert("OUT".to_owned(), outside.display().to_string());
        launch.env.insert("HOME".to_owned(), outside.display().to_string());
        launch.env.insert("HOST".to_owned(), std::process::id().to_string());
        let disk =
            ["/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/mem"].into_iter().find(|disk| fs::exists(disk).unwrap());
        launch.env.insert("DISK".to_owned(), disk.unwrap_or("/dev/mem").to_owned());
        if let Some(stage) = &mut launch.stage {
            stage.read_only.push(".git".to_owned());
        }
    })
}

/// The places, of the administrator and of a plain user.
fn places() -> Vec<Cage> {
    let own = place();
    let mut other = place();
    let is_plain = other.become_plain_user();
    // A program that belongs to the administrator and would run as one.
    let program = other.path("tree/own");
    fs::write(&program, "").unwrap();
    fs::copy("/usr/bin/id", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let user = |cage: Cage, id: &str| cage.with(|launch| drop(launch.env.insert("USER_ID".to_owned(), id.to_owned())));
    let own_id = rustix::process::getuid().as_raw().to_string();
    let mut places = vec![user(own, &own_id)];
    places.extend(is_plain.then(|| user(other, "65534")));
    places
}

/// Tries all of them at once; returns the confinement and the ways that worked.
#[track_caller]
fn tried(cage: &Cage, ways: &[&str]) -> (Value, Vec<String>) {
    // Ways name folders without quotes.
    let mut script = "IFS=\n".to_owned();
    for (at, way) in ways.iter().enumerate() {
        script += &format!("( {way} ) > /dev/null 2>&1 < /dev/null && echo way {at}\n");
    }
    let (confinement, ended) = cage.run_apart(&(script + "echo end"));
    let said = ended["stdout"].as_str().unwrap_or_else(|| panic!("{confinement} {ended}"));
    assert!(said.ends_with("end\n"), "{ended}");
    let worked =
        said.lines().filter_map(|line| Some(ways[line.strip_prefix("way ")?.parse::<usize>().ok()?].to_owned()));
    (confinement, worked.collect())
}

fn perl(call: libc::c_long, arguments: &str) -> String {
    format!("perl -e 'exit 1 if syscall({call}, {arguments}) < 0 && ($! == 1)'")
}

#[track_caller]
fn outside_is_as_before(cage: &Cage) {
    let outside = cage.path("outside");
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!((names, fs::read_to_string(outside.join("o")).unwrap().as_str()), (vec!["o".into()], "old\n"));
}

#[test]
fn every_way_out_is_denied() {
    for cage in places() {
        let ways = [FILES, TIMES].concat();
        let (confinement, worked) = tried(&cage, &ways);
        assert_eq!(worked, Vec::<String>::new());
        assert_eq!((&confinement["state"], &confinement["missing"]), (&json!("enforced"), &json!([])));
        outside_is_as_before(&cage);
        assert!(!cage.path("tree/.git/hooks/pre-commit").exists());
        assert_eq!(fs::read_to_string(cage.path("tree/file")).unwrap(), "old\n");
    }
}

#[test]
fn every_call_that_leads_out_is_refused() {
    let ways: Vec<String> = CALLS.iter().map(|(call, arguments)| perl(*call, arguments)).collect();
    let ways: Vec<&str> = ways.iter().map(String::as_str).collect();
    for cage in places().into_iter().flat_map(|cage| [cage.same(), cage.without_namespaces()]) {
        assert_eq!(tried(&cage, &ways).1, Vec::<String>::new());
    }
    // The way of trying works.
    let allowed = perl(libc::SYS_getpid, "0");
    assert_eq!(tried(&places()[0], &[&allowed]).1, [allowed]);
    assert!(!tried(&places()[0].same().unconfined(), &ways).1.is_empty());
}

/// System calls that reach other processes of the user, or resources that they share by number or name.
const OTHERS: &[(libc::c_long, &str)] = &[
    (libc::SYS_prlimit64, "$ENV{HOST} + 0, 7, 0, my $limit = \"x\" x 16"),
    (libc::SYS_setpriority, "0, $ENV{HOST} + 0, 19"),
    (libc::SYS_setpriority, "2, 0, 19"),
    (libc::SYS_ioprio_set, "1, $ENV{HOST} + 0, 0x6000"),
    (libc::SYS_ioprio_set, "3, 0, 0x6000"),
    (libc::SYS_sched_setaffinity, "$ENV{HOST} + 0, 8, my $all = \"\\xff\" x 8"),
];

/// System calls on resources that the user's processes share by number or by name.
const SHARED: &[(libc::c_long, &str)] = &[
    (libc::SYS_shmget, "0, 4096, 0x380"),
    (libc::SYS_msgget, "0, 0x380"),
    (libc::SYS_semget, "0, 1, 0x380"),
    (libc::SYS_mq_open, "my $name = \"nrv-test\", 0x42, 0x180, 0"),
];

/// System calls of a program on itself.
const ITSELF: &[(libc::c_long, &str)] = &[
    (libc::SYS_prlimit64, "0, 7, 0, my $limit = \"x\" x 16"),
    (libc::SYS_setpriority, "0, 0, 19"),
    (libc::SYS_ioprio_set, "1, 0, 0x6000"),
    (libc::SYS_sched_setaffinity, "0, 8, my $all = \"\\xff\" x 8"),
];

#[test]
fn without_namespaces_other_processes_of_the_user_are_out_of_reach() {
    let ways = |calls: &[(libc::c_long, &str)]| -> Vec<String> {
        calls.iter().map(|(call, arguments)| format!("perl -e 'exit 1 if syscall({call}, {arguments}) < 0'")).collect()
    };
    let all = [ways(OTHERS), ways(SHARED), ways(ITSELF)].concat();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for cage in places() {
        assert_eq!(tried(&cage.same().without_namespaces(), &all).1, ways(ITSELF));
        // In namespaces the numbers and shared resources are those of the program.
        let worked = tried(&cage, &all).1;
        assert!(ways(SHARED).iter().take(3).chain(&ways(ITSELF)).all(|way| worked.contains(way)), "{worked:#?}");
    }
}

#[test]
fn without_namespaces_the_ways_out_by_files_are_denied_too() {
    for cage in places() {
        let cage = cage.without_namespaces();
        let (confinement, worked) = tried(&cage, FILES);
        assert_eq!(worked, Vec::<String>::new());
        assert_eq!(confinement["state"], "partial");
        outside_is_as_before(&cage);
    }
}

#[test]
fn the_ways_out_are_ways_without_a_sandbox() {
    let cage = places().remove(0).unconfined();
    let (_, worked) = tried(&cage, &["echo x > $OUT/new", "chmod 644 $OUT/o", "cat link", "cat /proc/$PPID/environ"]);
    // Only root reads the environment of a host, which lets no other process look into it.
    let ways = if rustix::process::geteuid().is_root() { 4 } else { 3 };
    assert_eq!(worked.len(), ways, "{worked:?}");
}

#[test]
fn the_network_is_reached_only_where_it_is_permitted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "perl -e 'socket(S, 2, 1, 0) && connect(S, pack(\"S n C4 x8\", 2, {port}, 127, 0, 0, 1)) && syswrite(S, \"hello\") or exit 1'"
    );
    for cage in places() {
        let network = cage.same().with(|launch| launch.network = true);
        assert_eq!(tried(&cage, &[&connect]).1, Vec::<String>::new());
        assert_eq!(tried(&cage.without_namespaces(), &[&connect]).1, Vec::<String>::new());
        let raw = perl(libc::SYS_socket, "17, 3, 0");
        let (confinement, worked) = tried(&network, &[&connect, &raw]);
        assert_eq!(worked, [connect.as_str()], "{confinement}");
        assert_eq!(confinement["state"], "partial");
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }
}

#[test]
fn sockets_of_other_programs_are_out_of_reach() {
    let cage = place();
    let socket = cage.path("outside/socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let connect =
        format!("perl -e 'socket(S, 1, 1, 0) && connect(S, pack(\"S a108\", 1, \"{}\")) or exit 1'", socket.display());
    assert_eq!(tried(&cage, &[&connect]).1, Vec::<String>::new());
    assert_eq!(tried(&cage.unconfined(), &[&connect]).1, [connect]);
}
