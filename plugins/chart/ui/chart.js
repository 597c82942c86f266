// The components of the plugin: a module as browsers run it, so that nothing has to be built. `react` and the SDK are
// the page's own.
import { resultText, usePluginContext, usePluginSetting } from "@claude-sdk-pattern/plugin-sdk";
import { createElement as h, useId } from "react";

const width = 480;
const height = 200;
// Below and above what is drawn, for the labels.
const bottom = 24;
const top = 16;

const kinds = { bars: "Bars", line: "Line" };

/** The kind of chart that this person wants to see. */
const useKind = () => usePluginSetting("kind", "bars");

/** Where each point is, in the units of the drawing. */
export function toMarks(points) {
  const values = points.map(({ value }) => value);
  const lowest = Math.min(0, ...values);
  const span = Math.max(0, ...values) - lowest || 1;
  const step = width / points.length;
  const toY = (value) => height - bottom - ((value - lowest) / span) * (height - bottom - top);
  return points.map(({ label, value }, index) => ({
    label,
    value,
    x: step * (index + 0.5),
    y: toY(value),
    zero: toY(0),
    barWidth: step * 0.6,
  }));
}

/** For the results of the tool `draw`. */
export function Chart({ result }) {
  const [kind] = useKind();
  const { title, points } = JSON.parse(resultText(result));
  return h(Drawing, { title, points, kind });
}

function Drawing({ title, points, kind }) {
  const id = useId();
  const marks = toMarks(points);
  const [first] = marks;
  return h(
    "figure",
    { className: "chart", "aria-labelledby": id },
    h("figcaption", { id }, title),
    h(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": points.map(({ label, value }) => `${label}: ${value}`).join(", "),
        "data-kind": kind,
      },
      h("line", { className: "axis", x1: 0, x2: width, y1: first.zero, y2: first.zero }),
      kind === "line" &&
        h("polyline", { className: "line", points: marks.map(({ x, y }) => `${x},${y}`).join(" ") }),
      marks.map((mark, index) => h(Mark, { key: index, mark, kind })),
    ),
  );
}

function Mark({ mark: { label, value, x, y, zero, barWidth }, kind }) {
  const shape =
    kind === "line"
      ? h("circle", { className: "mark", cx: x, cy: y, r: 4 })
      : h("rect", {
          className: "mark",
          x: x - barWidth / 2,
          y: Math.min(y, zero),
          width: barWidth,
          height: Math.max(1, Math.abs(zero - y)),
          rx: 3,
        });
  return h(
    "g",
    null,
    shape,
    h("text", { x, y: Math.min(y, zero) - 5 }, value),
    h("text", { x, y: height - 6 }, label),
  );
}

function KindChoice({ label }) {
  const [kind, setKind] = useKind();
  return h(
    "label",
    null,
    label,
    h(
      "select",
      { value: kind, onChange: (event) => setKind(event.target.value) },
      Object.entries(kinds).map(([value, name]) => h("option", { key: value, value }, name)),
    ),
  );
}

/** Above the input. */
export function AskForChart() {
  const { sendMessage, session } = usePluginContext();
  const isRunning = session?.isRunning ?? false;
  return h(
    "div",
    { className: "row" },
    h(
      "button",
      { type: "button", disabled: isRunning, onClick: () => sendMessage("draw a chart") },
      "Draw a chart",
    ),
    h(KindChoice, { label: "as" }),
  );
}

/** On the page of one's account. */
export function Settings() {
  return h(KindChoice, { label: "Show numbers as" });
}
