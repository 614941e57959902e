//! `linerate gate BASE HEAD`: is this commit slower?

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agent::gate::{Repository, Resolved};
use anyhow::{Context as _, ensure};
use clap::ValueHint;
use model::braces;
use model::gate::{self, Build, GateDesign, Job, MOST_BUILDS, Passage, Unit};
use model::study::{Arm, BaselineSpec, Design, Program, Study};
use model::{Judgement, RunRecord, Workload};
use study::{Order, Targets};
use wire::url::HttpUrl;

use crate::agents::Place;
use crate::commands::versus;
use crate::console::Console;
use crate::failure::words;
use crate::repeat;
use crate::request::RequestFlags;
use crate::run::{self, RunFlags};
use crate::shown::{self, JudgedRun};
use crate::values;

/// Is this commit slower than that one?
///
/// Both are checked out into worktrees of their own and built by the same command, each twice, and
/// BASE as often again as a control: builds of one commit differ too, and by how much is the floor
/// of this machine. Servers are loaded, or commands run, in turn and in random order within each
/// round. A round starts new processes, of other builds than the round before, with an environment
/// of another length. What is judged is CPU time per request or per run. It ends when everything
/// that the data leave possible lies on one side of the bar, or when the given time is over.
///
/// The work tree is left alone, and no hook is run. --build, --serve and --run are lines for `sh`,
/// run as your user, root included, in your environment: a build needs its caches. `{seed}` in the
/// build line becomes another number for each build, for a linker that can shuffle what it links
/// (lld: -Wl,--shuffle-sections='*={seed}').
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Is the branch slower than main, measured on a server and one of its paths?
    linerate gate main HEAD --build 'cargo build --release' \
      --serve './target/release/app --port {port}' --url /api/items
  Measured on a command, which may cost up to 5 % more CPU time:
    linerate gate v1.2 HEAD --build make --run './bench --size {size}' --set size=1000 --fail-if-slower 5%
  In CI, with a comment for the pull request (docs/ci.md has whole workflows):
    linerate gate origin/main HEAD --build make --run ./bench --yes --markdown gate.md

Exit codes:
  0    HEAD passes: the data leave only a cost below the bar
  1    HEAD is slower: the data leave only a cost above the bar
  2    could not run: a commit, the build or the server failed, or the machine is at work
  4    cannot tell: the bar lies within the interval when the time is over,
       or the commits may not be compared; the answer says why")]
pub(crate) struct Arguments {
    /// The commit that is the reference: a branch, a tag or a hash
    #[arg(value_name = "BASE")]
    base: String,
    /// The commit in question
    #[arg(value_name = "HEAD", default_value = "HEAD")]
    head: String,
    /// Command that builds a commit, in its worktree
    #[arg(long, value_name = "LINE", default_value = "true", hide_default_value = true, value_hint = ValueHint::CommandString)]
    build: String,
    /// Command that starts the server; {port} becomes its port
    #[arg(long, value_name = "LINE", required_unless_present = "run", value_hint = ValueHint::CommandString)]
    serve: Option<String>,
    /// What to request from the server, a path or a URL
    ///
    /// The port of a URL is ignored.
    #[arg(long, value_name = "PATH", default_value = "/", requires = "serve")]
    url: String,
    /// Instead of a server: a command that runs and ends
    #[arg(long, value_name = "LINE", conflicts_with = "serve", value_hint = ValueHint::CommandString)]
    run: Option<String>,
    /// Builds of each commit, and of BASE as many again
    ///
    /// The more builds there are, the better it is known how far those of one commit lie apart.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_BUILDS)), hide_short_help = true)]
    builds: u32,
    /// Value of a word in braces in these lines; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
    /// How much more HEAD may cost, in per cent
    ///
    /// The cost is CPU time of a request or of a run.
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = values::parse_percent)]
    fail_if_slower: f64,
    /// How long to measure, after the builds
    ///
    /// It ends with the round in which the time is over, but not before 16 rounds; a round takes
    /// three starts of servers or three runs of the command.
    #[arg(long = "for", value_name = "TIME", default_value = "3m", value_parser = values::parse_duration)]
    at_most: Duration,
    /// How long a server may take until it listens
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = values::parse_duration, requires = "serve", hide_short_help = true)]
    start_within: Duration,
    /// Connections held open to each server
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000), hide_short_help = true)]
    connections: u32,
    #[command(flatten)]
    request: RequestFlags,
    /// Compare servers even if their answers differ in status, content type, length or body
    #[arg(long, hide_short_help = true)]
    different_answers: bool,
    /// Write the answer into this file, as a comment for a pull request
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    markdown: Option<PathBuf>,
    /// Write the report into this file too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    html: Option<PathBuf>,
    #[command(flatten)]
    flags: RunFlags,
}

