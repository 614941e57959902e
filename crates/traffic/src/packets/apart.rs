//! Ends that are processes of their own, on machines of their own: UDP, at a pace.
//!
//! The sender sends nothing but greetings until the receiver has answered with its own word, and it
//! stops when the answers stop. The ends learn both words by another way, and an echo returns the
//! wrong one. So a machine that runs no such receiver gets a few small datagrams and no flood. The
//! receiver knows the sender by the source address of its packets, even behind address translation.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use model::Histogram;
use serde::{Deserialize, Serialize};
use sys::clock;

use super::receiver::{self, Received};
use super::sender::{self, Sent};
use super::{
    Exchanged, Inlet, LARGEST_BYTES, Outlet, PacketError, PacketPlan, SMALLEST_BYTES,
    SocketSettings, Window, cut_sends, patience, prepare_to_receive, window,
};

/// Number of a greeting and of its answer, which no packet has.
pub(super) const GREETING: u64 = u64::MAX;
/// Size of a greeting: that number and a word.
const GREETING_BYTES: usize = 2 * SMALLEST_BYTES;
/// Timeout of one wait for an answer, and the number of greetings, each followed by such a wait.
const LOOK: Duration = Duration::from_millis(100);
const GREETINGS: u32 = 20;
/// Interval at which a receiver sends its answer, before and while it receives packets.
const ANSWER_EVERY: Duration = Duration::from_millis(200);
/// More packets than can be sent in a lifetime.
const MOST_PACKETS: u64 = 1 << 60;
/// A sender stops after this long without an answer.
const LONGEST_SILENCE_NS: u64 = 2_000_000_000;

/// The word of the sender's greeting, and the word of the receiver's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GreetingWords {
    greeting: u64,
    answer: u64,
}

fn greeting(word: u64) -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    let (number, rest) = greeting.split_at_mut(SMALLEST_BYTES);
    number.copy_from_slice(&GREETING.to_ne_bytes());
    rest.copy_from_slice(&word.to_ne_bytes());
    greeting
}

/// Returns where the next datagram came from, if it is a greeting with this word; `None` also when
/// nothing comes within the timeout.
fn greeting_from(socket: &UdpSocket, word: u64) -> io::Result<Option<SocketAddr>> {
    let mut came = [0; GREETING_BYTES + 1];
    match socket.recv_from(&mut came) {
        Ok((bytes, from)) => Ok((came[..bytes] == greeting(word)).then_some(from)),
        Err(error) if is_silence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an error means that nothing came. Where nobody has the port, a call may report that
/// instead of waiting.
fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    )
}

/// The end that receives packets, at an address of this machine.
pub struct FarInlet {
    socket: UdpSocket,
    plan: PacketPlan,
    held: SocketSettings,
    words: GreetingWords,
    window: Window,
}

impl FarInlet {
    /// Opens it at a free port.
    ///
    /// # Errors
    /// When the plan has no pace, or the kernel lacks what it asks for.
    pub fn open(plan: &PacketPlan, address: IpAddr) -> Result<Self, PacketError> {
        check(plan)?;
        let socket = UdpSocket::bind((address, 0)).map_err(PacketError::Sockets)?;
        let held = prepare_to_receive(&socket, plan)?;
        let random = || sys::random::bytes().map(u64::from_ne_bytes);
        let word = || random().map_err(PacketError::Sockets);
        Ok(Self {
            socket,
            plan: plan.clone(),
            held,
            words: GreetingWords {
                greeting: word()?,
                answer: word()?,
            },
            window: Window::for_room(window::room_in(held.room_bytes, plan), plan)?,
        })
    }

