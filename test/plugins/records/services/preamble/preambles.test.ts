import test from 'ava';
import pino from 'pino';
import type { SkillSummary } from '../../../../../plugins/records/contract.ts';
import { createPreambles } from '../../../../../plugins/records/services/preamble/preambles.ts';
import { manualClock } from '../../../../../testing/index.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';
const SAID = ['Write a mail.'];
const ana = { tenantId: TENANT, identityId: 'key', userId: 'ana b' };

/** Preambles over parts that a test changes; `fail` names parts that are away. */
function open({ available = true } = {}) {
  const clock = manualClock();
  const logged: Record<string, unknown>[] = [];
  const state = {
    soul: undefined as string | undefined,
    profile: undefined as string | undefined,
    memories: [] as { key: string; value: string }[],
    skills: [] as { name: string; description: string }[],
    fail: new Set<string>(),
    reads: [] as string[],
  };
  const part = async <T>(name: string, value: () => T): Promise<T> => {
    state.reads.push(name);
    if (state.fail.has(name)) throw new Error(`${name} is away`);
    return value();
  };
  const preambles = createPreambles({
    souls: { read: (tenantId) => part(`soul ${tenantId}`, () => state.soul) },
    skills: {
      search: (tenantId) =>
        part(`skills ${tenantId}`, () => ({
          total: state.skills.length,
          find: (texts, most) =>
            state.skills
              .filter(({ name }) => texts.join(' ').includes(name))
              .slice(0, most)
              .map((skill) => ({ skill: skill as SkillSummary, score: 100 })),
        })),
    },
    profiles: { read: (entities, user) => part(`profile ${entities.tenantId} ${user}`, () => state.profile) },
    memories: {
      list: (entities, user) =>
        part(`memories ${entities.tenantId} ${user}`, () => ({
          memories: state.memories as never,
          total: 0,
        })),
    },
    objects: { available },
    defaultSoul: 'Default soul.\n',
    database: { forTenant: (tenantId) => ({ tenantId }) as never },
    clock,
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  });
  return { clock, logged, state, preambles };
}

test('a fresh tenant has no preamble', async (t) => {
  t.deepEqual(await open().preambles.of(ana, 1000, SAID), { text: '', secret: undefined });
});

test('the parts are those of the tenant and of the user', async (t) => {
  const { state, preambles } = open();
  Object.assign(state, {
    soul: 'Be kind.',
    profile: 'I am Ana.',
    memories: [{ key: 'tea', value: 'green' }],
  });
  const { text } = await preambles.of(ana, 1000, SAID);
  t.true(text.startsWith('<personality>') && text.includes('I am Ana.') && text.includes('- tea: green'));
  t.deepEqual(
    state.reads.sort(),
    [`soul ${TENANT}`, `skills ${TENANT}`, `profile ${TENANT} ana b`, `memories ${TENANT} ana b`].sort(),
  );
});

test('within a second it is at hand without a promise, and afterwards it is read again', async (t) => {
  const { state, preambles, clock } = open();
  state.soul = 'one';
  const first = preambles.of(ana, 1000, SAID);
  t.true(first instanceof Promise);
  const made = await first;
  t.deepEqual(preambles.of(ana, 1000, SAID), made);
  t.is(state.reads.length, 4);
  t.like(preambles.of(ana, 5, SAID), { text: '' }, 'another budget is another text');
  t.deepEqual(preambles.of(ana, 1000, SAID), made);
  state.soul = 'two';
  clock.advance(999);
  t.deepEqual(preambles.of(ana, 1000, SAID), made);
  clock.advance(1);
  t.true((await preambles.of(ana, 1000, SAID)).text.includes('two'));
});

test('the skills are those that fit what was said, and change with it', async (t) => {
  const { state, preambles } = open();
  state.soul = 'Be kind.';
  state.skills = ['mail', 'sql', 'tea'].map((name) => ({ name, description: `About ${name}` }));
  const listed = async (...said: string[]) =>
    [...(await preambles.of(ana, 1000, said)).text.matchAll(/^- (.*)$/gm)].map(([, line]) => line);
  t.deepEqual(await listed('a mail about tea'), ['mail: About mail', 'tea: About tea']);
  t.deepEqual(await listed('sql'), ['sql: About sql']);
  t.deepEqual(await listed('hello'), []);
  t.deepEqual(await listed(), []);
  t.true((await preambles.of(ana, 1000, [])).text.includes('for 3 kinds of tasks'));
  state.skills = [];
  preambles.clear();
  t.false((await preambles.of(ana, 1000, SAID)).text.includes('<skills>'));
});

