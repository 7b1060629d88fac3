import test from 'ava';
import pino from 'pino';
import {
  skillSource,
  skillToolName,
  skillTools,
} from '../../../../../plugins/agent-engine/services/tools/skill-tools.ts';
import { catalogOf, OTHER, openSkills, skillText, TENANT } from '../../../records/services/skills/kit.ts';

const contextOf = (tenantId: string) => ({
  principal: { tenantId, identityId: 'key', userId: 'ana' },
  callId: 'c',
  agentPath: [],
  requestId: 'r',
  signal: new AbortController().signal,
  log: pino({ level: 'silent' }),
});

test('a model reads the instructions of a skill of its tenant, without front matter', async (t) => {
  const { skills } = openSkills(t);
  await skills.write(TENANT, 'alpha', skillText('alpha', 'Do alpha.'));
  const [, load] = skillTools({ skills });
  t.deepEqual([load!.ref, load!.name], ['builtin/load_skill', 'load_skill']);
  t.deepEqual(await load!.invoke({ name: 'alpha' }, contextOf(TENANT)), {
    content: '\n# alpha\n\nDo alpha.\n',
  });
  await t.throwsAsync(load!.invoke({ name: 'alpha' }, contextOf(OTHER)), { code: 'skill.not-found' });
  await t.throwsAsync(load!.invoke({ name: '../SOUL' }, contextOf(TENANT)), { code: 'skill.invalid-name' });
});

test('a model finds skills of its tenant by what is to be done, the best first', async (t) => {
  const { skills } = openSkills(t, {}, catalogOf(['brew-tea', 'write-email']));
  await skills.write(
    TENANT,
    'roast-coffee',
    skillText('roast-coffee', 'Heat the beans slowly until they crack.'),
  );
  await skills.write(TENANT, 'brew-tea', skillText('brew-tea', 'Only our own kind of leaves.'));
  const [find] = skillTools({ skills });
  t.deepEqual([find!.ref, find!.name], ['builtin/find_skill', 'find_skill']);
  const found = async (query: string, tenantId = TENANT) => {
    const result = await find!.invoke({ query }, contextOf(tenantId));
    const { skills: list } = JSON.parse('content' in result ? result.content : '{}');
    return list.map(({ name }: { readonly name: string }) => name);
  };
  t.deepEqual(await found('brewing teas'), ['brew-tea']);
  t.deepEqual(await found('how slowly do I heat beans?'), ['roast-coffee'], 'by the text of an own skill');
  t.deepEqual(await found('which leaves'), ['brew-tea'], 'by the text that the tenant gave a built-in one');
  t.deepEqual(await found('which leaves', OTHER), []);
  t.deepEqual(await found('xyzzy'), []);
  const result = await find!.invoke({ query: 'roast' }, contextOf(TENANT));
  t.deepEqual(result, {
    content: JSON.stringify({ skills: [{ name: 'roast-coffee', description: 'About roast-coffee' }] }),
  });
  await skills.remove(TENANT, 'roast-coffee');
  t.deepEqual(await found('roast'), []);
});

test('each skill is a tool of its own, for agents that name it', async (t) => {
  const { skills } = openSkills(t);
  await skills.write(TENANT, 'alpha', skillText('alpha', 'Do alpha.'));
  const source = skillSource({ skills });
  const { signal } = new AbortController();
  t.deepEqual(await source.list(OTHER, signal), []);
  const [tool] = await source.list(TENANT, signal);
  t.like(tool, { ref: 'skill://alpha', name: 'skill_alpha' });
  t.true(tool!.description.includes('About alpha'));
  t.deepEqual(await tool!.invoke({}, contextOf(TENANT)), { content: '\n# alpha\n\nDo alpha.\n' });
});

test('every name becomes a name of a tool, and different ones stay different', (t) => {
  const long = (end: string) => `${'x'.repeat(60)}${end}`;
  const names = ['a', 'write-email', 'x'.repeat(58), long('a'), long('b'), 'x'.repeat(64)];
  const tools = names.map(skillToolName);
  t.true(tools.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)));
  t.is(new Set(tools).size, names.length);
  t.is(skillToolName('write-email'), 'skill_write-email');
});
