"""Mutations of bytes, lines, JSON and model files.

A mutation takes a random generator and bytes, and returns bytes and an expectation: ANY (whatever the program makes of
it, short of a failure), SAME (the content means the same: the same result, an error or a note) or SAID (an error, a note,
or another summary).
"""

import gzip
import json
import random
import re
import struct
import zlib

from containers import join_model, repair_model, split_model, zstd_bomb, zstd_frame

ANY, SAME, SAID = "any", "same", "said"
NUMBERS = ["0", "-0", "-1", "1e308", "-1e308", "1e400", "1e-320", "nan", "NaN", "inf", "-inf", "4000000000", "4294967295",
           "4294967296", "1000000000000000000", "9223372036854775808", "18446744073709551615", "18446744073709551616",
           "-9223372036854775809", "0.1", "1,000", "1_000", "0x10", "1e", "+5", " 7", "99999999999999999999999999", "½"]
STRINGS = ["", " ", "\x00", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\r", "a\rb", "\ufeff", "\u202e", "\u2028", "é" * 40,
           "x" * 70000, '"', "'", "\\", ",", "\t", "#", "qid:1", "../../etc/passwd", "-", "--out", "null", "1,000"]
VALUES = [None, True, False, [], {}, 0, -1, 0.5, 1e308, -1e308, 10**18, 4 * 10**9, 2**32, 2**63, 2**64, -(2**63), 10**40,
          float("nan"), float("inf"), 5e-324, *STRINGS]
SPECIAL = {
    "F32": [struct.pack("<f", x) for x in (float("nan"), float("inf"), -3.4e38, 3.4e38, 1e-45, -0.0, -1.0)],
    "F64": [struct.pack("<d", x) for x in (float("nan"), float("inf"), -1.7e308, 1.7e308, 5e-324, -0.0, -1.0)],
    "U64": [struct.pack("<Q", x) for x in (0, 1, 2**32, 2**63, 2**64 - 1, 10**18)],
    "U32": [struct.pack("<I", x) for x in (0, 1, 2**31, 2**32 - 1, 2**32 - 2)],
    "U16": [struct.pack("<H", x) for x in (0, 1, 2**15, 2**16 - 1)],
    "U8": [bytes([x]) for x in (0, 1, 10, 32, 127, 255)],
}
SIZES = {"F32": 4, "F64": 8, "U64": 8, "U32": 4, "U16": 2, "U8": 1}


def _span(rng, data, most=200):
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice([1, 2, 8, 64, most]))


def flip_bits(rng, data):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8]) if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out), ANY


def truncate(rng, data):
    return data[:rng.choice([rng.randrange(len(data) + 1), max(0, len(data) - rng.randrange(1, 16))])], ANY


def duplicate(rng, data):
    a, b = _span(rng, data)
    return data[:b] + data[a:b] * rng.choice([1, 1, 2, 50]) + data[b:], ANY


def zero_block(rng, data):
    a, b = _span(rng, data)
    return data[:a] + bytes(b - a) + data[b:], ANY


def delete_block(rng, data):
    a, b = _span(rng, data)
    return data[:a] + data[b:], ANY


def insert_bytes(rng, data):
    what = rng.choice([b"\0", b"\0" * 64, b"\x1b[2J", b"\r", b"\r\n", b"\xff", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\n",
                       b"\n\n", b"\xef\xbb\xbf", b"\x1a", b"\x7f", b"\x08" * 8, rng.randbytes(16)])
    at = rng.randrange(len(data) + 1)
    return data[:at] + what + data[at:], ANY


def swap_blocks(rng, data):
    a, b = _span(rng, data)
    c, d = _span(rng, data)
    a, b, c, d = (a, b, c, d) if b <= c else (c, d, a, b) if d <= a else (0, 0, 0, 0)
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:], ANY


def empty(rng, data):
    return b"", ANY


def append_garbage(rng, data):
    return data + rng.randbytes(rng.choice([1, 30, 3000])), ANY


def long_line(rng, data):
    at = rng.randrange(len(data) + 1)
    what = rng.choice([b"a", b"9", b" ", b"\t", b"1:1 ", b"\xc3\xa9", b'"', b"["])
    return data[:at] + what * rng.choice([70_000, 1_500_000]) + data[at:], ANY


BINARY = [flip_bits, flip_bits, flip_bits, truncate, duplicate, zero_block, delete_block, insert_bytes, swap_blocks, empty,
          append_garbage]


