// Where the keyboard stands, and whether a reader can see it there.
(() => {
  const at = document.activeElement;
  if (!at || at === document.body || at === document.documentElement) return null;
  const id = at.id ? `#${at.id}` : "";
  const words = (at.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
  const style = getComputedStyle(at);
  const box = at.getBoundingClientRect();
  return {
    name: `${at.tagName.toLowerCase()}${id} “${words}”`,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    in_view: box.bottom > 0 && box.top < window.innerHeight,
  };
})()
