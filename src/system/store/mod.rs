//! The store of a fleet: objects by key, each of which is made once and never changes.
//!
//! One conditional request is all that it needs: the create that fails if the object is there. Of two workers that create the same
//! object, one wins.

mod bucket;
mod connection;
mod failed;
mod folder;
mod provider;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use self::{
    bucket::Bucket,
    failed::{Failed, STORE, unreached},
    folder::Folder,
};
use base::error::{Code, Error};

/// The most names of a folder of keys.
const MOST_NAMES: usize = 1 << 20;

/// The characters of a key beside letters and digits.
const MARKS: &[u8] = b"-_./";

/// An open store.
#[derive(Clone, Debug)]
pub struct Store(Kind);

/// The kinds of stores.
#[derive(Clone, Debug)]
enum Kind {
    Folder(Folder),
    Bucket(Arc<Bucket>),
}

impl Store {
    /// Opens the store at an address: a folder, relative to `base` or absolute, which is made with its first object, or a bucket as
    /// `s3://BUCKET/PATH`, `gs://BUCKET/PATH` or `az://CONTAINER/PATH`, by the variables of the environment.
    ///
    /// `invalid_input` for an address of another kind.
    pub fn open(address: &str, base: &Path, environment: &BTreeMap<String, String>) -> Result<Self, Error> {
        let wrong = |why: &str| {
            let message = format!("`{}` is no store: {why}", address.escape_debug());
            Error::new(Code::InvalidInput, message).hint(
                "give a folder that all workers reach, `s3://BUCKET/PATH`, `gs://BUCKET/PATH` or `az://CONTAINER/PATH`",
            )
        };
        match Bucket::at(address, environment) {
            Some(bucket) => Ok(Store(Kind::Bucket(Arc::new(bucket.map_err(|why| wrong(&why))?)))),
            None if address.contains("://") => Err(wrong("nothing is known of such addresses")),
            None if address.is_empty() => Err(wrong("it is empty")),
            None => Ok(Store(Kind::Folder(Folder::at(base.join(address))))),
        }
    }

    /// True for an error of a store, which is the same for all that use it.
    pub fn is_error_of(error: &Error) -> bool {
        error.details().contains_key(STORE)
    }

    /// Sees that a bucket can be reached, and that its server keeps what is there. A folder needs no look.
    ///
    /// `temporary` if it can't be reached or does not.
    pub fn check(&self) -> Result<(), Error> {
        match &self.0 {
            Kind::Folder(_) => Ok(()),
            Kind::Bucket(bucket) => bucket.check().map_err(|error| unreached("probed", error)),
        }
    }

    /// Makes an object of a key, whole and on the disk; false if there is one already, which stays as it is.
    pub fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, Error> {
        let key = checked(key)?;
        match &self.0 {
            Kind::Folder(folder) => folder.create(key, bytes).map_err(|error| Failed::from(error).of(key)),
            Kind::Bucket(bucket) => bucket.create(key, bytes).map_err(|error| unreached(key, error)),
        }
    }

    /// The bytes of an object, at most so many; none if there is none.
    ///
    /// `record_damaged` for more, and for a thing that is no object, such as a link.
    pub fn get(&self, key: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
        let key = checked(key)?;
        let got = match &self.0 {
            Kind::Folder(folder) => folder.get(key, most).map_err(Failed::from),
            Kind::Bucket(bucket) => bucket.get(key, most),
        };
        got.map_err(|failed| failed.of(key))
    }

    /// The names below a folder of keys, sorted.
    ///
    /// `record_damaged` for more than a fleet has, and for a link.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        self.listed(folder, MOST_NAMES)
    }

    fn listed(&self, folder: &str, most: usize) -> Result<Vec<String>, Error> {
        let keys = checked(folder)?;
        let listed = match &self.0 {
            Kind::Folder(folder) => folder.list(keys, most).map_err(Failed::from),
            Kind::Bucket(bucket) => bucket.list(keys, most),
        };
        listed.map_err(|failed| failed.of(keys))
    }
}

