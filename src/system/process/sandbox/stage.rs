//! A program's view of the tree: an overlay whose lower layer is the tree.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
        fsopen,
    },
};

use super::{Laid, Laying, Stage};

/// Makes the view, unmounted, and lays the proposals over it.
pub(super) fn make(stage: &Stage) -> Result<OwnedFd, String> {
    if stage.root.parent().is_none() {
        return Err("the root folder of the machine can't be overlaid".to_owned());
    }
    let view = overlay(stage)?;
    for laid in &stage.proposed {
        lay(&view, laid).map_err(|error| format!("`{}` can't be laid over the tree ({error})", laid.path))?;
    }
    Ok(view)
}

fn overlay(stage: &Stage) -> Result<OwnedFd, String> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: Errno| format!("an overlay can't be made ({what}: {error})")
    };
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed("fsopen"))?;
    let layers = [("lowerdir", &stage.root), ("upperdir", &stage.upper), ("workdir", &stage.work)];
    // By descriptors: a path may hold special characters of options. They must be open until it is made.
    let mut open = Vec::new();
    for (option, folder) in layers {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty()).map_err(failed(option))?;
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder));
        fsconfig_set_string(context.as_fd(), option, path).map_err(failed(option))?;
        open.push(folder);
    }
    // A crash removes a view in any case: nothing needs a sync.
    for flag in ["userxattr", "volatile"] {
        fsconfig_set_flag(context.as_fd(), flag).map_err(failed(flag))?;
    }
    fsconfig_create(context.as_fd()).map_err(|error| failed(reason(&context).as_deref().unwrap_or("create"))(error))?;
    fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID,
    )
    .map_err(failed("fsmount"))
}

/// The kernel's message about a failed mount.
fn reason(context: &OwnedFd) -> Option<String> {
    let mut text = vec![0; 1024];
    let length = rustix::io::read(context, &mut text).ok()?;
    let text = String::from_utf8_lossy(text.get(..length)?).into_owned();
    Some(text.trim_start_matches(['e', 'w', 'i', ' ']).trim().to_owned())
}

fn lay(view: &OwnedFd, laid: &Laid) -> io::Result<()> {
    let path = Path::new(&laid.path);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = folder(view, parent, laid.what != Laying::Gone)?;
    match &laid.what {
        Laying::Gone => {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
            remove_emptied(view, parent)?;
        }
        Laying::Link(target) => {
            remove(&folder, name)?;
            rustix::fs::symlinkat(target, &folder, name)?;
        }
        Laying::File(from, mode) => {
            let mut from = File::from(rustix::fs::openat(CWD, from, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
            remove(&folder, name)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut to = File::from(rustix::fs::openat(&folder, name, flags, Mode::from(0o600))?);
            io::copy(&mut from.by_ref(), &mut to)?;
            rustix::fs::fchmod(&to, Mode::from(*mode))?;
        }
    }
    Ok(())
}

/// Removes the folders that the removal of a file left empty, as in the tree.
fn remove_emptied(view: &OwnedFd, path: &Path) -> io::Result<()> {
    for path in path.ancestors() {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { break };
        match rustix::fs::unlinkat(&folder(view, parent, false)?, name, AtFlags::REMOVEDIR) {
            Ok(()) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Removes a file if there is one.
fn remove(folder: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder of the view, step by step so that no link leads out of it; makes missing folders on request.
fn folder(view: &OwnedFd, path: &Path, make: bool) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let mut folder = rustix::fs::openat2(view, ".", flags, Mode::empty(), beneath)?;
    for name in path.components() {
        let name = name.as_os_str();
        if make {
            match rustix::fs::mkdirat(&folder, name, Mode::from(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        folder = rustix::fs::openat2(&folder, name, flags, Mode::empty(), beneath)?;
    }
    Ok(folder)
}
