//! A repository may bring a `.runs` folder of its own; what stands in it is not acted upon.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use nrv::hash::Sha256;
use serde_json::json;

use crate::support::site::Site;

/// Plants a crashed run whose recovery would write `content` to `path`.
fn plant(site: &Site, path: &str, content: &str) {
    let run = ".runs/20200101T000000Z-0001";
    let before = json!({"sha256": Sha256::of(content.as_bytes()), "mode": 0o755, "length": content.len()});
    let intent = json!({
        "place": [1, 1], "undoes": false, "apart": false, "transaction": "t1", "position": "1",
        "entries": [{"path": path, "before": before, "after": null}], "folders": [],
        "prefix": ".nrv-20200101T000000Z-0001-t1-",
    });
    site.write(&format!("{run}/packs/t1/pre/0"), content);
    site.write(&format!("{run}/packs/t1/manifest.json"), "{}");
    site.write(&format!("{run}/journal/t1.json"), intent.to_string());
    fs::create_dir_all(site.path(".runs/locks")).unwrap();
}

#[test]
fn a_planted_journal_writes_nothing() {
    for path in [".git/hooks/post-checkout", "site/planted.html"] {
        let site = Site::new(2);
        plant(&site, path, "#!/bin/sh\necho pwned\n");
        let before = site.tree();
        site.nrv(&["recover"]).exits(4).says("was not written here");
        site.migrate(&["--dry-run"]).exits(0).says("can't be recovered");
        assert!(site.tree() == before);
        assert!(!site.path(path).exists(), "{path}");
        site.migrate(&[]).exits(0);
        assert!(!site.path(path).exists(), "{path}");
    }
}
