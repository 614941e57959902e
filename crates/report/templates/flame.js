// Flame graphs that are zoomed into and searched. Where scripts are off they stand as they were drawn.
const LETTER = 6.7, PADDING = 3, NARROWEST = 0.5;

// Name, share and time of each frame, and the part of the whole at which it stands: all from what was drawn.
const framesOf = (svg) => [...svg.querySelectorAll(".frame")].map((node) => {
  const box = node.querySelector("rect"), words = node.querySelector("title").textContent;
  const from = Number(node.dataset.from), weight = Number(node.dataset.weight);
  const name = words.slice(0, words.lastIndexOf(": "));
  return { node, box, words, name, from, to: from + weight, weight, row: Number(node.dataset.row) };
});

const percent = (share) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}\u00a0%`;

// As much of a name as there is room for, the function's own before what it is in.
const fitted = (frame, wide) => {
  const room = Math.floor((wide - 2 * PADDING) / LETTER), full = frame.name.replace(/ \(kernel\)$/, "");
  const own = /[<( ]/.test(full) ? full : full.split("::").pop();
  const name = full.length <= room ? full : own;
  if (room < 4) return "";
  return name.length <= room ? name : `${name.slice(0, room - 2)}…`;
};

const labelOf = (frame) => {
  const found = frame.node.querySelector("text");
  if (found) return found;
  const made = document.createElementNS(frame.node.namespaceURI, "text");
  const middle = Number(frame.box.getAttribute("y")) + Number(frame.box.getAttribute("height")) / 2;
  for (const [key, value] of Object.entries({ y: middle, dy: ".35em", "font-size": 12, fill: "var(--ink)" })) made.setAttribute(key, value);
  return frame.node.appendChild(made);
};

// Draws what lies within a frame as wide as the graph, upon its callers.
const draw = (graph, zoomed) => {
  const scale = graph.width / (zoomed.to - zoomed.from);
  for (const frame of graph.frames) {
    const left = (Math.max(frame.from, zoomed.from) - zoomed.from) * scale;
    const wide = (Math.min(frame.to, zoomed.to) - zoomed.from) * scale - left;
    const isThere = wide >= NARROWEST, label = isThere && labelOf(frame);
    frame.node.style.display = isThere ? "" : "none";
    frame.node.classList.toggle("caller", frame.row < zoomed.row);
    if (!isThere) continue;
    frame.box.setAttribute("x", left);
    frame.box.setAttribute("width", Math.max(wide - 1, NARROWEST));
    label.setAttribute("x", left + PADDING);
    label.textContent = fitted(frame, wide);
  }
};

// Share of the time in frames that match, each moment once, and how many places that is.
const search = (graph, isMatch) => {
  const found = graph.frames.filter((frame) => isMatch(frame.name));
  graph.frames.forEach((frame) => frame.node.classList.toggle("match", found.includes(frame)));
  let reached = 0, weight = 0;
  const outermost = (one, other) => one.from - other.from || one.row - other.row;
  for (const frame of [...found].sort(outermost)) {
    if (frame.from < reached) continue;
    [reached, weight] = [frame.to, weight + frame.weight];
  }
  return { places: found.length, share: weight / graph.whole.to };
};

const matcher = (words) => {
  try {
    const pattern = new RegExp(words, "i");
    return (name) => pattern.test(name);
  } catch {
    return (name) => name.toLowerCase().includes(words.toLowerCase());
  }
};

const tools = (figure, name) => {
  const made = document.createElement("p");
  made.className = "tools";
  const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "Search functions" });
  field.setAttribute("aria-label", `Search functions in: ${name}`);
  const back = Object.assign(document.createElement("button"), { type: "button", textContent: "Whole graph", hidden: true });
  const said = document.createElement("output");
  made.append(field, back, said);
  figure.prepend(made);
  return { field, back, said };
};

// Upwards to the heaviest that it called, down to its caller, sideways to the next of its row.
const beside = (graph, at, key) => {
  const seen = graph.frames.filter((frame) => frame.node.style.display !== "none");
  if (!at) return seen.find((frame) => frame.row === 0);
  const within = (inner, outer) => inner.from >= outer.from && inner.to <= outer.to;
  const row = (step) => seen.filter((frame) => frame.row === at.row + step);
  if (key === "ArrowUp") return row(1).filter((frame) => within(frame, at)).sort((a, b) => b.weight - a.weight)[0];
  if (key === "ArrowDown") return row(-1).find((frame) => within(at, frame));
  if (key === "ArrowLeft") return row(0).filter((frame) => frame.to <= at.from).pop();
  return row(0).find((frame) => frame.from >= at.to);
};

// All that was drawn, and as much as that is: a part too small to be seen was left out.
const graphOf = (svg) => {
  const frames = framesOf(svg), width = svg.viewBox.baseVal.width;
  const widest = frames.reduce((one, other) => (other.weight > one.weight ? other : one));
  const all = (widest.weight * width) / (Number(widest.box.getAttribute("width")) + 1);
  const whole = { from: 0, to: Math.max(all, ...frames.map((frame) => frame.to)), row: 0 };
  return { svg, frames, whole, zoomed: whole, width, at: null };
};

const bring = (figure) => {
  const graphs = [...figure.querySelectorAll("svg")].map(graphOf);
  const { field, back, said } = tools(figure, figure.querySelector("svg > title").textContent);
  let result = "";
  const say = (words) => { said.textContent = words || result; };
  const zoom = (graph, frame) => {
    graph.zoomed = frame;
    draw(graph, frame);
    back.hidden = graphs.every((each) => each.zoomed === each.whole);
  };
  const wholeAgain = () => {
    graphs.forEach((graph) => zoom(graph, graph.whole));
    say("");
  };
  const stand = (graph, frame) => {
    graph.at?.node.classList.remove("at");
    graph.at = frame;
    frame?.node.classList.add("at");
    if (frame) say(frame.words);
  };
  field.addEventListener("input", () => {
    const words = field.value.trim(), isMatch = words ? matcher(words) : () => false;
    const [found] = graphs.map((graph) => search(graph, isMatch));
    const places = found.places === 1 ? "1 place" : `${found.places} places`;
    result = words ? `${words}: ${percent(found.share)} of the time, in ${places}` : "";
    say("");
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") field.value = "", field.dispatchEvent(new Event("input"));
  });
  back.addEventListener("click", () => { wholeAgain(); field.focus(); });
  for (const graph of graphs) {
    const frameOf = (event) => graph.frames.find((frame) => frame.node === event.target.closest(".frame"));
    const toggle = (frame) => zoom(graph, frame === graph.zoomed ? graph.whole : frame);
    // Arrow keys are the graph's own, and what it says of a frame is read out.
    for (const [key, value] of Object.entries({ role: "application", tabindex: "0", "aria-roledescription": "flame graph" })) graph.svg.setAttribute(key, value);
    graph.svg.addEventListener("click", (event) => {
      const frame = frameOf(event);
      if (frame) toggle(frame), say(frame.words);
    });
    graph.svg.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") say(frameOf(event)?.words); });
    graph.svg.addEventListener("pointerleave", () => say(""));
    graph.svg.addEventListener("blur", () => stand(graph, null));
    graph.svg.addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) stand(graph, beside(graph, graph.at, event.key) || graph.at);
      else if (event.key === "Enter" && graph.at) toggle(graph.at);
      else if (event.key === "Escape") wholeAgain();
      else return;
      event.preventDefault();
    });
  }
};

[...document.querySelectorAll("figure")].filter((figure) => figure.querySelector(".frame")).forEach(bring);
