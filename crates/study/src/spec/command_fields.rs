//! What the file of a study of commands may hold, beside what every study file may.

use super::fields::{Field, IDENTITY, Kind, PROSE, may, must};

use Kind::{
    Body, Flat, Items, List, Map, Name, Number, OneOf, OneOfOr, Table, Text, TextOrWords, Url,
    Variable, Whole,
};

/// The most words of a command, and commands before or after another.
const MOST_WORDS: usize = 200;
/// The longest word, in characters: a whole script may be one.
const WORD_LENGTH: usize = 8_000;
/// The longest file, in characters.
const FILE_LENGTH: usize = 65_536;

const WORD: Kind = Text(WORD_LENGTH);
const COMMAND: Kind = Items(1, MOST_WORDS, &WORD);
const LEVELS: Kind = Map(&Name);

pub(super) const COMMAND_STUDY: &[&[Field]] = &[IDENTITY, PROSE, PARTS];

const PARTS: &[Field] = &[
    must("design", Table(DESIGN)),
    must("workload", Table(WORKLOAD)),
    may("sizes", Map(&Table(SIZE))),
    may("files", Map(&Body(FILE_LENGTH))),
    may("needs", List(&Table(NEED))),
    must("factor", Items(1, 8, &Table(FACTOR))),
    must("metric", Items(1, 16, &Table(METRIC))),
    may("published", Items(0, 200, &Table(PUBLISHED))),
    may("evidence", List(&Table(EVIDENCE))),
];

const DESIGN: &[Field] = &[
    must("kind", OneOf(&["factorial"])).hint("commands are compared so and no other way"),
    must("rounds", Whole(1, 1_000)).hint("verdicts need 10"),
    must("smallest_effect", Number(0.0, 0.9)).hint("a share: 0.03 is 3 %"),
    must("compare", Variable).hint("the factor whose levels are compared"),
    may("against", OneOf(&["first", "previous"])),
    may("interaction", Items(2, 2, &Variable)).hint("two factors"),
    may("mean_over", Variable).hint("a factor"),
];

const WORKLOAD: &[Field] = &[
    must("kind", OneOf(&["command"])),
    may("build", List(&COMMAND)),
    may("prepare", List(&COMMAND)),
    must("run", COMMAND).hint("a program and its arguments"),
    may("cleanup", List(&COMMAND)),
    must("timeout_s", Whole(1, 3_600)),
    may("cpus", OneOf(&["one", "all"])),
    may("agree", Table(AGREE)),
];

const AGREE: &[Field] = &[
    must("on", OneOfOr(&["stdout"], FROM_OUTPUT)),
    may("tolerance", Number(0.0, 0.5)).hint("a share: 1e-6 is one part in a million"),
];

const FROM_OUTPUT: &[Field] = &[
    may("regex", Flat(1_000)).hint("its first group is the value"),
    may("json", Flat(1_000)).hint("a JSON pointer, such as /times/0"),
];

const SIZE: &[Field] = &[
    must("full", Whole(0, 1_000_000_000_000)),
    must("smoke", Whole(0, 1_000_000_000_000)),
];

const NEED: &[Field] = &[
    must("name", Variable),
    must("title", Text(200)),
    must("find", Table(FIND)),
];

const FIND: &[Field] = &[
    must("programs", Items(1, 16, &Flat(200))).hint("names on the PATH"),
    may("places", List(&Flat(1_000))).hint("folders to look into after those of PATH"),
    must("version_arguments", List(&Flat(200))),
    must("version_pattern", Flat(200)).hint("`{version}` stands where the version does"),
    must("install", Map(&Text(1_000))).hint("`ID` of os-release to the line that installs it"),
    must("home", Url),
];

const FACTOR: &[Field] = &[
    must("name", Variable),
    must("title", Text(200)),
    must("level", Items(1, 64, &Table(LEVEL))),
];

const LEVEL: &[Field] = &[
    must("name", Name),
    must("title", Text(200)),
    may("value", TextOrWords(WORD_LENGTH)),
    may("needs", List(&Variable)),
];

const METRIC: &[Field] = &[
    must("name", Variable),
    must("title", Text(200)),
    must("unit", Flat(40)),
    must("better", OneOf(&["lower", "higher"])),
    must(
        "from",
        OneOfOr(&["wall", "cpu", "peak_memory"], FROM_OUTPUT),
    ),
];

const PUBLISHED: &[Field] = &[
    must("levels", LEVELS).hint("factor to level"),
    may("against", LEVELS).hint("factor to another level"),
    must("metric", Variable),
    must("value", Number(0.0, 1e18)).hint("in the metric's unit, or a ratio beside `against`"),
    must("machine", Text(1_000)),
    may("note", Text(1_000)),
];

const EVIDENCE: &[Field] = &[
    must("title", Text(200)),
    must("run", COMMAND),
    may("levels", LEVELS).hint("factor to level"),
    may("needs", List(&Variable)),
    may("count", Items(0, 16, &Flat(200))),
    may("lines", Whole(1, 1_000)),
];
