//! Which of the levers that were asked for can be tried on a running server, and why the others
//! cannot.

use std::cell::OnceCell;
use std::net::SocketAddr;

use anyhow::{anyhow, bail, ensure};
use machine::levers::{self, DeviceName, Lever, Obstacle, Site, Worst};
use machine::planted::{self, Planted, PlantedError, SetLever, Wanted};
use model::Binds;
use model::lever::{Leave, LeverSetting, LeverShape};
use schemars::JsonSchema;
use serde::Serialize;
use study::did_you_mean;

use super::their_load;

/// Device that the load goes over, like everything that this machine sends to its own servers.
const LOOPBACK: &str = "lo";
/// Placeholder for the URL of the second server, which is not known.
const SECOND: &str = "http://127.0.0.1:SECOND_PORT/";

/// A lever that was asked for and is not tried.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Untried {
    /// The lever, with its value if there is one.
    pub(super) lever: String,
    /// Why it is not tried.
    pub(super) why: String,
    /// Commands that measure it by hand; empty where there is no such way.
    pub(super) commands: Vec<String>,
}

/// Levers that are tried, and levers that are not.
#[derive(Default)]
pub(super) struct Choice {
    pub(super) tried: Vec<LeverSetting>,
    pub(super) untried: Vec<Untried>,
    /// See [`Chooser::settle_ms`].
    pub(super) settle_ms: Option<u32>,
}

/// Chooses levers: how far they may reach, and the server that they are tried on.
pub(super) struct Chooser<'a> {
    pub(super) leave: Leave,
    /// URL of the server, as it is typed.
    pub(super) url: &'a str,
    /// Address of the server, if levers are tried under its own traffic.
    pub(super) their_load: Option<SocketAddr>,
    /// How soon new connections carry that traffic, ms; measured when it is first needed.
    pub(super) takeover_ms: OnceCell<Result<u32, String>>,
}

impl Chooser<'_> {
    /// Chooses among the levers that were typed.
    ///
    /// # Errors
    /// An unknown lever, a value that a lever does not accept, or a lever that was typed twice.
    pub(super) fn of_typed(&self, typed: &[LeverSetting]) -> anyhow::Result<Choice> {
        let mut choice = Choice::default();
        for (nth, setting) in typed.iter().enumerate() {
            ensure!(
                !typed[..nth].contains(setting),
                "`{setting}` was given twice"
            );
            let lever = find(setting)?;
            check_value(setting, lever)?;
            self.choose(setting.clone(), lever, &mut choice);
        }
        Ok(choice)
    }

    /// Chooses all levers that take hold at once and at worst cost speed, with each other known
    /// value.
    pub(super) fn of_all_safe(&self) -> Choice {
        let mut choice = Choice::default();
        for lever in levers::all() {
            let setting = |value| LeverSetting {
                name: lever.name.clone(),
                value,
            };
            if let Some(why) = not_safe(lever) {
                choice.untried.push(untried(&setting(None), why.to_owned()));
                continue;
            }
            let values = lever.other_values(&site());
            if values.is_empty() {
                let why = "it is as it should be, or no other value is known: give LEVER=VALUE";
                choice.untried.push(untried(&setting(None), why.to_owned()));
            }
            for setting in values.into_iter().map(|value| setting(Some(value))) {
                if let Some(planted) = planted::find(&lever.name) {
                    self.choose(setting, planted, &mut choice);
                }
            }
        }
        choice
    }

    fn choose(&self, setting: LeverSetting, lever: &'static dyn Planted, choice: &mut Choice) {
        match self.objection(&setting, lever) {
            Some(untried) => choice.untried.push(untried),
            None => choice.tried.push(setting),
        }
    }

    /// Why a lever cannot be tried here.
    fn objection(&self, setting: &LeverSetting, lever: &'static dyn Planted) -> Option<Untried> {
        if !binds_at_once(lever.binds()) {
            return Some(self.at_a_restart(setting, lever));
        }
        let wanted = Wanted {
            value: setting.value.as_deref(),
            leave: self.leave,
            ..Wanted::default()
        };
        let why = match lever.unavailable(wanted) {
            Some(why) => Some(why),
            None if lever.is_so(wanted) => Some("this machine is set so already".to_owned()),
            None => refused(lever, wanted).map(|error| error.to_string()),
        };
        match why {
            Some(why) => Some(untried(setting, why)),
            None if lever.binds() == Binds::Connect => self.at_a_connection(setting),
            None => None,
        }
    }

    /// Objection to a lever that connections which stay open do not take on, with the command that
    /// measures it by load of ours.
    fn at_a_connection(&self, setting: &LeverSetting) -> Option<Untried> {
        let address = self.their_load?;
        let takeover = || their_load::takeover_ms(address);
        let why = self.takeover_ms.get_or_init(takeover).as_ref().err()?;
        Some(Untried {
            commands: vec![format!(
                "sudo linerate levers try {setting} --url {}",
                self.url
            )],
            ..untried(
                setting,
                format!("it takes hold when a connection is opened, and {why}"),
            )
        })
    }

    /// How long a block waits for connections that were opened with its levers, ms; `None` where no
    /// block has to wait.
    pub(super) fn settle_ms(&self) -> Option<u32> {
        self.takeover_ms.get()?.as_ref().ok().copied()
    }

    /// Objection to a lever that needs a restart of the server, with the commands that measure it
    /// on a second server.
    fn at_a_restart(&self, setting: &LeverSetting, lever: &'static dyn Planted) -> Untried {
        let compare = format!("linerate versus {} {SECOND}", self.url);
        let known = levers::find(&setting.name);
        let is_knob = known.is_some_and(|known| known.plan(&site(), wanted_of(setting)).is_ok());
        let commands = match lever.binds() {
            _ if lever.only_serve() => Vec::new(),
            Binds::Boot => Vec::new(),
            _ if is_knob => vec![
                format!("sudo linerate levers apply {setting}"),
                "YOUR_SERVER, started a second time, on another port".to_owned(),
                compare,
                format!("sudo linerate levers undo {}", setting.name),
            ],
            _ => vec![
                format!("linerate levers run {setting} -- YOUR_SERVER, on another port"),
                compare,
            ],
        };
        let why = match (lever.only_serve(), lever.binds()) {
            (true, _) => "it is a switch of our own server: see `linerate help serve`",
            (_, Binds::Boot) => "it needs a reboot",
            (_, Binds::Listen) => {
                "it takes hold when a server begins to listen, and yours is not restarted"
            }
            _ => "it takes hold when a server is started, and yours is not restarted",
        };
        Untried {
            commands,
            ..untried(setting, why.to_owned())
        }
    }
}

