//! The `nrv` command: hands its arguments to the library's command line and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    nrv::entry::main_if_requested().unwrap_or_else(nrv::face::cli::main)
}
