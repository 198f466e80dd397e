"""File formats the attack takes apart and puts together again: BLAKE3, safetensors, zstd frames, dataset manifests.

A mutation inside a checksummed file never gets past the checksum. To reach the code behind it the checksum is
computed again. Python has no BLAKE3, so a plain one is here; it hashes about 0.5 MB a second, and the files are small.
"""

import json
import re
import struct

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXES = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
         (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
MASK = 0xFFFFFFFF
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
ZEROS = b"0" * 64


def _compress(chain, block, counter, length, flags):
    m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    s = [*chain, *IV[:4], counter & MASK, counter >> 32, length, flags]
    for turn in range(7):
        for i, (a, b, c, d) in enumerate(MIXES):
            for x, (r, q) in ((m[2 * i], (16, 12)), (m[2 * i + 1], (8, 7))):
                s[a] = (s[a] + s[b] + x) & MASK
                e = s[d] ^ s[a]
                s[d] = (e >> r | e << (32 - r)) & MASK
                s[c] = (s[c] + s[d]) & MASK
                e = s[b] ^ s[c]
                s[b] = (e >> q | e << (32 - q)) & MASK
        if turn < 6:
            m = [m[i] for i in ORDER]
    return [s[i] ^ s[i + 8] for i in range(8)]


def _node(data, counter):
    """The last compression of the tree over `data` as its arguments, so that the root can be told."""
    if len(data) <= 1024:
        blocks = [data[i:i + 64] for i in range(0, len(data), 64)] or [b""]
        chain = IV
        for i, block in enumerate(blocks[:-1]):
            chain = _compress(chain, block, counter, 64, CHUNK_START if i == 0 else 0)
        last = CHUNK_END | (CHUNK_START if len(blocks) == 1 else 0)
        return chain, blocks[-1], counter, len(blocks[-1]), last
    chunks = (len(data) + 1023) // 1024
    left = 1 << ((chunks - 1).bit_length() - 1)
    halves = _node(data[:left * 1024], counter), _node(data[left * 1024:], counter + left)
    return IV, struct.pack("<16I", *(w for half in halves for w in _compress(*half))), 0, 64, PARENT


def blake3(data):
    """BLAKE3 of bytes, hexadecimal."""
    chain, block, counter, length, flags = _node(bytes(data), 0)
    return struct.pack("<8I", *_compress(chain, block, counter if not flags & PARENT else 0, length, flags | ROOT)).hex()


def repair_model(data):
    """The bytes of a model file with the checksum made right; unchanged if there is no place for it."""
    at = data.find(b'"checksum":"')
    if at < 0 or len(data) < at + 12 + 64:
        return data
    blank = data[:at + 12] + ZEROS + data[at + 76:]
    return blank[:at + 12] + blake3(blank).encode() + blank[at + 76:]


def split_model(data):
    """Header and arrays of a safetensors file: {"__metadata__": ...}, {name: (dtype, shape, bytes)}."""
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + size]), data[8 + size:]
    metadata = header.pop("__metadata__")
    arrays = {}
    for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, end = info["data_offsets"]
        arrays[name] = [info["dtype"], info["shape"], body[start:end]]
    return metadata, arrays


def join_model(metadata, arrays):
    """A safetensors file with a right checksum."""
    header, body = {"__metadata__": {**metadata, "checksum": ZEROS.decode()}}, b""
    for name, (dtype, shape, values) in arrays.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return repair_model(struct.pack("<Q", len(text)) + text + body)


def zstd_frame(data):
    """A zstd frame of stored blocks: what any decoder reads, without a compressor."""
    out = [b"\x28\xb5\x2f\xfd\x00\x58"]
    blocks = [data[i:i + 65536] for i in range(0, len(data), 65536)] or [b""]
    for i, block in enumerate(blocks):
        out.append(struct.pack("<I", len(block) << 3 | (i == len(blocks) - 1))[:3] + block)
    return b"".join(out)


def zstd_bomb(prefix, byte, count):
    """A zstd frame that expands to `prefix` and `count` times `byte`: four bytes for every 128 KiB."""
    out = [b"\x28\xb5\x2f\xfd\x00\x58", struct.pack("<I", len(prefix) << 3)[:3] + prefix]
    block = 131072
    for i in range(count // block):
        last = i == count // block - 1
        out.append(struct.pack("<I", block << 3 | 1 << 1 | last)[:3] + byte)
    return b"".join(out)


def seal_dataset(folder, rows=None):
    """Makes the hashes in a dataset's manifest right, and the `rows` of tables. Returns whether that could be done."""
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        for name, info in manifest["tables"].items():
            data = (folder / name).read_bytes()
            info["blake3"], info["bytes"] = blake3(data), len(data)
            info["rows"] = (rows or {}).get(name, info["rows"])
        if manifest.get("manifest_hash"):
            manifest["manifest_hash"] = "0" * 64
        else:
            # Version 0.1.0 hashes the tables and what they were made with.
            hashes = "".join(f"{name} {info['blake3']}\n" for name, info in sorted(manifest["tables"].items()))
            made = [manifest[name] for name in ("split", "analyser", "fields")]
            manifest["content_hash"] = blake3(hashes.encode() + _compact(made))
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        path.write_bytes(text.replace("0" * 64, blake3(text.encode())).encode())
        return True
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def seal_index(folder):
    """Makes the list of checksums of an index right. Returns whether there is one."""
    path = folder / "checksums.json"
    if not path.exists():
        return False
    files = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file != path and file.is_file()}
    path.write_text(json.dumps({name: {"bytes": len(data), "blake3": blake3(data)} for name, data in files.items()}))
    return True


def _compact(value):
    """JSON without blanks, with numbers as Rust writes them."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r"(\d)e([+-])0*(\d)", lambda m: f"{m[1]}e{m[2].strip('+')}{m[3]}", text).encode()
