//! A study file with any single field wrong: made from every field of every shipped study.

use std::path::Path;

use model::lever::LeverShape;
use model::study::StudyFile;
use study::spec;

use crate::common::mutations::{Mutation, mutations};
use crate::common::{Folder, assert_says, errors, linerate, refusal_of};

/// Changes that leave a valid study: the end of a field's path, and what was done to the field.
const HARMLESS: &[(&str, &str)] = &[
    // A title, a question, a method and so on may be any words.
    ("title", "as no word of ours"),
    ("question", "as no word of ours"),
    ("method", "as no word of ours"),
    ("pitfalls", "as no word of ours"),
    ("machine", "as no word of ours"),
    ("why", "as no word of ours"),
    // Fields that a study may do without.
    ("pitfalls", "missing"),
    ("source", "missing"),
    ("latency", "missing"),
    ("rig", "missing"),
    ("floor", "missing"),
    ("baseline.target", "missing"),
    ("path", "missing"),
    ("published", "missing"),
    ("not_crossed", "missing"),
    ("gain", "missing"),
    ("step.why", "missing"),
    ("step.whole", "missing"),
    ("together", "missing"),
    ("stand_ins", "missing"),
    // An item that is listed twice means the same.
    ("stand_ins", "with its first item twice"),
    // Without a step a study still asks how much two identical servers differ.
    ("step", "missing"),
    ("pitfalls", "with its first item twice"),
    ("not_crossed", "with its first item twice"),
    // Blocks that score without settling are a bad habit, but no mistake.
    ("settle_ms", "zero"),
    // A published figure may have any value.
    ("throughput_rps", "as a broken number"),
    ("gain", "as a whole number"),
    ("gain", "zero"),
    ("published.value", "as a broken number"),
    ("published.value", "as a whole number"),
    ("published.note", "as no word of ours"),
    ("published.note", "missing"),
    ("published.against", "missing"),
    ("published.at_least", "missing"),
    ("published.at_least", "as a whole number"),
    ("published.at_least", "as a broken number"),
    ("published.at_least", "zero"),
    ("published.at_least", "negative"),
    ("published.at_most", "missing"),
    ("published.at_most", "as a whole number"),
    // Commands may be any words, and so may what is looked for in their output.
    ("build", "as no word of ours"),
    ("run", "as no word of ours"),
    ("prepare", "as no word of ours"),
    ("cleanup", "as no word of ours"),
    ("workload.server", "as no word of ours"),
    ("workload.server", "with its first item twice"),
    ("needs.on_server", "missing"),
    ("level.value", "as no word of ours"),
    ("level.value", "as a text"),
    ("level.value", "as an empty list"),
    ("count", "as no word of ours"),
    ("unit", "as no word of ours"),
    ("find.programs", "as no word of ours"),
    ("version_arguments", "as no word of ours"),
    ("build", "with its first item twice"),
    ("run", "with its first item twice"),
    ("prepare", "with its first item twice"),
    ("cleanup", "with its first item twice"),
    ("find.places", "with its first item twice"),
    ("level.value", "with its first item twice"),
    ("level.needs", "with its first item twice"),
    ("evidence.needs", "with its first item twice"),
    ("count", "with its first item twice"),
    ("find.programs", "with its first item twice"),
    ("version_arguments", "with its first item twice"),
    ("evidence", "with its first item twice"),
    ("published", "with its first item twice"),
    // Fields that a study of commands may do without.
    ("against", "missing"),
    ("interaction", "missing"),
    ("mean_over", "missing"),
    ("prepare", "missing"),
    ("cleanup", "missing"),
    ("find.places", "missing"),
    ("agree", "missing"),
    ("tolerance", "missing"),
    ("build", "missing"),
    ("cpus", "missing"),
    ("files", "missing"),
    ("level.needs", "missing"),
    ("level.value", "missing"),
    ("evidence", "missing"),
    ("count", "missing"),
    ("lines", "missing"),
    ("smoke", "zero"),
    // A resource may be of any size, and the use of some resources is the square of a metric.
    ("ceiling", "missing"),
    ("ceiling.times", "missing"),
    ("ceiling.times", "as a whole number"),
    ("ceiling.most", "as a broken number"),
    ("ceiling.used", "with its first item twice"),
    ("metric.optional", "missing"),
];