/// The flag of the line that starts a server.
const SERVE: &str = "--serve";
/// Further words that are filled in when a server is started.
const OF_SERVICES: [&str; 5] = ["dir", "cache", "message", "password", "password_file"];
/// The exit code of a gate that cannot tell.
const CANNOT_TELL: u8 = 4;
/// Name of the arm that is HEAD.
const HEAD: &str = "head";
/// Names of the builds (BASE has two) and, with a number, of their folders. All are equally long,
/// because paths end up in programs.
const BUILDS: [&str; 3] = ["base", "same", "head"];

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    arguments.request.check()?;
    ensure!(
        !arguments.flags.stacks,
        "--stacks: a gate starts each build again for every round, and none of them is left to be observed afterwards; \
         `linerate versus` on two running servers shows which functions differ"
    );
    let here = std::env::current_dir().context("the folder we are in")?;
    let repository = Repository::around(&here).map_err(words)?;
    let resolve = |word: &str| repository.resolve(word).map_err(words);
    let (base, head) = (resolve(&arguments.base)?, resolve(&arguments.head)?);
    if repository.is_dirty() {
        console.note(
            "the work tree has uncommitted changes: they are not measured, and stay as they are",
        );
    }
    let seed = arguments.flags.seed();
    let commits = Commits {
        titles: [title(&arguments.base, &base), title(&arguments.head, &head)],
        hashes: [base.hash, head.hash],
    };
    let builds = builds(arguments, &repository, &commits, seed)?;
    let mut study = study(arguments, &commits);
    arguments.flags.shorten(&mut study);
    let folder = arguments.flags.folder(&study.name);
    let command = repeat::command(&[], seed, console);
    let targets = Targets::Built {
        builds,
        arms: arms(&commits),
        different_answers: arguments.different_answers,
    };
    let order = Order {
        full: arguments.flags.full,
        ..Order::new(study, targets, seed, command.clone())
    };
    if let Some(stopped) =
        run::measure(order, &Place::Loopback, &folder, &arguments.flags, console)?
    {
        return Ok(stopped);
    }
    let (run, blocks, judgement) = shown::judged(&folder, console)?;
    // The command as it was typed here, whatever the folder says.
    let judged = (RunRecord { command, ..run }, blocks, judgement);
    shown::show_judged(&judged, &folder, arguments.flags.json, console, None);
    export(arguments, &folder, &judged)?;
    Ok(exit_code(&judged.2))
}

/// The two commits, BASE first.
struct Commits {
    hashes: [String; 2],
    titles: [String; 2],
}

/// Title of a commit, such as `main (1a2b3c4)`; only the short hash where a hash was typed.
fn title(word: &str, commit: &Resolved) -> String {
    if commit.hash.starts_with(word) {
        return commit.short.clone();
    }
    format!("{word} ({})", commit.short)
}

fn builds(
    arguments: &Arguments,
    repository: &Repository,
    commits: &Commits,
    seed: u64,
) -> anyhow::Result<Vec<Build>> {
    let job = job(arguments, seed)?;
    let build = |(at, (set, name)): (u64, (u32, &str))| {
        let commit = usize::from(name == HEAD);
        let again = if name == BUILDS[1] { ", again" } else { "" };
        let seed = seed.wrapping_add(at).to_string();
        let line = filled(
            "--build",
            &arguments.build,
            &arguments.set,
            &[("seed", Some(&seed))],
        )?;
        Ok(Build {
            name: gate::of_set(name, set),
            title: format!("{}{again}", commits.titles[commit]),
            repository: repository.top.display().to_string(),
            below: repository.below.clone(),
            commit: commits.hashes[commit].clone(),
            command: line,
            job: job.clone(),
        })
    };
    let sets = (0..arguments.builds).flat_map(|set| BUILDS.map(|name| (set, name)));
    (0..).zip(sets).map(build).collect()
}

fn job(arguments: &Arguments, seed: u64) -> anyhow::Result<Job> {
    let set = &arguments.set;
    if let Some(line) = &arguments.run {
        let command = filled("--run", line, set, &[])?;
        return Ok(Job::Run { command });
    }
    let line = arguments.serve.as_deref().unwrap_or_default();
    ensure!(
        braces::words_in_braces(line).any(|word| word == "port" || word == "listen"),
        "--serve has no {{port}}: three servers run side by side, and each needs a port of its own"
    );
    let text = match arguments.url.starts_with('/') {
        true => format!("http://localhost{}", arguments.url),
        false => arguments.url.clone(),
    };
    let url = HttpUrl::parse(&text).context("--url")?;
    let places = ["port", "listen", "address", "cpus", "workers"].map(|word| (word, None));
    Ok(Job::Serve {
        command: filled(SERVE, line, set, &places)?,
        request: Box::new(arguments.request.spec(&[url], &text, None, seed)?),
        within_ms: u32::try_from(arguments.start_within.as_millis()).unwrap_or(u32::MAX),
    })
}

