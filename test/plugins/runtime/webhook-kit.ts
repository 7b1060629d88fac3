import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { type DeliveredEvent, type EventSink, EventSinksPoint } from '../../../plugins/workflow/contract.ts';
import type { TestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

/** A request that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  readonly body: any;
}

/** What a receiver answers to its n-th request, 1 for the first; a number is a status. */
export type Answer = (n: number, response: ServerResponse) => number | undefined;

/** A server that keeps what it gets. */
export async function startReceiver(t: ExecutionContext, answer: Answer = () => 204) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    received.push({ path: request.url as string, headers: request.headers, text, body: JSON.parse(text) });
    const status = answer(received.length, response);
    if (status !== undefined) response.writeHead(status).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Verifies a request with the package's own verifier; throws where the signature is wrong. */
export function verify(secret: string, { text: body, headers: received }: Received): unknown {
  const headers = received as Record<string, string>;
  // The body as it came, not parsed. It throws where the signature is wrong.
  const event = new Webhook(secret).verify(body, headers);
  return event;
}

/** Receivers of tests are on the loopback interface. */
export const LOCAL = { SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1', SVC_WEBHOOK_BACKOFF: '20ms,20ms,20ms,20ms' };

/** Stands for the workflow plugin: hands events to the sinks of its point. */
export function flowPlugin() {
  let sinks: () => readonly EventSink[] = () => [];
  const plugin = testPlugin('flow', {
    points: [EventSinksPoint],
    setup(scope) {
      sinks = scope.contributions(EventSinksPoint);
    },
  });
  const sink = () => sinks()[0] as EventSink;
  return {
    plugin,
    sink,
    deliver: (...events: readonly DeliveredEvent[]) => sink().deliver(events, AbortSignal.timeout(20_000)),
  };
}

const RUN = '0197b2c4-0000-7000-8000-000000000001';

/** The n-th event of a run. */
export function runEvent(tenantId: string, seq: number, more: Partial<DeliveredEvent> = {}): DeliveredEvent {
  const run = { tenant_id: tenantId, run_id: RUN, definition_id: 'onboarding' };
  return { ...run, seq, type: 'run.started', data: {}, created_at: '2026-01-02T03:04:05.678Z', ...more };
}

const PATH = '/api/v2/admin/webhooks';

/** Makes a webhook; its id and secret. */
export async function makeWebhook(gateway: TestGateway, body: object, token = gateway.token) {
  const made = await gateway.request(PATH, { method: 'POST', body, token });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { id: made.body.webhook.id as string, secret: made.body.secret as string };
}

/** The log of a webhook, newest first. */
export async function logsOf(gateway: TestGateway, id: string, token = gateway.token) {
  const { body } = await gateway.request(`${PATH}/${id}/logs`, { token });
  // biome-ignore lint/suspicious/noExplicitAny: as clients read it
  return body.logs as any[];
}
