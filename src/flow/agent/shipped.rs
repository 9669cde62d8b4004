//! The handlers that nrv ships, by name.

use super::{handler::ActionHandler, json::JsonHandler, native::NativeHandler};
use base::error::{Code, Error};

/// The handler of a name: `json` or `tool_calls`. `invalid_input` if there is none.
pub fn handler_of(name: &str) -> Result<Box<dyn ActionHandler>, Error> {
    match name {
        "json" => Ok(Box::new(JsonHandler)),
        "tool_calls" => Ok(Box::new(NativeHandler)),
        other => Err(Error::new(Code::InvalidInput, format!("there is no handler `{}`", other.escape_debug()))
            .hint("it is `json` or `tool_calls`")),
    }
}
