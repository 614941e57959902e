//! Files for other tools, read as those tools would read them.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::refused;
use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};

/// Exactly the fields of hyperfine's own result (its `src/benchmark/benchmark_result.rs`): the
/// types say what may be absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    results: Vec<Result>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Result {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

fn exported(folder: &Folder, arguments: &[&str]) -> Exported {
    let words = [
        &["bench", "--hyperfine=1", "--export-json", "out.json"],
        arguments,
    ]
    .concat();
    answer(&mut linerate(folder, &words));
    serde_json::from_str(&folder.text("out.json")).unwrap()
}

#[test]
fn the_json_is_what_a_reader_of_hyperfines_expects() {
    let folder = Folder::new("bench-export");
    let arguments = [
        "-r",
        "4",
        "-i",
        "-L",
        "code",
        "0,3",
        "sleep 0.00{code}; exit {code}",
    ];
    let export = exported(&folder, &arguments);
    assert_eq!(export.results.len(), 2, "neither the control nor the shell");
    for (result, code) in export.results.iter().zip([0, 3]) {
        assert_eq!(result.command, format!("sleep 0.00{code}; exit {code}"));
        assert_eq!(result.exit_codes, [Some(code); 4]);
        assert_eq!(result.parameters["code"], code.to_string());
        assert_eq!((result.times.len(), result.memory_usage_byte.len()), (4, 4));
        let mean = result.times.iter().sum::<f64>() / 4.0;
        assert!((result.mean - mean).abs() < 1e-12 && result.stddev.is_some());
        assert!((result.min..=result.max).contains(&result.median));
        assert!(result.user + result.system > 0.0 && result.mean < 60.0);
    }
}

#[test]
fn of_a_single_run_there_is_no_deviation_and_of_a_killed_one_no_exit_code() {
    let folder = Folder::new("bench-export-one");
    let export = exported(&folder, &["-r", "1", "-i", "kill -9 $$"]);
    assert_eq!(export.results[0].stddev, None);
    assert_eq!(export.results[0].exit_codes, [None]);
    assert!(folder.text("out.json").contains("\"stddev\": null"));
}

#[test]
fn the_tables_have_a_line_for_each_command_with_their_own_signs_escaped() {
    let folder = Folder::new("bench-tables");
    let words = words("bench --hyperfine=1 -r 2 --export-csv out.csv --export-markdown out.md");
    let commands = ["-L", "x", "1,2", "echo '{x},\"|'"];
    answer(&mut linerate(&folder, &[&words[..], &commands].concat()));
    let csv = folder.text("out.csv");
    let heading = "command,mean,stddev,median,user,system,min,max,parameter_x\n";
    assert!(csv.starts_with(heading), "{csv}");
    assert!(
        csv.contains("\n\"echo '2,\"\"|'\",0.") && csv.trim_end().ends_with(",2"),
        "{csv}"
    );
    let markdown = folder.text("out.md");
    assert_eq!(markdown.lines().count(), 4, "{markdown}");
    assert_says(&markdown, "| `echo '1,\"\\|'` | ");
}

#[test]
fn a_command_without_the_parameters_of_others_has_empty_cells_for_them() {
    let folder = Folder::new("bench-cells");
    for generation in ["1", "2"] {
        let line =
            format!("bench --hyperfine={generation} -r 1 --export-csv out.csv --reference true");
        let words = [&words(&line)[..], &["-L", "x", "1", "echo {x}"]].concat();
        answer(&mut linerate(&folder, &words));
        let csv = folder.text("out.csv");
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].ends_with(",parameter_x"), "{csv}");
        assert!(
            lines[1].starts_with("true,") && lines[1].ends_with(','),
            "{csv}"
        );
        assert!(lines[2].ends_with(",1"), "{csv}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_known_before_anything_runs() {
    let folder = Folder::new("bench-unwritable");
    for option in ["--export-json", "--export-csv", "--export-markdown"] {
        let error = refused(&folder, &[option, "no/such/folder/out", "touch ran"]);
        assert_says(&error, "no/such/folder/out");
        assert_says(&error, "give another");
    }
    assert!(folder.names("").is_empty(), "{:?}", folder.names(""));
}

