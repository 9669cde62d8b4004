//! Sockets of a program without network: it may talk to its own processes, and to no other.

use std::{
    fs,
    os::unix::net::{UnixDatagram, UnixListener},
    time::Duration,
};

use super::{Cage, said};

/// `$A` is the address of a datagram socket, `$L` that of one that listens. Each tries to reach them with a pair of sockets.
const PAIRS: &[&str] = &[
    "socketpair(S, T, 1, 2, 0); send(S, \"out\", 0, $A)",
    "socketpair(S, T, 1, 3, 0); send(S, \"out\", 0, $A)",
    "socketpair(S, T, 1, 2 | 04000, 0); send(S, \"out\", 0, $A)",
    "socketpair(S, T, 1, 2 | 02000000, 0); connect(S, $A); syswrite(S, \"out\")",
    "socketpair(S, T, 1, 5, 0); send(S, \"out\", 0, $A)",
    "socketpair(S, T, 1, 5, 0); close(T); send(S, \"out\", 0, $A); connect(S, $L); syswrite(S, \"out\")",
    "socketpair(S, T, 1, 1, 0); send(S, \"out\", 0, $A)",
    "socketpair(S, T, 1, 1, 0); connect(S, $L); syswrite(S, \"out\")",
    "socketpair(S, T, 1, 1, 0); connect(S, pack(\"S\", 0) . \"\\0\" x 14); connect(S, $L); syswrite(S, \"out\")",
    "socketpair(S, T, 1, 5, 0); connect(S, pack(\"S\", 0) . \"\\0\" x 14); connect(S, $L); syswrite(S, \"out\")",
    "socketpair(S, T, 1, 1, 0); shutdown(S, 2); close(T); connect(S, $L); syswrite(S, \"out\")",
    "socketpair(S, T, 1, 1, 0); close(T); connect(S, pack(\"S\", 0)); send(S, \"out\", 0, $L)",
    "socket(S, 1, 2, 0); send(S, \"out\", 0, $A)",
    "socket(S, 1, 1, 0); connect(S, $L); syswrite(S, \"out\")",
];

#[test]
fn no_pair_of_sockets_reaches_another_program() {
    let cage = Cage::new();
    fs::create_dir(cage.path("tree/s")).unwrap();
    let cage = cage.with(|launch| launch.stage.as_mut().unwrap().through = vec!["s".to_owned()]);
    // A program sees them, and may write the folder.
    let (datagram, stream) = (cage.path("tree/s/datagram"), cage.path("tree/s/stream"));
    let receiver = UnixDatagram::bind(&datagram).unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let listener = UnixListener::bind(&stream).unwrap();
    listener.set_nonblocking(true).unwrap();
    for path in [&datagram, &stream] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    }
    let lines: Vec<String> = PAIRS
        .iter()
        .map(|way| {
            let address = |path: &std::path::Path| format!("pack(\"S a108\", 1, \"{}\")", path.display());
            let way = way.replace("$A", &address(&datagram)).replace("$L", &address(&stream));
            format!("perl -MSocket -e '$SIG{{PIPE}} = \"IGNORE\"; {way}' 2> /dev/null")
        })
        .collect();
    let mut heard = [0; 8];
    let mut plain = cage.same();
    let is_plain = plain.become_plain_user();
    for cage in [Some(cage.same()), is_plain.then_some(plain)].into_iter().flatten() {
        for cage in [cage.same(), cage.same().without_namespaces()] {
            for (line, way) in lines.iter().zip(PAIRS) {
                cage.run_apart(line);
                assert!(receiver.recv(&mut heard).is_err(), "{way}");
                assert!(listener.accept().is_err(), "{way}");
            }
        }
    }
    // The ways are ways.
    cage.unconfined().run(&lines.join("; "));
    assert_eq!(receiver.recv(&mut heard).unwrap(), 3);
    assert!(listener.accept().is_ok());
}

#[test]
fn a_program_speaks_with_what_it_starts() {
    let line = "perl -MSocket -e 'for my $type (1, 5, 1 | 04000 | 02000000) { socketpair(S, T, 1, $type, 0) or die $!; \
                if (fork) { close T; wait; sysread(S, $said, 9) or die $!; print \"$said\\n\" } \
                else { close S; syswrite(T, \"hello\"); exit } }'";
    for cage in [Cage::new(), Cage::new().without_namespaces()] {
        assert_eq!(said(&cage.run(line)), "hello\nhello\nhello\n");
    }
}
