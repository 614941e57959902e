//! The time that a cache line takes between CPUs: the answer, a matrix for a terminal or a
//! spreadsheet, and a heat map for a browser.

use minijinja::value::Serde;
use minijinja::{Environment, context};
use model::cores::{CoreDistances, CoreLevel, CorePair};

use crate::html::STYLE;
use crate::numbers;

const TEMPLATE: &str = include_str!("../templates/cores.html");
/// Columns on a terminal of a cell of the matrix, and of the name of its row.
const CELL: usize = 5;
/// Shades from near to far, where there is no room for figures.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// What a page for a browser shows besides the figures.
pub struct About<'a> {
    pub version: &'a str,
    /// What was measured where and when, in parts.
    pub kicker: Vec<String>,
    /// Remarks that must be read with the answer.
    pub notes: Vec<String>,
    pub command: &'a str,
}

/// Returns the answer in one sentence.
pub fn answer(found: &CoreDistances) -> String {
    match (&found.levels[..], &found.pairs[..]) {
        (_, []) => "No pair of CPUs was measured.".to_owned(),
        (_, [pair]) => {
            let ([one, other], ns) = (
                pair.cpus,
                numbers::quantity_with_interval(&pair.exchange_ns, "ns"),
            );
            format!("A cache line goes from CPU {one} to CPU {other} in {ns}.")
        }
        ([], pairs) => {
            let cpus = found.cpus.len();
            let all = cpus * (cpus - 1) / 2;
            format!("{} of {all} pairs of CPUs were measured.", pairs.len())
        }
        ([all], _) => format!(
            "A cache line takes {} between any two of these {} CPUs ({}).",
            ns(all.exchange_ns),
            found.cpus.len(),
            span(all)
        ),
        ([nearer @ .., all], _) => {
            let levels: Vec<String> = nearer.iter().map(within).collect();
            let (levels, farthest) = (levels.join(", "), ns(all.exchange_ns));
            format!("A cache line takes {levels}, and {farthest} between these.")
        }
    }
}

fn ns(value: f64) -> String {
    numbers::quantity(value, "ns")
}

fn span(level: &CoreLevel) -> String {
    numbers::quantity_span(level.exchange_ns_low, level.exchange_ns_high, "ns")
}

/// `23.1 ns within 6 groups of 8 CPUs`.
fn within(level: &CoreLevel) -> String {
    let (time, groups) = (ns(level.exchange_ns), grouped(level));
    format!("{time} within {groups}")
}

/// `6 groups of 8 CPUs`, without groups of a single CPU.
fn grouped(level: &CoreLevel) -> String {
    let sizes: Vec<usize> = level
        .groups
        .iter()
        .map(Vec::len)
        .filter(|size| *size > 1)
        .collect();
    let largest = sizes.iter().max().copied().unwrap_or_default();
    let up_to = match sizes.iter().all(|size| *size == largest) {
        true => "",
        false => "up to ",
    };
    match sizes.len() {
        1 => format!("a group of {largest} CPUs"),
        groups => format!("{groups} groups of {up_to}{largest} CPUs"),
    }
}

/// Returns the levels for a terminal: the time, and the groups as lists.
pub fn levels(found: &CoreDistances) -> Vec<String> {
    let level = |level: &CoreLevel| {
        let groups = level.groups.iter().filter(|group| group.len() > 1);
        let groups: Vec<String> = groups.map(|group| list(group)).collect();
        format!(
            "{} ({}) within {}",
            ns(level.exchange_ns),
            span(level),
            groups.join(" | ")
        )
    };
    found.levels.iter().map(level).collect()
}

/// Lists CPUs as the kernel writes them: `0-3,8`.
fn list(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|left, right| left + 1 == *right);
    let texts = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(ToString::to_string).collect(),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Returns the matrix for a terminal of `width` columns: figures in ns, or shades where there is no
/// room for figures; empty where there is no room for shades either.
pub fn matrix(found: &CoreDistances, width: usize) -> Vec<String> {
    let cpus = found.cpus.len();
    if CELL * (cpus + 1) <= width {
        let heading = found.cpus.iter().map(|cpu| format!("{cpu:>CELL$}"));
        let heading = format!("{:CELL$}{}", "", heading.collect::<String>());
        let figure = |pair: Option<&CorePair>| {
            let shown = pair.map_or_else(String::new, |pair| figure(pair.exchange_ns.value));
            format!("{shown:>CELL$}")
        };
        let rows = rows(found).map(|(cpu, row)| {
            let cells: String = row.into_iter().map(figure).collect();
            format!("{cpu:>CELL$}{cells}").trim_end().to_owned()
        });
        return std::iter::once(heading).chain(rows).collect();
    }
    if CELL + 1 + cpus > width {
        return Vec::new();
    }
    let shade = Shade::of(found);
    let rows = rows(found).map(|(cpu, row)| {
        let cells: String = row.into_iter().map(|pair| shade.letter(pair)).collect();
        format!("{cpu:>CELL$} {cells}").trim_end().to_owned()
    });
    let legend = format!(
        "{:CELL$} {} from {}",
        "",
        SHADES.iter().collect::<String>(),
        shade.words()
    );
    rows.chain([legend]).collect()
}

