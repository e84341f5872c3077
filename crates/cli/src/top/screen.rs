//! How the screen looks: instances, then apps and links of the selected one. What does not fit is left out, never an error.

use super::tables;
use super::view::{Pane, View};
use crate::units::{number, one_line, time_of_day, uptime};
use observe::{AppRates, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline};

/// Less than this shows one line only.
const WIDTH_MIN: u16 = 40;
const HEIGHT_MIN: u16 = 8;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        return draw_summary(frame, view, area);
    }
    let is_tall = area.height >= 20;
    let facts = facts(view);
    // A sixth, and what the others leave.
    let others = height_of(view.apps().len()).saturating_add(height_of(view.links().len()));
    let spare = area.height.saturating_sub(others.saturating_add(facts.len() as u16 + 7));
    let instances = view.instances().len().clamp(1, usize::from(spare.max(area.height / 6)).max(1)) as u16;
    // Too low for three panes, or even two: the one in focus has it all.
    let is_low = area.height < 14;
    let [title, top, told, graph, middle, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(if is_low { 0 } else { instances + 3 }),
        Constraint::Length(if is_tall { facts.len() as u16 } else { 0 }),
        Constraint::Length(if is_tall { 2 } else { 0 }),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(frame, view, title);
    if is_low {
        draw_pane(frame, view, view.focus, middle);
    } else {
        draw_pane(frame, view, Pane::Instances, top);
        draw_apps_and_links(frame, view, middle);
    }
    frame.render_widget(Paragraph::new(facts), told);
    draw_graph(frame, view, graph);
    frame.render_widget(Paragraph::new(KEYS).style(dim(view)), keys);
    if view.is_helping {
        draw_help(frame, area);
    }
}

/// All that fits into a very small terminal.
fn draw_summary(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let mut lines = match view.instance() {
        Some(seen) => vec![
            format!("{} {}", one_line(&seen.name), seen.state.as_str()),
            format!("{} packets/s", crate::units::rate(seen.rates.packets_per_s)),
            format!("{} drops/s", tables::marked(seen.rates.drops_per_s, &seen.rates.drops)),
        ],
        None => vec!["no instances".to_owned()],
    };
    lines.push(format!("(needs {WIDTH_MIN} x {HEIGHT_MIN})"));
    frame.render_widget(Paragraph::new(lines.into_iter().map(Line::from).collect::<Vec<_>>()), area);
}

fn draw_title(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let at =
        view.moment().map_or(String::new(), |moment| format!("{} UTC  ", time_of_day(moment.at_unix_ns)));
    let every = humantime::format_duration(view.interval);
    let unreadable = view.moment().map_or(0, |moment| moment.unreadable.len());
    let mut text = format!("sluss top  {at}every {every}");
    if view.is_paused() {
        text += &format!("  PAUSED, {} back", uptime(view.back()));
    }
    if unreadable > 0 {
        text += &format!("  ! {unreadable} unreadable");
    }
    if let Some(problem) = &view.problem {
        text += &format!("  ! {}", one_line(problem));
    }
    let is_special = view.is_paused() || view.problem.is_some();
    let style = Style::new().add_modifier(if is_special { Modifier::REVERSED } else { Modifier::BOLD });
    frame.render_widget(Paragraph::new(text).style(style), area);
}

/// One beneath the other; where there is no room for both, the one in focus.
fn draw_apps_and_links(frame: &mut Frame<'_>, view: &View, area: Rect) {
    if area.height < 10 {
        let pane = if view.focus == Pane::Instances { Pane::Apps } else { view.focus };
        return draw_pane(frame, view, pane, area);
    }
    if view.has_rules() {
        // A wall has few apps and links, and many rules.
        let third = |rows: usize| Constraint::Length(height_of(rows).min(area.height / 3));
        let heights = [third(view.apps().len()), third(view.links().len()), Constraint::Min(0)];
        let [apps, links, rules] = Layout::vertical(heights).areas(area);
        draw_pane(frame, view, Pane::Apps, apps);
        draw_pane(frame, view, Pane::Links, links);
        return draw_pane(frame, view, Pane::Rules, rules);
    }
    let [apps, links] = shares(area.height, [view.apps().len(), view.links().len()].map(height_of));
    let [apps, links] = Layout::vertical([apps, links].map(Constraint::Length)).areas(area);
    draw_pane(frame, view, Pane::Apps, apps);
    draw_pane(frame, view, Pane::Links, links);
}

/// The height of a pane with so many rows: a frame and the names of the columns.
fn height_of(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(3)
}

