"""The ratios as an SVG picture: a bar for each peer and cell, on a logarithmic axis."""

import math
from xml.sax.saxutils import escape

from report import in_order

# Legible on light and dark backgrounds. Order and names identify the peers without colours, too.
COLOURS = ["#d1495b", "#2e86ab", "#3ca370", "#e08e2b", "#8e6bbf", "#4bb3c1", "#a8743a", "#7d8a97",
           "#c2569b", "#7f9f2f"]
BAR, GAP, LABELS, WIDTH, SPACE, TOP = 8, 10, 210, 330, 46, 96
TITLES = {"256Ki": "in the caches (256Ki elements)", "256Mi": "beyond the caches (256Mi elements)"}
# Grey that is legible on both backgrounds: not every viewer supports a dark style of a picture.
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #768390 }
.small { font-size: 10px }
.title { font-size: 15px; font-weight: 600 }
.grid { stroke: #768390; stroke-opacity: .3 }
.one { stroke: #768390; stroke-width: 1.5 }
.two { stroke: #8b98a5; stroke-width: 3 }
"""


class Axis:
    """An axis from below the smallest to above the largest ratio; maps ratios to x coordinates."""

    def __init__(self, ratios, left):
        self.low = min(0.8, 0.9 * min(ratios))
        self.high = max(12.0, 1.1 * max(ratios))
        self.left = left

    def place(self, ratio):
        return self.left + WIDTH * math.log(ratio / self.low) / math.log(self.high / self.low)

    def ticks(self):
        every = [m * 10.0**e for e in range(-2, 5) for m in (1, 2, 5)]
        return [tick for tick in every if self.low <= tick <= self.high]


def text(x, y, words, kind="", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f"{escape(words)}</text>")


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def tops(cells, rows):
    """The y coordinates of the cells and of the end. A cell has a bar for each peer that has it."""
    places, y = {}, TOP
    for cell in cells:
        peers = list(dict.fromkeys(row["peer"] for row in rows if row["cell"] == cell))
        places[cell] = (y, peers)
        y += BAR * len(peers) + GAP
    return places, y


def panel(rows, size, left, places, bottom, colours):
    """One panel: bars for one thread, marks for two. All panels have the same order of bars."""
    here = [row for row in rows if row["size"] == size]
    axis = Axis([row["ratio"] for row in here], left)
    out = [text(left, TOP - 26, TITLES.get(size, size))]
    for tick in axis.ticks():
        x = axis.place(tick)
        out.append(line(x, TOP - 6, x, bottom, "one" if tick == 1 else "grid"))
        out.append(text(x, TOP - 10, f"{tick:g}", "small", "middle"))
    for row in here:
        y, peers = places[row["cell"]]
        y += BAR * peers.index(row["peer"])
        x, end = axis.place(1), axis.place(row["ratio"])
        words = f"{row['peer']}, {row['cell']}, threads {row['threads']}: {row['ratio']:.2f}"
        if row["threads"] == 1:
            out.append(f'<rect x="{min(x, end):.1f}" y="{y}" width="{abs(end - x):.1f}" '
                       f'height="{BAR - 1}" fill="{colours[row["peer"]]}">'
                       f"<title>{escape(words)}</title></rect>")
        else:
            out.append(line(end, y - 0.5, end, y + BAR - 0.5, "two"))
    return out


def legend(colours):
    out, x = [], 10
    for peer, colour in colours.items():
        out.append(f'<rect x="{x}" y="36" width="10" height="10" fill="{colour}"/>')
        out.append(text(x + 14, 45, peer, "small"))
        x += 26 + 6 * len(peer)
    return out


def svg(rows, cell_order, command, machine):
    """The picture; `command` made it on `machine`."""
    rows = [row for row in rows if "ratio" in row]
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    colours = {peer: COLOURS[i % len(COLOURS)] for i, peer in enumerate(peers)}
    places, bottom = tops(in_order((row["cell"] for row in rows), cell_order), rows)
    sizes = in_order((row["size"] for row in rows), list(TITLES))
    width = LABELS + max(2, len(sizes)) * (WIDTH + SPACE)  # the legend needs that of two
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 30}" '
           f'width="{width}" height="{bottom + 30}" role="img">',
           "<title>How many times as long others take as dequant</title>",
           f"<desc>Made by: {escape(command)}. Machine: {escape(machine)}</desc>",
           f"<style>{STYLE}</style>",
           text(10, 22, "How many times as long others take as dequant", "title"),
           *legend(colours)]
    for cell, (y, _) in places.items():
        out.append(text(LABELS - 12, y + 8, cell, "small", "end"))
    for i, size in enumerate(sizes):
        out += panel(rows, size, LABELS + i * (WIDTH + SPACE), places, bottom, colours)
    out.append(text(10, bottom + 20, "Bars: one thread each. Marks: two threads each. Logarithmic "
                    f"axis; right of 1 dequant is faster. {machine}", "small"))
    return "\n".join([*out, "</svg>", ""])
