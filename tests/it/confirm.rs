//! Confirmations: their subjects, the persons who may give them, and their single use.
#![expect(clippy::disallowed_methods, reason = "tests build trees, make keys and look at records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, io::Write, os::unix::fs::PermissionsExt, sync::atomic::AtomicBool};

use nrv::{
    Call, Code, Context, Error, Host, Options, Position, Request, Resumption, Ruling, Silent, Workspace,
    base::hash::Sha256,
    host::{Asked, Finished, Input, waiting},
    system::{
        clock::Clock,
        lock::{Locks, Wait},
    },
};
use serde_json::{Value, json};

use crate::support::{
    keys::Keys,
    record::lines,
    script::program,
    site::{MIGRATE, NEW, OLD, Ran, Running, Site, Tree, wait_until},
    terminal::{line, line_on_a_terminal, on_a_terminal},
};

/// A change that the command line asks for.
fn change(site: &Site, text: &str) -> Call {
    let checksum = Sha256::of(&site.read("site/a/p0.html")).to_string();
    Call::ApplyWrite { path: "site/a/p0.html".to_owned(), text: text.to_owned(), checksum }
}

/// A run that a person began on the command line.
fn started(context: &Context) -> Host<'_> {
    let input = Input { name: "x.patch".to_owned(), sha256: Sha256::of(b"") };
    let asked = Asked::Patch { inputs: vec![input] };
    let flags = nrv::Flags { allow_dirty: true, ..nrv::Flags::default() };
    Host::start(context, Request { asked, flags, ..Request::program(context, "x") }, &mut Silent).unwrap()
}

fn context(site: &Site) -> Context {
    let options = Options { program: program(), ..Options::default() };
    Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap()
}

/// The same some days later.
fn days_later(site: &Site, days: u64) -> Context {
    let mut context = context(site);
    context.options.clock = Clock::Fixed(Clock::System.now_ms() + days * 86_400_000);
    context
}

/// Makes a call that no person confirms.
fn suspend(host: &mut Host<'_>, call: Call) -> Error {
    let error = host.perform(&Position::nth(1), call, &mut Silent).unwrap_err();
    assert_eq!(error.code(), Code::Suspended, "{error:?}");
    error
}

#[track_caller]
fn refused(result: Result<(), Error>, code: Code, words: &str) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error:?}");
    assert!(error.message().contains(words), "{error:?}");
    error
}

/// The events of a run about confirmations: kind, id, and person.
fn told(host: &Host<'_>) -> Vec<String> {
    let records = lines(&host.folder().records().unwrap());
    let about = records.iter().filter_map(|record| Some((record.kind.strip_prefix("confirmation_")?, &record.data)));
    about.map(|(kind, data)| format!("{kind} {} {}", data["id"], data["by"]).replace('"', "")).collect()
}

#[test]
fn a_suspended_run_says_for_what_it_waits_and_how_to_go_on() {
    let site = Site::new(24);
    let before = site.tree();
    let ran = site.nrv(&MIGRATE[..6]).exits(7);
    let run = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    for words in [
        "the run waits for the confirmation `c1`: review the links",
        "site/a/p0.html   1  1",
        "… and 4 more files",
        &format!("`nrv resume {run} --approve c1` goes on"),
        &format!("`nrv resume {run} --reject c1` undoes the run"),
        &format!("The diff is in .runs/{run}/artifacts/c1.patch"),
        "It can be confirmed until 20",
    ] {
        assert!(ran.stderr.contains(words), "{words} is not in: {}", ran.stderr);
    }
    let patch = fs::read_to_string(site.last_run().join("artifacts/c1.patch")).unwrap();
    let bound: Value =
        serde_json::from_slice(&fs::read(site.last_run().join("confirmations/c1.json")).unwrap()).unwrap();
    assert_eq!(bound["patch_sha256"], Sha256::of(patch.as_bytes()).to_string());
    assert!(patch.contains("+<a href=\"https://new.example.com/p0\">one</a>"), "{patch}");
    for command in [&["runs", "show", "last"][..], &["runs", "list"]] {
        let shown = site.nrv(command).exits(0).stdout;
        assert!(shown.contains(&format!("\n{run} waits for `c1`: review the links, until 20")), "{shown}");
    }
    site.nrv(&["runs", "verify", "last"]).exits(0);
    let ran = site.nrv(&[&MIGRATE[..6], &["--json"]].concat()).exits(7).json();
    let details = &ran["error"]["details"];
    assert_eq!((details["files"].as_array().unwrap().len(), &details["n_files"]), (20, &json!(24)));
    assert_eq!(details["approve"], format!("nrv resume {} --approve c1", ran["run"].as_str().unwrap()));
    assert!(site.tree() == before);
}

