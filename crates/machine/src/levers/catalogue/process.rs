//! What a program is given when it is started.

use model::Binds;
use sys::attribute::Flaw;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::program::{Kind, OfAProgram};

pub(super) static ROWS: &[OfAProgram] = &[
    OfAProgram {
        card: Card {
            name: "speculative-store-bypass",
            title: "loads that run ahead of stores in one program",
            group: Group::Mitigations,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Protection("strangers’ code in the program reads what is not its own"),
            about: "Where the kernel leaves it to programs, a processor with this flaw (Spectre \
                4) runs loads ahead of older stores for a program that is allowed to, and waits for \
                them for one that is not. Before Linux 5.16 a seccomp filter keeps its program from it for \
                good.",
            helps: "allowed: a program whose parent was kept from it; disabled: one that runs code of \
                strangers",
            hurts: "allowed: code that one program runs for several, as in a browser, may read what \
                is not its own; disabled: each load that follows a store waits",
            published: None,
        },
        kind: Kind::Speculation(Flaw::StoreBypass),
        values: "allowed, disabled",
        depends: "disabled for a program that runs code of strangers, else what it is",
        needs: LEFT_TO_NO_PROGRAM,
        sets: &["prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS)"],
        by_hand: "python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(53, 0, 4, 0, 0); \
            os.execvp(sys.argv[1], sys.argv[1:])' CMD",
    },
    OfAProgram {
        card: Card {
            name: "indirect-branch",
            title: "guesses at indirect branches in one program",
            group: Group::Mitigations,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Protection("another program on the core learns what this one computes"),
            about: "Where the kernel leaves it to programs, one that is not allowed is kept from \
                the guesses that others have trained (Spectre 2, between programs): they are \
                thrown away when it is switched to, and not shared with the other thread of \
                its core.",
            helps: "allowed: a program whose parent was kept from it; disabled: one with secrets, beside \
                strangers",
            hurts: "allowed: another program on the same core may learn what this one does; \
                disabled: each switch to it is dearer, and each of its indirect branches",
            published: None,
        },
        kind: Kind::Speculation(Flaw::IndirectBranch),
        values: "allowed, disabled",
        depends: "disabled for a program with secrets beside strangers, else what it is",
        needs: LEFT_TO_NO_PROGRAM,
        sets: &["prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH)"],
        by_hand: "python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(53, 1, 4, 0, 0); \
            os.execvp(sys.argv[1], sys.argv[1:])' CMD",
    },
    OfAProgram {
        card: Card {
            name: "cpu-affinity",
            title: "CPUs that one program may run on",
            group: Group::Locality,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("all threads of the program wait for one CPU"),
            about: "The scheduler leaves a thread on the CPUs of its list, and so near its caches \
                and, where interrupts are bound alike, near its packets.",
            helps: "servers with one thread for each CPU, with interrupts bound to the same CPUs",
            hurts: "a thread that may not move waits behind whoever else has its CPU; programs that \
                count CPUs by the machine start too many threads",
            published: Some(
                "part of +38 % requests/s (603 to 834 k) for all of locality in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        kind: Kind::Cpus,
        values: "a list of CPUs such as 0-3,8",
        depends: "those that the interrupts of its device go to, and no neighbour has",
        needs: "its control group leaves it other CPUs (cpuset)",
        sets: &["sched_setaffinity(2)"],
        by_hand: "taskset --cpu-list 0 CMD",
    },
    OfAProgram {
        card: Card {
            name: "program-huge-pages",
            title: "huge pages for one program",
            group: Group::Memory,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("large heaps are looked up page by page"),
            about: "With disabled, the kernel gives this program no transparent huge pages, \
                whatever `huge-pages` says for the machine.",
            helps: "disabled: programs that use a little of each of many large areas, or fork while \
                they write, such as Redis, on a machine whose other programs gain from huge pages",
            hurts: "disabled: more TLB misses in large heaps",
            published: None,
        },
        kind: Kind::HugePages,
        values: "allowed, disabled",
        depends: "disabled for programs that ask for it in their manual, else allowed",
        needs: "",
        sets: &["prctl(PR_SET_THP_DISABLE)"],
        by_hand: "python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); \
            os.execvp(sys.argv[1], sys.argv[1:])' CMD",
    },
    OfAProgram {
        card: Card {
            name: "open-files",
            title: "files and sockets that one program may have open",
            group: Group::Application,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Failures("the program can open nothing more, and turns its clients away"),
            about: "Both limits are set: what it has at once, and how far it may raise that. Each \
                connection is one open file.",
            helps: "servers with more connections than the usual 1024, which else refuse or drop \
                them",
            hurts: "programs that close all numbers up to their limit start slowly; a leak is found \
                later",
            published: None,
        },
        kind: Kind::OpenFiles,
        values: "a number from 8 to 1073741824",
        depends: "twice the connections that it is to hold",
        needs: "to raise the upper limit takes root or CAP_SYS_RESOURCE, and fs.nr_open is the most",
        sets: &["setrlimit(RLIMIT_NOFILE)"],
        by_hand: "prlimit --nofile=65536 CMD",
    },
    OfAProgram {
        card: Card {
            name: "allocator",
            title: "memory allocator of one program",
            group: Group::Application,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Failures(
                "the program ends where it asks the C library’s own allocator for what another gave",
            ),
            about: "The loader of the program is told (LD_PRELOAD) to load a library first whose malloc and free \
                are then used instead of the C library's, by the program and by all that it starts. The loader is \
                asked before: a program that would not take it is not started.",
            helps: "programs whose many threads allocate and free at once, such as databases; programs that grow over \
                weeks as their memory is fragmented",
            hurts: "the memory that it holds changes too, either way; what it asks of the C library's own allocator \
                (mallopt, malloc_trim, mallinfo) no longer reaches the memory in use; what has a heap of its own (Go, \
                Java, small objects of Python, an allocator built into a Rust program) gains nothing",
            published: Some(
                "read-only OLTP of sysbench on Percona Server 5.5, 16 CPUs, more than 16 threads: about 6,300 \
                transactions/s with jemalloc or tcmalloc, 4,000 with glibc 2.13; up to 4 CPUs no notable difference \
                (https://www.percona.com/blog/2013/03/08/mysql-performance-impact-of-memory-allocators-part-2/)",
            ),
        },
        kind: Kind::Allocator,
        values: "jemalloc, mimalloc, tcmalloc, or the absolute path of a shared library that defines malloc",
        depends: "the C library's unless a measurement of the very program says otherwise",
        needs: "its library must be installed: Debian 12 has libjemalloc2, libmimalloc2.0 and libtcmalloc-minimal4",
        sets: &["LD_PRELOAD in its environment"],
        by_hand: "LD_PRELOAD=libjemalloc.so.2 CMD",
    },
    OfAProgram {
        card: Card {
            name: "cpu-dma-latency",
            title: "how long CPUs may take to wake while one program runs",
            group: Group::Power,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower(
                "CPUs that never rest take the turbo from the others, and the credit of a burstable instance",
            ),
            about: "The program is given a descriptor of /dev/cpu_dma_latency with a time written to it. For \
                as long as it is open, in the program or in any that inherits it, no CPU of the machine goes into an \
                idle state (C-state) that takes longer to leave; at 0s idle CPUs spin. Of several that are held the \
                least counts.",
            helps: "few connections at a time, whose every request wakes a CPU",
            hurts: "power and heat, and with them the turbo of the other cores; in a guest time of the host, and \
                credit of burstable instances; the other thread of each core",
            published: None,
        },
        kind: Kind::WakeLatency,
        values: "a time from 0s to 1s, in whole microseconds",
        depends: "0s or some microseconds where single answers count, else any",
        needs: "it takes root, and a kernel with idle states to choose from (CONFIG_CPU_IDLE and an idle driver)",
        sets: &["/dev/cpu_dma_latency, held open"],
        by_hand: "sh -c 'exec 3> /dev/cpu_dma_latency; head -c 4 /dev/zero >&3; exec \"$@\"' sh CMD",
    },
    OfAProgram {
        card: Card {
            name: "packet-programs",
            title: "programs that a device runs on each packet (XDP)",
            group: Group::Netfilter,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "native, the device does not come up again after it was set up anew",
            ),
            about: "An XDP program sees each packet as the driver has received it, and drops it, sends it \
                back, hands it to a program's own memory (AF_XDP) or lets it go on into the kernel. This puts one \
                of two instructions there that lets every packet pass, for as long as the program runs: it \
                measures what the hook itself costs. One that is there already is never replaced.",
            helps: "to know the price before a program of your own is there: that may drop floods or balance \
                load at millions of packets a second; what is there now was perhaps left behind",
            hurts: "each packet takes the way through it, generic more than native; native may set the device up anew \
                when it comes and when it goes; generic also has no packets merged (GRO) while it is there, and is \
                refused where the device merges them, as that would not come back",
            published: None,
        },
        kind: Kind::PacketProgram,
        values: "native, for the driver, or generic, with the device behind a colon, as in native:eth0",
        depends: "native where the driver can, to measure it; generic is for the others",
        needs: "it takes root of the machine (CAP_BPF and CAP_NET_ADMIN), for native a driver that has it, and before \
            Linux 5.11 locked memory to spare (ulimit -l)",
        sets: &["bpf(BPF_LINK_CREATE), held open"],
        by_hand: "sh -c 'ip link set dev DEVICE xdpdrv obj PASS.o sec xdp; \"$@\"; ip link set dev DEVICE xdp off' \
            sh CMD",
    },
    OfAProgram {
        card: Card {
            name: "scheduler",
            title: "how one program is dealt the CPU",
            group: Group::Scheduling,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Access(
                "a real-time thread that spins keeps its CPU from all else, logins included",
            ),
            about: "`batch` preempts nobody when it wakes; `idle` runs when nobody else wants to; \
                `fifo:N` and `rr:N` go before all ordinary programs, by priority. `other:3ms` has \
                a slice of its own (Linux 6.12): shorter ones are let in sooner, longer ones are \
                interrupted less.",
            helps: "fifo: a server beside other work, whose answers must not wait for it; batch and \
                long slices: work that is counted by throughput; idle: work that must disturb \
                nobody",
            hurts: "a real-time thread that spins keeps its CPU from everybody else, the kernel's own \
                threads included, but for what `realtime-share` leaves; batch and idle answer later",
            published: Some(
                "batch for the services of \
                http://brendangregg.com/blog/2017-12-31/reinvent-netflix-ec2-tuning.html; no figure of \
                its own",
            ),
        },
        kind: Kind::Scheduling,
        values: "other, batch, idle, fifo:N or rr:N with a priority from 1 to 99, other:TIME or \
            batch:TIME with a slice from 100us to 100ms",
        depends: "other on a machine that does nothing else",
        needs: "fifo and rr take root or CAP_SYS_NICE, or `ulimit -r` of their priority",
        sets: &["sched_setattr(2)"],
        by_hand: "chrt --fifo 10 CMD",
    },
    OfAProgram {
        card: Card {
            name: "nice",
            title: "how much one program leaves to others",
            group: Group::Scheduling,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("its neighbours hardly run"),
            about: "Each step down has a tenth more of a CPU that is shared, each step up a tenth \
                less; alone on a CPU it changes nothing.",
            helps: "below 0: a server beside other work; above 0: work that can wait",
            hurts: "the neighbours, or itself; where `scheduler-autogroup` is 1 it counts within one \
                session only",
            published: None,
        },
        kind: Kind::Nice,
        values: "a number from -20 to 19",
        depends: "0 unless programs share a CPU",
        needs: "less than it is now takes root or CAP_SYS_NICE, or `ulimit -e`",
        sets: &["setpriority(2)"],
        by_hand: "nice -n 5 CMD",
    },
    OfAProgram {
        card: Card {
            name: "cpu-weight",
            title: "share of a program and its children among groups",
            group: Group::Scheduling,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("its neighbours hardly run"),
            about: "The program and all that it starts are one control group, which has this weight \
                beside its neighbours where a CPU is wanted by several; 100 is usual.",
            helps: "a server with many threads or workers beside other work, which `nice` weighs one \
                by one",
            hurts: "the neighbours; one more level of groups is a little more work at each switch",
            published: None,
        },
        kind: Kind::CpuWeight,
        values: "a number from 1 to 10000",
        depends: "100 unless programs share a CPU",
        needs: "groups are made by root, or by whom systemd has delegated them to; systemd-run --user \
            --scope -p CPUWeight=WEIGHT has it done; where groups have a real-time share of their own \
            (version 1), real-time programs stay outside of them",
        sets: &["cpu.weight of a control group, or cpu.shares in version 1"],
        by_hand: "systemd-run --scope -p CPUWeight=200 CMD",
    },
    OfAProgram {
        card: Card {
            name: "timer-slack",
            title: "how late the timers of one program may wake it",
            group: Group::Scheduling,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("timers of the program end a second late"),
            about: "The kernel may put a wake-up off by so much to join it with others; 50 us is \
                usual. It holds for sleeping, polling and epoll with a time; a real-time thread has \
                none.",
            helps: "1us: pacers, load generators and event loops with short timeouts; some \
                milliseconds: programs that wake an idle machine often",
            hurts: "less: more wake-ups, and less sleep for the CPU; more: timers that are late by that",
            published: None,
        },
        kind: Kind::TimerSlack,
        values: "a time from 1ns to 1s, such as 1us",
        depends: "1us where times are kept, else the usual 50us",
        needs: "",
        sets: &["prctl(PR_SET_TIMERSLACK)"],
        by_hand: "systemd-run -p TimerSlackNSec=1us CMD",
    },
];

const LEFT_TO_NO_PROGRAM: &str = "the processor, the kernel or its command line leaves it to no \
    program here: /proc/self/status tells how it is";
