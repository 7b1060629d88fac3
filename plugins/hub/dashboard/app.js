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

function rowOf(cells, labels) {
  const row = document.createElement('tr');
  row.append(
    ...cells.map((cell, n) => {
      const [text, name] = [cell].flat();
      const item = document.createElement('td');
      item.dataset.label = labels[n];
      const value = document.createElement('span');
      value.textContent = text;
      // Of nodes: in whatever script they write.
      value.dir = 'auto';
      if (name !== undefined) value.className = name;
      item.append(value);
      return item;
    }),
  );
  return row;
}

const shown = {};

function show(name, { total, items }) {
  const text = JSON.stringify([total, items]);
  // Unchanged content is not replaced, so that the reader keeps the scroll position and the selection.
  if (shown[name] === text) return;
  shown[name] = text;
  const labels = [...document.querySelectorAll(`#${name} th`)].map((label) => label.textContent);
  at(`#${name} tbody`).replaceChildren(...items.map((item) => rowOf(CELLS[name](item), labels)));
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

/** Follows the stream to its end. Gives the status of the answer. */
async function follow() {
  const key = sessionStorage.getItem(KEY);
  if (!SENDABLE.test(key ?? '')) return 401;
  const headers = {
    accept: 'text/event-stream',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  };
  // A machine that has slept, or a router that has forgotten a connection, tells nobody: the stream would only stay
  // silent.
  const lost = new AbortController();
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

for (let pause = FIRST_PAUSE; ; ) {
  const status = await follow().catch(() => 0);
  if (status === 401 || status === 403) {
    await askForKey();
    pause = FIRST_PAUSE;
    continue;
  }
  say(`${status === 429 ? 'Too many connections' : 'Not connected'}. Trying again …`);
  await new Promise((resolve) => setTimeout(resolve, pause));
  pause = status === 200 ? FIRST_PAUSE : Math.min(pause * 2, MOST_PAUSE);
}
