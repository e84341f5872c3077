//! The flags of `sluss snsh`, whose order matters.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use lua::Action;
use std::ffi::OsString;

#[derive(Args, Debug)]
pub(crate) struct SnshArgs {
    #[command(flatten)]
    pub(crate) actions: Actions,
    /// Show a prompt, as without any option.
    #[arg(short, long)]
    pub(crate) interactive: bool,
    /// Run a program of Snabb, or of the modules.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// A file to run, and its arguments.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) arguments: Vec<OsString>,
}

/// What is to be done, in the order of the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actions(pub(crate) Vec<Action>);

/// An option: its letter, its name, its value, its help, and what it means.
type Row = (char, &'static str, &'static str, &'static str, fn(String) -> Action);

const ROWS: &[Row] = &[
    ('e', "eval", "TEXT", "Run Lua text", Action::Eval),
    ('l', "load", "MODULE", "Load a module", Action::Load),
    ('t', "test", "MODULE", "Run the self-test of a module", Action::Test),
    ('P', "package-path", "PATH", "Where modules are: dir/?.lua;…", Action::Path),
    ('j', "jit", "FLAG", "A flag of LuaJIT: v, dump, p, off, …", Action::Jit),
];

impl Args for Actions {
    fn augment_args(command: Command) -> Command {
        command.args(ROWS.iter().map(|&(letter, name, value, help, _)| {
            let arg = Arg::new(name).short(letter).long(name).value_name(value).help(help);
            arg.action(ArgAction::Append).allow_hyphen_values(true)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Actions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all: Vec<(usize, Action)> = Vec::new();
        for (_, name, _, _, action) in ROWS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let indices = matches.indices_of(name).into_iter().flatten();
            all.extend(indices.zip(values).map(|(index, value)| (index, action(value.clone()))));
        }
        all.sort_by_key(|(index, _)| *index);
        Ok(Actions(all.into_iter().map(|(_, action)| action).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
