//! One boot of a guest under qemu, from power on to its end. The processor is emulated, so this
//! machine needs nothing but qemu. The guest cannot reach any network of this machine.

mod port;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};
use sys::clock;
use sys::process::{ChildSetup, prepare_child};

use super::guest::Cards;
use crate::packages;
use port::Port;

const QEMU: &str = "qemu-system-x86_64";
/// The machine: processors of a kind that has the known weaknesses, and no device that is not asked
/// for. With `-no-reboot` every reboot ends qemu, also one after a panic. One thread emulates all
/// processors: with a thread each, the newer kernel panicked once at a static key, as if one
/// processor had run code that was being rewritten on the other.
const BOARD: &str = "-nodefaults -no-user-config -no-reboot -display none -machine q35 \
                     -accel tcg,thread=single -cpu Skylake-Server -m 512";
/// Two network cards on a wire of their own, which leads nowhere else.
const WIRE: &str = "-smp 2 -netdev hubport,id=left,hubid=0 -device e1000e,netdev=left \
                    -netdev hubport,id=right,hubid=0 -device e1000e,netdev=right";
/// Two network cards with a queue for each of four processors. A hub has one queue, so each card is
/// on a tap of the bridge that [`TAPS`] makes. Each queue has two interrupts, and each card two
/// more.
const QUEUES: &str = "-smp 4 \
    -netdev tap,id=left,ifname=left,queues=4,script=no,downscript=no,vhost=off \
    -device virtio-net-pci,netdev=left,mq=on,vectors=10 \
    -netdev tap,id=right,ifname=right,queues=4,script=no,downscript=no,vhost=off \
    -device virtio-net-pci,netdev=right,mq=on,vectors=10";
/// Script that runs the command of a machine with taps: these are in a namespace that ends with it.
const TAPS: &str = include_str!("taps.sh");
/// The usual kernel options. A panic ends the machine. The emulated clock is steady, so the kernel
/// need not check it, nor test its ciphers. Mitigations stay as they are.
const KERNEL_OPTIONS: &str = "console=ttyS0 panic=-1 oops=panic tsc=reliable no_timer_check \
                              cryptomgr.notests random.trust_cpu=on";
/// Time over which the rate of the clock is measured, to 1 in 10,000.
const CLOCK_TIME: Duration = Duration::from_millis(20);
/// Longest silence of the console at the start; its first line usually comes within two seconds.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
/// Largest number of starts of a machine whose console stays silent.
const STARTS: u32 = 3;
/// Lines of the console that an error shows.
const LAST_LINES: usize = 15;
/// Earlier lines with one of these are shown as well, as the call trace that follows them is longer
/// than that.
const REASONS: [&str; 2] = ["Kernel panic", "BUG: "];

/// The parts of a machine.
pub(super) struct Machine<'a> {
    pub(super) cards: Cards,
    pub(super) kernel: &'a Path,
    pub(super) file_system: &'a Path,
    pub(super) disk: &'a Path,
    /// The folder of its ports, for this boot only.
    pub(super) ports: &'a Path,
    /// How many files are copied out of the guest.
    pub(super) files_out: usize,
    /// Further options for the kernel's command line.
    pub(super) kernel_options: &'a str,
}

/// When the power is cut.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cut {
    Never,
    /// When a line of the standard output contains this text.
    AtLine(String),
}

/// Writers that receive the errand's standard output and standard error as they come.
pub(crate) struct Sinks<'a> {
    pub(crate) output: &'a mut dyn Write,
    pub(crate) errors: &'a mut dyn Write,
}

/// How a boot ended.
pub(crate) struct Ending {
    /// The errand's exit code; `None` when the power was cut.
    pub(crate) exit: Option<u8>,
    /// Time from power on to the start of the errand.
    pub(crate) boot_seconds: f64,
    /// Files that were to be copied out and do not exist.
    pub(crate) missing: Vec<String>,
}

