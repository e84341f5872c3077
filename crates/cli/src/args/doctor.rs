//! The flags of `sluss doctor`.

use clap::{Args, ValueHint};

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// A device, or `dpdk`, `nfqueue` or `wall` [default: the machine].
    #[arg(value_name = "IFACE|dpdk|nfqueue|wall", value_hint = ValueHint::Other)]
    pub(crate) subject: Option<String>,
    /// Print JSON: an object for each check.
    #[arg(long)]
    pub(crate) json: bool,
}