def _lines(data):
    return data.split(b"\n")


def replace_number(rng, data):
    found = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", data))
    if not found:
        return flip_bits(rng, data)
    at = rng.choice(found)
    return data[:at.start()] + rng.choice(NUMBERS).encode() + data[at.end():], ANY


def replace_word(rng, data):
    found = list(re.finditer(rb"[^\s,:\"{}\[\]]+", data))
    if not found:
        return insert_bytes(rng, data)
    at = rng.choice(found)
    return data[:at.start()] + rng.choice(STRINGS).encode() + data[at.end():], ANY


def shuffle_lines(rng, data):
    lines = _lines(data)
    rng.shuffle(lines)
    return b"\n".join(lines), ANY


def edit_line(rng, data):
    lines = _lines(data)
    i = rng.randrange(len(lines))
    how = rng.randrange(6)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines[i:i] = [lines[i]] * rng.choice([1, 3, 1000])
    elif how == 2:
        lines[i] = b""
    elif how == 3:
        lines[i] = b"\0" * rng.choice([1, 20])
    elif how == 4:
        lines[i] = rng.choice([b"#", b" ", b"\t\t\t", b",,,,", b"{}", b"[]", b"null", b'"', b"\x1b[31m", b"0", b"\xff"])
    else:
        lines[i] = lines[i] * 2
    return b"\n".join(lines), ANY


def edit_column(rng, data):
    mark = max([b",", b"\t", b" "], key=data.count)
    lines = [line.split(mark) for line in _lines(data)]
    wide = max(len(line) for line in lines)
    column, how = rng.randrange(wide), rng.randrange(4)
    some = range(len(lines)) if rng.random() < 0.5 else [rng.randrange(len(lines))]
    for i in some:
        line = lines[i]
        if len(line) <= column or line == [b""]:
            continue
        if how == 0:
            del line[column]
        elif how == 1:
            line[column] = b""
        elif how == 2:
            line.insert(column, line[column])
        else:
            line.append(rng.choice(STRINGS[:-8]).encode())
    return b"\n".join(mark.join(line) for line in lines), ANY


def nul_line(rng, data):
    """A line of NUL bytes, as a crash of a file system leaves them: refused or said, never skipped in silence."""
    lines = _lines(data)
    lines.insert(rng.randrange(1, len(lines) + 1), b"\0" * 32)
    return b"\n".join(lines), SAID


def carriage_returns(rng, data):
    return data.replace(b"\n", b"\r"), SAME


def windows_lines(rng, data):
    return data.replace(b"\n", b"\r\n"), SAME


def byte_order_mark(rng, data):
    return b"\xef\xbb\xbf" + data, SAME


def compressed(rng, data):
    return rng.choice([lambda: gzip.compress(data, 6, mtime=0), lambda: zstd_frame(data),
                       lambda: gzip.compress(data[:99], mtime=0) + gzip.compress(data[99:], mtime=0)])(), SAME


def compressed_and_damaged(rng, data):
    return rng.choice(BINARY)(rng, compressed(rng, data)[0])


def bomb(rng, data):
    """A small file that expands to 8 GiB."""
    fill = rng.choice([b"\n", b"a", b" ", b"\0", b"9"])
    if rng.random() < 0.5:
        return zstd_bomb(data[:60000], fill, 8 << 30), ANY
    member = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = member.compress(fill * (1 << 26)) + member.flush()
    return gzip.compress(data, mtime=0) + packed * 128, ANY


TEXT = [*BINARY, replace_number, replace_number, replace_number, replace_word, replace_word, shuffle_lines, edit_line,
        edit_line, edit_column, edit_column, long_line, nul_line, carriage_returns, windows_lines, byte_order_mark, compressed,
        compressed_and_damaged]