#[test]
fn what_is_confirmed_is_written_down_with_files_policy_and_expiry() {
    let site = Site::new(2).policy("[confirm]\nexpires = '12h'\n");
    let context = context(&site);
    let mut host = started(&context);
    suspend(&mut host, change(&site, "new\n"));
    let bound: Value = serde_json::from_slice(&host.folder().read("confirmations/c1.json").unwrap()).unwrap();
    let before = Sha256::of(&site.read("site/a/p0.html")).to_string();
    assert_eq!(bound["files"], json!([{"path": "site/a/p0.html", "before": before}]));
    assert_eq!(bound["policy_sha256"], host.policy().sha256().to_string());
    assert_eq!((&bound["run"], &bound["kind"]), (&json!(host.run_id()), &json!("apply")));
    let hour = |key: &str| bound[key].as_str().unwrap()[11..13].parse::<u32>().unwrap();
    assert_eq!((hour("asked_at") + 12) % 24, hour("expires_at"));
}

#[test]
fn an_approval_lets_what_it_was_given_for_through_once() {
    let site = Site::new(2);
    let context = context(&site);
    let mut host = started(&context);
    suspend(&mut host, change(&site, "new\n"));
    let waits = waiting(host.folder(), &host.folder().records().unwrap());
    assert_eq!(waits, None, "the run has not stopped yet");
    let near = refused(host.approve("c2", None, None), Code::NotApproved, "was not asked for");
    assert_eq!(near.hint_text(), Some("the run waits for `c1`"));
    refused(host.approve("c1", Some("--yes"), None), Code::InvalidInput, "nobody's name");
    host.approve("c1", Some("alice"), Some("looks right")).unwrap();
    refused(host.approve("c1", Some("alice"), None), Code::NotApproved, "granted already");
    refused(host.reject("c1", None, None), Code::NotApproved, "granted already");
    // It does not count for another change.
    suspend(&mut host, change(&site, "other\n"));
    host.perform(&Position::nth(1), change(&site, "new\n"), &mut Silent).unwrap();
    assert_eq!(site.read("site/a/p0.html"), b"new\n");
    refused(host.approve("c1", Some("alice"), None), Code::NotApproved, "used already");
    suspend(&mut host, change(&site, "even newer\n"));
    host.reject("c2", Some("bob"), None).unwrap();
    refused(host.approve("c2", None, None), Code::NotApproved, "refused already");
    let expected =
        ["pending c1 null", "granted c1 alice", "pending c2 null", "used c1 null", "pending c3 null", "refused c2 bob"];
    assert_eq!(told(&host), expected);
    let records = host.folder().records().unwrap();
    let granted = records.iter().find_map(|record| record.event.confirmation_granted());
    assert_eq!(granted.unwrap().reason.as_deref(), Some("looks right"));
}

#[test]
fn a_token_of_a_script_is_used_when_its_change_is_begun() {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let kinds: Vec<String> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .filter(|kind| kind.starts_with("confirmation") || kind == "committed")
        .collect();
    assert_eq!(kinds, ["confirmation_granted", "confirmation_used", "committed"]);
}

#[test]
fn an_approval_of_files_that_changed_since_is_refused_with_their_names() {
    let site = Site::new(2);
    let context = context(&site);
    let mut host = started(&context);
    suspend(&mut host, change(&site, "new\n"));
    site.write("site/a/p0.html", "edited\n");
    let error = refused(host.approve("c1", None, None), Code::StalePreimage, "`site/a/p0.html` changed since");
    assert_eq!(error.details()["files"], json!(["site/a/p0.html"]));
    fs::remove_file(site.path("site/a/p0.html")).unwrap();
    refused(host.approve("c1", None, None), Code::StalePreimage, "changed since");
}

