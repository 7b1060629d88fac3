import { randomUUID } from 'node:crypto';
import type { Step } from './step.ts';

const yaml = 'apiVersion: svc/v1\nkind: Agent\nmetadata: {name: clerk}\nspec: {type: chat_model_agent}\n';
const clerk = { params: { name: 'clerk' } };
const server = { name: 'sums', transport: 'stdio', command: process.execPath };
const args = [`${import.meta.dirname}/../../support/mcp-program.ts`];
const user = ({ user: id = '' }) => ({ params: { id } });
const none = () => ({});

/** The administration of the runtime; `SVC_MCP_STDIO_ALLOW` has to list this very Node. */
export const adminSuccesses: readonly Step[] = [
  ['GET /health', none],
  ['GET /ready', none],
  ['GET /api/v2/health', none],
  ['GET /api/v2/ready', none],
  ['GET /api/v2/metrics', none],
  ['GET /api/v2/admin/status', none],
  ['POST /api/v2/admin/reload', none],
  ['GET /api/v2/admin/logs', none],
  ['POST /api/v2/admin/agents/validate', () => ({ body: { yaml } })],
  ['POST /api/v2/admin/agents', () => ({ body: { yaml } })],
  ['GET /api/v2/admin/agents', none],
  ['GET /api/v2/admin/agents/{name}', () => clerk],
  ['PUT /api/v2/admin/agents/{name}', () => ({ ...clerk, body: { yaml } })],
  ['DELETE /api/v2/admin/agents/{name}', () => clerk],
  [
    'POST /api/v2/admin/users',
    () => ({ body: { name: 'Anna', email: `${randomUUID()}@example.com`, role: 'viewer' } }),
    (known, body) => {
      known.user = body.user.id;
    },
  ],
  ['GET /api/v2/admin/users', none],
  ['PUT /api/v2/admin/users/{id}', (known) => ({ ...user(known), body: { role: 'editor' } })],
  ['DELETE /api/v2/admin/users/{id}', user],
  ['POST /api/v2/admin/mcp/servers', () => ({ body: { ...server, args } })],
  [
    'POST /api/v2/admin/mcp/servers',
    () => ({ body: { name: 'far', transport: 'http', url: 'https://mcp.example/' } }),
  ],
  ['GET /api/v2/admin/mcp/servers', none],
  ['GET /api/v2/admin/mcp/servers/{name}/tools', () => ({ params: { name: 'sums' } })],
  ['DELETE /api/v2/admin/mcp/servers/{name}', () => ({ params: { name: 'sums' } })],
  ['DELETE /api/v2/admin/mcp/servers/{name}', () => ({ params: { name: 'far' } })],
];
