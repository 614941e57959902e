// What a reader's eye would notice, measured in the laid-out page.
(() => {
  const name = (element) => {
    const id = element.id ? `#${element.id}` : "";
    const words = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `${element.tagName.toLowerCase()}${id} “${words}”`;
  };
  const shown = (box) => box.width > 0 && box.height > 0;
  const root = document.scrollingElement;

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("title, desc, .unseen")) continue;
    if (!shown(parent.getBoundingClientRect())) continue;
    const scale = parent.ownerSVGElement ? parent.getScreenCTM().a : 1;
    texts.push({ name: name(parent), px: parseFloat(getComputedStyle(parent).fontSize) * scale });
  }
  const smallest = texts.reduce((a, b) => (b.px < a.px ? b : a));

  const collisions = [];
  const leaving = [];
  for (const chart of document.querySelectorAll("svg")) {
    const edge = chart.getBoundingClientRect();
    if (!shown(edge)) continue;
    const boxes = [...chart.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    boxes.forEach(([text, box], index) => {
      if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.bottom > edge.bottom + 1) {
        leaving.push(name(text));
      }
      for (const [other, beside] of boxes.slice(index + 1)) {
        const wide = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
        const high = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
        // Boxes hold room above and below the letters, which may overlap a little.
        if (wide > 1 && high > 4) collisions.push(`${name(text)} and ${name(other)}`);
      }
    });
  }

  const unreachable = [...document.querySelectorAll("body *")]
    .filter((element) => element.scrollWidth > element.clientWidth + 1)
    .filter((element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
    .filter((element) => element.tabIndex < 0);

  return {
    scroll_width: root.scrollWidth,
    client_width: root.clientWidth,
    window_width: window.innerWidth,
    smallest_px: smallest.px,
    smallest_text: smallest.name,
    collisions,
    leaving,
    unreachable: unreachable.map(name),
    charts: [...document.querySelectorAll("svg, .heat")].filter((svg) => shown(svg.getBoundingClientRect())).length,
    unnamed_charts: [...document.querySelectorAll("svg")].filter((svg) => {
      const ids = (svg.getAttribute("aria-labelledby") || "").split(" ");
      const words = ids.map((id) => document.getElementById(id)?.textContent || "");
      return !["img", "application"].includes(svg.getAttribute("role")) || words.length !== 2 || words.some((text) => !text);
    }).length,
    focusable: [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
      // What is folded away has a box, and cannot be reached before it is unfolded.
      .filter((element) => shown(element.getBoundingClientRect()) && element.checkVisibility()).map(name),
    moving: document.getAnimations().length,
  };
})()
