import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { publicKeyText } from '../../../plugins/hub/rules/public-key.ts';
import { createHubCalls } from '../../../plugins/hub/services/hub-calls.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

test('the keys of a hub that answers with an error for a while stay known', async (t) => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const key = publicKeyText(publicKey);
  let status = 200;
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? { keys: [{ key_id: 'k', public_key: key }] } : {}));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const clock = manualClock();
  const { hubKey } = createHubCalls({
    hubs: [{ url: `http://127.0.0.1:${port}`, apiKey: undefined }],
    node: () => Promise.reject(new Error('nothing is signed here')),
    ids: { bytes: (count) => Buffer.alloc(count) },
    clock,
  });
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
