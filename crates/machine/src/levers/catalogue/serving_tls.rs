//! How our own server speaks TLS.

use model::Binds;

use super::serving::is_from_to;
use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::serving::OfOurServer;
use crate::tree::Tree;

pub(super) static ROWS: &[OfOurServer] = &[
    OfOurServer {
        card: Card {
            name: "kernel-tls",
            title: "the kernel makes the records of TLS (kTLS)",
            group: Group::Tcp,
            scope: Scope::Socket,
            binds: Binds::Connect,
            worst: Worst::Failures("a client that asks for new keys loses its connection"),
            about: "A server that has agreed on keys with its client hands them to the kernel, and \
                then sends as in the clear: files too, by sendfile(2), without a copy to user space.",
            helps: "downloads over TLS from the page cache; most where the network card encrypts",
            hurts: "small answers, for which the library's cipher may be the faster one; a client \
                that asks for new keys in the midst of a connection is told by an alert that it ends",
            published: Some(
                "as fast with curl and one connection or four, for a fifth of the server's CPU \
                (10 % to 2 %) in \
                https://michael.stapelberg.ch/posts/2022-05-14-http-and-https-download-25gbit",
            ),
        },
        flag: "--kernel-tls",
        values: "auto, on, off",
        takes: |value| ["auto", "on", "off"].contains(&value),
        unset: "auto",
        absent: no_kernel_tls,
        depends: "on for downloads alone; with auto a session is the kernel's once a file is sent",
        sets: &["TCP_ULP", "TLS_TX", "TLS_RX"],
        by_hand: "linerate serve --tls-self-signed --kernel-tls on",
        refused_in_studies: |_| Some(IN_THE_CLEAR.to_owned()),
    },
    OfOurServer {
        card: Card {
            name: "tls-ciphers",
            title: "how our server encrypts",
            group: Group::Tcp,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Protection("sessions are as weak as the weakest suite that is named"),
            about: "The first of these cipher suites that a client knows is taken, and none that is not \
                named. AES is an instruction of most processors; ChaCha20 needs none.",
            helps: "AES of 128 bits: bulk, on processors with AES; ChaCha20: clients and servers without \
                it",
            hurts: "clients that know none of them are turned away; a suite that the kernel's TLS does not \
                know is encrypted by the server itself",
            published: None,
        },
        flag: "--tls-ciphers",
        values: "names at IANA joined by commas, the most wanted first, such as TLS_AES_128_GCM_SHA256",
        takes: |value| value.split(',').all(is_name_of_a_suite),
        unset: "all, AES-256 first",
        absent: |_| None,
        depends: "TLS_AES_128_GCM_SHA256 first for bulk between machines that have AES",
        sets: &["the cipher suites of the server's handshake"],
        by_hand: "linerate serve --tls-self-signed --tls-ciphers TLS_AES_128_GCM_SHA256",
        refused_in_studies: |_| Some(IN_THE_CLEAR.to_owned()),
    },
    OfOurServer {
        card: Card {
            name: "tls-record-size",
            title: "how much our server encrypts in one piece",
            group: Group::Tcp,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("each record carries 64 bytes"),
            about: "The most bytes of content in a record of TLS. A client can use none of a record before \
                all of it has arrived, and each costs 22 bytes and a check of its own.",
            helps: "1400 or so: the first bytes of pages over slow or lossy ways; 16384: bulk",
            hurts: "less: more bytes and more work for each byte, and no records of the kernel's (kTLS), \
                which have a size of their own",
            published: None,
        },
        flag: "--tls-record-size",
        values: "a number from 64 to 16384",
        takes: |value| is_from_to(value, 64, 16_384),
        unset: "16384",
        absent: |_| None,
        depends: "16384 for bulk, about a segment where the first bytes count",
        sets: &["the records that the server makes"],
        by_hand: "linerate serve --tls-self-signed --tls-record-size 1400",
        refused_in_studies: |_| Some(IN_THE_CLEAR.to_owned()),
    },
];

const IN_THE_CLEAR: &str = "the server of a study speaks no TLS";

/// By what the kernel lists: to ask it for kTLS would have it load the module, which is no look.
fn no_kernel_tls(tree: &Tree) -> Option<String> {
    let offered = tree.text("proc/sys/net/ipv4/tcp_available_ulp");
    let release = tree.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let modules = tree.text(&format!("lib/modules/{release}/modules.dep"));
    let is_there = offered.is_some_and(|names| names.split(' ').any(|name| name == "tls"))
        || modules.is_some_and(|paths| paths.contains("/tls.ko"));
    (!is_there).then(|| {
        "this kernel has no kTLS: net.ipv4.tcp_available_ulp does not name `tls`, and no module is \
         called so"
            .to_owned()
    })
}

/// Whether it can be one; which there are, the server says.
fn is_name_of_a_suite(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.starts_with("TLS_") && word.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_no_cipher_suite_is_refused_before_a_server_is_started() {
        let takes = |value| {
            let of_ciphers = |row: &&OfOurServer| row.card.name == "tls-ciphers";
            (ROWS.iter().find(of_ciphers).unwrap().takes)(value)
        };
        assert!(takes("TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256"));
        for wrong in ["", "AES128", "TLS_AES_128_GCM_SHA256,", "tls_aes"] {
            assert!(!takes(wrong), "{wrong}");
        }
    }
}
