import { Validator } from '@seriousme/openapi-schema-validator';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { isWhole, SEED, sample } from '../../support/sample.ts';
import { type AllPlugins, send, startAll } from './all-plugins.ts';
import {
  type Document,
  differences,
  type Operation,
  operationsOf,
  type Received,
  toJsonSchema,
} from './contract.ts';
import { shownBy, unlikeEvents, unlikePlaces } from './examples.ts';
import { type Input, inputsOf, isSigned, WRONG_BODIES } from './inputs.ts';
import { lint } from './lint.ts';
import { storyPlugin, successes } from './successes.ts';

/** Operations that each caller calls; all in `npm run test:long`. */
const CALLED = 80;
/** Inputs of one operation that are made of its schemas, by the seed. */
const INPUTS = isWhole ? 12 : 3;

const story = storyPlugin();
let gateway: AllPlugins;
let document: Document;
let operations: readonly Operation[];

test.before(async () => {
  gateway = await startAll(story.plugin);
  document = (await gateway.request('/v1/openapi')).body;
  operations = operationsOf(document);
});
test.after.always(() => gateway?.stop());

/** A part of the document that is about to be spoilt. */
type Broken = Record<string, unknown>;

/** Sends it, and notes where the answer is none that the document describes. */
async function tried(problems: string[], operation: Operation, input: Input): Promise<Received> {
  const received = await send(gateway, operation, input);
  problems.push(...problemsOf({ operation, input, received }));
  return received;
}

function problemsOf({ operation, input, received }: Told): readonly string[] {
  const found = [
    ...differences(document, operation, received),
    ...(received.status < 500 ? [] : ['the gateway failed']),
  ];
  const { key } = operation;
  return found.map(
    (problem) => `${key} ${JSON.stringify(input)}: ${problem}: ${received.text.slice(0, 300)}`,
  );
}

/** A call of the story, and what it was answered. */
interface Told {
  readonly operation: Operation;
  readonly input: Input;
  readonly received: Received;
}

/**
 * Calls every operation so that it succeeds. Done once, for all tests that look at the answers.
 *
 * @throws Error naming an operation that is not in the document, or that was refused
 */
async function tell(): Promise<readonly Told[]> {
  const all: Told[] = [];
  const known: Record<string, string> = {};
  for (const [key, makeInput, learn] of successes(gateway, story.turns)) {
    const operation = operations.find((one) => one.key === key);
    if (operation === undefined) throw new Error(`${key} is not in the document`);
    const input = await makeInput(known);
    const received = await send(gateway, operation, input);
    const { status, headers, text } = received;
    if (status >= 400) throw new Error(`${key}: ${status} ${text}`);
    all.push({ operation, input, received });
    await learn?.(known, /json/.test(headers.get('content-type') ?? '') ? JSON.parse(text) : undefined);
  }
  return all;
}

let telling: ReturnType<typeof tell> | undefined;

function told(): ReturnType<typeof tell> {
  telling ??= tell();
  return telling;
}

/** All that was found, of very much the first. */
function none(t: ExecutionContext, problems: readonly string[]): void {
  t.deepEqual(problems.slice(0, 30), [], `${problems.length} in all; TEST_SEED=${SEED}`);
}

// One after the other: the linter resolves references in the document that it began with last.
test.serial('the document is one of OpenAPI 3.0', async (t) => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate({ ...document });
  t.deepEqual([valid, errors, validator.version], [true, undefined, '3.0']);
  t.deepEqual(await lint(document), []);
});

/** A document of these paths alone, which is sooner read than all. */
function partOf(document: Document, paths: readonly string[]): Document {
  const part = structuredClone({
    ...document,
    paths: Object.fromEntries(paths.map((path) => [path, document.paths[path]!])),
  });
  for (const kind of ['responses', 'headers', 'schemas'] as const) {
    const told = JSON.stringify(part);
    for (const name of Object.keys(part.components[kind]))
      if (!told.includes(`#/components/${kind}/${name}"`)) delete part.components[kind][name];
  }
  return part;
}

test.serial('what is wrong with a document is found', async (t) => {
  const broken = partOf(document, ['/v1/me', '/v1/models', '/v1/tenants']);
  t.deepEqual(await lint(broken), []);
  const [me, models] = ['/v1/me', '/v1/models'].map((path) => broken.paths[path]!.get as unknown as Broken);
  me!.operationId = models!.operationId;
  me!.parameters = [{ name: 'a', in: 'query', schema: { type: ['string'] } }];
  models!.description = '';
  Object.assign(broken.paths['/v1/tenants']!.post!.requestBody!.content['application/json']!, {
    example: { name: 7 },
  });
  Object.assign(broken.components.schemas, { Idle: { type: 'string' } });
  t.false((await new Validator().validate({ ...broken })).valid);
  t.deepEqual([...new Set((await lint(broken)).map(([rule]) => rule))].sort(), [
    'no-invalid-media-type-examples',
    'no-unused-components',
    'operation-description',
    'operation-operationId-unique',
    'struct',
  ]);
});

