import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  specTypeSchemas,
  type Transport,
} from '@modelcontextprotocol/client';
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type Clock, orAborted } from 'agent-gateway';
import { type BoundedFetchParts, boundedFetch } from './bounded-fetch.ts';
import type { McpEndpoint, McpFailure } from './mcp-connections.ts';

/** Where programs are looked for; nothing else of the gateway's environment is passed on. */
const PATH = '/usr/local/bin:/usr/bin:/bin';
/** Bytes of one message of a server. */
const MAX_MESSAGE = 4 * 1024 * 1024;
/** Pages of a list of tools at most, and tools of a page that are looked at: a run gets far fewer. */
const MAX_PAGES = 10;
const MAX_LISTED = 1_000;
/** Milliseconds until a server has answered one request of the handshake. */
const ANSWER_MS = 10_000;
/** Milliseconds before a stream is resumed, at least: a server may ask for less, and end each one at once. */
const LEAST_RECONNECT_MS = 250;
/**
 * Answers to requests of a server that are under way at one time. It has no use for more: of what a server may ask the
 * gateway only answers `ping`.
 */
const MAX_ANSWERS = 16;

/**
 * The library would check results by the schemas of the server, which is not trusted: their regular expressions could
 * take for ever. For the model results are text in any case.
 */
const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/** What a connection is made with. */
export interface McpConnecting {
  /** The gateway's, which is sent to the server. */
  readonly version: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds for all of the handshake. */
  readonly handshakeMs: number;
  /** The connections to a server of `http` and `sse`: without deadlines for answers, since each call has its own. */
  readonly connect: BoundedFetchParts['connect'];
}

/** Who is told what a server says of its tools. */
export interface McpListener {
  /** Why tools of a list are left out, once for each list. */
  readonly onFlaws: (flaws: readonly string[]) => void;
  /** The server has other tools than before. */
  readonly onToolsChanged: (client: Client) => void;
}

/**
 * Connects to an MCP server, of the newest or an older revision. Rejects with the library's errors. Close the client in
 * any case. The transports follow redirects within the origin only. A connection that breaks closes, or fails the
 * requests that wait for it, within a few seconds.
 */
export async function connectMcp(
  endpoint: McpEndpoint,
  made: McpConnecting,
  signal: AbortSignal,
  { onFlaws, onToolsChanged }: McpListener,
): Promise<Client> {
  const client: CallingClient = new CallingClient(
    { name: 'agent-gateway', version: made.version },
    {
      listMaxPages: MAX_PAGES,
      listChanged: {
        // Not listed at once: a server that tells it without end must not be asked without end.
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onToolsChanged(client) },
      },
      jsonSchemaValidator: NO_VALIDATOR,
      versionNegotiation: { mode: endpoint.transport === 'http' ? 'auto' : 'legacy' },
    },
  );
  const transport = transportOf(endpoint, client, made);
  try {
    limitAnswers(transport);
    keepSoundResults(transport, onFlaws);
    const connected = client.connect(transport, { signal, timeout: ANSWER_MS });
    // The library gives its requests a deadline, but not the stream that has to say where they go, nor the notification
    // that ends the handshake.
    await orAborted(connected, AbortSignal.any([signal, AbortSignal.timeout(made.handshakeMs)]));
  } catch (error) {
    await client.close();
    // While it looks for the revision of a server, the client does not hold its transport.
    await transport.close();
    throw error;
  }
  // All answers come on one stream. The library reopens it when it breaks, but the session and its answers are lost
  // with the first one.
  client.onerror = (error) => {
    if (error instanceof SseError) client.close().catch(() => {});
    if (TOO_LONG_FOR_BUFFER.test(error.message)) client.tellTooLong();
  };
  return client;
}

/** What the library says before it closes the connection of a program. */
const TOO_LONG_FOR_BUFFER = /^ReadBuffer exceeded maximum size/;

/** The call of a tool that a request belongs to. */
const calling = new AsyncLocalStorage<{ isTooLong: boolean }>();

/** A call failed since the server sent a longer result than is read. */
class TooLongError extends Error {}

