import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Duplex } from 'node:stream';

/** What a container of the fake does once it is started. */
export interface FakeContainer {
  readonly name: string;
  readonly spec: Record<string, never> & {
    readonly Image: string;
    readonly Cmd: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
    readonly HostConfig: Readonly<Record<string, unknown>>;
  };
  /** All that came over stdin so far. */
  input(): string;
  /** Sends one frame to who is attached; 1 is stdout, 2 stderr. */
  write(stream: 1 | 2, bytes: Buffer | string): void;
  /** Lets it end. */
  exit(code: number, options?: { isOutOfMemory?: boolean }): void;
}

/** A Docker engine that speaks as much of the API as the sandbox uses, over a Unix socket. */
export interface FakeDocker extends AsyncDisposable {
  /** For `DOCKER_HOST`. */
  readonly host: string;
  /** Method and path of each request, without the version and the query. */
  readonly requests: readonly string[];
  readonly containers: ReadonlyMap<string, FakeContainer>;
  /** Goes away in the middle of everything, as an engine that is killed does. */
  die(): void;
  /** Adds one that a gateway has left. */
  leave(name: string, labels: Readonly<Record<string, string>>): void;
}

/** What the fake does otherwise than usual. */
export interface FakeDockerOptions {
  /** Called when a container has started. */
  readonly onStart: (container: FakeContainer) => void;
  /** It behaves as Podman's service does. */
  readonly isPodman?: boolean;
  /** An answer instead of the usual one: a status, or never. */
  readonly answer?: (request: string) => number | 'never' | undefined;
}

interface Held extends FakeContainer {
  attached: Duplex | undefined;
  end: { code: number; isOutOfMemory: boolean } | undefined;
  readonly waiting: (() => void)[];
}

/** Starts it in a folder of its own. */
export async function startFakeDocker({
  onStart,
  isPodman = false,
  answer,
}: FakeDockerOptions): Promise<FakeDocker> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fake-docker-'));
  const socketPath = path.join(folder, 'docker.sock');
  const requests: string[] = [];
  const containers = new Map<string, Held>();
  const sockets = new Set<Duplex>();

  function add(name: string, spec: FakeContainer['spec']): Held {
    let input = '';
    const held: Held = {
      name,
      spec,
      attached: undefined,
      end: undefined,
      waiting: [],
      input: () => input,
      write(stream, bytes) {
        const data = Buffer.from(bytes);
        const header = Buffer.alloc(8);
        header[0] = stream;
        header.writeUInt32BE(data.length, 4);
        held.attached?.write(Buffer.concat([header, data]));
      },
      exit(code, { isOutOfMemory = false } = {}) {
        held.end = { code, isOutOfMemory };
        held.attached?.end();
        for (const wake of held.waiting) wake();
      },
    };
    Object.defineProperty(held, 'feed', { value: (text: string) => (input += text) });
    containers.set(name, held);
    return held;
  }

  async function handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://docker');
    const line = `${request.method} ${url.pathname}`;
    requests.push(line);
    const body = await readAll(request);
    const other = answer?.(line);
    if (other === 'never') return;
    if (other !== undefined) return json(response, other, { message: 'told to' });
    if (line === 'GET /version') {
      const name = isPodman ? 'Podman Engine' : 'Engine';
      return json(response, 200, { Version: '5.0.0', Components: [{ Name: name, Version: '5.0.0' }] });
    }
    if (line === 'POST /containers/create') {
      const folders = Object.values(JSON.parse(body).HostConfig.Tmpfs as Record<string, string>);
      const unknown = folders.join().match(/(?:uid|gid|nr_inodes)=\d+/);
      if (isPodman && unknown !== null)
        return json(response, 500, { message: `unknown mount option "${unknown[0]}"` });
      add(url.searchParams.get('name')!, JSON.parse(body));
      return json(response, 201, { Id: url.searchParams.get('name'), Warnings: [] });
    }
    if (line === 'GET /containers/json') {
      const list = [...containers.values()].map(({ name, spec }) => ({ Id: name, Labels: spec.Labels }));
      return json(response, 200, list);
    }
    const [, name, verb] = /^\/containers\/([^/]+)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
    const container = containers.get(name ?? '');
    if (container === undefined) return json(response, 404, { message: 'No such container' });
    if (request.method === 'DELETE') {
      containers.delete(container.name);
      container.exit(137);
      return json(response, 204, undefined);
    }
    if (verb === 'start') {
      json(response, 204, undefined);
      return onStart(container);
    }
    if (verb === 'wait') {
      // As the engines do: the answer begins at once, and its body comes with the end of the container.
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      if (container.end === undefined) await new Promise<void>((resolve) => container.waiting.push(resolve));
      response.end(JSON.stringify({ StatusCode: container.end!.code }));
      return;
    }
    if (verb === 'json') {
      const { code, isOutOfMemory } = container.end!;
      return json(response, 200, { State: { ExitCode: code, OOMKilled: isOutOfMemory } });
    }
    return json(response, 400, { message: `unknown ${line}` });
  }

  const server = http.createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.on('upgrade', (request, socket: Duplex, head: Buffer) => {
    const pathname = new URL(request.url!, 'http://docker').pathname;
    requests.push(`${request.method} ${pathname}`);
    const container = containers.get(pathname.split('/')[2]!);
    socket.on('error', () => undefined);
    if (container === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}');
      return;
    }
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    container.attached = socket;
    const { feed } = container as unknown as { feed(text: string): void };
    // The body of the request that attaches: Docker drops it, to Podman it is the beginning of stdin.
    if (isPodman) feed(head.toString('utf8'));
    socket.on('data', (bytes: Buffer) => feed(bytes.toString('utf8')));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const die = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return {
    host: `unix://${socketPath}`,
    requests,
    containers,
    leave: (name, labels) => void add(name, { Labels: labels } as unknown as FakeContainer['spec']),
    die,
    async [Symbol.asyncDispose]() {
      die();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function readAll(request: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function json(response: http.ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
