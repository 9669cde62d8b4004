//! Where `CI` is set, an adapter of a user is used only as it was approved.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use super::{apply, invocation, site, with};
use crate::support::site::{Ran, Site};

fn in_ci(site: &Site, arguments: &[&str]) -> Ran {
    in_ci_with(site, arguments, "dry-run")
}

fn in_ci_with(site: &Site, arguments: &[&str], mode: &str) -> Ran {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, invocation(mode).to_string().as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let output = site.command(arguments).env("CI", "true").stdin(file).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const PREVIEW: &[&str] = &["dta", "run", "blanks", "--input", "-"];

#[test]
fn in_ci_only_an_approved_one_is_used() {
    let site = site();
    let ran = in_ci(&site, PREVIEW);
    assert!(
        ran.code == 3 && ran.stderr.contains("not_approved") && ran.stderr.contains("nrv approve dta/blanks.rhai"),
        "{ran:?}"
    );
    site.nrv(&["approve", "dta/blanks.rhai", "--yes"]).exits(0);
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    assert!(lock.contains("[adapters.blanks]\npath = \"dta/blanks.rhai\"\nsha256 = "), "{lock}");
    site.nrv(&["approve", "--check"]).exits(0);
    site.commit();
    in_ci(&site, PREVIEW).exits(0);
    // An apply there needs a confirmation too, which an adapter's approval does not give.
    site.nrv(&["approve", "dta/blanks.rhai", "--grant", "dta.apply", "--yes"]).exits(2).says("`confirm.auto`");
    let apply = &[PREVIEW, &["--allow-dirty"]].concat();
    let ran = in_ci_with(&site, apply, "apply");
    assert!(ran.code == 3 && ran.stderr.contains("`confirm.auto`"), "{ran:?}");
    let site = site.policy("[confirm]\nauto = [\"dta.apply\"]\n[ci]\nconfirm = \"policy\"\n");
    in_ci_with(&site, apply, "apply").exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    site.script("dta/blanks.rhai", &with("version: \"1.0\"", "version: \"1.1\""));
    let ran = in_ci(&site, PREVIEW);
    assert!(ran.code == 3 && ran.stderr.contains("differs from its approval"), "{ran:?}");
    let ran = site.nrv(&["approve", "--check"]);
    assert!(ran.code == 3 && ran.stderr.contains("differs from its approval"), "{ran:?}");
    site.nrv(&["approve", "dta/blanks.rhai", "--remove", "--yes"]).exits(0);
    assert!(!String::from_utf8(site.read("nrv.lock")).unwrap().contains("blanks"));
}

#[test]
fn elsewhere_it_needs_no_approval() {
    apply(&site()).exits(0);
}
