//! Opens a repository with the settings that count.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{
    error::{said, unknown},
    index,
    place::Place,
    settings::{self, Settings},
};
use base::error::Error;

/// A readable repository.
pub(super) struct Opened {
    pub(super) place: Place,
    pub(super) settings: Settings,
    pub(super) repository: gix::Repository,
    pub(super) index: gix::index::File,
    /// The number of files in the index before further examination.
    pub(super) tracked: usize,
    /// The given folder, below the work tree; empty for the work tree itself.
    pub(super) prefix: PathBuf,
}

impl Opened {
    pub(super) fn at(root: &Path, environment: &BTreeMap<String, String>) -> Result<Option<Opened>, Error> {
        let Some(place) = Place::find(root)? else { return Ok(None) };
        let settings = settings::read(&place, environment)?;
        // With reduced trust, only the format of the repository's configuration counts. All else is in `settings`.
        let repository = gix::open::Options::isolated()
            .with(gix::sec::Trust::Reduced)
            .filter_config_section(|section| section.source == gix::config::Source::Api)
            .open_path_as_is(true)
            .config_overrides(settings.overrides.iter().map(String::as_str))
            .open(&place.dot_git)
            .map_err(|error| unknown(&said(&error)))?
            .to_thread_local();
        if repository.workdir().is_none() {
            return Err(unknown(&format!("`{}` has no work tree", place.dot_git.display())));
        }
        let prefix = root.strip_prefix(&place.work).unwrap_or(Path::new("")).to_owned();
        check_index(&place)?;
        index::check(&repository.index_path(), repository.object_hash().len_in_bytes())?;
        let index = if repository.index_path().exists() {
            repository.open_index().map_err(|error| unknown(&said(&error)))?
        } else {
            let empty = gix::index::State::new(repository.object_hash());
            gix::index::File::from_state(empty, repository.index_path())
        };
        let tracked = index.entries().len();
        Ok(Some(Opened { place, settings, repository, index, tracked, prefix }))
    }

    pub(super) fn head(&self) -> Option<String> {
        self.repository.head_id().ok().map(|id| id.to_hex().to_string())
    }
}

/// A split index is refused: the reader joins it with its shared one wrongly.
#[expect(clippy::disallowed_methods, reason = "this file is git's, not the user's")]
fn check_index(place: &Place) -> Result<(), Error> {
    let entries = fs::read_dir(&place.own).into_iter().flatten().flatten();
    let shared =
        entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("sharedindex.").map(str::to_owned));
    let shared: Vec<String> = shared.collect();
    if shared.is_empty() {
        return Ok(());
    }
    let index = fs::read(place.own.join("index")).unwrap_or_default();
    let names = |id: &gix::ObjectId| {
        let length = id.as_slice().len();
        index.windows(8 + length).any(|bytes| bytes.starts_with(b"link") && &bytes[8..] == id.as_slice())
    };
    if shared.iter().filter_map(|hash| gix::ObjectId::from_hex(hash.as_bytes()).ok()).any(|id| names(&id)) {
        return Err(unknown("the index is split (`core.splitIndex`), and nrv doesn't read such a one")
            .hint("`git update-index --no-split-index` makes it whole; or start with `--allow-dirty`"));
    }
    Ok(())
}
