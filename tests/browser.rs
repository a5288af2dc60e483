//! The report in a real browser without a window: what a person sees, hovers, types and sorts.
//!
//! Needs Chromium and chromedriver, no GPU; `scripts/browser-test` installs and runs. `scripts/browser-test --screenshots DIR` writes
//! pictures of a run kept in `results/`.

#[path = "common/report_run.rs"]
mod report_run;
#[path = "common/webdriver.rs"]
mod webdriver;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convledger::record::{Measurement, Run, Status};
use convledger::report::{self, Source};
use convledger::units::{Bytes, Grouped};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard};
use webdriver::Browser;

const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";
const RIGHT: &str = "\u{E014}";
const END: &str = "\u{E010}";

/// The report of a doctored run. Of ten copies of its layers there are more than 1,000 rows.
struct Page {
    run: Run,
    url: String,
    _folder: tempfile::TempDir,
}

static PAGE: LazyLock<Page> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let run = report_run::doctored(&path, 10);
    assert!(run.measurements.len() > 1000, "{} rows", run.measurements.len());
    let page = written(&path, &folder.path().join("report.html"));
    let bytes = std::fs::metadata(&page).expect("written").len();
    assert!(bytes < 6 << 20, "{}", Bytes(bytes));
    Page { run, url: format!("file://{}", page.display()), _folder: folder }
});

/// Where the report of the run in `folder` was written.
fn written(folder: &Path, page: &Path) -> PathBuf {
    let source = Source::read(folder).expect("a run");
    report::write(&source, page).expect("a report");
    page.to_owned()
}

/// One browser at a time: they are large.
static ONE: Mutex<()> = Mutex::new(());

fn opened() -> (MutexGuard<'static, ()>, Browser) {
    let one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let browser = Browser::start();
    // What the browser itself opens with is no part of the page.
    browser.open("about:blank");
    browser.log("performance");
    browser.open(&PAGE.url);
    (one, browser)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Whole nanoseconds as the page writes them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time is positive and far from 2^64")]
fn nanoseconds(time: f64) -> Grouped {
    Grouped(time.round() as u64)
}

fn tooltip(browser: &Browser) -> Option<String> {
    let tip = browser.script("const tip = document.getElementById('tooltip'); return tip.hidden ? null : tip.textContent");
    tip.as_str().map(ToOwned::to_owned)
}

/// The verified cases of the first layer, as its first chart shows them.
fn first_layer() -> Vec<&'static Measurement> {
    let first = &PAGE.run.measurements[0].case;
    let of_layer = |row: &&Measurement| (&row.case.layer, row.case.conv) == (&first.layer, first.conv) && row.status == Status::Ok;
    PAGE.run.measurements.iter().filter(of_layer).collect()
}

#[test]
fn nothing_is_fetched_nothing_fails_and_hostile_names_do_not_run() {
    let (_one, browser) = opened();
    browser.script("for (const details of document.querySelectorAll('details')) details.open = true");
    assert_eq!(browser.script("return window.pwned"), Value::Null);
    assert_eq!(browser.script("return document.querySelectorAll('script').length"), json!(1), "the page's own");
    assert_eq!(browser.script("return document.querySelectorAll('img, iframe, object, link:not([rel=icon])').length"), json!(0));
    let console: Vec<Value> = browser.log("browser");
    assert!(console.is_empty(), "{console:?}");
    let mut fetched = 0;
    for entry in browser.log("performance") {
        let message: Value = serde_json::from_str(&text(&entry["message"])).expect("JSON");
        if message["message"]["method"] == "Network.requestWillBeSent" {
            let url = text(&message["message"]["params"]["request"]["url"]);
            assert!(url == PAGE.url || url.starts_with("data:"), "{url}");
            fetched += 1;
        }
    }
    assert!(fetched >= 1, "the page itself is in the log, or the log shows nothing");
    // The names are there, as text.
    for name in report_run::HOSTILE.iter().filter(|name| !name.contains(['\n', '\0'])) {
        let there = browser.script(&format!(
            "return [...document.querySelectorAll('#layers summary bdi')].some(name => (name.title || name.textContent) === {})",
            Value::from(*name)
        ));
        assert_eq!(there, true, "{name:?}");
    }
}

