import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { access } from '../../kernel/api/access.ts';
import { grpcMethod, grpcService } from '../../kernel/api/grpc.ts';
import { definePlugin } from '../../kernel/api/plugin.ts';
import agentEngine from '../../plugins/agent-engine/plugin.ts';
import platform from '../../plugins/platform/plugin.ts';
import records from '../../plugins/records/plugin.ts';
import { startTestGateway } from '../../testing/index.ts';
import { startCollector } from '../foundation/observability/otlp-collector.ts';
import { credentialParts } from '../foundation/redaction/credential-parts.ts';
import type { Sample } from '../foundation/redaction/credential-samples.ts';
import { SEED } from '../support/sample.ts';
import { until } from '../support/until.ts';

const PROTO = new URL('../kernel/grpc/protos/svc/notes/v1/other.proto', import.meta.url);
const ping = definePlugin({
  name: 'ping',
  summary: 'A gRPC service',
  kernel: '^1.0.0',
  setup(scope) {
    const Ping = grpcMethod({
      access: access.role('user'),
      effect: 'read',
      summary: 'a test',
      handle: () => ({}),
    });
    scope.grpc(grpcService({ proto: PROTO, service: 'svc.notes.v1.PingService', methods: { Ping } }));
  },
});

/** A gateway with a collector of traces, and all that it keeps or tells. */
export async function startKeeping(t: ExecutionContext) {
  const collector = await startCollector();
  t.teardown(() => collector.close());
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, platform, ping],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collector.address}`, LOG_LEVEL: 'debug' },
  });
  t.teardown(gateway.stop);
  const { request } = gateway;
  const grpc = gateway.grpc({ proto: PROTO, service: 'svc.notes.v1.PingService', token: gateway.token });
  /** Everything that was told or kept, by where. */
  const seen = new Map<string, Set<string>>();
  const see = (where: string, text: string) => {
    if (!seen.has(where)) seen.set(where, new Set());
    for (const line of text.split('\n')) seen.get(where)!.add(line);
  };
  const data = path.join(gateway.folder, 'data');
  /** The files of the data folder whose path has this in it. */
  async function seeFiles(part: string): Promise<void> {
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      // A segment is removed once it is delivered.
      if (entry.isFile() && file.includes(part))
        see(`file ${part}`, await readFile(file, 'latin1').catch(() => ''));
    }
  }
  /** Sends a request, and sees its answer and the journal. */
  async function send(target: string, given: Parameters<typeof request>[1] = {}): Promise<void> {
    const { status, headers, body } = await request(target, given);
    see('answer', `${status} ${JSON.stringify([...headers])} ${JSON.stringify(body)}`);
    await seeFiles('audit');
  }
  async function call(method: string, metadata: Record<string, string>): Promise<void> {
    const answer = await grpc.call(method, {}, { metadata });
    see('gRPC answer', JSON.stringify(answer));
    await seeFiles('audit');
  }
  /** Reads everything back, up to the last request. */
  async function readBack() {
    await request('/v1/me', { headers: { 'x-request-id': 'last' } });
    const list = async (route: string, offset = 0) =>
      (await request(`${route}?limit=500&offset=${offset}`)).body.audit_logs as { request_id: string }[];
    await until(async () =>
      (await list('/admin/v1/audit-logs')).some(({ request_id }) => request_id === 'last'),
    );
    for (const route of ['/v1/audit-logs', '/admin/v1/audit-logs'])
      for (let offset = 0; ; offset += 500) {
        const page = await list(route, offset);
        see(route, page.map((record) => JSON.stringify(record)).join('\n'));
        if (page.length < 500) break;
      }
    see('metrics', String((await request('/metrics')).body));
    see('log', gateway.logs().join('\n'));
    await seeFiles('');
    await gateway.stop();
    see('spans', collector.spans.map((span) => JSON.stringify(span)).join('\n'));
    return seen;
  }
  return { send, call, readBack, request, gateway };
}

const percent = (text: string) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** How a client may write a credential. */
const FORMS: readonly ((text: string) => string)[] = [
  (text) => text,
  encodeURIComponent,
  percent,
  (text) => percent(percent(text)),
  base64,
  (text) => base64(base64(text)),
  (text) => Buffer.from(text).toString('base64url'),
  (text) => percent(base64(text)),
];

/** No longer one is sent: a server of HTTP takes 16 KiB of headers. */
const LONGEST = 6000;

/** Sends each credential in each form at each place, and returns where parts of them were seen. */
export async function findKept(t: ExecutionContext, samples: readonly Sample[]): Promise<string[]> {
  const keeping = await startKeeping(t);
  const { send, call } = keeping;
  const parts = credentialParts();
  for (const { kind, lead, secret, tail } of samples) {
    for (const [nth, form] of FORMS.entries()) {
      // What is before a credential stays: where the form mixes both, only the credential as it is can be looked for.
      const isAlone = lead === '' && tail === '';
      const text = form(lead + secret + tail);
      if (text.length > LONGEST) continue;
      for (const shown of isAlone ? [secret, text] : [secret]) parts.add(shown, `${kind}, form ${nth}`);
      const url = encodeURIComponent(text);
      await send(`/v1/me?q=${url}`);
      await send(`/v1/me?limit=1&${url}=1`);
      await send(`/v1/sessions/${url}`);
      await send(
        `/nowhere/${nth < 2 ? encodeURIComponent(text) : text.replaceAll(/[^\w%-]/g, encodeURIComponent)}/x`,
      );
      await send('/v1/chat/completions', {
        method: 'POST',
        body: { [text]: 1, messages: text, model: text },
      });
      if (!/^[\x21-\x7e][\x20-\x7e]*$/.test(text)) continue;
      await send('/v1/me', { headers: { 'user-agent': text, tracestate: `x=${text}`, traceparent: PARENT } });
      for (const name of ['x-svc-user-id', 'x-request-id', 'x-svc-session-id'])
        await send('/v1/chat/completions', { method: 'POST', headers: { [name]: text }, body: CHAT });
      await call('Ping', { 'x-svc-user-id': text, 'x-request-id': text, note: text });
      if (/^[!-~]+$/.test(text)) await call(text, {});
    }
  }
  // Names before credentials stay, and kinds are what is told of them; a page of SQLite may end amid one.
  for (const name of ['secret-token:', ...samples.flatMap(({ kind, lead, tail }) => [kind, lead, tail])])
    for (const form of FORMS) parts.ignore(form(name));
  const found: string[] = [];
  for (const [where, lines] of await keeping.readBack())
    for (const line of lines) {
      const part = parts.find(line);
      if (part !== undefined) found.push(`TEST_SEED=${SEED}: in ${where}: ${part}`);
    }
  return found;
}

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const CHAT = { model: 'default', messages: [{ role: 'user', content: 'Hello' }] };
