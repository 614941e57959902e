//! The keeper: a process that looks after one service for as long as the line to the process that
//! ordered it holds, and then leaves nothing of the service behind.
//!
//! It runs as the same ordinary user as the service, out of the reach of any terminal. It adopts
//! every orphan of the service, so that none escapes by detaching itself. A namespace of processes
//! would do the same, but needs privilege and would make the service process 1, which signals treat
//! differently.

mod owner;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitStatus;
use std::time::Duration;

use machine::targets;
use model::Service;
use model::failure::Failure;
use model::service::StopSignal;
use sys::group::Leader;
use sys::offspring;
use sys::process::Signal;
use traffic::tls::Client;

use super::commands::{Commands, Trouble};
use super::failed;
use super::folder::Folder;
use super::logs::Logs;
use super::order::{Order, Request, Up, Word};
use super::password::Password;
use super::readiness::Question;
use owner::{Owner, Woken};

/// The text of a service's answers: that of `linerate serve`, too.
const MESSAGE: &str = "Hello, World!";
/// How long killing what is left may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Keeps the one service that is ordered on standard input, until that input ends, the service
/// ends, or a signal asks to stop.
///
/// # Errors
/// When the kernel refuses what every process may do. What is wrong with the service is reported on
/// the line, not returned.
pub fn keep() -> io::Result<()> {
    // The service runs as the same user, and could otherwise speak to our owner in our place.
    sys::descent::shut_off_own_user()?;
    offspring::adopt_orphans()?;
    let mut owner = Owner::listen()?;
    let Some(order) = owner.order()? else {
        return Ok(());
    };
    let folder = match Folder::new(order.wish.folder.clone()) {
        Ok(folder) => folder,
        Err(error) => {
            let title = &order.service.title;
            let doing = format!("{title}: making {}", order.wish.folder.display());
            owner.tell(&Word::Failed(failed(&doing, &error)));
            return Ok(());
        }
    };
    let kept = start_and_stay(&order, &folder, &mut owner);
    // In any case all processes that it started are ended; then its folder can be removed.
    let all_ended = offspring::end_all(LONGEST);
    drop(folder);
    if all_ended {
        kept
    } else {
        Err(io::Error::other("killed processes did not end"))
    }
}

fn start_and_stay(order: &Order, folder: &Folder, owner: &mut Owner) -> io::Result<()> {
    match start(order, folder, owner) {
        Ok(kept) => {
            owner.tell(&Word::Up(Box::new(kept.up.clone())));
            kept.stay(owner)
        }
        Err(failure) => {
            owner.tell(&Word::Failed(failure));
            Ok(())
        }
    }
}

/// A service that runs. Dropping it stops it.
struct Kept {
    leader: Leader,
    logs: Logs,
    up: Up,
}

/// Configures, prepares and starts a service, and waits until it is ready.
fn start(order: &Order, folder: &Folder, owner: &Owner) -> Result<Kept, Failure> {
    let address = free_address(order)?;
    let password = Password::of(&order.service, folder);
    let doing = || format!("{}: writing its password", order.service.title);
    let password = password.map_err(|error| failed(&doing(), &error))?;
    let service = filled(order, folder, address, password.as_ref());
    for (file, text) in &service.files {
        let doing = || format!("{}: writing {file}", service.title);
        let written = folder.write(file, text);
        written.map_err(|error| failed(&doing(), &error))?;
    }
    let written = order.wish.offer.write_into(folder);
    written.map_err(|error| failed(&format!("{}: writing its key", service.title), &error))?;
    let commands = Commands {
        service: &service,
        program: &order.program,
        folder,
        cpus: &order.wish.cpus,
        site: order.wish.site.as_deref(),
    };
    let logs = Logs::new(folder.path(), &service.logs.files);
    prepare(&commands, &logs, owner)?;
    let leader = commands
        .start()
        .map_err(|what| Failure::plain(format!("{}: {what}", service.title)))?;
    let up = Up {
        address: order.wish.address.map(|_| address),
        pid: leader.id(),
        password_file: password.map(|password| password.file),
        service: service.clone(),
    };
    let mut kept = Kept { leader, logs, up };
    kept.await_ready(&commands, order.wish.offer.client(address)?, owner)?;
    Ok(kept)
}

fn prepare(commands: &Commands<'_>, logs: &Logs, owner: &Owner) -> Result<(), Failure> {
    for prepare in &commands.service.prepare {
        let within = Duration::from_millis(prepare.within_ms.into());
        let outcome = commands.run(&prepare.command, within, &|| owner.wants_an_end());
        outcome.map_err(|trouble| match trouble {
            Trouble::Absent(failure) => failure,
            Trouble::Failed(what) => {
                let command = prepare.command.join(" ");
                let title = &commands.service.title;
                blame(
                    title,
                    &format!("cannot be prepared: `{command}` {what}"),
                    logs,
                )
            }
        })?;
    }
    Ok(())
}