test('every operation has a name for a method, a group, a summary and its access', (t) => {
  for (const { key, operationId, summary, description, tags } of operations) {
    t.regex(operationId, /^(?:get|post|put|patch|delete)[A-Z][A-Za-z0-9]*$/, key);
    t.is(tags.length, 1, key);
    t.regex(summary, /^[A-Z].{8,}[^.]$/, key);
    t.regex(description, /(?:^|\n\n)Access: .+\.$/, key);
  }
});

test.serial('every operation succeeds once, and as the document says', async (t) => {
  const all = await told();
  none(t, all.flatMap(problemsOf));
  const succeeded = new Set(all.map(({ operation }) => operation.key));
  t.log(`${succeeded.size} of ${operations.length} operations got a success`);
  t.deepEqual(
    operations.map(({ key }) => key).filter((key) => !succeeded.has(key)),
    [],
    'these have no success in successes.ts',
  );
});

test.serial('what an example shows of an answer is like the real ones', async (t) => {
  const answers = new Map<string, string[]>();
  for (const { operation, received } of await told()) {
    const { status, headers, text } = received;
    const where = `${operation.key} ${status} ${headers.get('content-type')?.split(';')[0] ?? ''}`;
    // The static token is no user, who would have an id.
    const shown = text.replaceAll('"static-token"', `"${DEFAULT_TENANT_ID}"`);
    answers.set(where, [...(answers.get(where) ?? []), shown]);
  }
  const streams = [...answers].flatMap(([where, texts]) => (where.endsWith('event-stream') ? texts : []));
  let compared = 0;
  const problems = operations.flatMap(shownBy).flatMap(({ where, type, schema, example }) => {
    const real = answers.get(where)?.filter((text) => text !== '') ?? [];
    if (real.length === 0 || !/json$|event-stream$/.test(type)) return [];
    compared += 1;
    const found =
      type === 'text/event-stream'
        ? unlikeEvents(example as string, real, streams)
        : unlikePlaces(
            example,
            real.map((text) => JSON.parse(text)),
            schema,
          );
    return found.map((place) => `${where} ${place}`);
  });
  t.deepEqual(problems, []);
  t.log(`${compared} examples are like real answers`);
  t.true(compared > 130);
});

test.serial('what schemas allow is answered as the document says', async (t) => {
  t.log(`TEST_SEED=${SEED}`);
  const problems: string[] = [];
  for (const operation of operations) {
    for (const input of fc.sample(inputsOf(operation), { numRuns: INPUTS, seed: SEED }))
      await tried(problems, operation, input);
  }
  none(t, problems);
});

test.serial(
  'an absent body is refused exactly where the document needs one, and a wrong one everywhere',
  async (t) => {
    const problems: string[] = [];
    for (const operation of operations.filter((one) => one.requestBody !== undefined && !isSigned(one))) {
      const [input] = fc.sample(inputsOf(operation), { numRuns: 1, seed: SEED });
      const { body: _, ...rest } = input!;
      const absent = await tried(problems, operation, rest);
      t.is(
        /body is missing|"pointer":"\/body","message":"is missing/.test(absent.text),
        operation.requestBody!.required,
        operation.key,
      );
      const [type] = Object.keys(operation.requestBody!.content);
      const other = await tried(problems, operation, {
        ...rest,
        body: '{}',
        headers: { ...rest.headers, 'content-type': 'image/png' },
      });
      t.is(other.status, 415, operation.key);
      if (type !== 'application/json') continue;
      for (const body of WRONG_BODIES) {
        const { status } = await tried(problems, operation, { ...rest, body });
        t.is(status, 400, `${operation.key} ${JSON.stringify(body)}`);
      }
    }
    none(t, problems);
  },
);

