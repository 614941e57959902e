//! The metrics of a run, with the names and units that hyperfine 2 uses.

use model::CommandReading;

/// A figure of each run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    /// Name in files.
    pub(super) name: &'static str,
    /// Heading of its column.
    pub(super) title: &'static str,
    /// Unit of the values in files, as a word.
    pub(super) base_unit: &'static str,
    /// Reads the value from a run, in s or bytes.
    pub(super) of: fn(&CommandReading) -> f64,
    /// The units that may be asked for; the first is the one used in files.
    units: &'static [Unit],
    /// The units in which a figure is shown where no unit is named, the largest first.
    shown: &'static [Unit],
}

/// A metric, and the unit in which it is written; `None` for the unit that fits its size.
#[derive(Clone, Copy, Debug)]
pub struct MetricChoice {
    pub(super) metric: Metric,
    pub(super) unit: Option<Unit>,
}

/// A unit: its symbol, and its size in s or bytes.
pub(super) type Unit = (&'static str, f64);

const TIMES: [Unit; 6] = [
    ("s", 1.0),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("h", 3600.0),
];
const BYTES: [Unit; 9] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// All metrics, in the order in which they are written.
pub(super) const ALL: [Metric; 5] = [
    WALL,
    time("time_cpu", "CPU time", |run| {
        seconds(run.user_ns + run.system_ns)
    }),
    USER,
    SYSTEM,
    Metric {
        name: "memory_peak_resident",
        title: "peak memory",
        base_unit: "byte",
        of: |run| run.peak_memory_bytes as f64,
        units: &BYTES,
        shown: &[BYTES[3], BYTES[2], BYTES[1], BYTES[0]],
    },
];
pub(super) const WALL: Metric = time("time_wall_clock", "wall time", |run| seconds(run.wall_ns));
pub(super) const USER: Metric = time("time_user", "user time", |run| seconds(run.user_ns));
pub(super) const SYSTEM: Metric = time("time_system", "system time", |run| seconds(run.system_ns));

const fn time(name: &'static str, title: &'static str, of: fn(&CommandReading) -> f64) -> Metric {
    Metric {
        name,
        title,
        base_unit: "second",
        of,
        units: &TIMES,
        shown: &[TIMES[0], TIMES[3], TIMES[2]],
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl MetricChoice {
    /// Returns the unit that was named, or s and bytes.
    pub(super) fn unit_of_files(self) -> Unit {
        self.unit.unwrap_or(self.metric.units[0])
    }

    /// Returns the unit that was named, or the largest in which the figure is at least 1.
    pub(super) fn unit_shown(self, figure: f64) -> Unit {
        let shown = self.metric.shown;
        let fits = shown.iter().find(|(_, scale)| figure >= *scale);
        self.unit
            .or_else(|| fits.copied())
            .unwrap_or(shown[shown.len() - 1])
    }
}

/// Returns the symbol of a unit of time from one of its names.
pub fn time_unit(name: &str) -> Option<&'static str> {
    let symbol = match name {
        "nanosecond" | "nanoseconds" => "ns",
        "microsecond" | "microseconds" | "µs" => "us",
        "millisecond" | "milliseconds" => "ms",
        "second" | "seconds" => "s",
        "minute" | "minutes" => "min",
        "hour" | "hours" => "h",
        symbol => symbol,
    };
    let known = TIMES.iter().find(|(known, _)| *known == symbol);
    known.map(|(symbol, _)| *symbol)
}

/// Returns the unit of times in tables of the first generation; ms where none is named.
pub(super) fn unit_of_tables(symbol: Option<&str>) -> Unit {
    let named = TIMES.into_iter().find(|(known, _)| Some(*known) == symbol);
    named.unwrap_or(TIMES[3])
}

/// Parses the metrics of `--metrics`: `default`, `time`, `all`, or names separated by commas, each
/// with or without a unit, as in `time_wall_clock:ms,memory_peak_resident`.
///
/// # Errors
/// A metric or unit that does not exist; the error lists those that do.
pub fn choices(text: &str) -> Result<Vec<MetricChoice>, String> {
    let names = ALL.map(|metric| metric.name);
    match text {
        "default" => [names[0], names[4]].into_iter().map(choice).collect(),
        "time" => names[..4].iter().copied().map(choice).collect(),
        "all" => names.into_iter().map(choice).collect(),
        _ => text.split(',').map(choice).collect(),
    }
}

fn choice(text: &str) -> Result<MetricChoice, String> {
    let (name, unit) = match text.split_once(':') {
        Some((name, unit)) => (name, Some(unit)),
        None => (text, None),
    };
    let metric = ALL.into_iter().find(|metric| metric.name == name);
    let metric = metric.ok_or_else(|| {
        let names = ALL.map(|metric| metric.name).join(", ");
        format!("`{name}` is not measured; give any of {names}, default, time, all")
    })?;
    let known = |unit: &str| {
        let mut units = metric.units.iter().copied();
        units.find(|(symbol, _)| *symbol == unit).ok_or_else(|| {
            let units: Vec<&str> = metric.units.iter().map(|(symbol, _)| *symbol).collect();
            format!(
                "{name} has no unit `{unit}`; give one of {}",
                units.join(", ")
            )
        })
    };
    let unit = unit.map(known).transpose()?;
    Ok(MetricChoice { metric, unit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_presets_or_names_with_units() {
        let names = |text: &str| -> Vec<&str> {
            let found = choices(text).unwrap();
            found.iter().map(|choice| choice.metric.name).collect()
        };
        assert_eq!(
            names("default"),
            ["time_wall_clock", "memory_peak_resident"]
        );
        assert_eq!(names("time").len(), 4);
        assert_eq!(names("time_user:us,time_cpu"), ["time_user", "time_cpu"]);
        for (wrong, said) in [
            ("instructions", "is not measured"),
            ("time_cpu:kB", "has no unit `kB`; give one of s, ns, us"),
            ("default,time_cpu", "`default` is not measured"),
        ] {
            let error = choices(wrong).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_unit_fits_the_figure_unless_it_is_named() {
        let shown = |text: &str, figure: f64| choices(text).unwrap()[0].unit_shown(figure).0;
        assert_eq!(shown("time_cpu", 2.0), "s");
        assert_eq!(shown("time_cpu", 0.02), "ms");
        assert_eq!(shown("time_cpu", 0.0), "us");
        assert_eq!(shown("time_cpu:min", 2.0), "min");
        assert_eq!(shown("memory_peak_resident", 3e6), "MB");
    }
}
