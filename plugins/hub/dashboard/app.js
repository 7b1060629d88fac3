const STREAM = 'api/v1/dashboard/stream';
const KEY = 'hub-key';
/** What a key consists of. With anything else `fetch` throws, as it does where nobody answers. */
const SENDABLE = /^[\x21-\x7e]*$/;
/** Milliseconds until the next attempt to connect: doubled with each that fails. */
const FIRST_PAUSE = 1_000;
const MOST_PAUSE = 15_000;
/**
 * Milliseconds without a byte after which a connection counts as lost: the gateway writes every 15 s, also where
 * nothing changes.
 */
const MOST_SILENCE = 45_000;

const at = (selector) => document.querySelector(selector);
const time = (text) => [text === null ? 'never' : new Date(text).toLocaleString(), 'whole'];
const number = (text) => [String(text), 'number'];

const HEALTH = {
  healthy: ['healthy', 'good'],
  expired: ['expired', 'warn'],
  conflict: ['two keys: conflict', 'bad'],
};
const STATES = { promoted: ['promoted', 'good'], revoked: ['revoked', 'bad'] };

function delivery({ is_failing, dead, waiting }) {
  if (is_failing) return ['failing', 'bad'];
  if (dead > 0) return ['has dead letters', 'warn'];
  return waiting > 0 ? ['under way', 'good'] : ['up to date', 'good'];
}

/** The cells of a row, by table: a text, or a text with its class. */
const CELLS = {
  nodes: (node) => [
    node.node_id,
    HEALTH[node.status] ?? node.status,
    node.endpoint,
    node.capabilities.join(', '),
    time(node.last_seen_at),
  ],
  genes: (gene) => [
    gene.name.trim() || gene.gene_id,
    STATES[gene.state] ?? gene.state,
    gene.task_class,
    number(gene.confidence.toFixed(2)),
    number(gene.use_count),
    gene.node_id ?? ['anonymous', 'whole'],
    time(gene.updated_at),
  ],
  subscriptions: (one) => [
    one.callback,
    delivery(one),
    one.events.join(', '),
    number(one.delivered),
    number(one.waiting),
    number(one.dead),
    time(one.last_attempt_at),
  ],
};

function emptyRow(labels) {
  const row = document.createElement('tr');
  for (const label of labels) {
    const cell = row.insertCell();
    cell.dataset.label = label;
    const value = document.createElement('span');
    // Of nodes: in whatever script they write.
    value.dir = 'auto';
    cell.append(value);
  }
  return row;
}

function fill(row, cells) {
  for (const [n, cell] of cells.entries()) {
    const [text, name = ''] = [cell].flat();
    const value = row.cells[n].firstElementChild;
    if (value.textContent !== text) value.textContent = text;
    if (value.className !== name) value.className = name;
  }
}

const shown = {};

function show(name, { total, items }) {
  const text = JSON.stringify([total, items]);
  if (shown[name] === text) return;
  shown[name] = text;
  const labels = [...document.querySelectorAll(`#${name} th`)].map((label) => label.textContent);
  const body = at(`#${name} tbody`);
  // What has not changed is not replaced: readers keep their place, those of a screen reader too, and their selection.
  for (const [n, item] of items.entries()) {
    fill(body.rows[n] ?? body.appendChild(emptyRow(labels)), CELLS[name](item));
  }
  while (body.rows.length > items.length) body.deleteRow(-1);
  at(`#${name} .count`).textContent = total > items.length ? `(${items.length} of ${total})` : `(${total})`;
  at(`#${name} .empty`).hidden = total > 0;
  at(`#${name} table`).hidden = total === 0;
}

/** Shows what a key allows to see, or hides it where there is none, or none any more. */
function reveal(isAllowed) {
  for (const part of document.querySelectorAll('nav, section')) part.hidden = !isAllowed;
}

function say(text) {
  if (at('#link').textContent !== text) at('#link').textContent = text;
}

/** The data of the events of a stream. Each piece of it, a ping too, is reported to `heard`. */
async function* eventsOf(body, heard) {
  let text = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    heard();
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const lines = block.split('\n').filter((line) => line.startsWith('data: '));
      if (lines.length > 0) yield lines.map((line) => line.slice(6)).join('\n');
    }
  }
}

/** Ends what the page is waiting for: the next event, or the time of the next attempt. */
let wake = () => {};

/** Follows the stream to its end. Gives the status of the answer. */
async function follow() {
  const key = sessionStorage.getItem(KEY);
  at('#forget').hidden = key === null;
  if (!SENDABLE.test(key ?? '')) return 401;
  const headers = {
    accept: 'text/event-stream',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  };
  // A machine that has slept, or a router that has forgotten a connection, tells nobody: the stream would only stay
  // silent.
  const lost = new AbortController();
  wake = () => lost.abort();
  let silence;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => lost.abort(), MOST_SILENCE);
  };
  heard();
  try {
    const response = await fetch(STREAM, { headers, cache: 'no-store', signal: lost.signal });
    if (!response.ok) return response.status;
    say('Live');
    for await (const data of eventsOf(response.body, heard)) {
      const state = JSON.parse(data);
      for (const name of Object.keys(CELLS)) show(name, state[name]);
      if (!at('nav').hidden) continue;
      reveal(true);
      // There was no section that the address may name when the browser went to it.
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }
    return response.status;
  } finally {
    clearTimeout(silence);
  }
}

function askForKey() {
  const refused = sessionStorage.getItem(KEY) !== null;
  sessionStorage.removeItem(KEY);
  at('#forget').hidden = true;
  reveal(false);
  say('A key is needed');
  at('#refused').textContent = refused ? 'This key does not allow to read the hub.' : '';
  at('#login').hidden = false;
  at('#key').focus();
  return new Promise((resolve) => {
    at('#login').addEventListener(
      'submit',
      (event) => {
        event.preventDefault();
        sessionStorage.setItem(KEY, at('#key').value.trim());
        at('#key').value = '';
        // Until the answer is there, nobody listens to the form.
        at('#login').hidden = true;
        say('Connecting …');
        at('#main').focus();
        resolve();
      },
      { once: true },
    );
  });
}

let isForgotten = false;

at('#forget').addEventListener('click', () => {
  sessionStorage.removeItem(KEY);
  isForgotten = true;
  reveal(false);
  at('#main').focus();
  wake();
});

for (let pause = FIRST_PAUSE; ; ) {
  isForgotten = false;
  const status = await follow().catch(() => 0);
  if (isForgotten) continue;
  if (status === 401 || status === 403) {
    await askForKey();
    pause = FIRST_PAUSE;
    continue;
  }
  say(`${status === 429 ? 'Too many connections' : 'Not connected'}. Trying again …`);
  await new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, pause);
  });
  pause = status === 200 ? FIRST_PAUSE : Math.min(pause * 2, MOST_PAUSE);
}
