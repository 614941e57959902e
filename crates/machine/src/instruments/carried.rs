//! What the connections of a server carried, whoever loads it, from the kernel's own counts for
//! each connection.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;

use model::reading::{CarriedReading, OlderConnections};
use sys::tcp_diag::{self, Carried, Closings};

use super::counters;
use crate::targets;

/// Counts of each connection, by the number that identifies it.
type Counts = HashMap<u64, Carried>;

/// The connections that existed at some moment.
#[derive(Debug)]
pub struct Known(HashSet<u64>);

impl Known {
    /// The connections that a server listening at these addresses has now.
    ///
    /// # Errors
    /// Those of [`CarriedWatch::open`].
    pub fn now(listens: &[SocketAddr]) -> io::Result<Self> {
        Ok(Self(dump(listens)?.into_keys().collect()))
    }
}

/// Reads what connections have carried at both ends of a window, and listens for those that close
/// within it.
#[derive(Debug)]
pub struct CarriedWatch {
    /// Where the server listens: connections that arrived there are its own.
    listens: Vec<SocketAddr>,
    closings: Closings,
    before: Counts,
    /// Connections from before the window that have closed, as the kernel reported them.
    went: Counts,
    /// Number of connections that this network namespace had accepted before the window.
    accepted: u64,
}

impl CarriedWatch {
    /// Begins the window of a server that listens at these addresses.
    ///
    /// # Errors
    /// Fails where the kernel does not report connections (`CONFIG_INET_DIAG`).
    pub fn open(listens: Vec<SocketAddr>) -> io::Result<Self> {
        let closings = Closings::hear()?;
        let accepted = accepted()?;
        Ok(Self {
            before: dump(&listens)?,
            listens,
            closings,
            went: Counts::new(),
            accepted,
        })
    }

    /// Reads the reports of closed connections, of which the kernel keeps some thousands. On a busy
    /// machine some come late by seconds, so that a connection not seen before says nothing about
    /// this window.
    pub fn hear(&mut self) {
        // Connections whose reports are lost here count as unseen at the end.
        let went = self.closings.take().unwrap_or_default().into_iter();
        let known = went.filter(|it| self.before.contains_key(&it.id));
        self.went.extend(known.map(|it| (it.id, it)));
    }

    /// Ends the window. With `known`, it also counts what those older connections carried in the
    /// window.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn close(mut self, known: Option<&Known>) -> io::Result<CarriedReading> {
        let after = dump(&self.listens)?;
        let accepted = accepted()?.saturating_sub(self.accepted);
        self.hear();
        Ok(between((&self.before, self.went, after), accepted, known))
    }
}

/// Sums up the window. A connection opened within it counts from its start, one closed within it
/// counts up to its end. Connections both opened and closed within it are only counted, without
/// what they carried.
fn between(
    (before, went, after): (&Counts, Counts, Counts),
    accepted: u64,
    known: Option<&Known>,
) -> CarriedReading {
    let came = after.keys().filter(|id| !before.contains_key(id)).count();
    let mut ends = went;
    // A connection that closed after the last dump counts up to the dump.
    ends.extend(after);
    let unreported = before.keys().filter(|id| !ends.contains_key(id)).count();
    let mut sum = CarriedReading {
        unseen: accepted.saturating_sub(came as u64) + unreported as u64,
        older: known.map(|_| OlderConnections::default()),
        ..CarriedReading::default()
    };
    for end in ends.values() {
        let begin = before.get(&end.id);
        let since = |end: u64, begin: Option<u64>| end.saturating_sub(begin.unwrap_or(0));
        let bytes = since(end.bytes, begin.map(|it| it.bytes));
        sum.bytes += bytes;
        sum.segments += since(end.segments, begin.map(|it| it.segments));
        if let Some((known, older)) = known.zip(sum.older.as_mut()) {
            let is_older = known.0.contains(&end.id);
            older.bytes += if is_older { bytes } else { 0 };
            older.connections += u64::from(is_older && bytes > 0);
            older.of += u64::from(bytes > 0);
        }
    }
    sum
}

/// `PassiveOpens` of RFC 1213: connections accepted by all servers of this network namespace.
fn accepted() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/net/snmp")?;
    let found = counters::named(&text).find(|(name, _)| name == "Tcp.PassiveOpens");
    let (_, count) = found.ok_or(io::ErrorKind::InvalidData)?;
    Ok(count)
}

fn dump(listens: &[SocketAddr]) -> io::Result<Counts> {
    let mut ports: Vec<u16> = listens.iter().map(SocketAddr::port).collect();
    ports.sort_unstable();
    ports.dedup();
    let mut all = Counts::new();
    for port in ports {
        let of_port = tcp_diag::carried_at(port)?.into_iter();
        let is_own = |it: &Carried| listens.iter().any(|at| targets::takes(*at, it.local));
        all.extend(of_port.filter(is_own).map(|it| (it.id, it)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn carried(id: u64, bytes: u64, segments: u64) -> Carried {
        Carried {
            id,
            local: "127.0.0.1:80".parse().unwrap(),
            bytes,
            segments,
        }
    }

    #[test]
    fn connections_count_from_where_the_window_finds_them_and_to_where_it_leaves_them() {
        let counts = |all: &[Carried]| -> Counts { all.iter().map(|it| (it.id, *it)).collect() };
        let before = [carried(1, 100, 10), carried(2, 900, 90), carried(3, 50, 5)];
        // The second closed; the third closed unreported; the fourth opened, as did one that closed
        // again.
        let went = [carried(2, 1000, 95)];
        let after = [carried(1, 130, 13), carried(4, 20, 2)];
        let expected = CarriedReading {
            bytes: 30 + 100 + 20,
            segments: 3 + 5 + 2,
            unseen: 1 + 1,
            older: None,
        };
        let [before, went, after]: [Counts; 3] = [&before[..], &went, &after].map(counts);
        let all = || (&before, went.clone(), after.clone());
        assert_eq!(between(all(), 2, None), expected);
        let older = OlderConnections {
            bytes: 30,
            connections: 1,
            of: 3,
        };
        let known = Known([1, 3].into());
        let found = between(all(), 2, Some(&known));
        assert_eq!(found.older, Some(older));
        assert_eq!(
            CarriedReading {
                older: None,
                ..found
            },
            expected
        );
    }

    #[test]
    fn what_a_server_carried_is_counted_where_its_connections_stay_and_where_known_ones_go() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let open = |listener: &TcpListener| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let carry = |(client, server): &mut (TcpStream, TcpStream), times: usize| {
            for _ in 0..times {
                client.write_all(&[0; 1000]).unwrap();
                server.read_exact(&mut [0; 1000]).unwrap();
            }
        };
        let [mut stays, mut goes] = [open(&listener), open(&listener)];
        carry(&mut stays, 3);
        carry(&mut goes, 7);
        let mut watch = CarriedWatch::open(vec![local]).unwrap();
        carry(&mut stays, 1);
        carry(&mut goes, 5);
        drop(goes);
        carry(&mut open(&other), 50);
        // The kernel reports a closed connection only after it closed.
        let limit = std::time::Duration::from_secs(60);
        assert!(sys::clock::wait_until(limit, || {
            watch.hear();
            !watch.went.is_empty()
        }));
        let reading = watch.close(None).unwrap();
        assert_eq!(reading.segments, 6, "{reading:?}");
        assert!((6000..6010).contains(&reading.bytes), "{reading:?}");
        // The connection of the other server, and those that parallel tests opened.
        assert!(reading.unseen >= 1, "{reading:?}");
    }
}
