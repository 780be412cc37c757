// Mends what the theme leaves without a name, or out of the keyboard's reach.
document.addEventListener("DOMContentLoaded", () => {
  const named = (element, role, label) => {
    element?.setAttribute("role", role);
    element?.setAttribute("aria-label", label);
  };
  named(document.getElementById("pst-primary-sidebar"), "region", "Contents");
  for (const summary of document.querySelectorAll("nav summary")) {
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", "The pages below this one");
  }
  // The empty corner of a table is the head of nothing.
  for (const cell of document.querySelectorAll("th")) {
    if (!cell.textContent.trim()) cell.replaceWith(document.createElement("td"));
  }
  // On a narrow page wide pictures scroll sideways: by the arrow keys, too. Of a film, one frame is seen.
  const pictures = ".cell_output .output.text_html:has(img, svg[viewBox]):not(:has(.film)), .film-frame";
  const reach = () => {
    for (const picture of document.querySelectorAll(pictures)) {
      for (const name of ["tabindex", "role", "aria-label"]) picture.removeAttribute(name);
      const seen = picture.closest(".film")?.querySelector(".film-frame:not([hidden])") ?? picture;
      if (seen.scrollWidth <= seen.clientWidth) continue;
      picture.tabIndex = 0;
      named(picture, "group", "A picture, wider than the page");
    }
  };
  addEventListener("resize", reach);
  reach();
});
