// A button at each picture that a cell shows, which opens it in a window of its own: as wide as the screen, or wider, and
// then it scrolls. Escape or the button in it closes it.
document.addEventListener("DOMContentLoaded", () => {
  const shown = (picture) => picture.getClientRects().length > 0;
  const button = (words, label) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", className: "enlarged-by", textContent: words });
    made.setAttribute("aria-label", label);
    return made;
  };
  for (const output of document.querySelectorAll(".cell_output .output.text_html")) {
    const pictures = [...output.querySelectorAll("img, svg[viewBox]")];
    if (!pictures.length) continue;
    const open = button("Enlarge", "Enlarge the picture below");
    open.addEventListener("click", () => {
      const dialog = document.createElement("dialog"), close = button("Close", "Close the enlarged picture");
      dialog.className = "enlarged";
      dialog.append(close, pictures.find(shown).cloneNode(true));
      close.addEventListener("click", () => dialog.close());
      dialog.addEventListener("close", () => {
        dialog.remove();
        open.focus();
      });
      document.body.append(dialog);
      dialog.showModal();
    });
    output.before(open);
  }
});
