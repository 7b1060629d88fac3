import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { publicKeyText } from '../../../plugins/hub/rules/public-key.ts';
import { createHubCalls } from '../../../plugins/hub/services/hub-calls.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

const key = publicKeyText(generateKeyPairSync('ed25519').publicKey);

/** Starts a hub; returns its address. */
async function startHub(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The calls of a gateway to these hubs. */
function callsTo(...urls: readonly string[]) {
  const clock = manualClock();
  const { hubKey } = createHubCalls({
    hubs: urls.map((url) => ({ url, apiKey: undefined })),
    node: () => Promise.reject(new Error('nothing is signed here')),
    ids: { bytes: (count) => Buffer.alloc(count) },
    clock,
  });
  return { clock, hubKey };
}

const keysAnswer = JSON.stringify({ keys: [{ key_id: 'k', public_key: key }] });

test('the keys of a hub that answers with an error for a while stay known', async (t) => {
  let status = 200;
  let asked = 0;
  const url = await startHub(t, (_, response) => {
    asked += 1;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 200 ? keysAnswer : '{}');
  });
  const { clock, hubKey } = callsTo(url);
  t.is(await hubKey('k'), key);
  status = 502;
  clock.advance(300_000);
  t.is(await hubKey('k'), key);
  t.is(asked, 2);
  // An id that is not among them is asked for again, and the answer replaces what was known.
  status = 200;
  clock.advance(300_000);
  t.is(await hubKey('other'), undefined);
  t.is(await hubKey('k'), key);
  t.is(asked, 3);
});

test('the key of a hub is there while another hub does not answer', async (t) => {
  let left = false;
  const silent = await startHub(t, (_, response) => {
    response.once('close', () => {
      left = true;
    });
  });
  const healthy = await startHub(t, (_, response) => response.end(keysAnswer));
  const { hubKey } = callsTo(silent, healthy);
  t.is(await hubKey('k'), key);
  // Whoever had given up the silent one before would have been heard of by now.
  await (await fetch(healthy)).text();
  t.false(left, 'nobody waited for the silent one to its deadline');
});

test('what is no list of keys takes none away, and an entry of one that is no key costs itself alone', async (t) => {
  let answer = JSON.stringify({ keys: [null, 'x', { key_id: 'k', public_key: key }] });
  const { clock, hubKey } = callsTo(await startHub(t, (_, response) => response.end(answer)));
  t.is(await hubKey('k'), key);
  for (answer of ['<!doctype html>', '{}', '[]']) {
    clock.advance(300_000);
    t.is(await hubKey('k'), key, answer);
  }
  answer = '{"keys":[]}';
  clock.advance(300_000);
  t.is(await hubKey('k'), undefined);
});
