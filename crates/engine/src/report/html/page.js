// What every part of the page uses: the data, elements, numbers. Texts are only ever written as text.
const data = JSON.parse(document.getElementById('page-data').textContent);
const byId = id => document.getElementById(id);

// An element with attributes and children; strings become text.
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat().filter(child => child !== null));
  return made;
};

const shape = (name, attributes = {}, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const fixed = (value, decimals = 3) => {
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? '−' + text : text;
};
const signed = value => (Number(value.toFixed(3)) > 0 ? '+' : '') + fixed(value);
const counted = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);
const grade = value => Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));

// The grade of a document, by colour and number.
const gradeChip = value => value === null
  ? element('span', { class: 'grade none', title: 'not judged' }, '?')
  : element('span', { class: 'grade g' + Math.ceil(Math.min(4, Math.max(0, value))), title: 'grade' }, grade(value));

document.documentElement.classList.add('script');

// Tables that can be sorted by any column of numbers: first the largest, then the smallest.
for (const table of document.querySelectorAll('table[data-sortable]')) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];
  heads.forEach((head, column) => {
    if (column === 0) return;
    const button = element('button', { type: 'button', title: head.title || false }, ...head.childNodes);
    head.removeAttribute('title');
    head.append(button);
    button.addEventListener('click', () => {
      const before = head.getAttribute('aria-sort');
      const order = before === 'descending' ? 'ascending' : before === 'ascending' ? null : 'descending';
      heads.forEach(other => other.removeAttribute('aria-sort'));
      if (order) head.setAttribute('aria-sort', order);
      const value = row => Number(row.cells[column].dataset.v);
      const known = x => Number.isNaN(x) ? -Infinity : x;
      const sorted = [...original];
      if (order) sorted.sort((a, b) => (order === 'ascending' ? 1 : -1) * (known(value(a)) - known(value(b))));
      body.append(...sorted);
    });
  });
}

// The section of explanations: any model, any explained query.
const whyModel = byId('why-model');
if (whyModel) {
  const whyQuery = byId('why-query');
  data.opened.forEach((opened, i) => {
    if (opened.why.some(place => place !== null)) {
      whyQuery.append(element('option', { value: i }, data.queries[opened.q][0]));
    }
  });
  whyQuery.value = byId('why-shown').dataset.first;
  const show = () => {
    const place = data.opened[whyQuery.value].why[whyModel.value];
    const shown = place === null
      ? element('p', { class: 'note' }, data.models[whyModel.value] + ' ranks nothing for this query.')
      : byId('why-' + place).content.cloneNode(true);
    byId('why-shown').replaceChildren(shown);
  };
  whyModel.addEventListener('change', show);
  whyQuery.addEventListener('change', show);
}

// Paper shows what is folded.
addEventListener('beforeprint', () => document.querySelectorAll('details.folded').forEach(folded => { folded.open = true; }));