#[test]
fn a_lock_that_can_not_be_had_costs_no_approval() {
    let site = Site::new(2).policy("[run]\nlock_wait_ms = 50\n");
    let context = context(&site);
    let mut host = started(&context);
    suspend(&mut host, change(&site, "new\n"));
    host.approve("c1", None, None).unwrap();
    let mut other = Locks::new(context.runs.path()).lease("20260101T000000Z-0000").unwrap().unwrap();
    let never = AtomicBool::new(false);
    other.acquire(&["site".to_owned()], Wait { limit_ms: 1000, cancel: &never }, &mut |_| Ok(())).unwrap();
    let error = host.perform(&Position::nth(1), change(&site, "new\n"), &mut Silent).unwrap_err();
    assert_eq!(error.code(), Code::LockTimeout, "{error:?}");
    assert_eq!(told(&host), ["pending c1 null", "granted c1 person"]);
    other.retire().unwrap();
    host.perform(&Position::nth(1), change(&site, "new\n"), &mut Silent).unwrap();
    assert_eq!(told(&host).pop().unwrap(), "used c1 null");
}

const SIGNED: &str = "[confirm]\napprovers = ['alice@example.com', 'bob@example.com']\n";

#[test]
fn an_approver_signs_what_is_confirmed() {
    let Some(keys) = Keys::new() else { return };
    for kind in ["ecdsa", "rsa"] {
        keys.make(kind, kind).unwrap();
    }
    for key in ["alice", "ecdsa", "rsa"] {
        let site = Site::new(2).policy(SIGNED);
        let signers = format!("# who may\nalice@example.com namespaces=\"nrv-*\" {}\n", keys.public(key));
        site.write(".nrv/allowed_signers", signers);
        let context = context(&site);
        let mut host = started(&context);
        let error = suspend(&mut host, change(&site, "new\n"));
        let file = host.folder().path().join("confirmations/c1.json");
        let sign = error.details()["sign"].as_str().unwrap();
        assert!(sign.ends_with(&format!(".runs/{}/confirmations/c1.json", host.run_id())), "{sign}");
        assert!(error.hint_text().unwrap().contains(sign), "{error:?}");
        keys.sign(key, "nrv-confirm", &file);
        host.approve("c1", Some("root"), None).unwrap();
        host.perform(&Position::nth(1), change(&site, "new\n"), &mut Silent).unwrap();
        let records = host.folder().records().unwrap();
        let mut granted = records.iter().filter_map(|record| Some((record, record.event.confirmation_granted()?)));
        let (record, granted) = granted.next().unwrap();
        assert_eq!((granted.by.as_deref(), granted.proof.as_deref()), (Some("alice@example.com"), Some("signature")));
        assert!(granted.fingerprint.as_ref().unwrap().starts_with("SHA256:"), "{granted:?}");
        assert!(record.files.iter().any(|file| file.path == "confirmations/c1.json.sig"));
    }
}

#[test]
fn a_signature_that_does_not_count_is_refused_with_the_reason() {
    let Some(keys) = Keys::new() else { return };
    let site = Site::new(2).policy(SIGNED);
    let signers = |text: &str| site.write(".nrv/allowed_signers", text);
    signers(&format!("alice@example.com {}\n", keys.public("alice")));
    let context = context(&site);
    let mut host = started(&context);
    suspend(&mut host, change(&site, "other\n"));
    suspend(&mut host, change(&site, "new\n"));
    let path = |id: &str| host.folder().path().join(format!("confirmations/{id}.json"));
    let (c1, c2) = (path("c1"), path("c2"));
    let mut refuse =
        |words: &str| refused(host.approve("c2", Some("alice@example.com"), None), Code::NotApproved, words);
    let error = refuse("needs an approver's signature");
    assert!(error.hint_text().unwrap().contains("`alice@example.com` or `bob@example.com` signs it with"), "{error:?}");
    keys.sign("mallory", "nrv-confirm", &c2);
    refuse("`.nrv/allowed_signers` has no line for `alice@example.com` with that key");
    keys.sign("alice", "git", &c2);
    refuse("was made for `git`");
    keys.sign("alice", "nrv-confirm", &c1);
    fs::copy(c1.with_extension("json.sig"), c2.with_extension("json.sig")).unwrap();
    refuse("is not of this file");
    fs::write(c2.with_extension("json.sig"), "no signature").unwrap();
    refuse("is none that `ssh-keygen -Y sign` writes");
    keys.sign("alice", "nrv-confirm", &c2);
    for (line, words) in [
        ("alice@example.com valid-before=\"20200101Z\" KEY", "no longer valid"),
        ("alice@example.com namespaces=\"git\" KEY", "for `git` only"),
        ("alice@example.com cert-authority KEY", "`cert-authority`"),
        ("carol@example.com KEY", "has no line for"),
        ("", "has no line for"),
    ] {
        signers(&line.replace("KEY", &keys.public("alice")));
        refuse(words);
    }
    fs::remove_file(site.path(".nrv/allowed_signers")).unwrap();
    refuse("has no line for");
    signers(&format!("*@example.com {}\n", keys.public("alice")));
    host.approve("c2", Some("bob@example.com"), None).unwrap();
    assert_eq!(told(&host).pop().unwrap(), "granted c2 bob@example.com");
}

