//! What holds a program back, for readers.

use model::command::{CommandEnd, CommandReading};
use model::explanation::{
    Account, AccountKind, Explanation, Hindered, Hindrance, Limiter, Looked, SavedLook,
};
use model::observation::{LookCost, Observation};
use model::stacks::Stacks;

use crate::chart::flame::Flame;
use crate::text;
use crate::view::{Item, Key, Page, Table};
use crate::{ceilings, numbers};

/// The least share that is shown.
const WORTH_TELLING: f64 = 0.005;

const CAPTION: &str = "The width of each function is its own time and that of what it called; the program is blue, the kernel red.";

/// Renders an explanation for a terminal of `width` columns, with or without colour.
#[must_use]
pub fn render(look: &SavedLook, explanation: &Explanation, width: usize, colour: bool) -> String {
    text::laid_out(view(look, explanation), width, colour)
}

pub(crate) fn view(look: &SavedLook, explanation: &Explanation) -> Page {
    let mut page = Page {
        answer: whole_answer(&look.study, explanation),
        keys: keys(explanation),
        doubts: look.doubts.clone(),
        ..Page::default()
    };
    page.section("limiter", "The limiter");
    if let Some(limiter) = &explanation.limiter {
        page.add(Item::List(limiter_list(limiter)));
    }
    if let Some(command) = &look.study.observation.command {
        page.paragraph(command_end(command));
    }
    page.paragraph(proof(look, explanation));
    if let Some(nearest) = ceilings::nearest(&explanation.ceilings) {
        page.paragraph(nearest);
    }
    page.section("ledger", "Where the time goes");
    page.paragraph(ledger_lead(look, explanation));
    accounts(&mut page, explanation);
    behind(&mut page, &look.study, explanation);
    ceilings::add_to(&mut page, &explanation.ceilings);
    functions(&mut page, &look.study.observation);
    let further = explanation.further.iter().map(|it| it.what.clone());
    add_list(
        &mut page,
        ("further", "What else takes a share of the time"),
        further.collect(),
    );
    let ruled_out = explanation
        .ruled_out
        .iter()
        .map(|it| format!("{}: {}", it.what, it.by));
    add_list(&mut page, ("ruled-out", "Ruled out"), ruled_out.collect());
    let unseen = look
        .study
        .observation
        .unseen
        .iter()
        .map(|it| format!("{}: {}", it.what, it.why));
    add_list(&mut page, ("unseen", "Not seen"), unseen.collect());
    if let Some(cost) = &explanation.cost {
        page.section("cost", "What it cost to look");
        page.paragraph(cost_of(cost));
    }
    page
}

fn cost_of(cost: &LookCost) -> String {
    let share = cost.share().map_or_else(
        || "no measurable part".to_owned(),
        |share| format!("about {}", numbers::share(share)),
    );
    format!(
        "Looking took {share} of the program's own CPU time within {}, by calculation: {} for the events that bursts saw, \
         each at its cost on the machine of docs/instruments/stacks.md. Linerate itself used another {} on CPUs that the \
         program may use too.",
        numbers::duration(cost.lasted_ns),
        numbers::duration(cost.within_ns),
        numbers::duration(cost.beside_ns)
    )
}

/// Returns the stacks of a look as tools for flame graphs read them: names of files and their text.
#[must_use]
pub fn folded(look: &SavedLook) -> Vec<(String, String)> {
    let seen = &look.study.observation;
    let files = [
        (&seen.stacks, "on-cpu.folded"),
        (&seen.asleep, "asleep.folded"),
    ];
    let file = |(stacks, name): (&Option<Stacks>, &str)| {
        Some((name.to_owned(), stacks.as_ref()?.folded()))
    };
    files.into_iter().filter_map(file).collect()
}

/// Returns each program that was followed behind the first, with its explanation.
fn levels<'a>(
    looked: &'a Looked,
    explanation: &'a Explanation,
) -> impl Iterator<Item = (&'a str, &'a Explanation)> {
    let inner = |(looked, explanation): &(&'a Looked, &'a Explanation)| {
        Some((looked.behind.as_deref()?, explanation.behind.as_deref()?))
    };
    let all = std::iter::successors(Some((looked, explanation)), inner);
    all.skip(1)
        .map(|(looked, explanation)| (looked.target.as_str(), explanation))
}

