// What of a page reaches paper, measured in the layout for print.
(() => {
  const [red, green, blue] = getComputedStyle(document.body).color.match(/[\d.]+/g).map(Number);
  const root = document.scrollingElement;
  return {
    darkest_ink: Math.max(red, green, blue),
    fits: root.scrollWidth <= root.clientWidth,
    wide_charts: [...document.querySelectorAll(".wide svg")].every((svg) => svg.getBoundingClientRect().width > 0),
    details: [...document.querySelectorAll("details dl")].every((list) => list.checkVisibility()),
  };
})()
