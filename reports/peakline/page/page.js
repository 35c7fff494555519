for (const button of document.querySelectorAll("button[data-table]")) {
  const table = document.getElementById(button.dataset.table);
  button.addEventListener("click", async () => {
    const text = Array.from(table.rows, (row) =>
      Array.from(row.cells, (cell) => cell.dataset.raw ?? cell.textContent).join("\t"),
    ).join("\n");
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNode(table);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
    }
    setTimeout(() => { button.textContent = before; }, 2500);
  });
}

// A click on a column's head sorts by it: numbers with the largest first, texts from A on; a second
// click turns the order around. What is missing stays last.
for (const head of document.querySelectorAll("thead th")) {
  const numbers = head.classList.contains("n");
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    const raw = cell.dataset.raw ?? cell.textContent;
    return raw === "" ? null : numbers ? Number(raw) : raw;
  };
  const sort = () => {
    const first = numbers ? "descending" : "ascending";
    const other = numbers ? "ascending" : "descending";
    const order = head.ariaSort === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const body = head.closest("table").tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (numbers ? a - b : a.localeCompare(b, "en", { numeric: true }));
    });
    body.append(...rows.map(([, row]) => row));
    for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
  };
  head.tabIndex = 0;
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
}
