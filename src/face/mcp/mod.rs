//! `nrv mcp`: the host as a server of the Model Context Protocol.
//!
//! The protocol is spoken by one thread, through the official SDK. A run has a thread of its own, which holds its host: a request
//! becomes a call at that door, and the reply goes back without secrets. A call for which a person has to be asked ends its run for now;
//! the answer of the client, or of a person elsewhere, goes on with it.

mod base;
mod call;
mod confirm;
mod connection;
mod http;
mod hub;
mod lines;
mod names;
mod outcome;
mod pace;
mod prompt;
mod resource;
mod run;
mod script;
mod server;
mod setup;
mod tool;
mod wire;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use rmcp::{
    ServiceExt,
    transport::{async_rw::AsyncRwTransport, stdio_pipes},
};
use tokio_util::sync::CancellationToken;

pub use self::{
    http::{Endpoint, Tls},
    setup::{Open, Setup},
};
use self::{
    hub::{Hub, Span},
    pace::Paced,
    server::Server,
    setup::{MESSAGE, failed},
};
use ::base::error::Error;

/// The interval of looks at the wish to stop and at the policy.
const TICK: Duration = Duration::from_millis(250);

/// The time that connections have to end once the server stops.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The time that runs have to end after the wish to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves one client on standard input and output, until it closes them. Its calls without a run are one run.
pub fn serve_stdio(setup: Setup) -> Result<(), Error> {
    let hub = Hub::new(setup, Span::Process)?;
    run(async {
        let (reader, writer) = stdio_pipes();
        let transport = Paced::new(AsyncRwTransport::new_server(reader, writer).with_max_line_length(MESSAGE));
        let stop = CancellationToken::new();
        let ticks = tokio::spawn(watch(Arc::clone(&hub), stop.clone()));
        let served = match Server::new(Arc::clone(&hub)).serve_with_ct(transport, stop.clone()).await {
            Ok(service) => tokio::select! {
                ended = service.waiting() => ended.map(drop).map_err(|error| failed("the connection broke", &error)),
                // A client that reads nothing does not keep the server.
                () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => Ok(()),
            },
            // The client went away before it had said who it is, or was told that it must.
            Err(error) => {
                tracing::info!("no client has connected: {error}");
                Ok(())
            }
        };
        ticks.abort();
        hub.close_all(PATIENCE).await;
        served
    })
}

/// Serves clients over HTTP, until the user wants it to stop. A call without a run is a run of its own.
///
/// `ready` is told the address once connections are accepted.
pub fn serve_http(setup: Setup, endpoint: Endpoint, ready: impl FnOnce(&str)) -> Result<(), Error> {
    let hub = Hub::new(setup, Span::Call)?;
    run(async {
        let stop = CancellationToken::new();
        let ticks = tokio::spawn(watch(Arc::clone(&hub), stop.clone()));
        let served = http::serve(&hub, endpoint, stop, ready).await;
        ticks.abort();
        hub.close_all(PATIENCE).await;
        served
    })
}

/// Looks at the wish to stop and at the policy, again and again.
async fn watch(hub: Arc<Hub>, stop: CancellationToken) {
    let mut interval = tokio::time::interval(TICK);
    loop {
        interval.tick().await;
        if hub.setup().cancel.load(Ordering::Relaxed) {
            hub.cancel_all();
            stop.cancel();
            return;
        }
        hub.look_for_changes().await;
    }
}

/// Runs a server to its end.
fn run(server: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::io("the server can't be started", &error))?;
    let served = runtime.block_on(server);
    // A thread may still wait for input of a client that is not listened to any more.
    runtime.shutdown_background();
    served
}
