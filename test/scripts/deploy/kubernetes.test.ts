import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import {
  DEPLOY,
  filesOf,
  isPinned,
  output,
  parse,
  read,
  seconds,
  settings,
  unknownVariables,
  variablesOf,
  type Yaml,
} from './deployment-files.ts';

const KUBERNETES = path.join(DEPLOY, 'kubernetes');
const BASE = path.join(KUBERNETES, 'base');
const EXAMPLE = path.join(KUBERNETES, 'overlays/example');
/** What the gateway's stop needs beside its two settings: the last audit records. */
const AUDIT_SECONDS = 5;

const manifests: Yaml[] = (await Promise.all((await yamlFiles(BASE)).map(parse)))
  .flat()
  .filter(({ kind }) => kind !== 'Kustomization' && kind !== undefined);
const ofKind = (kind: string): Yaml[] => manifests.filter((manifest) => manifest.kind === kind);
const deployment = ofKind('Deployment')[0];
const server = deployment.spec.template.spec.containers[0];
const migration = ofKind('Job')[0];
const workloads = [deployment, migration];
const base = (await parse(path.join(BASE, 'kustomization.yaml')))[0];

async function yamlFiles(folder: string): Promise<string[]> {
  return (await filesOf(folder)).filter((file) => file.endsWith('.yaml'));
}

test('every manifest is YAML that a strict parser takes', async (t) => {
  const files = await yamlFiles(KUBERNETES);
  t.true(files.length > 10);
  for (const file of files) await t.notThrowsAsync(parse(file));
});

test('every kustomization lists the files of its folder, and no others', async (t) => {
  const folders = (await yamlFiles(KUBERNETES)).filter((file) => file.endsWith('kustomization.yaml'));
  t.is(folders.length, 3);
  for (const file of folders) {
    const [kustomization] = await parse(file);
    const folder = path.dirname(file);
    const generated = [
      ...(kustomization.configMapGenerator ?? []),
      ...(kustomization.secretGenerator ?? []),
    ].flatMap(({ files = [], envs = [] }: Yaml) => [...files, ...envs]);
    const own = (kustomization.resources ?? []).filter((name: string) => !name.startsWith('../'));
    const there = (await filesOf(folder)).map((name) => path.relative(folder, name));
    const expected = there.filter((name) => name !== 'kustomization.yaml' && !name.endsWith('.example'));
    const listed = [...own, ...generated].filter((name) => name !== 'secrets.env');
    t.deepEqual(listed.sort(), expected.filter((name) => name !== 'secrets.env').sort(), file);
  }
});

test('every container is limited, and can do no more than it needs', (t) => {
  for (const { kind, spec } of workloads) {
    const pod = spec.template.spec;
    t.false(pod.automountServiceAccountToken, kind);
    t.false(pod.enableServiceLinks, kind);
    t.like(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }, kind);
    t.true(pod.securityContext.runAsUser >= 10_000, kind);
    for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
      t.truthy(container.resources.requests.cpu, kind);
      t.truthy(container.resources.requests.memory, kind);
      t.truthy(container.resources.limits.memory, kind);
      t.deepEqual(
        container.securityContext,
        {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        kind,
      );
      // A read-only root: what is written has a volume, with a bound.
      for (const mount of ['/data', '/tmp']) {
        const { name } = container.volumeMounts.find(({ mountPath }: Yaml) => mountPath === mount);
        t.truthy(pod.volumes.find((volume: Yaml) => volume.name === name).emptyDir.sizeLimit, kind);
      }
    }
  }
  t.false(ofKind('ServiceAccount')[0].automountServiceAccountToken);
});

test('the probes ask what they are for', (t) => {
  t.is(server.startupProbe.httpGet.path, '/health/live');
  t.is(server.livenessProbe.httpGet.path, '/health/live');
  t.is(server.readinessProbe.httpGet.path, '/health/ready');
  // What readiness asks has 2 s of its own.
  t.true(server.readinessProbe.timeoutSeconds > 2);
});

test('every image is of this release', async (t) => {
  const { version } = JSON.parse(await read('package.json'));
  for (const { spec } of workloads) {
    const { image } = spec.template.spec.containers[0];
    t.true(isPinned(image));
    t.is(image, `agent-gateway:${version}`);
  }
  const [{ images }] = await parse(path.join(EXAMPLE, 'kustomization.yaml'));
  t.is(images[0].newTag, version);
});

