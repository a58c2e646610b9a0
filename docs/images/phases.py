#!/usr/bin/env python3
"""Draws the six pictures of docs/phases: python3 docs/images/phases.py. Same colours as six-phases.svg."""
import os

STYLE = """text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
    .small { font-size: 11.5px } .cap { fill: #57606a } .row { font-weight: 600 } .in { font-size: 11.5px; fill: #1b1f24 }
    .mono { font: 12px ui-monospace, Menlo, Consolas, monospace } .good { fill: #1a7f37 }
    .p1 { fill: #d8ccf5 } .p2 { fill: #f9d9a8 } .p3 { fill: #b6d8f7 } .p3b { fill: #8ec1ee } .p4 { fill: #f5a8a0 } .p5 { fill: #b4e3bd }
    .p6 { fill: #d0d7de } .line { stroke: #57606a; stroke-width: 1.4; fill: none } .dash { stroke-dasharray: 4 3 }
    .bar { stroke: #24292f; stroke-width: 3; stroke-linecap: round } .tip { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .cap { fill: #9198a1 } .in { fill: #0d1117 } .good { fill: #3fb950 } .line { stroke: #9198a1 } .tip { fill: #9198a1 }
      .bar { stroke: #e6edf3 } .p1 { fill: #b9a4ea } .p2 { fill: #e3b566 } .p3 { fill: #7db8ea } .p3b { fill: #5a9fdb } .p4 { fill: #e58a80 }
      .p5 { fill: #7cc98c } .p6 { fill: #8c959f }
    }"""


