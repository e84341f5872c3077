//! Runs a graph that may have `my_app` in it, until all its packets have arrived: `cargo run my_app.toml`.

use engine::{Engine, Settings};
use graphfile::GraphFile;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which graph? cargo run my_app.toml")?;
    let text = std::fs::read_to_string(&path)?;
    let registry = apps::registry().and(io::registry()).with::<my_app::MyApp>();
    let file = GraphFile::parse(&text, &registry)?;
    let mut engine = Engine::new(Settings::new()?)?;
    engine.configure(&file.graph)?;
    engine.run(|_| true)?;
    let report = engine.report();
    engine.stop();
    println!("{} packets delivered; dropped: {:?}", report.delivered, report.drops);
    Ok(())
}
