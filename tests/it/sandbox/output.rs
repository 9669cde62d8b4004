//! The output of a program: all of it is counted and hashed, and the wanted part is kept.

use std::fs;

use nrv::base::hash::Sha256;

use super::Cage;

#[test]
fn output_of_any_size_leaves_memory_as_it_is() {
    let cage = Cage::new();
    let (out, err) = (cage.path("out"), cage.path("err"));
    let cage = cage.with(|launch| {
        launch.output.files = Some((out.clone(), err.clone()));
        launch.output.stored = 10 << 20;
    });
    let ended = cage.run("head -c 1073741824 /dev/zero; printf end");
    assert_eq!((ended.status, ended.stdout.length), (Some(0), (1 << 30) + 3));
    assert_eq!((ended.stdout.head.len(), ended.stdout.stored), (1 << 10, 10 << 20));
    assert!(ended.stdout.tail.unwrap().ends_with(b"\0end"));
    assert_eq!(fs::metadata(out).unwrap().len(), 10 << 20);
    assert!(!err.exists());
}

#[test]
fn both_streams_are_stored_as_they_are() {
    let cage = Cage::new();
    let (out, err) = (cage.path("out"), cage.path("err"));
    let cage = cage.with(|launch| {
        launch.output.files = Some((out.clone(), err.clone()));
        launch.output.stored = 1 << 30;
    });
    let ended = cage.run("head -c 3000000 /dev/urandom | tee copy; head -c 2000000 /dev/urandom | tee other >&2");
    for (stream, file, copy) in [(&ended.stdout, &out, "upper/copy"), (&ended.stderr, &err, "upper/other")] {
        let bytes = fs::read(cage.path(copy)).unwrap();
        assert_eq!((stream.length, stream.sha256), (bytes.len() as u64, Some(Sha256::of(&bytes))));
        assert!(fs::read(file).unwrap() == bytes && stream.stored == stream.length);
        assert_eq!(stream.tail.as_deref(), Some(&bytes[bytes.len() - 1024..]));
    }
}

#[test]
fn a_program_that_closes_its_streams_goes_on() {
    for cage in [Cage::new(), Cage::new().without_namespaces(), Cage::new().unconfined()] {
        let ended = cage.run("exec 0<&- 1>&- 2>&-; sleep 0.1; exit 7");
        assert_eq!((ended.status, ended.stdout.length), (Some(7), 0));
        let ended = cage.run("yes | head -1; exit 5");
        assert_eq!((ended.status, ended.stdout.head.as_slice()), (Some(5), &b"y\n"[..]));
    }
}
