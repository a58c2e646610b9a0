#!/usr/bin/env python3
"""Draws what scaling.cc measured: plot_scaling.py OUT.svg < lines of CSV. Beside each curve stands the straight line that fits it best, and
how much of the variation it explains."""
import csv
import sys
from html import escape

TITLES = {"batch": "global batch, 2 replicas", "replicas, 32 samples each": "replicas, 32 samples each",
          "replicas, 512 samples in all": "replicas, 512 samples in all", "width": "units of the dense layer, batch 128, 2 replicas"}
WIDTH, HEIGHT, LEFT, TOP = 460, 300, 62, 40


def fitted(points):
    """(slope, intercept, R squared) of the least squares line."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _, _ in points) / n, sum(y for _, y, _ in points) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y, _ in points) / sum((x - mean_x) ** 2 for x, _, _ in points)
    intercept = mean_y - slope * mean_x
    rest = sum((y - slope * x - intercept) ** 2 for x, y, _ in points)
    whole = sum((y - mean_y) ** 2 for _, y, _ in points)
    return slope, intercept, 1 - rest / whole if whole else 1.0


def nice_step(largest, ticks=5):
    raw = largest / ticks
    size = 10 ** len(str(int(raw))) / 10 if raw >= 1 else 0.1
    return next(step for step in (size, 2 * size, 5 * size, 10 * size) if step >= raw)


def panel(what, points, left, top):
    slope, intercept, r2 = fitted(points)
    most_x, most_y = max(x for x, _, _ in points), 1.1 * max(u for _, _, u in points)
    at = lambda x, y: (left + LEFT + x / most_x * (WIDTH - LEFT - 20), top + HEIGHT - 40 - y / most_y * (HEIGHT - TOP - 46))  # noqa: E731
    parts = [f'<text x="{left + LEFT}" y="{top + 18}" class="title">{escape(TITLES[what])}</text>',
             f'<text x="{left + LEFT}" y="{top + 33}" class="note">{intercept:.2f} + {slope:.4g} x ms; R² = {r2:.4f}</text>']
    for axis, most, step in (("y", most_y, nice_step(most_y)), ("x", most_x, nice_step(most_x))):
        tick = 0
        while tick <= most:
            (x0, y0), (x1, y1) = (at(0, tick), at(most_x, tick)) if axis == "y" else (at(tick, 0), at(tick, most_y))
            parts.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="grid"/>')
            where = f'x="{x0 - 6:.1f}" y="{y0 + 4:.1f}" text-anchor="end"' if axis == "y" else f'x="{x0:.1f}" y="{y0 + 16:.1f}" text-anchor="middle"'
            parts.append(f'<text {where} class="tick">{tick:g}</text>')
            tick += step
    (x0, y0), (x1, y1) = at(0, max(0, intercept)), at(most_x, slope * most_x + intercept)
    parts.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="fit"/>')
    parts.append('<polyline points="' + " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y, _ in points) + '" class="curve"/>')
    for x, y, upper in points:
        (cx, cy), (_, uy) = at(x, y), at(x, upper)
        parts.append(f'<line x1="{cx:.1f}" y1="{cy:.1f}" x2="{cx:.1f}" y2="{uy:.1f}" class="spread"/>')
        parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="3.5" class="point"/>')
    return parts, (slope, intercept, r2)


def main():
    curves = {}
    for row in csv.DictReader(sys.stdin):
        curves.setdefault(row["what"], []).append((float(row["value"]), float(row["step_ms"]), float(row["upper_quartile_ms"])))
    parts = []
    for i, (what, points) in enumerate(curves.items()):
        drawn, (slope, intercept, r2) = panel(what, points, i % 2 * (WIDTH + 10), 34 + i // 2 * (HEIGHT + 10))
        parts += drawn
        print(f"{what:<30} step = {intercept:7.2f} ms + {slope:9.5f} ms x {what.split(',')[0]:<9} R2 = {r2:.4f}")
    style = ("text{font-family:sans-serif;fill:#1f2933}.head{font-size:15px;font-weight:600}.title{font-size:13px;font-weight:600}"
             ".note,.tick{font-size:11px;fill:#52606d}.grid{stroke:#e4e7eb}.fit{stroke:#9aa5b1;stroke-dasharray:5 4}"
             ".curve{fill:none;stroke:#0072b2;stroke-width:2}.point{fill:#0072b2}.spread{stroke:#0072b2;stroke-opacity:.5}")
    height = 44 + (len(curves) + 1) // 2 * (HEIGHT + 10)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH + 20} {height}" role="img" '
                   f'aria-label="Time of a training step against batch, replicas and width"><style>{style}</style>'
                   f'<rect width="100%" height="100%" fill="#fff"/><text x="{LEFT}" y="24" class="head">Milliseconds of a step of MNIST\'s network</text>'
                   + "\n".join(parts) + "</svg>\n")
    print(f"drawn: {sys.argv[1]}")


main()
