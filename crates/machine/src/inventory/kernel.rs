//! What the kernel can do and how it was started.

use model::inventory::{Availability, Kernel, Part};

use super::look::Look;
use super::tables::TABLES;
use crate::boot;
use crate::errno::{denied, errno};
use crate::tree::Tree;

pub(super) fn collect(look: &Look) -> Kernel {
    let text = |file: &str| {
        look.text(file, "how the kernel was started")
            .unwrap_or_default()
    };
    let modules = look.text("sys/kernel/security/lsm", "security modules");
    let modules = modules.unwrap_or_default();
    let mut parts = vec![io_uring(), pressure(look.tree())];
    parts.extend(loadable(look));
    Kernel {
        preemption: preemption(&text("proc/sys/kernel/version")),
        boot_options: boot::options(&text("proc/cmdline")),
        security_modules: modules
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        parts,
    }
}

fn preemption(version: &str) -> Option<String> {
    let mut words = version.split_whitespace();
    words
        .find(|word| word.starts_with("PREEMPT"))
        .map(str::to_owned)
}

/// Asks for the ring that the load generator would use, since settings, capabilities and system
/// call filters can each forbid it.
fn io_uring() -> Part {
    let (state, evidence) = match sys::uring::Ring::new(b"", 1) {
        Ok(_) => (
            Availability::Present,
            "io_uring_setup: a ring was made".to_owned(),
        ),
        Err(error) => (
            refused(&error),
            format!("io_uring_setup: {}", errno(&error)),
        ),
    };
    part("io_uring", state, evidence)
}

fn refused(error: &std::io::Error) -> Availability {
    match error.kind() {
        std::io::ErrorKind::Unsupported => Availability::Absent,
        std::io::ErrorKind::PermissionDenied => Availability::Forbidden,
        _ => Availability::Unknown,
    }
}

fn pressure(tree: &Tree) -> Part {
    let (state, evidence) = match tree.try_text("proc/pressure/cpu") {
        Ok(_) => (Availability::Present, "/proc/pressure/cpu".to_owned()),
        Err(error) => (Availability::Absent, denied("/proc/pressure/cpu", &error)),
    };
    part("PSI", state, evidence)
}

fn part(name: &str, state: Availability, evidence: String) -> Part {
    let name = name.to_owned();
    Part {
        name,
        state,
        evidence,
    }
}

fn loadable(look: &Look) -> Vec<Part> {
    let sources = Sources::read(look);
    let parts = TABLES.parts.iter().map(|(name, module, function)| {
        let (state, evidence) = sources.availability(look.tree(), module, function);
        part(name, state, evidence)
    });
    parts.collect()
}

/// Lists of modules and of kernel functions; each may be missing.
struct Sources {
    functions: Option<String>,
    /// Paths of the modules that are built in; `files` has those that can be loaded.
    builtin: Option<String>,
    files: Option<String>,
    has_modules: bool,
}

impl Sources {
    fn read(look: &Look) -> Self {
        let release = look
            .tree()
            .text("proc/sys/kernel/osrelease")
            .unwrap_or_default();
        let list =
            |file: &str| look.text(&format!("lib/modules/{release}/{file}"), "kernel modules");
        Self {
            functions: look.text("proc/kallsyms", "functions of the kernel"),
            builtin: list("modules.builtin"),
            files: list("modules.dep"),
            has_modules: look.tree().text("proc/modules").is_some(),
        }
    }

    fn availability(&self, tree: &Tree, module: &str, function: &str) -> (Availability, String) {
        let names = |list: &Option<String>| {
            let file = format!("/{module}.ko");
            list.as_ref().map(|list| list.contains(&file))
        };
        let folder = format!("sys/module/{module}");
        if tree.path(&folder).exists() {
            return (Availability::Present, format!("/{folder}"));
        }
        if self.has_function(function) == Some(true) {
            return (Availability::Present, format!("/proc/kallsyms: {function}"));
        }
        if names(&self.builtin) == Some(true) {
            return (Availability::Present, format!("modules.builtin: {module}"));
        }
        match (names(&self.files), self.has_function(function)) {
            (Some(true), _) => (Availability::Loadable, format!("modules.dep: {module}")),
            (Some(false), Some(false)) => (
                Availability::Absent,
                "neither function nor module".to_owned(),
            ),
            (None, Some(false)) if !self.has_modules => (
                Availability::Absent,
                "no such function, and no modules".to_owned(),
            ),
            _ => (
                Availability::Unknown,
                "the kernel's lists cannot be read in full".to_owned(),
            ),
        }
    }

    /// Whether the kernel has a function. A line of kallsyms has address, type, name, and the
    /// module in brackets. `None` where the list is missing or empty.
    fn has_function(&self, function: &str) -> Option<bool> {
        let list = self.functions.as_deref().filter(|list| !list.is_empty())?;
        let mut names = list
            .lines()
            .filter_map(|line| line.split_whitespace().nth(2));
        Some(names.any(|name| name == function))
    }
}
