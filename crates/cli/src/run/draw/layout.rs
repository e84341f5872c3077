//! Where each app stands in a drawing, and where each link leads. Units are those of the drawing, about a pixel.

use super::linked_ports;
use super::rank::{Place, Ranks, rank};
use engine::Graph;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A graph, laid out.
#[derive(Debug)]
pub(super) struct Layout<'g> {
    pub(super) apps: Vec<AppBox<'g>>,
    pub(super) lines: Vec<Line>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An app.
#[derive(Debug)]
pub(super) struct AppBox<'g> {
    pub(super) name: &'g str,
    pub(super) class: Cow<'static, str>,
    pub(super) worker: Option<usize>,
    pub(super) inputs: Vec<&'g str>,
    pub(super) outputs: Vec<&'g str>,
    /// The upper left corner.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A link.
#[derive(Debug)]
pub(super) struct Line {
    /// The points that it passes, from output to input.
    pub(super) points: Vec<(f64, f64)>,
    /// How far down it leads around what stands in its way, where it closes a loop.
    pub(super) below: Option<f64>,
}

/// Width of a letter, of the name of an app and of a port.
const NAME: f64 = 7.9;
const PORT: f64 = 6.1;
/// From the top of a box to its first port, and from one port to the next.
pub(super) const TITLE: f64 = 42.0;
pub(super) const ROW: f64 = 15.0;
/// Around the drawing; between boxes of a column; between columns.
const MARGIN: f64 = 24.0;
const GAP: f64 = 26.0;
const COLUMN_GAP: f64 = 64.0;
/// What a link takes up that passes a column.
const PASSING: f64 = 4.0;
/// How often places are drawn towards what they are linked to.
const PULLS: usize = 24;

impl AppBox<'_> {
    /// Where links begin and end: the middle of a port's row, at the edge of the box.
    fn port(&self, ports: &[&str], port: &str, x: f64) -> (f64, f64) {
        let row = ports.iter().position(|&name| name == port).unwrap_or(0);
        (x, self.y + TITLE + ROW * (row as f64 + 0.5))
    }

    pub(super) fn input(&self, port: &str) -> (f64, f64) {
        self.port(&self.inputs, port, self.x)
    }

    pub(super) fn output(&self, port: &str) -> (f64, f64) {
        self.port(&self.outputs, port, self.x + self.width)
    }
}

/// Lays a graph out, from left to right.
pub(super) fn layout(graph: &Graph) -> Layout<'_> {
    let mut apps: Vec<AppBox<'_>> = graph.apps().map(|(name, _)| app_box(graph, name)).collect();
    let number: BTreeMap<&str, usize> =
        apps.iter().enumerate().map(|(index, app)| (app.name, index)).collect();
    let links: Vec<(usize, usize)> =
        graph.links().map(|link| (number[link.from.app.as_str()], number[link.to.app.as_str()])).collect();
    let ranks = rank(apps.len(), &links);
    let (columns, right) = place_columns(&ranks, &mut apps);
    let tops = place_rows(&ranks, &apps);
    for (place, &top) in tops.iter().enumerate() {
        if let Place::App(app) = ranks.places[place] {
            apps[app].y = top;
        }
    }
    order_ports(graph, &ranks, &tops, &links, &mut apps);
    let bottom = |app: &AppBox<'_>| app.y + app.height;
    let mut height = apps.iter().map(bottom).fold(0.0, f64::max);
    let mut lines = Vec::new();
    for (index, link) in graph.links().enumerate() {
        let path = &ranks.paths[index];
        let (from, to) = (&apps[links[index].0], &apps[links[index].1]);
        let mut points = vec![from.output(&link.from.port)];
        for &place in &path[1..path.len() - 1] {
            let (left, width) = columns[place];
            points.extend([(left, tops[place]), (left + width, tops[place])]);
        }
        points.push(to.input(&link.to.port));
        let below = ranks.closes_loop[index].then(|| {
            height += GAP / 2.0;
            height
        });
        lines.push(Line { points, below });
    }
    Layout { apps, lines, width: right + MARGIN, height: height + MARGIN }
}

