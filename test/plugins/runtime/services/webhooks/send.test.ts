import { Readable } from 'node:stream';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { EgressErrors } from '../../../../../foundation/egress/errors.ts';
import { createSeal } from '../../../../../foundation/secrets/seal.ts';
import { createSend, sealPlace } from '../../../../../plugins/runtime/services/webhooks/send.ts';
import type { StoredWebhook } from '../../../../../plugins/runtime/store/webhooks.ts';

const seal = createSeal('a key of thirty-two characters..');
const secretOf = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
const sealed = (letter: string) => seal.seal(secretOf(letter), sealPlace('t', 'w'));
const MESSAGE = { eventId: 'e', eventType: 'webhook.test', body: '{}' };

const webhook: StoredWebhook = {
  id: 'w',
  url: 'https://example.com',
  events: ['*'],
  description: '',
  active: true,
  createdAt: 0,
  secret: sealed('n'),
  previousSecret: sealed('o'),
  previousUntil: systemClock.now() + 3_600_000,
};

/** Sends through an egress that answers with a status, or throws; with the headers that it got. */
function sender(answer: number | Error, own = seal) {
  const headers: Record<string, string>[] = [];
  const egress = {
    async request(_tenant: string, request: { headers?: unknown }) {
      headers.push(request.headers as Record<string, string>);
      if (answer instanceof Error) throw answer;
      const rest = { statusText: '', headers: {}, url: '', redirected: false };
      return { status: answer, body: Readable.from(['ignored']), ...rest };
    },
  };
  const send = createSend({ egress, seal: own, clock: systemClock, version: '1' });
  const { signal } = new AbortController();
  return { headers, send: (one: StoredWebhook = webhook) => send('t', one, MESSAGE, signal) };
}

test('the secret before signs as well while it is valid, and no longer', async (t) => {
  const { headers, send } = sender(200);
  await send();
  await send({ ...webhook, previousUntil: systemClock.now() });
  await send({ ...webhook, previousSecret: null, previousUntil: null });
  const verifies = (n: number, letter: string) => {
    try {
      new Webhook(secretOf(letter)).verify(MESSAGE.body, headers[n]!);
      return true;
    } catch {
      return false;
    }
  };
  t.deepEqual([verifies(0, 'n'), verifies(0, 'o'), verifies(0, 'x')], [true, true, false]);
  for (const n of [1, 2]) t.deepEqual([verifies(n, 'n'), verifies(n, 'o')], [true, false]);
});

test('every 2xx is a success, and nothing else', async (t) => {
  for (const status of [200, 204, 299]) t.is((await sender(status).send()).error, null);
  for (const status of [199, 300, 307, 404, 410, 500]) {
    t.like(await sender(status).send(), { statusCode: status, isGone: status === 410 });
    t.is((await sender(status).send()).error, `The receiver answered ${status}.`);
  }
});

test('what the receiver or its secret is the reason of is a failed attempt, what is the gateway’s own trouble is thrown', async (t) => {
  const { send } = sender(200, createSeal('another key of thirty-two letters'));
  t.like(await send(), {
    statusCode: null,
    isSealed: true,
    error: 'The stored secret cannot be read with the SVC_SECRET_KEY of this gateway',
  });
  for (const error of [
    EgressErrors.denied('no'),
    EgressErrors.timeout('late'),
    EgressErrors.unreachable('off'),
  ]) {
    t.like(await sender(error).send(), { statusCode: null, isSealed: false, error: error.message });
  }
  for (const error of [EgressErrors.busy(), new Error('a defect')]) {
    await t.throwsAsync(() => sender(error).send(), { is: error });
  }
});