/**
 * Knows which call of a tool fails since its result is too long: the library says of it what it says of any connection
 * that broke.
 */
class CallingClient extends Client {
  readonly #calls = new Set<{ isTooLong: boolean }>();

  override async callTool(...asked: Parameters<Client['callTool']>): ReturnType<Client['callTool']> {
    const call = { isTooLong: false };
    this.#calls.add(call);
    try {
      return await calling.run(call, () => super.callTool(...asked));
    } catch (cause) {
      throw call.isTooLong ? new TooLongError('The result is too long.', { cause }) : cause;
    } finally {
      this.#calls.delete(call);
    }
  }

  /**
   * The request at hand got a message that is too long; on a stream that all requests share it can be told of a single
   * one only.
   */
  tellTooLong(): void {
    const [only] = this.#calls.size === 1 ? this.#calls : [];
    const call = calling.getStore() ?? only;
    if (call !== undefined) call.isTooLong = true;
  }
}

/** A server that asks on without taking the answers gets no more of them: they would wait for it in memory. */
function limitAnswers(transport: Transport): void {
  const send = transport.send.bind(transport);
  let underWay = 0;
  transport.send = async (message, options) => {
    if ('method' in message) return send(message, options);
    if (underWay === MAX_ANSWERS) return;
    underWay += 1;
    try {
      await send(message, options);
    } finally {
      underWay -= 1;
    }
  };
}

/**
 * Results reach the library as the gateway uses them. Lists of tools come without what it would refuse: one flaw of
 * one tool would cost all of them. The result of a call is one text, and of what a server says of itself only the
 * little that is used is left: the library takes minutes, and gigabytes, to say all that is wrong with a hundred
 * thousand parts. To be called before the library connects: it reads a message after those who listen already.
 */
function keepSoundResults(transport: Transport, onFlaws: (flaws: readonly string[]) => void): void {
  transport.onmessage = (message) => {
    const result = 'result' in message ? message.result : undefined;
    if (result === undefined) return;
    if ('capabilities' in result) {
      const { tools } = membersOf(result.capabilities);
      const { listChanged } = membersOf(tools);
      result.capabilities = tools === undefined ? {} : { tools: { listChanged: listChanged === true } };
      const { name, version } = membersOf(result.serverInfo);
      if (result.serverInfo !== undefined) result.serverInfo = { name, version };
    }
    if (Array.isArray(result.tools)) {
      const { tools, flaws } = soundTools(result.tools.slice(0, MAX_LISTED));
      // Each tool costs the process time, and nobody would see those of further pages.
      if (result.tools.length > MAX_LISTED) delete result.nextCursor;
      result.tools = tools;
      if (flaws.length > 0) onFlaws(flaws);
    }
    if ('content' in result || 'structuredContent' in result) {
      const text = resultText(result);
      // What is no list of parts the library refuses, with one error.
      result.content = text === undefined ? null : [{ type: 'text', text }];
      delete result.structuredContent;
    }
  };
}

/**
 * The result of a call as text for a model: its parts in order, what is no text as a note. Undefined where a part is
 * none. Pure.
 */
export function resultText({ content = [], structuredContent }: Members): string | undefined {
  if (!Array.isArray(content)) return undefined;
  const texts: string[] = [];
  for (const part of content) {
    const text = partText(membersOf(part));
    if (text === undefined) return undefined;
    if (text !== '') texts.push(text);
  }
  if (texts.length === 0 && structuredContent !== undefined) return writtenOut(structuredContent);
  return texts.join('\n');
}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown) => (value ?? {}) as Members;

function partText({ type, text, mimeType, data, name, uri, resource }: Members): string | undefined {
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : undefined;
    case 'image':
    case 'audio':
      if (typeof data !== 'string' || typeof mimeType !== 'string') return undefined;
      return `[${type} of type ${mimeType}, ${data.length} characters of base64, not shown]`;
    case 'resource_link':
      return typeof name === 'string' && typeof uri === 'string' ? `[${name}: ${uri}]` : undefined;
    case 'resource': {
      const inner = membersOf(resource);
      if (typeof inner.text === 'string') return inner.text;
      return typeof inner.uri === 'string' ? `[binary resource ${inner.uri}]` : undefined;
    }
    default:
      return undefined;
  }
}

