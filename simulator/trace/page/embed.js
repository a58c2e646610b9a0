// In a notebook the page is a frame: as high as its content, in the notebook's colours, and perhaps with one phase of the step only.

const ONLY = Number(document.body.dataset.phase || 0) - 1;  // the phase to show, from 0; -1: all of them

function isDark(node) {
  for (; node; node = node.parentElement) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    if (alpha > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return false;
}

function embed() {
  if (ONLY >= 0) document.documentElement.classList.add("one-phase");
  const host = window.frameElement;  // null: a window of its own, or a frame of a page that may not be asked
  if (!host) return;
  document.documentElement.classList.add("embedded");
  let shown = "", height = 0;
  const fit = () => {  // grows with what a panel comes to show; does not jump back and forth while it plays
    const now = [state.view, state.phase, window.innerWidth].join(" "), needed = Math.ceil(document.body.getBoundingClientRect().height);
    height = now === shown ? Math.max(height, needed) : needed;
    shown = now;
    host.style.height = height + "px";
  };
  const follow = () => {
    document.documentElement.style.colorScheme = isDark(host) ? "dark" : "light";
  };
  follow();
  new MutationObserver(follow).observe(host.ownerDocument.body, {attributes: true});
  new ResizeObserver(fit).observe(document.body);
}
