//! The functions of Rust that the Lua modules below `modules/lib`, `apps`, `pf` and `ndpi` call by FFI, by name.

use super::{burst, capture, filter, hot, interlink, mac_table, scanner};
use std::ffi::c_void;

/// The function of a name, if there is one.
pub(super) fn find(name: &[u8]) -> Option<*mut c_void> {
    Some(match name {
        b"sluss_lua_checksum" => hot::sluss_lua_checksum as *mut c_void,
        b"sluss_lua_tsc" => hot::sluss_lua_tsc as *mut c_void,
        b"sluss_lua_ctable_find" => hot::sluss_lua_ctable_find as *mut c_void,
        b"sluss_lua_ctable_find_many" => hot::sluss_lua_ctable_find_many as *mut c_void,
        b"sluss_lua_mac_table_insert" => mac_table::sluss_lua_mac_table_insert as *mut c_void,
        b"sluss_lua_mac_table_lookup" => mac_table::sluss_lua_mac_table_lookup as *mut c_void,
        b"sluss_lua_mac_table_burst" => mac_table::sluss_lua_mac_table_burst as *mut c_void,
        b"sluss_lua_cas" => interlink::sluss_lua_cas as *mut c_void,
        b"sluss_lua_interlink_full" => interlink::sluss_lua_interlink_full as *mut c_void,
        b"sluss_lua_interlink_insert" => interlink::sluss_lua_interlink_insert as *mut c_void,
        b"sluss_lua_interlink_push" => interlink::sluss_lua_interlink_push as *mut c_void,
        b"sluss_lua_interlink_empty" => interlink::sluss_lua_interlink_empty as *mut c_void,
        b"sluss_lua_interlink_extract" => interlink::sluss_lua_interlink_extract as *mut c_void,
        b"sluss_lua_interlink_pull" => interlink::sluss_lua_interlink_pull as *mut c_void,
        b"sluss_lua_send_copies" => burst::sluss_lua_send_copies as *mut c_void,
        b"sluss_lua_free_all" => burst::sluss_lua_free_all as *mut c_void,
        b"sluss_lua_sift" => burst::sluss_lua_sift as *mut c_void,
        b"sluss_lua_compile" => filter::sluss_lua_compile as *mut c_void,
        b"sluss_lua_compiled_free" => filter::sluss_lua_compiled_free as *mut c_void,
        b"sluss_lua_scanner_new" => scanner::sluss_lua_scanner_new as *mut c_void,
        b"sluss_lua_scanner_free" => scanner::sluss_lua_scanner_free as *mut c_void,
        b"sluss_lua_scanner_look" => scanner::sluss_lua_scanner_look as *mut c_void,
        b"sluss_lua_protocol_name" => scanner::sluss_lua_protocol_name as *mut c_void,
        b"ndpi_detection_process_packet" => scanner::ndpi_detection_process_packet as *mut c_void,
        b"ndpi_guess_undetected_protocol" => scanner::ndpi_guess_undetected_protocol as *mut c_void,
        b"sluss_lua_capture_open" => capture::sluss_lua_capture_open as *mut c_void,
        b"sluss_lua_capture_read" => capture::sluss_lua_capture_read as *mut c_void,
        b"sluss_lua_capture_close" => capture::sluss_lua_capture_close as *mut c_void,
        _ => return None,
    })
}
