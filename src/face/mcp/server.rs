//! The requests of the protocol, each handed to who answers it.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::{
    call::{Request, is_stateless},
    hub::Hub,
    prompt, resource,
    run::held,
    script::Completes,
    tool::Offer,
    wire::{Level, redacted},
};
use base::error::{Code, Error};
use flow::tool::{self, Phase};
use host::Context;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo, CustomRequest,
        CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, ServerCapabilities,
        ServerConfig, SubscriptionFilter,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

/// Words for the model at the other end.
const INSTRUCTIONS: &str = "nrv makes changes to the files of this repository: all of a call or nothing, judged by gates, verified by \
another process, recorded, and undone by `rollback`. Look before you write: `files_glob`, `files_grep` and `files_read` read, \
`dta_*_propose` shows the change of an adapter. A call that needs a person's confirmation asks for it; if nobody can be asked, \
its error says how a person approves it, and the same call succeeds after that.";

/// The number of completions.
const COMPLETIONS: usize = CompletionInfo::MAX_VALUES;

/// The methods that later versions of the protocol do not have.
const EARLIER: &[&str] = &["initialize", "logging/setLevel"];

/// The other methods that are answered.
const METHODS: &[&str] = &[
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// A connection to a client.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) hub: Arc<Hub>,
    /// The least severe message that the client wants.
    pub(super) level: Arc<Mutex<Level>>,
}

impl Server {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Server { hub, level: Arc::default() }
    }

    /// Reads the workspace on a thread of its own, since that may take long.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Hub, &Context) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let hub = Arc::clone(&self.hub);
        let read = tokio::task::spawn_blocking(move || read(&hub, &hub.base().context));
        let read = read.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        read.map_err(|error| self.refused(&error))
    }

    /// An error of the protocol.
    fn refused(&self, error: &Error) -> ErrorData {
        let rules = &self.hub.base().context.rules;
        let text = redacted(&error.to_string(), rules);
        match error.code() {
            Code::NotFound => ErrorData::resource_not_found(text, None),
            Code::InvalidInput => ErrorData::invalid_params(text, None),
            _ => ErrorData::internal_error(text, None),
        }
    }
}

impl ServerHandler for Server {
    #[expect(deprecated, reason = "clients of earlier protocol versions take messages")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let own = Implementation::new("nrv", env!("CARGO_PKG_VERSION")).with_title("nrv");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.hub.tell(context.peer);
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        first_page(request)?;
        let read = |hub: &Hub, _: &Context| {
            let base = hub.base();
            Ok(base.tools(hub.setup())?.iter().map(|offer| offer.wire.clone()).collect())
        };
        Ok(ListToolsResult::with_all_items(self.read(read).await?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let level = *held(&self.level);
        Request::of(&self.hub, level, request, context).await?.answer().await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        first_page(request)?;
        Ok(ListResourcesResult::with_all_items(self.read(|hub, context| resource::list(context, &hub.begun())).await?))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        first_page(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let read = self.read(move |hub, context| resource::read(context, &hub.begun(), &request.uri)).await.map_err(
            |error| {
                let data = Some(json!({"uri": uri}));
                ErrorData { data, ..error }
            },
        )?;
        Ok(ReadResourceResult::new(vec![read]).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        first_page(request)?;
        let prompts = self.read(|hub, _| Ok(prompt::list(hub.base().scripts(hub.setup())?))).await?;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let read = move |hub: &Hub, _: &Context| {
            let base = hub.base();
            let arguments = request.arguments.unwrap_or_default();
            prompt::get(&request.name, &arguments, base.scripts(hub.setup())?, base.tools(hub.setup())?)
        };
        let prompt = self.read(read).await.map_err(|mut error| {
            // Of prompts the protocol says so.
            error.code = ErrorCode::INVALID_PARAMS;
            error
        })?;
        Ok(prompt.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = self.read(move |hub, context| completions(hub, context, &request)).await?;
        let more = values.len() > COMPLETIONS;
        let shown = values.into_iter().take(COMPLETIONS).collect();
        let info = CompletionInfo::with_pagination(shown, None, more);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    #[expect(deprecated, reason = "clients of earlier protocol versions choose the level")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        use rmcp::model::LoggingLevel;
        if is_stateless(&context) {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        *held(&self.level) = match request.level {
            LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice => Level::Info,
            LoggingLevel::Warning => Level::Warning,
            LoggingLevel::Error | LoggingLevel::Critical | LoggingLevel::Alert | LoggingLevel::Emergency => {
                Level::Nothing
            }
        };
        Ok(())
    }

    /// A request that has another form than its method asks for arrives here, as does one of an unknown method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        let name = method.as_str();
        let is_known = METHODS.contains(&name) || EARLIER.contains(&name) && !is_stateless(&context);
        Err(match is_known {
            true => ErrorData::invalid_params(format!("the parameters of `{method}` have another form"), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.hub.changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    // A category that was not asked for is no error of the subscription.
                    let _ = context.sink().notify_tool_list_changed().await;
                    let _ = context.sink().notify_prompt_list_changed().await;
                }
            }
        }
    }
}

/// Refuses a place in a list: every list is one page.
fn first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("the list has one page, and no cursor was given out", None)),
    }
}

/// The values that complete an argument.
fn completions(hub: &Hub, context: &Context, request: &CompleteRequestParams) -> Result<Vec<String>, Error> {
    let (name, start) = (request.argument.name.as_str(), request.argument.value.as_str());
    let begins = |names: Vec<String>| names.into_iter().filter(|name| name.starts_with(start)).collect::<Vec<_>>();
    Ok(match (&request.r#ref, name) {
        (Reference::Resource(template), "run") if template.uri.starts_with("nrv://run/") => {
            resource::runs(context, &hub.begun(), start)
        }
        (Reference::Resource(template), "name") if template.uri.starts_with("nrv://schema/") => {
            resource::schemas(start)
        }
        (Reference::Prompt(prompt), _) => {
            let base = hub.base();
            let scripts = base.scripts(hub.setup())?;
            let script = scripts.iter().find(|script| script.path == prompt.name);
            match script.and_then(|script| script.completes(name)) {
                Some(Completes::Words(words)) => begins(words),
                Some(Completes::Adapters) => begins(adapters(base.tools(hub.setup())?)),
                Some(Completes::Paths) => paths(context, start)?,
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    })
}

fn adapters(tools: &[Offer]) -> Vec<String> {
    let names = tools.iter().filter_map(|offer| tool::adapter(&offer.tool.name));
    names.filter(|(_, phase)| *phase == Phase::Propose).map(|(name, _)| name.to_owned()).collect()
}

/// The paths that begin like that.
fn paths(context: &Context, start: &str) -> Result<Vec<String>, Error> {
    if context.policy.settings().gates.tools.enabled {
        return Ok(Vec::new());
    }
    let paths = context.list(&["**"])?;
    let shown = paths.iter().filter(|path| context.policy.read_refusal(path).is_none());
    let names = shown.map(|path| path.as_str());
    Ok(names.filter(|path| path.starts_with(start)).take(COMPLETIONS + 1).map(str::to_owned).collect())
}
