//! A model with random weights, made in memory: what it says means nothing, but it says it in every way that a model does.
#![expect(clippy::disallowed_methods, reason = "a test starts itself again with another number of threads")]
#![expect(clippy::print_stdout, reason = "and is told what that says")]

use std::{io::Cursor, process::Command};

use candle_core::{
    Device, Tensor,
    quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Value},
    },
};
use serde_json::json;

use super::{super::error::kind, *};
use crate::{
    base::{error::Code, seed::Stream},
    service::llm::{LlmClientConfig, LlmRequestBuilder, Message, Role, Timeouts, client},
};

const WIDTH: usize = 64;
const CONTROL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// The characters that stand for the 256 bytes, in the order of the bytes that are themselves and then the others.
fn byte_names() -> Vec<String> {
    let own = (0_u32..256).filter(|byte| matches!(byte, 33..=126 | 161..=172 | 174..=255));
    own.chain(256..324).filter_map(char::from_u32).map(String::from).collect()
}

fn metadata(architecture: &str, split: &str) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::String(text.to_owned());
    let texts = |texts: Vec<String>| Value::Array(texts.into_iter().map(Value::String).collect());
    let names: Vec<String> =
        CONTROL.map(str::to_owned).into_iter().chain(byte_names()).chain(["ab".to_owned()]).collect();
    let kinds = (0..names.len()).map(|at| Value::I32(if at < CONTROL.len() { 3 } else { 1 })).collect();
    let number = |number: usize| Value::U32(u32::try_from(number).unwrap());
    vec![
        ("general.architecture", text(architecture)),
        ("llama.attention.head_count", number(4)),
        ("llama.attention.head_count_kv", number(2)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.block_count", number(2)),
        ("llama.context_length", number(512)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.rope.dimension_count", number(WIDTH / 4)),
        ("tokenizer.ggml.eos_token_id", number(0)),
        ("tokenizer.ggml.merges", texts(vec!["a b".to_owned()])),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text(split)),
        ("tokenizer.ggml.token_type", Value::Array(kinds)),
        ("tokenizer.ggml.tokens", texts(names)),
    ]
}

fn tensors() -> Vec<(String, QTensor)> {
    let mut chance = Stream::new(1, "weights");
    let mut tensor = |name: &str, shape: (usize, usize), scale: f32| {
        let one = |_| ((chance.next_u64() >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale;
        let values: Vec<f32> = (0..shape.0 * shape.1).map(one).collect();
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        (name.to_owned(), QTensor::quantize(&tensor, GgmlDType::Q8_0).unwrap())
    };
    let n_tokens = CONTROL.len() + 257;
    let mut all =
        vec![tensor("token_embd.weight", (n_tokens, WIDTH), 1.0), tensor("output.weight", (n_tokens, WIDTH), 0.6)];
    for block in 0..2 {
        for (name, shape) in [
            ("attn_q", (WIDTH, WIDTH)),
            ("attn_k", (WIDTH / 2, WIDTH)),
            ("attn_v", (WIDTH / 2, WIDTH)),
            ("attn_output", (WIDTH, WIDTH)),
            ("ffn_gate", (2 * WIDTH, WIDTH)),
            ("ffn_up", (2 * WIDTH, WIDTH)),
            ("ffn_down", (WIDTH, 2 * WIDTH)),
        ] {
            all.push(tensor(&format!("blk.{block}.{name}.weight"), shape, 0.2));
        }
    }
    let norms = ["blk.0.attn_norm", "blk.0.ffn_norm", "blk.1.attn_norm", "blk.1.ffn_norm", "output_norm"];
    all.extend(norms.map(|name| {
        let ones = Tensor::ones(WIDTH, candle_core::DType::F32, &Device::Cpu).unwrap();
        (format!("{name}.weight"), QTensor::quantize(&ones, GgmlDType::F32).unwrap())
    }));
    all
}

fn file(architecture: &str, split: &str) -> Cursor<Vec<u8>> {
    let (metadata, tensors) = (metadata(architecture, split), tensors());
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(name, value)| (*name, value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &metadata, &tensors).unwrap();
    file.set_position(0);
    file
}

fn model() -> Gguf {
    Gguf::read("tiny", file("llama", "gpt-2")).unwrap()
}

fn asking(model: &Gguf) -> LlmRequestBuilder {
    LlmRequest::builder(model.capabilities().unwrap()).model("tiny").prompt("hi").max_tokens(24)
}

fn answer(model: &Gguf, request: LlmRequestBuilder) -> Result<(Vec<String>, Reply), Error> {
    let mut pieces = Vec::new();
    let request = request.build()?;
    let reply = model.answer(&request, &Cancel::default(), &mut |piece| pieces.push(piece.to_owned()))?;
    Ok((pieces, reply))
}

#[test]
fn a_reply_comes_in_pieces_and_is_counted() {
    let model = model();
    let (pieces, reply) = answer(&model, asking(&model)).unwrap();
    assert!(pieces.len() > 4 && pieces.concat() == reply.text, "{pieces:?} {reply:?}");
    assert_eq!((reply.finish, reply.usage.output_tokens), (Finish::Length, Some(24)));
    // `user`, a line and `hi`, a line after it, `assistant` and a line, with three tokens of control.
    assert_eq!(reply.usage.input_tokens, Some("user\nhi".len() as u64 + 1 + "assistant\n".len() as u64 + 3));
    assert_eq!((reply.model.as_deref(), reply.model_requested.as_str()), (Some("tiny"), "tiny"));
}

#[test]
fn chance_follows_the_seed() {
    let model = model();
    let text = |seed: u64| answer(&model, asking(&model).temperature(1.0).seed(seed)).unwrap().1.text;
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
    let greedy = || answer(&model, asking(&model).temperature(0.0)).unwrap().1.text;
    assert_eq!(greedy(), greedy());
}

/// The number of threads belongs to the whole process, so that this one starts itself again.
#[test]
fn every_number_of_threads_gives_the_same_text() {
    let request = |model: &Gguf| asking(model).temperature(0.7).seed(3).prompt("x".repeat(40)).max_tokens(12);
    let model = model();
    let told = json!(answer(&model, request(&model)).unwrap().1.text).to_string();
    if std::env::var_os("RAYON_NUM_THREADS").is_some() {
        println!("told: {told}");
        return;
    }
    let name = "service::llm::gguf::tests::every_number_of_threads_gives_the_same_text";
    for threads in ["1", "2"] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.env("RAYON_NUM_THREADS", threads).args(["--exact", name, "--nocapture"]).output().unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.contains(&format!("told: {told}\n")), "{threads} threads: {output}, not {told}");
    }
}

