//! Finds the part of the work that takes most CPU time, by the functions that were under way on a
//! CPU.

use std::collections::BTreeMap;

use model::stacks::{Stack, StackFrame, Stacks};

/// A part of the work that could be less, recognised by functions that only this part goes through.
pub(super) struct WorkPart {
    /// Short stable name of the limiter.
    pub(super) name: &'static str,
    /// Phrase for it within a sentence.
    pub(super) what: &'static str,
    /// Beginnings of names of functions, of the kernel or of the program.
    functions: &'static [&'static str],
    pub(super) advice: &'static str,
}

/// All parts. A stack belongs to the first that matches, so parts whose functions lie further in
/// stand first.
pub(super) const PARTS: [WorkPart; 11] = [
    WorkPart {
        name: "observers",
        what: "being traced by another program",
        functions: &[
            "perf_trace_",
            "uprobe_",
            "bpf_trampoline",
            "ptrace_stop",
            "trace_event_raw_event",
        ],
        advice: "end the tracer; `linerate doctor` names it",
    },
    WorkPart {
        name: "seccomp",
        what: "seccomp filters, which run on each system call",
        functions: &[
            "__seccomp_filter",
            "seccomp_run_filters",
            "bpf_prog_run_pin_on_cpu",
        ],
        advice: "a filter that reads no arguments is not run again for calls that it allows: see the container runtime's profile",
    },
    WorkPart {
        name: "audit",
        what: "audit, which sees each system call",
        functions: &["__audit_syscall", "audit_filter"],
        advice: "add a rule `never,task` and restart the program; `linerate levers show audit` says more",
    },
    WorkPart {
        name: "netfilter",
        what: "the firewall and connection tracking",
        functions: &[
            "nf_hook_slow",
            "nft_do_chain",
            "ipt_do_table",
            "nf_conntrack",
            "nf_nat",
        ],
        advice: "sets or maps instead of rules in a row, an early accept, no tracking where none is needed; `linerate levers try` measures it",
    },
    WorkPart {
        name: "packet-tap",
        what: "packets that are copied for a packet tap",
        functions: &["packet_rcv", "tpacket_rcv", "dev_queue_xmit_nit"],
        advice: "end the capture, the DHCP client or the agent that has the tap: `ss -0 -p` names it",
    },
    WorkPart {
        name: "kernel-lock",
        what: "CPUs that wait for one another's locks in the kernel",
        functions: &[
            "native_queued_spin_lock_slowpath",
            "__pv_queued_spin_lock_slowpath",
            "rwsem_down_",
            "osq_lock",
        ],
        advice: "let fewer CPUs share one thing: a listener and a table of files for each worker, less mapping and unmapping of memory",
    },
    WorkPart {
        name: "garbage-collector",
        what: "the garbage collector",
        functions: &[
            "runtime.gc",
            "runtime.scanobject",
            "runtime.markroot",
            "v8::internal::Heap::CollectGarbage",
            "v8::internal::Scavenge",
            "v8::internal::MarkCompact",
            "gc_collect",
            "_PyGC_Collect",
            "GCTaskThread",
            "G1",
        ],
        advice: "allocate less for each request, or give it more memory before it collects (GOGC, --max-semi-space-size, gc.freeze)",
    },
    WorkPart {
        name: "processes",
        what: "starting and ending processes or threads",
        functions: &["kernel_clone", "do_wait", "do_exit", "bprm_execve"],
        advice: "keep processes and threads from one request to the next (a pool, FastCGI instead of CGI)",
    },
    WorkPart {
        name: "page-faults",
        what: "memory that is taken from the kernel and given back",
        functions: &[
            "handle_mm_fault",
            "exc_page_fault",
            "asm_exc_page_fault",
            "do_page_fault",
            "__do_sys_brk",
            "__x64_sys_brk",
            "__x64_sys_munmap",
            "__x64_sys_mmap",
            "__x64_sys_madvise",
            "vm_mmap_pgoff",
            "do_vmi_munmap",
            "do_madvise",
            "unmap_region",
        ],
        advice: "keep memory from one request to the next: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc (mallopt(3)), an allocator that gives back later, transparent huge pages",
    },
    WorkPart {
        name: "handshakes",
        what: "handshakes of TLS",
        functions: &[
            "RSA_",
            "rsa_",
            "EVP_PKEY_sign",
            "EVP_DigestSign",
            "ECDSA_",
            "ecdsa_",
            "p256_",
            "x25519",
            "tls_construct_server",
            "SSL_do_handshake",
        ],
        advice: "resume sessions (tickets), keep connections open, and use ECDSA keys",
    },
    WorkPart {
        name: "connections",
        what: "opening and closing connections",
        functions: &[
            "__x64_sys_accept4",
            "__sys_accept4",
            "inet_csk_accept",
            "tcp_conn_request",
            "tcp_v4_syn_recv_sock",
            "__tcp_close",
            "tcp_v4_connect",
            "inet_stream_connect",
        ],
        advice: "keep connections open from one request to the next, at both ends (keepalive, upstream keepalive)",
    },
];

/// A part that takes a smaller share of the CPU time is not named, 0 to 1.
const ENOUGH: f64 = 0.15;
/// A function that takes this share of the CPU time by itself is named as the limiter.
const HOT: f64 = 0.25;
/// With fewer samples, the share of a function may be wrong by more than about 20 points.
const ENOUGH_SAMPLES: u64 = 30;

/// The part that takes the largest share of the CPU time, with that share, 0 to 1; `None` where
/// each takes little.
pub(super) fn largest(stacks: &Stacks) -> Option<(&'static WorkPart, f64)> {
    let shares = PARTS.iter().map(|part| (part, part.share(stacks)));
    shares
        .filter(|(_, share)| *share >= ENOUGH)
        .max_by(|one, other| one.1.total_cmp(&other.1))
}

