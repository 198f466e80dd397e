//! A running service, and a client that sends exactly the bytes of a test.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "a module of several test files, not all of which use all of it"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::matchrank::Folder;

/// Time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service that is ended when it is dropped.
pub struct Service {
    child: Child,
    pub address: String,
}

/// An answer of the service.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    /// Returns the body of a request that must have succeeded.
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Returns the body of a request that must have failed.
    pub fn failure(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Service {
    /// Starts `matchrank serve` in a folder and waits until it listens.
    pub fn start(folder: &Folder, args: &str) -> Self {
        Self::start_with(folder, args, &[])
    }

    /// Starts it with variables of the environment.
    pub fn start_with(folder: &Folder, args: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_matchrank"))
            .current_dir(folder.path())
            .arg("serve")
            .args(args.split_whitespace())
            .args(["--listen", "127.0.0.1:0", "--quiet"])
            .env_remove("MATCHRANK_READ_KEY")
            .env_remove("MATCHRANK_WRITE_KEY")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().split("://").nth(1).unwrap_or_else(|| panic!("{args}: {line}")).to_owned();
        Self { child, address }
    }

    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes on a connection of their own and reads until the service closes it.
    pub fn send(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A service that refuses a long body does not read it to the end.
        let _ = stream.write_all(bytes);
        read_reply(&mut stream)
    }

    /// Sends a request with headers of its own, each ended by CRLF.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
        let host = &self.address;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    pub fn get(&self, path: &str) -> Reply {
        self.request("GET", path, "", b"")
    }

    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.request("POST", path, "", body.as_bytes())
    }

    /// Bytes of memory that the process holds.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let done = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(done.unwrap().success());
    }

    /// Waits until the process ends; returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "the service does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads an answer up to the end of the connection.
pub fn read_reply(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}
