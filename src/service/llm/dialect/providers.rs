//! Every dialect, by name.

use super::{
    Dialect, anthropic::Anthropic, ollama::Ollama, openai_chat::OpenAiChat, openai_responses::OpenAiResponses,
};
use base::error::{self, Code, Error};

/// Every dialect, sorted by name.
pub const PROVIDERS: &[&dyn Dialect] = &[&Anthropic, &Ollama, &OpenAiChat, &OpenAiResponses];

/// The dialect of a name; `not_found` names the nearest.
pub fn named(name: &str) -> Result<&'static dyn Dialect, Error> {
    let names = || PROVIDERS.iter().map(|dialect| dialect.name());
    PROVIDERS.iter().copied().find(|dialect| dialect.name() == name).ok_or_else(|| {
        let error = Error::new(Code::NotFound, format!("there is no dialect `{}`", name.escape_debug()));
        match error::nearest(name, names()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("dialects are {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}