/// Writes the figure of a cell, in at most four columns.
fn figure(ns: f64) -> String {
    match ns {
        near if near < 99.95 => format!("{near:.1}"),
        far => format!("{far:.0}"),
    }
}

/// Returns the matrix for a spreadsheet, in the format of `core-to-core-latency --csv`: a row and a
/// column for each CPU, medians in ns below the diagonal, nothing elsewhere.
pub fn csv(found: &CoreDistances) -> String {
    let cell = |pair: Option<&CorePair>| {
        pair.map_or_else(String::new, |pair| format!("{:.3}", pair.exchange_ns.value))
    };
    let rows = rows(found).map(|(_, row)| row.into_iter().map(cell).collect::<Vec<_>>().join(","));
    rows.collect::<Vec<_>>().join("\n")
}

/// Returns a row for each CPU, with what was measured between it and each CPU before it.
fn rows(found: &CoreDistances) -> impl Iterator<Item = (usize, Vec<Option<&CorePair>>)> {
    found.cpus.iter().map(|cpu| {
        let with = |other: &usize| {
            let pairs = &found.pairs;
            let place = pairs.binary_search_by_key(&[*cpu, *other], |pair| pair.cpus);
            Some(&pairs[place.ok()?])
        };
        (*cpu, found.cpus.iter().map(with).collect())
    })
}

/// The scale that places a pair between the nearest and the farthest, by the logarithms of their
/// times.
struct Shade {
    nearest_ns: f64,
    farthest_ns: f64,
}

impl Shade {
    fn of(found: &CoreDistances) -> Self {
        let times = || found.pairs.iter().map(|pair| pair.exchange_ns.value);
        Self {
            nearest_ns: times().fold(f64::INFINITY, f64::min),
            farthest_ns: times().fold(0.0, f64::max),
        }
    }

    /// Returns 0 for the nearest pair, up to 1 for the farthest.
    fn share(&self, pair: &CorePair) -> f64 {
        // Where all are about equally far, shades would only show noise.
        let whole = (self.farthest_ns / self.nearest_ns).ln().max(1.0);
        (pair.exchange_ns.value / self.nearest_ns).ln() / whole
    }

    #[expect(clippy::cast_possible_truncation, reason = "one of five")]
    fn letter(&self, pair: Option<&CorePair>) -> char {
        pair.map_or(' ', |pair| {
            let place = (self.share(pair) * SHADES.len() as f64) as usize;
            SHADES[place.min(SHADES.len() - 1)]
        })
    }

    fn words(&self) -> String {
        numbers::quantity_span(self.nearest_ns, self.farthest_ns, "ns").replace('…', "to")
    }
}

/// Returns one self-contained page with the heat map as a table and every pair in words, so that a
/// browser can search it.
///
/// # Panics
/// When the template that is compiled in is wrong, which a test would see.
pub fn html(found: &CoreDistances, about: &About<'_>) -> String {
    let shade = Shade::of(found);
    let cell = |pair: Option<&CorePair>| {
        pair.map(|pair| {
            let heat = format!("{:.0}%", 8.0 + shade.share(pair) * 52.0);
            context! { figure => figure(pair.exchange_ns.value), heat, words => words(pair) }
        })
    };
    let rows = rows(found).map(|(cpu, row)| {
        context! { cpu, cells => row.into_iter().map(cell).collect::<Vec<_>>() }
    });
    let mut farthest: Vec<&CorePair> = found.pairs.iter().collect();
    farthest.sort_by(|one, other| other.exchange_ns.value.total_cmp(&one.exchange_ns.value));
    let page = context! {
        style => STYLE,
        version => about.version,
        kicker => &about.kicker,
        notes => &about.notes,
        command => about.command,
        answer => answer(found),
        levels => levels(found),
        cpus => &found.cpus,
        rows => rows.collect::<Vec<_>>(),
        pairs => farthest.into_iter().map(list_row).collect::<Vec<_>>(),
    };
    // The name ends in `.html`, so the values put into the template are escaped.
    let page = Environment::new().render_named_str("cores.html", TEMPLATE, Serde(page));
    let page = page.expect("the template is compiled in and a test renders it");
    foreign::shown(&page).into_owned()
}

/// `CPU 3 and CPU 1: 23.1 ns (22.9 … 23.4)`.
fn words(pair: &CorePair) -> String {
    let ([one, other], ns) = (
        pair.cpus,
        numbers::quantity_with_interval(&pair.exchange_ns, "ns"),
    );
    format!("CPU {one} and CPU {other}: {ns}")
}