test('every selector finds the pods of the server, and those of the migration only where it is meant', (t) => {
  const labels: Record<string, string> = deployment.spec.template.metadata.labels;
  const migrating: Record<string, string> = migration.spec.template.metadata.labels;
  const matches = (selector: Record<string, string>, found: Record<string, string>) =>
    Object.entries(selector).every(([key, value]) => found[key] === value);
  const selectors = [
    deployment.spec.selector.matchLabels,
    ...ofKind('Service').map(({ spec }) => spec.selector),
    ...ofKind('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
    ...deployment.spec.template.spec.topologySpreadConstraints.map(
      ({ labelSelector }: Yaml) => labelSelector.matchLabels,
    ),
  ];
  for (const selector of selectors) {
    t.true(matches(selector, labels));
    t.false(matches(selector, migrating));
  }
  for (const { spec } of ofKind('NetworkPolicy')) {
    t.true(matches(spec.podSelector.matchLabels, labels));
    t.true(matches(spec.podSelector.matchLabels, migrating));
    t.deepEqual(spec.policyTypes, ['Ingress', 'Egress']);
  }
  const { scaleTargetRef } = ofKind('HorizontalPodAutoscaler')[0].spec;
  t.deepEqual(scaleTargetRef, { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment.metadata.name });
});

test('one policy denies everything, and what the other opens are the ports of the server', (t) => {
  const [deny, allow] = ofKind('NetworkPolicy');
  t.is(deny.spec.ingress, undefined);
  t.is(deny.spec.egress, undefined);
  const opened = allow.spec.ingress.flatMap(({ ports }: Yaml) => ports.map(({ port }: Yaml) => port));
  t.deepEqual(
    opened,
    server.ports.map(({ name }: Yaml) => name),
  );
});

test('the ports are those that the gateway listens on by default, and the Services lead to them', async (t) => {
  const known = await settings();
  const ports = Object.fromEntries(
    server.ports.map(({ name, containerPort }: Yaml) => [name, containerPort]),
  );
  t.is(known.get('SAAS_API_PORT'), String(ports.http));
  for (const [name, variable] of [
    ['runtime', 'SVC_RUNTIME_ADDR'],
    ['hub', 'HUB_ADDR'],
    ['grpc', 'SVC_GRPC_ADDR'],
  ] as const) {
    const address = known.get(variable);
    if (address !== undefined) t.is(address.split(':').at(-1), String(ports[name]));
  }
  const [, exposed] = /^EXPOSE (.*)$/m.exec(await read('Dockerfile')) ?? [];
  t.is(exposed, Object.values(ports).join(' '));
  const served = ofKind('Service').flatMap(({ spec }) => spec.ports);
  t.deepEqual(
    served.map(({ port, targetPort }: Yaml) => [targetPort, port]),
    Object.entries(ports),
  );
});

test('every variable is one that the gateway reads, and every secret is in the example', async (t) => {
  const kept = await variablesOf(path.join(EXAMPLE, 'secrets.env.example'));
  const set = await variablesOf(path.join(BASE, 'settings.env'));
  const [example] = await parse(path.join(EXAMPLE, 'kustomization.yaml'));
  const literals = example.configMapGenerator.flatMap(({ literals = [] }: Yaml) => literals);
  const secrets = workloads.flatMap(({ spec }) => spec.template.spec.containers[0].env);
  for (const { name, valueFrom } of secrets) {
    t.is(valueFrom.secretKeyRef.name, 'agent-gateway');
    t.is(valueFrom.secretKeyRef.key, name);
    t.is(kept[name], '', `${name} is in secrets.env.example, without a value`);
  }
  t.deepEqual([...new Set(secrets.map(({ name }: Yaml) => name))].sort(), Object.keys(kept).sort());
  t.true('SVC_SECRET_KEY' in kept);
  const names = [...Object.keys(kept), ...Object.keys(set), ...literals.map((l: string) => l.split('=')[0])];
  t.deepEqual(await unknownVariables(names), []);
});

test('every volume and every configuration that is named is there', (t) => {
  const maps = base.configMapGenerator.map(({ name }: Yaml) => name);
  for (const { spec } of workloads) {
    const { containers, volumes } = spec.template.spec;
    t.deepEqual(
      containers[0].volumeMounts.map(({ name }: Yaml) => name),
      volumes.map(({ name }: Yaml) => name),
    );
    for (const { configMap } of volumes) if (configMap !== undefined) t.true(maps.includes(configMap.name));
    for (const { configMapRef } of containers[0].envFrom) t.true(maps.includes(configMapRef.name));
    // A mount of a single file would not follow a change.
    t.true(containers[0].volumeMounts.every(({ subPath }: Yaml) => subPath === undefined));
  }
});

test('a pod has the time that its stop takes, and an update never has less than all replicas', async (t) => {
  const { SVC_STOP_DELAY = '', SVC_DRAIN_TIMEOUT = '' } = await variablesOf(path.join(BASE, 'settings.env'));
  const before = server.lifecycle.preStop.sleep.seconds;
  const stop = before + seconds(SVC_STOP_DELAY) + seconds(SVC_DRAIN_TIMEOUT) + AUDIT_SECONDS;
  t.true(deployment.spec.template.spec.terminationGracePeriodSeconds >= stop);
  t.deepEqual(deployment.spec.strategy.rollingUpdate, { maxUnavailable: 0, maxSurge: 1 });
  t.is(deployment.spec.replicas, undefined);
  t.true(ofKind('HorizontalPodAutoscaler')[0].spec.minReplicas >= 2);
});

test('kustomize renders the base, and the example as soon as its secrets are there', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'kustomize-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const ours = (file: string) => path.basename(file) !== 'secrets.env';
  await cp(KUBERNETES, folder, { recursive: true, filter: ours });
  const example = path.join(folder, 'overlays/example');
  const rendered = await output('kubectl', 'kustomize', path.join(folder, 'base'));
  if (rendered === undefined) {
    t.log('skipped: there is no kubectl');
    return t.pass();
  }
  t.regex(rendered, /kind: Deployment/);
  await t.throwsAsync(output('kubectl', 'kustomize', example), { message: /secrets\.env/ });
  await writeFile(path.join(example, 'secrets.env'), 'DATABASE_URL=postgres://a:b@c/d\n');
  const text = (await output('kubectl', 'kustomize', example)) as string;
  t.regex(text, /image: registry\.example\.com\/agent-gateway:/);
  t.regex(text, /name: agent-gateway-settings-[a-z0-9]{10}\n/);
});
