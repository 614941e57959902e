//! A whole ladder in words: each step at both ends, steps together, and the last state confirmed.

use model::judgement::{ArmResult, Judged, LadderJudgement, Rung, StepsTogether, Together};
use model::{Judgement, RunRecord};
use serde::Serialize;

use crate::{numbers, rows, sentences};

/// What a page shows of it.
#[derive(Serialize)]
pub(crate) struct WholeLadder {
    /// The last state against the first, of servers that were started anew.
    pub(crate) confirmed: String,
    pub(crate) rows: Vec<EndsRow>,
    pub(crate) together: Vec<String>,
}

/// A step alone on the first state, and in the last.
#[derive(Serialize)]
pub(crate) struct EndsRow {
    pub(crate) title: String,
    pub(crate) alone: Cell,
    pub(crate) at_the_top: Cell,
}

/// An effect with its verdict, as shown.
#[derive(Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) change: String,
    pub(crate) verdict: String,
    /// For the page's colours.
    pub(crate) tone: &'static str,
}

/// `None` of a run that climbed and did no more.
pub(crate) fn of(run: &RunRecord, judgement: &Judgement) -> Option<WholeLadder> {
    let ladder = judgement.ladder.as_ref()?;
    Some(WholeLadder {
        confirmed: confirmed(run, judgement, ladder),
        rows: ladder.rungs.iter().map(row).collect(),
        together: ladder.together.iter().map(together).collect(),
    })
}

fn confirmed(run: &RunRecord, judgement: &Judgement, ladder: &LadderJudgement) -> String {
    let Some(confirmed) = &ladder.confirmed else {
        return unconfirmed(run).to_owned();
    };
    let outcome = sentences::outcome_name(judgement.outcome);
    let (whole, control) = (cell(&confirmed.whole), cell(&confirmed.control));
    let dropped = dropped(ladder);
    let (done, planned) = (confirmed.rounds_done, confirmed.rounds_planned);
    let rounds = if done < planned {
        format!("{done} of {planned} rounds")
    } else {
        format!("{done} rounds")
    };
    format!(
        "Confirmed over {rounds} with {} started anew, in another order{dropped}: {} {outcome} from \
         first to last: {}. The first state against itself: {}.",
        sentences::servers(run),
        whole.change,
        whole.verdict,
        control.change
    )
}

fn unconfirmed(run: &RunRecord) -> &'static str {
    let confirmation = run.confirmation.as_ref();
    match confirmation.is_some_and(|planned| planned.arms.is_empty()) {
        true => "Every step made things worse, so there is no last state to confirm.",
        false => "The last state is not confirmed yet.",
    }
}

/// `, without “receive steering”, which made things worse`.
fn dropped(ladder: &LadderJudgement) -> String {
    let dropped = ladder.rungs.iter().filter(|rung| rung.dropped);
    let titles: Vec<String> = dropped.map(|rung| format!("“{}”", rung.title)).collect();
    if titles.is_empty() {
        return String::new();
    }
    format!(
        ", without {}, which made things worse",
        titles.join(" and ")
    )
}

fn row(rung: &Rung) -> EndsRow {
    let at_the_top = match &rung.at_the_top {
        None if rung.dropped => Cell {
            change: String::new(),
            verdict: "dropped".to_owned(),
            tone: "worse",
        },
        judged => judged.as_ref().map(cell).unwrap_or_default(),
    };
    EndsRow {
        title: rung.title.clone(),
        alone: rung.alone.as_ref().map(cell).unwrap_or_default(),
        at_the_top,
    }
}

fn cell(judged: &Judged) -> Cell {
    Cell {
        change: shown(judged),
        verdict: judged.verdict.words().to_owned(),
        tone: rows::tone(Some(judged.verdict)),
    }
}

fn shown(judged: &Judged) -> String {
    let effect = judged.effect.as_ref();
    effect.map_or_else(|| numbers::MISSING.to_owned(), numbers::effect)
}

fn together(found: &StepsTogether) -> String {
    let [one, other] = found.titles.each_ref().map(|title| format!("“{title}”"));
    let figures = format!(
        "alone {} and {}, both {}, which is {} beyond the product",
        shown(&found.alone[0]),
        shown(&found.alone[1]),
        shown(&found.both),
        shown(&found.interaction)
    );
    match found.together {
        Together::OnlyTogether => format!("{one} and {other} only pay together: {figures}."),
        Together::MoreTogether => {
            format!("{one} and {other} pay more together than apart: {figures}.")
        }
        Together::LessTogether => {
            format!("{one} and {other} pay less together than apart: {figures}.")
        }
        Together::Independent => {
            format!("{one} and {other} do not depend on one another by what matters: {figures}.")
        }
        Together::Inconclusive => {
            format!("Whether {one} and {other} depend on one another cannot be told: {figures}.")
        }
        Together::Invalid => format!("No verdict on {one} and {other} together: {figures}."),
    }
}

/// First and last state, and the one against the other.
pub(crate) type Ends<'a> = (&'a ArmResult, &'a ArmResult, Judged);

/// The two ends as they were confirmed, whatever came of it: those are the figures to quote, where
/// those of the climb are of the steps that looked best there. `None` until there are any.
pub(crate) fn confirmed_ends(judgement: &Judgement) -> Option<Ends<'_>> {
    let confirmed = judgement.ladder.as_ref()?.confirmed.as_ref()?;
    Some((&confirmed.first, &confirmed.last, confirmed.whole))
}
