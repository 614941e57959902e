//! How fast a CPU runs and wakes, and by which clock.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::{CpuSetting, HostSetting};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "guest-halt-poll",
            title: "a guest polls before it halts",
            group: Group::Power,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("the credit of a burstable instance is used up by CPUs that idle"),
            about: "Nanoseconds for which an idle CPU of a virtual machine polls for work before \
                it gives its CPU back to the host.",
            helps: "few connections at a time: each wake of a halted CPU goes through the host",
            hurts: "idle CPUs burn time of the host, and credit of burstable instances; nothing \
                for a server that is always busy",
            published: Some(
                "−69 % server CPU per request (95 % interval −71.8 … −64.6; 16,100 to 74,600 \
                requests/s) with one connection on a 2-CPU guest, Linux 6.18, in \
                results/2026-11-21-amd-epyc-2cpu/signs-idle.txt",
            ),
        },
        places: Places::Host(HostSetting::GuestHaltPoll),
        accepts: Accepts::Range(0, 10_000_000),
        advised: Advised::Depends(
            "200000 at few connections, on instances without CPU credit; 0 for a server that is \
             always busy",
        ),
    },
    Tunable {
        card: Card {
            name: "clocksource",
            title: "which clock the kernel reads",
            group: Group::Power,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "time stands or jumps: timers never end, and certificates and tickets of logins are refused",
            ),
            about: "The counter behind clock_gettime(2). Some can be read without a system call, \
                some cannot.",
            helps: "programs that read the clock often, on a machine whose clock needs a system \
                call (hpet, acpi_pm, xen)",
            hurts: "a counter that is not steady lets time jump",
            published: Some(
                "tsc instead of xen was one of the settings of Netflix (2017); no figure of \
                its own",
            ),
        },
        places: Places::Host(HostSetting::Clocksource),
        accepts: Accepts::Offered(
            "sys/devices/system/clocksource/clocksource0/available_clocksource",
        ),
        advised: Advised::Depends("tsc and kvm-clock are both read without a system call"),
    },
    Tunable {
        card: Card {
            name: "frequency-governor",
            title: "who chooses the frequency",
            group: Group::Power,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("every CPU stays at its lowest frequency"),
            about: "performance holds the highest frequency; the others follow the load.",
            helps: "load that comes in bursts, and measuring",
            hurts: "power and heat; other cores may turbo less",
            published: None,
        },
        places: Places::EachCpu(CpuSetting::Governor),
        accepts: Accepts::Offered(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
        ),
        advised: Advised::Value("performance"),
    },
    Tunable {
        card: Card {
            name: "energy-preference",
            title: "speed against power",
            group: Group::Power,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("every CPU stays near its lowest frequency"),
            about: "What the processor itself prefers when it chooses its frequency.",
            helps: "load that comes in bursts, and measuring",
            hurts: "power and heat",
            published: None,
        },
        places: Places::EachCpu(CpuSetting::EnergyPreference),
        accepts: Accepts::Offered(
            "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_available_preferences",
        ),
        advised: Advised::Value("performance"),
    },
];
