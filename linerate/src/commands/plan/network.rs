//! `linerate plan network`: the cheapest machine that carries a rate indefinitely.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use model::run::RunKind;
use report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use super::overheads::MeasuredOverheads;
use super::price_list::{MachineOffer, OVERHEADS, PriceList};
use crate::commands::stream::units;
use crate::console::Console;
use crate::shape;
use crate::told::{self, template};

/// Hours in a month, as clouds bill it.
const HOURS_A_MONTH: f64 = 730.0;

/// Find the cheapest machine whose network carries a rate indefinitely
///
/// What counts is the baseline, the rate that a machine carries once its credit is spent.
/// Machines, prices and overheads are those of an article unless --prices gives others. --measured
/// gives the figure of a machine that you have measured (linerate stream HOST --for 1h --until-sure
/// --out FOLDER). --overheads gives what tunnels add, as measured by linerate study run vpn.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Which machine carries 550 Mbit/s of rsync by SSH through OpenVPN?
    linerate plan network --need 550Mbit/s --over openvpn,ssh
  With an overhead of your own:
    linerate plan network --need 200Mbit/s --over tunnel=8%
  The cheapest, for a script:
    linerate plan network --need 1Gbit/s --json | jq -r .cheapest

Exit codes:
  0    some machine carries it
  1    no machine in the list does
  2    could not run")]
pub(crate) struct Arguments {
    /// Payload to carry indefinitely, such as 550Mbit/s
    #[arg(long, value_name = "RATE", value_parser = units::parse_rate)]
    need: u64,
    /// Overheads on the wire, each by its name in the list or as NAME=SHARE
    #[arg(long, value_name = "NAME[=SHARE],…", value_delimiter = ',')]
    over: Vec<String>,
    /// Measured values of the list's overheads: the run folder of linerate study run vpn
    #[arg(long, requires = "over", value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    overheads: Option<PathBuf>,
    /// Machines, prices and overheads (TOML), instead of the article's
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    prices: Option<PathBuf>,
    /// Measured rate of a machine: the run folder of linerate stream --out
    #[arg(long, value_name = "MACHINE=FOLDER", value_parser = parse_measured)]
    measured: Vec<(String, PathBuf)>,
    /// Print one JSON value (docs/schema/plan-network.json)
    #[arg(long)]
    json: bool,
}

/// The machines that carry a rate, and the cheapest of them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NetworkPlan {
    /// Version of the program.
    linerate_version: &'static str,
    /// Payload to carry, bit/s.
    needed_bits_per_second: u64,
    /// Overheads in the order in which they are added.
    overheads: Vec<PlannedOverhead>,
    /// Rate that a machine has to carry, overheads included, bit/s.
    on_the_wire_bits_per_second: f64,
    /// Source of machines and prices.
    prices: PriceSource,
    /// All machines, the cheapest first.
    machines: Vec<PlannedMachine>,
    /// Name of the cheapest machine that carries the rate; null if none does.
    cheapest: Option<String>,
    /// Remarks that qualify the answer.
    notes: Vec<String>,
}

/// An overhead on the wire.
#[derive(Serialize, JsonSchema)]
struct PlannedOverhead {
    /// Name of the overhead.
    name: String,
    /// Bytes that it adds, as a share of those that it carries.
    share: f64,
    /// Source of the share.
    source: String,
    /// Rate with this overhead and those before it, bit/s.
    bits_per_second: f64,
}

/// Source of machines and prices.
#[derive(Serialize, JsonSchema)]
struct PriceSource {
    /// Who collected them, and how.
    source: String,
    /// Region in which these prices hold.
    region: String,
    /// Date at which they held.
    date: String,
}

/// A machine, and whether it carries the rate.
#[derive(Serialize, JsonSchema)]
struct PlannedMachine {
    /// Name of its kind.
    name: String,
    /// Price, USD an hour.
    usd_per_hour: f64,
    /// Price of 730 hours, USD.
    usd_per_month: f64,
    /// Rate that it carries indefinitely, bit/s.
    base_bits_per_second: f64,
    /// Run folder that this rate was measured in; null if it is the list's figure.
    measured: Option<PathBuf>,
    /// Rate that it carries while it has credit, bit/s; null if the list does not say.
    burst_bits_per_second: Option<f64>,
    /// Whether it carries the rate indefinitely.
    carries: bool,
    /// Share of what it carries that is left over; below 0 if it carries too little.
    spare: f64,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    ensure!(
        arguments.need > 0,
        "--need 0 needs no machine; give a rate above 0"
    );
    let list = PriceList::read(arguments.prices.as_deref())?;
    let plan = NetworkPlan::of(arguments, list)?;
    told::say(&plan, template!("plan-network"), arguments.json, console);
    Ok(match plan.cheapest {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    })
}

