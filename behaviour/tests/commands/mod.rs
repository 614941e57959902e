//! Studies of commands through the program: run, broken, stopped, killed and resumed.

mod broken;
mod failing;
mod lab;
mod rigs;
mod run;
mod stopped;
mod surroundings;