#[test]
fn hovering_and_focus_show_exact_bytes_and_times() {
    let (_one, browser) = opened();
    let cases = first_layer();
    let chart = "details.layer figure svg.chart";
    let count = browser.script(&format!("return document.querySelector('{chart}').querySelectorAll('.hit').length"));
    assert_eq!(count, json!(cases.len()));
    assert_eq!(tooltip(&browser), None);
    browser.script(&format!("document.querySelector('{chart}').scrollIntoView({{ block: 'center' }})"));
    // A mark that no other lies over.
    browser.script(&format!(
        "for (const hit of document.querySelector('{chart}').querySelectorAll('.hit')) {{
            const r = hit.getBoundingClientRect();
            if (document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2) === hit) {{ hit.id = 'free'; break; }}
        }}"
    ));
    browser.hover("#free");
    let told = tooltip(&browser).expect("a tooltip");
    let exact = |told: &str| {
        cases.iter().any(|row| {
            let name = row.case.variant.qualify(&row.case.algorithm);
            let bytes = Bytes(row.computation_bytes.expect("timed")).to_string();
            let time = format!("({} ns)", nanoseconds(row.time_median_ns.expect("timed")));
            told.lines().next() == Some(&name) && told.contains(&bytes) && told.contains(&time)
        })
    };
    assert!(exact(&told), "{told}");
    browser.hover("h1");
    assert_eq!(tooltip(&browser), None, "it goes with the pointer");

    // From the summary of the first layer Tab leads to its first chart, arrows from mark to mark.
    browser.script("document.querySelector('details.layer summary').focus()");
    browser.keys(TAB);
    let mut seen = vec![tooltip(&browser).expect("the focus shows it, too")];
    for _ in 1..cases.len() {
        browser.keys(RIGHT);
        seen.push(tooltip(&browser).expect("a tooltip"));
    }
    assert!(seen.iter().all(|told| exact(told)), "{seen:?}");
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), cases.len(), "every mark is reached");
    let label = "return document.activeElement.getAttribute('aria-label')";
    let last = text(&browser.script(label));
    browser.keys(END);
    assert_eq!(text(&browser.script(label)), last);
    browser.keys(TAB);
    assert_ne!(text(&browser.script("return document.activeElement.getAttribute('aria-label') || ''")), last, "one stop a chart");
    assert_eq!(browser.log("browser"), Vec::<Value>::new());
}

#[test]
fn the_table_filters_and_sorts_by_pointer_and_keyboard() {
    let (_one, browser) = opened();
    let rows = &PAGE.run.measurements;
    let shown = || browser.script("return [...document.querySelectorAll('#table tbody tr')].filter(row => !row.hidden).length");
    assert_eq!(shown(), json!(rows.len()));
    browser.script("document.getElementById('filter').focus()");
    browser.keys("WINOGRAD_f4 tiles");
    let expected = rows.iter().filter(|r| r.case.algorithm.starts_with("winograd_f4") && r.case.variant.to_string().contains("tiles"));
    assert_eq!(shown(), json!(expected.count()));
    let told = text(&browser.script("return document.getElementById('shown').textContent"));
    assert!(told.ends_with(&format!("of {} rows", rows.len())), "{told}");
    browser.script("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input', { bubbles: true }))");
    let select = |id: &str, value: &str| {
        browser.script(&format!(
            "const s = document.getElementById('{id}'); s.value = '{value}'; s.dispatchEvent(new Event('input', {{ bubbles: true }}))"
        ));
    };
    select("status", "over_limit");
    assert_eq!(shown(), json!(rows.iter().filter(|r| r.status == Status::OverLimit).count()));
    select("status", "");
    select("algorithm", "im2col");
    assert_eq!(shown(), json!(rows.iter().filter(|r| r.case.algorithm == "im2col").count()));
    select("algorithm", "");

    let column = browser.script("return [...document.querySelectorAll('#table thead th')].findIndex(head => head.textContent === 'time')");
    let times = || {
        let script = format!("return [...document.querySelectorAll('#table tbody tr')].map(row => row.cells[{column}].dataset.v ?? null)");
        let values = browser.script(&script);
        let values: Vec<Option<f64>> =
            values.as_array().expect("a list").iter().map(|v| v.as_str().map(|v| v.parse().expect("a number"))).collect();
        values
    };
    let sort =
        || text(&browser.script(&format!("return document.querySelectorAll('#table thead th')[{column}].getAttribute('aria-sort') || ''")));
    let measured = rows.iter().filter(|r| r.status == Status::Ok).count();
    browser.script(&format!("document.querySelectorAll('#table thead th')[{column}].querySelector('button').click()"));
    assert_eq!(sort(), "ascending");
    let up = times();
    assert!(up[..measured].is_sorted() && up[..measured].iter().all(Option::is_some) && up[measured..].iter().all(Option::is_none));
    browser.script(&format!("document.querySelectorAll('#table thead th')[{column}].querySelector('button').focus()"));
    browser.keys(ENTER);
    assert_eq!(sort(), "descending");
    let down = times();
    assert!(down[..measured].iter().rev().is_sorted() && down[measured..].iter().all(Option::is_none), "what was not measured stays last");
    assert_eq!(browser.log("browser"), Vec::<Value>::new());
}