/// Returns the answer for the program, and for each program that it leads to.
fn whole_answer(looked: &Looked, explanation: &Explanation) -> String {
    let further = levels(looked, explanation)
        .map(|(target, explanation)| format!(" For {target}: {}", answer(explanation)));
    answer(explanation) + &further.collect::<String>()
}

fn behind(page: &mut Page, looked: &Looked, explanation: &Explanation) {
    let ids = ["behind", "behind-2", "behind-3"];
    for (id, (target, explanation)) in ids.into_iter().zip(levels(looked, explanation)) {
        page.section(id, "The program behind it");
        page.paragraph(format!("Behind it: {target}. {}", answer(explanation)));
        page.add(Item::List(
            explanation.limiter.iter().flat_map(limiter_list).collect(),
        ));
        accounts(page, explanation);
    }
}

fn accounts(page: &mut Page, explanation: &Explanation) {
    page.table(ledger(explanation));
    page.add(Item::Note(format!(
        "Each share is accurate to ± {}, by the number of moments that were seen.",
        numbers::share(2.0 * explanation.ledger.share_error)
    )));
    let missing = explanation.ledger.missing.iter();
    missing.for_each(|it| page.add(Item::Note(format!("It does not add up: {it}."))));
}

fn answer(explanation: &Explanation) -> String {
    let limiter = explanation.limiter.as_ref();
    limiter.map_or_else(
        || {
            "Cannot tell what holds it back: nothing certainly takes a tenth of its time."
                .to_owned()
        },
        |limiter| limiter.what.clone(),
    )
}

fn keys(explanation: &Explanation) -> Vec<Key> {
    let key = |figure: String, caption: &str| Key {
        figure,
        caption: caption.to_owned(),
    };
    let limiter = explanation.limiter.as_ref();
    let share = limiter.map(|it| {
        key(
            numbers::share(it.share),
            "of the time is due to the limiter",
        )
    });
    let response = explanation.ledger.response_us;
    let response = response.map(|us| {
        key(
            format!("{} µs", numbers::micros(us)),
            "from a request to its answer",
        )
    });
    share.into_iter().chain(response).collect()
}

fn limiter_list(limiter: &Limiter) -> Vec<String> {
    let shown = limiter.shown_by.iter().map(|by| format!("shown by: {by}"));
    let gain = Some(format!("to gain: {}", limiter.gain)).filter(|_| !limiter.gain.is_empty());
    let to_do = limiter.advice.iter().map(|it| format!("to do: {it}"));
    shown.chain(gain).chain(to_do).collect()
}

fn proof(look: &SavedLook, explanation: &Explanation) -> String {
    match (&explanation.proof, &explanation.unproved) {
        (Some(proof), _) => trial_result(proof, look.study.observation.load.is_some()),
        (None, Some(why)) => format!("Not proved: {why}."),
        (None, None) => "Not proved: too few moments with and without the hindrance.".to_owned(),
    }
}

fn trial_result(proof: &Hindered, is_our_load: bool) -> String {
    let by = numbers::share(proof.change.abs());
    let (done, and_so) = match (&proof.what, &proof.followed) {
        (Hindrance::ServerCpus, _) => (format!("{by} of the server's CPU time taken away"), ""),
        (Hindrance::ClientCpus, _) => (format!("{by} of the client's CPU time taken away"), ""),
        (Hindrance::ClientElsewhere { .. }, _) => (
            format!("our load on CPUs that the server may not use, for {by} more at best"),
            "",
        ),
        (Hindrance::Connections, followed) => (format!("{by} more connections"), waits(*followed)),
        (Hindrance::Quota, _) => (format!("{by} of its CPU quota taken away"), ""),
        (Hindrance::Calls(calls), _) => (
            format!(
                "each {} ending {} µs later, {by} of its time in all",
                calls.name,
                numbers::micros(calls.delay_us)
            ),
            "",
        ),
    };
    let verdict = match proof.borne_out {
        Some(true) => "Proved",
        Some(false) => "Contradicted",
        None => "Not proved",
    };
    let became = match is_our_load {
        true => "the rate of answers was {} times as high",
        false => "its connections carried {} times as much",
    };
    let became = became.replace("{}", &format!("{:.3}", proof.ratio));
    format!(
        "{verdict}: with {done}, {became} ({:.3} … {:.3}, {} pairs){and_so}.",
        proof.low, proof.high, proof.pairs
    )
}

