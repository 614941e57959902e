//! A headless Chromium, driven by the DevTools protocol over two pipes: no port to choose, no
//! address to wait for, and the browser ends when the pipes close.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

const CHROMIUM: &str = "/usr/bin/chromium";
/// The longest silence of the browser; on a loaded machine its first word takes some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running browser with one page in it.
pub(crate) struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    profile: PathBuf,
    session: Option<String>,
    last_id: u64,
    /// Events of the page since [`Browser::forget_events`].
    events: Vec<Value>,
}

impl Browser {
    /// Starts the browser and opens an empty page.
    pub(crate) fn start() -> Self {
        let name = format!("browser-profile-{}", std::process::id());
        let profile = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut child = command(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let from = messages(child.stdout.take().expect("its output is piped"));
        let mut browser = Self {
            to: child.stdin.take(),
            child,
            from,
            profile,
            session: None,
            last_id: 0,
            events: Vec::new(),
        };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", &attach);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Sends a command and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let to = self.to.as_mut().expect("the pipe is open until the end");
        to.write_all(format!("{message}\0").as_bytes())
            .unwrap_or_else(|error| panic!("{method} could not be sent to {CHROMIUM}: {error}"));
        let answer = self.wait_for(method, |message, id| message["id"] == id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Waits until the page has reported an event since [`Browser::forget_events`].
    pub(crate) fn await_event(&mut self, method: &str) {
        if self.events_of(method).next().is_none() {
            self.wait_for(method, |message, _| message["method"] == method);
        }
    }

    fn wait_for(&mut self, what: &str, is_it: impl Fn(&Value, u64) -> bool) -> Value {
        loop {
            let message = self.from.recv_timeout(PATIENCE).unwrap_or_else(|reason| {
                panic!("{CHROMIUM} gave no answer to {what}: {reason}; is it installed?")
            });
            let found = is_it(&message, self.last_id);
            if message.get("method").is_some() {
                self.events.push(message.clone());
            }
            if found {
                return message;
            }
        }
    }

    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }

    /// The parameters of the events of one kind.
    pub(crate) fn events_of(&self, method: &str) -> impl Iterator<Item = &Value> {
        let of_kind = move |event: &&Value| event["method"] == method;
        self.events
            .iter()
            .filter(of_kind)
            .map(|event| &event["params"])
    }

    /// The value of an expression in the page, awaited where it is a promise.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", &parameters);
        let thrown = answer.get("exceptionDetails");
        assert!(thrown.is_none(), "the page threw: {thrown:?}");
        answer["result"]["value"].clone()
    }
}

impl Drop for Browser {
    /// Closes the input of the browser, which ends it; the browser then removes what it locked.
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The browser reads commands from descriptor 3 and answers on 4; a shell puts our pipes there.
fn command(profile: &std::path::Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "exec 3<&0 4>&1 </dev/null >/dev/null; exec \"$@\"",
            "sh",
            CHROMIUM,
            "--headless=new",
            "--remote-debugging-pipe",
            // Root has no sandbox, and the only page is our own.
            "--no-sandbox",
            // Containers have a small /dev/shm, and few have a graphics card.
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-component-update",
            // These make pictures the same on machines with other font settings.
            "--hide-scrollbars",
            "--font-render-hinting=none",
            "--disable-lcd-text",
            "--force-color-profile=srgb",
            "--lang=en-US",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("about:blank");
    command
}

/// Messages end with a zero byte; a thread reads them so that waiting for one can end.
fn messages(output: std::process::ChildStdout) -> Receiver<Value> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(output).split(0) {
            let parsed = message.map(|bytes| serde_json::from_slice(&bytes));
            let Ok(Ok(message)) = parsed else { return };
            if to.send(message).is_err() {
                return;
            }
        }
    });
    from
}
