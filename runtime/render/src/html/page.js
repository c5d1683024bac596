"use strict";
// Hides the findings that do not match the filters. Without this script, all findings are shown.
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const text = document.getElementById("filter-text");
  const selects = [...form.querySelectorAll("select")];
  const findings = [...document.querySelectorAll("article")];
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const finding of findings) {
      const visible =
        selects.every((s) => s.value === "" || finding.dataset[s.dataset.key] === s.value) &&
        finding.textContent.toLowerCase().includes(wanted);
      finding.hidden = !visible;
      const row = document.querySelector(`tr[data-for="${finding.id}"]`);
      if (row) row.hidden = !visible;
      shown += visible;
    }
    for (const kernel of document.querySelectorAll("section.kernel")) {
      kernel.hidden = !kernel.querySelector("article:not([hidden])");
    }
    document.getElementById("shown").textContent = `${shown} of ${findings.length} shown`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
})();