/// Says what it means for the requests whether answers grew in the same proportion as connections.
fn waits(followed: Option<bool>) -> &'static str {
    match followed {
        Some(true) => ": each request has its own wait, and there is room for more",
        Some(false) => ": requests wait in a queue that lets no more through",
        None => "",
    }
}

/// Says how a command ended, with what the kernel counted for it.
fn command_end(command: &CommandReading) -> String {
    let (how, left) = match (command.end, command.left_running) {
        // It has a process group of its own, so whatever is left in the group is ended with it.
        (CommandEnd::TimedOut, _) => (
            "was still running when the look ended, and was ended".to_owned(),
            "",
        ),
        (end, true) => (end.words(), "; what it left running was ended"),
        (end, false) => (end.words(), ""),
    };
    format!(
        "The command {how} after {}, with {} of CPU time and at most {} of memory{left}.",
        numbers::duration(command.wall_ns),
        numbers::duration(command.cpu_ns()),
        numbers::bytes(command.peak_memory_bytes)
    )
}

fn ledger_lead(look: &SavedLook, explanation: &Explanation) -> String {
    match explanation.ledger.response_us {
        _ if look.study.observation.command.is_some() => {
            "Of the time in which the command was observed:".to_owned()
        }
        Some(us) => format!(
            "The time from a request to its answer is {} µs on average, by connections and answers per second. Of that:",
            numbers::micros(us)
        ),
        None => {
            "Of the program's own time, since it is not known which of its clients wait for an answer:"
                .to_owned()
        }
    }
}

fn ledger(explanation: &Explanation) -> Table {
    let ledger = &explanation.ledger;
    let row = |account: &Account| {
        let us = ledger
            .response_us
            .map_or_else(String::new, |us| numbers::micros(us * account.share));
        vec![words(account), numbers::share(account.share), us]
    };
    let mut rows: Vec<Vec<String>> = ledger
        .accounts
        .iter()
        .filter(|it| it.share >= WORTH_TELLING)
        .map(row)
        .collect();
    if ledger.missing_share >= WORTH_TELLING {
        rows.push(vec![
            "could not be seen".to_owned(),
            numbers::share(ledger.missing_share),
            String::new(),
        ]);
    }
    Table::of_texts(
        "Accounts of the time",
        ["account", "share", "of a request, µs"],
        rows,
    )
}

fn words(account: &Account) -> String {
    let words = match account.kind {
        AccountKind::Opening => "a connection is opened for it",
        AccountKind::OwnCode => "it runs its own code",
        AccountKind::Kernel => "the kernel works for it",
        AccountKind::NoCpu => "it is ready to run, without a CPU",
        AccountKind::Asleep => "it sleeps in the middle of work",
        AccountKind::Blocked => "it waits for a disk",
        AccountKind::Stopped => "it is stopped",
        AccountKind::Elsewhere => "it waits for something behind it",
        AccountKind::Waking => "it sleeps, with requests unread",
        AccountKind::NotAsked => "it has nothing to do",
        AccountKind::Asking => "the request is under way",
        AccountKind::Answering => "the answer is under way",
        AccountKind::Client => "the answer lies unread at the client",
    };
    match &account.asleep_in {
        Some(function) => format!("{words}, in {function}"),
        None => words.to_owned(),
    }
}

/// Adds the graphs of the bursts after the look.
fn functions(page: &mut Page, seen: &Observation) {
    let graphs = [
        (
            seen.stacks.as_ref(),
            ("functions", "What runs on its CPUs"),
            ("flame", "CPU time by the functions that were running"),
        ),
        (
            seen.asleep.as_ref(),
            ("sleeps", "What its threads sleep in"),
            (
                "sleeps-flame",
                "Time asleep, of all threads, by the functions that led there",
            ),
        ),
    ];
    for (stacks, (id, title), (name, heading)) in graphs {
        let Some(stacks) = stacks.filter(|stacks| stacks.samples > 0) else {
            continue;
        };
        page.section(id, title);
        let remark = format!(
            "{} samples within {}, {} of them cut, {} lost",
            stacks.samples,
            numbers::duration(stacks.window_ns),
            stacks.cut,
            stacks.lost
        );
        let flame = Flame {
            stacks,
            heading,
            remark: &remark,
        };
        page.figure(name, &flame, CAPTION);
    }
}

fn add_list(page: &mut Page, (id, title): (&'static str, &'static str), items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    page.section(id, title);
    page.add_to_terminal(Item::Paragraph(title.to_owned()));
    page.add(Item::List(items));
}
