//! All settings that one program is given, prepared before it is started.

use sys::attribute::Attribute;
use sys::process::ChildSetup;

use super::{Held, Obstacle, OwnGroup, ProgramPart, ProgramSetting};

/// The settings that a program is given. Dropping them removes the control group that was made for
/// it and closes the descriptors that are held open, so this must outlive the program.
#[derive(Default)]
pub struct Start {
    parts: Vec<ProgramPart>,
    group: Option<OwnGroup>,
    /// The parts that hold as long as a descriptor is open.
    held: Vec<(ProgramPart, Held)>,
}

impl Start {
    /// Prepares what is needed besides the program itself.
    ///
    /// # Errors
    /// If no control group can be made, or a setting cannot be held.
    pub fn prepare(parts: Vec<ProgramPart>) -> Result<Self, Obstacle> {
        let mut group = None;
        let mut held = Vec::new();
        for part in &parts {
            if let Some(taken) = part.hold() {
                held.push((part.clone(), taken?));
            }
            if let ProgramSetting::CpuWeight(weight) = part.setting {
                let made = OwnGroup::make(weight);
                group = Some(made.map_err(|error| part.refused(&error))?);
            }
        }
        Ok(Self { parts, group, held })
    }

    /// Adds the settings to the setup of a child.
    pub fn put_into(&self, setup: &mut ChildSetup) {
        setup
            .attributes
            .extend(self.attributes().map(|(_, attribute)| attribute.clone()));
        setup.group = self.group.as_ref().map(|group| group.processes.clone());
    }

    /// The CPUs that the program is given, if it is given any.
    pub fn cpus(&self) -> Option<&[usize]> {
        self.attributes()
            .find_map(|(_, attribute)| match attribute {
                Attribute::Cpus(cpus) => Some(cpus.as_slice()),
                _ => None,
            })
    }

    /// Gives all settings to the calling process, which must have one thread and is about to become
    /// the program.
    ///
    /// # Errors
    /// Names the first setting that the kernel refused, or holds with another value.
    pub fn take_on(&self) -> Result<(), Obstacle> {
        for (part, attribute) in self.attributes() {
            attribute.take_on().map_err(|error| part.refused(&error))?;
        }
        for (part, group) in self.weighted().zip(&self.group) {
            sys::cgroup::enter(&group.processes).map_err(|error| part.refused(&error))?;
        }
        for (part, held) in &self.held {
            held.hand_on().map_err(|error| part.refused(&error))?;
        }
        self.verify(std::process::id())
    }

    /// Checks with the kernel that a program that was started with these settings has them all.
    ///
    /// # Errors
    /// Names the first setting that it lacks, and what it has instead.
    pub fn verify(&self, pid: u32) -> Result<(), Obstacle> {
        for part in self.parts.iter().filter(|part| !part.is_held_open()) {
            part.verify(pid)?;
        }
        let mut held = self.held.iter();
        held.try_for_each(|(part, held)| held.verify().map_err(|now| part.not_held(&now)))
    }

    /// The settings as they are typed; empty if there are none.
    pub fn words(&self) -> String {
        let words: Vec<String> = self.parts.iter().map(ToString::to_string).collect();
        words.join(" ")
    }

    /// Whether a control group has to be removed after the program.
    pub fn leaves_a_group(&self) -> bool {
        self.group.is_some()
    }

    fn attributes(&self) -> impl Iterator<Item = (&ProgramPart, &Attribute)> {
        self.parts.iter().filter_map(|part| match &part.setting {
            ProgramSetting::Attribute(attribute) => Some((part, attribute)),
            ProgramSetting::CpuWeight(_) | ProgramSetting::Holding(_) => None,
        })
    }

    fn weighted(&self) -> impl Iterator<Item = &ProgramPart> {
        let is_weight = |part: &&ProgramPart| matches!(part.setting, ProgramSetting::CpuWeight(_));
        self.parts.iter().filter(is_weight)
    }
}
