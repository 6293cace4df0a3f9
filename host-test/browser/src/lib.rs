//! Headless Chromium for tests of the mock's page: Debian's `chromium` and `chromedriver`, neither
//! of which outlives the [`Browser`].
#![forbid(unsafe_code)]

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{self, Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::{TimeoutConfiguration, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::{JoinHandle, spawn_blocking};
use url::{ParseError, Url};

/// The time within which a page must reach the state that a test waits for, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The programs that `apt-get install chromium chromium-driver` installs.
const CHROMIUM: &str = "chromium";
const DRIVER: &str = "chromedriver";

/// The colour scheme that the page's user prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// A window of a browser with its own profile. It is for tests: its methods panic if the browser
/// fails.
pub struct Browser {
    client: Client,
    // Dropped in this order.
    _driver: Program,
    _chromium: Program,
    _profile: TempDir,
}

impl Browser {
    /// Starts both programs and opens a window with a page of 1440 × 900.
    ///
    /// # Errors
    /// Fails if one of them is missing or does not start.
    pub async fn start() -> Result<Self> {
        let profile = tempfile::Builder::new()
            .prefix("voice-calling-")
            .tempdir()?;
        let mut chromium = process::Command::new(CHROMIUM);
        chromium
            .args([
                "--headless=new",
                // Tests run as root in containers, whose /dev/shm is small.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            // Temporary files, which Chromium would leave behind when it is killed.
            .env("TMPDIR", profile.path());
        // In parallel: each takes a second or two.
        let chromium = start_in_background(chromium, "DevTools listening on ws://");
        let (driver, port) = start_driver(profile.path()).await?;
        let (chromium, debugger) = chromium.await??;
        let debugger = debugger.split('/').next().unwrap_or_default();
        let port = port.trim_end_matches('.');
        let options = json!({
            "goog:chromeOptions": { "debuggerAddress": debugger },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let Value::Object(capabilities) = options else {
            bail!("capabilities are an object");
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .context("chromedriver did not open a session")?;
        let browser = Self {
            client,
            _driver: driver,
            _chromium: chromium,
            _profile: profile,
        };
        let timeouts = TimeoutConfiguration::new(Some(TIMEOUT), None, None);
        browser.client.update_timeouts(timeouts).await?;
        browser.resize(1440, 900).await;
        Ok(browser)
    }

    /// Returns the driver's client, for anything that this type has no method for.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Opens a URL.
    pub async fn open(&self, url: &str) {
        expect(self.client.goto(url).await, url);
    }

    /// Waits until the JavaScript expression `condition` is true, which is checked whenever the
    /// page changes. Panics with the page's text if it is not true within half a minute.
    pub async fn until(&self, condition: &str) {
        let script = format!(
            "const done = arguments[0];
            const look = () => {{
                const value = (() => {{ try {{ return {condition}; }} catch {{ return false; }} }})();
                if (!value) return;
                observer.disconnect();
                done(true);
            }};
            const observer = new MutationObserver(look);
            const everything = {{ subtree: true, childList: true, attributes: true, characterData: true }};
            observer.observe(document, everything);
            look();"
        );
        if let Err(error) = self.client.execute_async(&script, Vec::new()).await {
            let text = self.read("document.body.innerText").await;
            panic!("never true: {condition}\n{error}\nthe page: {text}");
        }
    }

    /// Returns the value of a JavaScript expression.
    pub async fn read(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        expect(self.client.execute(&script, Vec::new()).await, expression)
    }

    /// Returns the first element that matches.
    pub async fn element(&self, css: &str) -> Element {
        expect(self.client.find(Locator::Css(css)).await, css)
    }

    /// Clicks with the mouse in the middle of the first element that matches. No other element may
    /// cover it.
    pub async fn click(&self, css: &str) {
        expect(self.element(css).await.click().await, css);
    }

    /// Presses keys one after another, wherever the focus is.
    pub async fn press(&self, keys: &str) {
        let keyboard = KeyActions::new("keyboard".to_owned());
        let pressed = keys.chars().fold(keyboard, |keyboard, value| {
            let down = keyboard.then(KeyAction::Down { value });
            down.then(KeyAction::Up { value })
        });
        expect(self.client.perform_actions(pressed).await, keys);
    }

    /// Makes the page display for a user who prefers these colours, and no motion.
    pub async fn prefer(&self, colours: Colours) {
        let scheme = match colours {
            Colours::Light => "light",
            Colours::Dark => "dark",
        };
        let features = [
            json!({ "name": "prefers-color-scheme", "value": scheme }),
            json!({ "name": "prefers-reduced-motion", "value": "reduce" }),
        ];
        let parameters = json!({ "features": features });
        self.order("Emulation.setEmulatedMedia", parameters).await;
    }

    /// Sets the size of the page, in pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let parameters = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false
        });
        self.order("Emulation.setDeviceMetricsOverride", parameters)
            .await;
    }

    /// Returns the errors in the page's console since the last call: of scripts, of requests, and
    /// of the content security policy.
    pub async fn errors(&self) -> Vec<String> {
        let log = self.client.issue_cmd(Command {
            path: "se/log",
            body: json!({ "type": "browser" }),
        });
        let log = expect(log.await, "the console");
        let lines = log.as_array().expect("a log is a list");
        let errors = lines.iter().filter(|line| line["level"] == "SEVERE");
        errors.map(|line| line["message"].to_string()).collect()
    }

    async fn order(&self, command: &str, parameters: Value) -> Value {
        let ordered = self.client.issue_cmd(Command {
            path: "goog/cdp/execute",
            body: json!({ "cmd": command, "params": parameters }),
        });
        expect(ordered.await, command)
    }

    /// Returns a screenshot as WebP, which is small: every clone of the repository contains these.
    pub async fn picture(&self) -> Vec<u8> {
        let parameters = json!({ "format": "webp", "quality": 80 });
        let picture = self.order("Page.captureScreenshot", parameters).await;
        let data = picture["data"].as_str().expect("a picture");
        BASE64_STANDARD.decode(data).expect("base 64")
    }
}

/// Panics if the browser failed.
fn expect<T>(result: Result<T, CmdError>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// A command of Chromium's driver that WebDriver does not define.
#[derive(Debug)]
struct Command {
    /// The path after the session's.
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Command {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, ParseError> {
        let session = session_id.unwrap_or_default();
        base_url.join(&format!("session/{session}/{}", self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

/// A program that is killed, by its id, when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // An error means that the program has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the driver. It picks a port that is free on IPv6 and uses the same on IPv4, where it may
/// be taken: then it ends and is started again.
async fn start_driver(temporary: &Path) -> Result<(Program, String)> {
    let mut attempts = 0;
    loop {
        let mut driver = process::Command::new(DRIVER);
        driver.arg("--port=0").env("TMPDIR", temporary);
        attempts += 1;
        let started = start_in_background(driver, "started successfully on port ");
        match started.await? {
            Err(error) if attempts < 10 && format!("{error:#}").contains("port not available") => {}
            result => return result,
        }
    }
}

/// Starts a program, and returns the rest of the line that contains `mark`.
fn start_in_background(
    command: process::Command,
    mark: &'static str,
) -> JoinHandle<Result<(Program, String)>> {
    spawn_blocking(move || start(command, mark))
}

fn start(mut command: process::Command, mark: &str) -> Result<(Program, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (pipe, output) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?);
    let child = command.stderr(output).spawn().with_context(|| {
        format!("cannot start {name}: `cargo xtask setup chromium` installs it on Debian")
    })?;
    let program = Program(child);
    // Otherwise the pipe would not end with the program.
    drop(command);
    let mut pipe = BufReader::new(pipe);
    let mut said = String::new();
    loop {
        let begin = said.len();
        let read = pipe.read_line(&mut said)?;
        ensure!(read > 0, "{name} ended before it was ready:\n{said}");
        if let Some((_, rest)) = said[begin..].split_once(mark) {
            let rest = rest.trim().to_owned();
            // Reads on until the program ends, so that it never waits for a reader.
            thread::spawn(move || io::copy(&mut pipe, &mut io::sink()));
            return Ok((program, rest));
        }
    }
}
