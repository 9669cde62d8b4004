//! `nrv mcp`: what the server is to serve, and where.

use std::{
    ffi::OsString,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Parser;

use super::{
    Here,
    arguments::{Cli, McpArguments, McpCommand},
    mcp_approve::approve,
    mcp_install::install,
    output::Output,
    signals,
};
use crate::face::mcp::{self, Endpoint, Setup, Tls};
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use host::Flags;
use service::exec::PrivateFolder;
use system::net::{Secret, listen, random_bytes};

/// The variable with the token of clients.
const TOKEN: &str = "NRV_MCP_TOKEN";

/// The name of the file with a token that was made.
const FILE: &str = "token";

pub(super) fn mcp(here: &Here, arguments: &McpArguments, out: &mut Output) -> Result<u8, Error> {
    match &arguments.command {
        Some(McpCommand::Approve(arguments)) => approve(here, arguments, out),
        Some(McpCommand::Install(arguments)) => install(here, arguments, out),
        None => serve(here, arguments, out),
    }
}

fn serve(here: &Here, arguments: &McpArguments, out: &mut Output) -> Result<u8, Error> {
    if here.is_locked() {
        let message = "a server takes calls that are no approved script, and where `CI` is set only those run";
        return Err(Error::new(Code::NotApproved, message)
            .hint("run an approved script with `nrv run`, or set `locked = false` in `[ci]` of `nrv.toml`"));
    }
    let scripts = arguments.script.iter().map(|path| RepoPath::parse(path)).collect::<Result<Vec<_>, Error>>()?;
    signals::listen_in_server(&here.context.options.cancel, &here.meter)?;
    let setup = Setup {
        open: reopen(),
        flags: Flags { dry_run: arguments.dry_run, yes: arguments.yes, ..Flags::default() },
        scripts,
        cancel: Arc::clone(&here.context.options.cancel),
    };
    let Some(address) = arguments.http else {
        mcp::serve_stdio(setup)?;
        return Ok(0);
    };
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificates), Some(key)) => {
            Some(Tls { certificates: here.read_bytes(certificates)?, key: here.read_bytes(key)? })
        }
        _ => None,
    };
    let (token, made) = token(here, arguments.token_file.as_deref())?;
    let endpoint = Endpoint { listener: listen(address)?, token, tls, hosts: arguments.host.clone() };
    mcp::serve_http(setup, endpoint, |url| {
        out.say(&format!("Serving {url}"));
        if let Some(made) = &made {
            out.say(&format!("Clients bear the token in {}", made.path().join(FILE).display()));
        }
    })?;
    Ok(0)
}

/// Opens the workspace as the command line says, with the policy of then.
#[expect(clippy::disallowed_methods, reason = "the same arguments are read again")]
fn reopen() -> mcp::Open {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    Arc::new(move || {
        let cli = Cli::try_parse_from(&arguments).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        Ok(Here::open(&cli)?.context)
    })
}

/// The token of clients, and the folder of the file with it if it was made here.
fn token(here: &Here, file: Option<&Path>) -> Result<(Secret, Option<PrivateFolder>), Error> {
    if let Some(file) = file {
        return Ok((Secret::read(&here.absolute(file), &here.place.root)?, None));
    }
    if let Some(given) = here.context.options.environment.get(TOKEN) {
        let token = Secret::new(given);
        let wrong = || Error::new(Code::InvalidInput, format!("`{TOKEN}` holds no token"));
        return if token.is_key() {
            Ok((token, None))
        } else {
            Err(wrong().hint("it has to hold printable characters"))
        };
    }
    let token: String = random_bytes::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = PrivateFolder::make("mcp")?;
    write_token(folder.path().join(FILE), &token)?;
    Ok((Secret::new(&token), Some(folder)))
}

#[expect(clippy::disallowed_methods, reason = "a new file in a private folder")]
fn write_token(path: PathBuf, token: &str) -> Result<(), Error> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{token}"));
    written.map_err(|error| Error::io(format!("`{}` can't be written", path.display()), &error))
}
