//! Runs the commands of a study on this machine, with the agent's runner.

use agent::command::CommandRunner;
use anyhow::Context as _;
use model::command::CommandTrouble;
use model::{CommandReading, CommandSpec};
use study::bench::RunsCommands;

pub(super) struct LocalHands(CommandRunner);

impl LocalHands {
    pub(super) fn new() -> anyhow::Result<Self> {
        CommandRunner::new()
            .map(Self)
            .context("getting ready to run commands")
    }
}

impl RunsCommands for LocalHands {
    fn run(&mut self, spec: &CommandSpec) -> Result<CommandReading, CommandTrouble> {
        self.0.run(spec)
    }

    fn memory_floor_bytes(&mut self) -> Result<u64, CommandTrouble> {
        self.0.memory_floor_bytes()
    }
}
