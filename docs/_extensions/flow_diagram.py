"""The directive ``flow``: boxes below each other, with a note beside each and an arrow between two."""

from html import escape

from docutils import nodes
from docutils.parsers.rst import Directive

WIDTH, BOX, LINE, GAP = 640, 190, 20, 26


def svg(entries, label):
    """Return the picture of (title, lines of the note) pairs."""
    parts, y = [], 2
    for i, (title, note) in enumerate(entries):
        height = max(2, len(note)) * LINE + 8
        middle = y + height / 2
        parts.append(
            f'<rect class="accent" x="2" y="{y}" width="{BOX}" height="{height}" rx="6"/>'
        )
        parts.append(
            f'<text x="{2 + BOX / 2}" y="{middle + 5}" text-anchor="middle">{escape(title)}</text>'
        )
        top = middle - (len(note) - 1) * LINE / 2 + 5
        for j, line in enumerate(note):
            parts.append(
                f'<text class="note" x="{BOX + 20}" y="{top + j * LINE}">{escape(line)}</text>'
            )
        y += height
        if i < len(entries) - 1:
            x = 2 + BOX / 2
            parts.append(
                f'<path d="M{x} {y} V{y + GAP - 3} M{x - 5} {y + GAP - 10} L{x} {y + GAP - 3} L{x + 5} {y + GAP - 10}"/>'
            )
            y += GAP
    return (
        f'<svg class="diagram" viewBox="0 0 {WIDTH} {y + 2}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(label)}" font-size="15">{"".join(parts)}</svg>'
    )


class Flow(Directive):
    """Draw one box per line of the content: ``title | first line of the note | second line``."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        entries = []
        for line in self.content:
            if line.strip():
                title, *note = (part.strip() for part in line.split(" | "))
                entries.append((title, note))
        return [nodes.raw("", svg(entries, self.arguments[0]), format="html")]


def setup(app):
    app.add_directive("flow", Flow)
    return {"parallel_read_safe": True}
