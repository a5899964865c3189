// An episode in all games: beliefs and chosen opponents of each policy, moved by one slider.
for (const root of document.querySelectorAll(".explorer")) {
  const data = JSON.parse(root.querySelector("script").textContent);
  const [low, high] = data.limits, WIDTH = 360, BELIEFS = 130, STRIP = 120;
  const slider = root.querySelector("input"), games = data.policies[0].q.length;
  const x = (skill) => (WIDTH * (skill - low)) / (high - low);
  const element = (name, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return parent.appendChild(made);
  };
  const places = data.policies.flatMap((policy) => [...policy.place, ...policy.place0.map((place) => place - 1)]);
  const rows = Math.min(data.policies[0].mu.length - 1, 10 * (1 + Math.floor(Math.max(...places) / 10)));
  const shade = (q) => `color-mix(in oklab, var(--truth) ${Math.round((100 * q) / data.largest)}%, var(--uneven))`;
  // Points of a bell curve; narrower beliefs are higher, not to scale.
  const bell = (mu, sigma) => {
    const typical = 0.1 * (high - low), height = (0.97 * BELIEFS * typical) / (typical + sigma), points = [];
    for (let step = -3.5; step <= 3.5; step += 0.125)
      points.push(`${x(mu + step * sigma).toFixed(1)},${(BELIEFS - height * Math.exp(-step * step / 2)).toFixed(1)}`);
    return points.join(" ");
  };
  const band = (mu, sigma, players) => {
    const density = [];
    for (let i = 0; i <= 120; i++) {
      const skill = low + ((high - low) * i) / 120;
      density.push(players.reduce((sum, k) => sum + Math.exp(-(((skill - mu[k]) / sigma[k]) ** 2) / 2) / sigma[k], 0));
    }
    const top = Math.max(...density, 1e-300);
    return `0,${BELIEFS} ${density.map((value, i) => `${3 * i},${(BELIEFS - (0.45 * BELIEFS * value) / top).toFixed(1)}`).join(" ")} ${WIDTH},${BELIEFS}`;
  };
  const panels = data.policies.map((policy) => {
    const figure = document.createElement("figure"), title = document.createElement("figcaption");
    title.innerHTML = "<b></b><span></span>";
    title.firstChild.textContent = policy.name;
    const beliefs = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const strip = beliefs.cloneNode(), text = document.createElement("p");
    for (const [picture, height] of [[beliefs, BELIEFS + 10], [strip, STRIP]]) {
      picture.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
      picture.setAttribute("role", "img");
    }
    strip.setAttribute("aria-label", `${policy.name}: place of the opponent of each ${data.unit}, best on top, green if even`);
    const height = STRIP / rows, width = WIDTH / games;
    policy.place.forEach((place, game) => element("rect", {
      x: game * width, y: place * height, width: width + 0.3, height, style: `fill:${shade(policy.q[game])}`,
    }, strip));
    element("polyline", {
      points: policy.place0.map((place, game) => `${(game * width).toFixed(1)},${(place * height).toFixed(1)}`).join(" "),
      class: "player",
    }, strip);
    const cursor = element("line", { y1: 0, y2: STRIP, class: "cursor" }, strip);
    figure.append(title, beliefs, text, strip);
    root.querySelector(".panels").append(figure);
    return { policy, title, beliefs, text, cursor };
  });
  function show(game) {
    root.querySelector("output").textContent = `${data.unit} ${game} of ${games}`;
    for (const { policy, title, beliefs, text, cursor } of panels) {
      const mu = [...policy.mu], sigma = [...policy.sigma], played = mu.map(() => 0);
      let total = 0;
      for (let i = 0; i < game; i++) {
        const change = policy.changes[i];
        for (let k = 0; k < change.length; k += 3) [mu[change[k]], sigma[change[k]]] = [change[k + 1], change[k + 2]];
        played[policy.opponent[i]]++;
        total += policy.q[i];
      }
      const last = game ? policy.opponent[game - 1] : 0, most = Math.max(...played, 1);
      const players = [...mu.keys()].slice(1);
      beliefs.replaceChildren();
      element("polygon", { points: band(mu, sigma, players.filter((k) => !played[k])), class: "others" }, beliefs);
      for (const k of players) if (played[k] && k !== last)
        element("polyline", { points: bell(mu[k], sigma[k]), class: "opponent", "stroke-opacity": 0.4 + 0.6 * Math.sqrt(played[k] / most) }, beliefs);
      if (last) element("polygon", { points: bell(mu[last], sigma[last]), class: "opponent last" }, beliefs);
      element("polygon", { points: bell(mu[0], sigma[0]), class: "player last" }, beliefs);
      for (const [k, name] of [[last, "opponent"], [0, "player"]])
        if (k || name === "player") element("path", { d: `M${x(policy.skill[k])} ${BELIEFS}l5 9h-10z`, class: `mark ${name}` }, beliefs);
      element("line", { x1: 0, x2: WIDTH, y1: BELIEFS, y2: BELIEFS, class: "axis" }, beliefs);
      beliefs.setAttribute("aria-label", `${policy.name}: beliefs after ${data.unit} ${game}`);
      cursor.setAttribute("x1", (WIDTH * game) / games);
      cursor.setAttribute("x2", (WIDTH * game) / games);
      title.lastChild.textContent = ` total true q ${total.toFixed(2)}`;
      text.textContent = game
        ? `opponent ${last}, place ${policy.place[game - 1] + 1}: true q ${policy.q[game - 1].toFixed(3)}, ${["lost", "draw", "won"][1 + policy.outcome[game - 1]]}`
        : "before the first choice";
    }
  }
  slider.max = games;
  slider.addEventListener("input", () => show(+slider.value));
  let timer = null;
  const button = root.querySelector("button");
  button.addEventListener("click", () => {
    const starts = timer === null;
    clearInterval(timer);
    timer = null;
    button.textContent = starts ? "Pause" : "Play";
    if (!starts) return;
    if (+slider.value >= games) slider.value = 0;
    timer = setInterval(() => {
      slider.value = Math.min(games, +slider.value + Math.max(1, Math.round(games / 250)));
      show(+slider.value);
      if (+slider.value >= games) button.click();
    }, 60);
  });
  slider.value = Math.min(games, Math.round(games / 5));
  show(+slider.value);
}