test.serial('what is answered while another server is away is in the document', async (t) => {
  const mcp = '/api/v2/admin/mcp/servers';
  const far = 'https://gateway.invalid/';
  const node = { node_id: 'far', endpoint: far, public_key: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' };
  const calls: readonly (readonly [key: string, input: Input, status: number])[] = [
    [`POST ${mcp}`, { body: { name: 'away', transport: 'http', url: 'http://127.0.0.1:1/mcp' } }, 201],
    [`GET ${mcp}/{name}/tools`, { params: { name: 'away' } }, 502],
    ['POST /api/v1/nodes', { body: node }, 502],
    ['POST /api/v1/subscriptions', { body: { callback_url: far, events: ['gene_promoted'] } }, 502],
  ];
  for (const [key, input, status] of calls) {
    const operation = operations.find((one) => one.key === key)!;
    const received = await send(gateway, operation, input);
    t.is(received.status, status, received.text);
    t.deepEqual(differences(document, operation, received), [], key);
  }
});

const PROBES = [
  { tenant: 'own', roles: ['user'], scopes: ['read'] },
  { tenant: 'own', roles: ['user'], scopes: ['write'] },
  { tenant: 'own', roles: ['user'], scopes: ['execute', 'workflow:read'] },
  { tenant: 'own', roles: ['auditor'], scopes: ['audit'] },
  { tenant: 'own', roles: ['billing', 'security'], scopes: ['read'] },
  { tenant: 'own', roles: ['ops'], scopes: ['skills:write'] },
  { tenant: 'own', roles: ['admin'], scopes: [] },
  { tenant: 'other', roles: ['platform'], scopes: ['read', 'write'] },
  { tenant: 'other', roles: ['owner'], scopes: [] },
] as const;

test.serial('who may call is what the document says', async (t) => {
  const { apiKeys } = gateway.gateway.services;
  const other = await gateway.makeTenant();
  const probes = await Promise.all(
    PROBES.map(async ({ tenant, roles, scopes }) => {
      const tenantId = tenant === 'own' ? DEFAULT_TENANT_ID : other.id;
      const grant = { name: 'probe', roles, scopes, expiresAt: null, createdBy: null };
      const { key } = await apiKeys.create({ tenantId, ...grant });
      const { body } = await gateway.request('/v1/me', { token: key });
      return {
        token: key,
        tenant,
        roles: roles as readonly string[],
        scopes: body.scopes as readonly string[],
      };
    }),
  );
  let refused = 0;
  const problems: string[] = [];
  for (const operation of sample(t, operations, CALLED)) {
    const { key, security } = operation;
    const [input] = fc.sample(inputsOf(operation), { numRuns: 1, seed: SEED });
    // Whoever is refused is refused before his input is looked at; what every caller reaches needs one that is fine.
    const { body: _, ...rest } = input!;
    const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
    for (const token of [null, 'no-such-credential']) {
      const { status } = await tried(problems, operation, { ...rest, token });
      t.is(status === 401, security.length > 0 && !(token === null && isOpen), `${key} ${token}`);
    }
    for (const probe of probes) {
      const { status } = await send(gateway, operation, { ...rest, token: probe.token });
      const { token: _, ...caller } = probe;
      const label = `${key} as ${JSON.stringify(caller)}`;
      if (mayCall(operation, probe))
        t.true(status !== 401 || operation['x-access'].kind === 'public' || isSigned(operation), label);
      else {
        t.is(status, 403, label);
        refused += 1;
      }
    }
  }
  none(t, problems);
  t.true(refused > 100, 'the probes prove something');
});

/** As a client reads the document. */
function mayCall(
  { 'x-access': { operator }, 'x-required-roles': roles = [], 'x-required-scopes': scopes = [] }: Operation,
  probe: { readonly tenant: string; readonly roles: readonly string[]; readonly scopes: readonly string[] },
): boolean {
  const isOfRole =
    roles.length === 0 || [...roles, 'admin', 'owner'].some((role) => probe.roles.includes(role));
  const covers = (scope: string) =>
    probe.scopes.includes(scope) ||
    (scope !== 'admin' && (probe.scopes.includes('*') || probe.scopes.includes(scope.replace(/:.*/, ':*'))));
  return isOfRole && (scopes.length === 0 || scopes.some(covers)) && (!operator || probe.tenant === 'own');
}

test('what is of another type or form than the document says is found', (t) => {
  const operation = operations.find(({ key }) => key === 'GET /v1/me')!;
  const sent = { 'x-request-id': 'a', 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' };
  const me = { identity: 'a', tenant_id: DEFAULT_TENANT_ID, roles: [], scopes: [], auth_method: 'jwt' };
  const found = (status: number, type: string, body: unknown, headers: Record<string, string> = sent) =>
    differences(document, operation, {
      status,
      text: JSON.stringify(body),
      headers: new Headers({ 'content-type': `${type}; charset=utf-8`, ...headers }),
    });
  const json = 'application/json';
  t.deepEqual(found(200, json, me), []);
  t.deepEqual(found(200, 'text/html', ''), ['200 is text/html, and should be application/json']);
  t.deepEqual(found(418, json, {}), ['the status 418 is not in the document']);
  t.deepEqual(found(200, json, { ...me, roles: null }), ['200: /roles must be array']);
  t.deepEqual(found(200, json, { ...me, more: 1 }), ['200: the body must NOT have additional properties']);
  t.deepEqual(found(200, json, me, { ...sent, etag: '"1"' }), [
    '200 has the header etag, which is not in the document',
  ]);
  t.is(found(200, json, me, {}).length, 3);
  t.is(found(401, 'application/problem+json', {}).length, 1);
  t.deepEqual(toJsonSchema({ type: 'string', nullable: true }), {
    anyOf: [{ type: 'string' }, { type: 'null' }],
  });
});
