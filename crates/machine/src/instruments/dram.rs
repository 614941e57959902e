//! Bytes that move to and from DRAM, as the memory controllers count them. They count for the whole
//! machine, and only where the kernel has a device for them, which most virtual machines lack.

use std::io;

use sys::perf::DeviceCounter;

use crate::tree::Tree;

const DEVICES: &str = "sys/bus/event_source/devices";
/// A burst to or from DRAM carries one cache line.
const LINE_BYTES: f64 = 64.0;
const MIB_BYTES: f64 = 1_048_576.0;

/// How the kernel gives an event: in a file or, where it has no file for it, as terms that we write
/// ourselves.
#[derive(Clone, Copy)]
enum EventName {
    File(&'static str),
    Terms(&'static str),
}

use EventName::{File, Terms};

/// The read and the write event of each kind of memory controller, by the device's name without its
/// number. Only the first kind that a machine has is used, since the others may count the same
/// bytes again.
const CONTROLLERS: [(&str, [EventName; 2]); 4] = [
    // Intel's servers: arch/x86/events/intel/uncore_snbep.c.
    (
        "uncore_imc",
        [File("cas_count_read"), File("cas_count_write")],
    ),
    // Intel's other CPUs: uncore_snb.c.
    ("uncore_imc", [File("data_reads"), File("data_writes")]),
    (
        "uncore_imc_free_running",
        [File("data_read"), File("data_write")],
    ),
    // AMD since Zen 4: tools/perf/pmu-events/arch/x86/amdzen4/memory-controller.json.
    (
        "amd_umc",
        [Terms("event=0xa,rdwrmask=1"), Terms("event=0xa,rdwrmask=2")],
    ),
];

/// An event of a device, and the bytes that each count stands for.
#[derive(Clone, Debug, PartialEq)]
struct ByteEvent {
    device: u32,
    config: u64,
    cpus: Vec<u32>,
    bytes_each: f64,
}

/// Counts the DRAM bytes of this machine within a window.
#[derive(Debug)]
pub struct DramWatch {
    counters: Vec<(DeviceCounter, f64)>,
    opened: Option<f64>,
    closed: Option<f64>,
}

impl DramWatch {
    /// Starts the counters of this machine; `None` where there are none, or this user may not read
    /// them.
    pub fn new() -> Option<Self> {
        Self::below(&Tree::of_this_machine()).ok().flatten()
    }

    fn below(tree: &Tree) -> io::Result<Option<Self>> {
        let mut counters = Vec::new();
        for event in events(tree).unwrap_or_default() {
            for cpu in event.cpus {
                let counter = DeviceCounter::start(event.device, event.config, cpu)?;
                counters.push((counter, event.bytes_each));
            }
        }
        Ok((!counters.is_empty()).then_some(Self {
            counters,
            opened: None,
            closed: None,
        }))
    }

    pub fn open(&mut self) {
        self.opened = self.so_far();
    }

    pub fn close(&mut self) {
        self.closed = self.so_far();
    }

    /// Bytes read and written between [`Self::open`] and [`Self::close`].
    pub fn bytes(&self) -> Option<f64> {
        Some(self.closed? - self.opened?)
    }

    fn so_far(&self) -> Option<f64> {
        let counted = self.counters.iter();
        let bytes = counted.map(|(counter, each)| Some(counter.count().ok()? * each));
        bytes.sum()
    }
}

fn events(tree: &Tree) -> Option<Vec<ByteEvent>> {
    CONTROLLERS.iter().find_map(|(name, names)| {
        let devices = tree.names(DEVICES).into_iter();
        let devices = devices.filter(|device| is_one_of(device, name));
        let events: Option<Vec<ByteEvent>> = devices
            .flat_map(|device| names.map(|event| byte_event(tree, &device, event)))
            .collect();
        events.filter(|events| !events.is_empty())
    })
}

/// Whether a device is one of this kind: `uncore_imc` or `uncore_imc_7`.
fn is_one_of(device: &str, name: &str) -> bool {
    let rest = device.strip_prefix(name);
    let number = rest.map(|rest| rest.strip_prefix('_').unwrap_or(rest));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn byte_event(tree: &Tree, device: &str, name: EventName) -> Option<ByteEvent> {
    let of_device = |file: &str| tree.text(&format!("{DEVICES}/{device}/{file}"));
    let (terms, bytes_each) = match name {
        Terms(terms) => (terms.to_owned(), LINE_BYTES),
        File(name) => {
            let unit = of_device(&format!("events/{name}.unit"));
            let scale = of_device(&format!("events/{name}.scale"));
            let each = match unit.as_deref() {
                Some("MiB") => scale?.parse::<f64>().ok()? * MIB_BYTES,
                Some(_) => return None,
                None => LINE_BYTES,
            };
            (of_device(&format!("events/{name}"))?, each)
        }
    };
    let cpus = sys::cpu::parse_list(&of_device("cpumask")?).ok()?;
    let cpus = cpus.into_iter().map(u32::try_from);
    Some(ByteEvent {
        device: of_device("type")?.parse().ok()?,
        config: config(&terms, |term| of_device(&format!("format/{term}")))?,
        cpus: cpus.collect::<Result<_, _>>().ok()?,
        bytes_each,
    })
}

/// Turns terms such as `event=0x04,umask=0x03` into the event's configuration word; the format of a
/// term says which bits of the word it fills.
fn config(terms: &str, format: impl Fn(&str) -> Option<String>) -> Option<u64> {
    terms.split(',').try_fold(0, |word: u64, term| {
        let (name, value) = term.split_once('=')?;
        let value = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => value.parse().ok()?,
        };
        let bits = format(name)?;
        let bits = sys::cpu::parse_list(bits.strip_prefix("config:")?).ok()?;
        bits.into_iter()
            .enumerate()
            .try_fold(word, |word: u64, (bit, place)| {
                let set = 1_u64.checked_shl(u32::try_from(place).ok()?)?;
                let is_set = value.checked_shr(u32::try_from(bit).ok()?)? & 1 == 1;
                Some(word | if is_set { set } else { 0 })
            })
    })
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::tree::planted::Planted;

    /// A device below `/sys` as a kernel has it.
    fn planted(test: &str, device: &str, files: &[(&str, &str)]) -> Planted {
        let path = |file| format!("{DEVICES}/{device}/{file}");
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(file, text)| (path(file), *text))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (&**file, *text)).collect();
        Planted::new(test, &files)
    }