/// Returns a row of the list of all pairs.
fn list_row(pair: &CorePair) -> [String; 4] {
    let [one, other] = pair.cpus;
    let time = |found| numbers::quantity_with_interval(found, "ns");
    [
        format!("CPU {one} and CPU {other}"),
        time(&pair.exchange_ns),
        pair.exchange_ns_p99
            .map_or_else(|| numbers::MISSING.to_owned(), ns),
        time(&pair.handover_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Estimate;

    /// Makes CPUs in groups of `group`, near within a group and far between groups.
    fn machine(cpus: usize, group: usize) -> CoreDistances {
        let two = (0..cpus).flat_map(|one| (0..one).map(move |other| [one, other]));
        let time = |[one, other]: [usize; 2]| match one / group == other / group {
            true => 23.14,
            false => 107.2,
        };
        let pair = |cpus| {
            let value = time(cpus);
            let (low, high, n) = (value - 1.0, value + 1.0, 8);
            let found = Estimate {
                value,
                low,
                high,
                n,
            };
            CorePair {
                cpus,
                exchange_ns: found,
                exchange_ns_p99: Some(value * 2.0),
                handover_ns: found,
            }
        };
        let level = |groups: Vec<Vec<usize>>, ns: f64| CoreLevel {
            groups,
            exchange_ns: ns,
            exchange_ns_low: ns - 1.0,
            exchange_ns_high: ns + 1.0,
        };
        let all: Vec<usize> = (0..cpus).collect();
        let groups = all.chunks(group).map(<[usize]>::to_vec).collect();
        CoreDistances {
            levels: vec![level(groups, 23.14), level(vec![all.clone()], 107.2)],
            pairs: two.map(pair).collect(),
            cpus: all,
        }
    }

    fn about() -> About<'static> {
        About {
            version: "1",
            kicker: vec!["<script>".to_owned()],
            notes: vec!["a & b".to_owned()],
            command: "linerate probe cores",
        }
    }

    #[test]
    fn the_answer_tells_each_level_once_and_of_two_cpus_the_interval() {
        assert_eq!(
            answer(&machine(24, 8)),
            "A cache line takes 23.1 ns within 3 groups of 8 CPUs, and 107 ns between these."
        );
        assert_eq!(
            answer(&machine(11, 8)),
            "A cache line takes 23.1 ns within 2 groups of up to 8 CPUs, and 107 ns between these."
        );
        assert_eq!(
            answer(&machine(2, 2)),
            "A cache line goes from CPU 1 to CPU 0 in 23.1 ns (22.1 … 24.1)."
        );
        let mut flat = machine(4, 1);
        flat.levels.remove(0);
        assert_eq!(
            answer(&flat),
            "A cache line takes 107 ns between any two of these 4 CPUs (106 … 108 ns)."
        );
        flat.levels.clear();
        flat.pairs.pop();
        assert_eq!(answer(&flat), "5 of 6 pairs of CPUs were measured.");
    }

    #[test]
    fn a_matrix_has_figures_where_there_is_room_shades_in_less_and_else_nothing() {
        let found = machine(4, 2);
        let figures = [
            "         0    1    2    3",
            "    0",
            "    1 23.1",
            "    2  107  107",
            "    3  107  107 23.1",
        ];
        assert_eq!(matrix(&found, 25), figures);
        let shades = [
            "    0",
            "    1 ·",
            "    2 ██",
            "    3 ██·",
            "      ·░▒▓█ from 23.1 to 107 ns",
        ];
        assert_eq!(matrix(&found, 24), shades);
        assert!(matrix(&found, 9).is_empty());
    }

    #[test]
    fn a_spreadsheet_gets_the_lower_triangle_and_blanks_for_all_else() {
        let mut found = machine(3, 2);
        found.pairs.pop();
        assert_eq!(csv(&found), ",,\n23.140,,\n107.200,,");
    }

    #[test]
    fn the_page_has_every_pair_in_words_loads_nothing_and_lets_no_markup_in() {
        let page = html(&machine(9, 4), &about());
        assert_eq!(page.matches("<td style=\"--heat:").count(), 36);
        for piece in [
            "<th scope=\"row\">CPU 8 and CPU 3</th>",
            "title=\"CPU 1 and CPU 0: 23.1 ns (22.1 … 24.1)\"",
            "&lt;script&gt;",
            "a &amp; b",
            "23.1 ns (22.1 … 24.1 ns) within 0-3 | 4-7",
        ] {
            assert!(page.contains(piece), "{piece}: {page}");
        }
        for loads in ["<script", "src=", "<link", "url(", "http:", "https:"] {
            assert!(!page.contains(loads), "{loads}");
        }
    }
}
