//! Who answers requests to language models: the providers of the policy, and those that a program brings along.
//!
//! Making one ready sends nothing. A key is looked for in the environment or a file when a provider is made ready, and goes
//! nowhere but into the header, or to the program, that it is for.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use url::Url;

use crate::{
    Context, Trust, Wanted,
    call::{
        key::KeyPlace,
        llm::orchestrators::{ADD, EMBEDDED, Orchestrators, is_any, names},
    },
};
use base::error::{Code, Error, nearest};
use llm::{
    Capabilities, Command, CommandOptions, Heuristic, Http, LlmRequest, Model, Orchestrator, Reply, Wire, WireOptions,
    Written, dialect,
};
use service::exec;
use system::{
    net::{Cancel, Secret, is_loopback},
    policy::{HEURISTIC, LlmProvider, Policy},
};

/// The dialect of a provider that is a program.
const COMMAND: &str = "command";

/// Variables of the environment that a program receives, beside its key.
const PASSED_ON: [&str; 2] = ["HOME", "PATH"];

/// The provider that a reply names if recorded replies answer and no provider is configured.
const RECORDED: &str = "cassettes";

/// A provider that is ready to be asked.
#[derive(Clone)]
pub(crate) struct Provider {
    /// Its name in the policy.
    pub(crate) name: String,
    /// The client that answers requests.
    pub(crate) orchestrator: Arc<dyn Orchestrator>,
    /// The settings in the policy; the defaults if the policy has none.
    pub(crate) settings: LlmProvider,
    /// True if recorded replies stand for it, so that nobody reaches it.
    is_absent: bool,
    known: Arc<OnceLock<Capabilities>>,
}

/// In place of a provider that is not reached.
struct Absent;

/// A program or server that is reached only if the policy that names it is trusted.
struct Guarded<T> {
    inner: T,
    trust: Trust,
    wanted: Option<Wanted>,
    /// True if it is reached to learn what it can do.
    is_server: bool,
}

impl<T> Guarded<T> {
    fn check(&self) -> Result<(), Error> {
        self.wanted.as_ref().and_then(|wanted| self.trust.refusal(wanted)).map_or(Ok(()), Err)
    }
}

impl<T: Orchestrator> Orchestrator for Guarded<T> {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        if self.is_server {
            self.check()?;
        }
        self.inner.capabilities()
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        self.check()?;
        self.inner.answer(request, cancel, on_token)
    }
}

impl Orchestrator for Absent {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(Capabilities::default())
    }

    fn answer(&self, _: &LlmRequest, _: &Cancel, _: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        Err(Error::new(Code::Internal, "a provider was asked that must not be reached"))
    }
}

impl Provider {
    /// Makes a provider ready. Nothing is sent.
    pub(crate) fn of(context: &Context, policy: &Policy, name: &str) -> Result<Provider, Error> {
        let settings = policy.settings().llm.providers.get(name);
        let orchestrator = match (context.options.orchestrators.find(name), settings) {
            (Some(added), _) => Arc::clone(added),
            (None, Some(settings)) => {
                let making = Making { context, policy, name, settings };
                making.orchestrator().map_err(|error| error.within(format_args!("the provider `{name}`")))?
            }
            (None, None) if name == HEURISTIC => heuristic(context, policy)?,
            (None, None) => return Err(unknown(policy, &context.options.orchestrators, name)),
        };
        let dialect = if context.options.orchestrators.find(name).is_some() { EMBEDDED } else { HEURISTIC };
        let own = || LlmProvider { dialect: dialect.to_owned(), ..LlmProvider::default() };
        let settings = settings.cloned().unwrap_or_else(own);
        Ok(Provider { name: name.to_owned(), orchestrator, settings, is_absent: false, known: Arc::default() })
    }

    /// A provider that nobody has to reach, since recorded replies alone answer: its key is not even looked for.
    pub(crate) fn absent(policy: &Policy, name: &str) -> Provider {
        let settings = policy.settings().llm.providers.get(name).cloned();
        // Where nothing is configured, nobody would have been asked by that name.
        let name = settings.as_ref().map_or(RECORDED, |_| name).to_owned();
        let settings = settings.unwrap_or_default();
        Provider { name, orchestrator: Arc::new(Absent), settings, is_absent: true, known: Arc::default() }
    }

