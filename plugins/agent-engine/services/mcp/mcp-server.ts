import type { Client, Tool as McpTool } from '@modelcontextprotocol/client';
import {
  type Clock,
  hideSecrets,
  isStoreReference,
  type KindDefinition,
  type Logger,
  outbound,
  type Resource,
  type ResourceProblem,
  throttledLog,
} from 'agent-gateway';
import { type McpServerSpec, mcpServerProblems } from '../../contract.ts';
import { McpServerKind } from '../../kinds/mcp-server.ts';
import {
  createMcpConnections,
  type McpConnections,
  type McpConnectionsParts,
  type McpEndpoint,
} from './mcp-connections.ts';

/** The value behind an McpServer resource. */
export interface McpServer extends McpConnections {
  /** Milliseconds for one call. */
  readonly timeoutMs: number;
  readonly failureOf: McpConnectionsParts['failureOf'];
  /** Takes the credentials that the server gets out of what it says: they are the operator's, and tenants read it. */
  hide(text: string): string;
  /** The tools that the server has for a tenant now. */
  tools(tenantId: string, signal: AbortSignal): Promise<readonly McpTool[]>;
}

/** What MCP servers are made with. */
export interface McpKindParts {
  /** `SVC_MCP_STDIO_ALLOW`. */
  readonly stdioAllow: readonly string[];
  readonly resolveSecret: (reference: string) => Promise<string>;
  readonly clock: Clock;
  readonly version: string;
  readonly log: Logger;
  /** Milliseconds for the handshake with a server; default 30,000. */
  readonly handshakeMs?: number;
}

const DEFAULT_TIMEOUT_S = 60;
const HANDSHAKE_MS = 30_000;
/** Milliseconds in which a server of `http` or `sse` accepts a connection, and connections of all tenants to it. */
const CONNECT_MS = 10_000;
const CONNECTIONS = 4_096;
/** Milliseconds for which a list of tools is taken as current. */
const LIST_MS = 30_000;
/** Tools of one server at most. */
const MAX_TOOLS = 128;
/** Characters of a tool's description and schema at most: they are part of each call of a model. */
const MAX_TOOL = 128 * 1024;
/** Tools with flaws that one line of the log names. */
const MAX_FLAWS = 10;

/** The kind McpServer of agents.d. Nothing is connected before a tool is asked for. */
export function mcpServerKind(parts: McpKindParts): KindDefinition<typeof McpServerSpec, McpServer> {
  return {
    ...McpServerKind,
    checkUnread: ({ spec }) => mcpServerProblems(spec).map(inSpec),
    check: (resource) => check(resource, parts.stdioAllow),
    build: ({ metadata, spec }) => build(metadata.name, spec, parts),
    dispose: (server) => server[Symbol.asyncDispose](),
  };
}

/** Of sound servers alone: which programs the operator lists is not told to who tries malformed ones. */
function check({ spec }: Resource<McpServerSpec>, stdioAllow: readonly string[]): readonly ResourceProblem[] {
  if (spec.transport !== 'stdio' || spec.command === undefined || stdioAllow.includes(spec.command))
    return [];
  const message = 'is not listed in SVC_MCP_STDIO_ALLOW, so it is not started';
  return [{ pointer: '/spec/command', message }];
}

const inSpec = ({ pointer, message }: ResourceProblem) => ({ pointer: `/spec${pointer}`, message });

