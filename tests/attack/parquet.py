"""Dataset tables written from scratch, with values that no honest program writes.

Flipped bits rarely get past the compression of a page. These tables are sound Parquet (one row group, plain pages, not
compressed) whose content is wrong: row numbers out of range, NaN, empty or repeated ids, missing columns, other types.
"""

import struct

UTF8, UINT8, UINT32, UINT64, FLOAT, DOUBLE, INT64 = "utf8", "u8", "u32", "u64", "f32", "f64", "i64"
#: Physical type, converted type, and how a value is written.
TYPES = {
    UTF8: (6, 0, lambda v: struct.pack("<I", len(v)) + v),
    UINT8: (1, 11, lambda v: struct.pack("<I", v)),
    UINT32: (1, 13, lambda v: struct.pack("<I", v)),
    UINT64: (2, 14, lambda v: struct.pack("<Q", v)),
    INT64: (2, None, lambda v: struct.pack("<Q", v)),
    FLOAT: (4, None, lambda v: struct.pack("<f", v)),
    DOUBLE: (5, None, lambda v: struct.pack("<d", v)),
}
SPECIAL = {
    UTF8: [b"", b" ", b"\0", b"\xff\xfe", b"\x1b[31m", b"d0", b"q0", b"x" * 70000, b"a b", b"\n"],
    UINT8: [0, 1, 2, 3, 255],
    UINT32: [0, 1, 79, 80, 2**31, 2**32 - 1],
    UINT64: [0, 1, 2**32, 2**63, 2**64 - 1],
    FLOAT: [float("nan"), float("inf"), -1.0, 0.0, 1e38, 1e-45, -0.0],
}
SPECIAL[DOUBLE], SPECIAL[INT64] = SPECIAL[FLOAT], SPECIAL[UINT64]
SCHEMAS = {
    "documents.parquet": [("id", UTF8), ("title", UTF8), ("url", UTF8)],
    "queries.parquet": [("id", UTF8), ("text", UTF8)],
    "responses.parquet": [("query", UINT32), ("document", UINT32), ("response", FLOAT), ("shown", UINT32), ("position", FLOAT)],
    "skipped.parquet": [("query", UINT32), ("document", UINT32), ("position", FLOAT)],
    "judgments.parquet": [("split", UINT8), ("query", UINT32), ("document", UINT32), ("grade", FLOAT), ("clicks", FLOAT)],
    "vocabulary.parquet": [("term", UTF8), ("document_frequency", UINT32), ("collection_frequency", UINT64),
                           ("query_frequency", UINT32)],
}


def crafted(rng, name, rows):
    """A table of about `rows` rows, mostly right; returns its bytes and its rows."""
    schema = list(SCHEMAS[name])
    n = rng.choice([rows, rows, rows, rows, 0, 1, rows + 1, rows * 3])
    columns = {}
    for column, kind in schema:
        usual = {
            UTF8: lambda i: f"{name[0]}{i}".encode() if column in ("id", "term") else rng.choice([b"baba", b"bafo badu"]),
            UINT8: lambda i: i % 2,
            UINT32: lambda i: rng.randrange(80),
            UINT64: lambda i: 1 + i % 9,
            FLOAT: lambda i: float(i % 5),
        }[kind]
        columns[column] = (kind, [usual(i) for i in range(n)])
    for _ in range(rng.choice([1, 1, 2, 5])):
        column = rng.choice(list(columns))
        kind, values = columns[column]
        how = rng.randrange(8)
        if how == 0:
            del columns[column]
            if not columns:
                columns[column] = (kind, values)
        elif how == 1:
            other = rng.choice(list(TYPES))
            columns[column] = (other, [rng.choice(SPECIAL[other]) for _ in values])
        elif how == 2:
            columns[column] = (kind, [rng.choice(SPECIAL[kind])] * len(values))
        elif values:
            for _ in range(rng.choice([1, 1, 4])):
                values[rng.randrange(len(values))] = rng.choice(SPECIAL[kind])
    return table([(column, *columns[column]) for column in columns], optional=rng.random() < 0.2), n


def table(columns, optional=False):
    """Parquet bytes of columns: (name, type, values)."""
    out, chunks = b"PAR1", []
    rows = len(columns[0][2]) if columns else 0
    for name, kind, values in columns:
        physical, _, write = TYPES[kind]
        page = b"".join(write(value) for value in values)
        if optional:
            # Definition levels: one run of ones.
            levels = _varint(rows << 1) + b"\1" if rows else b""
            page = struct.pack("<I", len(levels)) + levels + page
        header = _struct([(1, 5, _zigzag(0)), (2, 5, _zigzag(len(page))), (3, 5, _zigzag(len(page))),
                          (5, 12, _struct([(i, 5, _zigzag(v)) for i, v in ((1, rows), (2, 0), (3, 3), (4, 3))]))])
        start = len(out)
        out += header + page
        meta = _struct([(1, 5, _zigzag(physical)), (2, 9, _list(5, [_zigzag(0), _zigzag(3)])),
                        (3, 9, _list(8, [_binary(name.encode())])), (4, 5, _zigzag(0)),
                        (5, 6, _zigzag(rows)), (6, 6, _zigzag(len(header) + len(page))),
                        (7, 6, _zigzag(len(header) + len(page))), (9, 6, _zigzag(start))])
        chunks.append(_struct([(2, 6, _zigzag(start)), (3, 12, meta)]))
    schema = [_struct([(4, 8, _binary(b"schema")), (5, 5, _zigzag(len(columns)))])]
    for name, kind, _ in columns:
        physical, converted, _ = TYPES[kind]
        fields = [(1, 5, _zigzag(physical)), (3, 5, _zigzag(1 if optional else 0)), (4, 8, _binary(name.encode()))]
        schema.append(_struct(fields + ([(6, 5, _zigzag(converted))] if converted is not None else [])))
    group = _struct([(1, 9, _list(12, chunks)), (2, 6, _zigzag(len(out))), (3, 6, _zigzag(rows))])
    footer = _struct([(1, 5, _zigzag(1)), (2, 9, _list(12, schema)), (3, 6, _zigzag(rows)), (4, 9, _list(12, [group]))])
    return out + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def _zigzag(n):
    return _varint(n << 1)


def _binary(data):
    return _varint(len(data)) + data


def _list(kind, items):
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + _varint(len(items))
    return head + b"".join(items)


def _struct(fields):
    """Thrift's compact protocol: (id, type, bytes), ids ascending."""
    out, last = b"", 0
    for number, kind, data in fields:
        out, last = out + bytes([(number - last) << 4 | kind]) + data, number
    return out + b"\0"
