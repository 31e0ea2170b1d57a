'use strict';
document.documentElement.classList.add('js');

// What is sorted: of the tensors their pairs of rows, of other tables rows.
const itemsOf = table => table.id === 'tensors' ? [...table.tBodies] : [...table.tBodies[0].rows];

// A cell as in the rows that are written in full. Its lines are text of HTML.
function cellOf(kind, next) {
  const text = next();
  if (kind === 'p') return `<td data-v='${text}'></td>`;
  const more = next();
  if (kind === 'w') return `<td>${text}<small>${more}</small></td>`;
  const title = kind === 'e' && more && more !== text ? ` title='${more}'` : '';
  return `<td class='n' data-v='${more}'${title}>${text}</td>`;
}

// Appends the rows that the page has as data. An empty line is that of the row before, a space is
// an empty one; names lack as many characters of the name before as the number in front says.
function unpack(table) {
  const data = document.getElementById('rest');
  if (!data) return;
  const {kinds} = data.dataset;
  const lines = data.textContent.split('\n').slice(1);
  const broken = name => `<bdi>${name.replace(/[/._](?!$)/g, '$&<wbr>')}</bdi>`;
  const width = 3 + [...kinds].reduce((sum, kind) => sum + (kind === 'p' ? 1 : 2), 0);
  const rows = [];
  let row = Array(width).fill('');
  for (let at = 0; at < lines.length; at += width) {
    row = row.map((before, i) => {
      const line = lines[at + i];
      if (i < 2) return before.slice(0, parseInt(line.slice(0, 2), 36)) + line.slice(2);
      return line === '' ? before : line === ' ' ? '' : line;
    });
    const [name, source, remarks] = row;
    let column = 3;
    const cells = [...kinds].map(kind => cellOf(kind, () => row[column++])).join('');
    const notes = remarks && remarks.split('; ').map(note => `<em>${note}</em>`).join('');
    rows.push(`<tbody class='${remarks && 'odd '}late'><tr><th scope='row'>${broken(name)}` +
      `<small>${broken(source)}</small>${notes}</th>${cells}</tr></tbody>`);
  }
  data.remove();
  table.insertAdjacentHTML('beforeend', rows.join(''));
}

// Names by the numbers in them: w2 before w10.
const names = new Intl.Collator('en', {numeric: true});

// The number in data-v, the name or the text of the cell; null of nothing.
function keyOf(item, column) {
  const cell = (item.rows ? item.rows[0] : item).cells[column];
  if (!('v' in cell.dataset)) return (cell.querySelector('bdi') ?? cell).textContent;
  return cell.dataset.v === '' ? null : Number(cell.dataset.v);
}

// What has no key goes to the end in either order.
function sorted(items, column, order) {
  const sign = order === 'ascending' ? 1 : -1;
  const entries = items.map((item, at) => ({item, at, key: keyOf(item, column)}));
  const compare = (a, b) =>
    typeof a === 'string' ? names.compare(a, b) : a < b ? -1 : a > b ? 1 : 0;
  entries.sort((a, b) => (a.key === null) - (b.key === null) || sign * compare(a.key, b.key) ||
    a.at - b.at);
  return entries.map(entry => entry.item);
}

// Clicks on a title go from the order looked for most (of numbers the largest first) to the other,
// and back to that of the model.
function makeSortable(table, show) {
  const items = itemsOf(table);
  const parent = items[0].parentNode;
  const scroll = table.parentNode;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    const turns = ['ascending', 'descending'];
    if (head.classList.contains('n')) turns.reverse();
    button.addEventListener('click', () => {
      const order = turns[turns.indexOf(head.getAttribute('aria-sort')) + 1];
      for (const h of heads) h.removeAttribute('aria-sort');
      if (order) head.setAttribute('aria-sort', order);
      const list = order ? sorted(items, column, order) : items;
      // Moved out of sight: thousands of rows are laid out once.
      const left = scroll.scrollLeft;
      table.remove();
      parent.append(...list);
      show(list);
      scroll.append(table);
      scroll.scrollLeft = left;
      button.focus();
    });
  });
}

// Of the tensors that have all words of the filter the first so many are shown.
function makeFilter(table) {
  const element = id => document.getElementById(id);
  const step = Number(element('next').dataset.step);
  const texts = new Map(itemsOf(table).map(body => [body, body.rows[0].textContent.toLowerCase()]));
  let list = [...texts.keys()];
  let limit = step;
  const show = () => {
    const words = element('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const body of list) {
      const fits = (!element('only').checked || body.classList.contains('odd')) &&
        words.every(word => texts.get(body).includes(word));
      if (fits) ++found;
      body.classList.toggle('late', !fits || found > limit);
    }
    const shown = Math.min(found, limit);
    element('shown').textContent = shown < texts.size ? `${shown} of ${texts.size} shown` : '';
    element('next').hidden = found <= limit;
  };
  element('filter').addEventListener('input', show);
  element('only').addEventListener('change', show);
  element('next').addEventListener('click', () => {
    limit += step;
    show();
  });
  element('tools').hidden = false;
  show();
  return sortedList => {
    list = sortedList;
    show();
  };
}

// Says what the bar under the pointer counts.
function tellBar(event) {
  const chart = event.target.closest?.('svg.c');
  if (!chart) return;
  const {begin, width, counts} = chart.dataset;
  const list = counts.split(' ').map(Number);
  const box = chart.querySelector('svg.b').getBoundingClientRect();
  const at = Math.floor((event.clientX - box.left) / box.width * list.length);
  const output = chart.parentNode.querySelector('output');
  output.textContent = '';
  if (!(at in list)) return;
  const edge = bar => {
    const position = Number(begin) + bar * Number(width);
    return Number(('log' in chart.dataset ? 2 ** position : position).toPrecision(6));
  };
  const all = list.reduce((sum, count) => sum + count, 0);
  const what = 'names' in chart.dataset ? chart.dataset.names.split(' ')[at]
    : `${edge(at)} … ${edge(at + 1)}`;
  const percent = (100 * list[at] / all).toFixed(2);
  output.textContent = `${what}: ${list[at].toLocaleString('en')} (${percent} %)`;
}

document.addEventListener('DOMContentLoaded', () => {
  for (const table of document.querySelectorAll('table.sort')) {
    if (table.id === 'tensors') unpack(table);
    makeSortable(table, table.id === 'tensors' ? makeFilter(table) : () => {});
  }
  document.addEventListener('toggle', event => {
    event.target.closest('tbody')?.classList.toggle('open', event.target.open);
  }, true);
  document.addEventListener('pointermove', tellBar);
});
