//! Describes a whole ladder: each step at both ends, steps together, and the last state confirmed.

use model::judgement::{
    ArmResult, Judged, LadderJudgement, Rung, StepResult, StepsTogether, Together,
};
use model::study::DesignKind;
use model::{Judgement, RunRecord};

use crate::view::{Column, Item, Page, Row, Shown, Table, effect_or_none};
use crate::{numbers, sentences};

/// Adds the two ends of a whole ladder to a page. Nothing is added for a run that only climbed.
pub(crate) fn add_to(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    let Some(ladder) = &judgement.ladder else {
        return;
    };
    page.add(Item::Heading("The same steps at both ends of the ladder"));
    let columns = vec![
        Column::words("step"),
        Column::figures("alone on the first state"),
        Column::words("verdict"),
        Column::figures("in the last state"),
        Column::words("verdict"),
    ];
    let rows = ladder.rungs.iter().map(row).collect();
    let title = "Each step alone on the first state, and what it is worth in the last";
    page.table(Table::new(title, columns, rows));
    page.paragraph(confirmed(run, judgement, ladder));
    for found in &ladder.together {
        page.paragraph(together(found));
    }
}

fn confirmed(run: &RunRecord, judgement: &Judgement, ladder: &LadderJudgement) -> String {
    let Some(confirmed) = &ladder.confirmed else {
        return unconfirmed(run).to_owned();
    };
    let outcome = sentences::outcome_name(judgement.outcome);
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
        effect_or_none(&confirmed.whole),
        confirmed.whole.verdict.words(),
        effect_or_none(&confirmed.control)
    )
}

fn unconfirmed(run: &RunRecord) -> &'static str {
    let confirmation = run.confirmation.as_ref();
    match confirmation.is_some_and(|planned| planned.arms.is_empty()) {
        true => "Every step made things worse, so there is no last state to confirm.",
        false => "The last state is not confirmed yet.",
    }
}

/// Names the dropped steps: `, without “receive steering”, which made things worse`.
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

fn row(rung: &Rung) -> Row {
    let mut at_the_top = Shown::judged(rung.at_the_top.as_ref());
    if rung.at_the_top.is_none() && rung.dropped {
        at_the_top[1] = Shown {
            tone: "worse",
            ..Shown::text("dropped")
        };
    }
    let mut cells = vec![Shown::text(&rung.title)];
    cells.extend(Shown::judged(rung.alone.as_ref()));
    cells.extend(at_the_top);
    Row::of(cells)
}

fn together(found: &StepsTogether) -> String {
    let titles = found.titles.each_ref().map(|title| format!("“{title}”"));
    let [one, other] = &titles;
    let said = sentences::pay_together(found.square.together, &titles).unwrap_or_else(|| {
        if found.square.together == Together::Invalid {
            format!("No verdict on {one} and {other} together")
        } else {
            format!("This run cannot tell whether {one} and {other} depend on one another")
        }
    });
    format!(
        "{said}: alone {} and {}, both {}, which is {} beyond the product.",
        effect_or_none(&found.square.alone[0]),
        effect_or_none(&found.square.alone[1]),
        effect_or_none(&found.square.both),
        effect_or_none(&found.square.interaction)
    )
}

/// The first and the last state, and the comparison between them.
pub(crate) type Ends<'a> = (&'a ArmResult, &'a ArmResult, Judged);

/// Returns the two ends as they were confirmed, whatever the result. These are the figures to
/// quote, because those of the climb are of the steps that looked best there. `None` until they
/// exist.
pub(crate) fn confirmed_ends(judgement: &Judgement) -> Option<Ends<'_>> {
    let confirmed = judgement.ladder.as_ref()?.confirmed.as_ref()?;
    Some((&confirmed.first, &confirmed.last, confirmed.whole))
}

/// Compares the last step of a ladder with the baseline. The steps of a comparison already are
/// that.
pub(crate) fn first_to_last(run: &RunRecord, judgement: &Judgement) -> Option<String> {
    let is_ladder = run.study.design.kind == DesignKind::Ladder;
    // Once the last state is confirmed, the confirmation counts instead.
    let is_confirmed = confirmed_ends(judgement).is_some();
    let whole = judgement.whole.as_ref();
    let whole = whole.filter(|_| is_ladder && !is_confirmed)?;
    Some(format!(
        "{} {}, from first to last: {}.",
        numbers::effect(whole.effect.as_ref()?),
        sentences::outcome_name(judgement.outcome),
        verdict_and_n(whole)
    ))
}

fn verdict_and_n(step: &StepResult) -> String {
    let n = step.effect.map_or(0, |effect| effect.n);
    format!("{}, n = {n} pairs", step.verdict.words())
}
