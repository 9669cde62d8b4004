//! `nrv runs attest`: a signed statement about a run, for systems without nrv.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use super::{Here, arguments::AttestArguments, output::Output, run::parse_json, target::Target};
use crate::face::report;
use base::{
    error::{Code, Error},
    text::{counted, escape},
};
use host::signed_by_approver;
use service::exec;
use system::{
    process::{Command, Program, capture},
    signature::Signature,
};

/// The namespace of an attestation's signature; a signature made for another purpose does not verify.
const NAMESPACE: &str = "nrv-attest";

/// The time that a person has to unlock a key or touch a token, in milliseconds.
const PATIENCE_MS: u64 = 120_000;

/// The longest signature that is read.
const MAX_SIGNATURE: usize = 1 << 16;

/// The variables that `ssh-keygen` needs to reach an agent and to ask for a passphrase.
const ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY", "TERM"];

pub(super) fn attest(here: &Here, arguments: &AttestArguments, out: &mut Output) -> Result<u8, Error> {
    if let (Some(file), Some(signer)) = (&arguments.verify, &arguments.signer) {
        return verify(here, (file, signer), out);
    }
    let folder = here.context.runs.open(arguments.run.as_deref().unwrap_or("last"))?;
    let statement = report::statement(&here.context, &folder)?;
    let target = match arguments.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => Some((path, Target::of(&here.absolute(path), "an attestation")?)),
        None => None,
    };
    let signed = arguments.key.as_deref().map(|key| sign(here, key, statement.as_bytes())).transpose()?;
    let signature = signed.as_ref().map(|(key, text)| (key.as_str(), text.as_str()));
    let text = format!("{:#}\n", report::envelope(statement.as_bytes(), signature));
    match target {
        None => out.bytes(text.as_bytes()),
        Some((path, target)) => {
            target.write(text.as_bytes())?;
            let name = path.display().to_string();
            match out.is_json() {
                true => {
                    out.document(&json!({"run": folder.id(), "file": name, "signed_by": signature.map(|one| one.0)}))
                }
                false => out.line(&name),
            }
        }
    }
    if signature.is_none() {
        out.say("It is not signed: `--key` names an SSH key.");
    }
    Ok(0)
}

/// The signature of a payload, with the fingerprint of the key.
fn sign(here: &Here, key: &Path, payload: &[u8]) -> Result<(String, String), Error> {
    let environment = &here.context.options.environment;
    let env: BTreeMap<String, String> =
        ENVIRONMENT.iter().filter_map(|name| Some(((*name).to_owned(), environment.get(*name)?.clone()))).collect();
    let command = Command {
        program: Program::Path(exec::look_up("ssh-keygen", environment.get("PATH"))?),
        args: vec![
            "-q".into(),
            "-Y".into(),
            "sign".into(),
            "-n".into(),
            NAMESPACE.into(),
            "-f".into(),
            here.absolute(key).into(),
        ],
        cwd: None,
        env,
        stdin: report::to_be_signed(payload),
        timeout_ms: PATIENCE_MS,
        max_output: MAX_SIGNATURE,
    };
    let captured = capture(command, Some(here.context.options.cancel.as_ref()))?;
    let failed = |why: &str| {
        Error::new(Code::CommandFailed, format!("`{}` does not sign: {}", key.display(), escape(why.trim())))
            .hint("`ssh-keygen -Y sign` has to work with that key; a passphrase is asked for by an agent")
    };
    let text = String::from_utf8(captured.stdout).unwrap_or_default();
    if captured.status != Some(0) {
        return Err(failed(&String::from_utf8_lossy(&captured.stderr)));
    }
    let signature = Signature::parse(&text).map_err(|why| failed(&format!("its signature {why}")))?;
    Ok((signature.fingerprint(), text))
}

fn verify(here: &Here, (file, signer): (&Path, &String), out: &mut Output) -> Result<u8, Error> {
    let envelope: Value = parse_json(&here.read_input(file)?, file)?;
    let (payload, signatures) = report::opened(&envelope)?;
    let signed = report::to_be_signed(&payload);
    let name = file.display().to_string();
    let mut why = "it has no signature".to_owned();
    for text in &signatures {
        match signed_by_approver(&here.context, std::slice::from_ref(signer), NAMESPACE, &signed, Some(text)) {
            Ok(by) => {
                let statement: Value = serde_json::from_slice(&payload).unwrap_or_default();
                if out.is_json() {
                    out.document(&json!({"signed_by": by, "statement": statement}));
                } else {
                    let files = counted(statement["subject"].as_array().map_or(0, Vec::len), "file");
                    let run = escape(statement["predicate"]["byproducts"]["run"].as_str().unwrap_or_default());
                    out.say(&format!("{} signed it: {files} of run {run}.", escape(&by)));
                }
                return Ok(0);
            }
            Err(other) => why = other,
        }
    }
    Err(Error::new(Code::VerificationFailed, format!("`{name}` is not signed by `{}`: {why}", escape(signer)))
        .hint("whose keys count stands in `.nrv/allowed_signers`; its `namespaces` have to hold `nrv-attest`, if they are named"))
}
