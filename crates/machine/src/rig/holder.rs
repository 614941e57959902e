//! The process that holds a rig: its own side, and the side that starts it.
//!
//! A user namespace can only be entered by a process with one thread. A rig is therefore built and
//! held by a process of its own, which is this program started again. It keeps a descriptor of each
//! namespace and nothing else. When it ends, in whatever way, the kernel removes the namespaces
//! once no process is in them. Until it is told to stay it ends with its standard input, that is,
//! with the process that started it, and first ends the processes on its hosts.

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

/// The arguments with which this program is started to hold a rig; the topology follows.
pub const HOLD: [&str; 2] = ["rig", "hold"];

const BUILD: &str = "build";
const STAY: &str = "stay";

/// A host as its holder describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldHost {
    pub name: String,
    /// The address at which the other hosts reach it; a wire has none.
    pub address: Option<Ipv4Addr>,
    /// Inode of its network namespace. Another namespace may get it once this one is gone.
    pub namespace: u64,
    /// Cookie of its network namespace. No other namespace gets it until the machine is started
    /// again. `None` before Linux 5.14.
    pub cookie: Option<u64>,
    /// The holder's descriptor of that namespace: `/proc/HOLDER/fd/DESCRIPTOR`.
    pub descriptor: i32,
}

/// The holder's only answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HolderAnswer {
    Built(Vec<HeldHost>),
    Refused { step: Step, errno: i32 },
}

/// Builds a rig when ordered to, and holds it. It holds the rig until the input ends, and then ends
/// the processes in it; or for good if it is told to stay.
///
/// # Errors
/// If the line to the process that started this breaks. What the kernel refuses is not an error
/// here, but part of the answer.
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
    let answer = match &built {
        Ok(built) => HolderAnswer::Built(held(layout, built)?),
        Err((step, error)) => HolderAnswer::Refused {
            step: *step,
            errno: error.raw_os_error().unwrap_or_default(),
        },
    };
    writeln!(output, "{}", serde_json::to_string(&answer)?)?;
    if next_line(&mut orders)? == STAY {
        loop {
            std::thread::park();
        }
    }
    // The process that started this was killed. Otherwise it would have ended the rig's processes
    // itself, and then this one.
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

/// Reads the next line without its end; empty at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<String> {
    let line = foreign::line::next(input, || false)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// The starter's side: a holder that was started. Dropping it ends the holder, and with it the rig.
#[derive(Debug)]
pub(super) struct Holder {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    stays: bool,
}

impl Holder {
    /// Starts a holder, which waits for its order to build. The terminal's signals do not reach it,
    /// and it has nothing of ours open and no part of our environment.
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
        let answers = child.stdout.take().ok_or(RigError::HolderGone)?;
        Ok(Self {
            child,
            orders,
            answers: BufReader::new(answers),
            stays: false,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Orders the holder to build the rig.
    pub(super) fn build(&mut self) -> Result<Vec<HeldHost>, RigError> {
        self.order(BUILD)?;
        let line = next_line(&mut self.answers).map_err(|_| RigError::HolderGone)?;
        match serde_json::from_str(&line) {
            Ok(HolderAnswer::Built(hosts)) => Ok(hosts),
            Ok(HolderAnswer::Refused { step, errno }) => Err(RigError::Refused {
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
            // It is killed, since a stopped process would not notice the end of its input.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
