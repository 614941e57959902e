//! Pages: huge ones, those to be written, those to be kept free.

use model::Binds;

use crate::levers::Site;
use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::HostSetting;
use crate::levers::share::{self, Share, Unit};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "huge-pages",
            title: "transparent huge pages",
            group: Group::Memory,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Memory(
                "with always, programs hold more memory than they use, and are killed when it is out",
            ),
            about: "Whether memory is given in pages of 2 MiB where it can be: always, only \
                where a program asks with madvise(2), or never.",
            helps: "programs with gigabytes of heap, where they ask for it",
            hurts: "with always: pauses while memory is compacted, and memory that is not used; the \
                kernel counts vm.min_free_kbytes anew with each change, and raises one that was set \
                by hand where it is less: the undo puts that back as well",
            published: Some(
                "madvise at Netflix (2017), never in the latency profiles of tuned; no figure \
                of its own",
            ),
        },
        places: Places::Host(HostSetting::HugePages),
        accepts: Accepts::Words(&["always", "madvise", "never"]),
        advised: Advised::Depends("madvise rather than always for latency; never is as good there"),
    },
    Tunable {
        card: Card {
            name: "huge-pages-defrag",
            title: "compaction for huge pages",
            group: Group::Memory,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("programs stall at each page until memory is compacted"),
            about: "Whether a page fault waits until memory is compacted for a huge page.",
            helps: "latency: with defer or never no fault waits",
            hurts: "fewer huge pages",
            published: None,
        },
        places: Places::Host(HostSetting::HugePagesDefrag),
        accepts: Accepts::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
        advised: Advised::Value("madvise"),
    },
    Tunable {
        card: Card {
            name: "swappiness",
            title: "swap against page cache",
            group: Group::Memory,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Memory(
                "with 0 programs are killed beside swap that is free; with 200 all of them are swapped out for files",
            ),
            about: "How much rather the kernel swaps programs out than it drops pages of files: \
                0 to 200, 60 as a rule.",
            helps: "servers whose own memory must stay",
            hurts: "less page cache for files that are read; with swap in compressed memory (zram) \
                more than 100 is right",
            published: Some("part of the profiles of tuned (10); no figure of its own"),
        },
        places: Places::Sysctls(&["vm.swappiness"]),
        accepts: Accepts::Range(0, 200),
        advised: Advised::Depends("10 with swap on a disk, more than 100 with zram"),
    },
    Tunable {
        card: Card {
            name: "dirty-ratio",
            title: "share of memory before writers wait",
            group: Group::Memory,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Memory(
                "most of the memory waits for a slow disk, and every program waits with it",
            ),
            about: "Per cent of the memory that may wait to be written before the program that \
                writes must write itself.",
            helps: "more: bursts of writes; less: even latency of writes",
            hurts: "more is lost at a power cut; programs stall when it is full",
            published: None,
        },
        places: Places::Sysctls(&["vm.dirty_ratio"]),
        accepts: Accepts::Range(1, 60),
        advised: Advised::Depends("10 for even latency"),
    },
    Tunable {
        card: Card {
            name: "dirty-background-ratio",
            title: "share of memory before writing begins",
            group: Group::Memory,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("writing begins when programs wait for it already"),
            about: "Per cent of the memory that may wait to be written before the kernel begins \
                to write.",
            helps: "even latency of writes with a small value",
            hurts: "more writes with a small value, as less is overwritten in memory",
            published: None,
        },
        places: Places::Sysctls(&["vm.dirty_background_ratio"]),
        accepts: Accepts::Range(0, 100),
        advised: Advised::Depends("3 for even latency"),
    },
    Tunable {
        card: Card {
            name: "memory-reserve",
            title: "memory that is kept free",
            group: Group::Memory,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Memory("programs are killed for memory that is kept free"),
            about: "KiB that only interrupts and the like may take, so that packets find memory \
                when programs have taken the rest.",
            helps: "high packet rates on machines whose memory is full",
            hurts: "less memory for programs; too much of it, and they are killed; once written, \
                the kernel takes it for set by hand and does not lower it by itself any more",
            published: Some(
                "1 to 3 % of the memory for high packet rates (guide to Amazon’s ENA driver)",
            ),
        },
        places: Places::Sysctls(&["vm.min_free_kbytes"]),
        accepts: Accepts::UpToShare(
            1024,
            Share {
                one_of: 20,
                unit: Unit::Kib,
            },
        ),
        advised: Advised::AtLeastOf(one_per_cent_of_memory_kib),
    },
];

fn one_per_cent_of_memory_kib(site: &Site) -> Option<i64> {
    Some(share::memory_kib(&site.tree)? / 100)
}
