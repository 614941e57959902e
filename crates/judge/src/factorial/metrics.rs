//! The metrics of a study of commands: its own, and those that the kernel always reports.

use model::CommandRun;
use model::command::CommandReading;
use model::command_run::{CommandBlock, Measured};
use model::command_study::{Better, MetricSource};
use model::judgement::MetricInfo;
use model::run::Phase;

use crate::values::{self, Values};

/// What the kernel reports of every command: name, title, unit, and the source by which a study
/// asks for it.
const ALWAYS: [Always; 3] = [
    Always {
        name: "wall_ns",
        title: "wall time",
        unit: "ns",
        source: MetricSource::Wall,
        value: |command| command.wall_ns as f64,
    },
    Always {
        name: "cpu_ns",
        title: "CPU time",
        unit: "ns",
        source: MetricSource::Cpu,
        value: |command| command.cpu_ns() as f64,
    },
    Always {
        name: "peak_memory_bytes",
        title: "peak memory",
        unit: "bytes",
        source: MetricSource::PeakMemory,
        value: |command| command.peak_memory_bytes as f64,
    },
];

struct Always {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    source: MetricSource,
    value: fn(&CommandReading) -> f64,
}

/// The study's metrics in its order, then those of the kernel that the study does not have itself.
pub(crate) fn of(run: &CommandRun) -> Vec<MetricInfo> {
    let own = run.study.metrics.iter().map(|metric| MetricInfo {
        name: metric.name.clone(),
        title: metric.title.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
    });
    let asked = |always: &&Always| {
        let mut own = run.study.metrics.iter();
        own.any(|metric| metric.from == always.source || metric.name == always.name)
    };
    let others = ALWAYS.iter().filter(|always| !asked(always));
    let others = others.map(|always| MetricInfo {
        name: always.name.to_owned(),
        title: always.title.to_owned(),
        unit: always.unit.to_owned(),
        better: Better::Lower,
    });
    own.chain(others).collect()
}

/// The values of a metric in the runs that did not fail.
pub(crate) fn values<'a>(run: &CommandRun, name: &str, blocks: &'a [CommandBlock]) -> Values<'a> {
    let is_own = run.study.metrics.iter().any(|metric| metric.name == name);
    let kernel_metric = ALWAYS.iter().find(|always| always.name == name);
    let value = |reading: &Measured| match kernel_metric {
        Some(always) if !is_own => Some((always.value)(&reading.command)),
        _ => reading.values.get(name).copied(),
    };
    let runs = blocks.iter().filter(|block| block.phase == Phase::Command);
    let whole = runs.filter(|block| block.reading.counts());
    Values::of(whole.filter_map(|block| {
        Some(values::Measured {
            arm: &block.arm,
            turn: (block.round, block.epoch),
            position: block.position,
            value: value(&block.reading)?,
        })
    }))
}
