//! What packets and connections do before a lever is set, with it, and after it was put back.

use crate::levers::sandbox::Sandbox;

/// Gives `bench1` to another machine, to which `bench0` leads.
const MAKE_PEER: &str = "mount -t tmpfs none /run && ip netns add peer && \
                         ip link set bench1 netns peer && \
                         ip -n peer address add 10.79.0.2/24 dev bench1 && \
                         ip -n peer link set bench1 up";
/// Makes a listener on the peer, a tap there on all that arrives, and a client here.
const CONNECT: &str = "
import ctypes, os, socket, struct, threading
ours, peer = (os.open(file, os.O_RDONLY) for file in ('/proc/self/ns/net', '/run/netns/peer'))
enter = ctypes.CDLL(None).setns
assert enter(peer, 0) == 0
listener = socket.create_server(('10.79.0.2', 0))
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.bind(('bench1', 0))
tap.setblocking(False)
assert enter(ours, 0) == 0
client = socket.create_connection(listener.getsockname())
";
/// `tcpi_snd_cwnd` of `struct tcp_info` (linux/tcp.h).
const WINDOW: &str = "
info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
print(struct.unpack_from('I', info, 80)[0])
";
/// How many acknowledgements without data are sent for 200 requests that are answered each.
const ACKNOWLEDGED: &str = "
served = listener.accept()[0]
for s in client, served:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(200):
    served.sendall(b'?')
    assert client.recv(1) == b'?'
    client.sendall(b'!')
    assert served.recv(1) == b'!'
info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
print(struct.unpack_from('I', info, 136)[0] - struct.unpack_from('I', info, 156)[0])
";
/// The longest packet of a megabyte, without the 14 bytes of Ethernet's header.
const LONGEST: &str = "
served = listener.accept()[0]
sending = threading.Thread(target=lambda: (client.sendall(bytes(1 << 20)), client.close()))
sending.start()
longest = 0
while served.recv(1 << 16):
    try:
        while True:
            longest = max(longest, tap.recv_into(bytearray(1), 1, socket.MSG_TRUNC))
    except BlockingIOError:
        pass
sending.join()
print(longest - 14)
";

/// The number that a script prints about such a connection.
fn number_from(sandbox: &Sandbox, ask: &str) -> u32 {
    let script = format!("{CONNECT}{ask}");
    let printed = sandbox.prints(&["python3", "-c", &script]);
    printed.trim().parse().unwrap()
}

#[test]
fn a_connection_begins_with_the_window_that_its_route_was_given() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&["sh", "-c", MAKE_PEER]);
    assert_eq!(number_from(&sandbox, WINDOW), 10);
    sandbox.apply(&["initial-window=30"]);
    assert_eq!(number_from(&sandbox, WINDOW), 30);
    sandbox.undo(&[]);
    assert_eq!(number_from(&sandbox, WINDOW), 10);
}

#[test]
fn what_comes_by_a_route_is_acknowledged_with_the_answer_or_at_once() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&["sh", "-c", MAKE_PEER]);
    assert!(number_from(&sandbox, ACKNOWLEDGED) < 100);
    sandbox.apply(&["quick-acknowledgements=1"]);
    assert!(number_from(&sandbox, ACKNOWLEDGED) >= 200);
    sandbox.undo(&[]);
    assert!(number_from(&sandbox, ACKNOWLEDGED) < 100);
}

#[test]
fn without_segmentation_offload_no_packet_is_longer_than_the_device_takes() {
    const MTU: u32 = 1500;
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&["sh", "-c", MAKE_PEER]);
    assert!(number_from(&sandbox, LONGEST) > 2 * MTU);
    sandbox.apply(&["segmentation-offload=off"]);
    assert_eq!(number_from(&sandbox, LONGEST), MTU);
    sandbox.undo(&[]);
    assert!(number_from(&sandbox, LONGEST) > 2 * MTU);
}
