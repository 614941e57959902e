//! Interrupts on the CPUs of a program. The kernel charges their time to the thread that happens to
//! run there, although that thread did not ask for it.

use sys::kernel_file;

use super::counters::Counters;
use crate::cpu_ticks;

/// Column of `/proc/net/softnet_stat` with the CPU's number, since Linux 5.10. Older kernels lack
/// it; there the order of the lines is that of the CPUs.
const CPU: usize = 12;

/// Interrupts, packets handled, and the time of both, on these CPUs since boot.
pub(super) fn on(cpus: &[usize]) -> Counters {
    let text = |path: &str| kernel_file::text(path).unwrap_or_default();
    let stat = text("/proc/stat");
    let ticks = cpus
        .iter()
        .filter_map(|cpu| cpu_ticks::parse_one(&stat, *cpu));
    let ns = ticks
        .map(|it| it.machine.irq_ns + it.machine.softirq_ns)
        .sum();
    let handled = packets_handled(&text("/proc/net/softnet_stat"), cpus);
    let interrupts = interrupts(&text("/proc/interrupts"), cpus);
    [
        ("program.cpus_interrupt_ns", ns),
        ("program.cpus_packets", handled),
        ("program.cpus_interrupts", interrupts),
    ]
    .map(|(name, count)| (name.to_owned(), count))
    .into()
}

/// Packets that the receiving half of the network stack handled on these CPUs; a packet counts once
/// for each device that it passes.
fn packets_handled(softnet: &str, cpus: &[usize]) -> u64 {
    let lines = softnet.lines().enumerate().filter_map(|(at, line)| {
        let column = |at: usize| u64::from_str_radix(line.split_whitespace().nth(at)?, 16).ok();
        let cpu = column(CPU).and_then(|cpu| usize::try_from(cpu).ok());
        Some((cpu.unwrap_or(at), column(0)?))
    });
    let of_these = lines.filter(|(cpu, _)| cpus.contains(cpu));
    of_these.map(|(_, packets)| packets).sum()
}

/// Interrupts of all kinds on these CPUs. The text has a line for each kind, with a column for each
/// CPU that is online.
fn interrupts(text: &str, cpus: &[usize]) -> u64 {
    let mut lines = text.lines();
    let columns = lines.next().unwrap_or_default().split_whitespace();
    let columns: Vec<Option<usize>> = columns
        .map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    let of_line = |line: &str| -> u64 {
        let counts = line.split_whitespace().skip(1);
        let named = columns.iter().zip(counts);
        let of_these = named.filter(|(cpu, _)| cpu.is_some_and(|cpu| cpus.contains(&cpu)));
        of_these
            .filter_map(|(_, count)| count.parse::<u64>().ok())
            .sum()
    };
    lines.map(of_line).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX_6_18: &str = "\
           CPU0       CPU2       
 24:          1          7  IO-APIC   5-edge      ACPI:Ged
LOC:        100       1000   Local timer interrupts
ERR:          3
";

    #[test]
    fn interrupts_are_added_up_over_the_kinds_by_the_numbers_of_the_cpus() {
        assert_eq!(interrupts(LINUX_6_18, &[2]), 1_007);
        assert_eq!(interrupts(LINUX_6_18, &[0, 2]), 1_111);
        assert_eq!(interrupts("", &[0]), 0);
    }

    #[test]
    fn packets_are_of_the_cpu_that_a_line_names_and_of_older_kernels_by_order() {
        let since = |packets, cpu| format!("{packets:08x}{} {cpu:08x} 0 0\n", " 0".repeat(11));
        let text = since(5, 0) + &since(9, 3);
        assert_eq!(packets_handled(&text, &[3]), 9);
        let older = "00000005 0 0 0 0 0 0 0 0 0 0\n0000000a 0 0 0 0 0 0 0 0 0 0\n";
        assert_eq!(packets_handled(older, &[1]), 10);
        assert_eq!(packets_handled("x", &[0]), 0);
    }
}
