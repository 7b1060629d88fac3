import test from 'ava';
import { BUILTIN_FOLDER, readCatalog } from '../../../../plugins/records/services/skills/skill-text.ts';
import { fakeModel, startTestGateway } from '../../../../testing/index.ts';
import { skillQuestions, skillRates } from '../../../corpus/skills/rates.ts';

test('there are 81 skills', async (t) => {
  t.is(readCatalog(BUILTIN_FOLDER).skills.size, 81);
});

test('the questions are 200, two or three for each skill, and none names its skill', async (t) => {
  const questions = await skillQuestions();
  const { skills } = readCatalog(BUILTIN_FOLDER);
  t.is(new Set(questions.map(({ question }) => question)).size, 200);
  for (const name of skills.keys()) {
    const own = questions.filter(({ skill }) => skill === name);
    t.true(own.length === 2 || own.length === 3, `${name}: ${own.length}`);
    for (const { question } of own) {
      const words = question.toLowerCase().replaceAll(/[^a-z0-9]+/g, ' ');
      t.false(words.includes(name.replaceAll('-', ' ')), question);
    }
  }
  t.true(questions.every(({ skill }) => skills.has(skill)));
});

test('of 100 questions the right skill is listed or found by one call for 95', async (t) => {
  const { all, heldOut, smallTalk } = await skillRates();
  t.true(all.listedOrFound / all.questions >= 0.95, JSON.stringify(all));
  t.true(heldOut.listedOrFound / heldOut.questions >= 0.92, JSON.stringify(heldOut));
  t.true(all.listed / all.questions >= 0.8, JSON.stringify(all));
  t.true(smallTalk <= 0.5, `${smallTalk}`);
});

test('a chat lists the skills that fit it, a model finds others, and nothing is listed where nothing is wanted', async (t) => {
  const model = fakeModel(
    'Hello.',
    { calls: [{ name: 'find_skill', arguments: { query: 'monthly payments of a mortgage' } }] },
    'Found.',
    'None.',
  );
  await using gateway = await startTestGateway({ model });
  const { token } = await gateway.makeTenant();
  const chat = async (content: string, headers: Readonly<Record<string, string>> = {}) => {
    const body = { messages: [{ role: 'user', content }], store: false };
    t.is((await gateway.request('/v1/agent/chat', { method: 'POST', body, headers, token })).status, 200);
    const { messages } = model.requests.at(-1)!;
    const system = messages.find(({ role }) => role === 'system')?.content ?? '';
    return { system: system as string, answers: messages.filter(({ role }) => role === 'tool') };
  };
  const hello = await chat('Hello!');
  t.regex(hello.system, /Instructions are installed for 81 kinds of tasks/);
  t.notRegex(hello.system, /^- /m);
  const contract = await chat('Is there anything in this lease agreement that I should not sign?');
  t.regex(contract.system, /^- review-contract: /m);
  const { skills } = JSON.parse(contract.answers[0]!.content);
  t.is(skills[0].name, 'calculate-loan');
  const without = await chat('Is there anything in this lease agreement?', { 'x-svc-context': 'none' });
  t.notRegex(without.system, /review-contract|find_skill/);
});
