//! The Lua modules that are part of the library.

/// A module: its name, its file below `modules/`, its text.
type Module = (&'static str, &'static str, &'static str);

static MODULES: &[Module] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// The text of a module, and the name of its file for messages.
pub(crate) fn find(name: &str) -> Option<(&'static str, String)> {
    let own = MODULES.binary_search_by(|(module, ..)| module_order(module, name)).ok().map(|i| MODULES[i]);
    let of_luajit = || luajit::MODULES.iter().find(|(module, _)| *module == name);
    match own {
        Some((_, file, text)) => Some((text, format!("sluss/{file}"))),
        None => of_luajit().map(|(module, text)| (*text, format!("{}.lua", module.replace('.', "/")))),
    }
}

/// The order of the table, which is that of files.
fn module_order(module: &str, name: &str) -> std::cmp::Ordering {
    module.split('.').cmp(name.split('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_found_by_its_name() {
        for (name, file, text) in MODULES {
            let (found, place) = find(name).unwrap_or_else(|| panic!("{name} is not found"));
            assert_eq!(found, *text, "{name} in {file}");
            assert!(place.ends_with(file));
        }
        assert!(find("jit.v").is_some());
        assert!(find("core.none").is_none());
    }
}
