import type http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { KubeConfig, type V1ConfigMap, type V1Job, type V1Pod } from '@kubernetes/client-node';
import { generate } from 'selfsigned';

/** One job of the fake, and the pod that its controller would make. */
export interface FakeJob {
  readonly name: string;
  readonly job: V1Job;
  /** Undefined until it was created. */
  configMap(): V1ConfigMap | undefined;
  /** The pod's container waits, for this reason. */
  wait(reason: string): void;
  /** The container begins. */
  begin(): void;
  /** The container ends, and its log is this. */
  end(log: string, reason?: string): void;
  /** The pod fails as a whole: evicted, for example. */
  fail(reason: string): void;
}

/** What the fake does otherwise than usual. */
export interface FakeKubernetesOptions {
  /** Called when the ConfigMap of a job is there, which is when its pod could begin. */
  readonly onReady: (job: FakeJob) => void;
  /** An answer instead of the usual one: a status, or never. */
  readonly answer?: (request: string) => number | 'never' | undefined;
}

/** As much of a Kubernetes API server as the sandbox uses, over TLS, with a token, in the namespace `sandbox`. */
export interface FakeKubernetes extends AsyncDisposable {
  readonly config: KubeConfig;
  /** Method and path of each request; watches begin with `WATCH`. */
  readonly requests: readonly string[];
  readonly jobs: ReadonlyMap<string, FakeJob>;
  /** Adds a job that a gateway has left. */
  leave(name: string, annotations: Record<string, string>): void;
  /** Closes every watch, as a server does from time to time. */
  closeWatches(): void;
}

const TOKEN = 'token-of-the-fake';
const JOBS = '/apis/batch/v1/namespaces/sandbox/jobs';
const CORE = '/api/v1/namespaces/sandbox';

interface Held extends FakeJob {
  map: V1ConfigMap | undefined;
  pod: V1Pod;
  log: string;
}

/** Starts it. */
export async function startFakeKubernetes(options: FakeKubernetesOptions): Promise<FakeKubernetes> {
  const certificate = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  } as never);
  const requests: string[] = [];
  const jobs = new Map<string, Held>();
  const watches = new Set<{ readonly selector: string; readonly response: http.ServerResponse }>();

  function add(job: V1Job): Held {
    const name = job.metadata!.name!;
    const labels = job.spec?.template.metadata?.labels ?? {};
    const held: Held = {
      name,
      job,
      map: undefined,
      log: '',
      pod: { metadata: { name: `${name}-x`, labels }, status: { phase: 'Pending' } },
      configMap: () => held.map,
      wait: (reason) => change({ phase: 'Pending', containerStatuses: [status({ waiting: { reason } })] }),
      begin: () => change({ phase: 'Running', containerStatuses: [status({ running: {} })] }),
      end(log, reason = 'Completed') {
        held.log = log;
        const terminated = { exitCode: reason === 'Completed' ? 0 : 137, reason };
        change({ phase: 'Succeeded', containerStatuses: [status({ terminated })] });
      },
      fail: (reason) => change({ phase: 'Failed', reason }),
    };
    const change = (to: NonNullable<V1Pod['status']>) => {
      held.pod = { ...held.pod, status: to };
      for (const { selector, response } of watches) {
        if (matches(labels, selector))
          response.write(`${JSON.stringify({ type: 'MODIFIED', object: held.pod })}\n`);
      }
    };
    jobs.set(name, held);
    return held;
  }

  async function handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'https://localhost');
    const isWatch = url.searchParams.get('watch') === 'true';
    const line = `${isWatch ? 'WATCH' : request.method} ${url.pathname}`;
    requests.push(line);
    const text = await readAll(request);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return failure(response, 401);
    const other = options.answer?.(line);
    if (other === 'never') return;
    if (other !== undefined) return failure(response, other);
    const selector = url.searchParams.get('labelSelector') ?? '';
    if (line === `POST ${JOBS}`) {
      const job = JSON.parse(text) as V1Job;
      if (jobs.has(job.metadata!.name!)) return failure(response, 409);
      job.metadata = { ...job.metadata, uid: `uid-${job.metadata!.name}` };
      add(job);
      return json(response, 201, job);
    }
    if (line === `GET ${JOBS}`) {
      const items = [...jobs.values()].map(({ job }) => job);
      return json(response, 200, { kind: 'JobList', items });
    }
    if (line === `POST ${CORE}/configmaps`) {
      const map = JSON.parse(text) as V1ConfigMap;
      const owner = jobs.get(map.metadata?.ownerReferences?.[0]?.name ?? '');
      if (owner === undefined || Buffer.byteLength(text) > 1_500_000) return failure(response, 422);
      owner.map = map;
      json(response, 201, map);
      return options.onReady(owner);
    }
    if (line === `GET ${CORE}/pods`) {
      const items = [...jobs.values()].map(({ pod }) => pod);
      return json(response, 200, {
        kind: 'PodList',
        items: items.filter((pod) => matches(pod.metadata!.labels ?? {}, selector)),
      });
    }
    if (line === `WATCH ${CORE}/pods`) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      const watch = { selector, response };
      watches.add(watch);
      response.once('close', () => watches.delete(watch));
      return;
    }
    const podName = /\/pods\/([^/]+)-x\/log$/.exec(url.pathname)?.[1];
    const job = jobs.get(podName ?? url.pathname.slice(JOBS.length + 1));
    if (job === undefined) return failure(response, 404);
    if (podName !== undefined) {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end(Buffer.from(job.log).subarray(0, Number(url.searchParams.get('limitBytes'))));
      return;
    }
    if (request.method !== 'DELETE') return failure(response, 405);
    jobs.delete(job.name);
    return json(response, 200, { kind: 'Status', status: 'Success' });
  }

  const server = https.createServer(
    { key: certificate.private, cert: certificate.cert },
    (request, response) => {
      handle(request, response).catch(() => response.destroy());
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [
      {
        name: 'fake',
        server: `https://localhost:${(server.address() as AddressInfo).port}`,
        caData: Buffer.from(certificate.cert).toString('base64'),
      },
    ],
    users: [{ name: 'gateway', token: TOKEN }],
    contexts: [{ name: 'fake', cluster: 'fake', user: 'gateway', namespace: 'sandbox' }],
    currentContext: 'fake',
  });
  return {
    config,
    requests,
    jobs,
    leave: (name, annotations) => void add({ metadata: { name, annotations } }),
    closeWatches() {
      for (const { response } of watches) response.end();
      watches.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function status(state: object) {
  return { name: 'code', image: '', imageID: '', ready: false, restartCount: 0, state };
}

function matches(labels: Readonly<Record<string, string>>, selector: string): boolean {
  return selector.split(',').every((term) => {
    const [name, value] = term.split('=');
    return labels[name!] === value;
  });
}

async function readAll(request: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function failure(response: http.ServerResponse, code: number): void {
  json(response, code, { kind: 'Status', status: 'Failure', message: 'told to', code });
}

function json(response: http.ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