/// What to do about the part of this name; empty where there is none.
pub(super) fn advice(name: &str) -> &'static str {
    let mut parts = PARTS.iter();
    parts
        .find(|part| part.name == name)
        .map_or("", |part| part.advice)
}

/// The part that threads which sleep in `at` wait for, if any.
pub(super) fn of_sleep(at: &str) -> Option<&'static WorkPart> {
    let mut parts = PARTS.iter();
    parts.find(|part| part.functions.iter().any(|name| at.starts_with(name)))
}

/// The program's own function that takes most CPU time by itself, with its share; time in the
/// kernel does not count. A name in brackets stands for a file without symbols: that is no
/// function, and nobody can make all of it cheaper.
pub(super) fn hot(stacks: &Stacks) -> Option<(String, f64)> {
    if stacks.samples < ENOUGH_SAMPLES {
        return None;
    }
    let own = innermost(stacks, |leaf| !leaf.kernel && !leaf.name.starts_with('['));
    let most = own
        .into_iter()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    most.filter(|(_, share)| *share >= HOT)
}

/// The `count` innermost functions that took most of the CPU time, with their shares.
pub(super) fn busiest(stacks: &Stacks, count: usize) -> Vec<(String, f64)> {
    let mut all = innermost(stacks, |_| true);
    all.truncate(count);
    all
}

/// The innermost functions that `is_such` accepts, with their shares of all CPU time, the largest
/// first.
fn innermost(stacks: &Stacks, is_such: impl Fn(&StackFrame) -> bool) -> Vec<(String, f64)> {
    let all = stacks.weight_ns().max(1) as f64;
    let mut sums = BTreeMap::<&str, f64>::new();
    for stack in &stacks.stacks {
        if let Some(leaf) = stack.frames.last().filter(|leaf| is_such(leaf)) {
            *sums.entry(&leaf.name).or_default() += stack.weight_ns as f64 / all;
        }
    }
    let mut sums: Vec<(String, f64)> = sums
        .into_iter()
        .map(|(name, share)| (name.to_owned(), share))
        .collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1));
    sums
}

impl WorkPart {
    /// Its share of the CPU time, 0 to 1, over stacks that belong to no earlier part.
    pub(super) fn share(&self, stacks: &Stacks) -> f64 {
        let is_its = |stack: &&Stack| {
            let mut parts = PARTS.iter().filter(|part| part.has(stack));
            parts.next().is_some_and(|part| part.name == self.name)
        };
        let its = stacks.stacks.iter().filter(is_its);
        its.map(|stack| stack.weight_ns as f64).sum::<f64>() / stacks.weight_ns().max(1) as f64
    }

    fn has(&self, stack: &Stack) -> bool {
        let mut names = stack.frames.iter().map(|frame| frame.name.as_str());
        names.any(|name| {
            self.functions
                .iter()
                .any(|function| name.starts_with(function))
        })
    }
}

#[cfg(test)]
mod tests {
    use model::stacks::REST;

    use super::*;

    /// Stacks with these weights, and just enough samples to name a function.
    fn stacks(seen: &[(&[&str], u64)]) -> Stacks {
        let frame = |name: &&str| match name.strip_suffix("_[k]") {
            Some(name) => StackFrame::of_kernel(name),
            None => StackFrame::of_program(*name),
        };
        let seen = seen
            .iter()
            .map(|(names, weight)| (names.iter().map(frame).collect(), *weight));
        Stacks {
            samples: ENOUGH_SAMPLES,
            ..Stacks::of(100, seen)
        }
    }

    #[test]
    fn a_stack_belongs_to_what_it_goes_through_and_small_parts_are_none() {
        let mut seen: Vec<(&[&str], u64)> = vec![
            (
                &["nginx", "write", "nf_hook_slow_[k]", "nft_do_chain_[k]"],
                30,
            ),
            (&["nginx", "write", "tcp_sendmsg_[k]"], 70),
        ];
        let (part, share) = largest(&stacks(&seen)).unwrap();
        assert_eq!((part.name, share), ("netfilter", 0.3));
        seen[1].1 = 700;
        assert!(largest(&stacks(&seen)).is_none());
    }

    #[test]
    fn a_function_of_the_program_is_hot_where_it_takes_a_quarter_by_itself() {
        let hot_loop = stacks(&[
            (&["app", "main", "parse"], 60),
            (&["app", "main", "read", "tcp_recvmsg_[k]"], 40),
        ]);
        assert_eq!(hot(&hot_loop), Some(("parse".to_owned(), 0.6)));
        let flat = stacks(&[
            (&["app", "a"], 20),
            (&["app", "b"], 20),
            (&["app", "read", "tcp_recvmsg_[k]"], 60),
        ]);
        assert_eq!(hot(&flat), None);
        assert_eq!(busiest(&flat, 1), [("tcp_recvmsg".to_owned(), 0.6)]);
        assert_eq!(
            hot(&stacks(&[(&[REST], 60), (&["app", "a"], 40)])),
            Some(("a".to_owned(), 0.4))
        );
    }

    #[test]
    fn a_file_without_names_and_a_few_samples_make_no_hot_function() {
        let stripped = stacks(&[(&["app", "[libcrypto.so.3]"], 60), (&["app", "a"], 10)]);
        assert_eq!(hot(&stripped), None);
        let mut seen = stacks(&[(&["app", "parse"], 100)]);
        assert_eq!(hot(&seen), Some(("parse".to_owned(), 1.0)));
        seen.samples -= 1;
        assert_eq!(hot(&seen), None);
    }
}
