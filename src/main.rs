//! The `nrv` command: hands its arguments to the library's command line and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = nrv::entry::main_if_requested() {
        return code;
    }
    ExitCode::SUCCESS
}
