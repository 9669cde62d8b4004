//! The protocol over HTTP: a token in each request, no foreign host or page, and TLS beyond this machine.

use std::{
    borrow::Cow,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    connection,
    hub::Hub,
    names::{Names, only},
    server::Server,
    setup::{MESSAGE, failed},
};
use base::{
    error::{Code, Error},
    hash::Sha256,
};
use system::net::Secret;

/// The path of the endpoint.
const PATH: &str = "/mcp";

/// The most requests that are answered at the same time.
const AT_ONCE: usize = 256;

/// The most sessions of earlier protocol versions.
const SESSIONS: usize = 256;

/// The largest request that begins a session, in bytes: what it says is kept.
const GREETING: usize = 64 << 10;

/// The time in which the body of a request has to come.
const BODY: Duration = Duration::from_secs(30);

/// An endpoint: an open socket, the token of its clients, and the names by which they may call it.
pub struct Endpoint {
    /// The socket.
    pub listener: TcpListener,
    /// The token that each request has to bear.
    pub token: Secret,
    /// The certificate and the key; none on this machine alone.
    pub tls: Option<Tls>,
    /// Hosts beside those of this machine, as requests may name the server.
    pub hosts: Vec<String>,
}

/// A certificate chain and its key, in PEM.
pub struct Tls {
    /// The certificates, that of the server first.
    pub certificates: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl Tls {
    fn acceptor(&self) -> Result<TlsAcceptor, Error> {
        let wrong =
            |what: &str, error: &dyn std::fmt::Display| Error::new(Code::InvalidInput, format!("{what}: {error}"));
        let chain: Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_slice_iter(&self.certificates).collect();
        let chain = chain.map_err(|error| wrong("the certificate can't be read", &error))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| wrong("the key can't be read", &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let config = config.map_err(|error| wrong("the certificate can't be used", &error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// The guard that every request has to pass.
struct Guard {
    /// The hash of the token: comparing hashes tells nobody how much of a guess was right.
    token: Sha256,
    names: Names,
    room: Semaphore,
    sessions: Arc<LocalSessionManager>,
}

/// Serves until it is told to stop.
pub(super) async fn serve(
    hub: &Arc<Hub>,
    endpoint: Endpoint,
    stop: CancellationToken,
    ready: impl FnOnce(&str),
) -> Result<(), Error> {
    let Endpoint { listener, token, tls, hosts } = endpoint;
    let address = listener.local_addr().map_err(|error| failed("the socket has no address", &error))?;
    let acceptor = tls.as_ref().map(Tls::acceptor).transpose()?;
    if acceptor.is_none() && !address.ip().is_loopback() {
        let error = Error::new(Code::PermissionDenied, format!("{address} can be reached from other machines"));
        return Err(error.hint("give a certificate with `--tls-cert` and `--tls-key`, or serve 127.0.0.1"));
    }
    let sessions = Arc::new(LocalSessionManager::default());
    let served = Arc::clone(hub);
    let service = StreamableHttpService::new(
        move || Ok(Server::new(Arc::clone(&served))),
        Arc::clone(&sessions),
        config(address, &hosts, stop.clone()),
    );
    let token = Sha256::of(token.text().as_bytes());
    let names = Names::new(address, &hosts);
    let guard = Arc::new(Guard { token, names, room: Semaphore::new(AT_ONCE), sessions });
    let router = Router::new().nest_service(PATH, service).layer(middleware::from_fn_with_state(guard, admit));
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    let listener =
        tokio::net::TcpListener::from_std(listener).map_err(|error| failed("the socket can't be used", &error))?;
    ready(&format!("{scheme}://{address}{PATH}"));
    connection::serve(listener, acceptor, router, stop).await;
    Ok(())
}

fn config(address: SocketAddr, hosts: &[String], stop: CancellationToken) -> StreamableHttpServerConfig {
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let allowed = own.into_iter().chain([address.ip().to_string()]).chain(hosts.iter().cloned());
    let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let origins = local.into_iter().chain(hosts.iter().map(|host| format!("https://{host}:*")));
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(allowed)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MESSAGE)
        .with_cancellation_token(stop)
}

/// Lets a request pass that names this server, bears the token and comes as a whole, as far as there is room.
async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Some(why) = guard.names.refusal(request.uri(), request.headers()) {
        tracing::warn!("a request was refused: {why}");
        return (StatusCode::FORBIDDEN, [(header::CONNECTION, "close")], format!("{why}\n")).into_response();
    }
    let given = only(request.headers(), &header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    if token.is_none_or(|(_, token)| Sha256::of(token.trim().as_bytes()) != guard.token) {
        tracing::warn!("a request without the token was refused");
        let head = [(header::WWW_AUTHENTICATE, "Bearer"), (header::CONNECTION, "close")];
        return (StatusCode::UNAUTHORIZED, head, "the token is missing or wrong\n").into_response();
    }
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY, to_bytes(body, MESSAGE)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let text = format!("a request has at most {MESSAGE} bytes\n");
            return (StatusCode::PAYLOAD_TOO_LARGE, [(header::CONNECTION, "close")], text).into_response();
        }
        Err(_) => {
            let text = "the request did not come in time\n";
            return (StatusCode::REQUEST_TIMEOUT, [(header::CONNECTION, "close")], text).into_response();
        }
    };
    let begins = head.method == Method::POST && begins(&body);
    if begins && body.len() > GREETING {
        let text = format!("`initialize` has at most {GREETING} bytes\n");
        return (StatusCode::PAYLOAD_TOO_LARGE, [(header::CONNECTION, "close")], text).into_response();
    }
    let is_full = begins && guard.sessions.sessions.read().await.len() >= SESSIONS;
    match guard.room.try_acquire() {
        Ok(_permit) if !is_full => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(_) | Err(_) => {
            let head = [(header::RETRY_AFTER, "1"), (header::CONNECTION, "close")];
            (StatusCode::SERVICE_UNAVAILABLE, head, "too many requests or sessions at once\n").into_response()
        }
    }
}

/// True for a request that begins a session of an earlier protocol version.
fn begins(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    serde_json::from_slice::<Named<'_>>(body).is_ok_and(|named| named.method == "initialize")
}