    /// Returns the port, and the words that the sender must know.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn door(&self) -> io::Result<(u16, GreetingWords)> {
        Ok((self.socket.local_addr()?.port(), self.words))
    }

    /// Receives packets from the first sender that greets, until `over` returns how many were sent,
    /// or `None` where that is unknown. Without a greeting, nothing is received.
    ///
    /// # Errors
    /// Those of the receiving end of [`super::exchange`].
    pub fn take(
        self,
        over: impl FnOnce() -> Option<u64>,
    ) -> Result<(Received, SocketSettings), PacketError> {
        let inlet = &self;
        let received = thread::scope(|scope| {
            let receiving = scope.spawn(|| inlet.receive());
            if let Some(sent) = over() {
                inlet.window.note_sent(sent);
            }
            drop(inlet.window.end());
            receiving.join()
        });
        Ok((received.map_err(|_| PacketError::Ended)??, self.held))
    }

    fn receive(&self) -> Result<Received, PacketError> {
        let refused = PacketError::Sockets;
        if !self.wait_for_greeting().map_err(PacketError::Receiving)? {
            return Ok(Received::default());
        }
        let wait = self.socket.set_read_timeout(Some(patience(&self.plan)));
        wait.map_err(refused)?;
        let socket = self.socket.try_clone().map_err(refused)?;
        thread::scope(|scope| {
            scope.spawn(|| self.answer());
            receiver::receive(Inlet::Socket(socket.into()), &self.plan, &self.window)
        })
    }

    /// Waits for a greeting, and from then on receives from its sender only; `false` if the
    /// exchange ends before one comes.
    fn wait_for_greeting(&self) -> io::Result<bool> {
        self.socket.set_read_timeout(Some(LOOK))?;
        while !self.window.is_over() {
            let Some(from) = greeting_from(&self.socket, self.words.greeting)? else {
                continue;
            };
            self.socket.connect(from)?;
            // Datagrams that others sent before that are still in the buffer.
            self.socket.set_nonblocking(true)?;
            while self.socket.recv(&mut [0]).is_ok() {}
            self.socket.set_nonblocking(false)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Sends answers until the exchange is over.
    fn answer(&self) {
        loop {
            // A lost answer is followed by another.
            let _ = self.socket.send(&greeting(self.words.answer));
            if self.window.ends_within(ANSWER_EVERY) {
                return;
            }
        }
    }
}

/// Sends to a receiver for as long as it answers. Also returns the size of the packets that the
/// kernel cuts each send into, bytes.
///
/// # Errors
/// When nobody answers, and those of the sending end of [`super::exchange`].
pub fn send_far(
    plan: &PacketPlan,
    server: SocketAddr,
    words: GreetingWords,
) -> Result<(Sent, Option<u32>), PacketError> {
    check(plan)?;
    if !is_one_machine(server.ip()) {
        return Err(PacketError::NoMachine { server });
    }
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).map_err(PacketError::Sockets)?;
    let answered = socket
        .connect(server)
        .and_then(|()| is_answered(&socket, words));
    if !answered.map_err(PacketError::Sending)? {
        return Err(PacketError::NoAnswer { server });
    }
    let segment_bytes = cut_sends(&socket, plan).map_err(PacketError::NoSegments)?;
    let window = Window::for_room(u64::MAX, plan)?;
    let outlet = Outlet::Socket(socket.try_clone().map_err(PacketError::Sockets)?.into());
    let (sent, is_silent) = thread::scope(|scope| {
        let sending = scope.spawn(|| sender::send(outlet, plan, &window));
        let is_silent = falls_silent(&socket, words.answer, &window);
        (sending.join(), is_silent)
    });
    if is_silent {
        return Err(PacketError::Silent { server });
    }
    match sent.map_err(|_| PacketError::Ended)?? {
        Sent { packets: 0, .. } => Err(PacketError::NoneDue),
        sent => Ok((sent, segment_bytes)),
    }
}

fn is_one_machine(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || is_broadcast)
}

