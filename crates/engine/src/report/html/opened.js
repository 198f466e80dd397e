// Queries that can be opened: the results of two models side by side.
const state = { by: 0, a: 0, b: 0 };

const documentItem = (number, value, elsewhere) => {
  const [id, title, text] = data.documents[number];
  const place = elsewhere < 0 ? 'not in the other list' : `${elsewhere + 1}. in the other list`;
  const inside = [element('p', {}, text || 'No more text.'), element('p', { class: 'faint' }, id + ' · ' + place)];
  const item = element('details', { class: 'result' },
    element('summary', {}, gradeChip(value), element('span', { class: 'title' }, title || id),
      element('span', { class: 'move', title: place }, elsewhere < 0 ? 'only here' : '#' + (elsewhere + 1))),
    ...inside);
  return element('li', {}, item);
};

const resultList = (opened, model, other) => {
  const list = opened.top[model];
  const others = opened.top[other].filter((_, i) => i % 2 === 0);
  const items = [];
  for (let i = 0; i < list.length; i += 2) {
    items.push(documentItem(list[i], list[i + 1], others.indexOf(list[i])));
  }
  return element('div', {}, element('h5', {}, data.models[model]),
    items.length ? element('ol', {}, items) : element('p', { class: 'note' }, 'Nothing found.'));
};

// Why a model has its first result, where the page explains it.
const becauseOf = (opened, model) => opened.why[model] === null ? null : element('details', { class: 'because', ontoggle: event => {
  const target = event.currentTarget;
  if (!target.open || target.childElementCount > 1) return;
  const article = byId('why-' + opened.why[model]).content.cloneNode(true);
  article.querySelector('.query').remove();
  target.append(article);
} }, element('summary', {}, `Why ${data.models[model]} has its first result there`));

const judgedLine = judged => {
  const relevant = judged.filter(([value]) => value > 0);
  if (!relevant.length) return 'No relevant document was judged.';
  return 'Judged relevant: ' + relevant.map(([value, n]) => `${n.toLocaleString('en')} of grade ${grade(value)}`).join(', ') + '.';
};

// What opens below a query.
const openedPanel = ({ q }) => {
  const opened = data.opened[openedOf.get(q)];
  const [, clicks, id] = data.queries[q];
  const figures = data.measures.map((name, by) => {
    const [x, y] = [state.a, state.b].map(model => data.values[by][model][q]);
    return x === null || y === null ? null : `${name} ${fixed(x / 1e4)} and ${fixed(y / 1e4)}`;
  }).filter(text => text !== null);
  const seen = clicks > 0 ? `seen in training with ${counted(Math.round(clicks), 'click', 'clicks')}` : 'not seen in training';
  return element('div', { class: 'panel' },
    element('p', { class: 'note' }, `${id}: ${seen}. ${judgedLine(opened.judged)} ${figures.join('; ')}.`),
    element('div', { class: 'sides' }, resultList(opened, state.a, state.b), resultList(opened, state.b, state.a)),
    element('div', { class: 'becauses' }, becauseOf(opened, state.a), becauseOf(opened, state.b)));
};

// A query of a list, with the difference as a bar.
const queryItem = (found, most) => {
  const size = `--s:${(100 * Math.abs(found.d) / most).toFixed(0)}%`;
  const line = [element('span', { class: 'text' }, data.queries[found.q][0]),
    element('span', { class: 'track' }, element('span', { class: found.d < 0 ? 'minus' : 'plus', style: size })),
    element('span', { class: 'value' }, signed(found.d))];
  if (!openedOf.has(found.q)) return element('li', {}, element('div', { class: 'query closed', title: 'not in this page' }, ...line));
  const item = element('details', { class: 'query', 'data-q': found.q, ontoggle: event => {
    const target = event.currentTarget;
    if (event.target === target && target.open && target.childElementCount === 1) target.append(openedPanel(found));
  } }, element('summary', {}, ...line));
  return element('li', {}, item);
};

const queryList = (title, found, most, kind = 'list') => element('div', { class: kind }, element('h4', {}, title),
  found.length ? element('ul', {}, found.map(one => queryItem(one, most))) : element('p', { class: 'note' }, 'None.'));

const modelSelect = byId('model');
if (modelSelect) {
  const [againstSelect, bySelect, find] = ['against', 'by', 'find'].map(byId);
  const render = () => {
    Object.assign(state, { by: Number(bySelect.value), a: Number(modelSelect.value), b: Number(againstSelect.value) });
    const { by, a, b } = state;
    const sorted = a === b ? [] : differencesOf(by, a, b);
    const most = Math.max(0.0001, ...sorted.map(({ d }) => Math.abs(d)));
    byId('verdict').replaceChildren(...verdict(by, a, b));
    byId('share').replaceChildren(...shares(by, a, b));
    const openFound = found => {
      byId('lists').replaceChildren(queryList('Opened', [found], most, 'list opened'), ...lists());
      const item = byId('lists').querySelector('details.query');
      item.open = true;
      item.scrollIntoView({ block: 'nearest' });
    };
    const lists = () => {
      const text = find.value.trim().toLowerCase();
      if (text) {
        const matching = sorted.filter(({ q }) => data.queries[q][0].toLowerCase().includes(text));
        return [queryList(`${counted(matching.length, 'query', 'queries')} with “${text}”`, matching.slice(0, 40), most)];
      }
      return [queryList('Won by most', sorted.filter(({ d }) => d > 0).slice(0, SHOWN), most),
        queryList('Lost by most', sorted.filter(({ d }) => d < 0).slice(-SHOWN).reverse(), most)];
    };
    draw(byId('wins'), sorted, openFound);
    byId('lists').replaceChildren(...lists());
  };
  for (const select of [modelSelect, againstSelect, bySelect]) select.addEventListener('change', () => { find.value = ''; render(); });
  find.addEventListener('input', render);
  render();
}