impl Kept {
    fn await_ready(
        &mut self,
        commands: &Commands<'_>,
        tls: Option<Client>,
        owner: &Owner,
    ) -> Result<(), Failure> {
        let within = Duration::from_millis(self.up.service.ready.within_ms.into());
        let mut question = Question {
            commands,
            logs: &self.logs,
            leader: self.leader.id(),
            address: self.up.address,
            tls,
            given_up: &|| owner.wants_an_end(),
            last_run: None,
        };
        let mut ended = None;
        let mut seen = Ok(());
        let answered = sys::clock::wait_for_long(within, || {
            ended = self.leader.try_wait().ok().flatten();
            seen = question.ask();
            ended.is_some() || owner.wants_an_end() || seen.is_ok()
        });
        match (ended, seen) {
            (Some(status), _) => Err(self.failure(&format!(
                "ended before it was ready: {status}{}",
                in_background(status)
            ))),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) if answered => Err(self.failure("was given up before it was ready")),
            (None, Err(seen)) => Err(self.failure(&format!(
                "was not ready within {} ms: {seen}{}",
                within.as_millis(),
                self.elsewhere()
            ))),
        }
    }

    /// Says where it listens, if that is not where it was told to.
    fn elsewhere(&self) -> String {
        let addresses = targets::addresses_of(self.leader.id());
        let Some(wanted) = self.up.address.filter(|_| !addresses.is_empty()) else {
            return String::new();
        };
        if addresses.iter().any(|there| targets::takes(*there, wanted)) {
            return String::new();
        }
        let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let all = all.join(" and ");
        format!("; it listens on {all} instead of {wanted}, where its description was to put it")
    }

    /// Answers its owner until the owner goes or the service ends.
    fn stay(mut self, owner: &mut Owner) -> io::Result<()> {
        let ended = sys::pidfd::open_any(self.leader.id())?;
        loop {
            let woken = owner.wait(&ended)?;
            offspring::reap_orphans(self.leader.id());
            let word = match woken {
                Woken::Asked(Request::Check) | Woken::Ended => self.state(),
                Woken::Asked(Request::Blame(what)) => {
                    Word::Failed(self.failure(&(what + &self.elsewhere())))
                }
                Woken::Asked(Request::Start(_)) | Woken::Left => return Ok(()),
                Woken::Rested => continue,
            };
            owner.tell(&word);
            if matches!(self.leader.try_wait(), Ok(Some(_))) {
                return Ok(());
            }
        }
    }

    fn state(&mut self) -> Word {
        match self.leader.try_wait() {
            Ok(None) => Word::Well {
                flooded: self.logs.full(self.up.service.logs.limit_bytes),
            },
            Ok(Some(status)) => {
                Word::Failed(self.failure(&format!("ended unexpectedly: {status}")))
            }
            Err(error) => Word::Failed(self.failure(&format!("cannot be watched: {error}"))),
        }
    }

    fn failure(&self, what: &str) -> Failure {
        blame(&self.up.service.title, what, &self.logs)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let signal = match self.up.service.stop.signal {
            StopSignal::Terminate => Signal::Terminate,
            StopSignal::Interrupt => Signal::Interrupt,
            StopSignal::Quit => Signal::Quit,
        };
        let _ = self.leader.ask_to_end(signal);
        let grace = Duration::from_millis(self.up.service.stop.grace_ms.into());
        sys::clock::wait_until(grace, || !matches!(self.leader.try_wait(), Ok(None)));
        // This ends all of its group at once, before the rest is killed one after the other.
        let _ = self.leader.end();
    }
}

/// A hint about a service that ends with success: most likely a child of it goes on in the
/// background.
fn in_background(status: ExitStatus) -> &'static str {
    match status.success() {
        true => "; a service must stay in the foreground (as nginx does with `daemon off;`)",
        false => "",
    }
}

/// What happened to a service, with the ends of its logs.
fn blame(title: &str, what: &str, logs: &Logs) -> Failure {
    Failure {
        what: format!("{title} {what}"),
        advice: match logs.last_words() {
            Some(words) => format!("its logs end like this:{words}"),
            None => "it logged nothing".to_owned(),
        },
    }
}

/// Finds an address with a port that is free now. A service that listens on its socket alone gets
/// one of loopback, since the socket's name may contain the port. Another process could take the
/// port before the service does; then the service says so and ends, and is not asked whether it is
/// ready.
fn free_address(order: &Order) -> Result<SocketAddr, Failure> {
    let wish = &order.wish;
    let address = wish.address.unwrap_or_else(|| Ipv4Addr::LOCALHOST.into());
    let wanted = SocketAddr::from((address, wish.port.unwrap_or(0)));
    let bound = TcpListener::bind(wanted).and_then(|listener| listener.local_addr());
    bound.map_err(|error| Failure {
        what: format!("{} cannot have {wanted}: {error}", order.service.title),
        advice: match error.kind() {
            io::ErrorKind::AddrNotAvailable => "take an address of this host: `ip addr` lists them",
            _ => "leave --port out for any free one, or take one from 1024 on",
        }
        .to_owned(),
    })
}

fn filled(
    order: &Order,
    folder: &Folder,
    address: SocketAddr,
    password: Option<&Password>,
) -> Service {
    let mut service = order.service.filled(|variable| match variable {
        "dir" => Some(folder.path().display().to_string()),
        "cache" => order.cache.as_ref().map(|path| path.display().to_string()),
        "address" => Some(address.ip().to_string()),
        "port" => Some(address.port().to_string()),
        "listen" => Some(address.to_string()),
        "workers" => Some(order.wish.workers.to_string()),
        "cpus" => Some(sys::cpu::format_list(&order.wish.cpus)),
        "message" => Some(MESSAGE.to_owned()),
        other => {
            let offered = order.wish.offer.value_of(other, folder.path());
            offered.or_else(|| password?.value_of(other))
        }
    });
    let start = &mut service.start;
    start.arguments.extend(match order.wish.address {
        Some(_) => std::mem::take(&mut start.on_address),
        None => start.on_socket.take().unwrap_or_default(),
    });
    service
}