#[test]
fn a_signature_over_an_edited_confirmation_is_none() {
    let Some(keys) = Keys::new() else { return };
    let site = Site::new(2).policy(SIGNED);
    site.write(".nrv/allowed_signers", format!("alice@example.com {}\n", keys.public("alice")));
    let context = context(&site);
    let mut host = started(&context);
    suspend(&mut host, change(&site, "new\n"));
    let file = host.folder().path().join("confirmations/c1.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"label\": \"apply\"", "\"label\": \"apple\"")).unwrap();
    keys.sign("alice", "nrv-confirm", &file);
    refused(host.approve("c1", None, None), Code::NotApproved, "is not of this file");
}

#[test]
fn where_a_signature_is_asked_for_neither_a_flag_nor_a_terminal_answers() {
    let site = Site::new(2).policy(SIGNED);
    let before = site.tree();
    site.migrate(&[]).exits(7).says("ssh-keygen -Y sign -n nrv-confirm -f KEY .runs/");
    if let Some(asked) = on_a_terminal(&site, &MIGRATE[..6]) {
        let ran = asked.end().exits(7);
        assert!(ran.stdout.contains("an approver signs it") && !ran.stdout.contains("[y]es"), "{ran:?}");
    }
    assert!(site.tree() == before);
    let site = Site::new(2).policy("[confirm]\napprovers = []\nauto = ['review the links']\n");
    site.nrv(&MIGRATE[..6]).exits(0);
}

#[test]
fn no_run_writes_whose_signatures_count() {
    let site = Site::new(2);
    for path in [".nrv/allowed_signers", "sub/.NRV/x"] {
        let script = format!(
            "const WORKFLOW = #{{ name: \"w\", permissions: #{{ write: [\"**\"] }} }};\n\
             nrv.apply.create(\"{path}\", \"x\");\n"
        );
        site.script("w.rhai", &script);
        let ran = site.nrv(&["run", "w.rhai", "--json"]).exits(3).json();
        assert_eq!(ran["error"]["code"], "protected_path", "{ran}");
        assert!(!site.path(path).exists());
    }
}

/// Types answers on a terminal once a question is shown; none if there is no terminal.
pub(crate) fn typed(site: &Site, asked: Option<Running>, answers: &str) -> Option<Ran> {
    let mut asked = asked?;
    wait_until("a person is asked", || !site.recorded("*/confirmations/c1.json").is_empty() || asked.has_ended());
    asked.0.stdin.as_mut().unwrap().write_all(answers.as_bytes()).unwrap();
    Some(asked.end())
}

/// A script that asks several times.
const ASKING: &str = "const WORKFLOW = #{ name: \"ask\", permissions: #{ write: [] } };
for n in 0..3 { nrv.gate.confirm(`step ${n}`, n); }
nrv.gate.confirm(\"again\", 0);
";

#[test]
fn a_person_may_grant_all_of_a_kind() {
    let site = Site::new(2);
    site.script("ask.rhai", ASKING);
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "ask.rhai"]), "y\na\n") else { return };
    let ran = ran.exits(0);
    assert_eq!(ran.stdout.matches("[a]ll of this kind in this run").count(), 2, "{ran:?}");
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let granted = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let all: Vec<Value> = granted
        .filter(|record| record["kind"] == "confirmation_granted")
        .map(|record| json!([record["data"]["by"], record["data"]["all"]]))
        .collect();
    assert_eq!(
        all,
        [json!(["person", null]), json!(["person", true]), json!(["person", true]), json!(["person", true])]
    );
}

