#!/usr/bin/env python3
"""The fingerprint, version 1, a second time and on its own: checks vectors.json.

    python3 reference.py              # exit status 1 if a vector does not hold
    python3 reference.py --fill       # write what new vectors lack

Written from README.md for clarity, not for speed or for hostile input.
"""
import base64
import hashlib
import json
import pathlib
import sys

MAX_DEPTH = 512
VECTORS = pathlib.Path(__file__).with_name("vectors.json")

sys.setrecursionlimit(5000)


class Number(str):
    """A number, as the text that it was sent as."""


class NotStrict(ValueError):
    pass


def ascii_lower(s):
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in s)


def unique(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise NotStrict("a name twice")
    return dict(pairs)


def refuse(word):
    raise NotStrict(word)


def write_string(s):
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    out = []
    for c in s:
        if 0xD800 <= ord(c) <= 0xDFFF:
            raise NotStrict("a lone surrogate")
        out.append(short.get(c) or (c if ord(c) >= 0x20 else "\\u%04x" % ord(c)))
    return '"' + "".join(out) + '"'


def utf16_units(name):
    return name.encode("utf-16-be", "surrogatepass")


def write(value, depth=0):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return write_string(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if depth == MAX_DEPTH:
        raise NotStrict("too deep")
    if isinstance(value, list):
        return "[" + ",".join(write(v, depth + 1) for v in value) + "]"
    names = sorted(value, key=utf16_units)
    return "{" + ",".join(write_string(n) + ":" + write(value[n], depth + 1) for n in names) + "}"


def canonical(body):
    """The canonical form, or None if body is not strictly valid JSON."""
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=unique, parse_float=Number,
                           parse_int=Number, parse_constant=refuse)
        return write(value).encode("utf-8")
    except (ValueError, RecursionError):  # NotStrict, JSONDecodeError and UnicodeDecodeError too
        return None


def content_type(text):
    """The content type as it is hashed, and whether it announces JSON."""
    media_type, _, parameters = text.partition(";")
    media_type = ascii_lower(media_type.strip(" \t"))
    parameters = parameters.strip(" \t")
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if is_json and ascii_lower(parameters) in ("charset=utf-8", 'charset="utf-8"'):
        parameters = ""
    return media_type + (";" + parameters if parameters else ""), is_json


def body_bytes(request):
    body = request.get("body", "")
    if request.get("body_encoding", "utf-8") == "base64":
        return base64.b64decode(body, validate=True)
    return body.encode("utf-8")


def part(tag, value):
    if isinstance(value, str):
        value = value.encode("utf-8")
    return tag + len(value).to_bytes(8, "big") + value


def hashed(request):
    """The hashed bytes, and the canonical body or None."""
    type_text, is_json = content_type(request.get("content_type", ""))
    body = body_bytes(request)
    form = canonical(body) if is_json else None
    out = b"reprise fingerprint v1\n"
    out += part(b"M", request.get("method", ""))
    out += part(b"T", request.get("target", ""))
    out += part(b"C", type_text)
    lines = [(ascii_lower(name).encode("utf-8"), value) for name, value in request.get("headers", [])]
    for name, value in sorted(lines, key=lambda line: line[0]):  # sorted is stable
        out += part(b"N", name) + part(b"V", value)
    out += part(b"B", body) if form is None else part(b"J", form)
    return out, form


def fingerprint(request):
    return "v1:" + hashlib.sha256(hashed(request)[0]).hexdigest()


def as_text(document):
    """JSON with a line for each field of a vector, in ASCII: no editor can normalise it."""
    blocks = []
    for vector in document["vectors"]:
        fields = [json.dumps(name) + ": " + json.dumps(value) for name, value in vector.items()]
        blocks.append("    {\n      " + ",\n      ".join(fields) + "\n    }")
    head = ["  %s: %s,\n" % (json.dumps(k), json.dumps(v)) for k, v in document.items() if k != "vectors"]
    return "{\n" + "".join(head) + '  "vectors": [\n' + ",\n".join(blocks) + "\n  ]\n}\n"


def main(fill):
    document = json.loads(VECTORS.read_text("utf-8"))
    failures = 0
    for vector in document["vectors"]:
        form = hashed(vector["request"])[1]
        want = {"canonical": form and form.decode("utf-8"), "fingerprint": fingerprint(vector["request"])}
        for field, value in want.items():
            if fill:
                vector.setdefault(field, value)
            if vector.get(field) != value:
                failures += 1
                print("%s: %s is %r, computed %r" % (vector["name"], field, vector.get(field), value))
    if fill:
        VECTORS.write_text(as_text(document), "ascii")
    print("%d vectors, %d failures" % (len(document["vectors"]), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main("--fill" in sys.argv[1:]))
