// Query by query: one model against another, by a measure.
const openedOf = new Map(data.opened.map((opened, i) => [opened.q, i]));
const SHOWN = 8;

// Model a against model b: all that the report counted.
const pairOf = (by, a, b) => {
  if (a === b) return null;
  const [first, second] = a < b ? [a, b] : [b, a];
  const before = first * data.models.length - first * (first + 1) / 2;
  const [difference, low, high, p, won, tied, lost] = data.pairs[by][before + second - first - 1];
  return a < b ? { difference, low, high, p, won, tied, lost }
    : { difference: -difference, low: -high, high: -low, p, won: lost, tied, lost: won };
};

// Differences of the queries that both have a value for, the largest first.
const differencesOf = (by, a, b) => {
  const sign = data.higher[by] ? 1 : -1;
  const found = [];
  data.values[by][a].forEach((value, q) => {
    const other = data.values[by][b][q];
    if (value !== null && other !== null) found.push({ q, d: sign * (value - other) / 1e4, a: value / 1e4, b: other / 1e4 });
  });
  return found.sort((x, y) => y.d - x.d || x.q - y.q);
};

const pText = p => p < 0.001 ? 'p < 0.001' : 'p = ' + Number(p.toPrecision(2));

const verdict = (by, a, b) => {
  const pair = pairOf(by, a, b);
  if (!pair) return [data.models[a] + ' against itself: pick two different models.'];
  const real = pair.p < data.level;
  const word = real ? (pair.difference > 0 ? 'significantly better' : 'significantly worse') : 'not significantly different';
  return [
    element('strong', {}, data.models[a]), ' is ', element('strong', {}, word), ' than '.replace('than', real ? 'than' : 'from'),
    element('strong', {}, data.models[b]), ` by ${data.measures[by]}: ${signed(pair.difference)}, `
    + (pair.won + pair.tied + pair.lost > 1 ? `95\u00a0% interval ${signed(pair.low)} to ${signed(pair.high)}, ` : '') + `${pText(pair.p)}. `
    + `It wins ${counted(pair.won, 'query', 'queries')}, loses ${pair.lost.toLocaleString('en')}, and ties on ${pair.tied.toLocaleString('en')}.`,
  ];
};

// Won, tied and lost as shares of a line.
const shares = (by, a, b) => {
  const pair = pairOf(by, a, b);
  if (!pair) return [];
  return [['won', pair.won], ['tied', pair.tied], ['lost', pair.lost]].filter(([, n]) => n > 0).map(([name, n]) =>
    element('span', { class: name, style: `flex-grow:${n}` }, element('b', {}, n.toLocaleString('en')), ' ' + name));
};

// The sorted differences: what is won above the line, what is lost below it.
const draw = (figure, sorted, open) => {
  const plot = figure.querySelector('.plot');
  const note = figure.querySelector('figcaption');
  const n = sorted.length;
  const high = Math.max(0, ...sorted.map(({ d }) => d)), low = Math.min(0, ...sorted.map(({ d }) => d));
  const scale = 200 / Math.max(0.0001, high - low);
  const y = d => (scale * (high - d)).toFixed(1);
  const bars = keep => sorted.map(({ d }, i) => keep(d) ? `M${i} ${y(0)}V${y(d)}h1V${y(0)}z` : '').join('');
  const cursor = shape('path', { class: 'cursor', d: '' });
  const drawing = shape('svg', { viewBox: `0 0 ${Math.max(1, n)} 200`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': `Differences of ${counted(n, 'query', 'queries')}, sorted, from ${signed(high)} to ${signed(low)}; the lists below name the largest` },
    shape('path', { class: 'won', d: bars(d => d > 0) }), shape('path', { class: 'lost', d: bars(d => d < 0) }),
    shape('path', { class: 'zero', d: `M0 ${y(0)}H${n}` }), cursor);
  const ticks = [high, 0, low].filter((value, i) => i === 1 || Math.abs(value) * scale > 16);
  plot.replaceChildren(element('div', { class: 'y', 'aria-hidden': 'true' },
    ticks.map(value => element('span', { style: `top:${y(value) / 2}%` }, value === 0 ? '0' : signed(value)))), drawing);
  const rest = 'Every query a bar, sorted by difference. Touch one to name it.';
  note.textContent = rest;
  const at = event => {
    const box = drawing.getBoundingClientRect();
    return sorted[Math.min(n - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * n)))];
  };
  drawing.addEventListener('pointermove', event => {
    const found = at(event);
    if (!found) return;
    const i = sorted.indexOf(found);
    cursor.setAttribute('d', `M${i + 0.5} 0V200`);
    note.textContent = `${signed(found.d)} on “${data.queries[found.q][0]}”` + (openedOf.has(found.q) ? ' (click to open)' : '');
  });
  drawing.addEventListener('pointerleave', () => { note.textContent = rest; cursor.setAttribute('d', ''); });
  drawing.addEventListener('click', event => { const found = at(event); if (found && openedOf.has(found.q)) open(found); });
};