/// The heights of two panes that have so much to show: a half each, unless one needs less; then the other has the rest.
fn shares(height: u16, [upper, lower]: [u16; 2]) -> [u16; 2] {
    let half = height / 2;
    let upper = if upper <= half { upper } else { half.max(height.saturating_sub(lower)).min(upper) };
    [upper, height - upper]
}

/// What the rows of a pane are, and which of them want attention.
fn rows(view: &View, pane: Pane, width: usize) -> (Vec<String>, Vec<bool>) {
    match pane {
        Pane::Instances => {
            let rows = view.instances();
            let alarms = rows.iter().map(|seen| {
                seen.state == State::Crashed || seen.lasting.any() || tables::is_alarming(&seen.rates.drops)
            });
            (tables::instances(rows.iter().copied()).lines(width), alarms.collect())
        }
        Pane::Apps => {
            let rows = view.apps();
            let lasting = view.instance().map(|seen| seen.lasting.clone()).unwrap_or_default();
            let is_alarming = |app: &AppRates| {
                app.state == engine::AppState::Down
                    || lasting.of_app(&app.name).is_some()
                    || tables::is_alarming(&app.drops)
            };
            let alarms = rows.iter().map(|app| is_alarming(app)).collect();
            let state = view.instance().map_or(State::Running, |seen| seen.state);
            (tables::apps(state, &lasting, rows.iter().copied()).lines(width), alarms)
        }
        Pane::Links => {
            let rows = view.links();
            let alarms = rows.iter().map(|link| tables::is_alarming(&link.drops));
            let state = view.instance().map_or(State::Running, |seen| seen.state);
            (tables::links(state, rows.iter().copied()).lines(width), alarms.collect())
        }
        Pane::Rules => {
            let rows = view.rules();
            (tables::rules(&rows).lines(width), vec![false; rows.len()])
        }
    }
}

fn draw_pane(frame: &mut Frame<'_>, view: &View, pane: Pane, area: Rect) {
    let is_focus = view.focus == pane;
    let border = if is_focus { Style::new().add_modifier(Modifier::BOLD) } else { dim(view) };
    let block = Block::bordered().title(pane_title(view, pane)).border_style(border);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    // One column for the mark of what is selected.
    let (lines, alarms) = rows(view, pane, usize::from(inside.width.saturating_sub(1)));
    let selected = view.selected(pane);
    let visible = usize::from(inside.height.saturating_sub(1));
    // The selected row is always among those that are seen.
    let first = (selected + 1).saturating_sub(visible);
    let title = lines.iter().take(1).map(|line| Line::styled(format!(" {line}"), dim(view)));
    let rows = lines.iter().skip(1).zip(alarms).enumerate().skip(first).take(visible);
    let rows = rows.map(|(index, (line, alarm))| {
        let is_selected = index == selected;
        let mark = if is_selected { ">" } else { " " };
        let mut style = style_of(view, alarm);
        if is_selected && is_focus {
            style = style.add_modifier(Modifier::REVERSED);
        }
        Line::styled(format!("{mark}{line}"), style)
    });
    frame.render_widget(Paragraph::new(title.chain(rows).collect::<Vec<_>>()), inside);
}

fn pane_title(view: &View, pane: Pane) -> String {
    let sort = view.sort_of(pane).as_str();
    let Some(seen) = view.instance() else {
        return match pane {
            Pane::Instances => " no instances: `sluss run GRAPH` starts one ".to_owned(),
            Pane::Apps => " apps ".to_owned(),
            Pane::Links => " links ".to_owned(),
            Pane::Rules => " rules ".to_owned(),
        };
    };
    let instance = one_line(&seen.name);
    match pane {
        Pane::Instances => format!(" instances: {}, by {sort} ", view.instances().len()),
        Pane::Apps => format!(" apps of {instance}: {}, by {sort} ", view.apps().len()),
        Pane::Links => {
            let app = view.app().filter(|_| view.is_narrowed).map(|app| one_line(&app.name));
            let of = app.map_or(instance, |app| format!("app {app}"));
            format!(" links of {of}: {}, by {sort} ", view.links().len())
        }
        Pane::Rules => {
            let (all, kept) = (seen.rules_in_all, seen.rules.len());
            let only = if kept < all { format!(", the busiest {kept}") } else { String::new() };
            format!(" rules of {instance}: {all}{only}, by {sort} ")
        }
    }
}

