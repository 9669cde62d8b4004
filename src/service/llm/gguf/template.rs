//! How messages become tokens: the two forms that are known, told apart by the tokens that a vocabulary has.
//!
//! A file's own template is a program that may add words of its own, and is not run. What a message says is always text: it can't
//! contain a token that ends it.

use super::{
    super::{
        message::{Message, Role},
        request::wrong,
    },
    unusable,
    vocabulary::Vocabulary,
};
use crate::base::error::Error;

/// One form. Tokens have the names of the vocabulary.
#[derive(Debug)]
pub(super) struct Template {
    /// Stands before everything.
    begin: Option<&'static str>,
    /// Begins a message, before the name of who speaks.
    open: &'static str,
    /// Stands after that name.
    named: Option<&'static str>,
    /// Text between the name and what is said.
    gap: &'static str,
    /// Ends a message.
    close: &'static str,
    /// Text between messages.
    between: &'static str,
}

/// ChatML, and the form of Llama 3.
const TEMPLATES: [Template; 2] = [
    Template { begin: None, open: "<|im_start|>", named: None, gap: "\n", close: "<|im_end|>", between: "\n" },
    Template {
        begin: Some("<|begin_of_text|>"),
        open: "<|start_header_id|>",
        named: Some("<|end_header_id|>"),
        gap: "\n\n",
        close: "<|eot_id|>",
        between: "",
    },
];

impl Template {
    /// The form whose tokens the vocabulary has.
    pub(super) fn of(vocabulary: &Vocabulary) -> Result<&'static Template, Error> {
        let fits = |template: &&Template| {
            let tokens = [template.begin, Some(template.open), template.named, Some(template.close)];
            tokens.into_iter().flatten().all(|token| vocabulary.token(token).is_some())
        };
        TEMPLATES
            .iter()
            .find(fits)
            .ok_or_else(|| unusable("its vocabulary has the tokens of neither ChatML nor Llama 3"))
    }

    /// Messages as tokens, up to where the model is to speak.
    pub(super) fn render(&self, messages: &[Message], vocabulary: &Vocabulary) -> Result<Vec<u32>, Error> {
        let mut tokens: Vec<u32> = self.begin.and_then(|name| vocabulary.token(name)).into_iter().collect();
        for message in messages {
            if message.role == Role::Tool || !message.tool_calls.is_empty() {
                return Err(wrong("messages", "the model knows no tools").hint("say what they gave as text"));
            }
            self.message(message.role, &message.content, vocabulary, &mut tokens)?;
            tokens.extend(vocabulary.token(self.close));
            tokens.extend(vocabulary.text(self.between)?);
        }
        self.message(Role::Assistant, "", vocabulary, &mut tokens)?;
        Ok(tokens)
    }

    fn message(&self, role: Role, said: &str, vocabulary: &Vocabulary, tokens: &mut Vec<u32>) -> Result<(), Error> {
        let (role, gap) = (role.as_str(), self.gap);
        tokens.extend(vocabulary.token(self.open));
        match self.named.and_then(|name| vocabulary.token(name)) {
            None => tokens.extend(vocabulary.text(&format!("{role}{gap}{said}"))?),
            Some(named) => {
                tokens.extend(vocabulary.text(role)?);
                tokens.push(named);
                tokens.extend(vocabulary.text(&format!("{gap}{said}"))?);
            }
        }
        Ok(())
    }

    /// True if the model has said all.
    pub(super) fn is_end(&self, token: u32, vocabulary: &Vocabulary) -> bool {
        vocabulary.is_end(token) || vocabulary.token(self.close) == Some(token)
    }
}
