//! Requests to MCP servers at URLs: sent with the token of the policy, and cancelled with the conversation.

use url::Url;

use super::key::KeyPlace;
use crate::Context;
use base::error::{Code, Error};
use system::{
    mcp_client::{Answer, Post, Web},
    net::{Cancel, Exchange, Failure, Method, Secret, Sender, is_loopback},
    policy::{McpServer, Policy},
};

/// The way to a server.
pub(super) struct Remote {
    url: String,
    sender: Sender,
    token: Option<Secret>,
    timeout_ms: u64,
    cancel: Cancel,
}

/// Cancels the requests of a conversation when it is dropped.
pub(super) struct Connection(Cancel);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Remote {
    /// The way to a server of the policy. Nothing is sent.
    pub(super) fn new(context: &Context, policy: &Policy, name: &str, server: &McpServer) -> Result<Self, Error> {
        let url = server.url.clone().unwrap_or_default();
        let token = KeyPlace {
            variable: server.token_env.as_deref(),
            file: server.token_file.as_deref(),
            file_key: format!("mcp.servers.{name}.token_file"),
        };
        let token = token.read(context, policy)?;
        let is_plain = |url: &Url| url.scheme() == "http" && !is_loopback(url);
        if token.is_some() && Url::parse(&url).is_ok_and(|url| is_plain(&url)) {
            let message = format!("its token would go over plain http to `{}`", url.escape_debug());
            return Err(
                Error::new(Code::InvalidPolicy, message).hint("use https; only this machine may be asked without it")
            );
        }
        let sender = context.options.network.sender(&url).map_err(|failure| {
            Error::new(Code::InvalidInput, format!("it can't be reached: {failure}"))
                .hint("correct `url`, or the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE of the environment")
        })?;
        Ok(Remote { url, sender, token, timeout_ms: server.timeout_ms, cancel: Cancel::default() })
    }

    /// Ends its requests when it is dropped.
    pub(super) fn connection(&self) -> Connection {
        Connection(self.cancel.clone())
    }
}

impl Web for Remote {
    fn post(&self, post: &Post) -> Result<Answer, String> {
        let headers: Vec<(&str, String)> =
            post.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let exchange = Exchange {
            method: Method::POST,
            url: &self.url,
            headers: &headers,
            secret: self.token.as_ref().map(|token| ("authorization", "Bearer ", token)),
            body: &post.body,
            read_ms: self.timeout_ms,
            total_ms: self.timeout_ms,
        };
        let answered = self.sender.send(&exchange, &self.cancel).map_err(|failure: Failure| failure.to_string())?;
        Ok(Answer { status: answered.status, headers: answered.headers, body: Box::new(answered.body) })
    }

    fn clean(&self, text: &str) -> String {
        // A placeholder may well be a word of a reply.
        let token = self.token.as_ref().filter(|token| !token.is_stand_in());
        token.map_or_else(|| text.to_owned(), |token| token.taken_out_of(text))
    }
}
