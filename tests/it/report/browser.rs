//! The page in a real browser: at the width of a phone, in the dark, and with everything that could reach out of it.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;

use super::hostile;
use crate::support::{
    browser::Browser,
    long,
    site::{MIGRATE, Site},
};

/// A script that measures its page once it is open, for the page around it.
///
/// It runs in copies only: the page's own policy permits no script.
const MEASURE: &str = r#"<script>
addEventListener('load', () => {
  document.querySelectorAll('details').forEach(d => { d.open = true; });
  const shown = [...document.querySelectorAll('body *')].filter(e => !e.closest('.hidden, .skip, script'));
  const beyond = shown.filter(e => !e.closest('.index') && e.getBoundingClientRect().right > innerWidth + 1);
  const channels = c => { const n = c.match(/[\d.]+/g).map(Number); return n.length > 3 && n[3] === 0 ? null : n.slice(0, 3); };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
  const contrast = e => { const [a, b] = [light(channels(getComputedStyle(e).color)), light(behind(e))]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
  const texts = shown.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
  const pale = texts.filter(e => contrast(e) < 4.5);
  const name = e => e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 40);
  const levels = [...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1]);
  parent.postMessage({
    width: innerWidth, content: document.documentElement.scrollWidth, beyond: beyond.slice(0, 5).map(name), pale: pale.slice(0, 5).map(name),
    texts: texts.length, paper: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
    leaps: levels.filter((level, at) => level > (levels[at - 1] || 0) + 1).length, tops: levels.filter(level => level === 1).length,
    empty: [...document.querySelectorAll('a')].filter(a => !document.getElementById(a.hash.slice(1))).length,
    nameless: [...document.querySelectorAll('table')].filter(t => !t.querySelector('th')).length,
  }, '*');
});
</script>"#;

/// Frames of the widths of a phone and of a desktop, with the measures of their pages.
const AROUND: &str = "<!doctype html><title>frames</title><iframe width=360 height=800 style='border:0' src='copy.html'></iframe>\
    <iframe width=1280 height=800 style='border:0' src='copy.html'></iframe><script>addEventListener('message', event => {\
    const p = document.createElement('p'); p.className = 'measure'; p.textContent = JSON.stringify(event.data); document.body.append(p);\
    });</script>";

/// The browser's switch for a dark colour scheme.
const DARK: &str = "--blink-settings=preferredColorScheme=0";
const LIGHT: &str = "--blink-settings=preferredColorScheme=1";

/// Writes a page to a folder of its own.
fn write(folder: &Path, name: &str, page: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, page).unwrap();
    path
}

/// The measures of a page at both widths.
fn measured(browser: &Browser, page: &str, scheme: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let copy = page.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';") + MEASURE;
    assert_ne!(copy.len(), page.len() + MEASURE.len(), "the page has its policy");
    write(folder.path(), "copy.html", &copy);
    let around = write(folder.path(), "around.html", AROUND);
    let seen = browser.load(&around, &[scheme, "--virtual-time-budget=5000"]);
    let rows = seen.dom.split("<p class=\"measure\">").skip(1);
    let mut rows: Vec<Value> =
        rows.map(|row| serde_json::from_str(&unescaped(row.split("</p>").next().unwrap())).unwrap()).collect();
    rows.sort_by_key(|row| row["width"].as_u64());
    assert_eq!(rows.len(), 2, "{} {:?}", seen.dom, seen.console);
    rows
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// A page that strains the layout: long words, wide lines, many columns, every section.
fn strained() -> String {
    let site = Site::new(0);
    hostile::record(&site, &format!("{}/{}", "x".repeat(300), "ü y ".repeat(60)));
    super::page(&site)
}

fn migrated() -> String {
    let site = Site::new(40);
    site.nrv(&MIGRATE).exits(0);
    super::page(&site)
}

#[test]
fn pages_fit_a_phone_and_a_desk_in_light_and_in_the_dark() {
    let Some(browser) = Browser::find() else { return };
    for page in long::sample([strained, migrated], 2) {
        let page = page();
        let [light, dark] = [LIGHT, DARK].map(|scheme| measured(&browser, &page, scheme));
        for (row, width) in light.iter().chain(&dark).zip([360, 1280, 360, 1280]) {
            assert_eq!((&row["width"], &row["content"]), (&width.into(), &width.into()), "{row:#}");
            for none in ["beyond", "pale"] {
                assert_eq!(row[none].as_array().map(Vec::len), Some(0), "{row:#}");
            }
            for none in ["leaps", "empty", "nameless"] {
                assert_eq!(row[none], 0, "{row:#}");
            }
            assert!(row["tops"] == 1 && row["texts"].as_u64() > Some(100), "{row:#}");
        }
        assert_ne!(light[0]["paper"], dark[0]["paper"]);
        assert_ne!(light[0]["ink"], dark[0]["ink"]);
    }
}

/// Counts connections and requests.
#[derive(Default)]
struct Asked {
    connections: AtomicUsize,
    requests: AtomicUsize,
}

fn listening() -> (u16, Arc<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Asked::default());
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            counted.connections.fetch_add(1, Ordering::SeqCst);
            // A connection on which nothing comes must not keep the others waiting.
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let asks = stream.read(&mut [0; 16]).is_ok_and(|length| length > 0);
            counted.requests.fetch_add(usize::from(asks), Ordering::SeqCst);
        }
    });
    (port, asked)
}

#[test]
fn a_page_asks_nobody_for_anything_whatever_stands_in_its_record() {
    let Some(browser) = Browser::find() else { return };
    let (port, asked) = listening();
    let site = Site::new(0);
    let address = format!("http://127.0.0.1:{port}/x");
    let reach = format!(
        "<img src={address}><script>document.title='owned'</script><style>body{{background:url({address})}}</style>\
         <iframe src={address}></iframe><link rel=stylesheet href={address}>"
    );
    hostile::record(&site, &reach);
    let page = super::page(&site);
    let folder = tempfile::tempdir().unwrap();
    let seen = browser.load(&write(folder.path(), "page.html", &page), &[]);
    assert!(seen.console.is_empty(), "{:?}", seen.console);
    assert!(seen.dom.contains("Run the script against the record"));
    assert_eq!(asked.connections.load(Ordering::SeqCst), 0, "nothing of the record is markup");
    // Even if something of it were markup, the page's policy would stop it.
    let inside = write(folder.path(), "inside.html", &page.replace("<main", &format!("{reach}<main")));
    let seen = browser.load(&inside, &[]);
    assert!(!seen.dom.contains("<title>owned"), "a script ran");
    assert!(seen.console.len() >= 4, "{:?}", seen.console);
    // Chromium gets ready for a frame by a connection on which it says nothing.
    assert_eq!(asked.requests.load(Ordering::SeqCst), 0, "the policy stops it");
    // And without a policy it would be noticed here.
    browser.load(&write(folder.path(), "open.html", &format!("<!doctype html><title>x</title>{reach}")), &[]);
    assert!(asked.requests.load(Ordering::SeqCst) > 0, "the test can see a request");
}
