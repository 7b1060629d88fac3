import { Readable } from 'node:stream';
import {
  AnyId,
  access,
  fromWire,
  Id,
  IdParams,
  listOf,
  nullable,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  searchQuery,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import type { Receipt, Receipts } from '../../records/contract.ts';

const Status = Type.Enum(['success', 'error', 'timeout']);
const Exactly = Type.String({
  maxLength: 128,
});

/** The query of a list of receipts (specification 1, Execution receipts). */
const ReceiptQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  ...searchQuery('id', 'tool_name', 'session_id', 'user_id'),
  session_id: Type.Optional(Exactly),
  tool_name: Type.Optional(Exactly),
  request_id: Type.Optional(Type.String({ maxLength: 255 })),
  status: Type.Optional(Status),
});

/** A receipt as clients see it. */
const ExecutionReceipt = Type.Object({
  id: Id,
  tenant_id: Id,
  session_id: Type.String({ ...AnyId, description: 'Empty for work outside a session' }),
  user_id: AnyId,
  tool_name: Type.String({ examples: ['calculator'] }),
  input: Type.String({
    description: 'Serialized, redacted; very long ones are cut',
    examples: ['{"expression":"17 * 23"}'],
  }),
  output: Type.String({ description: 'Serialized, redacted; very long ones are cut', examples: ['391'] }),
  status: Status,
  started_at: nullable(Timestamp),
  duration_ms: Type.Integer(),
  idempotency_id: nullable(Type.String()),
  request_id: nullable(
    Type.String({
      ...AnyId,
      description: 'Of an agent task of a workflow the key of its attempt; null in old receipts',
    }),
  ),
  trace_id: nullable(Type.String()),
  created_at: Timestamp,
});

const toReceiptFilter = fromWire(ReceiptQuery);
const toExecutionReceipt = toWire(ExecutionReceipt);

const PATH = '/v1/execution-receipts';
const common = {
  method: 'GET',
  // An auditor's key that lists `audit` alone has no `read`.
  access: access.role('auditor', { scopes: ['read', 'audit:read'] }),
  tag: 'execution-receipts',
} as const;

/** The receipts of tool executions, to be read only (specification 1, Execution receipts). */
export function executionReceiptRoutes(receipts: Receipts): readonly Route[] {
  return [
    route({
      ...common,
      path: PATH,
      summary: 'Search the receipts of tool executions of your tenant, newest first',
      schema: { query: ReceiptQuery, responses: { 200: listOf('execution_receipts', ExecutionReceipt) } },
      answerType: 'application/json; charset=utf-8',
      handle: async (call) => {
        const page = pageOf(call.query);
        const found = await receipts.list(call.entities(), toReceiptFilter(call.query), page);
        const text = written({ total: found.total, ...page }, found.receipts);
        const document = Readable.from(text, { objectMode: false });
        // The answer has begun: the connection is closed, so that no client takes a part for the whole.
        document.on('error', (err) => call.log.error({ err }, 'a list of receipts was broken off'));
        return reply.stream(document);
      },
    }),
    route({
      ...common,
      path: `${PATH}/{id}`,
      summary: 'Read the receipt of a tool execution',
      schema: { params: IdParams, responses: { 200: ExecutionReceipt } },
      handle: async (call) => toExecutionReceipt(await receipts.get(call.entities(), call.params.id)),
    }),
  ];
}

/** A list as JSON text, one receipt at a time. */
async function* written(end: object, receipts: AsyncIterable<Receipt>): AsyncGenerator<string> {
  let separator = '{"execution_receipts":[';
  for await (const receipt of receipts) {
    yield separator + JSON.stringify(toExecutionReceipt(receipt));
    separator = ',';
  }
  const start = separator === ',' ? '' : separator;
  yield `${start}],${JSON.stringify(end).slice(1)}`;
}
