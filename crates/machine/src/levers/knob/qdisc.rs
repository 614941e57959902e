//! The knob that is the queue discipline at the root of a device.

use std::fmt;
use std::io;

use super::DeviceName;
use super::place::{Place, absent_as_not_found, typed};
use crate::levers::value::{Form, Value};
use crate::links;
use crate::rig::qdisc::{AT_ROOT, KIND, Reported, detach, push_place, qdiscs};
use crate::rtnetlink::{self, push_text};
use crate::tree::Tree;

// From linux/rtnetlink.h; `REPLACE` also has `NLM_F_REPLACE | NLM_F_CREATE` of linux/netlink.h.
const NEW_QDISC: u16 = 36;
const REPLACE: u16 = rtnetlink::DO | 0x500;
/// `ENOENT`: the kernel has no module for this kind.
const NO_SUCH: i32 = 2;
/// Prefix of a kind that nobody has set: the kernel chose it.
const BY_DEFAULT: &str = "default:";
const NO_QUEUE: &str = "noqueue";
/// Kinds without settings of their own, which the name describes completely.
const PLAIN: [&str; 2] = [NO_QUEUE, "pfifo_fast"];
/// `TC_H_INGRESS` and `TC_H_CLSACT` of linux/pkt_sched.h.
const BEFORE_QUEUES: u32 = 0xffff_fff1;
/// The kind that devices get when they come up (net.core.default_qdisc).
const DEFAULT: &str = "proc/sys/net/core/default_qdisc";
/// Kinds of virtual devices that get the default, as network cards do.
const VIRTUAL_WITH_A_QUEUE: [&str; 3] = ["tun", "ifb", "ppp"];

/// The root of one device. The value is the kind of the qdisc there, with a prefix where the kernel
/// chose it.
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
    /// What an undo would not restore of the qdiscs that are there now; `None` where it restores
    /// everything.
    pub(super) fn lost_for_good(&self, tree: &Tree) -> Option<String> {
        let qdiscs = self.qdiscs().ok()?;
        // Only the host's network namespace shows the default. Elsewhere nothing is predicted, and
        // the undo reports what it finds.
        let default = tree.text(DEFAULT);
        lost(&qdiscs, default.as_deref(), || self.has_no_queue(tree))
    }

    /// Whether the kernel gives the device no queue, whatever the default is (`IFF_NO_QUEUE`, which
    /// it does not report). That holds for virtual devices, with a few exceptions.
    fn has_no_queue(&self, tree: &Tree) -> bool {
        let links = links::list().unwrap_or_default();
        let link = links
            .into_iter()
            .find(|link| link.name == self.device.as_str());
        let kind = link.and_then(|link| link.virtual_kind).unwrap_or_default();
        let hardware = format!("sys/class/net/{}/device", self.device);
        !tree.path(&hardware).exists() && !VIRTUAL_WITH_A_QUEUE.contains(&&*kind)
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

    /// Removes the root qdisc that somebody has set; the kernel then chooses one itself.
    fn take_away(&self) -> io::Result<()> {
        if root_of(self.qdiscs()?)?.handle == 0 {
            return Ok(());
        }
        detach(self.index()?)
    }

    fn qdiscs(&self) -> io::Result<Vec<Reported>> {
        qdiscs(self.index()?)
    }

    fn index(&self) -> io::Result<u32> {
        rtnetlink::index_of(self.device.as_str()).map_err(absent_as_not_found)
    }
}

/// What an undo would not restore of these qdiscs of a device. It removes ours; the kernel then
/// gives the root, and each queue below an mq, what the default is by then.
fn lost(
    qdiscs: &[Reported],
    default: Option<&str>,
    has_no_queue: impl Fn() -> bool,
) -> Option<String> {
    let root = qdiscs.iter().find(|qdisc| qdisc.parent == AT_ROOT)?;
    let kind = &*root.kind;
    if root.handle != 0 {
        let words = || format!("the options, classes and filters of its {kind} would be lost");
        return (!PLAIN.contains(&kind)).then(words);
    }
    let default = default?;
    let of_queues = qdiscs
        .iter()
        // Qdiscs that handle packets before they are queued (clsact, ingress) stay, whatever the
        // root is.
        .filter(|qdisc| qdisc.parent != AT_ROOT && qdisc.parent != BEFORE_QUEUES);
    let mut given: Vec<&Reported> = match kind {
        "mq" => of_queues.collect(),
        _ => vec![root],
    };
    let is_given_again = |kind: &str| kind == default || kind == NO_QUEUE && has_no_queue();
    given.retain(|qdisc| !is_given_again(&qdisc.kind));
    let other = &given.pop()?.kind;
    Some(format!(
        "its {other} is from a time when net.core.default_qdisc was that, and not {default}"
    ))
}

/// The root among these; `NotFound` where none is reported, as for a device that is down.
fn root_of(qdiscs: Vec<Reported>) -> io::Result<Reported> {
    let root = qdiscs.into_iter().find(|qdisc| qdisc.parent == AT_ROOT);
    root.ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl fmt::Display for OfRoot<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "qdisc of {}", self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What would be lost of these, each given by handle, parent and kind.
    fn lost_of(all: &[(u32, u32, &str)], default: &str, has_no_queue: bool) -> Option<String> {
        let reported =
            |(handle, parent, kind): &(u32, u32, &str)| Reported::of(*handle, *parent, kind);
        let all: Vec<Reported> = all.iter().map(reported).collect();
        lost(&all, Some(default), || has_no_queue)
    }

    #[test]
    fn a_card_without_a_queue_by_a_former_default_would_get_one_by_the_undo() {
        let root = [(0, AT_ROOT, "noqueue")];
        let why = lost_of(&root, "fq_codel", false).unwrap();
        let words = "its noqueue is from a time when net.core.default_qdisc was that";
        assert!(why.starts_with(words), "{why}");
        assert_eq!(lost_of(&root, "noqueue", false), None);
        assert_eq!(lost_of(&root, "fq_codel", true), None);
        let of_a_queue = [(0, AT_ROOT, "mq"), (0, 1, "fq_codel"), (0, 2, "noqueue")];
        assert!(lost_of(&of_a_queue, "fq_codel", false).is_some());
    }

    #[test]
    fn what_takes_packets_before_they_are_queued_is_none_of_the_root() {
        for before in ["clsact", "ingress"] {
            let with = |root| {
                [
                    (0, AT_ROOT, root),
                    (0, 1, "fq"),
                    (0xffff_0000, BEFORE_QUEUES, before),
                ]
            };
            assert_eq!(lost_of(&with("mq"), "fq", false), None, "{before}");
            assert!(lost_of(&with("mq"), "fq_codel", false).is_some());
        }
    }

    #[test]
    fn what_somebody_has_put_there_is_kept_where_its_name_tells_all_of_it() {
        for (kind, is_lost) in [("noqueue", false), ("pfifo_fast", false), ("htb", true)] {
            let root = [(0x8001_0000, AT_ROOT, kind)];
            assert_eq!(lost_of(&root, "fq", false).is_some(), is_lost, "{kind}");
        }
    }
}
