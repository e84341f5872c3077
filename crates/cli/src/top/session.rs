//! The terminal: keys in, screens out, and everything as it was in the end.

use super::screen;
use super::view::{Action, View};
use super::watch::Watch;
use crate::exit::{Failure, Outcome};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::{cursor, execute, terminal};
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, raise};
use std::io::{self, Stdout};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a terminal may take until it is as it was.
const PATIENCE: Duration = Duration::from_secs(1);

/// Held by who draws, and while the terminal is not ours.
static DRAWING: Mutex<()> = Mutex::new(());
/// Whether the terminal shows nothing of what was drawn.
static IS_BLANK: AtomicBool = AtomicBool::new(false);

/// Shows the screen until the user, or a signal, ends it.
pub(super) fn run(mut watch: Watch, interval: Duration, has_colour: bool) -> Result<Outcome, Failure> {
    let first = watch.first()?;
    let mut view = View::new(interval, has_colour);
    view.push(first);
    obey_signals().map_err(refused)?;
    let mut screen = Screen::open().map_err(refused)?;
    let mut next = Instant::now() + interval;
    loop {
        screen.draw(&view).map_err(refused)?;
        let wait = next.saturating_duration_since(Instant::now());
        if event::poll(wait).map_err(refused)? {
            let event = event::read().map_err(refused)?;
            if is_stop(&event) {
                raise(SIGTSTP).map_err(refused)?;
            } else if let Some(action) = action(&event)
                && !view.act(action)
            {
                return Ok(Outcome::Done);
            }
        }
        if Instant::now() >= next {
            match watch.look() {
                Ok(moment) => view.push(moment),
                Err(failure) => view.problem = Some(failure.message.to_string()),
            }
            // After a time in which the machine slept, looks are not made up for.
            next = (next + interval).max(Instant::now());
        }
    }
}

fn refused(error: io::Error) -> Failure {
    Failure::world(format!("the terminal: {error}"))
}

/// Stops the process on SIGTSTP, and ends it on other signals, or when the terminal hangs up, from threads of their own: crossterm 0.29 reads on for ever
/// from a terminal that has gone, so the thread that waits for keys cannot be relied upon.
fn obey_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut has_gone_on = false;
        signals.forever().for_each(|signal| match signal {
            SIGTSTP => has_gone_on = stop().is_ok(),
            // Of a stop that was ours: all is done, and the user may be typing.
            SIGCONT if std::mem::take(&mut has_gone_on) => {}
            SIGCONT => go_on(),
            signal => end(signal),
        });
    })?;
    std::thread::Builder::new().name("hangup".to_owned()).spawn(|| {
        let stdin = io::stdin();
        // Nothing is asked for: what is told then is that it hung up.
        let mut asked = [PollFd::new(&stdin, PollFlags::empty())];
        while poll(&mut asked, None) == Err(rustix::io::Errno::INTR) {}
        end(SIGHUP);
    })?;
    Ok(())
}

/// Ends the process, with the terminal as it was. Who draws may wait for room in a terminal that nobody reads, and has standard output
/// meanwhile: that is not waited for.
fn end(signal: i32) {
    let (done, is_done) = channel();
    let give_back = move || {
        give_back();
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("end".to_owned()).spawn(give_back).is_ok() {
        let _ = is_done.recv_timeout(PATIENCE);
    }
    std::process::exit(128 + signal);
}

/// Stops the process, with the terminal as it was, until it is to go on.
fn stop() -> io::Result<()> {
    let _ours = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
    give_back();
    let stopped = emulate_default_handler(SIGTSTP);
    take_again();
    stopped
}

/// Whoever stopped us may have changed the terminal, also by SIGSTOP, of which nobody tells.
fn go_on() {
    let _ours = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
    take_again();
}

fn take_again() {
    let _ = terminal::disable_raw_mode();
    // A terminal that has gone is noticed by who draws.
    let _ = take();
    IS_BLANK.store(true, Ordering::Relaxed);
    // Who waits for keys wakes up: the terminal may have another size by now.
    let _ = raise(SIGWINCH);
}

/// The terminal while it is ours: given back when dropped, also by a panic. The destructor of ratatui's part does not run:
/// it panics when it cannot print that the terminal has gone.
struct Screen(ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>);

impl Screen {
    fn open() -> io::Result<Self> {
        let screen = Screen(ManuallyDrop::new(Terminal::new(CrosstermBackend::new(io::stdout()))?));
        take()?;
        Ok(screen)
    }

    fn draw(&mut self, view: &View) -> io::Result<()> {
        let _ours = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if IS_BLANK.swap(false, Ordering::Relaxed) {
            // Not ratatui's `clear`, which asks the terminal where its cursor is.
            execute!(io::stdout(), terminal::Clear(terminal::ClearType::All))?;
            self.0.swap_buffers();
        }
        self.0.draw(|frame| screen::draw(frame, view))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)
}

fn give_back() {
    // A terminal that has gone cannot be put in order.
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
}

/// Whether this is Ctrl-Z, of which a terminal that is ours makes no signal.
fn is_stop(event: &Event) -> bool {
    matches!(event, Event::Key(KeyEvent { code: KeyCode::Char('z'), modifiers, kind, .. })
        if modifiers.contains(KeyModifiers::CONTROL) && *kind != KeyEventKind::Release)
}

/// What a key asks for.
fn action(event: &Event) -> Option<Action> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    Some(match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Action::Quit,
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Char(' ') => Action::Pause,
        KeyCode::Left => Action::Back,
        KeyCode::Right => Action::Forward,
        KeyCode::Tab => Action::NextPane,
        KeyCode::BackTab => Action::PreviousPane,
        KeyCode::Up | KeyCode::Char('k') => Action::Up,
        KeyCode::Down | KeyCode::Char('j') => Action::Down,
        KeyCode::Enter => Action::Narrow,
        KeyCode::Esc => Action::Widen,
        KeyCode::Char('s') => Action::NextSort,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ask_for_what_the_help_says() {
        let key = |code, modifiers| action(&Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Quit));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), None);
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Some(Action::Quit));
        assert_eq!(key(KeyCode::Left, KeyModifiers::NONE), Some(Action::Back));
        assert_eq!(action(&Event::Resize(1, 1)), None);
    }
}
