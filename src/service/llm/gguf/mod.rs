//! A model in the program's own process: weights from a GGUF file of the Llama architecture, and no server.
//!
//! It reads the file that it is given and reaches nothing else. Replies are the same, bit for bit, for the same file, request and seed, on however
//! many threads. A schema is not enforced while the model writes; like every reply, this one is checked afterwards.

mod sampler;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod vocabulary;

use std::{
    collections::BTreeSet,
    fmt,
    fs::File,
    io::{BufReader, Read, Seek},
    path::Path,
};

use candle_core::{Device, Tensor, quantized::gguf_file::Content};
use candle_transformers::models::quantized_llama::{MAX_SEQ_LEN, ModelWeights};

use self::{
    sampler::Sampler,
    template::Template,
    text::{Next, Text},
    vocabulary::Vocabulary,
};
use super::{
    capabilities::{Capabilities, Model, Workload},
    client::Orchestrator,
    error::{Kind, cancelled, lasting, passing, quoted},
    event::{Finish, Reply, Usage},
    request::{LlmRequest, wrong},
};
use crate::{
    base::error::Error,
    system::{clock::Stopwatch, net::Cancel},
};

/// How many tokens of a prompt are read at once; in between it can be cancelled.
const CHUNK: usize = 128;

/// The only architecture that is understood.
const ARCHITECTURE: &str = "llama";

/// A model from a GGUF file.
pub struct Gguf {
    name: String,
    weights: ModelWeights,
    vocabulary: Vocabulary,
    template: &'static Template,
    context: usize,
}

impl Gguf {
    /// Reads a model from a file, which is asked for by this name.
    #[expect(clippy::disallowed_methods, reason = "weights are a file of the user, outside of every workspace")]
    pub fn open(name: impl Into<String>, path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let file = File::open(path).map_err(|error| Error::io(format_args!("`{shown}` can't be read"), &error))?;
        Gguf::read(name, BufReader::new(file)).map_err(|error| error.within(format_args!("`{shown}`")))
    }

    /// Reads a model, which is asked for by this name.
    ///
    /// A file that is none, or that needs what is not there, is `invalid_input`.
    pub fn read(name: impl Into<String>, mut file: impl Read + Seek) -> Result<Self, Error> {
        let content = Content::read(&mut file).map_err(|error| unreadable(&error))?;
        let architecture = content.metadata.get("general.architecture").and_then(|value| value.to_string().ok());
        if architecture.is_none_or(|architecture| architecture != ARCHITECTURE) {
            let told = architecture.map_or("none", String::as_str);
            return Err(unusable(format!("its architecture is `{}`, not `{ARCHITECTURE}`", quoted(told))));
        }
        let vocabulary = Vocabulary::of(&content)?;
        let template = Template::of(&vocabulary)?;
        let told = content.metadata.get("llama.context_length").and_then(|value| value.to_u32().ok());
        let context = told.map_or(MAX_SEQ_LEN, |told| MAX_SEQ_LEN.min(told as usize));
        let weights = ModelWeights::from_gguf(content, &mut file, &Device::Cpu).map_err(|error| unreadable(&error))?;
        Ok(Gguf { name: name.into(), weights, vocabulary, template, context })
    }

    /// The prompt as tokens, and how many more there may be.
    fn prompt(&self, request: &LlmRequest) -> Result<(Vec<u32>, usize), Error> {
        let prompt = self.template.render(request.messages(), &self.vocabulary)?;
        let room = self.context.saturating_sub(prompt.len());
        let asked = request.sampling().max_tokens.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
        let max = asked.unwrap_or(room);
        if max == 0 || max > room {
            let message = format!(
                "the prompt has {} tokens, the reply may have {max}, and the context has {}",
                prompt.len(),
                self.context
            );
            return Err(lasting(Kind::ContextOverflow, message));
        }
        Ok((prompt, max))
    }

    /// Writes until there is a reason to stop.
    fn write(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        let (prompt, max) = self.prompt(request)?;
        let mut reading =
            Reading { weights: self.weights.clone(), position: 0, request, cancel, watch: Stopwatch::start() };
        let mut sampler = Sampler::new(request.sampling());
        let mut text = Text::new(&request.sampling().stop);
        let mut logits = reading.read(&prompt)?;
        let mut n_tokens = 0;
        let finish = loop {
            let token = sampler.choose(&logits)?;
            n_tokens += 1;
            if self.template.is_end(token, &self.vocabulary) {
                break Finish::Stop;
            }
            let next = text.push(self.vocabulary.bytes(token));
            text.news().into_iter().for_each(&mut *on_token);
            match next {
                Next::Stop => break Finish::Stop,
                Next::More if n_tokens == max => break Finish::Length,
                Next::More => logits = reading.read(&[token])?,
            }
        };
        let (text, rest) = text.end();
        if !rest.is_empty() {
            on_token(&rest);
        }
        let count = |n: usize| Some(n as u64);
        let usage = Usage { input_tokens: count(prompt.len()), cached_tokens: Some(0), output_tokens: count(n_tokens) };
        Ok(Reply { model_requested: request.model().to_owned(), finish, usage, ..Reply::of_text(&self.name, text) })
    }
}

impl Orchestrator for Gguf {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        let model = Model {
            context_tokens: Some(self.context as u64),
            workloads: Some(BTreeSet::from([Workload::Chat])),
            tools: Some(false),
            structured_output: Some(false),
            ..Model::default()
        };
        Ok(Capabilities::new([(self.name.clone(), model)]))
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        if request.messages().is_empty() {
            return Err(wrong("messages", "the request says nothing").hint("give a prompt, or messages"));
        }
        self.write(request, cancel, on_token)
    }
}

impl fmt::Debug for Gguf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gguf").field("name", &self.name).field("context", &self.context).finish_non_exhaustive()
    }
}

/// What one request has read. The weights are shared; what was seen of the text is its own.
struct Reading<'a> {
    weights: ModelWeights,
    position: usize,
    request: &'a LlmRequest,
    cancel: &'a Cancel,
    watch: Stopwatch,
}

impl Reading<'_> {
    /// Reads on; how probable each token is as the next one.
    fn read(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let mut logits = Vec::new();
        for chunk in tokens.chunks(CHUNK) {
            if self.cancel.is_cancelled() {
                return Err(cancelled());
            }
            if self.watch.elapsed_ms() > self.request.timeouts().total_ms {
                return Err(passing(Kind::Timeout, "the model did not answer in time"));
            }
            logits = self.forward(chunk).map_err(|error| failed(&error))?;
            self.position += chunk.len();
        }
        Ok(logits)
    }

    fn forward(&mut self, tokens: &[u32]) -> candle_core::Result<Vec<f32>> {
        let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
        self.weights.forward(&input, self.position)?.flatten_all()?.to_vec1()
    }
}

/// A file that can't be used as a model.
fn unusable(why: impl fmt::Display) -> Error {
    wrong("model_file", format!("the model's file can't be used: {why}"))
        .hint("give a GGUF file of the Llama architecture that has its vocabulary in it")
}

fn unreadable(error: &candle_core::Error) -> Error {
    unusable(quoted(&error.to_string()))
}

fn failed(error: &candle_core::Error) -> Error {
    lasting(Kind::Server, format!("the model can't be computed: {}", quoted(&error.to_string())))
}
