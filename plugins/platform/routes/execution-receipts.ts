import { access, pageOf, type Route, route } from 'agent-gateway';
import type { Receipts } from '../../records/contract.ts';
import { IdParams, listOf } from './schemas/common.ts';
import {
  ExecutionReceipt,
  ReceiptQuery,
  toExecutionReceipt,
  toReceiptFilter,
} from './schemas/execution-receipt.ts';

const MAX_PAGE = 500;
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
      handle: async (call) => {
        const page = pageOf(call.query, MAX_PAGE);
        const found = await receipts.list(call.entities(), toReceiptFilter(call.query), page);
        return {
          execution_receipts: found.receipts.map(toExecutionReceipt),
          total: found.total,
          ...page,
        };
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
