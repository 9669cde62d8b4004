//! Asks servers for their capabilities, each in its own protocol.

use serde_json::{Value, json};

use super::{
    capabilities::{Capabilities, Model},
    dialect::{Ask, Place},
};
use base::error::Error;

/// The number of models that are queried one by one.
const ASKED: usize = 64;

/// `/v1/models`, and `/props` of llama.cpp's server.
pub(super) fn openai(ask: &Ask<'_>) -> Result<Capabilities, Error> {
    let list = ask(Place::Base("/models"), None)?;
    let models = list["data"].as_array().into_iter().flatten();
    let is_llama = models.clone().any(|model| model["owned_by"] == "llamacpp");
    let mut capabilities = Capabilities::new(models.filter_map(listed));
    if is_llama && let Ok(props) = ask(Place::Server("/props"), None) {
        let known = capabilities.models().keys().cloned().map(|name| (name, of_props(&props)));
        capabilities = Capabilities::new(known.collect::<Vec<_>>()).or(capabilities);
    }
    // The same server lists the same models once more, with words for their capabilities.
    let named = list["models"].as_array().into_iter().flatten().filter_map(|model| {
        let name = model["name"].as_str().filter(|name| capabilities.models().contains_key(*name))?;
        Some((name.to_owned(), Model::of_words(model.get("capabilities"))))
    });
    let named = Capabilities::new(named.collect::<Vec<_>>());
    Ok(capabilities.or(named))
}

