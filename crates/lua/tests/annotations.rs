//! The annotations for lua-language-server and the modules agree.

use lua::{ANNOTATIONS, Error, Options, Vm};
use std::collections::BTreeMap;
use testkit::files::Scratch;

/// What a file declares: its module, the name that it has there, and functions as `name.f` or `name:f`.
fn declared(text: &str) -> (Option<&str>, Vec<(&str, &str)>) {
    let module = text.lines().next().and_then(|line| line.strip_prefix("---@meta ")).map(str::trim);
    let functions = text.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("function ")?.split_once('(')?;
        name.split_once(['.', ':'])
    });
    (module, functions.collect())
}

#[test]
fn every_function_is_there_and_every_one_of_core_is_declared() {
    let mut lines = String::new();
    for (path, text) in ANNOTATIONS {
        let (module, functions) = declared(text);
        let Some(module) = module else {
            assert!(functions.is_empty(), "{path}");
            continue;
        };
        assert_eq!(format!("{}.lua", module.replace('.', "/")), *path);
        // The names of tables in the file: that which it returns is the module; others are fields of it.
        let returned = text
            .trim_end()
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("return "))
            .expect("a module returns a table");
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        functions.iter().for_each(|&(table, function)| tables.entry(table).or_default().push(function));
        for (table, functions) in tables {
            let field = if table == returned { String::new() } else { format!(".{table}") };
            for function in functions {
                lines += &format!("has({module:?}, require({module:?}){field}, {function:?})\n");
            }
        }
        lines += &format!("complete({module:?})\n");
    }
    let text = format!(
        r#"
        local declared, count = {{}}, 0
        local function has (module, t, name)
           local ok, value = pcall(function () return t[name] end)
           assert(ok and type(value) == 'function', module .. ' has no function ' .. name)
           declared[module] = declared[module] or {{}}
           declared[module][name] = true
           count = count + 1
        end
        local function complete (module)
           if not module:find('^core%.') then return end
           for name, value in pairs(require(module)) do
              local is_missing = type(value) == 'function' and not declared[module][name]
              assert(not is_missing, module .. '.' .. tostring(name) .. ' has no annotation')
           end
        end
        {lines}
        assert(count > 250, count)
        "#
    );
    let folder = Scratch::new();
    let options = Options { shm_root: Some(folder.path("shm")), ..Options::default() };
    match Vm::new(&options).expect("a state").run_text(text.as_bytes(), "=annotations", &[]) {
        Ok(()) => {}
        Err(Error::Raised(failure)) => panic!("{failure}"),
        Err(error) => panic!("{error}"),
    }
}

/// Values that programs read or set have a field as well.
#[test]
fn the_settings_of_the_engine_are_declared() {
    let (_, text) = ANNOTATIONS.iter().find(|(path, _)| *path == "core/app.lua").expect("it is there");
    for name in ["app_table", "link_table", "pull_npackets", "Hz", "busywait", "placement", "lost"] {
        assert!(text.contains(&format!("---@field {name} ")), "{name}");
    }
}