#[test]
fn all_is_not_offered_where_a_flag_may_not_answer() {
    let site = Site::new(2).policy("[confirm]\nyes_flag = false\n");
    site.script("ask.rhai", ASKING);
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "ask.rhai"]), "a\nn\n") else { return };
    let ran = ran.exits(3);
    assert!(!ran.stdout.contains("[a]ll") && ran.stdout.matches("step 0? [y]es, [n]o: ").count() == 2, "{ran:?}");
}

#[test]
fn the_diff_opens_in_the_pager_of_choice() {
    let site = Site::new(2);
    let before = site.tree();
    let shown = site.root().parent().unwrap().join("shown");
    let command = line(&site, &MIGRATE[..6]);
    let with = |pager: &str| line_on_a_terminal(&site, &format!("PAGER=false NRV_PAGER='{pager}' {command}"));
    let Some(ran) = typed(&site, with(&format!("cat > {}", shown.display())), "d\nn\n") else { return };
    ran.exits(3);
    let text = fs::read_to_string(&shown).unwrap();
    assert!(text.contains("https://new.example.com/p0"), "{text}");
    // A pager that does not exist hides nothing.
    for pager in ["does-not-exist-nrv", "cat", ""] {
        site.reset(&before);
        let ran = typed(&site, with(pager), "d\nn\n").unwrap().exits(3);
        assert!(ran.stdout.contains("https://new.example.com/p0"), "{pager}: {ran:?}");
    }
}

#[test]
fn what_fits_the_screen_is_not_kept_in_the_pager() {
    let site = Site::new(2);
    let folder = site.root().parent().unwrap().join("bin");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("less"), "#!/bin/sh\necho \"$@\" > \"$0.said\"\ncat\n").unwrap();
    fs::set_permissions(folder.join("less"), fs::Permissions::from_mode(0o755)).unwrap();
    let command = line(&site, &MIGRATE[..6]);
    let command = format!("unset PAGER NRV_PAGER; PATH=\"{}:$PATH\" {command}", folder.display());
    let Some(ran) = typed(&site, line_on_a_terminal(&site, &command), "d\nn\n") else { return };
    ran.exits(3);
    assert_eq!(fs::read_to_string(folder.join("less.said")).unwrap(), "-FRX\n");
}

#[test]
fn a_closed_terminal_is_no_yes() {
    let site = Site::new(2);
    let before = site.tree();
    let Some(ran) = typed(&site, on_a_terminal(&site, &MIGRATE[..6]), "\x04") else { return };
    ran.exits(3);
    assert!(site.tree() == before);
}

