//! Sizes as the Linux kernel writes them in the files of `/proc`.

use crate::units::Bytes;

/// Bytes of a line `key: value kB` (or `KiB`, `MiB`, or plain bytes) of a file of the kernel's; none where no line has the key.
pub(super) fn field(text: &str, key: &str) -> Option<Result<Bytes, String>> {
    let value = text.lines().find_map(|line| line.split_once(':').filter(|(name, _)| name.trim() == key))?.1;
    Some(bytes(value).ok_or_else(|| format!("{key} is '{}', no size", value.trim())))
}

/// Bytes of `value unit` as the kernel writes sizes.
pub(super) fn bytes(value: &str) -> Option<Bytes> {
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let unit = match words.next() {
        None => 1,
        Some("kB" | "KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        Some(_) => return None,
    };
    number.checked_mul(unit).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_the_kernel() {
        let text = "Rss:\t  12 kB\nPss: 3 MiB\ndrm-memory-vram:\t1024\nodd: 3 parsecs\nhuge: 99999999999999999 kB\n";
        let field = |key| field(text, key);
        assert_eq!(field("Rss"), Some(Ok(Bytes(12 << 10))));
        assert_eq!(field("Pss"), Some(Ok(Bytes(3 << 20))));
        assert_eq!(field("drm-memory-vram"), Some(Ok(Bytes(1024))));
        assert_eq!(field("odd"), Some(Err("odd is '3 parsecs', no size".into())));
        assert_eq!(field("huge"), Some(Err("huge is '99999999999999999 kB', no size".into())));
        assert_eq!(field("Rs"), None);
    }
}
