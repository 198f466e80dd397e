use std::io::Write;
use std::path::Path;

use super::*;

fn write(path: &Path, text: &str) {
    write_atomically(path, |out| {
        out.write_all(text.as_bytes()).map_err(|e| matchrank_core::Error::io("x", e))
    })
    .unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn large_files_are_read_whole_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let content: Vec<u8> = (0..20_000_003u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    assert!(read_all(&path).unwrap() == content);
    std::fs::write(&path, &content[..1000]).unwrap();
    assert!(read_all(&path).unwrap() == content[..1000]);
    std::fs::write(&path, "").unwrap();
    assert!(read_all(&path).unwrap().is_empty());
}

/// A memory map would end the process with SIGBUS here.
#[test]
fn a_file_that_is_truncated_after_it_was_read_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, vec![7; 20_000_000]).unwrap();
    let bytes = read_all(&path).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert!(bytes.len() == 20_000_000 && bytes.iter().all(|&byte| byte == 7));
}

#[test]
fn compressed_files_expand_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.zst");
    // 300 MiB of zeros in a few dozen kilobytes.
    let mut encoder = zstd::Encoder::new(std::fs::File::create(&path).unwrap(), 1).unwrap();
    (0..300).for_each(|_| encoder.write_all(&[0; 1 << 20]).unwrap());
    encoder.finish().unwrap();
    let error = read_all(&path).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("bomb.zst: expands to more than the limit of 256 MiB"), "{message}");
    let matchrank_core::Error::Io { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.get_ref().unwrap().is::<ExpandsTooFar>());
    // A stream is never whole in memory.
    assert_eq!(std::io::copy(&mut open(&path).unwrap(), &mut std::io::sink()).unwrap(), 300 << 20);
}

#[cfg(unix)]
#[test]
fn permissions_of_a_replaced_file_are_kept_and_a_new_one_has_those_of_any_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = folder.path().join("x.model");
    write(&path, "first");
    let usual = folder.path().join("usual");
    std::fs::write(&usual, "").unwrap();
    assert_eq!(mode(&path), mode(&usual));
    for kept in [0o600, 0o640, 0o664] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(kept)).unwrap();
        write(&path, "second");
        assert_eq!(mode(&path), kept);
    }
    let (made, plain) = (folder.path().join("made"), folder.path().join("plain"));
    std::fs::create_dir(&plain).unwrap();
    std::fs::rename(TemporaryFolder::beside(&made).unwrap().keep(), &made).unwrap();
    assert_eq!(mode(&made), mode(&plain));
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(mode(TemporaryFolder::beside(&made).unwrap().path()), 0o750);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_dangling_ones_refused_first() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("elsewhere")).unwrap();
    std::fs::write(at("elsewhere/x"), "first").unwrap();
    std::os::unix::fs::symlink("elsewhere/x", at("link")).unwrap();
    write(&at("link"), "second");
    assert!(at("link").is_symlink());
    assert_eq!(std::fs::read_to_string(at("elsewhere/x")).unwrap(), "second");
    std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
    let error = check_writable(&at("dangling")).unwrap_err().to_string();
    assert!(error.contains("is a link to nowhere, which does not exist"), "{error}");
    assert_eq!(names(folder.path()), ["dangling", "elsewhere", "link"]);
}

/// The largest process id on Linux is 4,194,304.
#[cfg(target_os = "linux")]
#[test]
fn what_dead_processes_left_is_removed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let alive = format!(".matchrank-{}-abc", std::os::unix::process::parent_id());
    let kept = [
        ".matchrank-lock",
        ".matchrank-old-abc",
        &alive,
        ".matchrank-99999998-locked",
        "matchrank-99999999-x",
    ];
    kept.iter().for_each(|name| std::fs::write(at(name), "").unwrap());
    let other = std::fs::File::open(at(".matchrank-99999998-locked")).unwrap();
    other.lock().unwrap();
    std::fs::write(at(".matchrank-99999999-abc"), "").unwrap();
    // In a container, a process often has the id of the one before it.
    std::fs::write(at(&format!(".matchrank-{}-abc", std::process::id())), "").unwrap();
    std::fs::create_dir(at(".matchrank-99999999-def")).unwrap();
    std::fs::write(at(".matchrank-99999999-def/table"), "").unwrap();
    write(&at("x"), "content");
    let mut expected: Vec<&str> = kept.into_iter().chain(["x"]).collect();
    expected.sort_unstable();
    assert_eq!(names(folder.path()), expected);
}

#[test]
fn a_folder_is_locked_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let lock = Lock::of(folder.path()).unwrap();
    let error = Lock::of(folder.path()).err().expect("it is locked").to_string();
    assert!(error.contains("another process is writing to this folder"), "{error}");
    drop(lock);
    assert!(Lock::of(folder.path()).is_ok());
}
