import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { startPlatform } from '../platform-gateway.ts';
import { AGENT, COMPLETIONS } from './chat-kit.ts';

const messages = [{ role: 'user', content: 'Use the calculator: what is 17 * 23?' }];
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const DETAILS = '/v1/usage/details';

interface Span {
  readonly started_at: string;
  readonly duration_ms: number;
  readonly request_id: string;
  readonly status: string;
  readonly created_at: string;
}

eachGatewayDatabase(
  test,
  'the calls of models and tools of a request are one time line',
  async (t, { environment }) => {
    const gateway = await startPlatform(t, { env: { OBJECT_STORE_URL: 'none', ...environment } });
    for (const request of ['first', 'second']) {
      const headers = { 'x-request-id': request, traceparent: `00-${TRACE}-b7ad6b7169203331-01` };
      const answer = await gateway.request(AGENT, { method: 'POST', body: { messages }, headers });
      t.is(answer.status, 200);
    }
    const usage = (await gateway.request(`${DETAILS}?request_id=first`)).body;
    const receipts = (await gateway.request('/v1/execution-receipts?request_id=first')).body;
    t.deepEqual([usage.total, usage.session_id, receipts.total], [2, null, 1]);
    const [answer, asked]: readonly Span[] = usage.records;
    const [tool]: readonly Span[] = receipts.execution_receipts;
    for (const span of [asked!, tool!, answer!]) {
      t.like(span, { request_id: 'first', status: 'success', trace_id: usage.records[0].trace_id });
      t.true(Number.isInteger(span.duration_ms) && span.duration_ms >= 0);
      t.true(Date.parse(span.started_at) <= Date.parse(span.created_at));
    }
    const order = [asked!, tool!, answer!].map(({ started_at }) => started_at);
    t.deepEqual(order, order.toSorted(), 'the model asks for the tool, the tool runs, the model answers');
  },
);

test('plain and streamed chats leave their times, also where nothing is stored', async (t) => {
  const gateway = await startPlatform(t, { env: { OBJECT_STORE_URL: 'none' } });
  for (const [request, more] of [
    ['plain', {}],
    ['streamed', { stream: true }],
    ['unstored', { store: false }],
  ] as const) {
    const body = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }], ...more };
    const headers = { 'x-request-id': request };
    t.is((await gateway.request(COMPLETIONS, { method: 'POST', body, headers })).status, 200);
    const { records } = (await gateway.request(`${DETAILS}?request_id=${request}`)).body;
    t.is(records.length, 1, request);
    t.like(records[0], { request_id: request, status: 'success' });
    t.true(Date.parse(records[0].started_at) + records[0].duration_ms <= Date.now() + 1);
  }
});

test('usage is asked for by a session or a request, and a user sees the calls that are his own', async (t) => {
  const gateway = await startPlatform(t, { env: { OBJECT_STORE_URL: 'none' } });
  const neither = await gateway.request(DETAILS);
  t.deepEqual([neither.status, neither.body.errors[0].pointer], [400, '/query/session_id']);
  t.is((await gateway.request(`${DETAILS}?request_id=`)).status, 400);
  const tenant = await gateway.tenant();
  const [one, other] = [await gateway.key({ tenant_id: tenant }), await gateway.key({ tenant_id: tenant })];
  const headers = { 'x-request-id': 'theirs' };
  await gateway.request(AGENT, { method: 'POST', body: { messages }, headers, token: one.key });
  const total = async (token: string) =>
    (await gateway.request(`${DETAILS}?request_id=theirs`, { token })).body.total;
  t.deepEqual([await total(one.key), await total(other.key)], [2, 0]);
});
