//! Tables in the markup of documents.

/// The markup in which a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    Markdown,
    AsciiDoc,
    OrgMode,
}

/// A table with a first column of commands and further columns of figures.
pub(super) struct MarkupTable {
    pub(super) headings: Vec<String>,
    /// Rows with as many cells as there are headings.
    pub(super) rows: Vec<Vec<String>>,
}

impl MarkupTable {
    pub(super) fn written(&self, markup: Markup) -> String {
        let lines: Vec<String> = match markup {
            Markup::Markdown => self.ruled("|:---|", "---:|", "", |command| {
                let fence = "`".repeat(longest_run(command) + 1);
                let space = if fence.len() > 1 { " " } else { "" };
                format!(
                    "{fence}{space}{}{space}{fence}",
                    command.replace('|', "\\|")
                )
            }),
            Markup::OrgMode => self.ruled("|--", "+--", "|", |command| {
                format!("={}=", command.replace('|', "\\vert{}"))
            }),
            Markup::AsciiDoc => self.asciidoc(),
        };
        lines.join("\n") + "\n"
    }

    fn ruled(
        &self,
        first: &str,
        further: &str,
        last: &str,
        command: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let columns = self.headings.len();
        let rule = format!("{first}{}{last}", further.repeat(columns.saturating_sub(1)));
        let row = |cells: &Vec<String>| {
            let named = cells.iter().take(1).map(|name| command(name));
            line(
                &named
                    .chain(cells.iter().skip(1).cloned())
                    .collect::<Vec<_>>(),
            )
        };
        let head = [line(&self.headings), rule];
        head.into_iter().chain(self.rows.iter().map(row)).collect()
    }

    fn asciidoc(&self) -> Vec<String> {
        let columns = vec![">"; self.headings.len().saturating_sub(1)].join(",");
        let mut lines = vec![
            format!("[cols=\"<,{columns}\",options=\"header\"]"),
            "|===".to_owned(),
        ];
        for (at, cells) in std::iter::once(&self.headings)
            .chain(&self.rows)
            .enumerate()
        {
            let cell = |(column, cell): (usize, &String)| match (at, column) {
                (1.., 0) => format!("| `{}`", cell.replace('|', "\\|")),
                _ => format!("| {cell}"),
            };
            lines.extend(cells.iter().enumerate().map(cell));
            lines.push(String::new());
        }
        lines.push("|===".to_owned());
        lines
    }
}

/// Length of the longest run of grave accents.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|sign| sign != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(markup: Markup) -> String {
        let cells = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = MarkupTable {
            headings: cells(["Command", "Mean [ms]"]),
            rows: vec![cells(["a | b", "1.0"])],
        };
        table.written(markup)
    }

    #[test]
    fn a_table_is_written_in_three_markups_and_a_bar_in_a_command_ends_no_cell() {
        let markdown = "| Command | Mean [ms] |\n|:---|---:|\n| `a \\| b` | 1.0 |\n";
        assert_eq!(written(Markup::Markdown), markdown);
        let org = "| Command | Mean [ms] |\n|--+--|\n| =a \\vert{} b= | 1.0 |\n";
        assert_eq!(written(Markup::OrgMode), org);
        let asciidoc = "[cols=\"<,>\",options=\"header\"]\n|===\n| Command\n| Mean [ms]\n\n| `a \\| b`\n| 1.0\n\n|===\n";
        assert_eq!(written(Markup::AsciiDoc), asciidoc);
    }
}
