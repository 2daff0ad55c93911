"use strict";
/* Unpacks plotly.js from the page itself and draws the figures that the page carries as JSON. */
(() => {
  const root = document.documentElement;
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  const paperWidth = 640; /* pixels, on A4 and letter with margins */
  let printing = false;

  const dark = () => !printing && (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  /* A figure's layout in the colours of the page. */
  const themed = (layout) => {
    const ink = printing ? "#1b2430" : colour("--ink"), line = printing ? "#d4dae2" : colour("--line");
    const looks = structuredClone(layout);
    if (printing) looks.width = paperWidth; /* the page has its width only once it is on paper */
    looks.paper_bgcolor = looks.plot_bgcolor = "rgba(0,0,0,0)";
    looks.font = { ...looks.font, color: ink };
    looks.hoverlabel = { ...looks.hoverlabel, bgcolor: colour("--soft"), bordercolor: line };
    looks.hoverlabel.font = { ...looks.hoverlabel.font, color: colour("--ink") };
    for (const key of Object.keys(looks).filter((key) => /^[xy]axis\d*$/.test(key))) {
      looks[key] = { ...looks[key], gridcolor: line, zerolinecolor: line, linecolor: line };
    }
    return looks;
  };

  const charts = [...document.querySelectorAll("[data-chart]")].map((place) => ({
    place, figure: JSON.parse(document.getElementById("chart-" + place.dataset.chart).textContent),
  }));
  const options = { displaylogo: false, responsive: true, showTips: false,
                    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "sendDataToCloud"] };

  const draw = () => Promise.all(charts.map(({ place, figure }) =>
    window.Plotly.react(place, structuredClone(figure.data), themed(figure.layout), options)));

  const unpack = async () => {
    const packed = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };

  const failed = () => charts.forEach(({ place }) => {
    place.textContent = "This browser is too old for the charts (it needs one of 2023 or later); the tables have all numbers.";
    place.classList.add("hint");
  });

  const start = async () => {
    if (!charts.length) return;
    if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack the charts");
    await unpack();
    await draw();
  };

  const toggle = document.getElementById("theme");
  const name = () => { if (toggle) toggle.textContent = dark() ? "Light page" : "Dark page"; };
  toggle?.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
    if (window.Plotly) draw();
  });
  systemDark.addEventListener("change", () => { name(); if (window.Plotly) draw(); });
  name();
  window.addEventListener("beforeprint", () => { printing = true; if (window.Plotly) draw(); });
  window.addEventListener("afterprint", () => { printing = false; if (window.Plotly) draw(); });

  start().then(() => { root.dataset.charts = "drawn"; }, () => { failed(); root.dataset.charts = "failed"; });
})();
