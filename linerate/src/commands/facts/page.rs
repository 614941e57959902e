//! The page: sections of rows, a label and what is known.

use model::inventory::Inventory;
use report::text::{hanging, wrap};

/// Columns of a label; what follows a longer one begins later.
const LABEL_WIDTH: usize = 15;

/// Rows under a title; one without rows is not shown.
pub(super) struct Section {
    title: &'static str,
    rows: Vec<(String, String)>,
}

impl Section {
    pub(super) fn new(title: &'static str) -> Self {
        let rows = Vec::new();
        Self { title, rows }
    }

    /// A row; without a value there is none.
    pub(super) fn row(mut self, label: &str, value: impl Into<Option<String>>) -> Self {
        let value = value.into().filter(|value| !value.is_empty());
        self.rows
            .extend(value.map(|value| (label.to_owned(), value)));
        self
    }

    pub(super) fn rows(self, rows: impl IntoIterator<Item = (String, String)>) -> Self {
        rows.into_iter()
            .fold(self, |section, (label, value)| section.row(&label, value))
    }

    fn render(&self, width: usize) -> String {
        let rows = self.rows.iter().map(|(label, value)| {
            let label = format!("  {label:LABEL_WIDTH$} ");
            hanging(&label, value, width)
        });
        let lines: Vec<_> = rows.flatten().collect();
        format!("\n\n{}\n{}", self.title, lines.join("\n"))
    }
}

/// The machine in one line, then everything about it.
pub(super) fn render(inventory: &Inventory, sections: &[Section], width: usize) -> String {
    let sections = sections.iter();
    let shown = sections.filter(|section| !section.rows.is_empty());
    let body: String = shown.map(|section| section.render(width)).collect();
    wrap(&summary(inventory), width).join("\n") + &body
}

fn summary(inventory: &Inventory) -> String {
    let facts = &inventory.facts;
    let distribution = facts.distribution.as_deref();
    let under = facts.virtualisation.as_deref();
    let parts = [
        Some(facts.cpu_model.clone()),
        Some(format!("{} CPUs", facts.cpus_online)),
        Some(size(facts.memory_bytes)),
        Some(format!(
            "Linux {} ({})",
            facts.kernel_release, facts.architecture
        )),
        distribution.map(str::to_owned),
        Some(under.map_or_else(
            || "no hypervisor seen".to_owned(),
            |by| format!("under {by}"),
        )),
    ];
    joined(parts.into_iter().flatten())
}

/// Parts with commas between them.
pub(super) fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

/// Bytes in the largest binary unit of which there is one at least.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (bytes.max(1).ilog2() / 10).min(4);
    let amount = bytes as f64 / f64::from(1_u32 << 10).powi(unit.cast_signed());
    let digits = usize::from(amount.fract() > 0.05 && amount < 100.0);
    format!("{amount:.digits$} {}", UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        for (bytes, told) in [
            (0, "0 B"),
            (512, "512 B"),
            (49_152, "48 KiB"),
            (25_165_824_000, "23.4 GiB"),
            (274_877_906_944, "256 GiB"),
            (1 << 51, "2048 TiB"),
        ] {
            assert_eq!(size(bytes), told);
        }
    }

    #[test]
    fn an_empty_machine_has_a_page() {
        let page = render(&Inventory::default(), &[], 80);
        assert!(page.contains("0 CPUs"), "{page}");
    }
}
