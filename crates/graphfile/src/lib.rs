//! A graph as a text: TOML, read with an eye on whoever wrote it.
//!
//! ```toml
//! links = ["source.output -> sink.input"]
//!
//! [app.source]
//! type = "source"
//! size = 60        # an option of the class
//! worker = 0       # the worker to run on, if it must be a certain one
//!
//! [app.sink]
//! type = "sink"
//! ```
//!
//! All errors are reported at once, each with its place. The text may come from anybody: its length and the numbers of
//! apps and links are limited, and so is the number of reported errors.
//!
//! What an option may be, its class says, by kind and by path ([`engine::ReadError`]). Words, and places in the text, are made here.

#![forbid(unsafe_code)]

mod complaint;
mod links;
mod options;
mod ports;
mod problem;
mod similar;
mod syntax;
mod value;

pub use problem::{GraphCode, GraphFileError, GraphFileErrors};

use engine::{ClassInfo, Config, Conflict, Graph, GraphError, NAME_MAX, OptionError, Registry, is_name};
use links::{Apps, Links};
use options::{App, ReadOptions};
use problem::{Problems, shown};
use similar::similar;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A graph that was read, and the places of its parts in the text.
#[derive(Clone, Debug)]
pub struct GraphFile {
    /// The graph.
    pub graph: Graph,
    /// Warnings: the graph runs in spite of them.
    pub warnings: Vec<GraphFileError>,
    text: String,
    places: BTreeMap<String, Place>,
}

/// The place of an app in the text.
#[derive(Clone, Debug)]
struct Place {
    header: Range<usize>,
    /// The options, and what lists and tables among them hold: `case`, `case[0]`, `case[0].filter`.
    options: BTreeMap<String, Range<usize>>,
}

impl GraphFile {
    /// Longest text, in bytes.
    pub const LEN_MAX: usize = 4 << 20;
    /// Most apps.
    pub const APPS_MAX: usize = 4096;
    /// Most links.
    pub const LINKS_MAX: usize = 4096;
    /// Highest number of a worker.
    pub const WORKER_MAX: usize = 1023;

    /// Reads a graph whose apps are of the classes of `registry`, and checks all that can be checked without starting it.
    ///
    /// # Errors
    /// All that is wrong, in the order of the text.
    ///
    /// ```
    /// use engine::Registry;
    /// use graphfile::GraphFile;
    ///
    /// let text = "links = [\"a.output -> b.input\"]\n\n[app.a]\ntype = \"source\"\n";
    /// let errors = GraphFile::parse(text, &Registry::new()).unwrap_err();
    /// assert_eq!(errors.0[0].to_string(), "line 1, column 23: no app is called `b`; add an app: [app.b]");
    /// assert_eq!(errors.0[1].to_string(), "line 4, column 8: there is no type `source`");
    /// ```
    pub fn parse(text: &str, registry: &Registry) -> Result<GraphFile, GraphFileErrors> {
        let mut reader = Reader {
            text,
            registry,
            problems: Problems::new(text),
            graph: Graph::new(),
            apps: Apps::new(),
            common: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        if let Some(table) = reader.table() {
            reader.top_level(table);
        }
        let warnings = reader.problems.finish()?;
        Ok(GraphFile { graph: reader.graph, warnings, text: text.to_owned(), places: reader.places })
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The error of an app that was to start, at its place in the text.
    pub fn explain(&self, app: &str, error: &OptionError) -> GraphFileError {
        let place = self.places.get(app).map_or(0..0, |place| place.of(error));
        options::refused(app, place, error).placed(&self.text)
    }
}

impl Place {
    fn of(&self, error: &OptionError) -> Range<usize> {
        error.option.as_ref().map_or_else(|| self.header.clone(), |option| self.of_option(option))
    }

    /// The place of an option or of something inside it, or else of the least that holds it.
    fn of_option(&self, mut option: &str) -> Range<usize> {
        loop {
            match (self.options.get(option), option.rfind(['.', '['])) {
                (Some(place), _) => return place.clone(),
                (None, Some(end)) => option = &option[..end],
                (None, None) => return self.header.clone(),
            }
        }
    }
}

/// The state of reading a text.
struct Reader<'t> {
    text: &'t str,
    registry: &'t Registry,
    problems: Problems<'t>,
    graph: Graph,
    /// All apps that the text names, those that are wrong included: a link to one of these is not wrong for that.
    apps: Apps,
    /// Options that all apps of a class have in common, by class.
    common: BTreeMap<String, DeTable<'t>>,
    places: BTreeMap<String, Place>,
}

/// The parts of an app that were read.
struct ReadApp {
    class: ClassInfo,
    /// `None` if an option is wrong.
    config: Option<Config>,
    worker: Option<usize>,
}

/// Something is wrong, and is among the problems.
struct AlreadyTold;

impl<'t> Reader<'t> {
    /// Texts up to this length are searched for all errors of syntax; of longer ones only the first is reported.
    const RECOVERABLE: usize = 256 << 10;
    /// The most errors of syntax that are reported: a text that is not TOML has one in every line.
    const SYNTAX_TOLD: usize = 8;

