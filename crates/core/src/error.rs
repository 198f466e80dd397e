/// Errors of input, parameters and files. A broken invariant of the program itself panics instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter has a value that the model does not support.
    #[error("{0}")]
    Params(String),
    /// Two inputs that belong together have different sizes.
    #[error("{0}")]
    Shape(String),
    /// A line of input is malformed. `line` counts from 1; 0 means the file as a whole.
    #[error("{file}{}: {message}", if *line == 0 { String::new() } else { format!(":{line}") })]
    Parse {
        /// Path or name of the input.
        file: String,
        /// Line, counted from 1; 0 for the file as a whole.
        line: u64,
        /// The expected input, the input found, and the fix.
        message: String,
    },
    /// A file does not have the expected format or format version.
    #[error("{file}: {message}")]
    Format {
        /// Path or name of the file.
        file: String,
        /// The problem and the fix.
        message: String,
    },
    /// An iteration produced a value that is not finite.
    #[error("{0}")]
    Diverged(String),
    /// The operating system returned an error.
    #[error("{file}: {}", explained(source))]
    Io {
        /// Path or name of the file.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Explains an error of the operating system and how to fix it, for errors that users can fix.
pub fn explained(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    if error.raw_os_error().is_none() {
        return error.to_string();
    }
    let advice = match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder; check the name",
        ErrorKind::PermissionDenied => "permission denied; change the permissions, or choose another path",
        ErrorKind::AlreadyExists => "already exists; choose another path, or move it away",
        ErrorKind::NotADirectory => "a part of the path is a file, not a folder; choose another path",
        ErrorKind::IsADirectory => "is a folder; a file is expected here",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; choose another path",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "there is no space left; free some, or choose another path"
        }
        ErrorKind::InvalidFilename => "the name is too long or not allowed here; choose another",
        _ => return format!("the operating system reported an error: {error}"),
    };
    advice.to_owned()
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates a parse error at a line, counted from 1.
    pub fn parse(file: impl Into<String>, line: u64, message: impl Into<String>) -> Self {
        Self::Parse { file: file.into(), line, message: message.into() }
    }

    /// Creates a format error of a whole file.
    pub fn format(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Format { file: file.into(), message: message.into() }
    }

    /// Creates an error of the operating system about a file.
    pub fn io(file: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { file: file.into(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_say_what_to_do() {
        for (number, expected) in [
            (2, "f: there is no such file or folder; check the name"),
            (13, "f: permission denied; change the permissions, or choose another path"),
            (28, "f: there is no space left; free some, or choose another path"),
        ] {
            let error = Error::io("f", std::io::Error::from_raw_os_error(number)).to_string();
            assert!(!cfg!(unix) || error == expected, "{error}");
        }
        assert_eq!(Error::io("f", std::io::Error::other("cut off")).to_string(), "f: cut off");
    }
}
