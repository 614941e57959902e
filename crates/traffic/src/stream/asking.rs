//! What a client sends to ask for a test: the cookie and the parameters.

use std::os::fd::AsFd as _;

use sys::socket;
use wire::iperf3::{COOKIE_BYTES, Cookie, DATAGRAM_BYTES, OwnWish, Parameters};

use super::control::Control;
use super::{Carrier, ReceiveBy, SendBy, StreamError, StreamPlan, StreamUntil, Way};

/// The letters and digits of base 32, of which iperf3 makes its cookies.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bytes of a TCP write. Large writes save calls and wake-ups, which outweighs that they no longer
/// fit the caches nearest to a CPU. Over loopback, writes of 1 MiB cost as much; between namespaces
/// under BBR a stream reached 15 Gbit/s with them and 41 Gbit/s with this size.
const USUAL_WRITE_BYTES: u32 = 640 * 1024;
/// Bytes of a TCP write at a held rate: smaller, as with iperf3.
const PACED_WRITE_BYTES: u32 = 128 * 1024;

/// Makes a name for a test that nobody can guess.
pub(super) fn cookie() -> Result<Cookie, StreamError> {
    let random = sys::random::bytes::<COOKIE_BYTES>();
    let random = random.map_err(|source| StreamError::Option {
        option: "a cookie".to_owned(),
        source,
    })?;
    let mut cookie = random.map(|byte| LETTERS[usize::from(byte) % LETTERS.len()]);
    cookie[COOKIE_BYTES - 1] = 0;
    Ok(cookie)
}

/// Turns a plan into iperf3's parameters, and adds for our servers what iperf3 does not know.
pub(super) fn parameters(plan: &StreamPlan, control: &Control) -> Parameters {
    let is_udp = plan.carrier == Carrier::Udp;
    let segment = || socket::segment_bytes(control.socket().as_fd()).unwrap_or(1_448);
    let usual = || match is_udp {
        true => segment().clamp(*DATAGRAM_BYTES.start(), *DATAGRAM_BYTES.end()),
        false if plan.rate_bits > 0 => PACED_WRITE_BYTES,
        false => USUAL_WRITE_BYTES,
    };
    let (time, num) = match plan.until {
        // iperf3 knows whole seconds only; round up, as the client ends the test.
        StreamUntil::Time(time) => (time.as_secs() + u64::from(time.subsec_nanos() > 0), 0),
        StreamUntil::Bytes(bytes) => (0, bytes),
    };
    let own = OwnWish {
        echo: plan.echo_before.is_some(),
        discard: plan.receive == ReceiveBy::Discard,
        send: plan.send.name().to_owned(),
        interval_ms: u64::try_from(plan.interval.as_millis()).unwrap_or(u64::MAX),
    };
    Parameters {
        tcp: !is_udp,
        udp: is_udp,
        time,
        num,
        parallel: plan.streams.into(),
        reverse: plan.ways == [Way::Down],
        bidirectional: plan.ways.len() > 1,
        mss: plan.segment_bytes.map_or(0, u64::from),
        window: plan.buffer_bytes.map_or(0, u64::from),
        len: plan.write_bytes.unwrap_or_else(usual).into(),
        bandwidth: plan.rate_bits,
        fqrate: plan.pace_bits,
        tos: plan.type_of_service.into(),
        congestion: plan.congestion.clone(),
        udp_counters_64bit: is_udp.into(),
        zerocopy: (plan.send == SendBy::Sendfile).into(),
        client_version: concat!("linerate ", env!("CARGO_PKG_VERSION")).to_owned(),
        linerate: (!plan.is_to_iperf3).then_some(own),
        ..Parameters::default()
    }
}