test('users of a tenant share its parts', async (t) => {
  const { state, preambles } = open();
  await preambles.of(ana, 1000, SAID);
  await preambles.of({ ...ana, userId: 'ben' }, 1000, SAID);
  t.is(state.reads.filter((name) => name.startsWith('soul')).length, 1);
  t.is(state.reads.filter((name) => name.startsWith('memories')).length, 2);
});

test('what has changed is forgotten, and nothing else', async (t) => {
  const { state, preambles } = open();
  const ben = { ...ana, userId: 'ben' };
  await Promise.all([preambles.of(ana, 1000, SAID), preambles.of(ben, 1000, SAID)]);
  Object.assign(state, { soul: 'new soul', profile: 'new profile' });
  preambles.forgetUser(TENANT, 'ana b');
  t.true(preambles.of(ana, 1000, SAID) instanceof Promise);
  t.false(preambles.of(ben, 1000, SAID) instanceof Promise);
  t.true((await preambles.of(ana, 1000, SAID)).text.includes('new profile'));
  preambles.forgetTenant(TENANT);
  t.true((await preambles.of(ben, 1000, SAID)).text.includes('new soul'));
  preambles.clear();
  t.true(preambles.of(ana, 1000, SAID) instanceof Promise);
});

test('what cannot be read is left out, logged once a minute, and not asked for again at once', async (t) => {
  const { state, preambles, clock, logged } = open();
  Object.assign(state, { soul: 'Be kind.', profile: 'I am Ana.' });
  state.fail = new Set([`skills ${TENANT}`, `profile ${TENANT} ana b`]);
  const { text } = await preambles.of(ana, 1000, SAID);
  t.true(text.includes('Be kind.'));
  t.false(text.includes('I am Ana.'));
  t.is(logged.length, 1);
  state.fail.clear();
  state.reads.length = 0;
  clock.advance(1000);
  t.false((await preambles.of(ana, 1000, SAID)).text.includes('I am Ana.'));
  t.deepEqual(state.reads.map((name) => name.split(' ')[0]).sort(), ['memories', 'soul']);
  clock.advance(4000);
  t.true((await preambles.of(ana, 1000, SAID)).text.includes('I am Ana.'));
});

test('a part that does not come in time is left out', async (t) => {
  const { preambles, logged, state } = open();
  state.profile = 'I am Ana.';
  state.soul = new Promise(() => {}) as never;
  const start = performance.now();
  const { text } = await preambles.of(ana, 1000, SAID);
  t.true(text.includes('I am Ana.'));
  t.true(performance.now() - start < 10_000);
  t.like(logged[0], { part: 'SOUL.md' });
});

test('without object storage there are profile and memories, and nothing is logged', async (t) => {
  const { state, preambles, logged } = open({ available: false });
  Object.assign(state, { soul: 'Be kind.', profile: 'I am Ana.' });
  const { text } = await preambles.of(ana, 1000, SAID);
  t.true(text.includes('I am Ana.'));
  t.false(text.includes('Be kind.'));
  t.deepEqual(logged, []);
  t.true(state.reads.every((name) => !name.startsWith('soul') && !name.startsWith('skills')));
});

test('the soul of a tenant is a secret, as far as it stands in the text; the default one is none', async (t) => {
  const { state, preambles } = open();
  const secretOf = async (soul: string | undefined, maxTokens = 1000) => {
    state.soul = soul;
    preambles.clear();
    return (await preambles.of(ana, maxTokens, SAID)).secret;
  };
  t.is(await secretOf(undefined), undefined);
  t.is(await secretOf('Default soul.\n'), undefined);
  t.is(await secretOf('Be kind.\n'), 'Be kind.');
  t.is(await secretOf('Be kind.\n', 10), undefined);
  const long = Array.from({ length: 100 }, (_, index) => `line ${index}`).join('\n');
  const part = await secretOf(long, 200);
  t.true(part !== undefined && part.length < long.length && long.startsWith(part));
});