#[test]
fn a_reply_ends_at_a_stop() {
    let model = model();
    let whole = answer(&model, asking(&model)).unwrap().1.text;
    let stop: String = whole.chars().skip(6).take(2).collect();
    let (pieces, reply) = answer(&model, asking(&model).stop(stop.clone())).unwrap();
    assert_eq!((reply.finish, reply.text.as_str()), (Finish::Stop, whole.split(&stop).next().unwrap()));
    assert_eq!(pieces.concat(), reply.text);
}

#[test]
fn a_message_can_not_contain_a_token_of_control() {
    let vocabulary = model().vocabulary;
    let text = "ab <|im_end|>";
    let tokens = vocabulary.text(text).unwrap();
    assert!(tokens.iter().all(|token| *token >= 3), "{tokens:?}");
    assert_eq!(tokens.len(), text.len() - 1, "`ab` is one token");
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| vocabulary.bytes(*token).to_vec()).collect();
    assert_eq!(bytes, text.as_bytes());
    let odd = "é ü\n\t€ \u{1f600} \u{0}";
    let bytes: Vec<u8> =
        vocabulary.text(odd).unwrap().iter().flat_map(|token| vocabulary.bytes(*token).to_vec()).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), odd);
}

#[test]
fn what_does_not_fit_the_context_is_not_cut() {
    let model = model();
    let long = answer(&model, asking(&model).prompt("x ".repeat(250))).unwrap_err();
    assert_eq!(kind(&long), Some(Kind::ContextOverflow), "{long}");
    let error = asking(&model).max_tokens(513).build().unwrap_err();
    assert_eq!(error.details()["field"], "max_tokens");
    let mut open = LlmRequest::builder(model.capabilities().unwrap()).model("tiny").prompt("x".repeat(480));
    open = open.temperature(1.0).seed(1);
    assert!(answer(&model, open).unwrap().1.usage.output_tokens <= Some(512 - 480));
}

#[test]
fn what_it_does_not_know_is_refused() {
    let model = model();
    let result = Message { tool_call_id: Some("1".to_owned()), ..Message::new(Role::Tool, "22 °C") };
    let error = answer(&model, asking(&model).message(result)).unwrap_err();
    assert_eq!((error.code(), &error.details()["field"]), (Code::InvalidInput, &json!("messages")));
    // Nothing enforces the schema while it is written.
    let request = asking(&model).schema(json!({"type": "object"})).build().unwrap();
    assert_eq!(request.wire_schema(), None);
    let error = client(LlmClientConfig::new(model)).unwrap().complete(request).unwrap_err();
    assert!(matches!(kind(&error), Some(Kind::Truncated | Kind::MalformedJson)), "{error}");
}

#[test]
fn who_cancels_or_waits_too_long_stops_it() {
    let model = model();
    let cancel = Cancel::default();
    let mut n_pieces = 0;
    let request = asking(&model).max_tokens(400).build().unwrap();
    let error = model.answer(&request, &cancel, &mut |_| {
        n_pieces += 1;
        cancel.cancel();
    });
    assert_eq!((error.unwrap_err().code(), n_pieces), (Code::Cancelled, 1));
    let hurried = asking(&model).max_tokens(400).timeouts(Timeouts { read_ms: 1, total_ms: 1 });
    assert_eq!(kind(&answer(&model, hurried).unwrap_err()), Some(Kind::Timeout));
}

#[test]
fn a_file_that_can_not_be_used_says_why() {
    let whole = file("llama", "gpt-2").into_inner();
    for (file, words) in [
        (file("qwen2", "gpt-2"), "`qwen2`"),
        (file("llama", "tekken"), "`tekken`"),
        (Cursor::new(b"no model".to_vec()), "can't be used"),
        (Cursor::new(whole[..whole.len() / 2].to_vec()), "can't be used"),
    ] {
        let error = Gguf::read("m", file).unwrap_err();
        assert_eq!((error.code(), &error.details()["field"]), (Code::InvalidInput, &json!("model_file")));
        assert!(error.message().contains(words), "{error}");
    }
}
