//! The canonical key: a convolution as one word, `n1c64h56w56_k128r3s3_s2_p1`.
//!
//! Tokens are joined by `_`: the input `n c [d] h w`, the kernel `k [t] r s`, then what differs from stride 1, padding 0,
//! dilation 1, one group: `s`, `p`, `d`, `g`; a transposed convolution ends in `t` with its output padding (`t0` where it has none), and
//! all its sizes are in its own terms. A value that differs between axes is written per axis with `x`, outermost first;
//! padding that differs on its two sides as `before:after`. `Display` writes the one canonical form; `FromStr` also takes
//! the last five tokens in any order and spelled out where the default would do.

use super::axis::NAMES;
use super::{Axis, Conv, ConvError, ConvSpec, KeyError};
use std::fmt::{self, Write};
use std::str::FromStr;

impl fmt::Display for Conv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = ConvSpec::from(*self);
        let names = &NAMES[3 - self.rank()..];
        let mut key = format!("n{}c{}", spec.batch, spec.channels_in);
        for (axis, name) in spec.axes.iter().zip(names) {
            write!(key, "{}{}", name.input, axis.size)?;
        }
        write!(key, "_k{}", spec.channels_out)?;
        for (axis, name) in spec.axes.iter().zip(names) {
            write!(key, "{}{}", name.kernel, axis.kernel)?;
        }
        let padding = |a: &Axis| {
            if a.pad_before == a.pad_after { a.pad_before.to_string() } else { format!("{}:{}", a.pad_before, a.pad_after) }
        };
        let each = |value: &dyn Fn(&Axis) -> String| per_axis(&spec.axes.iter().map(value).collect::<Vec<_>>());
        let output_padding = spec.output_padding.iter().map(|t| per_axis(&t.iter().map(u64::to_string).collect::<Vec<_>>())).collect();
        for (letter, default, values) in [
            ('s', "1", each(&|a| a.stride.to_string())),
            ('p', "0", each(&padding)),
            ('d', "1", each(&|a| a.dilation.to_string())),
            ('g', "1", spec.groups.to_string()),
            ('t', "", output_padding),
        ] {
            if values != default {
                write!(key, "_{letter}{values}")?;
            }
        }
        f.pad(&key)
    }
}

/// One value where all axes agree, else one per axis joined by `x`.
fn per_axis(values: &[String]) -> String {
    if values.windows(2).all(|w| w[0] == w[1]) { values[0].clone() } else { values.join("x") }
}

impl FromStr for Conv {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, Self::Err> {
        Parser { key, at: 0 }.conv()?.build().map_err(|source| KeyError::Impossible { key: key.to_owned(), source })
    }
}

struct Parser<'a> {
    key: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn conv(mut self) -> Result<ConvSpec, KeyError> {
        self.letter('n', "a key begins with the batch, as in n1c64h56w56_k128r3s3_p1")?;
        let batch = self.number("the batch N")?;
        self.letter('c', "input channels follow the batch")?;
        let channels_in = self.number("the channel count C")?;
        // The first axis letter decides the rank: d, h or w.
        let rank = match self.peek() {
            Some('d') => 3,
            Some('h') => 2,
            Some('w') => 1,
            _ => return Err(self.error("expected d (3-D), h (2-D) or w (1-D) with the input's extent")),
        };
        let names = &NAMES[3 - rank..];
        let mut axes = vec![Axis::POINT; rank];
        for (axis, name) in axes.iter_mut().zip(names) {
            self.letter(name.input, "the input's extents come as d, h, w")?;
            axis.size = self.number(&format!("the extent {}", name.input))?;
        }
        self.letter('_', "the kernel follows after '_'")?;
        self.letter('k', "the kernel begins with the output channels, as in k128r3s3")?;
        let channels_out = self.number("the channel count K")?;
        for (axis, name) in axes.iter_mut().zip(names) {
            self.letter(name.kernel, "the kernel's extents come as t, r, s, one for each axis of the input")?;
            axis.kernel = self.number(&format!("the kernel extent {}", name.kernel))?;
        }
        let mut spec = ConvSpec::new(batch, channels_in, channels_out, &axes);
        let mut seen = String::new();
        while self.peek().is_some() {
            self.letter('_', "tokens are joined by '_'")?;
            let letter = match self.peek() {
                Some(letter @ ('s' | 'p' | 'd' | 'g' | 't')) if !seen.contains(letter) => letter,
                Some(letter @ ('s' | 'p' | 'd' | 'g' | 't')) => return Err(self.error(&format!("a second token '{letter}'"))),
                _ => return Err(self.error("expected s (stride), p (padding), d (dilation), g (groups) or t (transposed)")),
            };
            seen.push(letter);
            self.at += 1;
            match letter {
                's' => self.each_axis(&mut spec.axes, |a, (before, _)| a.stride = before)?,
                'd' => self.each_axis(&mut spec.axes, |a, (before, _)| a.dilation = before)?,
                'p' => self.each_axis(&mut spec.axes, |a, (before, after)| *a = a.pad(before, after.unwrap_or(before)))?,
                't' => {
                    // Read as one value for each axis, through axes of its own.
                    let mut padding = vec![Axis::POINT; rank];
                    self.each_axis(&mut padding, |a, (value, _)| a.size = value)?;
                    spec.output_padding = Some(padding.iter().map(|a| a.size).collect());
                }
                _ => spec.groups = self.number("the group count")?,
            }
        }
        Ok(spec)
    }

    /// Reads one value for all axes, or one for each joined by `x`; only padding takes `before:after`.
    fn each_axis(&mut self, axes: &mut [Axis], set: impl Fn(&mut Axis, (u64, Option<u64>))) -> Result<(), KeyError> {
        let padding = self.key[..self.at].ends_with('p');
        let start = self.at;
        let mut values = Vec::new();
        loop {
            let before = self.number("a number")?;
            let mut after = None;
            if padding && self.peek() == Some(':') {
                self.at += 1;
                after = Some(self.number("the padding after")?);
            }
            values.push((before, after));
            if self.peek() != Some('x') {
                break;
            }
            self.at += 1;
        }
        if values.len() != 1 && values.len() != axes.len() {
            self.at = start;
            return Err(self.error(&format!("{} values for {} axes: give one for all or one for each", values.len(), axes.len())));
        }
        for (i, axis) in axes.iter_mut().enumerate() {
            set(axis, values[i.min(values.len() - 1)]);
        }
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        self.key[self.at..].chars().next()
    }

    fn letter(&mut self, letter: char, hint: &str) -> Result<(), KeyError> {
        if self.peek() != Some(letter) {
            return Err(self.error(&format!("expected '{letter}': {hint}")));
        }
        self.at += letter.len_utf8();
        Ok(())
    }

    fn number(&mut self, what: &str) -> Result<u64, KeyError> {
        let digits = self.key[self.at..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.error(&format!("expected {what}, a whole number")));
        }
        let text = &self.key[self.at..self.at + digits];
        let Ok(value) = text.parse() else {
            return Err(match text.parse() {
                Ok(value) => KeyError::Impossible { key: self.key.to_owned(), source: ConvError::Extent { name: what.to_owned(), value } },
                Err(_) => self.error(&format!("{what} is {text}, far past the largest extent")),
            });
        };
        self.at += digits;
        Ok(value)
    }

    fn error(&self, problem: &str) -> KeyError {
        let place = self.key[..self.at].chars().count() + 1;
        KeyError::Syntax { key: self.key.to_owned(), place, problem: problem.to_owned() }
    }
}
