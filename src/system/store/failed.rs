//! The reasons for which an object of a store can't be had.

use std::{
    fmt::{self, Display},
    io,
};

use base::error::{Code, Error};

/// The detail of an error of a store, which concerns all tasks.
pub(super) const STORE: &str = "store";

/// Why an object can't be had.
#[derive(Debug)]
pub(super) enum Failed {
    /// The store can't be reached now.
    Unreached(String),
    /// Something is there that no worker makes.
    Damaged(String),
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Unreached(why) | Failed::Damaged(why) => f.write_str(why),
        }
    }
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Failed::Unreached(why)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        // A link, a pipe, a folder or too many bytes; or a file in the place of a folder.
        match error.kind() {
            io::ErrorKind::Other | io::ErrorKind::NotADirectory => Failed::Damaged(error.to_string()),
            _ => Failed::Unreached(error.to_string()),
        }
    }
}

impl Failed {
    /// The error about one object. Damage in it does not affect other objects.
    pub(super) fn of(self, key: &str) -> Error {
        match self {
            Failed::Unreached(why) => unreached(key, why),
            Failed::Damaged(why) => {
                Error::new(Code::RecordDamaged, format!("`{key}` of the store is not what workers make: {why}"))
                    .hint("look at who else writes to the store")
            }
        }
    }
}

/// A listing of which more is there than workers make.
pub(super) fn too_many(most: usize) -> Failed {
    Failed::Damaged(format!("it has more than {most} names"))
}

/// A store that can't be reached now may be later.
pub(super) fn unreached(key: &str, error: impl Display) -> Error {
    Error::new(Code::Temporary, format!("the object `{key}` of the store can't be reached: {error}"))
        .detail(STORE, true)
        .hint("look at the store's address and its credentials, and at who may write there")
}
