//! The schemas in `docs/schema` must match the types of what is printed and saved. This command
//! writes them:
//!
//!     WRITE_SCHEMAS=1 cargo test -p linerate schemas

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::bench::{BenchBlock, BenchReport, SavedBench};
use model::command_run::{CommandBlock, CommandRun, Evidence};
use model::inventory::Inventory;
use model::judgement::{FactorialJudgement, LoadSlo, LoadSweep};
use model::link::LinkRecord;
use model::load_run::SavedLoad;
use model::stream_run::{SavedStreams, StreamBlock, StreamsJudged};
use model::{Ask, BlockRecord, RunRecord, Tell};
use report::compare::{Compared, ComparedCommands};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Whole;
use crate::commands::levers::{apply, catalogue, journal, status, undo};
use crate::commands::{
    doctor, download, link, load, packets, page, plan, probe, rig, service, stream, study,
};
use crate::serving::{Ready, Record};
use crate::shown::Judged;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Name of the schema that defines the types that the others refer to.
const COMMON: &str = "common";

/// All schemas, by the names of their files.
fn schemas() -> BTreeMap<&'static str, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let all = &mut settings.into_generator();
    let mut schemas = BTreeMap::from([
        ("ask", schema_of::<Ask>(all)),
        ("bench", schema_of::<BenchReport>(all)),
        ("block", schema_of::<BlockRecord>(all)),
        ("block-bench", schema_of::<BenchBlock>(all)),
        ("block-commands", schema_of::<CommandBlock>(all)),
        ("block-stream", schema_of::<StreamBlock>(all)),
        ("packets", whole::<packets::Packets>(all)),
        ("doctor", whole::<doctor::Doctor>(all)),
        ("explain", whole::<crate::shown::Explained<'_>>(all)),
        ("download", whole::<download::Download>(all)),
        ("evidence", schema_of::<Evidence>(all)),
        ("factorial", schema_of::<FactorialJudgement>(all)),
        ("facts", schema_of::<Inventory>(all)),
        ("judgement", schema_of::<Judged<'_>>(all)),
        ("levers-apply", whole::<apply::LeversApply>(all)),
        ("levers-journal", whole::<journal::LeversJournal>(all)),
        ("levers-list", whole::<catalogue::LeversList>(all)),
        ("levers-show", whole::<catalogue::LeversShow>(all)),
        ("levers-status", whole::<status::LeversStatus>(all)),
        ("levers-undo", whole::<undo::LeversUndo>(all)),
        ("link", whole::<link::LinkShape>(all)),
        ("link-record", schema_of::<LinkRecord>(all)),
        ("load", whole::<load::came_to::LoadResult>(all)),
        ("load-download", whole::<load::download::LoadDownload>(all)),
        ("load-slo", whole::<LoadSlo>(all)),
        ("load-sweep", whole::<LoadSweep>(all)),
        ("page", whole::<page::Pages>(all)),
        ("plan-network", whole::<plan::network::NetworkPlan>(all)),
        ("probe", whole::<probe::quick::Probed>(all)),
        ("probe-cores", whole::<probe::cores::ProbeCores>(all)),
        ("rig-clean", whole::<rig::shapes::RigClean>(all)),
        ("rig-status", whole::<rig::shapes::RigStatus>(all)),
        ("rig-up", whole::<rig::shapes::RigUp>(all)),
        ("run", schema_of::<RunRecord>(all)),
        ("run-bench", schema_of::<SavedBench>(all)),
        ("run-commands", schema_of::<CommandRun>(all)),
        ("run-load", schema_of::<SavedLoad>(all)),
        ("run-stream", schema_of::<SavedStreams>(all)),
        ("serve", whole::<Ready<'_>>(all)),
        ("serve-end", whole::<Record>(all)),
        ("service-show", whole::<service::ServiceShow>(all)),
        ("service-start", whole::<service::ready::Ready>(all)),
        ("service-stop", whole::<service::stop::ServiceStop>(all)),
        ("services", whole::<service::list::List>(all)),
        ("stream", whole::<stream::Streams>(all)),
        ("stream-report", whole::<StreamsJudged>(all)),
        ("study-compare", schema_of::<Compared>(all)),
        ("study-compare-commands", schema_of::<ComparedCommands>(all)),
        ("study-list", whole::<study::StudyList>(all)),
        ("study-show", whole::<study::StudyShow>(all)),
        ("tell", schema_of::<Tell>(all)),
    ]);
    let types = all.take_definitions(false);
    schemas.insert(COMMON, json!({ "$defs": &types }));
    for (name, schema) in &mut schemas {
        embed(schema, &types);
        close(schema, false);
        tidy(schema, *name == COMMON);
        schema["$schema"] = DRAFT.into();
    }
    schemas
}

fn schema_of<T: JsonSchema>(all: &mut SchemaGenerator) -> Value {
    T::json_schema(all).to_value()
}

/// Schema of a value that is printed with its format.
fn whole<T: JsonSchema>(all: &mut SchemaGenerator) -> Value {
    let mut schema = schema_of::<Whole<T>>(all);
    schema["description"] = schema_of::<T>(all)["description"].take();
    schema
}

/// Replaces a reference to a type by the type itself where other properties stand beside it, so
/// that all of them can be closed together.
fn embed(part: &mut Value, types: &Map<String, Value>) {
    if let Some(parts) = part.as_object_mut()
        && parts.contains_key("properties")
        && let Some(Value::String(place)) = parts.remove("$ref")
    {
        let of = types[place.trim_start_matches("#/$defs/")].as_object();
        for (key, more) in of.into_iter().flatten() {
            match (parts.get_mut(key), more) {
                (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
                (Some(Value::Array(own)), Value::Array(more)) => own.extend(more.clone()),
                (Some(_), _) => {}
                (None, more) => _ = parts.insert(key.clone(), more.clone()),
            }
        }
    }
    within(part).for_each(|inner| embed(inner, types));
}

fn within(part: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match part {
        Value::Object(parts) => Box::new(parts.values_mut()),
        Value::Array(several) => Box::new(several.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Forbids properties that are not named. An alternative of an object, `of_several`, leaves that to
/// the object.
fn close(schema: &mut Value, of_several: bool) {
    let Some(parts) = schema.as_object_mut() else {
        return;
    };
    let is_object = parts.contains_key("properties");
    let has_several = parts.contains_key("oneOf") || parts.contains_key("anyOf");
    if is_object && !of_several {
        let key = match has_several {
            true => "unevaluatedProperties",
            false => "additionalProperties",
        };
        parts.entry(key).or_insert(false.into());
    }
    for (key, inner) in parts {
        let of_several = matches!(key.as_str(), "oneOf" | "anyOf") && (of_several || is_object);
        match inner {
            Value::Array(several) => several.iter_mut().for_each(|one| close(one, of_several)),
            Value::Object(named) if matches!(key.as_str(), "properties" | "$defs") => {
                named.values_mut().for_each(|one| close(one, false));
            }
            one => close(one, false),
        }
    }
}

/// Rewords descriptions for a reader of JSON, refers to the file that defines a type, and removes
/// the widths of numbers.
fn tidy(part: &mut Value, is_common: bool) {
    if let Some(parts) = part.as_object_mut() {
        if let Some(Value::String(words)) = parts.get_mut("description") {
            for (ours, theirs) in [("\n", " "), ("[`", "`"), ("`]", "`"), ("`None`", "null")] {
                *words = words.replace(ours, theirs);
            }
        }
        if let Some(Value::String(place)) = parts.get_mut("$ref").filter(|_| !is_common) {
            *place = format!("{COMMON}.json{place}");
        }
        if parts.get("format").is_some_and(Value::is_string) {
            parts.remove("format");
        }
    }
    within(part).for_each(|inner| tidy(inner, is_common));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema")
}

#[test]
fn the_schemas_are_those_of_the_types_and_in_the_table_of_their_folder() {
    let table = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for (name, schema) in schemas() {
        assert!(table.contains(&format!("| `{name}.json` |")), "{name}");
        let path = folder().join(format!("{name}.json"));
        let text = format!("{schema:#}\n");
        if std::env::var_os("WRITE_SCHEMAS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let is_there = std::fs::read_to_string(&path).is_ok_and(|there| there == text);
        assert!(
            is_there,
            "{} is not as the types are; write it anew: WRITE_SCHEMAS=1 cargo test -p linerate schemas",
            path.display()
        );
    }
}

#[test]
fn every_property_is_explained() {
    let mut without = Vec::new();
    for (name, schema) in schemas() {
        unexplained(&schema, name, &mut without);
    }
    assert_eq!(without, Vec::<String>::new());
}

/// Collects the properties that have no description. The description of an alternative also serves
/// the only property that it has.
fn unexplained(part: &Value, place: &str, without: &mut Vec<String>) {
    let has = |part: &Value, key| part.get(key).is_some();
    let properties = part["properties"].as_object().into_iter().flatten();
    let bare = properties.filter(|(_, of)| !has(of, "const") && !has(of, "description"));
    let names: Vec<&String> = bare.map(|(name, _)| name).collect();
    if names.len() > 1 || !has(part, "description") {
        without.extend(names.iter().map(|name| format!("{place}: {name}")));
    }
    for (name, inner) in part.as_object().into_iter().flatten() {
        unexplained(inner, &format!("{place}/{name}"), without);
    }
    for inner in part.as_array().into_iter().flatten() {
        unexplained(inner, place, without);
    }
}
