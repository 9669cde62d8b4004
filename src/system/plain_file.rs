//! Opens nrv's own files, which a repository or an archive may have planted: plain files only.
//!
//! A pipe would block, a device could be endless, and a link leads elsewhere. `workspace` reads the user's tree.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags},
    io::Errno,
};

/// The longest file that is read as a whole, in bytes.
pub const LONGEST: u64 = 1 << 30;

/// Opens a plain file for reading, by a name below a folder: `..`, an absolute name and every link on the way are errors.
pub fn open_beneath(folder: &Path, name: &str) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        match rustix::fs::openat2(&folder, name, READ, Mode::empty(), resolve) {
            // The kernel asks for another try if something was renamed meanwhile.
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::LOOP) => return Err(io::Error::other("a link leads there")),
            Err(Errno::XDEV) => return Err(io::Error::other("the name leads out of the folder")),
            opened => return plain(File::from(opened?)),
        }
    }
}

/// The names in a folder below another one, at most so many; every link on the way is an error. Names that are not UTF-8 are left out.
pub fn names_beneath(folder: &Path, name: &str, most: usize) -> io::Result<Vec<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut open = rustix::fs::open(folder, flags.difference(OFlags::NOFOLLOW), Mode::empty())?;
    for part in name.split('/') {
        open = rustix::fs::openat(&open, part, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR => io::Error::other("a link or a file is there instead of a folder"),
            errno => errno.into(),
        })?;
    }
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(open)? {
        let name = entry?.file_name().to_str().map(str::to_owned);
        names.extend(name.ok().filter(|name| name != "." && name != ".."));
        if names.len() > most {
            return Err(io::Error::other(format!("the folder has more than {most} names")));
        }
    }
    Ok(names)
}

/// Opens a plain file for reading; a link is an error.
pub fn open(path: &Path) -> io::Result<File> {
    match rustix::fs::openat(CWD, path, READ | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::LOOP) => Err(io::Error::other("it is a link")),
        opened => plain(File::from(opened?)),
    }
}

/// Opens or creates a plain file without other names for writing; a new one has the mode 0600. A link is an error.
#[expect(clippy::disallowed_methods, reason = "files of records are opened here for `ledger`, which writes them")]
pub fn open_own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = plain(options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)?)?;
    if file.metadata()?.nlink() == 1 { Ok(file) } else { Err(io::Error::other("the file has another name")) }
}

/// All bytes of a plain file; a file longer than [`LONGEST`] is an error.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    all(&open(path)?, LONGEST)
}

/// All bytes of an open file; more than `most` are an error.
pub fn all(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}

/// Without NONBLOCK, opening a pipe would wait for its writer.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

fn plain(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a plain file")) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_plain_files_beneath_the_folder_are_opened() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("folder");
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::write(home.path().join("outside"), "o").unwrap();
        fs::write(folder.join("below/file"), "f").unwrap();
        symlink("below", folder.join("link")).unwrap();
        symlink("/dev/zero", folder.join("endless")).unwrap();
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, folder.join("pipe"), pipe, Mode::RUSR, 0).unwrap();
        assert_eq!(all(&open_beneath(&folder, "below/file").unwrap(), 1).unwrap(), b"f");
        for (name, why) in [
            ("../outside", "leads out"),
            ("below/../../outside", "leads out"),
            ("/dev/zero", "leads out"),
            ("link/file", "link"),
            ("endless", "link"),
            ("pipe", "not a plain file"),
            ("below", "not a plain file"),
        ] {
            let error = open_beneath(&folder, name).unwrap_err();
            assert!(error.to_string().contains(why), "{name}: {error}");
        }
        assert_eq!(open_beneath(&folder, "none").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(names_beneath(&folder, "below", 1).unwrap(), ["file"]);
        for name in ["link", "pipe", "below/file", "endless"] {
            assert!(names_beneath(&folder, name, 1).unwrap_err().to_string().contains("instead of a folder"), "{name}");
        }
        assert_eq!(names_beneath(&folder, "none", 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        for name in ["pipe", "endless", "below"] {
            assert!(open(&folder.join(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        File::create(&path).unwrap().set_len(LONGEST + 1).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("longer than"));
        fs::write(&path, "short").unwrap();
        assert_eq!(read(&path).unwrap(), b"short");
    }
}
