// Asks for a token where the address brought none, or one that is no longer good.

import { ask, token } from "./api.js";
import { el, put } from "./dom.js";
import { heading } from "./widgets.js";

export function open(main, done) {
  const problem = el("p", { class: "dialog-problem", role: "alert" });
  const input = el("input", {
    type: "password",
    name: "token",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "mf_…",
  });
  const button = el("button", { type: "submit", class: "primary" }, "Sign in");
  const form = el("form", { class: "sign-in" }, el("label", { class: "field" }, "Token", input), problem, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    token.keep(input.value.trim());
    try {
      await ask("v1/suppressions", { query: { limit: 1 } });
      done();
    } catch (reason) {
      token.forget();
      put(main.querySelector(".dialog-problem") ?? problem, reason.message);
      button.disabled = false;
    }
  });
  put(
    main,
    el(
      "div",
      { class: "narrow" },
      heading("Sign in"),
      el("p", {}, "The console shows what the query API answers, and asks it with your token."),
      form,
      el("p", { class: "faint" }, "On the local stack, make run prints an address that brings a token. Elsewhere:"),
      el(
        "pre",
        { tabindex: "0" },
        "bin/mailfold tokens add NAME --scope read\nbin/mailfold tokens add NAME --scope raw --scope operate",
      ),
      el("p", { class: "faint" }, "It is kept in this tab only, and forgotten when the tab is closed."),
    ),
  );
  input.focus();
}
