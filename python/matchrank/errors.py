"""Exceptions of the package. All of them are subclasses of :class:`Error`."""

from __future__ import annotations

import re


def _in_python(message: str) -> str:
    """Writes the options that the engine names as arguments of Python."""
    message = message.replace("`matchrank ingest`", "`Dataset.ingest(...)`")
    return re.sub(r"option `([a-z-]+)(?: ([^`]*))?`", lambda found: f"`{_argument(found[1], found[2] or '')}`", message)


def _argument(option: str, value: str) -> str:
    """An option of the command line as an argument of Python, such as ``split="time"``."""
    name = {"column": "columns", "field-language": "field_languages"}.get(option, option.replace("-", "_"))
    if option == "force":
        return "replace=True"
    if option == "judgments":
        return value or "validation` or `test"
    if not value:
        return name
    if option == "column":
        # The file, where there is one, ends with the last colon before the role.
        found = re.fullmatch(r"(?:(.*):)?([^:=]+)=(.*)", value)
        if found is None:
            return f"columns {value}"
        file, role, column = found.groups()
        of_role = f'{{"{role}": "{column}"}}'
        return f'columns={{"{file}": {of_role}}}' if file else f"columns={of_role}"
    if re.fullmatch(r"[^=,]+=[0-9.]+(,[^=,]+=[0-9.]+)*", value):
        pairs = (pair.rpartition("=") for pair in value.split(","))
        return f"{name}={{{', '.join(f'{chr(34)}{key}{chr(34)}: {number}' for key, _, number in pairs)}}}"
    values = [f'"{part}"' for part in value.strip("'").split(",")]
    return f"{name}={values[0]}" if len(values) == 1 else f"{name}=[{', '.join(values)}]"


class Error(Exception):
    """Base class of all exceptions of matchrank.

    Attributes:
        file: File or table that the error is about, if it is known.
        line: Line of the file, or row of the table, counted from 1, if it is known.
    """

    file: str | None
    line: int | None

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(_in_python(message))
        self.file = file
        self.line = line

    def __reduce__(self):  # noqa: ANN204
        return (_rebuilt, (type(self), str(self.args[0]), self.file, self.line))


def _rebuilt(kind: type, message: str, file: str | None, line: int | None) -> Error:
    return kind(message, file=file, line=line)


class ParameterError(Error, ValueError):
    """A parameter or an argument has a value that is not supported."""


class ShapeError(Error, ValueError):
    """Two inputs that belong together have different sizes."""


class InputTypeError(Error, TypeError):
    """An argument is of a type that is not supported."""


class ParseError(Error, ValueError):
    """A line of a file, or a row of a table, is malformed; ``file`` and ``line`` say which."""


class FormatError(Error, ValueError):
    """A file or a table does not have the expected format; ``file`` says which."""


class DivergedError(Error, ArithmeticError):
    """Training produced a number that is not finite."""


class FileError(Error, OSError):
    """The operating system returned an error; ``file`` says for which file."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class NotFittedError(Error, ValueError, AttributeError):
    """The model is not trained yet; call ``fit`` first."""


class ServiceError(Error):
    """The service answered with an error.

    Attributes:
        status: Status of the response.
        details: Body of the response, decoded.
    """

    def __init__(self, message: str, *, status: int = 0, details: object = None) -> None:
        super().__init__(message)
        self.status = status
        self.details = details

    def __reduce__(self):  # noqa: ANN204
        return (_rebuilt_service, (str(self.args[0]), self.status, self.details))


def _rebuilt_service(message: str, status: int, details: object) -> ServiceError:
    return ServiceError(message, status=status, details=details)


class InternalError(Error, RuntimeError):
    """A rule of the program itself is broken. Please report it."""
