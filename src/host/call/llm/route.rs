//! Which provider a request to a language model goes to, told before it is judged: gates know only what a call says.

use std::borrow::Cow;

use crate::{Orchestrators, call::llm::orchestrators};
use base::call::{Ask, Call, Parts};
use system::policy::Policy;

/// The call as gates judge it: a request that names no provider names the one that it goes to.
pub(crate) fn judged<'c>(policy: &Policy, added: &Orchestrators, call: &'c Call) -> Cow<'c, Call> {
    let name = |asked: &Option<String>| Some(orchestrators::name(policy, added, asked.as_deref()));
    let named = |ask: &Ask| Box::new(Ask { provider: name(&ask.provider), ..ask.clone() });
    match call {
        Call::LlmCapabilities { provider: None } => Cow::Owned(Call::LlmCapabilities { provider: name(&None) }),
        Call::LlmComplete(ask) if ask.provider.is_none() => Cow::Owned(Call::LlmComplete(named(ask))),
        Call::LlmStream(ask) if ask.provider.is_none() => Cow::Owned(Call::LlmStream(named(ask))),
        // What it can do is asked of the one that a request would go to.
        Call::PromptCompose(parts) if parts.provider.is_none() && parts.is_for_a_model() => {
            let parts = Parts { provider: name(&None), ..(**parts).clone() };
            Cow::Owned(Call::PromptCompose(Box::new(parts)))
        }
        _ => Cow::Borrowed(call),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::Heuristic;
    use system::policy::FILE;

    #[test]
    fn a_request_that_names_no_provider_is_judged_with_the_one_that_it_goes_to() {
        let one = Orchestrators::default().with("mine", Heuristic::new([]).unwrap());
        let judged = |policy: &str, call: &Call| {
            let call = judged(&Policy::parse(policy, FILE).unwrap(), &one, call).into_owned();
            match call {
                Call::LlmComplete(ask) | Call::LlmStream(ask) => ask.provider,
                Call::LlmCapabilities { provider } => provider,
                Call::PromptCompose(parts) => parts.provider,
                _ => None,
            }
        };
        for call in [
            Call::LlmComplete(Box::default()),
            Call::LlmStream(Box::default()),
            Call::LlmCapabilities { provider: None },
            Call::PromptCompose(Box::new(Parts { model: Some("m".to_owned()), ..Parts::default() })),
        ] {
            assert_eq!(judged("", &call).as_deref(), Some("mine"));
            assert_eq!(judged("[llm]\ndefault = 'heuristic'", &call).as_deref(), Some("heuristic"));
        }
        assert_eq!(judged("", &Call::LlmCapabilities { provider: Some("a".to_owned()) }).as_deref(), Some("a"));
    }
}