/// The mean of red, green and blue of the page's ground.
fn ground(browser: &Browser) -> f64 {
    let colour = text(&browser.script("return getComputedStyle(document.body).backgroundColor"));
    let parts: Vec<f64> = colour.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    parts.iter().take(3).sum::<f64>() / 3.0
}

fn system_scheme(browser: &Browser, scheme: &str) {
    browser.debug("Emulation.setEmulatedMedia", &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }));
}

#[test]
fn light_and_dark_follow_the_system_until_the_button_is_pressed() {
    let (_one, browser) = opened();
    system_scheme(&browser, "light");
    assert!(ground(&browser) > 200.0);
    system_scheme(&browser, "dark");
    assert!(ground(&browser) < 60.0);
    let ink = "return getComputedStyle(document.querySelector('svg.chart text')).fill";
    let dark = text(&browser.script(ink));
    browser.script("document.getElementById('theme').click()");
    assert!(ground(&browser) > 200.0, "the button goes before the system");
    assert_ne!(text(&browser.script(ink)), dark, "charts change with the page");
    browser.script("document.getElementById('theme').click()");
    assert!(ground(&browser) < 60.0);
}

#[test]
fn a_phone_needs_no_sideways_scrolling() {
    let (_one, browser) = opened();
    browser.debug("Emulation.setDeviceMetricsOverride", &json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true }));
    browser.script("for (const details of document.querySelectorAll('details')) details.open = true");
    assert_eq!(browser.script("return innerWidth"), json!(360));
    let wide = "return [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg, .long') && e.getBoundingClientRect().right > 361) \
                .map(e => e.outerHTML.slice(0, 80))";
    assert_eq!(browser.script(wide), json!([]));
    assert_eq!(browser.script("return document.documentElement.scrollWidth"), json!(360));
    let least = "return Math.min(...[...document.querySelectorAll('svg.chart text')].map(t => t.getBoundingClientRect().height))";
    assert!(browser.script(least).as_f64().expect("a height") >= 9.0, "texts of charts can be read");
}

/// Pictures for the documentation, from a run kept in `results/`.
#[test]
#[ignore = "writes pictures: scripts/browser-test --screenshots DIR"]
fn screenshots() {
    let folder = std::env::var_os("CONVLEDGER_SCREENSHOTS").expect("CONVLEDGER_SCREENSHOTS names a folder");
    let one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let pages = tempfile::tempdir().expect("a folder");
    let page = written(&report_run::kept(), &pages.path().join("report.html"));
    let browser = Browser::start();
    let shot = |name: &str, size: [u64; 2], scheme: &str, at: &str, scale: f64| {
        let metrics = json!({ "width": size[0], "height": size[1], "deviceScaleFactor": scale, "mobile": size[0] < 500 });
        browser.debug("Emulation.setDeviceMetricsOverride", &metrics);
        system_scheme(&browser, scheme);
        browser.open(&format!("file://{}", page.display()));
        browser.script(&format!("document.querySelector('{at}').scrollIntoView({{ block: 'start', behavior: 'instant' }})"));
        let picture = STANDARD.decode(browser.screenshot()).expect("base 64");
        std::fs::write(Path::new(&folder).join(name), picture).expect("written");
    };
    std::fs::create_dir_all(&folder).expect("a folder");
    shot("report-light.png", [1160, 900], "light", "body", 1.0);
    shot("report-dark.png", [1160, 960], "dark", "#layers", 1.0);
    shot("report-phone.png", [360, 740], "light", "#layers", 1.5);
    drop(one);
}