    /// True if recorded replies stand for it, or those of a person.
    pub(super) fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// The same, of which a reply is ready: it costs nothing.
    pub(super) fn answering(mut self, reply: Written) -> Provider {
        self.orchestrator = Arc::new(reply);
        (self.settings.prices, self.settings.rate_per_min) = (None, None);
        self
    }

    /// True if a request to it starts a program that the policy names.
    pub(crate) fn starts_program(&self, added: &Orchestrators) -> bool {
        !self.is_absent && self.settings.dialect == COMMAND && added.find(&self.name).is_none()
    }

    /// True if it is a server that is sent something, a question for its models among that, only under a policy that is trusted.
    pub(crate) fn is_guarded_server(&self, added: &Orchestrators) -> bool {
        self.settings.needs_trust_to_send() && !self.is_absent && added.find(&self.name).is_none()
    }

    /// Returns the configured capabilities, completed by those that the provider reports. It is asked once; an error is not remembered.
    pub(crate) fn capabilities(&self) -> Result<Capabilities, Error> {
        if let Some(known) = self.known.get() {
            return Ok(known.clone());
        }
        let known = configured(&self.settings, None).or(self.orchestrator.capabilities()?);
        Ok(self.known.get_or_init(|| known).clone())
    }

    /// The model of a request that names this one, or none: then the one that the policy names, or the only one that is known.
    pub(crate) fn model(&self, asked: Option<&str>, known: &Capabilities) -> Result<String, Error> {
        if let Some(model) = asked.or(self.settings.model.as_deref()) {
            return Ok(model.to_owned());
        }
        let wrong = |message: &str| Error::new(Code::InvalidInput, message).detail("field", "model");
        let mut names = known.models().keys();
        match (names.next(), names.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) => Err(wrong("the request names no model, and none is known")
                .hint(format!("name one, or set `llm.providers.{}.model`", self.name))),
            (Some(_), Some(_)) => {
                let names: Vec<String> = known.models().keys().map(|name| format!("`{name}`")).collect();
                Err(wrong("the request names no model, and there are several")
                    .hint(format!("name one of {}", names.join(", "))))
            }
        }
    }
}

fn unknown(policy: &Policy, added: &Orchestrators, name: &str) -> Error {
    let names = names(policy, added);
    let error = Error::new(Code::NotFound, format!("there is no provider `{}`", name.escape_debug()));
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None if !is_any(policy, added) => error.hint(ADD),
        None => error.hint(format!("there are {}; `[llm.providers.NAME]` of `nrv.toml` adds one", names.join(", "))),
    }
}

/// Returns the configured capabilities of the model that the policy names, or of `other` if it names none.
fn configured(settings: &LlmProvider, other: Option<&str>) -> Capabilities {
    let LlmProvider { context_tokens, max_output_tokens, tools, structured_output, .. } = *settings;
    let model = Model { context_tokens, max_output_tokens, tools, structured_output, ..Model::default() };
    let name = settings.model.as_deref().or(other);
    Capabilities::new(name.map(|name| (name.to_owned(), model)))
}

/// The table of patterns, which requests the adapters that runs may use.
fn heuristic(context: &Context, policy: &Policy) -> Result<Arc<dyn Orchestrator>, Error> {
    let approved = policy.settings().adapters.approved.as_ref();
    let adapters = context.options.adapters.all();
    let names = adapters.iter().map(|adapter| adapter.name());
    let names = names.filter(|name| approved.is_none_or(|list| list.iter().any(|known| known == name)));
    Ok(Arc::new(Heuristic::new(names.map(str::to_owned))?))
}

/// A provider of the policy that is being made ready.
struct Making<'a> {
    context: &'a Context,
    policy: &'a Policy,
    name: &'a str,
    settings: &'a LlmProvider,
}

