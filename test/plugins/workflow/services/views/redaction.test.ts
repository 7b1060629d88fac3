import test from 'ava';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import {
  maskConfig,
  redactEvents,
  redactJson,
} from '../../../../../plugins/workflow/services/views/redaction.ts';

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => undefined });
const KEY = 'AKIAIOSFODNN7EXAMPLE';
const GITHUB = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;

test('credentials are replaced at any depth, and all else stays as it is', (t) => {
  const value = { a: [{ b: `key ${KEY}`, n: 1.5 }], ok: true, none: null };
  t.deepEqual(redactJson(guard, value), {
    a: [{ b: 'key [REDACTED:aws-access-key-id]', n: 1.5 }],
    ok: true,
    none: null,
  } as never);
});

test('a value is judged together with the name of its member', (t) => {
  const { config } = redactJson(guard, { config: { password: 'h7Gk29sLq0Zx84mN1pR5tV' } });
  t.notRegex(JSON.stringify(config), /h7Gk29sLq0Zx84mN1pR5tV/);
});

test('what is clean is the very value that was given', (t) => {
  const value = { text: 'nothing to hide', list: [1, 2], deep: { empty: '' } };
  t.is(redactJson(guard, value), value);
  const numbers = { a: 1, b: [true, null], c: { d: 2 } };
  const blind = { redact: () => 'x', redactJsonText: () => t.fail('no text, nothing to look at') as never };
  t.is(redactJson(blind, numbers), numbers);
});

test('a member named __proto__ is data like any other', (t) => {
  const value = JSON.parse(`{"__proto__": {"x": "${KEY}"}, "headers": {"__proto__": "v", "X-Token": "t"}}`);
  const redacted = redactJson(guard, maskConfig(value)) as Record<string, Record<string, unknown>>;
  t.true(Object.hasOwn(redacted, '__proto__'));
  t.true(Object.hasOwn(redacted.headers!, '__proto__'));
  t.notRegex(JSON.stringify(redacted), /AKIA/);
  t.is(Object.getPrototypeOf(redacted), Object.prototype);
});

test('values of sensitive headers are masked, whatever they look like', (t) => {
  const names = [
    'Authorization',
    'COOKIE',
    'x-api-key',
    'Proxy-Authorization',
    'Set-Cookie',
    'X-My-Token',
    'client-secret',
    'X-Functions-Key',
    'X-Session',
    'X-Signature',
  ];
  const headers = Object.fromEntries(names.map((name) => [name, 'plain']));
  const masked = maskConfig({ url: 'https://x', headers: { ...headers, Accept: 'text/plain' } });
  t.deepEqual(masked, {
    url: 'https://x',
    headers: {
      ...Object.fromEntries(names.map((name) => [name, '[REDACTED:header]'])),
      Accept: 'text/plain',
    },
  });
});

test('values of sensitive parameters of a URL are masked; templates, which hold nothing, stay', (t) => {
  const url = 'https://x/a?page=2&api_key=plain&Token=&sig={{input.sig}}&access_token={{input.t}}#key=b';
  const { url: masked } = maskConfig({ url: `${url}&pwd=x` });
  const shown =
    'https://x/a?page=2&api_key=[REDACTED:query]&Token=&sig={{input.sig}}&access_token={{input.t}}';
  t.is(masked, `${shown}#key=b&pwd=[REDACTED:query]`);
  t.is(maskConfig({ url: '?'.repeat(100_000) }).url, '?'.repeat(100_000));
});

test('a configuration without sensitive headers is the very one that was given', (t) => {
  const inputs: readonly JsonObject[] = [
    {},
    { headers: 'none' },
    { headers: ['Cookie'] },
    { headers: { Accept: '*/*' } },
    { url: 'https://x/?page=2' },
    { url: 7 },
  ];
  for (const input of inputs) t.is(maskConfig(input), input);
});

test('events are stored without credentials; those that hold none are not copied', (t) => {
  const base = { nodeId: null, stepId: null, createdAt: 0 };
  const clean = { ...base, seq: 1, type: 'step.started', data: { attempt: 1, delivery: 1 } } as const;
  const failed = {
    ...base,
    seq: 2,
    type: 'step.failed' as const,
    data: { error: { code: 'x', message: `401 for ${GITHUB}` }, record: { note: KEY } },
  };
  const events = redactEvents([clean, failed], guard);
  t.is(events[0], clean);
  t.notRegex(JSON.stringify(events), new RegExp(`${GITHUB}|${KEY}`));
  t.is((events[1]!.data as typeof failed.data).error.code, 'x');
});