impl NetworkPlan {
    fn of(arguments: &Arguments, list: PriceList) -> anyhow::Result<Self> {
        let mut notes = Vec::new();
        let overheads = PlannedOverhead::all(arguments, &list, &mut notes)?;
        let wire = overheads
            .last()
            .map_or(arguments.need as f64, |over| over.bits_per_second);
        for (name, _) in &arguments.measured {
            let is_known = list.machines.iter().any(|offer| offer.name == *name);
            ensure!(
                is_known,
                "--measured {name}=…: the list has no machine of this name, and so no price; add it by --prices"
            );
        }
        notes.extend(list.notes);
        let mut machines = Vec::new();
        for offer in list.machines {
            let folder = arguments
                .measured
                .iter()
                .find(|(name, _)| *name == offer.name);
            let measured = folder
                .map(|(_, folder)| MeasuredBase::of(folder))
                .transpose()?;
            notes.extend(measured.as_ref().and_then(MeasuredBase::note));
            notes.extend(
                offer
                    .note
                    .as_ref()
                    .map(|note| format!("{}: {note}", offer.name)),
            );
            machines.push(PlannedMachine::of(offer, wire, measured));
        }
        machines.sort_by(|one, other| one.usd_per_hour.total_cmp(&other.usd_per_hour));
        let cheapest = machines.iter().find(|machine| machine.carries);
        Ok(Self {
            linerate_version: shape::VERSION,
            needed_bits_per_second: arguments.need,
            overheads,
            on_the_wire_bits_per_second: wire,
            prices: PriceSource {
                source: list.source,
                region: list.region,
                date: list.date,
            },
            notes,
            cheapest: cheapest.map(|machine| machine.name.clone()),
            machines,
        })
    }
}

impl PlannedOverhead {
    /// Adds the overheads one upon another, and notes each that the run did not measure.
    fn all(
        arguments: &Arguments,
        list: &PriceList,
        notes: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Self>> {
        let folder = arguments.overheads.as_deref();
        ensure!(
            folder.is_none() || arguments.over.iter().any(|over| !over.contains('=')),
            "--overheads gives figures for overheads of the list, and --over names none of these; leave it out"
        );
        let measured = folder.map(MeasuredOverheads::of).transpose()?;
        notes.extend(measured.as_ref().and_then(MeasuredOverheads::note));
        let mut wire = arguments.need as f64;
        let mut overheads = Vec::new();
        for over in &arguments.over {
            let (name, share, source) = overhead(over, list, measured.as_ref(), notes)?;
            wire *= 1.0 + share;
            overheads.push(Self {
                name,
                share,
                source,
                bits_per_second: wire,
            });
        }
        Ok(overheads)
    }
}

impl PlannedMachine {
    fn of(offer: MachineOffer, wire: f64, measured: Option<MeasuredBase>) -> Self {
        let base = measured
            .as_ref()
            .map_or(offer.baseline_mbit * 1e6, |it| it.base);
        Self {
            usd_per_hour: offer.usd_per_hour,
            usd_per_month: offer.usd_per_hour * HOURS_A_MONTH,
            base_bits_per_second: base,
            measured: measured.map(|it| it.folder),
            burst_bits_per_second: offer.burst_mbit.map(|mbit| mbit * 1e6),
            carries: base >= wire,
            spare: 1.0 - wire / base.max(1.0),
            name: offer.name,
        }
    }
}

/// Returns the name of an overhead, its share and the source of the share.
fn overhead(
    over: &str,
    list: &PriceList,
    measured: Option<&MeasuredOverheads>,
    notes: &mut Vec<String>,
) -> anyhow::Result<(String, f64, String)> {
    let Some((name, share)) = over.split_once('=') else {
        let known = list.overhead(over)?;
        let found = measured.map(|run| run.share(known)).transpose();
        let (share, source) = match found {
            Ok(Some(found)) => found,
            Ok(None) => (known.share, known.source.clone()),
            Err(why) => {
                notes.push(why);
                (known.share, known.source.clone())
            }
        };
        return Ok((known.name.clone(), share, source));
    };
    let share = model::link::spelling::parse_share(share);
    let share = share.map_err(|why| anyhow::anyhow!("--over {over}: {why}"))?;
    ensure!(
        OVERHEADS.contains(&share),
        "--over {over}: an overhead is a share of the payload, 0 % to 1000 %"
    );
    Ok((name.to_owned(), share, "as given".to_owned()))
}

/// The rate that a machine sustains, by a saved test of streams.
struct MeasuredBase {
    folder: PathBuf,
    /// Base rate of the way that carries least, or its mean rate if no credit was spent, bit/s.
    base: f64,
    /// How long that way was measured, s; `None` if credit was spent.
    unspent_seconds: Option<f64>,
}

impl MeasuredBase {
    fn of(folder: &Path) -> anyhow::Result<Self> {
        let place = folder.display();
        let is_test = report::folder::kind(folder)? == RunKind::Streams;
        ensure!(
            is_test,
            "{place} is not a run folder of `linerate stream --out`"
        );
        let (run, blocks) = report::folder::read_streams(folder)?;
        let judged = judge::judge_streams(&run, &blocks);
        let mut ways = judged.ways.iter();
        ensure!(
            ways.all(|way| run.study.carrier.is_known(way.way)),
            "{place}: the sender of datagrams does not know what arrived; have the server send them (-R)"
        );
        let bases = judged.ways.iter().map(|way| match &way.credit {
            Some(credit) => (credit.base_bits_per_second.value, None),
            None => (way.bits_per_second(), Some(way.seconds)),
        });
        let least = bases.reduce(|one, other| if one.0 <= other.0 { one } else { other });
        let least = least.filter(|(base, _)| *base > 0.0);
        let (base, unspent_seconds) =
            least.with_context(|| format!("{place}: nothing was carried"))?;
        Ok(Self {
            folder: folder.to_owned(),
            base,
            unspent_seconds,
        })
    }

    fn note(&self) -> Option<String> {
        let seconds = self.unspent_seconds?;
        Some(format!(
            "{}: no credit was spent in {}, so this rate may be a burst; a longer test would show it",
            self.folder.display(),
            numbers::seconds(seconds)
        ))
    }
}

fn parse_measured(text: &str) -> Result<(String, PathBuf), String> {
    let (name, folder) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not MACHINE=FOLDER"))?;
    Ok((name.to_owned(), PathBuf::from(folder)))
}
