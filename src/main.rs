//! The `nrv` command: hands its arguments to the library's command line and nothing else.

use std::process::ExitCode;

#[cfg(feature = "otlp")]
compile_error!("nrv does not send spans by OTLP any more: leave the feature `otlp` out, and use `--trace FILE`");

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    nrv::entry::main_if_requested().unwrap_or_else(nrv::face::cli::main)
}
