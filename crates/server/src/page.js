'use strict';
// The search page. Texts of documents are only ever set as text, never as markup.
const byId = (id) => document.getElementById(id);
const KEY = 'matchrank-key';
const needsKey = document.body.dataset.needsKey === 'true';

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function say(text, wrong) {
  byId('status').textContent = text;
  byId('status').classList.toggle('wrong', Boolean(wrong));
}

async function ask(path, body) {
  const headers = { 'content-type': 'application/json' };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.authorization = 'Bearer ' + key;
  const response = await fetch(path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (response.status === 401) askForKey(Boolean(key));
  if (!response.ok) throw new Error(answer.error ? answer.error.message : 'status ' + response.status);
  return answer;
}

function askForKey(wasWrong) {
  sessionStorage.removeItem(KEY);
  byId('forget').hidden = true;
  byId('key-form').hidden = false;
  byId('search-form').hidden = true;
  byId('key').value = '';
  byId('key').focus();
  say(wasWrong ? 'This key is wrong.' : '', wasWrong);
}

async function begin() {
  if (needsKey && !sessionStorage.getItem(KEY)) return askForKey(false);
  try {
    const { models, default: standard } = await ask('/v1/models');
    byId('forget').hidden = !needsKey;
    byId('key-form').hidden = true;
    byId('search-form').hidden = false;
    const choices = models.filter((model) => model.family === 'matching').map((model) => {
      const option = element('option', '', `${model.name} (${model.current.kind}, version ${model.current.version})`);
      option.value = model.name;
      option.selected = model.name === standard;
      return option;
    });
    byId('model').replaceChildren(...choices);
    restore();
  } catch (error) {
    say(error.message, true);
  }
}

// The address holds the search, so that it can be sent around.
function restore() {
  const asked = new URLSearchParams(location.search);
  if (asked.get('top')) byId('top').value = asked.get('top');
  if ([...byId('model').options].some((option) => option.value === asked.get('model'))) byId('model').value = asked.get('model');
  byId('query').value = asked.get('q') || '';
  if (byId('query').value) search(false);
  else byId('query').focus();
}

let latest = 0;
async function search(isNew) {
  const request = { query: byId('query').value, model: byId('model').value, top: Number(byId('top').value) };
  if (!request.query.trim()) return;
  const number = ++latest;
  if (isNew) {
    const address = new URLSearchParams({ q: request.query, model: request.model, top: request.top });
    history.pushState(null, '', '?' + address);
  }
  say('Searching');
  try {
    const { hits, took_ms: took, model } = await ask('/v1/search', request);
    if (number !== latest) return;
    byId('results').replaceChildren(...hits.map((hit, i) => shown(hit, i + 1, request)));
    const found = hits.length === 0 ? 'No document' : hits.length === 1 ? '1 document' : `${hits.length} documents`;
    say(`${found} by ${model.name}, version ${model.version}, in ${took.toFixed(1)} ms`);
  } catch (error) {
    if (number === latest) say(error.message, true);
  }
}

function shown(hit, rank, request) {
  const item = element('li', 'hit');
  const fields = Object.entries(hit.fields);
  const [title] = fields.splice(Math.max(0, fields.findIndex(([name]) => name === 'title')), 1);
  const heading = element('h2');
  heading.append(element('span', 'rank', String(rank)), title ? plain(title[1]) : hit.id);
  const facts = element('p', 'facts');
  facts.append(element('span', '', hit.id), element('span', '', `score ${hit.score.toFixed(4)}`));
  if (hit.is_new) facts.append(element('span', 'new', 'new'));
  const button = element('button', '', 'Explain');
  button.type = 'button';
  button.setAttribute('aria-expanded', 'false');
  button.addEventListener('click', () => explain(item, button, hit, request));
  facts.append(button);
  const list = element('dl', 'fields');
  for (const [name, value] of fields) list.append(element('dt', '', name), element('dd', '', plain(value)));
  item.append(heading, facts, list);
  return item;
}

const plain = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

async function explain(item, button, hit, request) {
  const open = item.querySelector('.why');
  button.setAttribute('aria-expanded', String(!open));
  if (open) return open.remove();
  const panel = element('div', 'why', 'Explaining');
  item.append(panel);
  try {
    const answer = await ask('/v1/explain', { query: request.query, document: { id: hit.id }, model: request.model });
    panel.replaceChildren(...reasons(answer.explanation, answer.parts));
  } catch (error) {
    panel.textContent = error.message;
  }
}

// What adds to the score, then a grid of word pairs where the model has them, then the parts of parts.
function reasons(explanation, parts) {
  const made = [];
  if (parts && parts.length) made.push(element('h3', '', 'What adds to the score'), bars(parts.slice(0, 12)));
  else if (parts) made.push(element('p', '', 'The model says nothing about this document.'));
  if (explanation.made_of === 'paths') made.push(element('p', 'note', 'Probabilities of the likeliest ways over clicks; they do not add up to the score.'));
  if (explanation.made_of === 'pairs') made.push(...grid(explanation.pairs));
  for (const part of explanation.parts || []) {
    const inner = part.explanation;
    const score = inner.score === null ? 'no score' : `score ${inner.score.toFixed(4)}`;
    made.push(element('h3', '', `${part.model}: ${score}`));
    if (inner.made_of === 'terms') made.push(bars(inner.terms.slice(0, 8).map((term) => ({ name: term.token, adds: term.score }))));
    if (inner.made_of === 'words') made.push(bars(inner.words.slice(0, 8).map((word) => ({ name: word.word, adds: word.score }))));
    if (inner.made_of === 'pairs') made.push(...grid(inner.pairs));
    if (inner.parts) made.push(...reasons(inner, null));
  }
  return made;
}

function svg(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function bars(parts) {
  const largest = Math.max(...parts.map((part) => Math.abs(part.adds)));
  const table = element('table');
  for (const part of parts) {
    const row = table.insertRow();
    const name = element('th', '', part.name);
    name.scope = 'row';
    const cell = element('td', 'bar');
    const picture = svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    picture.append(svg('rect', { class: part.adds < 0 ? 'down' : 'up', width: (100 * Math.abs(part.adds)) / largest, height: 10 }));
    cell.append(picture);
    row.append(name, element('td', 'number', part.adds.toFixed(4)), cell);
  }
  return table;
}

// The strongest pairs as a grid: features of the query by features of the document.
function grid(pairs) {
  const first = (name) => [...new Set(pairs.map((pair) => pair[name]))].slice(0, 6);
  const [rows, columns] = [first('query_feature'), first('document_feature')];
  if (rows.length * columns.length < 2) return [];
  const of = (row, column) => pairs.find((pair) => pair.query_feature === row && pair.document_feature === column);
  const largest = Math.max(...pairs.map((pair) => Math.abs(pair.score)));
  const table = element('table', 'heat');
  const head = table.createTHead().insertRow();
  head.append(element('td'), ...columns.map((column) => Object.assign(element('th', '', column), { scope: 'col' })));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    line.append(Object.assign(element('th', '', row), { scope: 'row' }));
    for (const column of columns) {
      const pair = of(row, column);
      const cell = element('td', '', pair ? pair.score.toFixed(3) : '');
      if (pair) {
        const share = Math.round((60 * Math.abs(pair.score)) / largest);
        cell.style.backgroundColor = `color-mix(in srgb, var(${pair.score < 0 ? '--down' : '--up'}) ${share}%, transparent)`;
      }
      line.append(cell);
    }
  }
  return [element('h3', '', 'Pairs: features of the query (rows), features of the document (columns)'), table];
}

byId('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, byId('key').value.trim());
  say('');
  begin();
});
byId('search-form').addEventListener('submit', (event) => {
  event.preventDefault();
  search(true);
});
byId('model').addEventListener('change', () => search(true));
byId('top').addEventListener('change', () => search(true));
byId('forget').addEventListener('click', () => {
  byId('results').replaceChildren();
  askForKey(false);
});
window.addEventListener('popstate', restore);
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const hits = [...document.querySelectorAll('.hit')];
  const at = hits.findIndex((hit) => hit.contains(document.activeElement));
  const focus = (i) => hits[i] && hits[i].querySelector('button').focus();
  if (event.key === '/') byId('query').focus();
  else if (event.key === 'j') focus(at + 1);
  else if (event.key === 'k') focus(Math.max(0, at - 1));
  else if (event.key === 'e' && at >= 0) hits[at].querySelector('button').click();
  else return;
  event.preventDefault();
});
begin();
