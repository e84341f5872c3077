//! Makes a failing expression smaller, by tokens: no grammar is needed, for whoever judges also rejects what is no
//! expression any more.

/// The smallest expression found for which `fails` still holds, by leaving out ever shorter runs of tokens.
///
/// Delta debugging (Zeller and Hildebrandt, 2002), the complements only.
pub fn shrink(expression: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut tokens = tokens(expression);
    let mut run = tokens.len() / 2;
    while run > 0 {
        let mut start = 0;
        while start < tokens.len() {
            let mut fewer = tokens.clone();
            fewer.drain(start..(start + run).min(tokens.len()));
            if fails(&fewer.join(" ")) {
                tokens = fewer;
            } else {
                start += 1;
            }
        }
        run /= 2;
    }
    tokens.join(" ")
}

/// Splits where a space may stand without changing the meaning.
fn tokens(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('[', " [ ").replace(']', " ] ");
    spaced.split_whitespace().map(str::to_string).collect()
}
