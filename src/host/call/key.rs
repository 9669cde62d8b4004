//! Keys and tokens of servers: the policy names where one stands, and it is read when a server is made ready.

use std::path::{Path, PathBuf};

use crate::Context;
use base::error::{Code, Error};
use system::{net::Secret, policy::Policy};

/// The place of a key.
pub(super) struct KeyPlace<'a> {
    /// The variable of nrv's environment that holds it.
    pub(super) variable: Option<&'a str>,
    /// The file that holds it.
    pub(super) file: Option<&'a str>,
    /// The key of the policy that names the file.
    pub(super) file_key: String,
}

impl KeyPlace<'_> {
    /// Reads the key; none if the policy names no place.
    pub(super) fn read(&self, context: &Context, policy: &Policy) -> Result<Option<Secret>, Error> {
        let environment = &context.options.environment;
        if let Some(variable) = self.variable {
            let missing = |what: &str| {
                Err(Error::new(Code::NotFound, format!("the variable `{variable}`, which holds its key, {what}"))
                    .hint("set it where nrv is started; a key never stands in `nrv.toml`"))
            };
            return match environment.get(variable).map(|text| Secret::new(text)) {
                Some(key) if key.is_key() => Ok(Some(key)),
                Some(_) => missing("is empty or holds no key"),
                None => missing("is not set"),
            };
        }
        let Some(file) = self.file else { return Ok(None) };
        Secret::read(&self.path(context, policy, file)?, context.workspace.root()).map(Some)
    }

    /// The path of the file; `~` is the home.
    fn path(&self, context: &Context, policy: &Policy, file: &str) -> Result<PathBuf, Error> {
        let path = match (file.strip_prefix("~/"), context.options.environment.get("HOME")) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            (Some(_) | None, _) => PathBuf::from(file),
        };
        if path.is_absolute() {
            return Ok(path);
        }
        let message = format!("`{}` is no absolute path ({})", path.display(), policy.origin(&self.file_key));
        Err(Error::new(Code::InvalidPolicy, message).hint("give one, or one that begins with `~/`"))
    }
}