/** `undefined` for what is nested too deeply. */
function writtenOut(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The tools of a list with what the gateway uses of them, and what the others lack. Pure. */
export function soundTools(listed: readonly unknown[]) {
  const tools: object[] = [];
  const flaws: string[] = [];
  for (const entry of listed) {
    const { name, title, description, inputSchema } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    const tool = { name, title, description, inputSchema };
    const { issues } = specTypeSchemas.Tool['~standard'].validate(withOneFault(tool));
    if (issues === undefined) tools.push(tool);
    else flaws.push(`${String(name).slice(0, 128)}: ${issues[0]!.path?.join('.')}: ${issues[0]!.message}`);
  }
  return { tools, flaws };
}

/** The library would say of each entry of `required` that it is no text. */
function withOneFault<T extends { readonly inputSchema: unknown }>(tool: T): T {
  const { required } = membersOf(tool.inputSchema);
  const fault = Array.isArray(required) ? required.findIndex((name) => typeof name !== 'string') : -1;
  if (fault === -1) return tool;
  return { ...tool, inputSchema: { type: 'object', required: [(required as unknown[])[fault]] } };
}

function transportOf(endpoint: McpEndpoint, client: CallingClient, { clock, connect }: McpConnecting) {
  if (endpoint.transport === 'stdio') {
    const { command, args, env } = endpoint;
    return new StdioClientTransport({
      command,
      args: [...args],
      env: onlyThese({ PATH, ...env }),
      stderr: 'ignore',
      maxBufferSize: MAX_MESSAGE,
    });
  }
  const options = {
    requestInit: { headers: { ...endpoint.headers } },
    fetch: boundedFetch({ maxBytes: MAX_MESSAGE, onTooLong: () => client.tellTooLong(), clock, connect }),
    reconnectionScheduler,
  };
  const url = new URL(endpoint.url);
  return endpoint.transport === 'sse'
    ? new SSEClientTransport(url, options)
    : new HttpTransport(url, options);
}

function reconnectionScheduler(reconnect: () => void, delay: number) {
  const timer = setTimeout(reconnect, Math.max(delay, LEAST_RECONNECT_MS));
  return () => clearTimeout(timer);
}

/** The library adds variables of its own to the environment; those that are undefined do not reach the program. */
function onlyThese(env: Readonly<Record<string, string>>): Record<string, string> {
  const nothing = Object.fromEntries(DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined]));
  return { ...nothing, ...env } as Record<string, string>;
}

/** Data of the error that ends a request whose stream broke. No server can send this very object. */
const BROKEN = Object.freeze({});

/**
 * Ends a request whose stream ended without its answer, and could not be resumed: the library would let it wait until
 * its timeout.
 */
class HttpTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    const requests = [message].flat().filter((one) => 'id' in one && 'method' in one);
    const onRequestStreamEnd = () => {
      // The library ignores answers to what has been answered.
      for (const { id } of requests)
        this.onmessage?.({
          jsonrpc: '2.0',
          id,
          error: { code: -32_000, message: 'The stream ended without an answer.', data: BROKEN },
        });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

/** Codes of failures of a connection that is no longer there. */
const LOST: ReadonlySet<string> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.SendFailed]);

/** What an error of a request says of its connection. Pure. */
export function failureOf(error: unknown): McpFailure {
  if (error instanceof TooLongError) return 'too-long';
  if (error instanceof ProtocolError) return error.data === BROKEN ? 'broken' : 'answer';
  if (error instanceof SdkHttpError) {
    // A server answers 404 if it does not know the session (any more); servers that follow the examples of the
    // project's library answer 400.
    if (error.status === 400 || error.status === 404) return 'refused';
    // A new connection has the credential as it is now.
    if (error.status === 401) return 'refused';
    return error.status >= 500 ? 'broken' : 'harmless';
  }
  if (error instanceof SdkError) return LOST.has(error.code) ? 'broken' : 'harmless';
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: unknown };
  return code === 'ECONNREFUSED' ? 'refused' : 'broken';
}
