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
