//! Chromium through chromedriver, by the W3C's `WebDriver` protocol over plain HTTP.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What to do where there is no browser.
const HOW_TO: &str =
    "scripts/browser-test installs Chromium and chromedriver (Debian: apt-get install chromium chromium-driver), then runs this test";

/// A browser with one page, in a process of its own that ends with it.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver does not start ({error}): {HOW_TO}"));
        let lines = BufReader::new(driver.stdout.take().expect("piped")).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.unwrap_or_else(|| panic!("chromedriver names no port: {HOW_TO}"));
        let profile = tempfile::tempdir().expect("a folder");
        let switches = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=1200,900",
        ];
        let mut switches: Vec<String> = switches.iter().map(ToString::to_string).collect();
        switches.push(format!("--user-data-dir={}", profile.path().display()));
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": switches },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        }}});
        let base = format!("http://127.0.0.1:{port}/session");
        let mut browser = Self { driver, session: base.clone(), _profile: profile };
        let answer = Self::post_to(&base, &wanted);
        let id = answer["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {HOW_TO}\n{answer}"));
        browser.session = format!("{base}/{id}");
        browser
    }

    fn post_to(url: &str, body: &Value) -> Value {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().timeout_global(Some(Duration::from_mins(2))).http_status_as_error(false).build().into();
        let mut answer = agent.post(url).send_json(body).unwrap_or_else(|error| panic!("{url}: {error}"));
        let mut answer: Value = answer.body_mut().read_json().unwrap_or_else(|error| panic!("{url}: {error}"));
        let value = answer["value"].take();
        assert!(value["error"].is_null(), "{url}: {value}");
        value
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        Self::post_to(&format!("{}/{command}", self.session), body)
    }

    /// Goes to an address and waits for the page.
    pub(crate) fn open(&self, url: &str) {
        self.post("url", &json!({ "url": url }));
    }

    /// The value of a script's `return`.
    pub(crate) fn script(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// A command of the browser's own debugging protocol.
    pub(crate) fn debug(&self, command: &str, parameters: &Value) {
        self.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// Moves the pointer to the middle of the first element of a selector.
    pub(crate) fn hover(&self, selector: &str) {
        let element = self.post("element", &json!({ "using": "css selector", "value": selector }));
        let moves = [json!({ "type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": element })];
        self.post(
            "actions",
            &json!({ "actions": [{ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": moves }] }),
        );
    }

    /// Presses and lets go of each key: a character, or one of `WebDriver`'s for keys without.
    pub(crate) fn keys(&self, keys: &str) {
        let presses: Vec<Value> =
            keys.chars().flat_map(|key| ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key.to_string() }))).collect();
        self.post("actions", &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": presses }] }));
    }

    /// What was logged since the last call: `browser` is the console, `performance` the network.
    pub(crate) fn log(&self, kind: &str) -> Vec<Value> {
        self.post("se/log", &json!({ "type": kind })).as_array().cloned().unwrap_or_default()
    }

    /// The page as the window shows it: PNG in base 64.
    pub(crate) fn screenshot(&self) -> String {
        let agent = ureq::Agent::new_with_defaults();
        let mut answer = agent.get(format!("{}/screenshot", self.session)).call().expect("a screenshot");
        let answer: Value = answer.body_mut().with_config().limit(64 << 20).read_json().expect("an answer");
        answer["value"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; the driver by itself would leave it behind.
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
