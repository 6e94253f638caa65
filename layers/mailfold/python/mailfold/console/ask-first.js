// A native dialog that asks before something is changed, and stays open to say why it could not be.

import { el, put } from "./dom.js";

// Opens a dialog with fields; `act` is given their values and may throw a sentence. Resolves to its result, or null.
export function askFirst({ title, words, fields = [], verb, danger = false, act }) {
  const inputs = fields.map(fieldOf);
  const problem = el("p", { class: "dialog-problem", role: "alert" });
  const confirm = el("button", { type: "submit", class: danger ? "danger" : "primary" }, verb);
  const cancel = el("button", { type: "button" }, "Cancel");
  const form = el(
    "form",
    {},
    el("h2", { id: "dialog-title" }, title),
    words.map((sentence) => el("p", {}, sentence)),
    inputs.map(({ label, input }) => el("label", { class: "field" }, label, input)),
    problem,
    el("div", { class: "buttons" }, cancel, confirm),
  );
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let result = null;
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    cancel.addEventListener("click", () => dialog.close());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      confirm.disabled = true;
      put(problem);
      try {
        result = (await act(Object.fromEntries(inputs.map(({ name, input }) => [name, input.value.trim()])))) ?? true;
        dialog.close();
      } catch (reason) {
        put(problem, reason.message);
        confirm.disabled = false;
      }
    });
    dialog.showModal();
  });
}

function fieldOf({ name, label, ...attributes }) {
  return { name, label, input: el("input", { name, autocomplete: "off", spellcheck: "false", ...attributes }) };
}