/// Puts the ports of each app into the order of what they are linked to, so that their links do not cross. Those of loops are
/// the lowest.
fn order_ports(
    graph: &Graph,
    ranks: &Ranks,
    tops: &[f64],
    links: &[(usize, usize)],
    apps: &mut [AppBox<'_>],
) {
    let mut wanted: Vec<BTreeMap<(bool, &str), f64>> = vec![BTreeMap::new(); apps.len()];
    for (index, link) in graph.links().enumerate() {
        let path = &ranks.paths[index];
        let top = |place: usize| if ranks.closes_loop[index] { f64::INFINITY } else { tops[place] };
        wanted[links[index].0].insert((true, link.from.port.as_str()), top(path[1]));
        wanted[links[index].1].insert((false, link.to.port.as_str()), top(path[path.len() - 2]));
    }
    for (app, wanted) in apps.iter_mut().zip(&wanted) {
        let key = |is_output: bool, port: &str| wanted.get(&(is_output, port)).copied().unwrap_or(0.0);
        app.outputs.sort_by(|a, b| key(true, a).total_cmp(&key(true, b)));
        app.inputs.sort_by(|a, b| key(false, a).total_cmp(&key(false, b)));
    }
}

fn app_box<'g>(graph: &'g Graph, name: &'g str) -> AppBox<'g> {
    let spec = graph.get(name);
    let class = spec.map(|app| app.config.class().name).unwrap_or_default();
    let (inputs, outputs) = linked_ports(graph, name);
    let longest = |ports: &[&str]| ports.iter().map(|port| port.len()).max().unwrap_or(0) as f64;
    let worker = spec.and_then(|app| app.worker);
    let class_len = class.len() + worker.map_or(0, |worker| format!(", worker {worker}").len());
    let title = (name.len() as f64 * NAME).max(class_len as f64 * PORT);
    let ports = (longest(&inputs) + longest(&outputs)) * PORT + 16.0;
    let rows = inputs.len().max(outputs.len()) as f64;
    let (width, height) = (title.max(ports) + 20.0, TITLE + ROW * rows + 8.0);
    AppBox { name, class, worker, inputs, outputs, x: 0.0, y: 0.0, width: width.max(84.0), height }
}

/// Gives each column its place. Returns where the column of each place begins and how wide it is, and where the last ends.
fn place_columns(ranks: &Ranks, apps: &mut [AppBox<'_>]) -> (Vec<(f64, f64)>, f64) {
    let mut spans = vec![(0.0, 0.0); ranks.places.len()];
    let mut left = MARGIN;
    for column in &ranks.columns {
        let app_of = |&place: &usize| match ranks.places[place] {
            Place::App(app) => Some(app),
            Place::Link => None,
        };
        let width = column.iter().filter_map(app_of).map(|app| apps[app].width).fold(0.0, f64::max);
        for place in column {
            spans[*place] = (left, width);
            if let Some(app) = app_of(place) {
                apps[app].x = left + (width - apps[app].width) / 2.0;
            }
        }
        left += width + COLUMN_GAP;
    }
    (spans, left - COLUMN_GAP)
}

/// The upper edge of each place: in the order of its column, near what it is linked to.
fn place_rows(ranks: &Ranks, apps: &[AppBox<'_>]) -> Vec<f64> {
    let heights: Vec<f64> = ranks
        .places
        .iter()
        .map(|place| match place {
            Place::App(app) => apps[*app].height,
            Place::Link => PASSING,
        })
        .collect();
    let mut tops = vec![0.0; ranks.places.len()];
    for column in &ranks.columns {
        let mut top = 0.0;
        for &place in column {
            tops[place] = top;
            top += heights[place] + GAP;
        }
    }
    let mut linked = vec![Vec::new(); ranks.places.len()];
    for (from, to) in ranks.steps() {
        linked[from].push(to);
        linked[to].push(from);
    }
    for _ in 0..PULLS {
        for column in &ranks.columns {
            pull(column, &linked, &heights, &mut tops);
        }
    }
    let top = tops.iter().copied().fold(f64::INFINITY, f64::min);
    tops.iter_mut().for_each(|place| *place += MARGIN - top);
    tops
}

/// Moves the places of a column to the middle of those they are linked to, as far as their order and size allow: places
/// that would overlap move as one block to the mean of where they want to be.
fn pull(column: &[usize], linked: &[Vec<usize>], heights: &[f64], tops: &mut [f64]) {
    struct Block {
        first: usize,
        wanted: f64,
        count: f64,
        height: f64,
    }
    let middle = |place: usize, tops: &[f64]| tops[place] + heights[place] / 2.0;
    let mut blocks: Vec<Block> = Vec::new();
    for (index, &place) in column.iter().enumerate() {
        let to = &linked[place];
        let wanted = if to.is_empty() {
            tops[place]
        } else {
            to.iter().map(|&other| middle(other, tops)).sum::<f64>() / to.len() as f64 - heights[place] / 2.0
        };
        let mut block = Block { first: index, wanted, count: 1.0, height: heights[place] + GAP };
        while let Some(above) = blocks.pop_if(|above| above.wanted + above.height > block.wanted) {
            let count = above.count + block.count;
            // What is below wants its own place less what stands above it.
            let wanted = (above.wanted * above.count + (block.wanted - above.height) * block.count) / count;
            block = Block { first: above.first, wanted, count, height: above.height + block.height };
        }
        blocks.push(block);
    }
    for (number, block) in blocks.iter().enumerate() {
        let end = blocks.get(number + 1).map_or(column.len(), |next| next.first);
        let mut top = block.wanted;
        for &place in &column[block.first..end] {
            tops[place] = top;
            top += heights[place] + GAP;
        }
    }
}
