//! A model's vocabulary: from text to tokens, and from tokens to bytes.

use candle_core::quantized::{
    gguf_file::{Content, Value},
    tokenizer::TokenizerFromGguf,
};
use tokenizers::{
    PreTokenizerWrapper, Tokenizer,
    pre_tokenizers::{
        byte_level::ByteLevel,
        digits::Digits,
        sequence::Sequence,
        split::{Split, SplitPattern},
    },
    tokenizer::SplitDelimiterBehavior,
};

use super::{super::error::quoted, unreadable, unusable};
use crate::base::error::Error;

/// How texts of Llama 3 are split before anything else.
const LLAMA_3: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// What a token is.
#[derive(Clone, Debug)]
enum Token {
    /// These bytes of a text.
    Bytes(Vec<u8>),
    /// Not part of a text.
    Control,
}

/// A vocabulary of byte pairs.
#[derive(Debug)]
pub(super) struct Vocabulary {
    tokenizer: Tokenizer,
    tokens: Vec<Token>,
    end: Option<u32>,
}

impl Vocabulary {
    /// The vocabulary of a model's file.
    pub(super) fn of(content: &Content) -> Result<Self, Error> {
        let mut tokenizer = Tokenizer::from_gguf(content).map_err(|error| unreadable(&error))?;
        let split = content.metadata.get("tokenizer.ggml.pre").and_then(|value| value.to_string().ok());
        tokenizer.with_pre_tokenizer(Some(pre_tokenizer(split.map_or("gpt-2", String::as_str))?));
        // A text that looks like a control token stays a text.
        tokenizer.set_encode_special_tokens(true);
        let list = |key: &str| content.metadata.get(key).and_then(|value| value.to_vec().ok());
        let names = list("tokenizer.ggml.tokens").map_or(&[][..], Vec::as_slice);
        let kinds = list("tokenizer.ggml.token_type").map_or(&[][..], Vec::as_slice);
        let token = |(at, name): (usize, &Value)| token(name, kinds.get(at));
        let tokens = names.iter().enumerate().map(token).collect::<Result<_, _>>()?;
        let end = content.metadata.get("tokenizer.ggml.eos_token_id").and_then(|value| value.to_u32().ok());
        Ok(Vocabulary { tokenizer, tokens, end })
    }

    /// A text as tokens. None of them is a control token.
    pub(super) fn text(&self, text: &str) -> Result<Vec<u32>, Error> {
        let encoded = self.tokenizer.encode_fast(text, false);
        Ok(encoded.map_err(|error| unusable(quoted(&error.to_string())))?.get_ids().to_vec())
    }

    /// A token by its name.
    pub(super) fn token(&self, name: &str) -> Option<u32> {
        self.tokenizer.token_to_id(name)
    }

    /// What a token says.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        match self.tokens.get(token as usize) {
            Some(Token::Bytes(bytes)) => bytes,
            Some(Token::Control) | None => &[],
        }
    }

    /// True if nothing comes after this token.
    pub(super) fn is_end(&self, token: u32) -> bool {
        self.end == Some(token)
    }
}

/// What splits a text before byte pairs are joined, by the name that the file has for it.
fn pre_tokenizer(name: &str) -> Result<PreTokenizerWrapper, Error> {
    let whole = |use_regex: bool| ByteLevel::new(false, true, use_regex);
    match name {
        "default" | "gpt-2" | "gpt2" => Ok(whole(true).into()),
        "smollm" => Ok(Sequence::new(vec![Digits::new(true).into(), whole(true).into()]).into()),
        "llama-bpe" | "llama3" => {
            let pattern = SplitPattern::Regex(LLAMA_3.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
            let split = split.map_err(|error| unusable(quoted(&error.to_string())))?;
            Ok(Sequence::new(vec![split.into(), whole(false).into()]).into())
        }
        _ => Err(unusable(format!("its texts are split as in `{}`, which is not known", quoted(name)))),
    }
}

/// A token as the file has it: of those that are not written as bytes, the ones that a user defined are a text.
fn token(name: &Value, kind: Option<&Value>) -> Result<Token, Error> {
    const NORMAL: i32 = 1;
    const USER_DEFINED: i32 = 4;
    let name = name.to_string().map_err(|error| unreadable(&error))?;
    let kind = match kind {
        None => NORMAL,
        Some(Value::U32(kind)) => i32::try_from(*kind).unwrap_or_default(),
        Some(kind) => kind.to_i32().map_err(|error| unreadable(&error))?,
    };
    match kind {
        NORMAL => Ok(name.chars().map(byte).collect::<Option<_>>().map_or(Token::Control, Token::Bytes)),
        USER_DEFINED => Ok(Token::Bytes(name.clone().into_bytes())),
        _ => Ok(Token::Control),
    }
}

/// The byte that a character of a token's name stands for: printable ones for themselves, the others for those that are left,
/// in their order from U+0100 on.
fn byte(character: char) -> Option<u8> {
    let is_itself = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(character) {
        code @ 0..=0xff => u8::try_from(code).ok().filter(is_itself),
        code => (0..=0xff).filter(|byte| !is_itself(byte)).nth(code as usize - 0x100),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        let bytes: BTreeSet<u8> = (0..0x144).filter_map(char::from_u32).filter_map(byte).collect();
        assert_eq!(bytes.len(), 256);
        assert_eq!(
            (byte('a'), byte('Ġ'), byte('Ċ'), byte(' '), byte('ń')),
            (Some(b'a'), Some(b' '), Some(b'\n'), None, None)
        );
    }
}
