//! What the screen shows, apart from how: the history, the moment looked at, what is selected and how it is sorted.

use super::rules::{self, RuleRates};
use super::watch::{Moment, Seen};
use observe::{AppRates, History, LinkRates};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::time::Duration;

/// Moments that are kept.
const MOMENTS_MAX: usize = 600;
/// Rows that they have together: some 100 MB at most.
const ROWS_MAX: usize = 400_000;

/// The state of the screen.
#[derive(Debug)]
pub(super) struct View {
    history: History<Moment>,
    /// The moment that is looked at while paused.
    paused_at: Option<usize>,
    pub(super) focus: Pane,
    /// The file of the instance that is selected.
    instance: Option<PathBuf>,
    /// The names of the app and the link that are.
    app: Option<String>,
    link: Option<String>,
    /// The number of the rule that is selected.
    rule: Option<usize>,
    /// Whether only links of the selected app are shown.
    pub(super) is_narrowed: bool,
    sorts: [Sort; 4],
    pub(super) is_helping: bool,
    pub(super) interval: Duration,
    pub(super) has_colour: bool,
    /// What went wrong with the last look.
    pub(super) problem: Option<String>,
}

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Instances,
    Apps,
    Links,
    Rules,
}

/// By what rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Name,
    Cpu,
    Rate,
    Drops,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Help,
    Pause,
    Back,
    Forward,
    NextPane,
    PreviousPane,
    Up,
    Down,
    Narrow,
    Widen,
    NextSort,
}

impl View {
    /// A view of nothing yet.
    pub(super) fn new(interval: Duration, has_colour: bool) -> Self {
        View {
            history: History::new(MOMENTS_MAX, ROWS_MAX),
            paused_at: None,
            focus: Pane::Instances,
            instance: None,
            app: None,
            link: None,
            rule: None,
            is_narrowed: false,
            sorts: [Sort::Name, Sort::Cpu, Sort::Rate, Sort::Rate],
            is_helping: false,
            interval,
            has_colour,
            problem: None,
        }
    }

    /// Adds what was seen just now. While paused, the moment looked at stays, unless it is forgotten.
    pub(super) fn push(&mut self, mut moment: Moment) {
        moment.instances.iter_mut().for_each(rules::keep_busiest);
        let weight = moment.weight();
        let gone = self.history.push(moment, weight);
        self.paused_at = self.paused_at.map(|at| at.saturating_sub(gone));
        self.problem = None;
    }

