import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A request as the provider saw it. */
export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  /** The parsed JSON body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  readonly body: any;
  /** Which TCP connection it came on, counted from 1. */
  readonly connection: number;
  /** True once the client has closed the connection before the response was complete. */
  readonly isAborted: boolean;
  /** True while the client does not read on: what was written last does not go out. */
  readonly isBlocked: boolean;
  /** Bytes of the response body that were handed to the socket. */
  readonly bytesWritten: number;
}

/** How one request is answered. The response belongs to the script; when the client leaves, `signal` is aborted. */
export type ProviderScript = (reply: ProviderReply) => void | Promise<void>;

/** What a script works with. */
export interface ProviderReply {
  readonly request: ProviderRequest;
  readonly response: http.ServerResponse;
  readonly signal: AbortSignal;
  /** Writes and waits until the client has taken it. */
  write(bytes: string | Uint8Array): Promise<void>;
}

/** A model provider on a free port of the loopback interface. */
export interface FakeProvider extends AsyncDisposable {
  /** The base URL, `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  readonly port: number;
  /** Every request so far, oldest first. */
  readonly requests: readonly ProviderRequest[];
  /** TCP connections that were opened so far. */
  readonly connections: number;
}

/** Scripts, and the requests that they answered. */
interface Line {
  readonly scripts: readonly ProviderScript[];
  readonly requests: MutableRequest[];
}

/**
 * Starts a provider that answers its requests with the scripts in turn; the last one answers all that follow. Without
 * scripts it answers `plain()` or `stream()`, whichever is asked for.
 *
 * @example
 * await using provider = await startFakeProvider(failure(503), plain('Hello'));
 */
export async function startFakeProvider(...scripts: ProviderScript[]): Promise<FakeProvider> {
  const line: Line = { scripts, requests: [] };
  return Object.assign(await listen(() => line), { requests: line.requests });
}

/** A provider behind a gateway that tests share. */
export interface SharedProvider extends AsyncDisposable {
  readonly url: string;
  /**
   * Answers requests whose id (`x-request-id`) is `<name>.<anything>` with these scripts in turn, as
   * `startFakeProvider` does.
   */
  answer(name: string, scripts: readonly ProviderScript[]): Pick<FakeProvider, 'requests'>;
}

/** Starts it; what nobody has scripts for is answered as without scripts. */
export async function startSharedProvider(): Promise<SharedProvider> {
  const lines = new Map<string, Line>();
  const nobodys: Line = { scripts: [], requests: [] };
  const server = await listen(({ headers }) => {
    const [name = ''] = String(headers['x-request-id']).split('.');
    return lines.get(name) ?? nobodys;
  });
  return Object.assign(server, {
    answer: (name: string, scripts: readonly ProviderScript[]) => {
      const line: Line = { scripts, requests: [] };
      lines.set(name, line);
      return line;
    },
  });
}

async function listen(lineOf: (request: ProviderRequest) => Line): Promise<Omit<FakeProvider, 'requests'>> {
  const connections = new WeakMap<object, number>();
  let opened = 0;

  async function answer(message: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const left = new AbortController();
    try {
      const request = await readRequest(message, connections.get(message.socket) ?? 0);
      const { scripts, requests } = lineOf(request);
      const script = scripts[Math.min(requests.length, scripts.length - 1)] ?? byRequest;
      requests.push(request);
      response.once('close', () => {
        request.isAborted = !response.writableFinished;
        request.isBlocked = false;
        left.abort();
      });
      await script({ request, response, signal: left.signal, write: writer(request, response, left.signal) });
    } catch (error) {
      // A client that leaves ends the script in the middle; anything else is a mistake in the test.
      if (!left.signal.aborted && !message.destroyed) throw error;
    }
  }
  const server = http.createServer(answer);
  server.on('connection', (socket) => {
    opened += 1;
    connections.set(socket, opened);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    get connections() {
      return opened;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A whole answer. */
export function plain(
  text = 'Hello from the provider.',
  extra: Record<string, unknown> = {},
): ProviderScript {
  return json(200, {
    id: 'chatcmpl-fake',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'fake-model',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: USAGE,
    ...extra,
  });
}

/** How a stream behaves. */
export interface StreamOptions {
  /** Milliseconds before each chunk. Default 0. */
  readonly delayMs?: number;
  /** The chunk after which the connection is cut. */
  readonly cutAfter?: number;
  /** The chunk after which nothing more comes. */
  readonly hangAfter?: number;
}

/** A whole stream of the given contents: role, contents, finish, usage if asked for, `[DONE]`. */
export function stream(
  contents: readonly string[] = ['Hello', ' world'],
  options: StreamOptions = {},
): ProviderScript {
  return async ({ request, response, signal, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = streamEvents(contents, request.body?.stream_options?.include_usage === true);
    for (const [index, event] of events.entries()) {
      if (options.delayMs) await pause(options.delayMs, undefined, { signal });
      await write(event);
      if (options.cutAfter === index + 1) {
        // What was written goes out first.
        response.socket?.destroySoon();
        return;
      }
      if (options.hangAfter === index + 1) return;
    }
    response.end();
  };
}

/** The events of `stream`, each with its blank line. */
export function streamEvents(contents: readonly string[], withUsage = true): string[] {
  const common = {
    id: 'chatcmpl-fake',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'fake-model',
  };
  const chunk = (delta: unknown, finish_reason: string | null = null) =>
    sse({ ...common, choices: [{ index: 0, delta, finish_reason }] });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...contents.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    ...(withUsage ? [sse({ ...common, choices: [], usage: USAGE })] : []),
    'data: [DONE]\n\n',
  ];
}

/** One event whose data is the value as JSON. */
export function sse(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** A stream of exactly these pieces, each in a write of its own. */
export function rawStream(...pieces: (string | Uint8Array)[]): ProviderScript {
  return async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const piece of pieces) await write(piece);
    response.end();
  };
}

/** Events without an end, as fast as the client takes them. */
export function endlessStream(eventBytes = 16 * 1024): ProviderScript {
  const event = sse({ choices: [{ index: 0, delta: { content: 'x'.repeat(eventBytes) } }] });
  return async ({ response, signal, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!signal.aborted) await write(event);
  };
}

/** A JSON body with a status. */
export function json(status: number, body: unknown, headers: http.OutgoingHttpHeaders = {}): ProviderScript {
  return ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

/** An error in OpenAI's form. */
export function failure(
  status: number,
  headers: http.OutgoingHttpHeaders = {},
  error: Record<string, unknown> = { message: `failure ${status}`, type: 'server_error' },
): ProviderScript {
  return json(status, { error }, headers);
}

/** The connection is closed before any response. */
export function cut(): ProviderScript {
  return ({ response }) => {
    response.destroy();
  };
}

/** No response, ever. */
export function silence(): ProviderScript {
  return () => {};
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

type MutableRequest = { -readonly [K in keyof ProviderRequest]: ProviderRequest[K] };

const byRequest: ProviderScript = (reply) =>
  (reply.request.body?.stream === true ? stream() : plain())(reply);

async function readRequest(message: http.IncomingMessage, connection: number): Promise<MutableRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    body: text === '' ? undefined : JSON.parse(text),
    connection,
    isAborted: false,
    isBlocked: false,
    bytesWritten: 0,
  };
}

function writer(request: MutableRequest, response: http.ServerResponse, signal: AbortSignal) {
  return async (bytes: string | Uint8Array) => {
    request.bytesWritten += Buffer.byteLength(bytes);
    if (response.write(bytes)) return;
    request.isBlocked = true;
    await once(response, 'drain', { signal });
    request.isBlocked = false;
  };
}
