import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';

/** A request of a service task, as the service saw it. */
export interface ServiceCall {
  /** First segment of the path: which node it was. */
  readonly node: string;
  /** Which run, as its input calls itself. */
  readonly story: string;
  readonly key: string;
  /** The body as it came. */
  readonly body: string;
  /** On the monotonic clock of the test. */
  readonly at: number;
  /** True once the client has left before it had its answer. */
  isAborted: boolean;
  /** True once it was answered. */
  isAnswered: boolean;
}

/** What the service tasks of a test's runs call. It remembers every request. */
export interface WorkflowService {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** For `SVC_EGRESS_ALLOW_PRIVATE`. */
  readonly allowed: string;
  /** Oldest first. */
  readonly calls: readonly ServiceCall[];
  of(story: string): readonly ServiceCall[];
}

/** The status of an answer, when it is time for it; default: 200, at once. */
export type Answering = (call: ServiceCall) => number | undefined | Promise<number | undefined>;

/** Starts it on a free port; it ends with the test. Each request is answered with `{node, ok}`. */
export async function startWorkflowService(
  t: ExecutionContext,
  answering: Answering = () => undefined,
): Promise<WorkflowService> {
  const calls: ServiceCall[] = [];
  const server = http.createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    const call: ServiceCall = {
      node: (request.url ?? '/').split(/[/?]/)[1] ?? '',
      story: String(JSON.parse(body).story),
      key: String(request.headers['idempotency-key']),
      body,
      at: performance.now(),
      isAborted: false,
      isAnswered: false,
    };
    calls.push(call);
    response.once('close', () => {
      call.isAborted = !response.writableFinished;
    });
    const status = (await answering(call)) ?? 200;
    if (response.destroyed) return;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ node: call.node, ok: status === 200 }), () => {
      call.isAnswered = true;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    allowed: `127.0.0.1:${port}`,
    calls,
    of: (story) => calls.filter((call) => call.story === story),
  };
}