#[test]
fn a_dry_run_names_each_question_as_often_as_it_would_be_asked() {
    let site = Site::new(2);
    let dry = site.nrv(&[&MIGRATE[..], &["--dry-run", "--json"]].concat()).exits(0).json();
    assert_eq!(dry["would_ask"].as_array().unwrap().len(), 1, "{dry}");
    site.script("ask.rhai", ASKING);
    let dry = site.nrv(&["run", "ask.rhai", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(dry["would_ask"].as_array().unwrap().len(), 4, "{dry}");
}

/// Ends a run with a known error.
fn ended(host: Host<'_>, error: Error) -> Finished {
    host.finish(Err(error), &mut Silent).unwrap()
}

#[test]
fn a_listing_says_what_a_run_waits_for() {
    let site = Site::new(2);
    let context = context(&site);
    let mut host = started(&context);
    let error = suspend(&mut host, change(&site, "new\n"));
    let folder = host.folder().clone();
    ended(host, error);
    let waits = waiting(&folder, &folder.records().unwrap()).unwrap();
    assert_eq!((waits.id.as_str(), waits.label.as_str()), ("c1", "apply"));
    assert!(waits.sentence().starts_with("waits for `c1`: apply, until 20"), "{}", waits.sentence());
    let path = folder.path().join("confirmations/c1.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("apply", "apple")).unwrap();
    assert_eq!(waiting(&folder, &folder.records().unwrap()), None);
}

/// Goes on with the latest run.
fn resume(context: &Context, approve: Option<&str>) -> Result<Finished, Error> {
    let ruling = |id: &str| Ruling { id: id.to_owned(), by: Some("alice".to_owned()), reason: None };
    let resumption = Resumption { approve: approve.map(ruling), ..Resumption::default() };
    nrv::resume(context, "last", resumption, &mut Silent)
}

/// The error of a run that did not go on, or did not come to its end.
fn stopped(result: Result<Finished, Error>) -> Error {
    result.map_or_else(|error| error, |finished| finished.error.expect("it must not be done"))
}

#[track_caller]
fn not_approved(result: Result<Finished, Error>, words: &str) {
    let error = stopped(result);
    assert_eq!(error.code(), Code::NotApproved, "{error:?}");
    assert!(error.message().contains(words), "{error:?}");
}

/// The id of the confirmation that a suspended run waits for.
fn waits_for(result: Result<Finished, Error>) -> String {
    let error = stopped(result);
    assert_eq!(error.code(), Code::Suspended, "{error:?}");
    error.details()["confirmation"].as_str().unwrap().to_owned()
}

/// A site whose migration waits for `c1`, and its tree before.
fn waiting_site(policy: &str) -> (Site, Tree) {
    let site = Site::new(4).policy(policy);
    let before = site.tree();
    site.nrv(&MIGRATE[..6]).exits(7);
    (site, before)
}

#[test]
fn a_run_that_waits_goes_on_once_it_is_approved() {
    let (site, before) = waiting_site("");
    resume(&context(&site), Some("c1")).unwrap();
    assert!(site.tree() == site.moved(&before, OLD, NEW));
    site.last_ended("done");
    let again = stopped(resume(&context(&site), Some("c1")));
    assert!(again.message().contains("is over"), "{again:?}");
}

#[test]
fn an_approval_that_has_expired_is_asked_for_again() {
    let (site, before) = waiting_site("[confirm]\nexpires = '3d'\n");
    not_approved(resume(&days_later(&site, 3), Some("c1")), "has expired");
    site.last_ended("suspended");
    assert!(site.tree() == before);
    assert_eq!(waits_for(resume(&days_later(&site, 3), None)), "c2");
    not_approved(resume(&days_later(&site, 3), Some("c1")), "has expired");
    let done = resume(&days_later(&site, 4), Some("c2")).unwrap();
    assert_eq!(done.error, None);
    assert!(site.tree() == site.moved(&before, OLD, NEW));
}

#[test]
fn an_approval_under_another_policy_is_asked_for_again() {
    let (site, before) = waiting_site("[budget]\nfiles = 100\n");
    site.write("nrv.toml", "[budget]\nfiles = 99\n");
    not_approved(resume(&context(&site), Some("c1")), "the policy has changed since");
    assert_eq!(waits_for(resume(&context(&site), None)), "c2");
    assert_eq!(resume(&context(&site), Some("c2")).unwrap().error, None);
    let moved = site.moved(&before, OLD, NEW);
    assert!(site.tree().iter().filter(|(name, _)| *name != "nrv.toml").all(|(name, now)| moved[name] == *now));
}

#[test]
fn two_who_approve_at_once_make_one_change() {
    let (site, before) = waiting_site("");
    let outcomes: Vec<Result<Finished, Error>> = std::thread::scope(|scope| {
        let one = || resume(&context(&site), Some("c1"));
        let both = [scope.spawn(one), scope.spawn(one)];
        both.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let done = outcomes.iter().filter(|outcome| outcome.as_ref().is_ok_and(|finished| finished.error.is_none()));
    assert_eq!(done.count(), 1, "{outcomes:?}");
    assert!(site.tree() == site.moved(&before, OLD, NEW));
    let records = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    for kind in ["confirmation_granted", "confirmation_used", "committed"] {
        assert_eq!(records.matches(&format!("\"kind\":\"{kind}\"")).count(), 1, "{kind}");
    }
    site.last_ended("done");
}

/// A script that changes a file, then asks, then changes another.
const TWO_STEPS: &str = "const WORKFLOW = #{ name: \"two\", permissions: #{ write: [\"**\"] } };
nrv.apply.create(\"one.txt\", \"one\\n\");
nrv.gate.confirm(\"go on\", 1);
nrv.apply.create(\"two.txt\", \"two\\n\");
";

#[test]
fn what_a_waiting_run_has_changed_is_free_for_others_and_then_refused_to_it() {
    let site = Site::new(2);
    site.script("two.rhai", TWO_STEPS);
    site.nrv(&["run", "two.rhai"]).exits(7);
    let run = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(site.read("one.txt"), b"one\n");
    // Its locks are given up.
    assert!(site.recorded("locks/*.lease").is_empty());
    let other = "const WORKFLOW = #{ name: \"other\", permissions: #{ write: [\"**\"] } };\n\
                 nrv.apply.write(\"one.txt\", \"theirs\\n\", nrv.files.sha256(\"one.txt\"));\n";
    site.write("other.rhai", other);
    site.nrv(&["run", "other.rhai", "--allow-dirty"]).exits(0);
    let context = context(&site);
    let ruling = Ruling { id: "c1".to_owned(), ..Ruling::default() };
    let resumption = Resumption { approve: Some(ruling), ..Resumption::default() };
    let error = stopped(nrv::resume(&context, &run, resumption, &mut Silent));
    assert_eq!((error.code(), &error.details()["files"]), (Code::StalePreimage, &json!(["one.txt"])), "{error:?}");
    site.nrv(&["rollback", &run]).exits(5).says("one.txt");
    assert_eq!(site.read("one.txt"), b"theirs\n");
}

#[test]
fn an_approval_of_what_a_gate_asks_leaves_the_other_question_open() {
    let site = Site::new(2).policy("[gates.destructive]\nenabled = true\n");
    site.write("key.patch", "--- a/site/a/p0.html\n+++ b/site/a/p0.html\n@@ -1,2 +1,2 @@\n-<!doctype html>\n+<!doctype html> AKIAQ3EGRJ5SZV7KXM2T\n <title>p0</title>\n");
    site.commit();
    let before = site.tree();
    site.nrv(&["apply", "key.patch"]).exits(7).says("secret");
    assert_eq!(waits_for(resume(&context(&site), Some("c1"))), "c2");
    assert!(site.tree() == before);
    assert_eq!(resume(&context(&site), Some("c2")).unwrap().error, None);
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    assert_eq!(events.matches("\"confirmation_used\"").count(), 2);
}

#[test]
fn a_signature_is_made_and_counts_on_another_machine() {
    let Some(keys) = Keys::new() else { return };
    let (here, there) = (Site::new(4), Site::new(4));
    for site in [&here, &there] {
        site.write(".nrv/allowed_signers", format!("alice@example.com {}\n", keys.public("alice")));
        site.write("nrv.toml", SIGNED);
        site.commit();
    }
    let before = there.tree();
    here.nrv(&MIGRATE).exits(7);
    let file = here.root().parent().unwrap().join("export");
    let file = file.to_str().unwrap();
    here.nrv(&["runs", "export", "last", "--with-contents", "-o", file]).exits(0);
    there.nrv(&["runs", "import", file]).exits(0);
    not_approved(resume(&context(&there), Some("c1")), "needs an approver's signature");
    keys.sign("mallory", "nrv-confirm", &there.last_run().join("confirmations/c1.json"));
    not_approved(resume(&context(&there), Some("c1")), "no approver's");
    keys.sign("alice", "nrv-confirm", &there.last_run().join("confirmations/c1.json"));
    assert_eq!(resume(&context(&there), Some("c1")).unwrap().error, None);
    assert!(there.tree() == there.moved(&before, OLD, NEW));
    there.last_ended("done");
}

#[test]
fn a_destructive_command_of_a_run_waits_for_a_confirmation_though_a_rule_allows_it() {
    let site = Site::new(1).policy("[[exec.allow]]\nprefix = [\"git\"]\n");
    let context = context(&site);
    let run = nrv::base::call::Run {
        program: "git".to_owned(),
        args: vec!["reset".into(), "--hard".into()],
        ..Default::default()
    };
    let error = suspend(&mut started(&context), Call::ExecRun(Box::new(run)));
    assert!(error.message().contains("destructive-ops: `git reset --hard`"), "{error}");
}
