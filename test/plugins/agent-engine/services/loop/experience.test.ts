import test from 'ava';
import type {
  AgentSignal,
  Experience,
  ExperiencedRun,
  RunExperience,
} from '../../../../../plugins/agent-engine/contract.ts';
import { agent, calls, collect, context, loop, says, supervisor, tool, user } from './fakes.ts';

const LEARNS = { evolution: { collect: [] } };
const look = tool('look', () => ({ content: 'a door' }));
const fails = tool('fails', () => {
  throw new Error('broken');
});
const ask = { messages: [user('Hi')], pauses: 'allow', context: context() } as const;

/** One who learns, and notes what he is asked and told; how long things took is left out. */
function learner(parts: Partial<RunExperience> = {}, name = 'acme.learns') {
  const runs: ExperiencedRun[] = [];
  const signals: object[] = [];
  const experience: Experience = {
    name,
    begin(run) {
      runs.push(run);
      return {
        tell: (signal: AgentSignal) => {
          const { durationMs: _, ...rest } = { durationMs: 0, ...signal };
          signals.push(rest);
        },
        ...parts,
      };
    },
  };
  return { experience, runs, signals };
}

test('who learns is asked at the beginning, is told of each signal, and advises behind the instructions', async (t) => {
  const acme = learner({ advice: '[advice] Use look.' });
  const made = loop({
    script: [calls(['look'], ['fails', {}, 'b']), says('Done')],
    tools: [look, fails],
    agents: [agent('clerk', { ...LEARNS, systemPrompt: 'Help.' }, ['look', 'fails'])],
    learners: [acme.experience],
  });
  await collect(made.agents.run({ ...ask, agent: 'clerk', preamble: 'You know Anna.' }));
  t.deepEqual(acme.runs, [
    {
      tenantId: 't1',
      agent: 'clerk',
      agentPath: ['clerk'],
      sessionId: 's1',
      requestId: 'r1',
      task: 'Hi',
      taskClass: undefined,
      tools: [
        { ref: 'builtin/look', name: 'look' },
        { ref: 'builtin/fails', name: 'fails' },
      ],
      minConfidence: undefined,
      maxSuggestions: undefined,
      memo: undefined,
    },
  ]);
  t.deepEqual(acme.signals, [
    { type: 'model_invoke', component: 'default', isError: false },
    { type: 'tool_success', component: 'builtin/look' },
    { type: 'tool_error', component: 'builtin/fails', reason: 'failed' },
    { type: 'model_invoke', component: 'default', isError: false },
    { type: 'node_done', finish: 'stop' },
  ]);
  for (const { messages } of made.models.requests)
    t.deepEqual(messages[0], { role: 'system', content: 'You know Anna.\n\nHelp.\n\n[advice] Use look.' });
});

test('an agent that does not learn, and the default agent, are not told of: their prompts stay as they are', async (t) => {
  const acme = learner({ advice: 'Use look.' });
  const made = loop({
    script: () => says('Done'),
    agents: [agent('clerk', { systemPrompt: 'Help.' })],
    learners: [acme.experience],
  });
  await collect(made.agents.run({ ...ask, agent: 'clerk' }));
  await collect(made.agents.run({ ...ask, messages: [user('Hi')] }));
  t.deepEqual([acme.runs, acme.signals], [[], []]);
  t.deepEqual(made.models.requests[0]?.messages[0], { role: 'system', content: 'Help.' });
  t.deepEqual(made.models.requests[1]?.messages, [user('Hi')]);
});

test('only the signals that the agent collects are told', async (t) => {
  const acme = learner();
  const made = loop({
    script: [calls(['look', 'no object', 'a'], ['look', {}, 'b']), says('Done')],
    tools: [look],
    agents: [
      agent('clerk', { evolution: { collect: ['tool_error'], minConfidence: 0.7, maxSuggestions: 1 } }, [
        'look',
      ]),
    ],
    learners: [acme.experience],
  });
  await collect(made.agents.run({ ...ask, agent: 'clerk' }));
  t.deepEqual(acme.signals, [{ type: 'tool_error', component: 'builtin/look', reason: 'arguments' }]);
  t.is(acme.runs[0]?.minConfidence, 0.7);
  t.is(acme.runs[0]?.maxSuggestions, 1);
});

test('a sub-agent is a run of its own, with its task, and something that its supervisor used', async (t) => {
  const acme = learner();
  const helper = agent('helper', LEARNS);
  const made = loop({
    scripts: {
      boss: [calls(['delegate_to_helper', { task: 'Count the doors' }]), says('Three')],
      helper: [says('Three doors')],
    },
    agents: [supervisor('boss', [{ ...helper, model: 'helper' }], { ...LEARNS, model: 'boss' })],
    learners: [acme.experience],
  });
  await collect(made.agents.run({ ...ask, agent: 'boss' }));
  t.deepEqual(
    acme.runs.map(({ agent: name, agentPath, task, tools }) => ({ name, agentPath, task, tools })),
    [
      {
        name: 'boss',
        agentPath: ['boss'],
        task: 'Hi',
        tools: [{ ref: 'agent/helper', name: 'delegate_to_helper' }],
      },
      { name: 'helper', agentPath: ['boss', 'helper'], task: 'Count the doors', tools: [] },
    ],
  );
  t.deepEqual(acme.signals, [
    { type: 'model_invoke', component: 'boss', isError: false },
    { type: 'model_invoke', component: 'helper', isError: false },
    { type: 'node_done', finish: 'stop' },
    { type: 'tool_success', component: 'agent/helper' },
    { type: 'model_invoke', component: 'boss', isError: false },
    { type: 'node_done', finish: 'stop' },
  ]);
});

