// On a hub a student opens this as a file of the own server, COURSE/LAB/feedback/TIME/LAB.html: a link leads back.
if (/\/user\/[^/]+\/files\/[^/]+\/[^/]+\/feedback\/[^/]+\/[^/]+\.html$/.test(location.pathname)) {
  document.addEventListener("DOMContentLoaded", () => {
    const way = document.createElement("nav");
    way.style.cssText = "padding: 0.6rem 1.2rem; font: 16px system-ui, sans-serif";
    way.innerHTML = '<a href="../../../../../labs">Your labs</a>';
    document.body.prepend(way);
  });
}
