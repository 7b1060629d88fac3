import test from 'ava';
import type { AgentSignal } from '../../../../plugins/agent-engine/contract.ts';
import { createRunRecord, MAX_COMPONENTS } from '../../../../plugins/evolution/rules/run-record.ts';

const used = (component: string, works: boolean): AgentSignal =>
  works
    ? { type: 'tool_success', component, durationMs: 1 }
    : { type: 'tool_error', component, durationMs: 1, reason: 'failed' };
const done = (finish: 'stop' | 'aborted' | 'failed' | 'tool_calls' | 'iteration_limit'): AgentSignal => ({
  type: 'node_done',
  finish,
});

function recordOf(...signals: readonly AgentSignal[]) {
  const record = createRunRecord('clerk');
  for (const signal of signals) record.add(signal);
  const { components, outcome } = record.result();
  return { components: Object.fromEntries(components), outcome };
}

test('the last use of a component counts, and the last tool decides how the run ended', (t) => {
  const model: AgentSignal = { type: 'model_invoke', component: 'default', durationMs: 9, isError: false };
  t.deepEqual(recordOf(model, used('a', false), used('a', true), done('stop')), {
    components: { 'model/default': true, a: true, 'node/clerk': true },
    outcome: true,
  });
  t.is(recordOf(used('a', true), used('b', false), done('stop')).outcome, false);
  t.is(recordOf(done('stop')).outcome, true, 'without tools an answer is a success');
  t.is(recordOf(used('a', true), done('failed')).outcome, false);
  t.is(recordOf(used('a', true), done('iteration_limit')).outcome, false);
});

test('a run that was stopped, or goes on elsewhere, says nothing of the agent, but of what it used', (t) => {
  for (const finish of ['aborted', 'tool_calls'] as const)
    t.deepEqual(recordOf(used('a', false), done(finish)), { components: { a: false }, outcome: undefined });
});

test('a run with very many tools is remembered in part', (t) => {
  const signals = Array.from({ length: 200 }, (_, index) => used(`tool${index}`, true));
  t.is(Object.keys(recordOf(...signals).components).length, MAX_COMPONENTS);
});
