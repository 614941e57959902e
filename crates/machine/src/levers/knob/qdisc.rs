//! The knob that is the queue discipline at the root of a device.

use std::fmt;
use std::io;

use super::DeviceName;
use super::place::{Place, absent_as_not_found, typed};
use crate::levers::value::{Form, Value};
use crate::rig::qdisc::{AT_ROOT, KIND, Told, push_place, qdiscs};
use crate::rtnetlink::{self, push_text};
use crate::tree::Tree;

// linux/rtnetlink.h, and with `NLM_F_REPLACE | NLM_F_CREATE` of linux/netlink.h.
const NEW_QDISC: u16 = 36;
const DELETE_QDISC: u16 = 37;
const REPLACE: u16 = rtnetlink::DO | 0x500;
/// `ENOENT`: the kernel has no module of that kind.
const NO_SUCH: i32 = 2;
/// Before the kind of one that nobody has put there.
const BY_DEFAULT: &str = "default:";
/// Kinds without a setting of their own, which are wholly told by their name.
const PLAIN: [&str; 2] = ["noqueue", "pfifo_fast"];
/// What devices get that come up (net.core.default_qdisc).
const DEFAULT: &str = "proc/sys/net/core/default_qdisc";

/// The root of one device: the kind of what stands there, with a word before it where that is the
/// kernel's own choice.
pub(super) struct OfRoot<'k> {
    pub(super) device: &'k DeviceName,
}

impl Place for OfRoot<'_> {
    fn form(&self) -> Form {
        Form::Word
    }

    fn read(&self, _: &Tree) -> io::Result<Value> {
        let root = root_of(self.qdiscs()?)?;
        Ok(Value::Word(match root.handle {
            0 => format!("{BY_DEFAULT}{}", root.kind),
            _ => root.kind,
        }))
    }

    fn write(&self, _: &Tree, value: &Value) -> io::Result<()> {
        let Value::Word(word) = value else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match word.strip_prefix(BY_DEFAULT) {
            Some(_) => self.take_away(),
            None => self.put(word),
        }
    }

    fn command(&self, value: &Value) -> String {
        let word = value.to_string();
        match word.starts_with(BY_DEFAULT) {
            true => format!("tc qdisc del dev {} root", typed(self.device)),
            false => format!("tc qdisc replace dev {} root {word}", typed(self.device)),
        }
    }
}

impl OfRoot<'_> {
    /// What an undo would not bring back of what stands there now; `None` where it would.
    pub(super) fn loss(&self, tree: &Tree) -> Option<String> {
        let qdiscs = self.qdiscs().ok()?;
        let root = root_of(qdiscs.clone()).ok()?;
        if root.handle != 0 {
            let is_plain = PLAIN.contains(&&*root.kind);
            return (!is_plain).then(|| {
                let kind = root.kind;
                format!("the options, classes and filters of its {kind} would be lost")
            });
        }
        // Other namespaces are not shown what the host has set; then the undo looks and tells.
        let default = tree.text(DEFAULT)?;
        let mut given = match &*root.kind {
            "noqueue" => Vec::new(),
            "mq" => qdiscs
                .into_iter()
                .filter(|told| told.parent != AT_ROOT)
                .collect(),
            _ => vec![root],
        };
        given.retain(|told| told.kind != default);
        let other = given.pop()?.kind;
        Some(format!(
            "its {other} is of a time when net.core.default_qdisc was that, and not {default}"
        ))
    }

    fn put(&self, kind: &str) -> io::Result<()> {
        let index = self.index()?;
        let done = rtnetlink::ask(NEW_QDISC, REPLACE, |payload| {
            push_place(payload, [index, 0, AT_ROOT]);
            push_text(payload, KIND, kind);
        });
        done.map_err(|error| match error.raw_os_error() {
            Some(NO_SUCH) => {
                let words = format!("this kernel has no queue discipline `{kind}`");
                io::Error::new(io::ErrorKind::Unsupported, words)
            }
            _ => error,
        })
    }

    /// What somebody has put there; the kernel then puts its own choice there.
    fn take_away(&self) -> io::Result<()> {
        if root_of(self.qdiscs()?)?.handle == 0 {
            return Ok(());
        }
        let index = self.index()?;
        rtnetlink::ask(DELETE_QDISC, rtnetlink::DO, |payload| {
            push_place(payload, [index, 0, AT_ROOT]);
        })
    }

    fn qdiscs(&self) -> io::Result<Vec<Told>> {
        qdiscs(self.index()?)
    }

    fn index(&self) -> io::Result<u32> {
        rtnetlink::index_of(self.device.as_str()).map_err(absent_as_not_found)
    }
}

/// `NotFound` where none is told, as of a device that is down.
fn root_of(qdiscs: Vec<Told>) -> io::Result<Told> {
    let root = qdiscs.into_iter().find(|told| told.parent == AT_ROOT);
    root.ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl fmt::Display for OfRoot<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "qdisc of {}", self.device)
    }
}