class Picture:
    def __init__(self, name, title, width=720, height=240):
        self.name, self.title, self.width, self.height, self.parts = name, title, width, height, []

    def box(self, x, y, w, h, kind, label="", style="in"):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4" class="{kind}"/>')
        if label:
            self.text(x + w / 2, y + h / 2 + 4.5, label, style, "middle")

    def text(self, x, y, words, style="", anchor="start"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">{words}</text>')

    def arrow(self, x1, y1, x2, y2, style=""):
        self.parts.append(f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" class="line {style}" marker-end="url(#tip)"/>')

    def line(self, x1, y1, x2, y2, style="line"):
        self.parts.append(f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" class="{style}"/>')

    def write(self):
        body = "\n  ".join(self.parts)
        text = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" aria-labelledby="title">
  <title id="title">{self.title}</title>
  <style>
    {STYLE}
  </style>
  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 Z" class="tip"/></marker></defs>
  {body}
</svg>
"""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), self.name + ".svg"), "w", encoding="utf-8") as file:
            file.write(text)


def replicate():
    p = Picture("phase-1-replicate", "Replica 0's variables are copied to every other replica", height=210)
    p.text(360, 24, "the seed gives replica 0 its weights; the others get copies, bit for bit", "cap", "middle")
    for i in range(4):
        x = 60 + 160 * i
        p.box(x, 70, 120, 34, "p1", "kernel, bias, m, v")
        p.text(x + 60, 60, f"replica {i}", "row", "middle")
        p.text(x + 60, 152, "9a0a8196…", "mono good", "middle")
        if i:
            p.arrow(x + 60, 124, x + 60, 107)
    p.line(120, 104, 120, 124)
    p.line(120, 124, 600, 124)
    p.text(360, 190, "one checksum each, all equal: from here on equal updates keep them equal", "cap", "middle")
    p.write()


def shard():
    p = Picture("phase-2-shard", "A global batch of 10 samples is cut into shares of 3, 3, 2 and 2", height=230)
    p.text(360, 24, "a global batch of 10 samples, 4 replicas: contiguous, sizes differ by at most one, larger first", "cap", "middle")
    x0, w = 130, 44
    shares = [3, 3, 2, 2]
    kinds = ["p2", "p3", "p4", "p5"]
    at = 0
    for r, share in enumerate(shares):
        for k in range(share):
            p.box(x0 + (at + k) * (w + 2), 44, w, 30, kinds[r], str(at + k))
        left = 60 + 160 * r
        middle = x0 + (at + share / 2) * (w + 2)
        p.arrow(middle, 80, left + 60, 132)
        p.text(left + 60, 205, f"replica {r}", "row", "middle")
        for k in range(share):
            p.box(left + 60 - share * 19 + k * 38, 140, 36, 30, kinds[r], str(at + k))
        p.text(left + 60, 187, f"weight {share}/10", "small cap", "middle")
        at += share
    p.write()


def local_gradients():
    p = Picture("phase-3-local-gradients", "Every replica runs forward and backward on its own samples and weighs its gradients by its share", height=250)
    p.text(360, 24, "forward, then backward: the last layer's gradients are ready first", "cap", "middle")
    for r in range(2):
        y = 60 + 90 * r
        p.text(86, y + 19, f"replica {r}", "row", "end")
        for k, name in enumerate(["conv", "pool", "dense", "logits"]):
            p.box(100 + 68 * k, y, 64, 28, "p3", name)
        for k, name in enumerate(["logits", "dense", "pool", "conv"]):
            p.box(384 + 76 * k, y, 72, 28, "p3b", "∇ " + name)
        p.text(236, y + 46, "forward", "small cap", "middle")
        p.text(536, y + 46, "backward", "small cap", "middle")
        p.arrow(700, y + 14, 715, y + 14)
    p.text(360, 226, "gradient of replica r  =  Σ over its samples of ∇loss / global batch:  the sum over replicas is the whole batch's mean", "small", "middle")
    p.write()


def all_reduce():
    p = Picture("phase-4-all-reduce", "Buckets of gradients are summed over replicas while backward goes on", height=270)
    p.text(360, 24, "buckets leave in the order backward fills them; a communication stream sums them at the same time", "cap", "middle")
    for x in (315, 482, 597):
        p.line(x, 110, x, 174, "line dash")
    for r in range(2):
        y = 56 + 88 * r
        p.text(96, y + 17, f"replica {r}", "row", "end")
        for k, name in enumerate(["∇ logits", "∇ dense", "∇ conv"]):
            p.box(110 + 150 * k, y, 146, 24, "p3b", name)
        for k, (x, w, name) in enumerate([(260, 110, "bucket 0: Σ"), (412, 140, "bucket 1: Σ"), (562, 70, "2: Σ")]):
            p.box(x, y + 30, w, 24, "p4", name)
        p.text(96, y + 47, "messages", "small cap", "end")
    p.line(560, 50, 560, 232, "line dash")
    p.text(566, 226, "end of backward", "small cap")
    p.text(360, 256, "only what comes after that line is exposed: here bucket 2", "cap", "middle")
    p.write()


def update():
    p = Picture("phase-5-update", "Every replica applies the same optimizer to the same sum", height=210)
    p.text(360, 24, "the same sum, the same state, the same arithmetic: the same bits", "cap", "middle")
    for r in range(3):
        y = 48 + 44 * r
        p.text(96, y + 19, f"replica {r}", "row", "end")
        p.box(110, y, 130, 28, "p4", "Σ gradients")
        p.box(270, y, 150, 28, "p5", "Adam: m, v, step t")
        p.box(450, y, 130, 28, "p1", "new weights")
        p.arrow(240, y + 14, 267, y + 14)
        p.arrow(420, y + 14, 447, y + 14)
        p.text(600, y + 19, "d0c5e9a1…", "mono good")
    p.text(360, 200, "one kernel over one flat buffer for each replica; nothing is sent", "cap", "middle")
    p.write()


def barrier():
    p = Picture("phase-6-barrier", "Replicas meet; the slowest one decides when", height=220)
    p.text(360, 24, "no replica begins the next step before all have ended this one", "cap", "middle")
    for r, w in enumerate([330, 300, 430, 310]):
        y = 46 + 34 * r
        p.text(96, y + 18, f"replica {r}", "row", "end")
        p.box(110, y, w, 24, "p3", "phases 2 to 5")
        if w < 430:
            p.box(110 + w + 3, y, 430 - w - 3, 24, "p6", "waits")
    p.line(548, 42, 548, 176, "bar")
    p.text(560, 62, "checksums are compared", "small")
    p.text(560, 82, "9a0a8196… ×4", "mono good")
    p.text(560, 130, "replica 2 is the", "small")
    p.text(560, 147, "straggler", "small")
    p.text(360, 206, "every wait has a deadline; a replica that never arrives is named", "cap", "middle")
    p.write()


for draw in (replicate, shard, local_gradients, all_reduce, update, barrier):
    draw()
