//! What stands in the place of the library where this program was built without nDPI: nothing can be loaded.

use crate::Confidence;
use std::convert::Infallible;
use std::ffi::c_void;
use std::ptr::NonNull;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) app: u16,
    pub(crate) master: u16,
    pub(crate) category: u16,
    pub(crate) confidence: Confidence,
    pub(crate) more: bool,
    pub(crate) risks: u64,
}

pub(crate) type FlowState = NonNull<c_void>;

pub(crate) struct Module(Infallible);

impl Module {
    pub(crate) fn load(_name: Option<&str>) -> Result<Module, String> {
        Err(format!(
            "this program was built without nDPI: {}",
            super::absent().unwrap_or("its headers were not found")
        ))
    }

    pub(crate) fn revision(&self) -> &str {
        match self.0 {}
    }

    pub(crate) fn flow_bytes(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn protocols(&self) -> Vec<(String, String)> {
        match self.0 {}
    }

    pub(crate) fn categories(&self) -> Vec<String> {
        match self.0 {}
    }

    pub(crate) unsafe fn packet(&self, _flow: FlowState, _packet: &[u8], _ms: u64) -> Found {
        match self.0 {}
    }

    pub(crate) unsafe fn give_up(&self, _flow: FlowState, _guess: bool) -> Found {
        match self.0 {}
    }

    pub(crate) unsafe fn strings<'a>(&self, _flow: FlowState) -> [Option<&'a [u8]>; 4] {
        match self.0 {}
    }

    pub(crate) unsafe fn free(&self, _flow: FlowState) {
        match self.0 {}
    }
}
