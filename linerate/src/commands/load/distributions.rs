//! The latency of a load, as a table of quantiles.

use model::{Histogram, Pace};
use report::numbers;

use super::Report;
use crate::commands::quantiles::QUANTILES;

/// What is shown of one load: a name and a distribution each.
type Rows<'a> = Vec<(&'static str, &'a Histogram)>;

/// The quantiles that the data carry: side by side, or `in_full` one below the other.
pub(super) fn render(report: &Report<'_>, in_full: bool) -> Option<String> {
    let latency = report.outcome.latency.as_ref()?;
    let (title, rows): (_, Rows<'_>) = match report.plan.pace {
        Pace::Closed => (CLOSED, vec![("service", &latency.service)]),
        Pace::Open { .. } => (
            OPEN,
            vec![
                ("response", &latency.response),
                ("service", &latency.service),
                ("lateness", &latency.lateness),
            ],
        ),
    };
    let carried_by_any =
        |quantile: &f64| rows.iter().any(|(_, row)| row.carried(*quantile).is_some());
    let shown: Vec<f64> = QUANTILES.into_iter().filter(carried_by_any).collect();
    let lines = if in_full { down } else { across };
    (!shown.is_empty()).then(|| format!("{title}\n{}", lines(&rows, &shown).join("\n")))
}

const CLOSED: &str = "  \
  latency, service time: from send to last byte. Closed loop leaves out the waiting that a slow
  server causes, since it is asked less often (coordinated omission); --rate RPS counts it";

const OPEN: &str = "  \
  latency: response = from when it was due, service = from when it was sent, lateness = between
  the two";

fn across(rows: &Rows<'_>, shown: &[f64]) -> Vec<String> {
    let names = shown.iter().map(|quantile| numbers::quantile(*quantile));
    let head = line("", names);
    let body = rows
        .iter()
        .map(|(name, row)| line(name, shown.iter().map(|quantile| cell(row, *quantile))));
    std::iter::once(head).chain(body).collect()
}

fn down(rows: &Rows<'_>, shown: &[f64]) -> Vec<String> {
    let head = line("", rows.iter().map(|(name, _)| (*name).to_owned()));
    let body = shown.iter().map(|quantile| {
        let name = format!("{} %", numbers::quantile(*quantile).trim_start_matches('p'));
        line(&name, rows.iter().map(|(_, row)| cell(row, *quantile)))
    });
    std::iter::once(head).chain(body).collect()
}

fn line(name: &str, cells: impl Iterator<Item = String>) -> String {
    let cells = cells.map(|text| format!("{text:>11}"));
    format!("  {name:<14}{}", cells.collect::<String>())
}

fn cell(row: &Histogram, quantile: f64) -> String {
    row.carried(quantile)
        .map_or_else(String::new, numbers::duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_ten_observations_beyond_it() {
        let mut histogram = Histogram::default();
        (0..999).for_each(|_| histogram.record(5));
        assert_eq!(histogram.carried(0.99), None);
        histogram.record(5);
        assert_eq!(histogram.carried(0.99), Some(5));
        assert_eq!(histogram.carried(0.999), None);
    }
}
