//! One boot of a guest under qemu, from power on to its end. The processor is emulated, so nothing
//! but qemu is asked of this machine, and no network of it can be reached from inside.

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
/// The machine: processors of a kind that the known weaknesses concern, and no device that is
/// not asked for. `-no-reboot` makes an end of every reboot, a panic's too. All processors are of one
/// thread: with a thread each, the newer kernel panicked once at a static key, as if one processor
/// had run code that was being rewritten on the other.
const BOARD: &str = "-nodefaults -no-user-config -no-reboot -display none -machine q35 \
                     -accel tcg,thread=single -cpu Skylake-Server -m 512";
/// Two network cards on a wire of their own, which leads nowhere else.
const WIRE: &str = "-smp 2 -netdev hubport,id=left,hubid=0 -device e1000e,netdev=left \
                    -netdev hubport,id=right,hubid=0 -device e1000e,netdev=right";
/// Two network cards with a queue for each of four processors. A hub has one queue, so each is on a tap of
/// the bridge that [`TAPS`] makes. The interrupts are two for a queue, and two more.
const QUEUES: &str = "-smp 4 \
    -netdev tap,id=left,ifname=left,queues=4,script=no,downscript=no,vhost=off \
    -device virtio-net-pci,netdev=left,mq=on,vectors=10 \
    -netdev tap,id=right,ifname=right,queues=4,script=no,downscript=no,vhost=off \
    -device virtio-net-pci,netdev=right,mq=on,vectors=10";
/// What goes before the command of a machine with taps: they are in a namespace that goes with it.
const TAPS: &str = include_str!("taps.sh");
/// A panic ends the machine. The emulated clock is steady, which the kernel need not find out, and
/// its own ciphers need no test. Mitigations stay as they are.
const KERNEL_OPTIONS: &str = "console=ttyS0 panic=-1 oops=panic tsc=reliable no_timer_check \
                              cryptomgr.notests random.trust_cpu=on";
/// Over this time the rate of the clock is taken, to 1 in 10,000.
const CLOCK_TIME: Duration = Duration::from_millis(20);
/// So long the console may stay silent; its first line usually comes within two seconds.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
/// So often it is started at most.
const STARTS: u32 = 3;
/// Lines of the console that an error shows.
const LAST_LINES: usize = 15;
/// A line with one of these is shown as well: the trace of calls behind it is longer.
const REASONS: [&str; 2] = ["Kernel panic", "BUG: "];

/// What a machine is made of.
pub(super) struct Machine<'a> {
    pub(super) cards: Cards,
    pub(super) kernel: &'a Path,
    pub(super) file_system: &'a Path,
    pub(super) disk: &'a Path,
    /// The folder of its ports, of this boot alone.
    pub(super) ports: &'a Path,
    /// How many files the guest hands out.
    pub(super) files_out: usize,
    /// What the command line of the kernel has besides the usual.
    pub(super) kernel_options: &'a str,
}

/// When the power is cut.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cut {
    Never,
    /// When a line of the standard output holds this text.
    AtLine(String),
}

/// Where standard output and standard error of the errand go, as they come.
pub(crate) struct Sinks<'a> {
    pub(crate) output: &'a mut dyn Write,
    pub(crate) errors: &'a mut dyn Write,
}

/// How a boot ended.
pub(crate) struct Ending {
    /// The errand's exit code; `None` when the power was cut.
    pub(crate) exit: Option<u8>,
    /// From power on to the begin of the errand.
    pub(crate) boot_seconds: f64,
    /// Files that were to come out and are not there.
    pub(crate) missing: Vec<String>,
}

impl Machine<'_> {
    /// Boots, follows the errand, and ends with it, with a cut, or with an error that shows the
    /// last lines of the console.
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

    /// Starts it, and again where nothing at all comes from its console: of some tens of boots one
    /// hung so, and why is not known.
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
        // An interrupt from the keyboard is for us alone: we end it.
        command.process_group(0);
        prepare_child(&mut command, ChildSetup::default());
        // Nothing may go wrong once it runs and is nobody's yet.
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

    /// Ports without event descriptors are served while the guest waits for its write, so that all
    /// of it is in the file before the guest goes on, and no end comes too early.
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
        // Behind the ports, which a guest knows by the place of what has them among the devices of virtio.
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

    /// What the kernel said last; before its first word, what qemu said.
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
    /// The emulator, where it finds what these cards are on.
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

/// A machine under power. It is dead when this is dropped.
struct Running {
    child: Child,
    begun: Instant,
    /// When the errand began.
    ready: Option<Instant>,
    output: Port,
    errors: Port,
    status: Port,
    /// The exit code of the errand.
    answer: Option<u8>,
    missing: Vec<String>,
}

impl Running {
    /// Passes on what is new; tells how it ended when the machine is off.
    fn look(&mut self, cut: &Cut, sinks: &mut Sinks<'_>) -> anyhow::Result<Option<Ending>> {
        if let Some(signal) = sys::stop::heard() {
            bail!("stopped by signal {signal}");
        }
        // What it wrote before its end must be read after it.
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

    /// As if the plug were pulled: nobody in the guest is told.
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

/// The emulated counter is this machine's own. On a machine at work the kernel takes its rate for
/// anything from a quarter to the whole of it, since the timers that it compares come late; then
/// its seconds are wrong, so it is told.
fn usual_options() -> String {
    let rate = clock::counter_khz(CLOCK_TIME).map(|khz| format!(" tsc_early_khz={khz}"));
    KERNEL_OPTIONS.to_owned() + &rate.unwrap_or_default()
}

/// The file that the guest's `number`th file out is in, from 0.
pub(super) fn file_out(ports: &Path, number: usize) -> PathBuf {
    ports.join(format!("file-{number}"))
}

fn file_for(id: &str, path: &Path) -> String {
    format!("file,id={id},path={}", escaped(path))
}

/// A comma in a value of qemu's is written twice.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Lines without what a terminal would take as commands.
fn readable(text: &str) -> Vec<String> {
    let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    text.lines()
        .map(clean)
        .filter(|line| !line.is_empty())
        .collect()
}