impl Machine<'_> {
    /// Boots and follows the errand until it ends, the power is cut, or an error occurs. The error
    /// shows the last lines of the console.
    pub(super) fn boot(
        &self,
        cut: &Cut,
        limit: Duration,
        sinks: &mut Sinks<'_>,
    ) -> anyhow::Result<Ending> {
        let mut running = self.start_until_heard(limit)?;
        let mut ended = None;
        clock::wait_until(limit, || {
            ended = running.look(cut, sinks).transpose();
            ended.is_some()
        });
        let seconds = limit.as_secs();
        let ended = ended.unwrap_or_else(|| bail!("it did not end within {seconds} s"));
        ended.map_err(|error| anyhow!("{error:#}; {}", self.last_words()))
    }

    /// Starts the machine, and starts it again while its console stays silent: one of some tens of
    /// boots hung like this, for an unknown reason.
    fn start_until_heard(&self, limit: Duration) -> anyhow::Result<Running> {
        let silence = LONGEST_SILENCE.min(limit);
        for _ in 1..STARTS {
            let mut running = self.start()?;
            let heard = || fs::metadata(self.console()).is_ok_and(|console| console.len() > 0);
            let over = || heard() || running.is_off() || sys::stop::heard().is_some();
            if clock::wait_until(silence, over) {
                return Ok(running);
            }
            let seconds = silence.as_secs();
            eprintln!("the guest's console was silent for {seconds} s; starting it once more");
        }
        self.start()
    }

    fn start(&self) -> anyhow::Result<Running> {
        fs::create_dir_all(self.ports)?;
        let path = |name: &str| self.ports.join(name);
        let ports = ["output", "errors", "status"].map(path);
        let files = (0..self.files_out).map(|number| file_out(self.ports, number));
        let files: Vec<PathBuf> = ports.iter().cloned().chain(files).collect();
        let own_words = File::create(path("qemu"))?;
        let mut command = self.command(&files)?;
        command.stdin(Stdio::null()).stdout(own_words.try_clone()?);
        command.stderr(own_words);
        // An interrupt from the keyboard goes to us only: we end qemu.
        command.process_group(0);
        prepare_child(&mut command, ChildSetup::default());
        // The ports are opened before qemu is started: an error between its start and the creation
        // of `Running` would leave it running without an owner.
        let [output, errors, status] = ports.map(|path| Port::create(&path));
        let (output, errors, status) = (output?, errors?, status?);
        let begun = clock::now();
        let child = command.spawn().context(QEMU)?;
        Ok(Running {
            child,
            begun,
            ready: None,
            output,
            errors,
            status,
            answer: None,
            missing: Vec::new(),
        })
    }

    /// The command that starts the machine. Its ports have no event descriptors, so qemu serves
    /// them while the guest waits for its write: all output is in the file before the guest goes
    /// on, and none is missing when the machine ends.
    fn command(&self, ports: &[PathBuf]) -> anyhow::Result<Command> {
        let mut command = self.cards.command()?;
        command.args(BOARD.split_whitespace());
        command.arg("-kernel").arg(self.kernel);
        command.arg("-initrd").arg(self.file_system);
        command
            .arg("-append")
            .arg(format!("{} {}", usual_options(), self.kernel_options));
        let disk = format!("file={},format=raw,if=virtio", escaped(self.disk));
        command.args(["-drive", &disk]);
        let console = file_for("console", &self.console());
        command.args(["-chardev", &console, "-serial", "chardev:console"]);
        command.args(["-device", "virtio-serial-pci,ioeventfd=off"]);
        for (number, path) in (1..).zip(ports) {
            let id = format!("port{number}");
            command.args(["-chardev", &file_for(&id, path), "-device"]);
            command.arg(format!("virtserialport,chardev={id},nr={number}"));
        }
        // The cards follow the ports, which a guest finds by the position of their device among the
        // virtio devices.
        let cards = match self.cards {
            Cards::None | Cards::Wire => WIRE,
            Cards::Queues => QUEUES,
        };
        command.args(cards.split_whitespace());
        Ok(command)
    }

    fn console(&self) -> PathBuf {
        self.ports.join("console")
    }

    /// The last lines of the console; if it is empty, qemu's own output.
    fn last_words(&self) -> String {
        let text = |path: PathBuf| {
            let bytes = fs::read(path).unwrap_or_default();
            readable(&String::from_utf8_lossy(&bytes))
        };
        let (console, qemu) = (text(self.console()), text(self.ports.join("qemu")));
        let lines = if console.is_empty() { qemu } else { console };
        let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
        let is_reason = |line: &&String| REASONS.iter().any(|word| line.contains(word));
        let told: Vec<&str> = (before.iter().filter(is_reason).chain(last))
            .map(String::as_str)
            .collect();
        format!("the last lines of its console:\n  {}", told.join("\n  "))
    }
}

