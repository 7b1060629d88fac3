import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { failure, type ProviderScript, plain, stream } from '../../../support/fake-provider.ts';
import { open } from '../../../support/request.ts';
import { AGENT, COMPLETIONS, startChat, USER } from './chat-kit.ts';

/**
 * Milliseconds for which the model thinks: more than until a stream begins, and until its first comment line after
 * that.
 */
const THINKING = 33_000;

/** Answers late; `isAnswered` tells whether it has begun to. */
function late(then: ProviderScript) {
  const state = { isAnswered: false };
  const script: ProviderScript = async (reply) => {
    await pause(THINKING, undefined, { signal: reply.signal });
    state.isAnswered = true;
    await then(reply);
  };
  return { state, script };
}

const body = { model: 'default', messages: [USER], stream: true };

for (const path of [COMPLETIONS, AGENT]) {
  test(`a stream begins while the model still thinks, and its connection is kept open: ${path}`, async (t) => {
    const { state, script } = late(stream());
    const { gateway } = await startChat(t, [script]);
    const response = await open(`${gateway.url}${path}`, { method: 'POST', token: gateway.token, body });
    t.false(state.isAnswered);
    t.is(response.status, 200);
    const text = await response.text();
    t.regex(text, /^: ping\n\ndata: \{/);
    t.regex(text, /Hello/);
    t.regex(text, /data: \[DONE\]\n\n$/);
  });

  test(`what fails then is an event, and a failure of a plain answer a status: ${path}`, async (t) => {
    const streaming = await startChat(t, [late(failure(429)).script]);
    const plainly = await startChat(t, [late(failure(429)).script]);
    const [streamed, whole] = await Promise.all([
      streaming.chat({ stream: true }, { path }),
      plainly.chat({}, { path }),
    ]);
    t.is(streamed.status, 200);
    t.regex(streamed.body, /event: error\ndata: \{"error":\{.*\n\ndata: \[DONE\]\n\n$/);
    t.notRegex(streamed.body, /finish_reason/);
    t.is(whole.status, path === AGENT ? 502 : 429);
  });
}

test('a client that leaves a model that thinks ends the call of the model', async (t) => {
  const { script } = late(plain());
  const { gateway, provider } = await startChat(t, [script]);
  const leave = new AbortController();
  const response = await open(`${gateway.url}${COMPLETIONS}`, {
    method: 'POST',
    token: gateway.token,
    body,
    signal: leave.signal,
  });
  t.is(response.status, 200);
  leave.abort();
  while (provider.requests[0]?.isAborted !== true) await pause(20);
  t.pass();
});
