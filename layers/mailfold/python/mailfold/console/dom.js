// The only way to make elements. Texts become text nodes and attributes come from a list, so that whatever a stranger
// wrote into an address, a reason or a raw is shown and never run.

const TAGS = new Set(
  (
    "a article b br button caption code dd details dialog div dl dt form h1 h2 h3 input label li nav ol option output p " +
    "pre progress section select small span strong summary table tbody td textarea th thead time tr ul"
  ).split(" "),
);
const SHAPES = new Set("circle desc g line path polyline rect svg text title".split(" "));
const NAMES = new Set(
  (
    "autocomplete autofocus checked class cols colspan datetime disabled download for hidden href id list max maxlength " +
    "min name open placeholder required role rows scope selected spellcheck tabindex title type value"
  ).split(" "),
);
const DRAWN = new Set(
  "class cx cy d height id points r role rx text-anchor transform viewBox width x x1 x2 y y1 y2".split(" "),
);
const SVG = "http://www.w3.org/2000/svg";

// Returns an element. `on` in the attributes holds its listeners; undefined, null and false leave an attribute out.
export function el(tag, attributes = {}, ...children) {
  if (!TAGS.has(tag)) throw new Error(`no such element: ${tag}`);
  return fill(document.createElement(tag), attributes, NAMES, children);
}

// Returns a shape of a plot.
export function shape(tag, attributes = {}, ...children) {
  if (!SHAPES.has(tag)) throw new Error(`no such shape: ${tag}`);
  return fill(document.createElementNS(SVG, tag), attributes, DRAWN, children);
}

// Puts other children into an element.
export function put(parent, ...children) {
  parent.replaceChildren(...nodes(children));
  return parent;
}

function fill(node, { on = {}, ...attributes }, names, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (!names.has(name) && !/^(aria|data)-[a-z-]+$/.test(name)) throw new Error(`no such attribute: ${name}`);
    // A link leads to a place within this page, or to a file that this page has made.
    if (name === "href" && !/^(#|blob:)/.test(value)) throw new Error("links stay within this page");
    node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  node.append(...nodes(children));
  return node;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
