//! A claimed figure: how it is written, and the verdict on it. The rule is stated in [`super`].

use super::{OFF, Verdict};

/// A figure as claimed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Claimed {
    /// `12.6`, `-75`: a number given to so many digits.
    Number {
        /// The number.
        value: f64,
        /// One of its last digit; a whole number's trailing zeros are no digits.
        digit: f64,
    },
    /// `1.2..1.8`: both ends are in it.
    Range(f64, f64),
    /// `> 1000`, `>= 1000`: at least this; the bound itself is in it where the flag says so.
    Above(f64, bool),
    /// `< 0`, `<= 0`: at most this, as above.
    Below(f64, bool),
}

impl Claimed {
    /// Reads a claimed figure.
    ///
    /// # Errors
    /// A text that says what is wrong, to be completed with its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let part = part.trim();
            let plain = part.strip_prefix(['+', '-']).unwrap_or(part);
            let digits = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let value = part.parse::<f64>().ok().filter(|value| digits && value.is_finite());
            value.ok_or_else(|| format!("claimed '{text}': '{part}' is not a number; write 12.6, 1.2..1.8, '> 1000' or '< 0'"))
        };
        for (sign, with) in [(">=", true), (">", false)] {
            if let Some(rest) = text.strip_prefix(sign) {
                return Ok(Self::Above(number(rest)?, with));
            }
        }
        for (sign, with) in [("<=", true), ("<", false)] {
            if let Some(rest) = text.strip_prefix(sign) {
                return Ok(Self::Below(number(rest)?, with));
            }
        }
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (number(low)?, number(high)?);
            return if low < high { Ok(Self::Range(low, high)) } else { Err(format!("claimed '{text}': {low} is not below {high}")) };
        }
        Ok(Self::Number { value: number(text)?, digit: last_digit(text) })
    }

    /// The verdict on the figure alone, in one reading, and how much larger it is than `ours`, in percent.
    #[expect(clippy::float_cmp, reason = "a bound that is in it is in it exactly")]
    fn against(self, ours: f64) -> (Verdict, Option<f64>) {
        let (holds, claimed) = match self {
            Self::Number { value, digit } => (is_rounded(value, digit, ours), value),
            Self::Range(low, high) => ((low..=high).contains(&ours), if ours < low { low } else { high }),
            Self::Above(bound, with) => (ours > bound || (with && ours == bound), bound),
            Self::Below(bound, with) => (ours < bound || (with && ours == bound), bound),
        };
        if holds {
            return (Verdict::Holds, None);
        }
        let deviation = claimed / ours - 1.0;
        // Next to nothing everything is infinitely large or small.
        if claimed == 0.0 || !deviation.is_finite() {
            return (Verdict::Fails, None);
        }
        (if deviation.abs() <= OFF { Verdict::Off } else { Verdict::Fails }, Some(deviation * 100.0))
    }
}

/// One of the last digit that a number is written to.
fn last_digit(text: &str) -> f64 {
    let text = text.trim();
    match text.split_once('.') {
        Some((_, fraction)) => 0.1_f64.powi(i32::try_from(fraction.len()).unwrap_or(i32::MAX)),
        None => 10_f64.powi(i32::try_from(text.len() - text.trim_end_matches('0').len()).unwrap_or(0)),
    }
}

/// Whether `value`, given to `digit`, is what rounding `ours` gives, or cutting it off, and within 5 % of it: a number of one digit
/// says no more than that either.
fn is_rounded(value: f64, digit: f64, ours: f64) -> bool {
    const CLOSE: f64 = 0.05;
    // The decimals of a figure are not those of binary fractions.
    let slack = 1e-9 * ours.abs().max(digit);
    if value != 0.0 && ours != 0.0 && (value < 0.0) != (ours < 0.0) {
        return false;
    }
    let beyond = ours.abs() - value.abs();
    (-digit / 2.0 - slack..digit - slack).contains(&beyond) && beyond.abs() <= CLOSE * ours.abs() + slack
}

/// What one way to read a unit makes of our figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The reading that fits best.
    pub reading: String,
    /// Our figure in it.
    pub ours: f64,
    /// How much larger the claimed figure is, in percent; none where it holds, or where either is 0.
    pub deviation_percent: Option<f64>,
    /// What a reader may want to know.
    pub note: Option<&'static str>,
}

impl Judgement {
    /// How far the claimed figure is from ours.
    pub(super) fn distance(&self) -> f64 {
        match (self.verdict, self.deviation_percent) {
            (Verdict::Holds | Verdict::HoldsInMib, _) => 0.0,
            (_, deviation) => deviation.map_or(f64::INFINITY, f64::abs),
        }
    }
}

/// The prefixes of bytes: as written, of ten, of two.
const PREFIXES: [(&str, f64, &str, f64); 4] = [
    ("KB", 1e3, "KiB", 1024.0),
    ("MB", 1e6, "MiB", 1_048_576.0),
    ("GB", 1e9, "GiB", 1_073_741_824.0),
    ("TB", 1e12, "TiB", 1_099_511_627_776.0),
];

/// Whether a unit is one of bytes, so that our figure is in bytes.
pub fn is_of_bytes(unit: &str) -> bool {
    unit == "B" || PREFIXES.iter().any(|(ten, _, two, _)| unit == *ten || unit == *two)
}