impl Making<'_> {
    fn orchestrator(&self) -> Result<Arc<dyn Orchestrator>, Error> {
        match self.settings.dialect.as_str() {
            HEURISTIC => heuristic(self.context, self.policy),
            COMMAND => self.command(),
            _ => self.server(),
        }
    }

    /// The error of what the policy says, with the place where it says so.
    fn wrong(&self, key: &str, message: String) -> Error {
        let origin = self.policy.origin(&format!("llm.providers.{}.{key}", self.name));
        Error::new(Code::InvalidPolicy, format!("{message} ({origin})"))
    }

    fn server(&self) -> Result<Arc<dyn Orchestrator>, Error> {
        let dialect = dialect::named(&self.settings.dialect)?;
        let Some(base_url) = &self.settings.base_url else {
            return Err(self.wrong("dialect", "it has no `base_url`".to_owned()).hint(dialect.doc()));
        };
        let key = self.key()?;
        let is_plain = |url: &Url| url.scheme() == "http" && !is_loopback(url);
        if key.is_some() && Url::parse(base_url).is_ok_and(|url| is_plain(&url)) {
            let message = format!("its key would go over plain http to `{}`", base_url.escape_debug());
            return Err(self.wrong("base_url", message).hint("use https; only this machine may be asked without it"));
        }
        let sender = self.context.options.network.sender(base_url).map_err(|failure| {
            Error::new(Code::InvalidInput, format!("its server can't be reached: {failure}")).hint(
                "correct `base_url`, or the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE of the environment",
            )
        })?;
        let models = configured(self.settings, None);
        let options = WireOptions { dialect, base_url: base_url.clone(), models, stream: self.settings.stream };
        let wire = Wire::new(options, Http::new(sender, key));
        Ok(if self.settings.needs_trust_to_send() { self.guarded(wire, true) } else { Arc::new(wire) })
    }

    fn command(&self) -> Result<Arc<dyn Orchestrator>, Error> {
        let [name, args @ ..] = self.settings.program.as_slice() else {
            return Err(self
                .wrong("dialect", "it has no `program`".to_owned())
                .hint("`program = [\"NAME\", \"ARGUMENT\", …]` says what is to be started"));
        };
        let environment = &self.context.options.environment;
        let program = match Path::new(name).is_absolute() {
            true => PathBuf::from(name),
            false if name.contains('/') => {
                let message = format!("`{}` is a relative path", name.escape_debug());
                return Err(self
                    .wrong("program", message)
                    .hint("give an absolute path, or a name that is looked for in `PATH`"));
            }
            false => exec::look_up(name, environment.get("PATH"))?,
        };
        for path in [program.as_path()].into_iter().chain(args.iter().map(Path::new)) {
            self.check_outside(path)?;
        }
        if self.settings.api_key_file.is_some() {
            return Err(self
                .wrong("api_key_file", "a program gets no key out of a file".to_owned())
                .hint("name the variable that holds it with `api_key_env`, or let the program read the file"));
        }
        let passed = PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), environment.get(*name)?.clone())));
        let key = self.settings.api_key_env.clone().zip(self.key()?);
        let options = CommandOptions {
            program,
            name: name.clone(),
            args: args.to_vec(),
            environment: passed.collect(),
            key,
            supervisor: self.context.options.program.clone(),
            models: configured(self.settings, Some(self.name)),
        };
        Ok(self.guarded(Command::new(options), false))
    }

    /// The same, which is reached only if the policy of the workspace is trusted.
    fn guarded(&self, inner: impl Orchestrator + 'static, is_server: bool) -> Arc<dyn Orchestrator> {
        let wanted = self.context.wanted(&self.context.policy);
        Arc::new(Guarded { inner, trust: self.context.options.trust.clone(), wanted, is_server })
    }

    /// Refuses what lies in the workspace: a run could write what the next one starts or reads, and nothing confines it.
    fn check_outside(&self, path: &Path) -> Result<(), Error> {
        let root = self.context.workspace.root();
        let is_inside = |path: &Path| path.is_absolute() && path.starts_with(root);
        if !is_inside(path) && !path.canonicalize().is_ok_and(|real| path.is_absolute() && is_inside(&real)) {
            return Ok(());
        }
        let message = format!("`{}` lies in the workspace, where runs can write it", path.display());
        Err(self.wrong("program", message).hint("keep it outside of the workspace"))
    }

    /// Its key, if it has one.
    fn key(&self) -> Result<Option<Secret>, Error> {
        let LlmProvider { api_key_env, api_key_file, .. } = self.settings;
        let place = KeyPlace {
            variable: api_key_env.as_deref(),
            file: api_key_file.as_deref(),
            file_key: format!("llm.providers.{}.api_key_file", self.name),
        };
        place.read(self.context, self.policy)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use serde_json::json;

    use super::*;
    use crate::Options;
    use crate::call::llm::orchestrators::name;
    use llm::LlmRequest;
    use std::collections::BTreeMap;
    use system::{
        net::{Cancel, Way},
        workspace::Workspace,
    };

    /// A workspace, a folder beside it, and the environment of the program.
    struct Place {
        folder: tempfile::TempDir,
        context: Context,
    }

    impl Place {
        fn new(variables: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("tree");
            fs::create_dir(&root).unwrap();
            let environment: BTreeMap<String, String> =
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let network = Way::of(&environment);
            let options = Options { environment, network, ..Options::default() };
            let context = Context::new(Workspace::open(&root).unwrap(), options).unwrap();
            Place { folder, context }
        }

        fn make(&self, settings: &LlmProvider) -> Result<Arc<dyn Orchestrator>, Error> {
            let (context, policy) = (&self.context, &self.context.policy);
            Making { context, policy, name: "p", settings }.orchestrator()
        }

        #[track_caller]
        fn refuses(&self, settings: &LlmProvider, code: Code, words: &str) {
            let error = self.make(settings).err().unwrap();
            assert_eq!(error.code(), code, "{error:?}");
            assert!(error.message().contains(words) && error.hint_text().is_some(), "{error:?}");
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
    }

    fn server(base_url: &str) -> LlmProvider {
        let dialect = "openai_chat".to_owned();
        LlmProvider { dialect, base_url: Some(base_url.to_owned()), ..LlmProvider::default() }
    }

    fn with_key(base_url: &str) -> LlmProvider {
        LlmProvider { api_key_env: Some("KEY".to_owned()), ..server(base_url) }
    }

    fn command(program: &[&str]) -> LlmProvider {
        let program = program.iter().map(|word| (*word).to_owned()).collect();
        LlmProvider { dialect: COMMAND.to_owned(), program, ..LlmProvider::default() }
    }

    #[test]
    fn a_key_goes_over_plain_http_to_this_machine_only() {
        let place = Place::new(&[("KEY", "sk-canary-1")]);
        for url in ["http://127.0.0.1:8080/v1", "http://localhost:1", "http://[::1]:1", "https://api.example"] {
            place.make(&with_key(url)).unwrap();
        }
        place.make(&server("http://192.0.2.1/v1")).unwrap();
        for url in ["http://192.0.2.1/v1", "http://localhost.example/v1", "HTTP://api.example"] {
            place.refuses(&with_key(url), Code::InvalidPolicy, "over plain http");
        }
    }

    #[test]
    fn a_key_that_is_not_there_is_named_by_its_variable() {
        let url = "https://api.example/v1";
        Place::new(&[]).refuses(&with_key(url), Code::NotFound, "`KEY`, which holds its key, is not set");
        for odd in [" ", "sk-canary 1", "sk-canary\nsk-canary"] {
            Place::new(&[("KEY", odd)]).refuses(&with_key(url), Code::NotFound, "is empty or holds no key");
        }
    }

    #[test]
    fn a_key_file_is_found_from_the_home_and_not_in_the_workspace() {
        let place = Place::new(&[]);
        let home = place.folder.path();
        let context = &place.context;
        let file = home.join("key");
        fs::write(&file, "sk-canary-1").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let environment = BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]);
        let options = Options { environment, ..context.options.clone() };
        let context = Context::new(Workspace::open(context.workspace.root()).unwrap(), options).unwrap();
        let place = Place { context, folder: place.folder };
        let of = |path: &str| LlmProvider { api_key_file: Some(path.to_owned()), ..server("https://api.example") };
        place.make(&of("~/key")).unwrap();
        place.make(&of(file.to_str().unwrap())).unwrap();
        place.refuses(&of("key"), Code::InvalidPolicy, "is no absolute path");
        fs::copy(&file, place.context.workspace.root().join("key")).unwrap();
        place.refuses(&of("~/tree/key"), Code::Unreadable, "lies in the workspace");
    }

    #[test]
    fn a_proxy_that_can_not_be_used_is_an_error_and_not_passed_by() {
        let place = Place::new(&[("ALL_PROXY", "socks5://user:canary@h:1")]);
        place.refuses(&server("https://api.example/v1"), Code::InvalidInput, "the proxy is no");
        place.make(&server("http://127.0.0.1:1/v1")).unwrap();
        place.refuses(&server("api.example"), Code::InvalidInput, "the URL is none");
    }

    #[test]
    fn a_program_is_looked_for_in_the_path_and_never_in_the_workspace() {
        let place = Place::new(&[("PATH", "/usr/bin:/bin")]);
        place.make(&command(&["sh", "-c", "true"])).unwrap();
        place.make(&command(&["/bin/sh"])).unwrap();
        let with_file = LlmProvider { api_key_file: Some("/key".to_owned()), ..command(&["sh"]) };
        place.refuses(&with_file, Code::InvalidPolicy, "no key out of a file");
        place.refuses(&command(&[]), Code::InvalidPolicy, "has no `program`");
        place.refuses(&command(&["./sh"]), Code::InvalidPolicy, "is a relative path");
        place.refuses(&command(&["no-such-program"]), Code::NotFound, "`no-such-program` is not found");
        let inside = place.context.workspace.root().join("answer.sh");
        fs::write(&inside, "").unwrap();
        place.refuses(&command(&[inside.to_str().unwrap()]), Code::InvalidPolicy, "lies in the workspace");
        place.refuses(&command(&["sh", inside.to_str().unwrap()]), Code::InvalidPolicy, "lies in the workspace");
        let link = place.folder.path().join("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        place.refuses(&command(&[link.to_str().unwrap()]), Code::InvalidPolicy, "lies in the workspace");
    }

    #[test]
    fn without_a_provider_a_table_answers_and_requests_what_is_approved() {
        let place = Place::new(&[]);
        let asked = |policy: &Policy| {
            let provider =
                Provider::of(&place.context, policy, &name(policy, &Orchestrators::default(), None)).unwrap();
            let request = LlmRequest::builder(provider.capabilities().unwrap()).model("heuristic");
            let request = request.prompt("replace a.example with b.example").build().unwrap();
            provider.orchestrator.answer(&request, &Cancel::default(), &mut |_| {})
        };
        assert!(asked(&Policy::default()).unwrap().text.contains("link_updater"));
        let none = Policy::parse("adapters.approved = []", "nrv.toml").unwrap();
        assert_eq!(llm::kind(&asked(&none).unwrap_err()), Some(llm::Kind::Refusal));
        let error = Provider::of(&place.context, &none, "heuristik").err().unwrap();
        assert_eq!((error.code(), error.hint_text()), (Code::NotFound, Some("did you mean `heuristic`?")));
    }

    /// Counts how often it is asked what it can do.
    struct Counting(Arc<std::sync::atomic::AtomicU32>);

    impl Orchestrator for Counting {
        fn capabilities(&self) -> Result<Capabilities, Error> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok(Capabilities::new([("m".to_owned(), Model::default())]))
        }

        fn answer(&self, _: &LlmRequest, _: &Cancel, _: &mut dyn FnMut(&str)) -> Result<llm::Reply, Error> {
            Ok(llm::Reply::of_text("m", ""))
        }
    }

    #[test]
    fn a_provider_is_asked_once_what_it_can_do() {
        let mut place = Place::new(&[]);
        let count = Arc::default();
        place.context.options.orchestrators = Orchestrators::default().with("own", Counting(Arc::clone(&count)));
        let (context, policy) = (&place.context, &place.context.policy);
        assert_eq!(name(policy, &context.options.orchestrators, None), "own");
        assert_eq!(names(policy, &context.options.orchestrators), ["heuristic", "own"]);
        let provider = Provider::of(context, policy, "own").unwrap();
        for provider in [provider.clone(), provider] {
            assert_eq!(json!(provider.capabilities().unwrap()), json!({"m": {}}));
        }
        assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
    }

    #[test]
    fn what_is_configured_is_known_of_the_model_that_is_configured() {
        let settings = LlmProvider { model: Some("m".to_owned()), context_tokens: Some(9), ..LlmProvider::default() };
        assert_eq!(json!(configured(&settings, None)), json!({"m": {"context_tokens": 9}}));
        assert_eq!(json!(configured(&LlmProvider::default(), Some("p"))), json!({"p": {}}));
        assert_eq!(json!(configured(&LlmProvider::default(), None)), json!({}));
    }
}
