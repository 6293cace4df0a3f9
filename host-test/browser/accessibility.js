/** Returns what people who do not see the page well, or use no mouse, would miss. Runs in the page. */
export function problems() {
  const found = [];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const described = (element) => `${element.localName}#${element.id}.${element.className} "${element.textContent.trim().slice(0, 40)}"`;
  const named = (id) => document.getElementById(id)?.textContent.trim();

  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements have the id ${id}`);

  for (const control of [...document.querySelectorAll("button, a, input, select, textarea")].filter(visible)) {
    const labels = [...(control.labels ?? [])].map((label) => label.textContent.trim()).join("");
    if (!(labels || control.ariaLabel || control.textContent.trim())) found.push(`no name: ${described(control)}`);
    if (control.localName !== "button" && control.localName !== "a" && !labels) found.push(`no label: ${described(control)}`);
  }
  for (const part of document.querySelectorAll("main > section, main > aside, main article, table")) {
    if (!named(part.getAttribute("aria-labelledby")) && visible(part)) found.push(`no heading: ${described(part)}`);
  }
  for (const place of ["header", "main"]) if (document.querySelectorAll(`body > ${place}`).length !== 1) found.push(`not one ${place}`);
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  let before = 1;
  for (const heading of [...document.querySelectorAll("h1, h2, h3, h4")].filter(visible)) {
    const level = Number(heading.localName[1]);
    if (level > before + 1) found.push(`a level is missing before ${described(heading)}`);
    before = level;
  }
  for (const table of document.querySelectorAll("table")) {
    if (!(Number(table.ariaRowCount) > 1)) found.push(`${table.id} does not say how many rows it has`);
  }
  for (const area of document.querySelectorAll(".scroller")) {
    if (area.tabIndex !== 0 || !area.ariaLabel) found.push(`not to be scrolled by keyboard: ${described(area)}`);
  }

  // Contrast: WCAG 2.2, 1.4.3, level AA, of every text on the colour that is below it.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  function drawn(colours) {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
    }
    return canvas.getImageData(0, 0, 1, 1).data;
  }
  function luminance(colours) {
    const [red, green, blue] = [...drawn(colours)].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
  /** The colours below an element, each with the ends of a gradient. */
  function below(element) {
    let layers = [[]];
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const ends = style.backgroundImage.match(/(rgba?|color)\([^)]*\)/g) ?? [style.backgroundColor];
      layers = ends.flatMap((end) => layers.map((layer) => [end, ...layer]));
    }
    return layers;
  }
  for (const element of [...document.body.querySelectorAll("*")].filter(visible)) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!hasText || element.closest("[disabled], option, svg")) continue;
    const colour = getComputedStyle(element).color;
    for (const layers of below(element)) {
      const [light, dark] = [luminance(layers), luminance([...layers, colour])].sort((a, b) => b - a);
      const ratio = (light + 0.05) / (dark + 0.05);
      if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${described(element)}`);
    }
  }
  return found;
}
