// What a reader has of the first flame graph just now, as it is laid out.
(() => {
  const figure = [...document.querySelectorAll("figure")].find((each) => each.querySelector(".frame"));
  const graph = [...figure.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width > 0);
  const words = (frame) => frame.querySelector("title").textContent;
  const box = (frame) => frame.querySelector("rect").getBoundingClientRect();
  const frames = [...graph.querySelectorAll(".frame")].filter((frame) => box(frame).width > 0);
  const within = (frame) => box(frame).width < box(graph.querySelector(".frame")).width / 2;
  const narrow = frames.filter((frame) => within(frame) && frame.querySelector("text"))[0];
  const { x, y, width, height } = box(narrow || frames[0]);
  const back = figure.querySelector(".tools button");
  return {
    frames: frames.length,
    matches: frames.filter((frame) => frame.matches(".match")).map(words),
    match_colour: getComputedStyle(graph.querySelector(".match rect") || graph).fill,
    said: figure.querySelector(".tools output")?.textContent ?? null,
    is_whole: !back || back.hidden,
    widest: frames.filter((frame) => box(frame).width > graph.getBoundingClientRect().width - 4).map(words),
    at: [...graph.querySelectorAll(".at")].map(words),
    narrow: words(narrow || frames[0]),
    narrow_at: [x + width / 2, y + height / 2],
  };
})()
