//! What is found and explained, and left to a person.

use model::Binds;

use sys::ethtool::Setting;

use crate::levers::Places;
use crate::levers::advice::{Advice, Look};
use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::{DriverSetting, FeatureName};

pub(super) static ROWS: &[Advice] = &[
    Advice {
        card: Card {
            name: "mitigations",
            title: "what the kernel does against speculative execution",
            group: Group::Mitigations,
            scope: Scope::Boot,
            binds: Binds::Boot,
            worst: Worst::Protection(
                "any code on this machine reads the memory of the kernel and of other programs",
            ),
            about: "Each entry into the kernel and each indirect call is made safe against leaks \
                through speculation, one mitigation for each flaw of the processor.",
            helps: "programs that make many system calls, on processors that are not fixed in \
                hardware",
            hurts: "without them any code on this machine may read the memory of the kernel and \
                of other programs: another tenant, a script, a dependency that was taken \
                over",
            published: Some(
                "+28 % requests/s (347 to 446 k) on a c5n.xlarge of 2021 in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Check("mitigations"),
        by_hand: "it takes a reboot and takes protection away, so it is yours to do: add \
            mitigations=off to the kernel command line (in /etc/default/grub, then \
            update-grub) and reboot, on a machine with one tenant that runs nothing \
            untrusted; take the word out again and reboot to go back; linerate study run \
            http-json --whole --reboot waits for it and measures on both sides",
    },
    Advice {
        card: Card {
            name: "syscall-audit",
            title: "the audit subsystem",
            group: Group::AuditAndSeccomp,
            scope: Scope::Host,
            binds: Binds::Fork,
            worst: Worst::Protection("a break-in leaves no trace"),
            about: "While audit is or was on since boot, each system call of a process that was \
                started with an audit context goes the slow way in and out.",
            helps: "programs that make many system calls",
            hurts: "security monitoring and compliance may rest on it; audit that was turned on \
                once leaves its mark until the next boot",
            published: Some(
                "with seccomp +11 % requests/s (446 to 495 k) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Check("audit"),
        by_hand: "others may rest on it, so it is yours to do: auditctl -a never,task, then \
            start the server anew; auditctl -d never,task to go back",
    },
    Advice {
        card: Card {
            name: "system-call-filter",
            title: "a seccomp filter that each call of a program passes",
            group: Group::AuditAndSeccomp,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Protection("a program that was taken over reaches all of the kernel"),
            about: "A filter is a program for each system call, which its process can never take off. \
                Since Linux 5.11 the kernel remembers the calls that it allows whatever their \
                arguments are, and runs it for the others alone.",
            helps: "programs that make many system calls under a container's profile or a service \
                manager's, most before Linux 5.11",
            hurts: "without its filter a program reaches kernel code that it was kept from",
            published: Some(
                "with the audit subsystem +11 % requests/s (446 to 495 k) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Check("seccomp"),
        by_hand: "whoever starts the program chooses its filter, so it is yours to do: keep its policy \
            and make it cheaper, with no arguments read for the calls of each request, and before Linux \
            5.11 as a tree (SCMP_FLTATR_CTL_OPTIMIZE 2 of libseccomp); docker run --security-opt \
            seccomp=PROFILE.json, or SystemCallFilter= of systemd, then start it anew. \
            A study tells what either kind costs: add = [\"seccomp-numbers\"] or \
            [\"seccomp-arguments\"]",
    },
    Advice {
        card: Card {
            name: "packet-taps",
            title: "sockets that are shown every packet",
            group: Group::PacketTaps,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Access(
                "the tap of a DHCP client is closed, its lease runs out, and the machine loses its address",
            ),
            about: "Each packet is cloned for each packet socket on all protocols, sent and \
                received alike.",
            helps: "servers at high packet rates, where a DHCP client, a capture or an agent \
                holds such a socket",
            hurts: "a lease is not renewed, a capture or an agent stops",
            published: Some(
                "+6 % requests/s (1.06 to 1.12 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Check("packet-taps"),
        by_hand: "the program that holds it is not ours to stop: linerate doctor names it; \
            use a DHCP client without a packet socket, or make the lease permanent, and that only \
            where the cloud guarantees a fixed private address: else another machine may be given \
            yours; then stop it",
    },
    Advice {
        card: Card {
            name: "firewall-rules",
            title: "rules that each packet is compared with",
            group: Group::Netfilter,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Protection("every port of the machine is open to whoever reaches it"),
            about: "Rules in one chain are compared one after the other; a set or a map is one \
                look-up.",
            helps: "servers at high packet rates behind long chains",
            hurts: "without its rules the machine is open to whoever reaches it",
            published: Some(
                "+22 % requests/s (495 to 603 k) for all of netfilter in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Check("firewall-rules"),
        by_hand: "protection is not ours to take: put the rule that accepts your traffic \
            first, turn chains of addresses into a set, and measure before and after; \
            linerate study run firewall measures a copy of these rules in a namespace of \
            its own",
    },
    Advice {
        card: Card {
            name: "connection-tracking",
            title: "the kernel remembers every connection",
            group: Group::Netfilter,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Access(
                "rules that ask for the state of a connection match none any more, and drop its operator’s too",
            ),
            about: "One rule that asks for the state of connections makes the kernel look up \
                each packet’s.",
            helps: "servers with many connections behind a stateful firewall",
            hurts: "stateful rules and address translation stop for what is not tracked",
            published: Some(
                "part of the +22 % of all of netfilter in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Check("connection-tracking"),
        by_hand: "rules of yours rest on it, so it is yours to do: a notrack rule for the port \
            that is served, in both directions, with rules that accept both ways; linerate study \
            run firewall measures what that buys",
    },
    Advice {
        card: Card {
            name: "security-modules",
            title: "hooks at each system call",
            group: Group::AuditAndSeccomp,
            scope: Scope::Host,
            binds: Binds::Boot,
            worst: Worst::Protection("a program that was taken over may do whatever its user may"),
            about: "SELinux, AppArmor and BPF programs are asked at each access.",
            helps: "programs that make many system calls",
            hurts: "the barrier between programs falls",
            published: None,
        },
        look: Look::Check("security-modules"),
        by_hand: "it is not offered: what they cost is small, and what they keep out is not known",
    },
    Advice {
        card: Card {
            name: "leftover-tracing",
            title: "tracing that nobody reads any more",
            group: Group::PacketTaps,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Failures("a monitor that somebody relies on sees nothing any more"),
            about: "Probes, tracepoints and BPF programs that were left on run at each of their \
                events.",
            helps: "machines on which something was traced once",
            hurts: "it may be your monitoring",
            published: None,
        },
        look: Look::Check("tracing"),
        by_hand: "whoever turned it on may still need it: linerate doctor names what is on; \
            stop the program that holds it, or write 0 to events/enable of tracefs",
    },
    Advice {
        card: Card {
            name: "adaptive-coalescing",
            title: "the driver chooses how long a device waits",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Slower("answers wait for interrupts that the device holds back"),
            about: "With 1, the driver sets the time of receive-coalescing itself, by the packets \
                that came; what is set by hand then counts for little.",
            helps: "machines whose load changes",
            hurts: "a time that wanders, where every answer should take the same",
            published: Some(
                "on, with busy-poll +28 % requests/s (834 k to 1.06 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Knobs(Places::Driver(DriverSetting::new(Setting::AdaptiveReceive))),
        by_hand: "no driver that we could try it on has it, so it is yours to do: \
            ethtool -C DEVICE adaptive-rx on",
    },
    Advice {
        card: Card {
            name: "transmit-coalescing",
            title: "how long a device waits before it tells that it has sent",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Slower("senders wait for memory that is free late"),
            about: "Microseconds for which the device holds back the interrupt that says that \
                packets were sent, and their memory is free again.",
            helps: "servers at high packet rates: fewer interrupts for each packet",
            hurts: "memory of what was sent is free later, and TCP with small queues waits for it",
            published: Some(
                "static as receive-coalescing, in the last step of \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Knobs(Places::Driver(DriverSetting::new(Setting::TransmitUs))),
        by_hand: "no driver that we could try it on has it, so it is yours to do: \
            ethtool -C DEVICE tx-usecs 256",
    },
    Advice {
        card: Card {
            name: "combined-channels",
            title: "queues of a device, each for both ways",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access("the device does not come up again after it was set up anew"),
            about: "How many pairs of queues a device uses, each with an interrupt of its own: \
                so many CPUs can take packets from it.",
            helps: "machines with more CPUs than the device uses queues",
            hurts: "the device is set up anew, and what was set for each queue is lost",
            published: None,
        },
        look: Look::Knobs(Places::Driver(DriverSetting::new(
            Setting::CombinedChannels,
        ))),
        by_hand: "no driver that we could try it on has several, so it is yours to do: \
            ethtool -L DEVICE combined N, and afterwards what is set for each queue",
    },
    Advice {
        card: Card {
            name: "large-receive-offload",
            title: "the device takes packets of one connection as one (LRO)",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Failures(
                "what is passed on is cut otherwise than it came, and dropped where it is too large",
            ),
            about: "LRO merges packets before the kernel sees them, and forgets where each of \
                them ended; GRO keeps that.",
            helps: "bulk to sockets of this machine",
            hurts: "what is passed on by a bridge or a route is cut otherwise than it came; the \
                kernel turns it off there",
            published: None,
        },
        look: Look::Knobs(Places::Features(&[FeatureName::RxLro])),
        by_hand: "no driver that we could try it on has it, so it is yours to do: \
            ethtool -K DEVICE lro on; receive-offload does the same and is safe where packets are \
            passed on",
    },
];
