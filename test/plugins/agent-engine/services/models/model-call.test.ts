import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import type { Spans } from '../../../../../foundation/observability/tracing.ts';
import {
  type ChatChunk,
  type ModelClient,
  ModelErrors,
} from '../../../../../plugins/agent-engine/contract.ts';
import { createFailureLog } from '../../../../../plugins/agent-engine/services/models/failure-log.ts';
import { modelMetrics } from '../../../../../plugins/agent-engine/services/models/metrics.ts';
import {
  createModelCall,
  type ModelEndpoint,
  singleEndpoint,
} from '../../../../../plugins/agent-engine/services/models/model-call.ts';
import { fakeMetrics, type Measured } from '../../fake-metrics.ts';
import { ask, collect, context } from './calls.ts';

const usage = (total: number) => ({ prompt_tokens: 1, completion_tokens: total - 1, total_tokens: total });
const chunk = (total?: number): ChatChunk => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'm',
  choices: [],
  ...(total !== undefined && { usage: usage(total) }),
});

/** Spans in the order of their begin, as one text each. */
function traced() {
  const spans: string[] = [];
  const tracing: Spans = {
    startSpan(name, parent, options) {
      const place = spans.push('') - 1;
      const note = (text: string) => {
        spans[place] += text;
      };
      note(`${name} ${options?.kind} below ${parent?.traceparent} ${JSON.stringify(options?.attributes)}`);
      return {
        headers: () => ({ traceparent: `span-${place}` }),
        set: (attributes) => note(` ${JSON.stringify(attributes)}`),
        end: (failure = 'ok') => note(` ${failure}`),
      };
    },
  };
  return { spans, tracing };
}

/** A model whose stream takes a second before each item; an Error among them is thrown. */
function observed(items: readonly (ChatChunk | Error)[], fallbacks: readonly ModelEndpoint[] = []) {
  let time = 0;
  let hasEnded = false;
  const measured: Measured[] = [];
  const { spans, tracing } = traced();
  const client: ModelClient = {
    async complete() {
      time += 2000;
      throw ModelErrors.timeout();
    },
    async *stream() {
      try {
        for (const item of items) {
          time += 1000;
          if (item instanceof Error) throw item;
          yield item;
        }
      } finally {
        hasEnded = true;
      }
    },
  };
  const info = { id: 'alias', provider: 'openai', model: 'm', owned_by: 'openai', created: 0 };
  const endpoint = { info, client, label: 'label' };
  const chain = { ...singleEndpoint(endpoint), endpoints: [endpoint, ...fallbacks] };
  const lines: object[] = [];
  const clock = { ...systemClock, monotonic: () => time };
  const model = createModelCall({
    info,
    acquire: () => chain,
    metrics: modelMetrics(fakeMetrics(measured)),
    logFailure: createFailureLog(clock, { warn: (fields: object) => void lines.push(fields) } as never),
    tracing,
    clock,
    timeout: 60_000,
  });
  return { model, endpoint, measured, lines, spans, hasEnded: () => hasEnded };
}

const ended = (outcome: string, seconds: number): Measured[] => [
  ['model_requests_total', `label ${outcome}`, 1],
  ['model_request_duration_seconds', 'label', seconds],
];

test('a stream is measured: first chunk, last usage, whole time', async (t) => {
  const { model, measured } = observed([chunk(), chunk(3), chunk(5)]);
  t.is((await collect(model.stream(ask(), context()))).length, 3);
  t.deepEqual(measured, [
    ['model_first_chunk_seconds', 'label', 1],
    ['model_tokens_total', 'label input', 1],
    ['model_tokens_total', 'label output', 4],
    ...ended('ok', 3),
  ]);
});