/// Sends greetings until there is an answer.
fn is_answered(socket: &UdpSocket, words: GreetingWords) -> io::Result<bool> {
    socket.set_read_timeout(Some(LOOK))?;
    for _ in 0..GREETINGS {
        match socket.send(&greeting(words.greeting)) {
            Err(error) if !is_silence(&error) => return Err(error),
            _ => {}
        }
        if greeting_from(socket, words.answer)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Listens for answers until the sender is done. Ends the sending and returns true when the answers
/// stop. Also ends it when this process is asked to stop, since whatever started it may have gone.
fn falls_silent(socket: &UdpSocket, answer: u64, window: &Window) -> bool {
    let mut heard_ns = clock::monotonic_ns();
    while !window.is_over() {
        match greeting_from(socket, answer) {
            Ok(Some(_)) => heard_ns = clock::monotonic_ns(),
            Ok(None) if clock::monotonic_ns() - heard_ns < LONGEST_SILENCE_NS => {}
            _ => {
                drop(window.end());
                return true;
            }
        }
        if sys::stop::heard().is_some() {
            drop(window.end());
        }
    }
    false
}

/// Checks the plan, which must be UDP with a pace: nobody tells this sender of room at the
/// receiver.
fn check(plan: &PacketPlan) -> Result<(), PacketError> {
    plan.check(LARGEST_BYTES)?;
    match plan.is_raw() || plan.pace.is_none() {
        true => Err(PacketError::NoClock),
        false => Ok(()),
    }
}

impl Exchanged {
    /// Combines the results of the two ends, which may be claims of other machines. Their clocks
    /// differ, so there are no one-way times, and the window is the longest of what each end's own
    /// clock shows and of what the pace takes.
    ///
    /// # Errors
    /// When the results contradict each other.
    pub fn apart(
        plan: &PacketPlan,
        (sent, segment_bytes): (Sent, Option<u32>),
        (received, held): (Received, SocketSettings),
    ) -> Result<Self, PacketError> {
        let once = received.packets.checked_sub(received.disorder.twice);
        let most_bytes = received.packets.saturating_mul(plan.largest_bytes() as u64);
        let can_be = once.is_some_and(|once| (1..=sent.packets).contains(&once))
            && sent.packets < MOST_PACKETS
            && received.packets < MOST_PACKETS
            && (1..=most_bytes).contains(&received.bytes)
            && (1..=received.packets).contains(&received.calls)
            && (1..=sent.packets).contains(&sent.calls)
            && sent.begun_ns <= sent.ended_ns
            && received.first_ns <= received.last_ns;
        if !can_be {
            return Err(PacketError::Absurd);
        }
        let window_ns = (sent.ended_ns - sent.begun_ns)
            .max(received.last_ns - received.first_ns)
            .max(plan.paced_ns(sent.packets));
        Ok(Self {
            sent,
            received: Received {
                one_way: Histogram::default(),
                ..received
            },
            window_ns,
            held: SocketSettings {
                segment_bytes,
                ..held
            },
            outstanding_most: 0,
            sent_at_once: plan.send.packets().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::packets::plan::tests::udp_plan;
    use crate::packets::{PacketPace, ReceiveWay, SendWay, Until};

    const WORDS: GreetingWords = GreetingWords {
        greeting: 1,
        answer: 2,
    };

    fn plan() -> PacketPlan {
        let cpu = sys::cpu::allowed().unwrap()[0];
        let ways = (SendWay::Batch(4), ReceiveWay::Batch(8));
        PacketPlan {
            pace: Some(PacketPace {
                rate: 10_000.0,
                arrivals: model::workload::Arrivals::default(),
                burst: 1,
            }),
            ..udp_plan(64, ways, Until::Count(400), [cpu, cpu])
        }
    }

    fn loopback(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    fn deaf() -> (UdpSocket, SocketAddr) {
        let deaf = UdpSocket::bind(loopback(0)).unwrap();
        let at = deaf.local_addr().unwrap();
        (deaf, at)
    }

    #[test]
    fn what_is_sent_to_a_receiver_that_answers_comes_and_greetings_are_not_counted() {
        let plan = plan();
        let inlet = FarInlet::open(&plan, Ipv4Addr::LOCALHOST.into()).unwrap();
        let (port, words) = inlet.door().unwrap();
        thread::scope(|scope| {
            let (tell, hear) = std::sync::mpsc::channel();
            let taking = scope.spawn(move || inlet.take(|| hear.recv().ok()));
            // Greetings of a stranger are ignored.
            let (stranger, _) = deaf();
            let wrong = greeting(!words.greeting);
            stranger.send_to(&wrong, loopback(port)).unwrap();
            let sent = send_far(&plan, loopback(port), words).unwrap();
            tell.send(sent.0.packets).unwrap();
            let received = taking.join().unwrap().unwrap();
            let went = Exchanged::apart(&plan, sent, received).unwrap();
            assert_eq!((went.sent.packets, went.lost()), (400, 0));
            assert_eq!(went.received.bytes, 400 * 64);
            assert_eq!(went.received.one_way.total(), 0);
        });
    }

    #[test]
    fn who_does_not_answer_or_only_echoes_gets_greetings_alone() {
        for echoes in [false, true] {
            let (socket, at) = deaf();
            socket.set_read_timeout(Some(LOOK)).unwrap();
            let is_over = AtomicBool::new(false);
            let count = || {
                let mut came = 0;
                let mut buffer = [0; 1500];
                loop {
                    let was_over = is_over.load(Ordering::Relaxed);
                    match socket.recv_from(&mut buffer) {
                        Err(_) if was_over => return came,
                        Err(_) => {}
                        Ok((bytes, from)) => {
                            assert_eq!(bytes, GREETING_BYTES);
                            came += 1;
                            if echoes {
                                socket.send_to(&buffer[..bytes], from).unwrap();
                            }
                        }
                    }
                }
            };
            thread::scope(|scope| {
                let counting = scope.spawn(count);
                let told = send_far(&plan(), at, WORDS).unwrap_err();
                assert!(matches!(told, PacketError::NoAnswer { .. }), "{told}");
                is_over.store(true, Ordering::Relaxed);
                assert_eq!(counting.join().unwrap(), GREETINGS);
            });
        }
    }

    #[test]
    fn who_stops_answering_is_not_sent_to_any_more() {
        let plan = PacketPlan {
            until: Until::Time(Duration::from_secs(3600)),
            ..plan()
        };
        let (socket, at) = deaf();
        let answering = thread::spawn(move || {
            let (_, from) = socket.recv_from(&mut [0; 64]).unwrap();
            socket.send_to(&greeting(WORDS.answer), from).unwrap();
            socket
        });
        let told = send_far(&plan, at, WORDS).unwrap_err();
        assert!(matches!(told, PacketError::Silent { .. }), "{told}");
        answering.join().unwrap();
    }

    #[test]
    fn without_a_clock_and_to_many_machines_nothing_is_sent() {
        let at_once = PacketPlan {
            pace: None,
            ..plan()
        };
        let opened = FarInlet::open(&at_once, Ipv4Addr::LOCALHOST.into());
        assert!(matches!(opened.err(), Some(PacketError::NoClock)));
        let told = send_far(&at_once, loopback(9), WORDS).unwrap_err();
        assert!(matches!(told, PacketError::NoClock), "{told}");
        for many in [
            "239.1.1.1:9",
            "255.255.255.255:9",
            "0.0.0.0:9",
            "[ff02::1]:9",
        ] {
            let told = send_far(&plan(), many.parse().unwrap(), WORDS).unwrap_err();
            assert!(matches!(told, PacketError::NoMachine { .. }), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_of_the_same_packets_is_an_error_and_no_figure() {
        let good = || {
            let sent = Sent {
                packets: 10,
                calls: 10,
                ..Sent::default()
            };
            let received = Received {
                packets: 10,
                bytes: 640,
                calls: 5,
                ..Received::default()
            };
            (sent, received)
        };
        let is_figure = |(sent, received)| {
            let held = SocketSettings::default();
            Exchanged::apart(&plan(), (sent, None), (received, held)).is_ok()
        };
        assert!(is_figure(good()));
        let wrongs: [fn(&mut Sent, &mut Received); 6] = [
            |_, received| received.disorder.twice = 11,
            |_, received| received.packets = 11,
            |_, received| received.bytes = 641,
            |_, received| received.calls = 0,
            |sent, _| sent.packets = u64::MAX,
            |sent, _| sent.begun_ns = 1,
        ];
        for wrong in wrongs {
            let (mut sent, mut received) = good();
            wrong(&mut sent, &mut received);
            assert!(!is_figure((sent, received)));
        }
    }
}