/// The known facts of a model of a list.
fn listed(model: &Value) -> Option<(String, Model)> {
    let name = model["id"].as_str()?.to_owned();
    let aliases = model["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let aliases = aliases.filter(|alias| *alias != name).map(str::to_owned).collect();
    // llama.cpp's server and vLLM report the length of the context, each in its own word.
    let context = model["meta"]["n_ctx"].as_u64().or_else(|| model["max_model_len"].as_u64());
    Some((name, Model { aliases, context_tokens: context, ..Model::default() }))
}

fn of_props(props: &Value) -> Model {
    Model {
        context_tokens: props["default_generation_settings"]["n_ctx"].as_u64(),
        tools: props["chat_template_caps"]["supports_tools"].as_bool(),
        structured_output: Some(true),
        ..Model::default()
    }
}

/// `/v1/models` of Anthropic's API.
pub(super) fn anthropic(ask: &Ask<'_>) -> Result<Capabilities, Error> {
    let list = ask(Place::Base("/v1/models?limit=1000"), None)?;
    let models = list["data"].as_array().into_iter().flatten().filter_map(|model| {
        let (name, known) = listed(model)?;
        let told = Model {
            context_tokens: model["max_input_tokens"].as_u64(),
            max_output_tokens: model["max_tokens"].as_u64(),
            ..Model::default()
        };
        Some((name, told.or(known)))
    });
    Ok(Capabilities::new(models))
}

/// `/api/tags`, and `/api/show` for each model.
pub(super) fn ollama(ask: &Ask<'_>) -> Result<Capabilities, Error> {
    let list = ask(Place::Base("/api/tags"), None)?;
    let names = list["models"].as_array().into_iter().flatten().filter_map(|model| model["name"].as_str());
    let shown = |name: &str| {
        let shown = ask(Place::Base("/api/show"), Some(&json!({"model": name})))?;
        Ok((name.to_owned(), of_show(&shown)))
    };
    Ok(Capabilities::new(names.take(ASKED).map(shown).collect::<Result<Vec<_>, Error>>()?))
}

fn of_show(shown: &Value) -> Model {
    let info = shown["model_info"].as_object();
    let context = info.into_iter().flatten().find(|(name, _)| name.ends_with(".context_length"));
    let told = Model::of_words(shown.get("capabilities"));
    // A list of a model's capabilities is complete.
    let tools = shown.get("capabilities").and(told.tools.or(Some(false)));
    let context_tokens = context.and_then(|(_, length)| length.as_u64());
    Model { context_tokens, tools, structured_output: Some(true), ..told }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::BTreeMap};

    use super::{super::capabilities::Workload, *};
    use base::error::Code;

    /// A server that answers by path, and the requests to it.
    #[track_caller]
    fn asked(
        discover: fn(&Ask<'_>) -> Result<Capabilities, Error>,
        answers: &[(&str, Value)],
    ) -> (Capabilities, Vec<String>) {
        let answers: BTreeMap<&str, &Value> = answers.iter().map(|(path, answer)| (*path, answer)).collect();
        let paths = RefCell::new(Vec::new());
        let ask = |place: Place<'_>, body: Option<&Value>| {
            let (Place::Base(path) | Place::Server(path)) = place;
            let path = body.map_or(path.to_owned(), |body| format!("{path} {}", body["model"]));
            paths.borrow_mut().push(path.clone());
            answers.get(path.as_str()).map(|answer| (*answer).clone()).ok_or(Error::new(Code::NotFound, path))
        };
        let capabilities = discover(&ask).unwrap();
        (capabilities, paths.into_inner())
    }

    #[test]
    fn a_server_of_llama_cpp_tells_context_and_tools() {
        let models = json!({
            "models": [{"name": "tiny", "capabilities": ["completion"]}],
            "data": [{"id": "tiny", "aliases": ["tiny", "small"], "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}],
        });
        let props =
            json!({"default_generation_settings": {"n_ctx": 2048}, "chat_template_caps": {"supports_tools": false}});
        let (capabilities, _) = asked(openai, &[("/models", models.clone()), ("/props", props)]);
        let tiny = capabilities.model("small").unwrap();
        assert_eq!((tiny.context_tokens, tiny.tools, tiny.structured_output), (Some(2048), Some(false), Some(true)));
        assert!(tiny.does(Workload::Chat) && !tiny.does(Workload::Embedding));
        let (capabilities, _) = asked(openai, &[("/models", models)]);
        assert_eq!(capabilities.model("tiny").unwrap().context_tokens, Some(4096));
    }

    #[test]
    fn other_servers_are_not_asked_for_what_they_don_t_have() {
        let models = json!({"data": [{"id": "b", "owned_by": "vllm", "max_model_len": 8192}, {"id": "a"}]});
        let (capabilities, paths) = asked(openai, &[("/models", models)]);
        assert_eq!(paths, ["/models"]);
        assert_eq!(capabilities.models().keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(capabilities.model("b").unwrap().context_tokens, Some(8192));
    }

    #[test]
    fn ollama_is_asked_for_each_model() {
        let show = json!({"model_info": {"llama.context_length": 131_072}, "capabilities": ["completion", "tools"]});
        let embed = json!({"model_info": {"bert.context_length": 512}, "capabilities": ["embedding"]});
        let (capabilities, _) = asked(
            ollama,
            &[
                ("/api/tags", json!({"models": [{"name": "llama"}, {"name": "nomic"}]})),
                ("/api/show \"llama\"", show),
                ("/api/show \"nomic\"", embed),
            ],
        );
        let llama = capabilities.model("llama").unwrap();
        assert_eq!((llama.context_tokens, llama.tools), (Some(131_072), Some(true)));
        let nomic = capabilities.model("nomic").unwrap();
        assert!(!nomic.does(Workload::Chat) && nomic.tools == Some(false));
    }

    #[test]
    fn anthropic_lists_its_models() {
        let list = json!({"data": [{"id": "claude", "max_input_tokens": 200_000, "max_tokens": 64_000}]});
        let (capabilities, _) = asked(anthropic, &[("/v1/models?limit=1000", list)]);
        let claude = capabilities.model("claude").unwrap();
        assert_eq!((claude.context_tokens, claude.max_output_tokens), (Some(200_000), Some(64_000)));
    }
}