test('a model that fails, and a caller that goes, are told as such', async (t) => {
  const acme = learner();
  const made = loop({
    script: () => {
      throw new Error('away');
    },
    agents: [agent('clerk', LEARNS)],
    learners: [acme.experience],
  });
  await t.throwsAsync(collect(made.agents.run({ ...ask, agent: 'clerk' })), { message: 'away' });
  t.deepEqual(acme.signals.splice(0), [
    { type: 'model_invoke', component: 'default', isError: true },
    { type: 'node_done', finish: 'failed' },
  ]);

  const end = new AbortController();
  const leaving = loop({
    script: () => {
      end.abort(new Error('gone'));
      return says('Never read');
    },
    agents: [agent('clerk', LEARNS)],
    learners: [acme.experience],
  });
  const run = leaving.agents.run({ ...ask, agent: 'clerk', context: context({ signal: end.signal }) });
  await t.throwsAsync(collect(run));
  t.deepEqual(acme.signals.at(-1), { type: 'node_done', finish: 'aborted' });
});

test('a run that pauses keeps its advice and memo, also over another replica; only its end is told as one', async (t) => {
  const acme = learner({ advice: 'Use look.', memo: { genes: ['g1'] } });
  const made = loop({
    script: [calls(['look']), says('Done')],
    tools: [look],
    agents: [agent('clerk', LEARNS, ['!look'])],
    learners: [acme.experience],
  });
  const { result } = await collect(made.agents.run({ ...ask, agent: 'clerk' }));
  t.is(result.finish, 'interrupted');
  t.false(acme.signals.some((signal) => 'finish' in signal));
  const checkpoint = JSON.parse(JSON.stringify(result.checkpoint));
  const decisions = { [checkpoint.interrupts[0].id]: { decision: 'approve' as const } };
  await collect(made.agents.resume({ checkpoint, decisions, context: context() }));
  t.is(acme.runs.length, 2);
  t.deepEqual(acme.runs[1]?.memo, { genes: ['g1'] });
  t.deepEqual(made.models.requests[1]?.messages[0], { role: 'system', content: 'Use look.' });
  t.deepEqual(acme.signals.at(-1), { type: 'node_done', finish: 'stop' });
});

test('the class that a request names stands before that of the agent', async (t) => {
  const acme = learner();
  const made = loop({
    script: () => says('Done'),
    agents: [agent('clerk', { evolution: { collect: [], taskClass: 'sums' } })],
    learners: [acme.experience],
  });
  await collect(made.agents.run({ ...ask, agent: 'clerk' }));
  await collect(made.agents.run({ ...ask, agent: 'clerk', context: context({ taskClass: 'refunds' }) }));
  t.deepEqual(
    acme.runs.map(({ taskClass }) => taskClass),
    ['sums', 'refunds'],
  );
});

test('who has to look something up is waited for, but not for long; the end is told whatever is collected', async (t) => {
  const ended: string[] = [];
  const slow = (name: string, milliseconds: number): Experience => ({
    name,
    begin: () =>
      new Promise((resolve) => {
        const run = { advice: `Advice of ${name}.`, tell() {}, end: () => void ended.push(name) };
        setTimeout(resolve, milliseconds, run).unref();
      }),
  });
  const made = loop({
    script: () => says('Done'),
    agents: [agent('clerk', { evolution: { collect: ['tool_error'] } })],
    learners: [slow('acme.quick', 1), slow('acme.stuck', 60_000)],
  });
  const { result } = await collect(made.agents.run({ ...ask, agent: 'clerk' }));
  t.is(result.text, 'Done');
  t.deepEqual(made.models.requests[0]?.messages[0], { role: 'system', content: 'Advice of acme.quick.' });
  t.deepEqual(ended, ['acme.quick']);
});

test('what goes wrong while somebody learns does not reach the run', async (t) => {
  const throwing: Experience = {
    name: 'acme.throws',
    begin() {
      throw new Error('begin');
    },
  };
  const tells = learner({
    tell() {
      throw new Error('tell');
    },
  });
  const long = learner({ advice: 'x'.repeat(6_001), memo: 'y'.repeat(20_000) }, 'acme.long');
  const rude = learner({ advice: 'A FORBIDDEN word.' }, 'acme.rude');
  const fine = learner({ advice: 'Use look.' }, 'acme.fine');
  const made = loop({
    script: [says('Done')],
    agents: [agent('clerk', LEARNS)],
    learners: [throwing, tells.experience, long.experience, rude.experience, fine.experience],
  });
  const { result } = await collect(made.agents.run({ ...ask, agent: 'clerk' }));
  t.is(result.text, 'Done');
  t.deepEqual(made.models.requests[0]?.messages[0], { role: 'system', content: 'Use look.' });
  t.is(fine.signals.length, 2);
});
