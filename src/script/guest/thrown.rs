//! Errors of the host as a script catches them.

use rhai::{Dynamic, Map};

use super::value;
use base::error::Error;

/// A host's error as a script catches it: `#{code, message, details, hint, script: #{path, line, column}}`.
pub(super) fn thrown(error: &Error) -> Dynamic {
    let text = |text: Option<&str>| text.map_or(Dynamic::UNIT, |text| text.to_owned().into());
    let details = error.details().iter().map(|(key, value)| (key.into(), value::from_json(value.clone())));
    let place = error.location().and_then(|place| serde_json::to_value(place).ok());
    Map::from([
        ("code".into(), text(Some(error.code().as_str()))),
        ("message".into(), text(Some(error.message()))),
        ("details".into(), details.collect::<Map>().into()),
        ("hint".into(), text(error.hint_text())),
        ("script".into(), place.map_or(Dynamic::UNIT, value::from_json)),
    ])
    .into()
}