/// A key of letters, digits and marks, without a part that leads elsewhere.
fn checked(key: &str) -> Result<&str, Error> {
    let is_part = |part: &str| {
        !part.starts_with('.')
            && !part.is_empty()
            && part.bytes().all(|c| c.is_ascii_alphanumeric() || MARKS.contains(&c))
    };
    match key.split('/').all(is_part) {
        true => Ok(key),
        false => Err(Error::new(Code::Internal, format!("`{}` is no key of a store", key.escape_debug()))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn of_many_that_create_an_object_one_wins_and_its_bytes_stay() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open("store", place.path(), &BTreeMap::new()).unwrap();
        let barrier = Barrier::new(8);
        let won: usize = std::thread::scope(|scope| {
            let one = |n: u8| {
                let (store, barrier) = (&store, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    usize::from(store.create("done/a", &vec![n; 100_000]).unwrap())
                })
            };
            let all: Vec<_> = (0..8).map(one).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        let kept = store.get("done/a", 100_000).unwrap().unwrap();
        assert_eq!((won, kept.len()), (1, 100_000));
        assert!(kept.iter().all(|byte| *byte == kept[0]), "the bytes of one");
        assert_eq!((store.list("done").unwrap(), store.list("claims").unwrap()), (vec!["a".to_owned()], Vec::new()));
        assert_eq!(store.get("done/b", 9).unwrap(), None);
        assert!(store.create("done/b", b"").unwrap() && store.listed("done", 2).unwrap().len() == 2);
        assert_eq!(store.listed("done", 1).unwrap_err().code(), Code::RecordDamaged, "a listing has a bound");
    }

    #[test]
    fn a_thing_that_is_no_object_is_damaged_and_no_link_is_followed() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let store = Store::open("store", place.path(), &BTreeMap::new()).unwrap();
        store.create("done/long", b"1234").unwrap();
        store.create("other/x", b"x").unwrap();
        for (to, name) in
            [("long", "done/link"), ("/dev/zero", "done/zero"), ("nowhere", "done/none"), ("other", "linked")]
        {
            symlink(to, path("store").join(name)).unwrap();
        }
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("store/done/pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        for (key, why) in [
            ("done/long", "longer than 3 bytes"),
            ("done/link", "a link"),
            ("done/zero", "a link"),
            ("done/none", "a link"),
            ("done/pipe", "not a plain file"),
            ("linked/x", "a link"),
            ("done/long/x", "ot a directory"),
            ("done", "not a plain file"),
        ] {
            let error = store.get(key, 3).unwrap_err();
            assert!(error.code() == Code::RecordDamaged && error.message().contains(why), "{key}: {error}");
            assert!(!Store::is_error_of(&error), "{key}");
        }
        assert_eq!(store.get("done/long", 4).unwrap().unwrap(), b"1234");
        for key in ["linked/new", "done/long/new"] {
            assert_eq!(store.create(key, b"").unwrap_err().code(), Code::RecordDamaged, "{key}");
        }
        assert_eq!(store.list("linked").unwrap_err().code(), Code::RecordDamaged);
        assert!(!path("store/other/new").exists());
        assert!(!store.create("done/none", b"").unwrap(), "a name is taken, wherever it leads");
    }

    #[test]
    fn no_key_leads_out_of_the_store() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open("store", place.path(), &BTreeMap::new()).unwrap();
        for key in ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/.hidden", "a\0b", "ä"] {
            assert_eq!(store.create(key, b"").unwrap_err().code(), Code::Internal, "{key}");
        }
        for address in ["ftp://host/x", "", "s3://", "gs://bucket:80/x", "az://container"] {
            let error = Store::open(address, place.path(), &BTreeMap::new()).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{address}: {error}");
        }
    }
}
