// Returns the texts of the page whose contrast with what is behind them is below 4.5.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (front, back) => [0, 1, 2].map((n) => front[n] * front[3] + back[n] * (1 - front[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const color = rgba(getComputedStyle(each).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reduceRight((back, front) => over(front, back), [255, 255, 255, 1]);
  };
  const light = (color) => {
    const [red, green, blue] = color.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  let looked = 0;
  for (const element of document.querySelectorAll("body *")) {
    const speaks = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const asks = element.matches("input[placeholder]");
    if (!(speaks || asks) || element.closest("script, style, title, option, noscript, [hidden]") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element, asks ? "::placeholder" : null);
    const back = behind(element);
    const front = over(rgba(element.closest("svg") ? style.fill : style.color), back);
    looked += 1;
    const ratio = contrast(front, back);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.tagName}.${element.getAttribute("class")}: ${element.textContent.trim().slice(0, 40)}`);
  }
  return { looked, found };
}
