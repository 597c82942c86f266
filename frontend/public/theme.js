// Runs before the first paint, as a file of its own so that the content security policy needs no inline script.
(function () {
  var choice = null;
  try {
    choice = localStorage.getItem("csp.theme");
  } catch {
    // Storage can be forbidden; the system's theme is then the only one.
  }
  var isDark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
})();