    /// Does what a key asks for; `false` ends.
    pub(super) fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Quit => return false,
            Action::Help => self.is_helping = !self.is_helping,
            Action::Pause => self.paused_at = if self.is_paused() { None } else { self.latest() },
            Action::Back => self.step(|at| at.saturating_sub(1)),
            Action::Forward => self.step(|at| at + 1),
            Action::NextPane => self.focus = self.pane_after(1),
            Action::PreviousPane => self.focus = self.pane_after(self.panes().len() - 1),
            Action::Up => self.select(|at| at.saturating_sub(1)),
            Action::Down => self.select(|at| at + 1),
            Action::Narrow => self.is_narrowed = self.focus == Pane::Apps && !self.is_narrowed,
            Action::Widen if self.is_helping => self.is_helping = false,
            Action::Widen => self.is_narrowed = false,
            Action::NextSort => self.sorts[self.focus as usize] = self.sort().next(self.focus),
        }
        true
    }

    /// The panes that there are: a wall has rules.
    fn panes(&self) -> &'static [Pane] {
        const ALL: &[Pane] = &[Pane::Instances, Pane::Apps, Pane::Links, Pane::Rules];
        if self.has_rules() { ALL } else { &ALL[..3] }
    }

    /// Whether the selected instance is a wall that has told of its rules.
    pub(super) fn has_rules(&self) -> bool {
        self.instance().is_some_and(|seen| !seen.rules.is_empty())
    }

    /// The pane so many after the one in focus.
    fn pane_after(&self, count: usize) -> Pane {
        let panes = self.panes();
        let at = panes.iter().position(|&pane| pane == self.focus).unwrap_or_default();
        panes[(at + count) % panes.len()]
    }

    fn latest(&self) -> Option<usize> {
        self.history.len().checked_sub(1)
    }

    /// To another moment, which pauses.
    fn step(&mut self, to: impl Fn(usize) -> usize) {
        let Some(latest) = self.latest() else { return };
        self.paused_at = Some(to(self.at()).min(latest));
    }

    /// The index of the moment that is shown.
    fn at(&self) -> usize {
        self.paused_at.or(self.latest()).unwrap_or(0)
    }

    /// Whether the screen stays as it is.
    pub(super) fn is_paused(&self) -> bool {
        self.paused_at.is_some()
    }

    /// How long before the latest moment the one shown is.
    pub(super) fn back(&self) -> Duration {
        let latest = self.latest().and_then(|at| self.history.get(at)).map_or(0, |moment| moment.at_unix_ns);
        let shown = self.moment().map_or(0, |moment| moment.at_unix_ns);
        Duration::from_nanos(latest.saturating_sub(shown))
    }

    /// The moment that is shown.
    pub(super) fn moment(&self) -> Option<&Moment> {
        self.history.get(self.at())
    }

    /// By what the pane in focus is sorted.
    pub(super) fn sort(&self) -> Sort {
        self.sort_of(self.focus)
    }

    /// By what a pane is sorted.
    pub(super) fn sort_of(&self, pane: Pane) -> Sort {
        self.sorts[pane as usize]
    }

    /// The instances, sorted.
    pub(super) fn instances(&self) -> Vec<&Seen> {
        let mut rows: Vec<&Seen> =
            self.moment().map_or(Vec::new(), |moment| moment.instances.iter().collect());
        rows.sort_by(|a, b| match self.sort_of(Pane::Instances) {
            Sort::Name => Ordering::Equal,
            Sort::Cpu => most_first(a.rates.cpu, b.rates.cpu),
            Sort::Rate => most_first(a.rates.packets_per_s, b.rates.packets_per_s),
            Sort::Drops => most_first(a.rates.drops_per_s, b.rates.drops_per_s),
        });
        rows
    }

    /// The selected instance; the first if it is not there.
    pub(super) fn instance(&self) -> Option<&Seen> {
        let rows = self.instances();
        rows.iter().find(|seen| Some(&seen.path) == self.instance.as_ref()).or(rows.first()).copied()
    }

    /// The apps of the selected instance, sorted.
    pub(super) fn apps(&self) -> Vec<&AppRates> {
        let mut rows: Vec<&AppRates> =
            self.instance().map_or(Vec::new(), |seen| seen.rates.apps.iter().collect());
        let traffic = |app: &AppRates| match (app.rx_per_s, app.tx_per_s) {
            (Some(rx), Some(tx)) => Some(rx.max(tx)),
            (rx, tx) => rx.or(tx),
        };
        rows.sort_by(|a, b| match self.sort_of(Pane::Apps) {
            Sort::Name => Ordering::Equal,
            Sort::Cpu => most_first(a.cpu, b.cpu),
            Sort::Rate => most_first(traffic(a), traffic(b)),
            Sort::Drops => most_first(a.drops_per_s, b.drops_per_s),
        });
        rows
    }

    /// The selected app; the first if it is not there.
    pub(super) fn app(&self) -> Option<&AppRates> {
        let rows = self.apps();
        rows.iter().find(|app| Some(&app.name) == self.app.as_ref()).or(rows.first()).copied()
    }

    /// The links of the selected instance, or of the selected app only, sorted.
    pub(super) fn links(&self) -> Vec<&LinkRates> {
        let only = self.app().filter(|_| self.is_narrowed);
        let all = self.instance().map_or(&[][..], |seen| &seen.rates.links);
        let mut rows: Vec<&LinkRates> =
            all.iter().filter(|link| only.is_none_or(|app| link.touches(&app.name))).collect();
        rows.sort_by(|a, b| match self.sort_of(Pane::Links) {
            Sort::Drops => most_first(a.drops_per_s, b.drops_per_s),
            Sort::Rate => most_first(a.tx_per_s, b.tx_per_s),
            Sort::Name | Sort::Cpu => Ordering::Equal,
        });
        rows
    }

    /// The rules of the selected instance, sorted.
    pub(super) fn rules(&self) -> Vec<RuleRates> {
        let mut rows = self.instance().map_or(Vec::new(), |seen| seen.rules.clone());
        if self.sort_of(Pane::Rules) != Sort::Name {
            rules::busiest(&mut rows);
        }
        rows
    }

    /// The index of the selected row of a pane.
    pub(super) fn selected(&self, pane: Pane) -> usize {
        let at = match pane {
            Pane::Instances => {
                self.instances().iter().position(|seen| Some(&seen.path) == self.instance.as_ref())
            }
            Pane::Apps => self.apps().iter().position(|app| Some(&app.name) == self.app.as_ref()),
            Pane::Links => self.links().iter().position(|link| Some(&link.name) == self.link.as_ref()),
            Pane::Rules => self.rules().iter().position(|rule| Some(rule.number) == self.rule),
        };
        at.unwrap_or(0)
    }

    /// To another row of the pane in focus. What is selected is remembered by name: rows move when rates change.
    fn select(&mut self, to: impl Fn(usize) -> usize) {
        let at = to(self.selected(self.focus));
        match self.focus {
            Pane::Instances => {
                let rows = self.instances();
                self.instance = rows.get(at.min(rows.len().saturating_sub(1))).map(|seen| seen.path.clone());
            }
            Pane::Apps => {
                let rows = self.apps();
                self.app = rows.get(at.min(rows.len().saturating_sub(1))).map(|app| app.name.clone());
            }
            Pane::Links => {
                let rows = self.links();
                self.link = rows.get(at.min(rows.len().saturating_sub(1))).map(|link| link.name.clone());
            }
            Pane::Rules => {
                let rows = self.rules();
                self.rule = rows.get(at.min(rows.len().saturating_sub(1))).map(|rule| rule.number);
            }
        }
    }

    /// Packets per second of the selected instance, up to the moment shown, the latest last; `None` where nobody knows.
    pub(super) fn rates(&self) -> Vec<Option<f64>> {
        let Some(path) = self.instance().map(|seen| &seen.path) else { return Vec::new() };
        let rate = |moment: &Moment| {
            moment.instances.iter().find(|seen| seen.path == *path).and_then(|seen| seen.rates.packets_per_s)
        };
        self.history.iter().take(self.at() + 1).map(rate).collect()
    }
}

impl Sort {
    fn next(self, pane: Pane) -> Self {
        match self {
            Sort::Name if matches!(pane, Pane::Links | Pane::Rules) => Sort::Rate,
            Sort::Rate if pane == Pane::Rules => Sort::Name,
            Sort::Name => Sort::Cpu,
            Sort::Cpu => Sort::Rate,
            Sort::Rate => Sort::Drops,
            Sort::Drops => Sort::Name,
        }
    }

    /// In one word.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Cpu => "cpu",
            Sort::Rate => "rate",
            Sort::Drops => "drops",
        }
    }
}

/// What is not known comes last.
fn most_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0))
}