/// Workers, drops by reason, and what the selected app counts.
fn facts(view: &View) -> Vec<Line<'_>> {
    let Some(seen) = view.instance() else { return vec![Line::default(); 2] };
    let workers: Vec<String> =
        seen.rates.workers.iter().map(|worker| tables::worker(worker, &seen.lasting)).collect();
    let drops = tables::drops(&seen.rates);
    let alarm = tables::is_alarming(&seen.rates.drops);
    let drops = format!(" drops: {}", drops.unwrap_or_else(|| "none".to_owned()));
    let mut lines =
        vec![Line::from(format!(" {}", workers.join("; "))), Line::styled(drops, style_of(view, alarm))];
    if let Some(app) = view.app() {
        let alarm = tables::is_alarming(&app.drops);
        let counted = tables::counted_by(app).unwrap_or_else(|| "counts nothing".to_owned());
        lines.push(Line::styled(format!(" {}: {counted}", one_line(&app.name)), style_of(view, alarm)));
    }
    lines
}

/// The rate of the selected instance, as far back as there is room, the latest at the right.
fn draw_graph(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let rates = view.rates();
    let highest = rates.iter().flatten().copied().fold(0.0, f64::max);
    let label = format!(" {} packets/s max ", number(highest));
    let [text, bars] =
        Layout::horizontal([Constraint::Length(label.chars().count() as u16), Constraint::Fill(1)])
            .areas(area);
    frame.render_widget(Paragraph::new(label).style(dim(view)), text);
    let room = usize::from(bars.width);
    let shown = &rates[rates.len().saturating_sub(room)..];
    let blank = std::iter::repeat_n(None, room - shown.len());
    let bar = |rate: Option<f64>| rate.map(|rate| rate as u64);
    let data: Vec<Option<u64>> = blank.chain(shown.iter().copied().map(bar)).collect();
    frame.render_widget(Sparkline::default().data(data).max((highest as u64).max(1)), bars);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let help = if width_of(HELP) <= area.width { HELP } else { NARROW_HELP };
    let (width, height) = (width_of(help).min(area.width), (help.len() as u16 + 2).min(area.height));
    let middle = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    let block = Block::bordered().title(" help ").border_style(Style::new().add_modifier(Modifier::BOLD));
    let lines: Vec<Line<'_>> = help.iter().map(|line| Line::from(format!(" {line}"))).collect();
    frame.render_widget(Clear, middle);
    frame.render_widget(Paragraph::new(lines).block(block), middle);
}

/// With a frame, and a blank at each side.
fn width_of(help: &[&str]) -> u16 {
    help.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 4
}

const KEYS: &str = "q quit  ? help  space pause  ←→ step  tab pane  ↑↓ select  s sort";

const HELP: &[&str] = &[
    "q, ctrl-c  quit             ?      this help, and away",
    "space      pause, go on     ← →    a moment back, forward",
    "tab        next pane        ↑ ↓    select (j, k)",
    "enter      links of the selected app only; esc: all",
    "s          sort the pane by cpu, rate, drops, name",
    "",
    "PPS     of an instance: packets that came to their end",
    "WIRE BIT/S  as on an Ethernet, 24 bytes more a packet;",
    "        of an instance: on its busiest link",
    "CPU     of an instance: of one core, all threads;",
    "        of an app: of its worker's time, an estimate",
    "FILL    packets in a breath, as a share of the burst",
    "P50 P99 of turns in the interval, exact to a quarter",
    "!       packets are dropped that were to arrive, an app",
    "        is down, or its turn lasts and holds up others",
    "-       not known: new, replaced, or crashed",
];

/// For a terminal of [`WIDTH_MIN`] columns; what does not fit into its lines is what the columns mean.
const NARROW_HELP: &[&str] = &[
    "q        quit (ctrl-c)",
    "?        this help, and away",
    "space    pause, go on",
    "← →      a moment back, forward",
    "tab      next pane",
    "↑ ↓ j k  select",
    "enter    links of this app; esc: all",
    "s        sort the pane",
    "!        drops, app down, turn lasts",
    "-        not known",
    "PPS      packets that came to an end",
    "FILL     packets in a breath",
    "P50 P99  of turns in the interval",
];

/// For what wants attention, or else is as usual.
fn style_of(view: &View, alarm: bool) -> Style {
    match alarm {
        true if view.has_colour => Style::new().add_modifier(Modifier::BOLD).fg(Color::Red),
        true => Style::new().add_modifier(Modifier::BOLD),
        false => Style::new(),
    }
}

/// For what is always there.
fn dim(view: &View) -> Style {
    if view.has_colour { Style::new().fg(Color::Cyan) } else { Style::new() }
}
