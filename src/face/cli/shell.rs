//! `nrv completions` and `nrv man`: completions for shells and manual pages, made from the definition of the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{arguments::Cli, output::Output};
use base::error::{Code, Error, nearest};

pub(super) fn completions(shell: Shell, out: &mut Output) -> Result<u8, Error> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "nrv", &mut text);
    out.bytes(&text);
    Ok(0)
}

/// The page of a command, such as `dta run`; without one the page of `nrv`.
pub(super) fn man(path: &[String], out: &mut Output) -> Result<u8, Error> {
    let mut command = Cli::command();
    command.build();
    let mut page = &command;
    for name in path {
        page = page.find_subcommand(name).ok_or_else(|| {
            let known = page.get_subcommands().map(clap::Command::get_name);
            let hint = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
            Error::new(Code::Usage, format!("there is no command `{}`", path.join(" ")))
                .hint(hint.unwrap_or_else(|| "`nrv --help` lists the commands".to_owned()))
        })?;
    }
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page.clone()).render(&mut text);
    rendered.map_err(|error| Error::io("the page can't be written", &error))?;
    out.bytes(&text);
    Ok(0)
}