/// Sets a lever, puts it back at once, and returns the error if there is one. Only this shows what
/// a kernel refuses, such as a congestion control in a namespace.
fn refused(lever: &'static dyn Planted, wanted: Wanted<'_>) -> Option<PlantedError> {
    match lever.set(wanted) {
        Ok(SetLever::Held(held)) => {
            let verified = held.verify();
            let undone = held.undo();
            verified.and(undone).err()
        }
        Ok(SetLever::Child(_) | SetLever::ServeArgument(_)) => None,
        Err(error) => Some(error),
    }
}

fn binds_at_once(binds: Binds) -> bool {
    matches!(binds, Binds::Live | Binds::Connect)
}

/// Why a lever is not tried unless it is named.
fn not_safe(lever: &Lever) -> Option<&'static str> {
    match &lever.worst {
        _ if !binds_at_once(lever.binds) => Some("it needs a restart of the server, or more"),
        Worst::None(_) | Worst::Slower(_) => None,
        _ => Some("it may do harm at worst: name it to try it"),
    }
}

fn untried(setting: &LeverSetting, why: String) -> Untried {
    Untried {
        lever: setting.to_string(),
        why,
        commands: Vec::new(),
    }
}

fn wanted_of(setting: &LeverSetting) -> Option<&str> {
    setting.value.as_deref()
}

/// This machine, with the device that the load goes over.
pub(super) fn site() -> Site {
    let loopback: DeviceName = LOOPBACK.parse().expect("it is a name");
    Site::here(Some(loopback))
}

/// The lever of a setting, or the planted cost of that name.
fn find(setting: &LeverSetting) -> anyhow::Result<&'static dyn Planted> {
    planted::find(&setting.name).ok_or_else(|| {
        let names = levers::all().map(|lever| lever.name.as_str());
        let meant = did_you_mean(&setting.name, names);
        anyhow!(
            "there is no lever `{}`; `linerate levers list` shows those there are{meant}",
            setting.name
        )
    })
}

/// Refuses a value that the lever accepts on no machine.
fn check_value(setting: &LeverSetting, planted: &'static dyn Planted) -> anyhow::Result<()> {
    let shape = LeverShape {
        name: planted.name(),
        takes: planted.takes(),
    };
    ensure!(
        shape.takes(wanted_of(setting)),
        "`{setting}` cannot be set; expected {shape}"
    );
    match levers::find(&setting.name).and_then(|lever| obstacle(lever, wanted_of(setting))) {
        Some(wrong @ (Obstacle::BadValue { .. } | Obstacle::NoValue { .. })) => bail!("{wrong}"),
        _ => Ok(()),
    }
}

fn obstacle(lever: &'static Lever, value: Option<&str>) -> Option<Obstacle> {
    match lever.at_start(value) {
        Some(part) => part.err(),
        None => lever.plan(&site(), value).err(),
    }
}