def _leaves(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _leaves(inner, (*path, key))


def _is_json(text):
    """Returns true for a string that holds an object or an array, as metadata of model files do."""
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


def edit_value(rng, value):
    """A JSON value with one part of it changed."""
    path = rng.choice(list(_leaves(value)))
    if not path:
        return rng.choice(VALUES)
    place = value
    for key in path[:-1]:
        place = place[key]
    how = rng.randrange(8)
    if how == 0 and isinstance(place, dict):
        del place[path[-1]]
    elif how == 1 and isinstance(place, dict):
        place[path[-1] + rng.choice(["x", "\x1b[1m", "\0"])] = place[path[-1]]
    elif how == 2 and isinstance(place, list):
        place.extend(place * rng.choice([1, 100]))
    elif how == 3:
        place[path[-1]] = [place[path[-1]]]
    elif isinstance(place[path[-1]], (int, float)) and rng.random() < 0.6:
        old = place[path[-1]]
        numbers = [value for value in VALUES if isinstance(value, (int, float))]
        place[path[-1]] = rng.choice([old + 1, old * 2 + 0.5, -old, *numbers])
    elif isinstance(place[path[-1]], str) and _is_json(place[path[-1]]) and rng.random() < 0.8:
        inner = edit_value(rng, json.loads(place[path[-1]]))
        place[path[-1]] = json.dumps(inner, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
    else:
        place[path[-1]] = rng.choice(VALUES)
    return value


def edit_json(rng, data):
    try:
        value = json.loads(data)
    except ValueError:
        return flip_bits(rng, data)
    if rng.random() < 0.03:
        return b"[" * 200_000 + data + b"]" * 200_000, ANY
    if isinstance(value, dict) and rng.random() < 0.05:
        text = json.dumps(value)
        return (text[:-1] + ", " + text[1:]).encode(), ANY
    return json.dumps(edit_value(rng, value), indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass"), ANY


def edit_json_line(rng, data):
    lines = _lines(data)
    i = rng.randrange(len(lines))
    lines[i] = edit_json(rng, lines[i])[0].replace(b"\n", b" ") if lines[i].strip() else b"{}"
    return b"\n".join(lines), ANY


def edit_array(rng, data):
    """A model file with one array changed, and a right checksum."""
    metadata, arrays = split_model(data)
    if not arrays:
        return edit_metadata(rng, data)
    name = rng.choice(list(arrays))
    dtype, shape, values = arrays[name]
    size, how = SIZES[dtype], rng.randrange(10)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name][2], _ = rng.choice(BINARY)(rng, values)
        if len(arrays[name][2]) % size == 0:
            arrays[name][1] = [len(arrays[name][2]) // size]
    elif how == 2:
        arrays[name] = [dtype, [0], b""]
    elif how == 3:
        arrays[name] = [dtype, [len(values) // size * 2], values * 2]
    elif how == 4:
        arrays[name][0] = rng.choice([other for other in SIZES if SIZES[other] == size])
    elif dtype == "U8" and how < 9:
        arrays[name][2] = replace_number(rng, values)[0]
        arrays[name][1] = [len(arrays[name][2])]
    elif values:
        out = bytearray(values)
        for _ in range(rng.choice([1, 1, 3, len(values) // size])):
            at = rng.randrange(len(values) // size) * size
            out[at:at + size] = rng.choice(SPECIAL[dtype])
        arrays[name][2] = bytes(out)
    return join_model(metadata, arrays), ANY


def edit_metadata(rng, data):
    """A model file with the metadata or the header changed, and a right checksum."""
    metadata, arrays = split_model(data)
    if rng.random() < 0.85:
        metadata.pop("checksum")
        edited = edit_value(rng, metadata)
        if not isinstance(edited, dict):
            edited = {}
        return join_model({k: v if rng.random() < 0.02 else str(v) for k, v in edited.items()}, arrays), ANY
    size = struct.unpack("<Q", data[:8])[0]
    header = edit_json(rng, data[8:8 + size])[0]
    return repair_model(struct.pack("<Q", len(header)) + header + data[8 + size:]), ANY


def repaired_bytes(rng, data):
    return repair_model(rng.choice(BINARY)(rng, data)[0]), ANY


FORMS = {
    "text": TEXT,
    "json lines": [*TEXT, *[edit_json_line] * 12],
    "json": [*[m for m in BINARY if m is not flip_bits], flip_bits, *[edit_json] * 14, replace_number, replace_number],
    "binary": BINARY,
    "model": [*BINARY[2:], *[edit_array] * 12, *[edit_metadata] * 10, *[repaired_bytes] * 4],
}


def mutate(rng: random.Random, form, data):
    """Mutated bytes, the expectation, and the name of the mutation."""
    mutation = bomb if form in ("text", "json lines") and rng.random() < 0.006 else rng.choice(FORMS[form])
    out, expectation = mutation(rng, data)
    return out, expectation, mutation.__name__