test('a stream that is left early counts as aborted, one that fails by its code', async (t) => {
  const left = observed([chunk(), chunk()]);
  for await (const _ of left.model.stream(ask(), context())) break;
  t.deepEqual(left.measured.slice(-2), ended('aborted', 1));
  const failed = observed([chunk(), ModelErrors.rateLimited()]);
  await t.throwsAsync(collect(failed.model.stream(ask(), context())), { code: 'model.rate-limited' });
  t.deepEqual(failed.measured.slice(-2), ended('rate-limited', 2));
});

test('what the provider said is logged where no answer with 5xx does it: of its limits, and of what a fallback made good', async (t) => {
  const cause = new Error('The provider answered 429: check your billing');
  const quota = observed([ModelErrors.insufficientQuota(undefined, { cause })]);
  const fails = { code: 'insufficient_quota' };
  for (const _ of [1, 2, 3]) await t.throwsAsync(collect(quota.model.stream(ask(), context())), fails);
  t.deepEqual(
    quota.lines,
    [{ model: 'label', code: 'insufficient_quota', err: cause, count: 1 }],
    'once a minute',
  );
  const expired = new Error('The provider answered 401: the key has expired');
  const refused = ModelErrors.upstream(undefined, { cause: expired, retryable: false });
  const covered = observed([refused], [observed([chunk(3)]).endpoint]);
  t.is((await collect(covered.model.stream(ask(), context()))).length, 1);
  t.deepEqual(covered.lines, [{ model: 'label', code: 'model.upstream', err: expired, count: 1 }]);
  const silent = [ModelErrors.upstream(), ModelErrors.rejected(), ModelErrors.aborted()].map((error) =>
    observed([error]),
  );
  for (const { model, lines } of silent) {
    await t.throwsAsync(collect(model.stream(ask(), context())));
    t.deepEqual(lines, []);
  }
});

test('a failing plain call is measured', async (t) => {
  const { model, measured } = observed([]);
  await t.throwsAsync(model.complete(ask(), context()), { code: 'model.timeout' });
  t.deepEqual(measured, ended('timeout', 2));
});

test('who answers is told once, before the first chunk is handed out, and not of a beginning that failed', async (t) => {
  const { model } = observed([chunk(), chunk(3)]);
  const told: string[] = [];
  const telling = { ...context(), answeredBy: ({ id }: { id: string }) => void told.push(id) };
  for await (const _ of model.stream(ask(), telling)) told.push('chunk');
  t.deepEqual(told, ['alias', 'chunk', 'chunk']);
  await t.throwsAsync(collect(observed([ModelErrors.upstream()]).model.stream(ask(), telling)));
  t.is(told.length, 3);
});

test('a stream that is left ends at its client, and one that is not read is neither asked nor measured', async (t) => {
  const left = observed([chunk(), chunk()]);
  for await (const _ of left.model.stream(ask(), context())) break;
  t.true(left.hasEnded());
  const unread = observed([chunk()]);
  await unread.model.stream(ask(), context())[Symbol.asyncIterator]().return?.();
  t.deepEqual(unread.measured, []);
});

test('each endpoint that is asked has a span, with its tokens or its failure', async (t) => {
  const asked: unknown[] = [];
  const info = { id: 'second', provider: 'anthropic', model: 'n', owned_by: 'x', created: 0 };
  const client: ModelClient = {
    complete: async () => Promise.reject(new Error('not asked')),
    async *stream(_, { traceHeaders }) {
      asked.push(traceHeaders);
      yield chunk(5);
    },
  };
  const { model, spans } = observed([ModelErrors.upstream()], [{ info, client }]);
  const traceHeaders = { traceparent: 'request' };
  await collect(model.stream(ask(), { ...context(), traceHeaders }));
  const attributes = (provider: string, name: string) =>
    JSON.stringify({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': name,
    });
  t.deepEqual(spans, [
    `chat label client below request ${attributes('openai', 'm')} upstream`,
    `chat second client below request ${attributes('anthropic', 'n')} {"gen_ai.usage.input_tokens":1,"gen_ai.usage.output_tokens":4} ok`,
  ]);
  t.deepEqual(asked, [{ traceparent: 'span-1' }]);
});