    /// Parses the text as a table; `None` if it is not one.
    fn table(&mut self) -> Option<DeTable<'t>> {
        if self.text.len() > GraphFile::LEN_MAX {
            let message = format!("a graph has at most {} bytes", GraphFile::LEN_MAX);
            self.problems.add(|| GraphFileError::new(GraphCode::Limit, 0..0, message));
            return None;
        }
        let (table, errors) = if self.text.len() <= Self::RECOVERABLE {
            DeTable::parse_recoverable(self.text)
        } else {
            match DeTable::parse(self.text) {
                Ok(table) => (table, Vec::new()),
                Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
            }
        };
        // What is read of a text with errors of syntax may lack anything: more complaints about it would mislead.
        let sound = errors.iter().all(syntax::is_repetition);
        for (number, problem) in syntax::problems(self.text, &errors).into_iter().enumerate() {
            if number < Self::SYNTAX_TOLD {
                self.problems.add(|| problem);
            } else {
                self.problems.pass_over();
            }
        }
        sound.then(|| table.into_inner())
    }

    fn top_level(&mut self, table: DeTable<'t>) {
        let mut links = None;
        let mut apps = None;
        let mut commons = Vec::new();
        for (key, value) in table {
            match &**key.get_ref() {
                "links" => links = Some(value),
                "app" => apps = Some(value),
                class if self.registry.class(class).is_some_and(|class| !class.common.is_empty()) => {
                    commons.push((class.to_owned(), key.span()));
                    self.common(class, value);
                }
                other => self.problems.add(|| unknown_key(other, key.span())),
            }
        }
        match apps {
            Some(apps) => self.apps(apps),
            // Whoever has misspelled it has been told so.
            None if self.problems.any_errors() => {}
            None => self.problems.add(|| no_app(0..0)),
        }
        // An app whose type is wrong may be the one that is missing.
        if !self.problems.any_errors() {
            for (class, place) in commons {
                if !self.apps.values().flatten().any(|known| known.name == class.as_str()) {
                    self.problems.warn(|| no_app_of(&class, place));
                }
            }
        }
        self.links(links);
        self.conflicts();
    }

    /// The table of options that all apps of a class have in common.
    fn common(&mut self, class: &str, value: Spanned<DeValue<'t>>) {
        let span = value.span();
        let DeValue::Table(table) = value.into_inner() else {
            let message = format!("`{class}` must be a table at top level");
            self.problems
                .add(|| shape(span, &message, &format!("write [{class}], and its options below it")));
            return;
        };
        let options = self.registry.class(class).map_or(&[][..], |class| class.common);
        for key in table.keys().filter(|key| !options.contains(&&**key.get_ref())) {
            let message = format!(
                "`{}` is no option that all apps of type `{class}` have in common",
                shown(key.get_ref())
            );
            let help = format!(
                "in [{class}] there can be `{}`; others stand below [app.NAME]",
                options.join("`, `")
            );
            self.problems
                .add(|| GraphFileError::new(GraphCode::UnknownOption, key.span(), message).help(help));
        }
        let table = table.into_iter().filter(|(key, _)| options.contains(&&**key.get_ref())).collect();
        self.common.insert(class.to_owned(), table);
    }

