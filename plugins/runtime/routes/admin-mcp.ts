import {
  access,
  type FieldError,
  isOperator,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  reply,
  route,
  Type,
} from 'agent-gateway';
import { type McpServerInfo, McpServerSpec, mcpServerProblems } from '../../agent-engine/contract.ts';
import type { McpAdministration } from '../services/admin/mcp-servers.ts';
import { requireOperator } from '../services/admin/operator.ts';
import { ResourceName } from '../services/admin/resource-name.ts';

/** An MCP server (decisions 3.2), as the kind McpServer describes it. */
const Server = Type.Object(
  { name: ResourceName, ...McpServerSpec.properties },
  {
    // A misspelt reference would be none.
    additionalProperties: false,
    examples: [{ name: 'sums', transport: 'http', url: 'https://mcp.example.com/' }],
  },
);

const inBody = ({ pointer, message }: FieldError) => ({ pointer: `/body${pointer}`, message });

const Tool = Type.Object({
  name: Type.String({ examples: ['add'] }),
  description: Type.String({ examples: ['Adds two numbers'] }),
  input_schema: Type.Record(Type.String(), Type.Unknown(), {
    description: 'A JSON Schema',
    examples: [{ type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } }],
  }),
});

const params = Type.Object({ name: Type.String() });
const common = { access: access.role('admin'), tag: 'administration' } as const;
const PATH = '/admin/mcp/servers';

/** Only operators see the address of a server; tenants see its name, transport and tools. */
const forTenants = ({ name, transport }: McpServerInfo): McpServerInfo => ({ name, transport });

/** The administration of MCP servers (specification 3, v2 HTTP API; decisions 3.2). */
export function mcpRoutes(servers: McpAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List the MCP servers of the deployment, by name; operators see where they are',
      schema: { query: pageQuery({ defaultLimit: 50 }), responses: { 200: listOf('servers', Server) } },
      handle: (call) => {
        const { limit, offset } = pageOf(call.query);
        const all = servers.list();
        const page = all.slice(offset, offset + limit);
        const shown = isOperator(call.identity) ? page : page.map(forTenants);
        return { servers: shown, total: all.length, limit, offset };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Make an MCP server, a file of agents.d; for operators',
      schema: { body: Server, responses: { 201: Type.Object({ server: Server }) } },
      refuse: refusing((body) => mcpServerProblems(body).map(inBody)),
      handle: async (call) => {
        requireOperator(call.identity);
        const { name, transport } = call.body;
        await servers.create(call.body);
        call.audit({ changes: { mcp_server: name, transport } });
        return reply.created({ server: call.body });
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${PATH}/{name}`,
      summary: 'Delete an MCP server with its file; for operators',
      schema: { params, responses: { 204: null } },
      handle: async (call) => {
        requireOperator(call.identity);
        await servers.remove(call.params.name);
        call.audit({ changes: { mcp_server: call.params.name, deleted: true } });
        return reply.empty();
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: `${PATH}/{name}/tools`,
      summary: 'List the tools that an MCP server has for the tenant now',
      failures: ['upstream'],
      schema: {
        params,
        responses: { 200: Type.Object({ tools: Type.Array(Tool), count: Type.Integer() }) },
      },
      handle: async (call) => {
        const found = await servers.tools(call.tenant.id, call.params.name, call.signal);
        const tools = found.map(({ name, description, parameters }) => ({
          name,
          description,
          input_schema: parameters,
        }));
        return { tools, count: tools.length };
      },
    }),
  ];
}
