// What is larger than its frame says so: the bar of sections by a button at each end that has more, a table by a line above it and a
// shadow where it goes on.
(() => {
  const SLACK = 4;
  const bar = () => {
    const list = document.querySelector("nav ul");
    const button = (way, sign, name) => {
      const element = document.createElement("button");
      element.type = "button";
      element.className = `more-${way}`;
      element.textContent = sign;
      element.title = name;
      element.setAttribute("aria-label", name);
      // Links come by the tab key without it.
      element.tabIndex = -1;
      element.hidden = true;
      element.addEventListener("click", () => list.scrollBy({ left: (way === "left" ? -0.7 : 0.7) * list.clientWidth, behavior: "smooth" }));
      list.parentElement.append(element);
      return element;
    };
    const [left, right] = [button("left", "‹", "More sections to the left"), button("right", "›", "More sections to the right")];
    const look = () => {
      left.hidden = list.scrollLeft <= SLACK;
      right.hidden = list.scrollLeft + list.clientWidth >= list.scrollWidth - SLACK;
    };
    list.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(list);
    look();
  };
  const table = (frame) => {
    const hint = document.createElement("p");
    hint.className = "sideways";
    hint.hidden = true;
    frame.before(hint);
    const look = () => {
      const heads = [...frame.querySelectorAll("thead th")];
      const edge = frame.getBoundingClientRect().right;
      const hiddenOnes = heads.filter((head) => head.getBoundingClientRect().right > edge + SLACK).length;
      const wide = frame.scrollWidth > frame.clientWidth + SLACK;
      const below = frame.scrollHeight - frame.clientHeight - frame.scrollTop;
      hint.hidden = !wide;
      frame.classList.toggle("wide", wide && hiddenOnes > 0);
      frame.classList.toggle("tall", below > SLACK);
      const more = hiddenOnes > 0 ? `${hiddenOnes} more column${hiddenOnes === 1 ? "" : "s"} to the right` : "this is its right end";
      if (wide) hint.textContent = `Wider than the page: scroll sideways (${more})`;
    };
    frame.addEventListener("scroll", look, { passive: true });
    // A folded table has no size until it is opened.
    new ResizeObserver(look).observe(frame);
    look();
  };
  dxt.sideways = {
    watch: table,
    start() {
      bar();
      document.querySelectorAll("main div.table").forEach(table);
    },
  };
})();
