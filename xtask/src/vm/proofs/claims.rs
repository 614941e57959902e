//! The claims that are checked outside the guest, by a capture of its wire.

use anyhow::ensure;

use super::{GuestFindings, wire};

type Check = fn(&GuestFindings) -> anyhow::Result<()>;

/// Claims, each with its check, for a guest with network cards and modules.
pub(super) const OUTSIDE: [(&str, Check); 2] = [
    (
        "a file that the kernel encrypts leaves as records and nothing else",
        |seen| on_the_wire(&wire::carried(&seen.wire_of_a_file)?),
    ),
    (
        "the kernel uses no nonce again that the session had before it was handed over",
        |seen| nonces(&wire::carried(&seen.wire_of_tls12)?),
    ),
];

/// Size of the file that the guest's server sends.
const FILE_BYTES: usize = 300_000;

/// Checks that there are only TLS records, that those with application data are large enough for
/// the file, and that none of it is in the clear.
fn on_the_wire(carried: &[u8]) -> anyhow::Result<()> {
    let records = wire::records(carried)?;
    let content = records.iter();
    let content = content.filter(|record| record.kind == wire::APPLICATION_DATA);
    let bytes: usize = content.map(|record| record.content.len()).sum();
    ensure!(bytes > FILE_BYTES, "records with {bytes} bytes of content");
    let mut pieces = carried.windows(10);
    ensure!(!pieces.any(|piece| piece == b"0123456789"), "in the clear");
    Ok(())
}

/// Checks that no nonce occurs twice: with AES-GCM a repeated nonce reveals the authentication key.
fn nonces(carried: &[u8]) -> anyhow::Result<()> {
    let records = wire::records(carried)?;
    let nonces = wire::nonces(&records);
    let all = nonces.len();
    ensure!(all > FILE_BYTES / (16 * 1024), "{all} encrypted records");
    none_twice(nonces)
}

/// The server's own nonces and the kernel's differ in their first bit. Unless there are both, some
/// are missing, or these are not nonces.
fn none_twice(mut nonces: Vec<&[u8]>) -> anyhow::Result<()> {
    let all = nonces.len();
    let first_is_set = nonces.iter().filter(|nonce| nonce[0] & 0x80 != 0).count();
    ensure!(
        first_is_set > 0 && first_is_set < all,
        "of {all} nonces {first_is_set} have the first bit"
    );
    nonces.sort_unstable();
    nonces.dedup();
    ensure!(
        nonces.len() == all,
        "{} nonces of {all} records",
        nonces.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_of_one_side_alone_or_one_of_them_twice_are_no_proof() {
        let (ours, of_kernel, next) = (b"\x7fa", b"\x80\0", b"\x80\x01");
        none_twice(vec![ours, of_kernel, next]).unwrap();
        for wrong in [vec![&of_kernel[..], next], vec![ours, of_kernel, of_kernel]] {
            assert!(none_twice(wrong).is_err());
        }
    }

    /// Packets of 1,514 bytes to a client, `apart` seconds from each other.
    fn lines(client: &str, begin: f64, apart: f64) -> String {
        let line = |number: u32| {
            let time = begin + apart * f64::from(number);
            format!(
                "{time:.6} 52:54:0 > 52:54:1, IPv4, length 1514: 10.0.0.1.8081 > {client}: tcp 1448\n"
            )
        };
        (0..42).map(line).collect()
    }

    #[test]
    fn a_rate_is_of_all_that_waited_until_the_last_packet_left() {
        let ack = "5.1 52:54:0 > 52:54:1, IPv4, length 66: 10.0.0.1.8081 > a.1: tcp 0\n";
        let text = ack.to_owned() + &lines("a.1", 100.0, 0.048_448) + &lines("a.2", 100.5, 0.001);
        let script = "printf %s \"$2\" | awk \"$1\" | sort -n -k 2";
        let mut awk = std::process::Command::new("sh");
        awk.args(["-c", script, "sh", include_str!("rates.awk"), &text]);
        let told = String::from_utf8(awk.output().unwrap().stdout).unwrap();
        let (one, other) = told.trim_end().split_once('\n').unwrap();
        assert_eq!(one, "60816 250000 256250");
        assert!(other.starts_with("60816 12112000 "), "{other}");
    }
}
