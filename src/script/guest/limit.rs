//! The limits of a script in errors.

use base::error::{Code, Error};

/// The error of a script that reached one of its limits.
pub(super) fn limit_error(name: &str, message: String) -> Error {
    Error::new(Code::ScriptLimit, message)
        .detail("limit", format!("script.limits.{name}"))
        .hint(format!("`script.limits.{name}` in `nrv.toml` bounds it"))
}

/// The name of the limit in an engine's error about size.
pub(super) fn limit_name(what: &str) -> &'static str {
    match what {
        "Length of string" => "string",
        "Size of object map" | "Number of properties in object map literal" => "map",
        _ => "array",
    }
}
