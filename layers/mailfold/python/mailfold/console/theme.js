// Runs before the page is painted, so that a chosen theme does not flash in another one.
const chosen = localStorage.getItem("mailfold.theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
