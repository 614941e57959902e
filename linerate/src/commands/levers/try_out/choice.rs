//! What of the levers that were asked for can be tried on a server that runs, and why the others cannot.

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

/// The load goes over it: what else is offered to a server of this machine by this machine does too.
const LOOPBACK: &str = "lo";
/// Where nobody has said where the second server listens.
const SECOND: &str = "http://127.0.0.1:SECOND_PORT/";

/// A lever that was asked for and is not tried.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Untried {
    /// The lever, with its value where one was meant.
    pub(super) lever: String,
    /// Why it is not.
    pub(super) why: String,
    /// What a person would type to measure it all the same; none where there is no such way.
    pub(super) commands: Vec<String>,
}

/// What is tried, and what is not.
#[derive(Default)]
pub(super) struct Choice {
    pub(super) tried: Vec<LeverSetting>,
    pub(super) untried: Vec<Untried>,
    /// As of [`Chooser::settle_ms`].
    pub(super) settle_ms: Option<u32>,
}

/// Who asks: how far levers may reach, and the server as it is typed.
pub(super) struct Chooser<'a> {
    pub(super) leave: Leave,
    pub(super) url: &'a str,
    /// Where the server listens under whose own traffic they are tried.
    pub(super) their_load: Option<SocketAddr>,
    /// How soon new connections carry that, ms, once it was asked.
    pub(super) takeover_ms: OnceCell<Result<u32, String>>,
}

impl Chooser<'_> {
    /// Of those that were typed.
    ///
    /// # Errors
    /// A lever that there is not, a value that it does not take, one that was typed twice.
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

    /// All that take hold at once and cost speed at worst, at each other value that is known.
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
                let why = "it is as it should be, or no other value is known: say LEVER=VALUE";
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
            None if lever.is_so(wanted) => Some("this machine is so already".to_owned()),
            None => refused(lever, wanted).map(|error| error.to_string()),
        };
        match why {
            Some(why) => Some(untried(setting, why)),
            None if lever.binds() == Binds::Connect => self.at_a_connection(setting),
            None => None,
        }
    }

    /// What connections that stay open do not take on, and how it is measured all the same.
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
                format!("it takes hold as a connection is opened, and {why}"),
            )
        })
    }

    /// How long a block waits for connections that were opened with its levers, ms; `None` where none has to.
    pub(super) fn settle_ms(&self) -> Option<u32> {
        self.takeover_ms.get()?.as_ref().ok().copied()
    }

    /// What takes a restart of the server, and how it is measured beside it.
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
            (true, _) => "it is a switch of our own server: `linerate help serve` has it",
            (_, Binds::Boot) => "it takes a reboot",
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

/// What speaks against it once it is set, and put back at once: what a kernel refuses is known by that
/// alone, such as a congestion control in a namespace.
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
        _ if !binds_at_once(lever.binds) => Some("it takes a restart of the server, or more"),
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

/// This machine, as the load sees it.
pub(super) fn site() -> Site {
    let loopback: DeviceName = LOOPBACK.parse().expect("it is a name");
    Site::here(Some(loopback))
}

/// The lever of a setting, or the cost that is planted by that name.
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

/// Refuses a value that the lever takes nowhere.
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
