//! Rules of nftables and the tracking of connections.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};

use machine::planted;

use crate::{hold, wanted};

pub(crate) fn rules_hold_until_they_are_undone() {
    let held = hold("nft-rules", Some("100"));
    held.verify().unwrap();
    assert_eq!(machine::nftables::rules().unwrap().len(), 100);
    held.undo().unwrap();
    assert_eq!(machine::nftables::rules().unwrap(), []);
}

pub(crate) fn a_set_is_one_rule_however_many_addresses_it_has() {
    let held = hold("nft-set", Some("500"));
    held.verify().unwrap();
    assert_eq!(machine::nftables::rules().unwrap().len(), 1);
    let listed = nft(&["list", "set", "inet", "linerate-set", "nobodies"], "");
    assert_eq!(listed.matches("198.51.100.").count(), 500 - 254);
    held.undo().unwrap();
    assert_eq!(machine::nftables::rules().unwrap(), []);
}

pub(crate) fn tcp_that_is_exempt_is_not_tracked() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let tracked_by_connecting = || {
        let before = tracked();
        let _stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        tracked() - before
    };
    let _conntrack = hold("conntrack", None);
    assert_eq!(tracked_by_connecting(), 1);
    let exempt = hold("no-track", None);
    exempt.verify().unwrap();
    assert_eq!(tracked_by_connecting(), 0);
    exempt.undo().unwrap();
    assert_eq!(tracked_by_connecting(), 1);
}

fn tracked() -> u32 {
    let count = fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_count").unwrap();
    count.trim().parse().unwrap()
}

/// A firewall as people write it: sets and maps with names and without, chains that are jumped to,
/// state, limits, a table for one version of IP.
const FIREWALL: &str = "
table inet filter {
	set friends {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/8, 192.168.1.7 }
	}
	map doors {
		type inet_service : verdict
		elements = { 22 : accept, 25 : drop, 80 : jump web }
	}
	counter seen {
		packets 0 bytes 0
	}
	chain web {
		tcp flags & (fin | syn) == fin | syn drop
		limit rate 5/second burst 5 packets accept
	}
	set pairs {
		type ipv4_addr . inet_service
		flags interval
		elements = { 10.0.0.0/8 . 1-1023, 192.168.0.1-192.168.0.9 . 8080 }
	}
	quota spent {
		over 10 bytes
	}
	map counters {
		type inet_service : counter
		elements = { 443 : \"seen\" }
	}
	chain early {
		type filter hook ingress device \"lo\" priority filter; policy accept;
		ip saddr { 192.0.2.1, 192.0.2.2 } drop
	}
	chain input {
		type filter hook input priority filter; policy drop;
		tcp dport 20000-65535 reject
		ip saddr . tcp dport @pairs accept
		quota name \"spent\" accept
		counter name tcp dport map @counters
		ct state vmap { invalid : drop, established : accept, related : accept }
		ip saddr @friends accept
		tcp dport vmap @doors
		meta l4proto { tcp, udp } th dport 53 counter name seen
		iifname . ip saddr { \"eth0\" . 10.0.0.1 } drop
		reject with icmpx port-unreachable
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
	}
}
table ip nat {
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		oifname \"eth0\" masquerade
	}
}
";

pub(crate) fn a_ruleset_is_copied_whole_and_drops_nothing() {
    let proof = machine::namespace::ours().unwrap();
    nft(&["-f", "-"], FIREWALL);
    let many: Vec<String> = (0..5_000)
        .map(|nth| format!("10.1.{}.{}", nth / 250, nth % 250))
        .collect();
    let many = format!(
        "{{ type ipv4_addr; elements = {{ {} }}; }}",
        many.join(", ")
    );
    nft(&["-f", "-"], &format!("add set inet filter many {many}"));
    // This datagram uses up the quota.
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    socket
        .send_to(b"over ten bytes", socket.local_addr().unwrap())
        .unwrap();
    let original = nft(&["list", "ruleset"], "");
    assert!(original.contains("over 10 bytes used"), "{original}");
    let ruleset = machine::nftables::Ruleset::here().unwrap();
    nft(&["flush", "ruleset"], "");
    ruleset.load(proof).unwrap();
    let of_ingress = original
        .lines()
        .find(|line| line.contains("hook ingress"))
        .unwrap();
    let harmless = original
        .replace(&format!("{of_ingress}\n"), "")
        .replace("policy drop", "policy accept")
        .replace("drop", "accept")
        .replace("reject", "accept");
    assert_eq!(nft(&["list", "ruleset"], ""), harmless);
    assert!(original.contains("reject") && original.contains("policy drop"));
    assert_eq!(ruleset.rules(), machine::nftables::rules().unwrap().len());
    // The first rule of the original would reject the port of this listener.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    ruleset.unload(proof).unwrap();
    assert_eq!(nft(&["list", "ruleset"], ""), "");
}

/// Runs the `nft` program and returns what it prints.
fn nft(arguments: &[&str], input: &str) -> String {
    let mut nft = Command::new("nft")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    nft.stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = nft.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn connections_are_tracked_until_it_is_undone() {
    let held = hold("conntrack", None);
    held.verify().unwrap();
    assert!(machine::nftables::rules().unwrap()[0].tracks_connections);
    held.undo().unwrap();
    assert_eq!(machine::nftables::rules().unwrap(), []);
}

pub(crate) fn a_table_that_is_there_already_is_refused_and_left_alone() {
    let first = hold("nft-rules", Some("3"));
    let second = planted::find("nft-rules").unwrap();
    let refused = second.set(wanted(Some("5"))).err().unwrap().to_string();
    assert!(refused.contains("loading the nft rules"), "{refused}");
    first.verify().unwrap();
    first.undo().unwrap();
}
