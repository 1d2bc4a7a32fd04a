"""What a page of the site has: its tags, and the curves of a figure as the site's script has them,
JSON, gzipped, in base64.
"""

import base64
import gzip
import json
import re
from html.parser import HTMLParser

CALL = re.compile(r'noregret\.receive\("([\w/-]+)",("[\w+/=]+")\);\n')


def read(path):
    """Of which figure a script is, and its curves. It is one call, and holds nothing else."""
    figure, packed = CALL.fullmatch(path.read_text(encoding="utf-8")).groups()
    return figure, json.loads(gzip.decompress(base64.b64decode(json.loads(packed))))


def rewrite(path, data):
    """The same call with other curves."""
    figure, _ = read(path)
    packed = base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()
    path.write_text(f'noregret.receive("{figure}","{packed}");\n', encoding="utf-8")


class _Parser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def tags(page):
    """Each tag that begins in a text, and its attributes."""
    parser = _Parser()
    parser.feed(page)
    return parser.found