/// The verdict on a claimed figure, ours being in bytes where the unit is one of bytes: the better of the readings that the unit has.
pub fn judge(claimed: Claimed, unit: &str, ours: f64) -> Judgement {
    let read = |reading: &str, scale: f64| {
        let (verdict, deviation_percent) = claimed.against(ours / scale);
        Judgement { verdict, reading: reading.to_owned(), ours: ours / scale, deviation_percent, note: None }
    };
    if let Some((_, _, two, scale)) = PREFIXES.iter().find(|(_, _, two, _)| *two == unit) {
        return read(two, *scale);
    }
    let Some((ten, decimal, two, binary)) = PREFIXES.iter().find(|(ten, ..)| *ten == unit) else { return read(unit, 1.0) };
    let (as_ten, mut as_two) = (read(ten, *decimal), read(two, *binary));
    if as_ten.verdict == Verdict::Holds {
        return as_ten;
    }
    if as_two.verdict == Verdict::Holds {
        as_two.verdict = Verdict::HoldsInMib;
        return as_two;
    }
    let mut best = if as_two.distance() < as_ten.distance() { as_two } else { as_ten };
    if unit == "MB" && matches!(claimed, Claimed::Number { .. }) && claimed.against(ours / 1_024_000.0).0 == Verdict::Holds {
        best.note = Some("it is right in units of 1000 KiB, which are neither MB nor MiB");
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(claimed: &str, unit: &str, ours: f64) -> (Verdict, String, Option<i64>) {
        let judgement = judge(Claimed::parse(claimed).expect(claimed), unit, ours);
        #[expect(clippy::cast_possible_truncation, reason = "small")]
        let deviation = judgement.deviation_percent.map(|percent| (10.0 * percent).round() as i64);
        (judgement.verdict, judgement.reading, deviation)
    }

    #[test]
    fn a_number_holds_when_rounding_or_cutting_gives_it() {
        use Verdict::{Fails, Holds, HoldsInMib, Off};
        let cases = [
            ("3.456", "KB", 3456.0, Holds, "KB", None),
            ("25.7", "MB", 25_690_112.0, Holds, "MB", None),
            ("115", "MB", 115_605_504.0, Holds, "MB", None), // cut off
            ("116", "MB", 115_605_504.0, Holds, "MB", None), // rounded
            ("12", "MB", 12_582_912.0, Holds, "MB", None),   // cut off; and 12 MiB
            ("3.0", "MB", 3_145_728.0, HoldsInMib, "MiB", None),
            ("3.14", "MB", 3_211_264.0, Off, "MB", Some(-22)),
            ("36.2", "MB", 37_748_736.0, Off, "MiB", Some(6)),
            ("12.6", "MB", 3_211_264.0, Fails, "MB", Some(2924)),
            ("1300", "KB", 1_327_104.0, Holds, "KB", None), // zeros at the end are no digits
            ("100", "MB", 102_000_000.0, Holds, "MB", None),
            ("100", "MB", 130_000_000.0, Fails, "MiB", Some(-193)), // one digit is no licence
            ("37632", "B", 37_632.0, Holds, "B", None),
            ("37632", "B", 37_633.0, Off, "B", Some(0)),
            ("-75", "%", -75.0, Holds, "%", None),
            ("-50", "%", 50.0, Fails, "%", Some(-2000)),
            ("2", "exponent", 1.0, Fails, "exponent", Some(1000)),
            ("2", "exponent", 1.97, Holds, "exponent", None),
            ("3", "ratio", 4.0, Fails, "ratio", Some(-250)),
            ("42", "MB", 0.0, Fails, "MB", None),
            ("0", "", 0.0, Holds, "", None),
        ];
        for (claimed, unit, ours, expected, reading, deviation) in cases {
            assert_eq!(verdict(claimed, unit, ours), (expected, reading.to_owned(), deviation), "{claimed} {unit} against {ours}");
        }
    }

    #[test]
    fn ranges_and_bounds() {
        use Verdict::{Fails, Holds, HoldsInMib, Off};
        let cases = [
            ("1.2..1.8", "MB", 1.8e6, Holds),
            ("1.2..1.8", "MB", 1.85e6, HoldsInMib),
            ("1.2..1.8", "MB", 1.95e6, Off),
            ("1.2..1.8", "MB", 0.0, Fails),
            ("-30..-20", "%", -25.0, Holds),
            ("-30..-20", "%", -50.0, Fails),
            ("> 1000", "MB", 1.4e9, Holds),
            ("> 1000", "MB", 1e9, Off),
            (">= 1000", "MB", 1e9, Holds),
            (">= 100", "MB", 44e6, Fails),
            ("> 0", "MB", 0.0, Fails),
            ("< 0", "%", -88.0, Holds),
            ("< 0", "%", 50.0, Fails),
            ("<= 0", "%", 0.0, Holds),
        ];
        for (claimed, unit, ours, expected) in cases {
            assert_eq!(verdict(claimed, unit, ours).0, expected, "{claimed} {unit} against {ours}");
        }
    }

    #[test]
    fn the_unit_between_mb_and_mib_is_noticed() {
        let odd = judge(Claimed::parse("25.1").expect("a number"), "MB", 25_690_112.0);
        assert!(odd.note.is_some() && odd.verdict == Verdict::Off, "{odd:?}");
        assert_eq!(judge(Claimed::parse("25.7").expect("a number"), "MB", 25_690_112.0).note, None);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for text in ["", "x", "1e9", "NaN", "inf", "1..", "..", "2..1", "> ", "> x", "1.2.3", "--1", "1 2"] {
            assert!(Claimed::parse(text).is_err(), "{text}");
        }
        assert_eq!(Claimed::parse("1.."), Err("claimed '1..': '' is not a number; write 12.6, 1.2..1.8, '> 1000' or '< 0'".into()));
    }
}
