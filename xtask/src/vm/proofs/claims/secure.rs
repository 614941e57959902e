//! The claims about TLS whose records the kernel makes.

use anyhow::ensure;
use serde_json::Value;

use crate::vm::proofs::{GuestFindings, wire};

/// Bytes of the file that the guest's server sends.
const FILE_BYTES: usize = 300_000;
/// Pairs of version and cipher besides that which the client chooses by itself.
const OTHER_PAIRS: usize = 5;

pub(super) fn by_kernel(seen: &GuestFindings) -> anyhow::Result<()> {
    let truth = |kind: &str, name: &str| seen.truth(&format!("ktls.{kind}.{name}"));
    let number = |kind: &str, name: &str| anyhow::Ok(truth(kind, name)?.parse::<usize>()?);
    for (kind, is_kernels) in [("auto", true), ("on", true), ("off", false)] {
        let answers = truth(kind, "answers")?;
        ensure!(answers == "same", "{kind}: the answers are {answers}");
        let ready: Value = serde_json::from_str(truth(kind, "ready")?)?;
        let suites = ready["tls"]["by_kernel"].as_array().map_or(0, Vec::len);
        ensure!((suites == 9) == is_kernels, "{kind}: {ready}");
        let sessions = number(kind, "sessions")?;
        ensure!(
            sessions == usize::from(is_kernels),
            "{kind}: the kernel had {sessions} sessions"
        );
        let written = number(kind, "written")?;
        let is_by_sendfile = written >= FILE_BYTES;
        ensure!(
            is_by_sendfile == is_kernels,
            "{kind}: {written} bytes were written"
        );
    }
    other_pairs(seen)?;
    let (late, wrong) = (seen.truth("ktls.late")?, seen.truth("ktls.wrong")?);
    ensure!(late == "whole", "what came late was {late}");
    ensure!(wrong == "0", "the kernel could not decrypt {wrong} records");
    on_the_wire(&wire::carried(&seen.wire_of_a_file)?)
}

/// Each with the answers unchanged, and of each the session was the kernel's.
fn other_pairs(seen: &GuestFindings) -> anyhow::Result<()> {
    let same = seen.truth.matches("ktls.ciphers same").count();
    ensure!(same == OTHER_PAIRS, "{same} of {OTHER_PAIRS} other pairs");
    let sessions: usize = seen.truth("ktls.others")?.parse()?;
    ensure!(
        sessions == OTHER_PAIRS,
        "the kernel had {sessions} sessions of {OTHER_PAIRS} other pairs"
    );
    Ok(())
}

/// Records and nothing else, of which those with content hold the file.
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

/// With AES-GCM a nonce that is used twice gives the key away.
pub(super) fn nonces(seen: &GuestFindings) -> anyhow::Result<()> {
    let carried = wire::carried(&seen.wire_of_tls12)?;
    let records = wire::records(&carried)?;
    let nonces = wire::nonces(&records);
    let all = nonces.len();
    ensure!(all > FILE_BYTES / (16 * 1024), "{all} encrypted records");
    none_twice(nonces)
}

/// The server's own nonces and the kernel's part in their first bit: unless both are there, these are
/// not all of them, or no nonces.
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

/// Kernels before Linux 6.14 cannot follow; who asks is told so, and not left with a connection that
/// broke.
pub(super) fn new_keys(seen: &GuestFindings) -> anyhow::Result<()> {
    for (kind, expected) in [
        ("off", "2 answered,"),
        ("auto", "2 answered,"),
        ("on", "1 answered, alert internal error"),
    ] {
        let came = seen.truth(&format!("ktls.{kind}.new_keys"))?.trim_end();
        ensure!(came == expected, "{kind}: {came}");
    }
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

    #[test]
    fn a_pair_that_the_server_kept_to_itself_is_seen() {
        let seen = |sessions: usize| {
            let truth = "ktls.ciphers same\n".repeat(OTHER_PAIRS);
            other_pairs(&GuestFindings::of(&format!(
                "{truth}ktls.others {sessions}\n"
            )))
        };
        seen(OTHER_PAIRS).unwrap();
        assert!(seen(OTHER_PAIRS - 1).is_err());
    }

    #[test]
    fn a_connection_that_broke_without_a_word_is_seen() {
        let seen = |on: &str| {
            let others = "ktls.off.new_keys 2 answered, \nktls.auto.new_keys 2 answered, \n";
            let truth = format!("{others}ktls.on.new_keys {on}\n");
            new_keys(&GuestFindings::of(&truth))
        };
        seen("1 answered, alert internal error").unwrap();
        assert!(seen("1 answered, ").is_err());
    }
}
