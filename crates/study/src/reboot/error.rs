//! Why a step that takes a reboot is not taken.

/// Why a run with a step that takes a reboot cannot begin, or go on in this boot.
#[derive(Debug, thiserror::Error)]
pub enum RebootError {
    #[error("no step of this study takes a reboot; run it without `--reboot`")]
    NoStep,
    #[error("the step that takes a reboot asks for no option of a kernel: {0}")]
    NoOption(String),
    #[error(
        "this machine does not tell one boot from another: /proc/sys/kernel/random/boot_id cannot \
         be read; run the study without `--reboot`"
    )]
    NoBootId,
    #[error(
        "the kernel was started with `{option}` already, and the ladder begins without it; take it \
         out of the command line and reboot, or run the study without `--reboot`"
    )]
    AlreadyTaken { option: String },
    #[error(
        "`{option}` would change nothing here: no file of /sys/devices/system/cpu/vulnerabilities \
         says \"Mitigation\"; run the study without `--reboot`"
    )]
    NothingToTake { option: String },
    #[error(
        "the reboot has not been made: this is still the boot in which the last state was measured; \
         {how}, reboot, and resume the run then"
    )]
    NotMade { how: String },
    #[error(
        "the machine was rebooted, and the step was not taken: /proc/cmdline has no `{option}`, and \
         {saw}; {how}, reboot, and resume the run then"
    )]
    NotTaken {
        option: String,
        saw: String,
        how: String,
    },
    #[error(
        "the machine was rebooted, and the step was not taken: /proc/cmdline has `{option}`, and \
         after it `{last}`, which overrules it; take that out, reboot, and resume the run then"
    )]
    Overruled { option: String, last: String },
    #[error(
        "the command line has `{option}`, and the step was not taken all the same: no weakness \
         went from \"Mitigation\" to \"Vulnerable\" in /sys/devices/system/cpu/vulnerabilities, \
         {saw}; see that the kernel and its hypervisor heed the option"
    )]
    NoEffect { option: String, saw: String },
    #[error(
        "the kernel was started with `{option}` before the last state was measured without it; {how}, \
         reboot, and resume the run then"
    )]
    TooEarly { option: String, how: String },
    #[error(
        "the reboot changed more than the step: {what} was {was} and is {now} now; start what it \
         was, or run the study again"
    )]
    OtherBoot {
        what: String,
        was: String,
        now: String,
    },
}
