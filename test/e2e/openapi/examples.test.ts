import test from 'ava';
import { type AllPlugins, send, startAll } from './all-plugins.ts';
import { check, type Document, type Operation, operationsOf } from './contract.ts';
import { emptyPlaces, shownBy, untypedMembers } from './examples.ts';
import { harmless } from './inputs.ts';
import { storyPlugin } from './successes.ts';

let gateway: AllPlugins;
let document: Document;
let operations: readonly Operation[];

test.before(async () => {
  gateway = await startAll(storyPlugin().plugin);
  document = (await gateway.request('/v1/openapi')).body;
  operations = operationsOf(document);
});
test.after.always(() => gateway?.stop());

test('every body that is sent or answered has an example, which fits its schema and says something', (t) => {
  const shown = operations.flatMap(shownBy);
  const problems = shown.flatMap(({ where, schema, example }) => {
    if (example === undefined) return [`${where} has no example`];
    return [
      ...check(document, schema, example).map((problem) => `${where}: ${problem}`),
      ...emptyPlaces(example).map((place) => `${where}: ${place} is made up`),
    ];
  });
  t.deepEqual(problems, []);
  t.true(shown.length > 200);
});

/**
 * What somebody keeps with the gateway, what workflows and jobs carry, JSON Schemas, and what differs from event to
 * event.
 */
const ANY_JSON = [
  'config',
  'data',
  'detail',
  'input',
  'input_schema',
  'meta_data',
  'metadata',
  'output',
  'parameters',
  'paths',
  'payload',
  'record',
  'resume_data',
  'signals',
  'state',
  'validation',
  'value',
  'variables',
];

test('a client knows the type of everything but of what may be any JSON', (t) => {
  const members = operations.flatMap(shownBy).flatMap(({ schema }) => untypedMembers(schema));
  t.deepEqual([...new Set(members)].sort(), ANY_JSON);
});

test('what an example sends is taken: nothing of it is refused as bad input', async (t) => {
  const { id: tenantId } = await gateway.makeTenant('Examples');
  const grant = { name: 'all', roles: ['admin'], scopes: ['admin'], expiresAt: null, createdBy: null };
  const { key: token } = await gateway.gateway.services.apiKeys.create({ ...grant, tenantId });
  const problems: string[] = [];
  let sent = 0;
  for (const operation of operations) {
    const [shown] = shownBy(operation).filter(({ status }) => status === undefined);
    // A form is more than its JSON.
    if (shown === undefined || shown.type === 'multipart/form-data') continue;
    const named = operation.parameters.filter((one) => one.in === 'path' && 'example' in one.schema);
    const params = Object.fromEntries(named.map(({ name, schema }) => [name, `${schema.example}`]));
    const input = { ...harmless(operation), params, body: shown.example, token };
    const { status, text } = await send(gateway, operation, input);
    sent += 1;
    if (REFUSED.has(status) || status >= 500) problems.push(`${shown.where}: ${status} ${text}`);
  }
  t.deepEqual(problems, []);
  t.true(sent > 40);
});

const REFUSED: ReadonlySet<number> = new Set([400, 413, 415]);