/// Fills in the words in braces of a line; those without a value are filled in later. A variable of
/// the shell, such as `${HOME}`, is left alone.
fn filled(
    flag: &str,
    line: &str,
    set: &[(String, String)],
    others: &[(&str, Option<&str>)],
) -> anyhow::Result<String> {
    let given = |word: &str| set.iter().find(|(name, _)| name == word);
    for word in braces::words_in_braces(line) {
        let is_known = given(word).is_some() || others.iter().any(|(name, _)| *name == word);
        let is_of_shell = line.contains(&format!("${{{word}}}"));
        ensure!(
            is_known || is_of_shell,
            "{flag}: nothing stands for {{{word}}}; give --set {word}=VALUE"
        );
        let is_filled = is_known || flag == SERVE && OF_SERVICES.contains(&word);
        ensure!(
            !(is_filled && is_of_shell),
            "{flag}: ${{{word}}} would be a value of ours behind a $; write {{{word}}} for that, and ${word} without \
             braces for the variable of the shell"
        );
    }
    Ok(braces::fill(line, |word| {
        let other = || others.iter().find(|(name, _)| *name == word)?.1;
        let value = given(word).map(|(_, value)| value.as_str()).or_else(other);
        value.map(str::to_owned)
    }))
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let setting = text
        .split_once('=')
        .filter(|(name, _)| braces::is_word(name));
    let (name, value) = setting.ok_or_else(|| {
        format!("`{text}` is not NAME=VALUE with a name of lower-case letters, digits and _")
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

fn study(arguments: &Arguments, commits: &Commits) -> Study {
    let [base, head] = &commits.titles;
    let (unit, of) = match arguments.run {
        Some(_) => (Unit::Run, "a run of the command"),
        None => (Unit::Request, "a request to the server"),
    };
    let question = format!(
        "Does {of} cost more than {} % more CPU time at {head} than at {base}?",
        arguments.fail_if_slower
    );
    let workload = Workload {
        path: "/".to_owned(),
        connections: arguments.connections,
        threads: 1,
        workers: model::cpus::Workers::default(),
    };
    let bar = arguments.fail_if_slower / 100.0;
    let comparison = versus::comparison(question, workload, bar);
    let is_short = arguments.flags.smoke || arguments.flags.rounds.is_some();
    let most_ms = u64::try_from(arguments.at_most.as_millis()).unwrap_or(u64::MAX);
    Study {
        name: "gate".to_owned(),
        title: "Two commits".to_owned(),
        method: "Both commits were built several times by the same command in worktrees of their own, the first as \
                 often again as a control. In each round one build of each is measured, in random order, by processes \
                 that were started for it, with an environment of another length each time. The cost of the second is \
                 compared with the mean of both builds of the first."
            .to_owned(),
        pitfalls: vec![
            "How far builds of one commit lie apart is known from only a few of them, and the interval is as wide as \
             so few make it. A build that comes out the same each time does not show this."
                .to_owned(),
        ],
        design: Design {
            settle_ms: 100,
            score_ms: 300,
            ..comparison.design
        },
        gate: Some(GateDesign {
            bar,
            unit,
            most_ms: if is_short { 0 } else { most_ms },
            builds: arguments.builds,
        }),
        baseline: BaselineSpec {
            title: base.clone(),
            ..comparison.baseline
        },
        ..comparison
    }
}

fn arms(commits: &Commits) -> Vec<Arm> {
    let programs = BUILDS.map(|name| Program::Built(name.to_owned()));
    versus::three_arms(
        HEAD,
        commits.titles.each_ref().map(String::as_str),
        programs,
    )
}

/// Writes the files that were asked for.
fn export(
    arguments: &Arguments,
    folder: &Path,
    (run, blocks, judgement): &JudgedRun,
) -> anyhow::Result<()> {
    let write = |path: &Path, text: &str| {
        let written = std::fs::write(path, text);
        written.with_context(|| {
            format!(
                "writing {}; the run is kept in {}",
                path.display(),
                folder.display()
            )
        })
    };
    if let Some(path) = &arguments.markdown {
        write(path, &report::markdown::render(run, judgement))?;
    }
    if let Some(path) = &arguments.html {
        write(path, &report::html::render(run, blocks, judgement))?;
    }
    Ok(())
}

fn exit_code(judgement: &Judgement) -> ExitCode {
    match judgement.gate.map(|gate| gate.passage) {
        Some(Passage::Passes) => ExitCode::SUCCESS,
        Some(Passage::Slower) => ExitCode::FAILURE,
        Some(Passage::CannotTell) | None => ExitCode::from(CANNOT_TELL),
    }
}
