//! A ring and both ends of a connection in one thread.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};

use super::*;

const LISTENER: Owner = Owner::new(1, 0);
const CONNECTION: Owner = Owner::new(2, 7);
const LONG_BYTES: usize = 200_000;

/// A ring, the far end of a connection, and the near end that the ring has accepted.
fn connected() -> (ServingRing, TcpStream, OwnedFd) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut ring = ServingRing::new().unwrap();
    ring.accept(LISTENER, listener.as_fd(), true).unwrap();
    let What::Accepted(near) = next(&mut ring, LISTENER) else {
        panic!("not accepted");
    };
    ring.stop_accepting(LISTENER).unwrap();
    assert!(matches!(next(&mut ring, LISTENER), What::Nothing));
    (ring, far, near)
}

/// Waits for the next completion, which must be of this owner.
fn next(ring: &mut ServingRing, owner: Owner) -> What {
    while !ring.has_untaken() {
        ring.enter(true).unwrap();
    }
    let completion = ring.take().unwrap();
    assert_eq!(completion.owner, owner);
    completion.what
}

#[test]
fn what_comes_is_received_again_and_again_until_the_end() {
    for goes_on in [true, false] {
        let (mut ring, mut far, near) = connected();
        for words in [&b"some"[..], b"more"] {
            far.write_all(words).unwrap();
            if words == b"some" || !goes_on {
                ring.receive(CONNECTION, near.as_fd(), goes_on).unwrap();
            }
            assert!(matches!(next(&mut ring, CONNECTION), What::Received));
            assert_eq!(ring.received(), words);
        }
        drop(far);
        if !goes_on {
            ring.receive(CONNECTION, near.as_fd(), false).unwrap();
        }
        assert!(matches!(next(&mut ring, CONNECTION), What::End));
    }
}

#[test]
fn a_message_that_was_sent_whole_is_not_reported() {
    let (mut ring, mut far, near) = connected();
    for _ in 0..1000 {
        assert_eq!(ring.append(b"hello "), 6);
        assert_eq!(ring.append(b"world"), 5);
        ring.send(CONNECTION, near.as_fd()).unwrap();
        ring.enter(false).unwrap();
        let mut room = [0; 11];
        far.read_exact(&mut room).unwrap();
        assert_eq!(&room, b"hello world");
    }
    assert!(ring.next_unsent().is_none() && !ring.has_untaken());
}

#[test]
fn the_rest_of_a_message_for_which_there_is_no_room_comes_back_at_once() {
    let (mut ring, mut far, near) = connected();
    let message: Vec<u8> = (0..LONG_BYTES).map(|place| (place / 7) as u8).collect();
    let mut sent_bytes = 0;
    let rest = loop {
        assert_eq!(ring.append(&message), message.len());
        ring.send(CONNECTION, near.as_fd()).unwrap();
        ring.enter(false).unwrap();
        sent_bytes += message.len();
        if let Some(unsent) = ring.next_unsent() {
            assert_eq!(unsent.owner, CONNECTION);
            break unsent.rest.unwrap();
        }
    };
    assert!(
        !rest.is_empty() && message.ends_with(&rest),
        "{}",
        rest.len()
    );
    let mut room = vec![0; sent_bytes - rest.len()];
    far.set_read_timeout(Some(std::time::Duration::from_secs(20)))
        .unwrap();
    far.read_exact(&mut room).unwrap();
    assert!(
        room.chunks(LONG_BYTES)
            .all(|part| message.starts_with(part))
    );
    // None of the rest is on its way.
    far.set_nonblocking(true).unwrap();
    assert!(far.read(&mut [0]).is_err());
}

#[test]
fn an_error_of_sending_to_a_peer_that_is_gone_is_reported() {
    let (mut ring, far, near) = connected();
    crate::socket::reset_on_close(far.as_fd()).unwrap();
    drop(far);
    ring.append(b"hello");
    ring.send(CONNECTION, near.as_fd()).unwrap();
    ring.enter(false).unwrap();
    assert!(ring.next_unsent().unwrap().rest.is_err());
}

#[test]
fn receiving_that_is_stopped_tells_its_end_and_can_be_started_again() {
    let (mut ring, mut far, near) = connected();
    ring.receive(CONNECTION, near.as_fd(), true).unwrap();
    ring.enter(false).unwrap();
    ring.stop_receiving(CONNECTION).unwrap();
    assert!(matches!(next(&mut ring, CONNECTION), What::Nothing));
    far.write_all(b"late").unwrap();
    ring.enter(false).unwrap();
    assert!(!ring.has_untaken());
    ring.receive(CONNECTION, near.as_fd(), true).unwrap();
    assert!(matches!(next(&mut ring, CONNECTION), What::Received));
    assert_eq!(ring.received(), b"late");
}

/// Both ends of several connections.
fn pairs(count: u32) -> Vec<(Owner, TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pair = |slot| {
        let far = TcpStream::connect(address).unwrap();
        let (near, _) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        (Owner::new(slot, 0), far, near)
    };
    (0..count).map(pair).collect()
}

#[test]
fn unsent_messages_are_reported_at_once_even_where_the_queue_had_no_room_to_report_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _far: Vec<TcpStream> = (0..5)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let pairs = pairs(7);
    // The accepted connections fill five of the eight places for completions.
    let mut ring = ServingRing::sized(8, 8, BUFFERS).unwrap();
    ring.accept(LISTENER, listener.as_fd(), true).unwrap();
    for (owner, _, near) in &pairs {
        near.shutdown(std::net::Shutdown::Write).unwrap();
        ring.append(b"hello");
        ring.send(*owner, near.as_fd()).unwrap();
    }
    ring.enter(false).unwrap();
    let mut reported = 0;
    while let Some(unsent) = ring.next_unsent() {
        assert!(unsent.rest.is_err());
        reported += 1;
    }
    assert_eq!((reported, ring.untaken_sockets()), (7, 5));
}

#[test]
fn more_bytes_than_there_are_buffers_for_come_once_receiving_is_started_again() {
    let mut pairs = pairs(8);
    let mut ring = ServingRing::sized(16, 16, 2).unwrap();
    for (owner, far, near) in &mut pairs {
        far.write_all(b"hello").unwrap();
        ring.receive(*owner, near.as_fd(), true).unwrap();
    }
    let (mut received, mut had_to_wait) = (0, 0);
    while received < pairs.len() {
        while !ring.has_untaken() {
            ring.enter(true).unwrap();
        }
        let completion = ring.take().unwrap();
        let (_, _, near) = &pairs[completion.owner.slot as usize];
        match completion.what {
            What::Received => {
                assert_eq!(ring.received(), b"hello");
                received += 1;
            }
            What::Nothing => {
                assert!(!completion.goes_on);
                had_to_wait += 1;
                ring.receive(completion.owner, near.as_fd(), true).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(had_to_wait >= 6, "{had_to_wait}");
}

#[test]
fn connections_count_from_when_they_were_accepted_until_they_are_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _far: Vec<TcpStream> = (0..5)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let mut ring = ServingRing::new().unwrap();
    ring.accept(LISTENER, listener.as_fd(), true).unwrap();
    while ring.untaken_sockets() < 5 {
        ring.enter(true).unwrap();
    }
    for left in (0..5).rev() {
        assert!(matches!(ring.take().unwrap().what, What::Accepted(_)));
        assert_eq!(ring.untaken_sockets(), left);
    }
}
