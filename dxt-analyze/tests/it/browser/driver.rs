//! Headless Chromium driven through chromedriver; starts on a free port with an empty profile, and ends with the test.

use fantoccini::actions::{InputSource, KeyAction, KeyActions, MouseActions, PointerAction};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

/// Lock that limits the tests to one browser at a time, since each browser keeps a CPU busy.
static ONE: Mutex<()> = Mutex::const_new(());

/// Returns true if Chromium can be started; otherwise reports why it cannot.
pub(crate) fn available() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let have = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let both = have("chromium") && have("chromedriver");
    if !both {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "skipped: {name}: chromium and chromedriver are not installed");
    }
    both
}

pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Child,
    _profile: tempfile::TempDir,
    _one: MutexGuard<'static, ()>,
}

#[derive(Debug)]
struct ReadLog(&'static str);

impl WebDriverCompatibleCommand for ReadLog {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": self.0 }).to_string()))
    }
}

/// Command of the Chrome DevTools protocol: method name and parameters.
#[derive(Debug)]
struct DevTools(&'static str, Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.0, "params": self.1 }).to_string()))
    }
}

impl Browser {
    pub(crate) async fn start(width: u32, height: u32) -> Self {
        let one = ONE.lock().await;
        let profile = tempfile::tempdir().unwrap();
        let mut driver =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port: u16 = loop {
            let line = lines.next().expect("chromedriver says its port").unwrap();
            if let Some((_, rest)) = line.split_once("started successfully on port ") {
                break rest.trim_end_matches('.').parse().unwrap();
            }
        };
        // A thread drains later output, which would otherwise fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".into(),
            "--disable-gpu".into(),
            "--disable-quic".into(),
            "--no-first-run".into(),
            "--disable-background-networking".into(),
            "--disable-component-update".into(),
            "--disable-sync".into(),
            format!("--user-data-dir={}", profile.path().display()),
            format!("--window-size={width},{height}"),
        ];
        let wanted = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let mut builder = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(wanted.as_object().unwrap().clone());
        let client = builder.connect(&format!("http://127.0.0.1:{port}")).await.unwrap();
        Self { client, driver, _profile: profile, _one: one }
    }

    /// Opens the page at `address` and waits until its charts are drawn.
    pub(crate) async fn open(&self, address: &str) {
        self.client.goto(address).await.unwrap();
        self.until("return dxt.loadedMs > 0").await;
        self.js("document.documentElement.style.scrollBehavior = 'auto'").await;
    }

    pub(crate) async fn js(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a JavaScript expression is true; fails after ten seconds.
    pub(crate) async fn until(&self, script: &str) {
        for _ in 0..200 {
            if self.client.execute(script, Vec::new()).await.is_ok_and(|found| found == Value::Bool(true)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never true: {script}");
    }

    /// Clicks on the element that `css` selects, after scrolling it to the middle of the window, where nothing covers it.
    pub(crate) async fn click(&self, css: &str) {
        self.js(&format!("document.querySelector({css:?}).scrollIntoView({{ block: 'center' }})")).await;
        self.client.find(Locator::Css(css)).await.unwrap().click().await.unwrap();
    }

    pub(crate) async fn keys(&self, css: &str, keys: &str) {
        self.client.find(Locator::Css(css)).await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Presses a key; the focused element receives it, or the page if no element has the focus (as after the last control).
    pub(crate) async fn press(&self, value: char) {
        let keys = KeyActions::new("keys".into()).then(KeyAction::Down { value }).then(KeyAction::Up { value });
        self.client.perform_actions(keys).await.unwrap();
    }

    /// Selects the option `value` of the drop-down list that `css` selects.
    pub(crate) async fn choose(&self, css: &str, value: &str) {
        self.client.find(Locator::Css(css)).await.unwrap().select_by_value(value).await.unwrap();
    }

    /// Moves the pointer through `places` (window coordinates). If `press` is true, holds the button down from the first point to the last.
    pub(crate) async fn pointer(&self, places: &[(f64, f64)], press: bool) {
        let mut mouse = MouseActions::new("mouse".into());
        for (number, &(x, y)) in places.iter().enumerate() {
            let duration = Some(Duration::from_millis(50));
            mouse = mouse.then(PointerAction::MoveTo { duration, x, y });
            if press && number == 0 {
                mouse = mouse.then(PointerAction::Down { button: 0 });
            }
        }
        if press {
            mouse = mouse.then(PointerAction::Up { button: 0 });
        }
        self.client.perform_actions(mouse).await.unwrap();
    }

    /// Turns the mouse wheel by one tick at (`x`, `y`) in the window, with Ctrl held.
    pub(crate) async fn wheel(&self, x: f64, y: f64) {
        const CTRL: u32 = 2;
        let tick = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -100, "modifiers": CTRL });
        self.client.issue_cmd(DevTools("Input.dispatchMouseEvent", tick)).await.unwrap();
    }

    /// Sets the preferred colour scheme (`prefers-color-scheme`): `light` or `dark`.
    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.client.issue_cmd(DevTools("Emulation.setEmulatedMedia", features)).await.unwrap();
    }

    /// Sets the CSS media type of the page: `screen` or `print`.
    pub(crate) async fn media(&self, medium: &str) {
        self.client.issue_cmd(DevTools("Emulation.setEmulatedMedia", json!({ "media": medium }))).await.unwrap();
    }

    /// Prints the page; returns the PDF.
    pub(crate) async fn print(&self) -> Vec<u8> {
        let printed =
            self.client.issue_cmd(DevTools("Page.printToPDF", json!({ "printBackground": true }))).await.unwrap();
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.decode(printed["data"].as_str().unwrap()).unwrap()
    }

    /// Sets the size of the page's window in pixels, which may be smaller than browsers normally permit.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.client.issue_cmd(DevTools("Emulation.setDeviceMetricsOverride", size)).await.unwrap();
    }

    /// Returns the console messages since the last call.
    pub(crate) async fn console(&self) -> Vec<Value> {
        self.client.issue_cmd(ReadLog("browser")).await.unwrap().as_array().unwrap().clone()
    }

    /// Returns the addresses requested since the last call, without those of the browser's start page.
    pub(crate) async fn requests(&self) -> Vec<String> {
        let log = self.client.issue_cmd(ReadLog("performance")).await.unwrap();
        let messages = log.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap_or_default());
        let events = messages.map(|text| serde_json::from_str::<Value>(text).unwrap()["message"].clone());
        let sent = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        let asked = sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned());
        asked.filter(|address| !address.starts_with("chrome")).collect()
    }

    /// Saves a screenshot if `DXT_TEST_PICTURES` names a folder.
    pub(crate) async fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("DXT_TEST_PICTURES") else { return };
        let picture = self.client.screenshot().await.unwrap();
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), picture).unwrap();
    }

    pub(crate) async fn end(self) {
        let _ = self.client.clone().close().await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // On SIGTERM, chromedriver also ends its browser; if a failed test killed chromedriver, the browser would go on running.
        let _ = Command::new("kill").arg(self.driver.id().to_string()).status();
        let _ = self.driver.wait();
    }
}
