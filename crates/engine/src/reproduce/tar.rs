//! Reads the files inside a tar archive: names and contents, nothing else.

use matchrank_core::{Error, Result};

const BLOCK: usize = 512;

/// Calls `each` with the name and the content of every plain file.
pub(super) fn for_each_file(name: &str, archive: &[u8], mut each: impl FnMut(&str, &[u8])) -> Result<()> {
    let mut at = 0;
    let mut long_name = None;
    while let Some(header) = archive.get(at..at + BLOCK) {
        if header.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let text = |from: usize, length: usize| {
            let field = &header[from..from + length];
            String::from_utf8_lossy(field.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
        };
        let sum: u64 =
            (0..BLOCK).map(|i| if (148..156).contains(&i) { 32 } else { u64::from(header[i]) }).sum();
        let octal = |field: String| u64::from_str_radix(field.trim(), 8).ok();
        let (Some(size), Some(true)) = (octal(text(124, 12)), octal(text(148, 8)).map(|found| found == sum))
        else {
            return Err(Error::format(name, format!("is not a tar archive, or damaged at byte {at}")));
        };
        let start = at + BLOCK;
        let content =
            usize::try_from(size).ok().and_then(|size| archive.get(start..start.checked_add(size)?));
        let Some(content) = content else {
            return Err(Error::format(name, format!("ends in the middle of {}", text(0, 100))));
        };
        match header[156] {
            b'0' | 0 => {
                let prefix = if &header[257..262] == b"ustar" { text(345, 155) } else { String::new() };
                let short =
                    if prefix.is_empty() { text(0, 100) } else { format!("{prefix}/{}", text(0, 100)) };
                each(&long_name.take().unwrap_or(short), content);
            }
            b'L' => {
                long_name = Some(String::from_utf8_lossy(content).trim_end_matches('\0').to_owned());
            }
            _ => {}
        }
        at = start + content.len().next_multiple_of(BLOCK);
    }
    Err(Error::format(name, "ends before its last entry: the archive is cut off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut header = [0u8; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = kind;
        header[257..262].copy_from_slice(b"ustar");
        header[148..156].copy_from_slice(b"        ");
        let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        let mut bytes = header.to_vec();
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }

    #[test]
    fn files_and_broken_archives() {
        let mut archive = entry("a/", b'5', b"");
        archive.extend(entry("a/1", b'0', b"one"));
        archive.extend(entry("././@LongLink", b'L', b"a/long\0"));
        archive.extend(entry("a/lo", b'0', &[7; 600]));
        let whole = [archive.clone(), vec![0; 1024]].concat();
        let mut found = Vec::new();
        for_each_file("x", &whole, |name, content| found.push((name.to_owned(), content.len()))).unwrap();
        assert_eq!(found, [("a/1".to_owned(), 3), ("a/long".to_owned(), 600)]);
        assert!(for_each_file("x", &archive[..archive.len() - 600], |_, _| {}).is_err());
        assert!(for_each_file("x", &archive, |_, _| {}).unwrap_err().to_string().contains("cut off"));
        assert!(for_each_file("x", &[65; 2048], |_, _| {}).unwrap_err().to_string().contains("not a tar"));
    }
}
