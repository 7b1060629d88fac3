import path from 'node:path';
import test from 'ava';
import {
  DEPLOY,
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

const [compose] = await parse(path.join(DEPLOY, 'compose.yaml'));
const services: Record<string, Yaml> = compose.services;
const gateways = [services['gateway-1'], services['gateway-2']];
const AUDIT_SECONDS = 5;

test('every service is limited, restarted and of a fixed release', (t) => {
  for (const [name, service] of Object.entries(services)) {
    t.truthy(service.mem_limit, name);
    t.truthy(service.restart, name);
    t.not(service.privileged, true, name);
    t.true(isPinned(service.image) || service.build !== undefined, name);
  }
});

test('whoever waits for a service waits until it can serve', (t) => {
  for (const [name, { depends_on = {} }] of Object.entries(services)) {
    for (const [other, { condition }] of Object.entries<Yaml>(depends_on)) {
      const { healthcheck, restart } = services[other];
      if (condition === 'service_healthy') t.truthy(healthcheck, `${name} waits for ${other}`);
      else t.deepEqual([condition, restart], ['service_completed_successfully', 'on-failure'], name);
    }
  }
});

test('the gateways run as the image was made to run, and have the time that their stop takes', async (t) => {
  const drain = seconds((await settings()).get('SVC_DRAIN_TIMEOUT') ?? '');
  t.true(drain > 0);
  for (const gateway of gateways) {
    t.true(gateway.read_only);
    t.deepEqual(gateway.cap_drop, ['ALL']);
    t.regex(gateway.volumes[0], /^gateway-[12]:\/data$/);
    t.regex(gateway.healthcheck.test.at(-1), /:8080\/health\/ready/);
    const stop = seconds(gateway.environment.SVC_STOP_DELAY) + drain + AUDIT_SECONDS;
    t.true(seconds(gateway.stop_grace_period) >= stop);
  }
  t.not(gateways[0].volumes[0], gateways[1].volumes[0]);
});

test('no value is one that podman-compose would hand on as it is written', (t) => {
  for (const { environment } of Object.values(services))
    for (const [name, value] of Object.entries<Yaml>(environment ?? {}))
      t.notRegex(String(value), /\$\{\w+:-\}/, name);
});

test('what one gateway keeps, the other finds: data, objects and jobs', (t) => {
  for (const { environment } of gateways) {
    t.is(environment.DATABASE_DRIVER, 'postgres');
    t.regex(environment.OBJECT_STORE_URL, /^s3:/);
    t.is(environment.SVC_RUNTIME_BACKEND, 'postgres');
  }
});

test('every variable is one that the gateway reads', async (t) => {
  t.deepEqual(await unknownVariables(Object.keys(gateways[0].environment)), []);
});

test('every secret comes from .env: the file holds none, and nothing starts without them', async (t) => {
  const text = await read('scripts/deploy/compose.yaml');
  const used = [...text.matchAll(/(?<!\$)\$\{([A-Z_]+)(:[?-]|\})/g)];
  const example = await variablesOf(path.join(DEPLOY, '.env.example'));
  t.deepEqual([...new Set(used.map(([, name]) => name))].sort(), Object.keys(example).sort());
  for (const [, name = '', operator] of used) {
    if (/PASSWORD/.test(name)) t.deepEqual([operator, example[name]], [':?', ''], name);
  }
  for (const line of text.split('\n')) {
    if (/^\s+\w*(PASSWORD|SECRET|KEY|TOKEN)\w*:/.test(line)) t.regex(line, /: \$\{|: agent-gateway$/, line);
  }
  t.regex(await read('scripts/deploy/.gitignore'), /^\.env$/m);
});

test('.env is filled as the README says, with the key that encrypts secrets in the database', async (t) => {
  const [, names = ''] = /^for name in (.*); do$/m.exec(await read('scripts/deploy/README.md')) ?? [];
  for (const name of ['SVC_SECRET_KEY', 'GATEWAY_DATABASE_PASSWORD'])
    t.true(names.split(' ').includes(name), name);
  for (const { environment } of gateways) t.regex(environment.SVC_SECRET_KEY, /^\$\{SVC_SECRET_KEY\}$/);
});

test('the balancer knows the gateways, asks their readiness, and waits longer than a model may take', async (t) => {
  const configuration = await read('scripts/deploy/haproxy.cfg');
  const servers = [...configuration.matchAll(/^ {2}server (\S+) (\S+):(\d+)$/gm)];
  t.deepEqual(
    servers.map(([, name, host, port]) => [name, host, port]),
    ['gateway-1', 'gateway-2'].map((name) => [name, name, '8080']),
  );
  t.regex(configuration, /^ {2}option httpchk GET \/health\/ready$/m);
  const known = await settings();
  for (const side of ['client', 'server']) {
    const [, minutes] = new RegExp(`^ {2}timeout ${side} (\\d+)m$`, 'm').exec(configuration) ?? [];
    t.true(Number(minutes) * 60 > seconds(known.get('LLM_TIMEOUT') ?? ''));
  }
});

test('HAProxy takes the configuration', async (t) => {
  const checked = await output('haproxy', '-c', '-q', '-f', path.join(DEPLOY, 'haproxy.cfg'));
  if (checked === undefined) t.log('skipped: there is no haproxy');
  t.pass();
});