#[test]
fn a_comparison_that_fails_leaves_an_older_export_as_it_was_and_no_new_one() {
    let folder = Folder::new("bench-export-kept");
    std::fs::write(folder.path().join("old.json"), "older").unwrap();
    refused(
        &folder,
        &[
            "--export-json",
            "old.json",
            "--export-csv",
            "new.csv",
            "exit 1",
        ],
    );
    assert_eq!(folder.text("old.json"), "older");
    assert_eq!(folder.names(""), ["old.json"]);
    let mode = std::fs::metadata(folder.path().join("old.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o200, 0o200);
}

#[test]
fn a_file_that_turns_out_to_be_full_takes_nothing_from_the_page_and_the_other_files() {
    let folder = Folder::new("bench-export-full");
    let words = words("bench -r 2 --export-json /dev/full --export-csv out.csv true");
    let output = linerate(&folder, &words).output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("/dev/full: ") && said.contains("give another file"),
        "{said}"
    );
    assert_says(&String::from_utf8_lossy(&output.stdout), "true");
    assert!(folder.text("out.csv").contains("\ntrue,"));
}

/// A figure and its unit as hyperfine 2 writes them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    value: f64,
    unit: String,
}

#[test]
fn a_line_of_the_second_generation_runs_without_a_shell_and_its_files_are_those_of_its_schema() {
    let folder = Folder::new("bench-second");
    let words = [
        "bench",
        "-r",
        "3",
        "-P",
        "code",
        "0",
        "1",
        "--env",
        "PLANTED={code}",
        "-i",
        "--metrics",
        "time_wall_clock:s,memory_peak_resident",
        "-n",
        "first",
        "-n",
        "second",
        "--export-json",
        "out.json",
        "--export-csv",
        "out.csv",
        "--export-asciidoc",
        "out.adoc",
        "printenv PLANTED",
    ];
    answer(&mut linerate(&folder, &words));
    let file: Value = serde_json::from_str(&folder.text("out.json")).unwrap();
    assert_eq!(
        (&file["schema_version"], &file["primary_metric"]),
        (&json!(2), &json!("time_wall_clock"))
    );
    let results = file["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "neither the control nor a shell");
    for (result, code) in results.iter().zip(["0", "1"]) {
        assert_eq!(result["command"], "printenv PLANTED");
        assert_eq!(result["parameters"]["code"]["value"], code);
        assert_eq!(result["environment"]["PLANTED"], code);
        let runs = result["measurements"].as_array().unwrap();
        assert_eq!(runs.len(), 3);
        for run in runs {
            assert_eq!(run["exit_code"], 0);
            let wall: Figure = serde_json::from_value(run["time_wall_clock"].clone()).unwrap();
            assert!(wall.value > 0.0 && wall.unit == "second", "{wall:?}");
        }
        assert_eq!(result["summary"]["memory_peak_resident"]["unit"], "byte");
        assert_eq!(result["summary"]["time_cpu"]["count"], 3);
    }
    let csv = folder.text("out.csv");
    assert!(
        csv.starts_with("command,time_wall_clock_unit,time_wall_clock_mean,"),
        "{csv}"
    );
    assert!(csv.contains("\nfirst,s,") && csv.contains(",B,"), "{csv}");
    assert!(folder.text("out.adoc").contains("| Mean wall time [s]\n"));
}

#[test]
fn what_means_two_things_is_refused_with_both() {
    let folder = Folder::new("bench-meaning");
    for (words, said) in [
        (
            &["bench", "sleep 0.01; true"][..],
            "has `;`, which needs a shell: give -S",
        ),
        (&["bench", "A=1 env"], "give -S, or --env"),
        (
            &["bench", "-S", "bash", "true"],
            "say --shell bash, or --hyperfine 1",
        ),
        (
            &["bench", "--metrics", "instructions", "true"],
            "`instructions` is not measured",
        ),
        (&["bench", "--env", "'A", "true"], "is no assignment"),
    ] {
        let errors = refusal_of(&mut linerate(&folder, words));
        assert!(errors.contains(said), "{words:?}: {errors}");
    }
    let words = [
        "bench",
        "--hyperfine",
        "1",
        "-S",
        "sh",
        "-r",
        "1",
        "-i",
        "exit $HYPERFINE_ITERATION",
    ];
    answer(&mut linerate(&folder, &words));
}