    /// Puts the options that all apps of a class have in common among those of an app, which must not have them itself.
    fn add_common(&mut self, app: &str, class: &ClassInfo, table: &mut DeTable<'t>) {
        for option in class.common {
            if let Some((key, _)) = table.remove_entry(*option) {
                self.problems.add(|| {
                    let message = format!("`{option}` stands in the table of app `{app}`");
                    let help = format!("write it below a line [{}], for all apps of this type", class.name);
                    GraphFileError::new(GraphCode::UnknownOption, key.span(), message)
                        .help(help)
                        .of(app, Some(option))
                });
            }
        }
        let common = self.common.get(&*class.name).into_iter().flatten();
        table.extend(common.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// Apps that want for themselves what others use as well.
    fn conflicts(&mut self) {
        let Reader { problems, graph, places, .. } = self;
        for conflict in graph.conflicts() {
            let Conflict { app, wanted, other, used, .. } = &conflict;
            let place_of =
                |app: &str, option: &str| places.get(app).map_or(0..0, |place| place.of_option(option));
            let message =
                format!("`{}` of app `{app}`: {}", wanted.option, conflict.as_option_error().message);
            problems.add(|| {
                GraphFileError::new(GraphCode::InUse, place_of(app, wanted.option), message)
                    .also(place_of(other, used.option), format!("app `{other}`"))
                    .of(app, Some(wanted.option))
            });
        }
    }

    fn apps(&mut self, value: Spanned<DeValue<'t>>) {
        let span = value.span();
        let DeValue::Table(apps) = value.into_inner() else {
            self.problems.add(|| shape(span, "`app` must be a table for each app", "write [app.NAME]"));
            return;
        };
        if apps.len() > GraphFile::APPS_MAX {
            let message = format!("{} apps; there can be {} at most", apps.len(), GraphFile::APPS_MAX);
            self.problems.add(|| GraphFileError::new(GraphCode::Limit, span, message));
            return;
        }
        if apps.is_empty() {
            self.problems.add(|| no_app(span));
        }
        for (name, value) in apps {
            self.app(name, value);
        }
    }

    fn app(&mut self, name: Spanned<toml::de::DeString<'t>>, value: Spanned<DeValue<'t>>) {
        let (place, header) = (name.span(), value.span());
        let name = name.into_inner();
        let DeValue::Table(table) = value.into_inner() else {
            let help = format!("write [app.NAME], and `{}` in a line below it", shown(&name));
            self.problems.add(|| shape(place, "an app must be a table", &help));
            return;
        };
        if !is_name(&name, NAME_MAX) {
            let message = GraphError::BadAppName(shown(&name)).to_string();
            self.problems.add(|| GraphFileError::new(GraphCode::BadName, place, message));
            return;
        }
        let app = self.read_app(&name, header, table);
        let class = app.as_ref().map(|app| app.class.clone());
        if let Some(ReadApp { config: Some(config), worker, .. }) = app
            && let Ok(spec) = self.graph.add(&name, config)
        {
            spec.worker = worker;
        }
        self.apps.insert(name.into_owned(), class);
    }

    /// Reads the table of an app; as much of it as is right.
    fn read_app(&mut self, name: &str, header: Range<usize>, mut table: DeTable<'t>) -> Option<ReadApp> {
        let class = self.class(name, &header, table.remove("type"));
        let worker = self.worker(name, table.remove("worker"));
        let has_links = class.as_ref().is_some_and(|class| {
            self.registry
                .option_names(&class.name)
                .is_none_or(|options| options.iter().any(|option| option == "links"))
        });
        if !has_links && let Some((key, _)) = table.remove_entry("links") {
            self.problems.add(|| links_in_app(name, key.span()));
        }
        let class = class?;
        self.add_common(name, &class, &mut table);
        let place = Place { header: header.clone(), options: options::places(&table) };
        let app = App { name, class: &class.name, text: self.text, header, places: &place.options };
        let read = options::read(&app, self.registry, table, &mut self.problems);
        match read.as_ref().map(|read| (read, read.config.review())) {
            Some((read, Err(error))) => {
                for error in error.each().filter(|error| !read.explains(error)) {
                    self.problems.add(|| options::refused(name, place.of(error), error));
                }
            }
            Some((read, Ok(warnings))) if read.is_whole() => warnings.iter().for_each(|warning| {
                self.problems.warn(|| options::odd(name, place.of_option(&warning.option), warning));
            }),
            _ => {}
        }
        let config = read.and_then(ReadOptions::whole);
        if self.problems.any_errors() {
            // Whatever is wrong in common has been told now.
            self.common.remove(&*class.name);
        }
        self.places.insert(name.to_owned(), place);
        Some(ReadApp { class, config, worker: worker.ok()? })
    }

    fn class(
        &mut self,
        name: &str,
        header: &Range<usize>,
        value: Option<Spanned<DeValue<'t>>>,
    ) -> Option<ClassInfo> {
        let Some(value) = value else {
            self.problems.add(|| no_type(name, header.clone()));
            return None;
        };
        let DeValue::String(written) = value.get_ref() else {
            let message = format!("`type` of app `{name}` must be a text");
            let problem = || GraphFileError::new(GraphCode::Shape, value.span(), message);
            self.problems.add(|| problem().help("write type = \"...\"").of(name, Some("type")));
            return None;
        };
        let class = self.registry.class(written).cloned();
        if class.is_none() {
            self.problems.add(|| unknown_type(name, written, value.span(), self.registry));
        }
        class
    }

    /// The worker that an app is to run on, if any.
    fn worker(
        &mut self,
        name: &str,
        value: Option<Spanned<DeValue<'t>>>,
    ) -> Result<Option<usize>, AlreadyTold> {
        let Some(value) = value else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|&number| number <= GraphFile::WORKER_MAX);
        if number.is_none() {
            let message = format!(
                "`worker` of app `{name}` must be a whole number from 0 to {}",
                GraphFile::WORKER_MAX
            );
            let problem = || GraphFileError::new(GraphCode::OptionType, value.span(), message);
            self.problems.add(|| problem().of(name, Some("worker")));
        }
        number.map(Some).ok_or(AlreadyTold)
    }

    fn links(&mut self, value: Option<Spanned<DeValue<'t>>>) {
        let Reader { text, problems, graph, apps, places, registry, .. } = self;
        let mut links = Links::new(text, apps);
        let mut any = false;
        let mut links_at = 0..0;
        if let Some(value) = value {
            let span = value.span();
            links_at = span.clone();
            let DeValue::Array(items) = value.into_inner() else {
                problems
                    .add(|| shape(span, "`links` must be a list", "write links = [\"a.output -> b.input\"]"));
                return;
            };
            if items.len() > GraphFile::LINKS_MAX {
                let message = format!("{} links; there can be {} at most", items.len(), GraphFile::LINKS_MAX);
                problems.add(|| GraphFileError::new(GraphCode::Limit, span, message));
                return;
            }
            any = !items.is_empty();
            for item in items {
                let DeValue::String(link) = item.get_ref() else {
                    problems
                        .add(|| shape(item.span(), "a link must be a text", "write \"a.output -> b.input\""));
                    continue;
                };
                if let Some(link) = links.check(link, item.span(), problems) {
                    // An app that is wrong is not in the graph: then the graph is not used.
                    let _ = graph.connect(link);
                }
            }
        }
        // A link that is wrong may be the one that is missing.
        if problems.any_errors() {
            return;
        }
        for (name, app) in graph.apps() {
            if let Err(error) = app.config.check_ports(&graph.linked_ports(name)) {
                let Some(place) = places.get(name) else { continue };
                for error in error.each() {
                    problems.add(|| options::refused(name, place.of(error), error));
                }
            }
        }
        for (name, place) in places.iter().filter(|(name, _)| !links.touch(name)) {
            problems.warn(|| no_link(name, place.header.clone(), any));
        }
        if !problems.any_errors() {
            let header = |app: &str| places.get(app).map_or(0..0, |place| place.header.clone());
            ports::review(graph, registry, header, links_at, problems);
        }
    }
}

fn shape(span: Range<usize>, message: &str, help: &str) -> GraphFileError {
    GraphFileError::new(GraphCode::Shape, span, message).help(help)
}

fn no_app(span: Range<usize>) -> GraphFileError {
    let problem = GraphFileError::new(GraphCode::Empty, span, "the graph has no app");
    problem.help("add one: a line [app.NAME], and a line type = \"...\" below it")
}

/// What stands in the table is not even checked.
fn no_app_of(class: &str, span: Range<usize>) -> GraphFileError {
    let message = format!("[{class}] is for apps of type `{class}`, and there is none");
    GraphFileError::new(GraphCode::Odd, span, message).help("add such an app, or leave the table out")
}

fn unknown_key(key: &str, span: Range<usize>) -> GraphFileError {
    let problem = GraphFileError::new(GraphCode::UnknownKey, span, format!("unknown key `{}`", shown(key)));
    let problem = problem.label("at top level there are `links`, and a table [app.NAME] for each app");
    match similar(key, ["links", "app"].into_iter()) {
        Some(similar) => problem.help(format!("did you mean `{similar}`?")),
        None => problem,
    }
}

fn links_in_app(name: &str, span: Range<usize>) -> GraphFileError {
    GraphFileError::new(GraphCode::LinksInApp, span, format!("`links` stands in the table of app `{name}`"))
        .label("everything below [app...] belongs to that app")
        .help("move `links = [...]` above the first [app...] table")
        .of(name, Some("links"))
}

fn no_type(name: &str, header: Range<usize>) -> GraphFileError {
    GraphFileError::new(GraphCode::NoType, header, format!("app `{name}` has no type"))
        .help("add a line type = \"...\" below [app...]")
        .of(name, Some("type"))
}

fn unknown_type(name: &str, written: &str, span: Range<usize>, registry: &Registry) -> GraphFileError {
    let message = format!("there is no type `{}`", shown(written));
    let problem = GraphFileError::new(GraphCode::UnknownType, span, message).of(name, Some("type"));
    match similar(written, registry.classes().map(|class| &*class.name)) {
        Some(similar) => problem.help(format!("did you mean `{similar}`?")),
        None => {
            let types: Vec<&str> = registry.classes().map(|class| &*class.name).collect();
            let help = format!("the types that there are: `{}`", types.join("`, `"));
            if types.is_empty() { problem } else { problem.help(help) }
        }
    }
}

fn no_link(name: &str, header: Range<usize>, any: bool) -> GraphFileError {
    let problem = GraphFileError::new(GraphCode::NoLink, header, format!("app `{name}` has no link"));
    let problem = problem.of(name, None);
    if any { problem } else { problem.help("add `links = [...]` above the first [app...] table") }
}

#[cfg(test)]
mod tests;