async function build(name: string, spec: McpServerSpec, parts: McpKindParts): Promise<McpServer> {
  const references = Object.values({ ...spec.headers, ...spec.env });
  // Secrets are resolved for each connection, since they may change. What cannot be read is reported here, unless it is
  // in a plugin's store: the plugin may start later.
  if (!references.some(isStoreReference)) await resolve(spec, parts.resolveSecret);
  const end = new AbortController();
  // Loaded when the first tool is asked for: most deployments have no MCP server.
  const library = () => import('./connect-mcp.ts');
  const failureOf = async (error: unknown) => (await library()).failureOf(error);
  const warnOfFlaws = throttledLog<readonly string[]>(parts.clock, (flaws) =>
    parts.log.warn(
      { mcp_server: name, tools: flaws.length, flaws: flaws.slice(0, MAX_FLAWS) },
      'tools are left out: the server does not describe them as MCP demands',
    ),
  );
  const toolLists = createToolLists(name, parts);
  const listener = { onFlaws: warnOfFlaws, onToolsChanged: toolLists.drop };
  const secrets = new Set<string>();
  let hide = hideSecrets(secrets);
  const pool = outbound({ connections: CONNECTIONS, connectMs: CONNECT_MS });
  const connections = createMcpConnections({
    server: name,
    // The operator chose this address, like that of a model, so it is not filtered (decisions 1.12).
    open: async () => {
      const endpoint = await resolve(spec, parts.resolveSecret);
      for (const secret of secretsOf(endpoint)) secrets.add(secret);
      hide = hideSecrets(secrets);
      const { version, clock, handshakeMs = HANDSHAKE_MS } = parts;
      const { connectMcp } = await library();
      const made = { version, clock, handshakeMs, connect: pool.connect };
      return connectMcp(endpoint, made, end.signal, listener);
    },
    failureOf,
    clock: parts.clock,
  });
  return {
    ...connections,
    failureOf,
    timeoutMs: (spec.timeout ?? DEFAULT_TIMEOUT_S) * 1000,
    hide: (text) => hide(text),
    tools: (tenantId, signal) => connections.use(tenantId, (client) => toolLists.of(client, signal)),
    async [Symbol.asyncDispose]() {
      end.abort();
      await connections[Symbol.asyncDispose]();
      await pool.destroy();
    },
  };
}

/**
 * Caches the tools of each connection for a while, or until the server says that they changed: agents list them before
 * each turn.
 */
function createToolLists(server: string, { clock, log }: Pick<McpKindParts, 'clock' | 'log'>) {
  const known = new WeakMap<Client, { tools: readonly McpTool[]; until: number }>();
  // Each connection lists them again every half a minute.
  const warnOfLarge = throttledLog<number>(clock, (leftOut) =>
    log.warn(
      { mcp_server: server, tools: leftOut },
      `tools are left out: description and schema have more than ${MAX_TOOL} characters`,
    ),
  );
  return {
    async of(client: Client, signal: AbortSignal): Promise<readonly McpTool[]> {
      const now = clock.monotonic();
      const listed = known.get(client);
      if (listed !== undefined && now < listed.until) return listed.tools;
      // Kept before it is filled: a change while the server is listing drops this very list.
      const list = { tools: [] as readonly McpTool[], until: now };
      known.set(client, list);
      const { tools } = await client.listTools(undefined, { signal });
      const small = tools.filter(isSmall);
      if (small.length < tools.length) warnOfLarge(tools.length - small.length);
      list.tools = small.slice(0, MAX_TOOLS);
      list.until = now + LIST_MS;
      return list.tools;
    },
    drop(client: Client): void {
      known.delete(client);
    },
  };
}

function isSmall({ description, inputSchema }: McpTool): boolean {
  return JSON.stringify({ description, inputSchema }).length <= MAX_TOOL;
}

/** Names of headers and variables that hold a credential; others hold what results may name (`PATH`, a region). */
const CREDENTIAL = /auth|cookie|credential|key|pass|pwd|secret|session|signature|token/i;
/** In front of a credential: what a server repeats may be without it. */
const SCHEME = /^[a-z][a-z0-9-]{0,31} +/i;

/** The credentials that a server gets, each also without its scheme. */
function secretsOf(endpoint: McpEndpoint): readonly string[] {
  return Object.entries(endpoint.transport === 'stdio' ? endpoint.env : endpoint.headers)
    .filter(([name]) => CREDENTIAL.test(name))
    .flatMap(([, value]) => [value, value.replace(SCHEME, '')]);
}

async function resolve(
  spec: McpServerSpec,
  resolveSecret: McpKindParts['resolveSecret'],
): Promise<McpEndpoint> {
  const all = async (references: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(references).map(async ([name, text]) => [name, await resolveSecret(text)] as const),
      ),
    );
  if (spec.transport === 'stdio') {
    const { transport, command = '', args = [], env } = spec;
    return { transport, command, args, env: await all(env) };
  }
  return { transport: spec.transport, url: spec.url ?? '', headers: await all(spec.headers) };
}