impl Cards {
    /// The emulator's command; for cards on taps it runs in a namespace that has these.
    fn command(self) -> anyhow::Result<Command> {
        let qemu = packages::command(QEMU)?;
        if self != Self::Queues {
            return Ok(qemu);
        }
        let mut command = packages::command("unshare")?;
        if !sys::user::is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--net", "sh", "-c", TAPS, "sh"]);
        command.arg(qemu.get_program());
        Ok(command)
    }
}

/// A running machine. Dropping this kills it.
struct Running {
    child: Child,
    begun: Instant,
    /// When the errand began.
    ready: Option<Instant>,
    output: Port,
    errors: Port,
    status: Port,
    /// The exit code of the errand, once it has ended.
    answer: Option<u8>,
    missing: Vec<String>,
}

impl Running {
    /// Passes new output on; returns how the boot ended once the machine is off.
    fn look(&mut self, cut: &Cut, sinks: &mut Sinks<'_>) -> anyhow::Result<Option<Ending>> {
        if let Some(signal) = sys::stop::heard() {
            bail!("stopped by signal {signal}");
        }
        // The end is checked before the output is read, so that all that was written before it is
        // read.
        let gone = self.child.try_wait()?;
        let (output, lines) = self.output.more()?;
        sinks.output.write_all(&output)?;
        sinks.output.flush()?;
        sinks.errors.write_all(&self.errors.more()?.0)?;
        self.read_status()?;
        if gone.is_none() && self.is_cut_by(cut, &lines) {
            self.end();
            return Ok(Some(self.ending(None)));
        }
        let Some(status) = gone else {
            return Ok(None);
        };
        ensure!(status.success(), "{QEMU} ended with {status}");
        let answer = self.answer.context("it ended in the middle of its errand");
        Ok(Some(self.ending(Some(answer?))))
    }

    fn is_cut_by(&self, cut: &Cut, lines: &[String]) -> bool {
        match cut {
            Cut::Never => false,
            Cut::AtLine(text) => lines.iter().any(|line| line.contains(text.as_str())),
        }
    }

    fn read_status(&mut self) -> anyhow::Result<()> {
        for line in self.status.more()?.1 {
            match line.split_once(' ') {
                None => self.ready = Some(clock::now()),
                Some(("exit", code)) => self.answer = Some(code.parse()?),
                Some(("missing", path)) => self.missing.push(path.to_owned()),
                Some(_) => bail!("it said `{line}` of itself"),
            }
        }
        Ok(())
    }

    fn ending(&mut self, exit: Option<u8>) -> Ending {
        let ready = self.ready.unwrap_or(self.begun);
        Ending {
            exit,
            boot_seconds: (ready - self.begun).as_secs_f64(),
            missing: std::mem::take(&mut self.missing),
        }
    }

    fn is_off(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the machine as if the plug were pulled: the guest gets no notice.
    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The usual kernel options, with the rate of the time stamp counter. The emulated counter is this
/// machine's own. On a busy machine the timers with which the kernel compares it come late, and the
/// kernel estimates anything from a quarter of the rate to all of it. Then its seconds are wrong,
/// so the rate is given.
fn usual_options() -> String {
    let rate = clock::counter_khz(CLOCK_TIME).map(|khz| format!(" tsc_early_khz={khz}"));
    KERNEL_OPTIONS.to_owned() + &rate.unwrap_or_default()
}

/// The path of the file with the guest's `number`th file out, from 0.
pub(super) fn file_out(ports: &Path, number: usize) -> PathBuf {
    ports.join(format!("file-{number}"))
}

fn file_for(id: &str, path: &Path) -> String {
    format!("file,id={id},path={}", escaped(path))
}

/// A path in an option of qemu, where a comma is written twice.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// The lines that are not empty, without control characters, which a terminal would obey.
fn readable(text: &str) -> Vec<String> {
    let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    text.lines()
        .map(clean)
        .filter(|line| !line.is_empty())
        .collect()
}
