//! The process that holds a rig: its two ends.
//!
//! A user namespace can only be entered by a process with one thread, so a rig is built and held by
//! a process of its own, this program started again. It keeps a descriptor of each namespace and
//! nothing else; when it ends, however it ends, the kernel takes the namespaces down once nobody is
//! inside. Until it is told to stay it ends with its standard input, so with whoever started it, and
//! sees first that nobody is.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use model::Topology;
use serde::{Deserialize, Serialize};
use sys::namespace::{NetworkNamespace, current_network_cookie};

use super::build::build;
use super::error::{RigError, Step};
use super::inside::{Inside, LONGEST_END};
use super::layout::{Layout, layout};

/// The words with which this program is started to hold a rig; the topology follows.
pub const HOLD: [&str; 2] = ["rig", "hold"];

const BUILD: &str = "build";
const STAY: &str = "stay";

/// A host as its holder has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldHost {
    pub name: String,
    /// Where the other hosts reach it; a wire has none.
    pub address: Option<Ipv4Addr>,
    /// Inode of its network namespace: another's, once it is gone.
    pub namespace: u64,
    /// Cookie of its network namespace: never another's until the machine is started again. `None`
    /// before Linux 5.14.
    pub cookie: Option<u64>,
    /// The holder's descriptor of that namespace: `/proc/HOLDER/fd/DESCRIPTOR`.
    pub descriptor: i32,
}

/// What the holder tells, once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Built(Vec<HeldHost>),
    Refused { step: Step, errno: i32 },
}

/// Builds a rig when told so and holds it: until the input ends, and then ends whoever is in it, or
/// for good when told to stay.
///
/// # Errors
/// When the line to whoever started this breaks. What the kernel refuses is told, not returned.
pub fn hold(
    topology: Topology,
    mut orders: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    sys::process::set_name(c"linerate-rig")?;
    if next_line(&mut orders)? != BUILD {
        return Ok(());
    }
    let layout = layout(topology);
    let built = build(layout);
    let told = match &built {
        Ok(built) => Told::Built(held(layout, built)?),
        Err((step, error)) => Told::Refused {
            step: *step,
            errno: error.raw_os_error().unwrap_or_default(),
        },
    };
    writeln!(output, "{}", serde_json::to_string(&told)?)?;
    if next_line(&mut orders)? == STAY {
        loop {
            std::thread::park();
        }
    }
    // Whoever started this was killed: it would have ended them itself, and then this.
    if let Ok(built) = built {
        Inside::of_uts(std::process::id(), built.uts).end(LONGEST_END);
    }
    Ok(())
}

fn held(layout: &Layout, built: &super::build::Built) -> io::Result<Vec<HeldHost>> {
    let hosts = layout.hosts.iter().zip(&built.hosts);
    let held = hosts.map(|(host, namespace)| {
        Ok(HeldHost {
            name: host.name.clone(),
            address: host.address,
            namespace: namespace.inode()?,
            cookie: cookie_in(namespace),
            descriptor: namespace.descriptor(),
        })
    });
    held.collect()
}

fn cookie_in(namespace: &NetworkNamespace) -> Option<u64> {
    namespace.enter().ok()?;
    current_network_cookie().ok()
}

/// The next line without its end; empty at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<String> {
    let line = foreign::line::next(input, || false)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// The other end: a holder that was started. Dropping it ends it, and with it the rig.
#[derive(Debug)]
pub(super) struct Holder {
    child: Child,
    orders: Option<ChildStdin>,
    tells: BufReader<ChildStdout>,
    stays: bool,
}

impl Holder {
    /// Starts a holder, which waits for its order to build. It is out of reach of the terminal's
    /// signals, has nothing of ours open and no part of our environment.
    pub(super) fn start(program: &Path, topology: Topology) -> Result<Self, RigError> {
        let mut command = Command::new(program);
        command
            .args(HOLD)
            .arg(topology.name())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        sys::process::detach(&mut command);
        let mut child = command.spawn().map_err(RigError::Start)?;
        let orders = child.stdin.take();
        let tells = child.stdout.take().ok_or(RigError::HolderGone)?;
        Ok(Self {
            child,
            orders,
            tells: BufReader::new(tells),
            stays: false,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has the rig built.
    pub(super) fn build(&mut self) -> Result<Vec<HeldHost>, RigError> {
        self.order(BUILD)?;
        let line = next_line(&mut self.tells).map_err(|_| RigError::HolderGone)?;
        match serde_json::from_str(&line) {
            Ok(Told::Built(hosts)) => Ok(hosts),
            Ok(Told::Refused { step, errno }) => Err(RigError::Refused {
                step,
                source: io::Error::from_raw_os_error(errno),
            }),
            Err(_) => Err(RigError::HolderGone),
        }
    }

    /// Lets the holder outlive us.
    pub(super) fn let_stay(mut self) -> Result<(), RigError> {
        self.order(STAY)?;
        self.stays = true;
        Ok(())
    }

    fn order(&mut self, word: &str) -> Result<(), RigError> {
        let orders = self.orders.as_mut().ok_or(RigError::HolderGone)?;
        writeln!(orders, "{word}").map_err(|_| RigError::HolderGone)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if !self.stays {
            // Not only the end of its input, which one that was stopped would not see.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