    const INTEL_FORMATS: [(&str, &str); 2] = [
        ("format/event", "config:0-7\n"),
        ("format/umask", "config:8-15\n"),
    ];

    #[test]
    fn controllers_of_intels_servers_count_lines_in_mib_once_for_each_socket() {
        let mut files = vec![
            ("type", "13\n"),
            ("cpumask", "0,28\n"),
            ("events/cas_count_read", "event=0x04,umask=0x03\n"),
            ("events/cas_count_read.scale", "6.103515625e-5\n"),
            ("events/cas_count_read.unit", "MiB\n"),
            ("events/cas_count_write", "event=0x04,umask=0x0c\n"),
            ("events/cas_count_write.scale", "6.103515625e-5\n"),
            ("events/cas_count_write.unit", "MiB\n"),
        ];
        files.extend(INTEL_FORMATS);
        let machine = planted("dram-intel", "uncore_imc_0", &files);
        let event = |config| ByteEvent {
            device: 13,
            config,
            cpus: vec![0, 28],
            bytes_each: 64.0,
        };
        assert_eq!(
            events(&machine.tree),
            Some(vec![event(0x304), event(0xc04)])
        );
    }

    #[test]
    fn controllers_of_amd_have_no_files_of_events_and_count_lines() {
        let files = [
            ("type", "22"),
            ("cpumask", "0"),
            ("format/event", "config:0-7"),
            ("format/rdwrmask", "config:8-9"),
        ];
        let machine = planted("dram-amd", "amd_umc_3", &files);
        let found = events(&machine.tree).unwrap();
        let configs: Vec<u64> = found.iter().map(|event| event.config).collect();
        assert_eq!(configs, [0x10a, 0x20a]);
    }

    #[test]
    fn devices_that_are_no_controllers_or_say_what_is_not_understood_count_nothing() {
        let no_format = [
            ("type", "13"),
            ("cpumask", "0"),
            ("events/data_reads", "event=0x01"),
            ("events/data_writes", "filter=0x02"),
            ("format/event", "config:0-7"),
        ];
        for device in ["uncore_imc", "uncore_cha_0", "uncore_imcx_1"] {
            let machine = planted(&format!("dram-{device}"), device, &no_format);
            assert_eq!(events(&machine.tree), None, "{device}");
        }
    }

    /// The kernel's device of software events has number 1, and its event 3 is a switch of threads.
    #[test]
    fn what_the_kernel_counts_of_a_device_within_a_window_comes_out_in_bytes() {
        let cpu = sys::cpu::allowed().unwrap()[0].to_string();
        let mut files = vec![
            ("type", "1"),
            ("cpumask", &*cpu),
            ("events/data_reads", "event=0x3"),
            ("events/data_writes", "event=0x3"),
        ];
        files.extend(INTEL_FORMATS);
        let machine = planted("dram-window", "uncore_imc", &files);
        let mut watch = match DramWatch::below(&machine.tree) {
            Err(refused) => return assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied),
            Ok(watch) => watch.unwrap(),
        };
        watch.open();
        thread::spawn(|| {
            sys::cpu::pin(&sys::cpu::allowed().unwrap()[..1]).unwrap();
            (0..50).for_each(|_| _ = sys::clock::wait_until(Duration::from_micros(50), || false));
        })
        .join()
        .unwrap();
        watch.close();
        assert!(
            watch.bytes().unwrap() >= 2.0 * 50.0 * LINE_BYTES,
            "{watch:?}"
        );
    }
}