/// Tables whose keys are the author's own, and what may be done to any of these keys.
const FREE: &[(&str, &[&str])] = &[
    ("files.", &["as no word of ours", "missing", "misspelt"]),
    (
        "needs.find.install.",
        &["as no word of ours", "missing", "misspelt"],
    ),
    ("published.levels.", &["missing"]),
];

/// The text of every study that comes with the program or its tests.
fn shipped() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["studies", "xtask/studies"].map(|folder| root.join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

/// One mutation in this many is given to the program itself; the reader of studies gets each.
const ASKED_OF_THE_PROGRAM: usize = 100;

#[test]
fn any_single_wrong_field_is_named_with_its_place_before_anything_is_touched() {
    let studies = shipped();
    let mutations: Vec<Mutation> = studies.iter().flat_map(|study| mutations(study)).collect();
    let known = machine::planted::shapes();
    let wrong = mutations.iter().filter_map(|mutation| {
        let why = if is_harmless(mutation) {
            read(&mutation.text, &known).err()
        } else {
            why_not_refused(mutation, &known)
        };
        why.map(|why| format!("{mutation}: {why}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let folder = Folder::new("study-file");
    for mutation in mutations.iter().step_by(ASKED_OF_THE_PROGRAM) {
        assert_program_agrees(mutation, &known, &folder);
    }
}

/// Reads a study as the program does, and returns as the error what the program would say of it.
fn read(text: &str, known: &[LeverShape]) -> Result<(), String> {
    let file = "wrong.toml";
    let checked = spec::parse(text, file).and_then(|study| match study {
        StudyFile::Load(study) => spec::check_levers(&study, text, file, known),
        StudyFile::Commands(_) => Ok(()),
    });
    checked.map_err(|error| error.to_string())
}

/// Asserts that the program accepts what the reader accepts, and otherwise says what the reader
/// says and touches nothing.
fn assert_program_agrees(mutation: &Mutation, known: &[LeverShape], folder: &Folder) {
    std::fs::write(folder.path().join("wrong.toml"), &mutation.text).unwrap();
    let Err(expected) = read(&mutation.text, known) else {
        let shown = linerate(folder, &["study", "show", "wrong.toml"]).output();
        assert!(shown.unwrap().status.success(), "{mutation}");
        return;
    };
    let run = ["study", "run", "wrong.toml", "--yes", "--smoke"];
    let run = linerate(folder, &[&run[..], &["--out", "run"]].concat()).output();
    let run = run.unwrap();
    assert_eq!(run.status.code(), Some(2), "{mutation}");
    assert!(run.stdout.is_empty(), "{mutation}");
    assert_eq!(errors(&run), format!("linerate: {expected}\n"));
    assert_eq!(folder.names(""), ["wrong.toml"], "{mutation}");
}

fn is_harmless(mutation: &Mutation) -> bool {
    let field = format!(".{}", mutation.field);
    let matches =
        |(end, how): &(&str, &str)| *how == mutation.how && field.ends_with(&format!(".{end}"));
    let is_free = FREE
        .iter()
        .any(|(table, hows)| mutation.field.starts_with(table) && hows.contains(&mutation.how));
    let is_harmless = HARMLESS.iter().any(matches) || is_free || is_half_a_step(mutation);
    is_harmless
        && !is_unit_of_the_kernel(mutation)
        && !is_half_a_ratio(mutation)
        && !is_whole_of_nothing(mutation)
        && !is_baseline_again(mutation)
        && !is_list_in_a_list(mutation)
}

/// Whether what is missing is one half of a step that adds and takes away.
fn is_half_a_step(mutation: &Mutation) -> bool {
    let study: toml::Table = mutation.text.parse().unwrap();
    let steps = study.get("step").and_then(toml::Value::as_array);
    let has_a_half =
        |step: &toml::Value| step.get("add").is_some() || step.get("take_away").is_some();
    mutation.how == "missing"
        && ["step.add", "step.take_away"].contains(&mutation.field.as_str())
        && steps.is_some_and(|all| all.iter().all(has_a_half))
}

/// Whether a word of a level's value became a list of words itself.
fn is_list_in_a_list(mutation: &Mutation) -> bool {
    let study: toml::Table = mutation.text.parse().unwrap();
    let lists = |table: &toml::Value, name| {
        let list = table.get(name).and_then(toml::Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let factors = lists(&toml::Value::Table(study), "factor").into_iter();
    let mut levels = factors.flat_map(|factor| lists(&factor, "level"));
    levels.any(|level| lists(&level, "value").iter().any(toml::Value::is_array))
}

/// Whether the missing path was all by which a step differed from the baseline.
fn is_baseline_again(mutation: &Mutation) -> bool {
    let study: toml::Table = mutation.text.parse().unwrap();
    let target = |table: &toml::Value| table.get("target").cloned();
    let of_baseline = study.get("baseline").and_then(target);
    let steps = study.get("step").and_then(toml::Value::as_array);
    let is_again = |step: &toml::Value| {
        let fields = ["path", "add", "take_away"];
        target(step).is_some_and(|own| Some(own) == of_baseline)
            && fields.iter().all(|field| step.get(field).is_none())
    };
    mutation.field == "step.path" && steps.is_some_and(|all| all.iter().any(is_again))
}

/// Whether the study describes a whole ladder but has no steps left.
fn is_whole_of_nothing(mutation: &Mutation) -> bool {
    let study: toml::Table = mutation.text.parse().unwrap();
    study.contains_key("whole") && !study.contains_key("step")
}

/// Whether a published ratio is against a level of a factor that its own levels do not name.
fn is_half_a_ratio(mutation: &Mutation) -> bool {
    let study: toml::Table = mutation.text.parse().unwrap();
    let figures = study.get("published").and_then(toml::Value::as_array);
    let is_half = |figure: &toml::Value| {
        let factors = |field| figure.get(field).and_then(toml::Value::as_table);
        let of = |field| factors(field).into_iter().flat_map(toml::Table::keys);
        of("against").any(|factor| of("levels").all(|other| other != factor))
    };
    figures.is_some_and(|all| all.iter().any(is_half))
}

/// Whether the wrong field is the unit of a figure from the kernel, which can only have one unit.
fn is_unit_of_the_kernel(mutation: &Mutation) -> bool {
    let study: toml::Table = mutation.text.parse().unwrap();
    let metrics = study.get("metric").and_then(toml::Value::as_array);
    let is_wrong = |metric: &toml::Value| {
        let is_kernels = metric.get("from").is_some_and(toml::Value::is_str);
        is_kernels && metric.get("unit").and_then(toml::Value::as_str) == Some("No Such Word")
    };
    mutation.key() == "unit" && metrics.is_some_and(|all| all.iter().any(is_wrong))
}

/// Why the error about a mutation would not help its author, or `None` if it would.
fn why_not_refused(mutation: &Mutation, known: &[LeverShape]) -> Option<String> {
    let Err(said) = read(&mutation.text, known) else {
        return Some("it is taken".to_owned());
    };
    let Some(((line, column), what)) = place(&said) else {
        return Some(format!("no place: {said}"));
    };
    let line = mutation.text.lines().nth(line - 1).unwrap_or_default();
    let holds = [
        (column <= line.chars().count() + 1, "the column is there"),
        (mutation.is_at(line), "the line is that of the field"),
        (what.contains("expected"), "it says what was expected"),
        (what.contains(mutation.key()), "it names the field"),
        (
            mutation.how != "misspelt" || what.contains("did you mean"),
            "it says what was meant",
        ),
        (said.len() < 1_000, "it is short enough to be read"),
    ];
    let broken = holds.iter().find(|(holds, _)| !holds);
    broken.map(|(_, claim)| format!("not so: {claim}: {said}"))
}

/// The line and column that a message names, and the rest of it.
fn place(said: &str) -> Option<((usize, usize), &str)> {
    let rest = said.trim_start_matches("linerate: ");
    let rest = rest.strip_prefix("wrong.toml:")?;
    let mut parts = rest.splitn(3, ':');
    let line = parts.next()?.parse().ok()?;
    let column = parts.next()?.parse().ok()?;
    Some(((line, column), parts.next()?))
}

/// The error of a run of a shipped study in which one piece of text is replaced.
fn complaint(from: &str, to: &str) -> String {
    // Tests run side by side, each in a thread that has its name.
    let thread = std::thread::current();
    let folder = Folder::new(&format!("study-file-{}", thread.name().unwrap()));
    let text = shipped()
        .into_iter()
        .find(|text| text.contains(from))
        .unwrap();
    let wrong = text.replace(from, to);
    std::fs::write(folder.path().join("wrong.toml"), wrong).unwrap();
    let run = ["study", "run", "wrong.toml", "--yes", "--smoke"];
    refusal_of(&mut linerate(&folder, &run))
}

#[test]
fn a_lever_that_is_unknown_or_out_of_range_is_refused_with_what_is_possible() {
    let said = complaint("\"conntrack\"", "\"contrack\"");
    assert_says(&said, "did you mean `conntrack`?");
    let said = complaint("\"nft-rules=100\"", "\"nft-rules=501\"");
    assert_says(&said, "from 1 to 500");
    let said = complaint("\"split-send\"", "\"split-send=1\"");
    assert_says(&said, "on or off");
}

#[test]
fn a_program_that_may_be_absent_stands_only_where_it_is_needed() {
    for (from, to) in [
        // A level of another program, a command of all levels, and evidence.
        ("value = \"{pyston38}\"", "value = \"{python38}\""),
        (
            "run = [\"{interpreter}\"",
            "run = [\"{pypy}\", \"{interpreter}\"",
        ),
        (
            "compiler = \"gcc\", options = \"o1\" }\nneeds = [\"objdump\"]",
            "compiler = \"gcc\", options = \"o1\" }",
        ),
    ] {
        let said = complaint(from, to);
        assert_says(&said, "may be absent");
        assert_says(&said, "only where `needs` has it");
    }
}

#[test]
fn a_published_ratio_is_against_another_level_of_a_factor_that_it_names() {
    let against = "against = { interpreter = \"cpython-310\" }";
    for wrong in [
        "against = {}",
        "against = { interpreter = \"cpython-311\" }",
        "against = { benchmark = \"calls\" }",
    ] {
        let said = complaint(against, wrong);
        assert_says(&said, "in `levels` and another in `against`");
    }
}

#[test]
fn published_bounds_that_exclude_each_other_are_named() {
    let said = complaint("at_least = 4\nat_most = 6", "at_least = 9\nat_most = 1");
    assert_says(&said, "`at_least` is 9 and `at_most` is 1");
}

#[test]
fn a_file_of_another_format_is_said_to_be_that_and_nothing_else() {
    for format in ["format = 2\nriddle = true", "format = 0"] {
        let said = complaint("format = 1", format);
        assert_says(&said, "`format` is");
        assert_says(&said, "another version of Linerate");
    }
}

#[test]
fn what_is_no_toml_is_named_with_its_place() {
    for (to, words) in [
        ("rounds = = 16", "wrong.toml:"),
        ("rounds = 16\nrounds = 16", "duplicate key"),
    ] {
        let said = complaint("rounds = 16", to);
        let (place, _) = place(&said).unwrap();
        assert!(place.0 > 1 && said.contains(words), "{said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_and_a_name_that_is_none_say_what_to_give() {
    let folder = Folder::new("study-file-none");
    std::fs::create_dir(folder.path().join("folder.toml")).unwrap();
    std::fs::write(folder.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
    std::fs::write(folder.path().join("plain"), "format = 1\n").unwrap();
    for (name, words) in [
        ("folder.toml", "expected the file of a study"),
        ("bytes.toml", "expected the file of a study"),
        ("nowhere.toml", "expected the file of a study"),
        ("http-jsn", "did you mean `http-json`?"),
        ("./plain", "the path of a study file ends in `.toml`"),
        ("plain", "the path of a study file ends in `.toml`"),
        ("", "`linerate study list`"),
    ] {
        let run = ["study", "run", name, "--yes", "--smoke"];
        let said = refusal_of(&mut linerate(&folder, &run));
        assert_says(&said, words);
    }
    assert_eq!(folder.names(""), ["bytes.toml", "folder.toml", "plain"]);
}

#[test]
fn the_list_has_the_files_of_the_studies_folder_and_what_is_wrong_with_them() {
    let folder = Folder::new("study-file-listed");
    std::fs::create_dir(folder.path().join("studies")).unwrap();
    let shipped = linerate(&folder, &["study", "show", "http-json"])
        .output()
        .unwrap();
    let mine = String::from_utf8(shipped.stdout)
        .unwrap()
        .replace("\"http-json\"", "\"mine\"");
    std::fs::write(folder.path().join("studies/mine.toml"), mine).unwrap();
    std::fs::write(folder.path().join("studies/broken.toml"), "format = 1\n").unwrap();
    let listed = linerate(&folder, &["study", "list", "--json"])
        .output()
        .unwrap();
    let value: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let studies = value["studies"].as_array().unwrap();
    let named = |name: &str| studies.iter().find(|study| study["name"] == name).unwrap();
    assert_eq!(named("mine")["file"], "studies/mine.toml");
    assert!(named("http-json")["file"].is_null());
    let error = named("broken")["error"].as_str().unwrap();
    assert_says(error, "studies/broken.toml");
}
