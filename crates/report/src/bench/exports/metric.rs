//! What is measured of a run, by the names and in the units that hyperfine 2 has for it.

use model::CommandReading;

/// A figure of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    TimeWallClock,
    TimeCpu,
    TimeUser,
    TimeSystem,
    MemoryPeakResident,
}

/// A metric, and the unit that it is to have; `None` for that of its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricChoice {
    pub metric: Metric,
    pub(super) unit: Option<Unit>,
}

/// A unit by its symbol, and how much of s or of bytes it is.
pub(super) type Unit = (&'static str, f64);

const TIMES: [Unit; 6] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
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
/// Of [`TIMES`] and [`BYTES`], those in which a figure is shown where no unit is named.
const SHOWN: [&[Unit]; 2] = [
    &[TIMES[3], TIMES[2], TIMES[1]],
    &[BYTES[3], BYTES[2], BYTES[1], BYTES[0]],
];

impl Metric {
    /// In the order in which they are told.
    pub const ALL: [Self; 5] = [
        Self::TimeWallClock,
        Self::TimeCpu,
        Self::TimeUser,
        Self::TimeSystem,
        Self::MemoryPeakResident,
    ];

    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeWallClock => "time_wall_clock",
            Self::TimeCpu => "time_cpu",
            Self::TimeUser => "time_user",
            Self::TimeSystem => "time_system",
            Self::MemoryPeakResident => "memory_peak_resident",
        }
    }

    /// The heading of a column.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::TimeWallClock => "wall time",
            Self::TimeCpu => "CPU time",
            Self::TimeUser => "user time",
            Self::TimeSystem => "system time",
            Self::MemoryPeakResident => "peak memory",
        }
    }

    /// In words, of values in files.
    pub(super) const fn base_unit(self) -> &'static str {
        match self {
            Self::MemoryPeakResident => "byte",
            _ => "second",
        }
    }

    /// In s, or bytes.
    pub(super) fn of(self, reading: &CommandReading) -> f64 {
        let ns = match self {
            Self::TimeWallClock => reading.wall_ns,
            Self::TimeCpu => reading.user_ns + reading.system_ns,
            Self::TimeUser => reading.user_ns,
            Self::TimeSystem => reading.system_ns,
            Self::MemoryPeakResident => return reading.peak_memory_bytes as f64,
        };
        ns as f64 / 1e9
    }

    const fn units(self) -> &'static [Unit] {
        match self {
            Self::MemoryPeakResident => &BYTES,
            _ => &TIMES,
        }
    }
}

impl MetricChoice {
    /// The unit that was named, or s and bytes.
    pub(super) fn unit_of_files(self) -> Unit {
        let base = match self.metric {
            Metric::MemoryPeakResident => BYTES[0],
            _ => TIMES[3],
        };
        self.unit.unwrap_or(base)
    }

    /// The unit that was named, or the largest of which a figure has one whole.
    pub(super) fn unit_shown(self, figure: f64) -> Unit {
        let shown = SHOWN[usize::from(self.metric == Metric::MemoryPeakResident)];
        let fits = shown.iter().find(|(_, scale)| figure >= *scale);
        self.unit
            .or_else(|| fits.copied())
            .unwrap_or(shown[shown.len() - 1])
    }
}

/// The symbol of a unit of time by one of its names.
#[must_use]
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

/// How much of a second a unit of time is; ms where none is named.
pub(super) fn seconds(unit: Option<&'static str>) -> Unit {
    let named = TIMES.into_iter().find(|(symbol, _)| Some(*symbol) == unit);
    named.unwrap_or(TIMES[2])
}

/// The metrics of `--metrics`: `default`, `time`, `all`, or names with commas between, each with a unit or
/// without, as in `time_wall_clock:ms,memory_peak_resident`.
///
/// # Errors
/// What is wrong with it.
pub fn choices(text: &str) -> Result<Vec<MetricChoice>, String> {
    let all = |metrics: &[Metric]| {
        let choice = |metric: &Metric| MetricChoice {
            metric: *metric,
            unit: None,
        };
        metrics.iter().map(choice).collect()
    };
    match text {
        "default" => Ok(all(&[Metric::TimeWallClock, Metric::MemoryPeakResident])),
        "time" => Ok(all(&Metric::ALL[..4])),
        "all" => Ok(all(&Metric::ALL)),
        _ => text.split(',').map(choice).collect(),
    }
}

fn choice(text: &str) -> Result<MetricChoice, String> {
    let (name, unit) = match text.split_once(':') {
        Some((name, unit)) => (name, Some(unit)),
        None => (text, None),
    };
    let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
    let metric = metric.ok_or_else(|| {
        let names = Metric::ALL.map(Metric::name).join(", ");
        format!("`{name}` is not measured; those that are: {names}, and default, time or all")
    })?;
    let known = |unit: &str| {
        let mut units = metric.units().iter().copied();
        units.find(|(symbol, _)| *symbol == unit).ok_or_else(|| {
            let units: Vec<&str> = metric.units().iter().map(|(symbol, _)| *symbol).collect();
            format!("{name} has no unit `{unit}`, but {}", units.join(", "))
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
            found.iter().map(|choice| choice.metric.name()).collect()
        };
        assert_eq!(
            names("default"),
            ["time_wall_clock", "memory_peak_resident"]
        );
        assert_eq!(names("time").len(), 4);
        assert_eq!(names("time_user:us,time_cpu"), ["time_user", "time_cpu"]);
        for (wrong, said) in [
            ("instructions", "is not measured"),
            ("time_cpu:kB", "has no unit `kB`, but ns, us"),
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
