import { type FieldError, REFERENCE_FORMS, REFERENCE_PATTERN, serviceRef, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import type { ToolInfo } from './tools.ts';

const Reference = Type.String({
  maxLength: 1_000,
  pattern: REFERENCE_PATTERN,
  patternErrorMessage: `must be ${REFERENCE_FORMS}, which say where the value is; the value itself does not belong here`,
});

/** `spec` of the kind McpServer. */
export const McpServerSpec = Type.Object(
  {
    transport: Type.Enum(['http', 'sse', 'stdio'], {
      description:
        '`http`: Streamable HTTP. `sse`: the older HTTP transport. `stdio`: a program on this machine, which SVC_MCP_STDIO_ALLOW has to list',
    }),
    url: Type.Optional(
      Type.String({
        maxLength: 2_000,
        pattern: '^https?://',
        patternErrorMessage: 'must be an http:// or https:// URL',
        description: 'Where the server answers; for `http` and `sse`',
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' }), Reference, {
        maxProperties: 20,
        additionalProperties: false,
        description: 'Headers of each request, as references: `authorization: env:SEARCH_TOKEN`',
      }),
    ),
    command: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_000, description: 'The program; for `stdio`' }),
    ),
    args: Type.Optional(Type.Array(Type.String({ maxLength: 4_000 }), { maxItems: 100 })),
    env: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' }), Reference, {
        maxProperties: 50,
        additionalProperties: false,
        description: 'All that the program finds in its environment beside PATH, as references',
      }),
    ),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 600,
        description: 'Seconds that one call of a tool may take; default 60',
      }),
    ),
  },
  { description: 'An MCP server; agents name its tools `mcp://<metadata.name>/<tool>`' },
);

/** A checked `spec` of the kind McpServer. */
export type McpServerSpec = Static<typeof McpServerSpec>;

/**
 * What no schema says of a server: what its transport needs, and has no use for. The members may be absent, or have any
 * type. Which programs may be started is not told here, but of a sound server alone. Pure.
 *
 * @returns problems with pointers that begin in the `spec`: `/url`
 */
export function mcpServerProblems(spec: Readonly<Record<string, unknown>>): readonly FieldError[] {
  const { transport } = spec;
  if (transport !== 'stdio' && transport !== 'http' && transport !== 'sse') return [];
  const [needed, foreign] = transport === 'stdio' ? OF_PROGRAMS : OF_ADDRESSES;
  const problems: FieldError[] = [];
  if (spec[needed] === undefined) {
    problems.push({ pointer: `/${needed}`, message: `is required with transport ${transport}` });
  }
  const flaw = needed === 'url' ? urlFlaw(spec.url) : undefined;
  if (flaw !== undefined) problems.push({ pointer: '/url', message: flaw });
  for (const name of foreign) {
    if (spec[name] === undefined) continue;
    problems.push({ pointer: `/${name}`, message: `has no meaning with transport ${transport}` });
  }
  return problems;
}

/** Why no request can be sent to a URL whose scheme is right; of another one the schema speaks. */
function urlFlaw(url: unknown): string | undefined {
  if (typeof url !== 'string' || !/^https?:/.test(url)) return undefined;
  const parsed = URL.parse(url);
  if (parsed === null) return 'is not a URL, write https://host/path';
  if (parsed.username === '' && parsed.password === '') return undefined;
  return 'must not hold credentials; write them into headers, as a reference';
}

/** The member that a transport needs, and those that mean nothing with it. */
const OF_PROGRAMS = ['command', ['url', 'headers']] as const;
const OF_ADDRESSES = ['url', ['command', 'args', 'env']] as const;

/** An MCP server of agents.d as its file describes it: values of `headers` and `env` are references to secrets. */
export interface McpServerInfo extends Readonly<McpServerSpec> {
  readonly name: string;
}

/** The MCP servers of the deployment. */
export interface McpServers {
  /** By name. */
  list(): readonly McpServerInfo[];
  /**
   * The tools that a server has for a tenant now, 128 at most; connects where there is no connection yet. Throws
   * `mcp.server-not-found`, and `mcp.unavailable` also when the server does not answer within 15 seconds.
   */
  tools(tenantId: string, name: string, signal: AbortSignal): Promise<readonly ToolInfo[]>;
}

/** The MCP servers, for plugins that administer them. */
export const McpServersRef = serviceRef<McpServers>('agent-engine.mcp-servers');
