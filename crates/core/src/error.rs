/// Everything that can go wrong with input, parameters or files. A broken invariant of the
/// program itself panics instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter has a value the model cannot take.
    #[error("{0}")]
    Params(String),
    /// Two inputs that belong together have different sizes.
    #[error("{0}")]
    Shape(String),
    /// A line of input does not say what it should. `line` counts from 1; 0 means the file as a whole.
    #[error("{file}{}: {message}", if *line == 0 { String::new() } else { format!(":{line}") })]
    Parse {
        /// Path or name of the input.
        file: String,
        /// Line, counted from 1; 0 for the file as a whole.
        line: u64,
        /// What was expected, what was found, what to do.
        message: String,
    },
    /// A file is not in the format, or the version of the format, that is expected.
    #[error("{file}: {message}")]
    Format {
        /// Path or name of the file.
        file: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// An iteration left the range of finite numbers.
    #[error("{0}")]
    Diverged(String),
    /// The operating system refused.
    #[error("{file}: {}", explained(source))]
    Io {
        /// Path or name of the file.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// Says what the operating system refused and what to do about it, for errors that users can do something about.
pub fn explained(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    if error.raw_os_error().is_none() {
        return error.to_string();
    }
    let advice = match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder; check the name",
        ErrorKind::PermissionDenied => "permission denied; change the permissions, or name another place",
        ErrorKind::AlreadyExists => "is there already; name another place, or move it away",
        ErrorKind::NotADirectory => "a file stands where a folder is expected; name another place",
        ErrorKind::IsADirectory => "is a folder; a file is expected here",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; name another place",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "there is no space left; free some, or name another place"
        }
        ErrorKind::InvalidFilename => "the name is too long or not allowed here; choose another",
        _ => return format!("the system refused: {error}"),
    };
    advice.to_owned()
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A parse error at a line, counted from 1.
    pub fn parse(file: impl Into<String>, line: u64, message: impl Into<String>) -> Self {
        Self::Parse { file: file.into(), line, message: message.into() }
    }

    /// A format error of a whole file.
    pub fn format(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Format { file: file.into(), message: message.into() }
    }

    /// An error of the operating system about a file.
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
            (13, "f: permission denied; change the permissions, or name another place"),
            (28, "f: there is no space left; free some, or name another place"),
        ] {
            let error = Error::io("f", std::io::Error::from_raw_os_error(number)).to_string();
            assert!(!cfg!(unix) || error == expected, "{error}");
        }
        assert_eq!(Error::io("f", std::io::Error::other("cut off")).to_string(), "f: cut off");
    }
}
