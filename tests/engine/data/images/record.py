"""Makes the small pictures of this folder and what TensorFlow decodes and resizes them to. Run by hand: python record.py (tensorflow, pillow).

The pictures are drawn here, so that nothing of anybody else's is in them. recorded.npz has, by file name, the decoded pixels ("cat.jpg", uint8)
and for some the picture resized ("cat.jpg@7x9", float32).
"""
import io
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))


def picture(height, width):
    """Smooth colours with a hard-edged disc in them."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    rgb = np.stack([x * 255 / width, y * 255 / height, 128 + 127 * np.sin(x / 3 + y / 4)], -1)
    rgb[(y - height / 2) ** 2 + (x - width / 3) ** 2 < (height / 4) ** 2] = (250, 240, 20)
    return Image.fromarray(rgb.astype(np.uint8))


rgb = picture(21, 34)
grey = rgb.convert("L")
few = rgb.quantize(13)
exif = Image.Exif()
exif[0x0112] = 6  # "turn me": ignored, as TensorFlow does
pictures = {
    "baseline_420.jpg": (rgb, dict(quality=70, subsampling=2)),
    "baseline_444.jpg": (rgb, dict(quality=90, subsampling=0)),
    "progressive.jpg": (rgb, dict(quality=80, progressive=True)),
    "grey.jpg": (grey, dict(quality=80)),
    "cmyk.jpg": (rgb.convert("CMYK"), dict(quality=85)),
    "exif_orientation.jpg": (rgb, dict(quality=75, exif=exif)),
    "rgb.png": (rgb, {}),
    "rgba.png": (rgb.convert("RGBA"), {}),
    "grey.png": (grey, {}),
    "palette.png": (few, {}),
    "two_colours.png": (grey.convert("1"), {}),
    "deep_grey.png": (Image.fromarray((np.asarray(grey).astype(np.uint16) * 257)), {}),
    "rgb.bmp": (rgb, {}),
    "still.gif": (few, {}),
    "interlaced.gif": (few, dict(interlace=1)),
}
recorded = {}
for name, (image, options) in pictures.items():
    path = os.path.join(here, name)
    image.save(path, **options)
    pixels = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    recorded[name] = pixels.numpy()
# What TensorFlow does not decode to three channels, by Pillow.
for name, image in {"palette.bmp": few, "two_colours.bmp": grey.convert("1")}.items():
    image.save(os.path.join(here, name))
    recorded[name] = np.asarray(image.convert("RGB"))

for name, sizes in {"rgb.png": [(21, 34), (7, 9), (30, 40), (1, 1), (3, 80)], "baseline_420.jpg": [(10, 17)]}.items():
    for height, width in sizes:
        resized = tf.image.resize(recorded[name], (height, width), method="bilinear", antialias=False).numpy()
        recorded[f"{name}@{height}x{width}"] = resized.astype(np.float32)
np.savez_compressed(os.path.join(here, "recorded.npz"), **recorded)
