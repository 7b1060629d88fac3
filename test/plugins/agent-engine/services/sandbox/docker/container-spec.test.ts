import test from 'ava';
import {
  containerInput,
  containerSpec,
  dockerOptions,
} from '../../../../../../plugins/agent-engine/services/sandbox/docker-container.ts';

const PLAN = {
  job: { code: 'print("geheim 🔑")', language: 'python', tenantId: 'acme' },
  runId: 'r1',
  image: 'python:3.13-slim',
  hasNetwork: false,
  memoryBytes: 1000,
  deadline: 1234,
} as const;

test('a container has no rights, no network, a read-only image, and limits of everything', (t) => {
  t.like(containerSpec(PLAN, 20), {
    name: 'svc-sandbox-r1',
    User: '65534:65534',
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Memory: 1000,
      MemorySwap: 1000,
      PidsLimit: 64,
      NanoCpus: 1_000_000_000,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
    },
    Labels: {
      'svc.sandbox': 'true',
      'svc.sandbox.deadline': '1234',
      'svc.sandbox.run': 'r1',
      'svc.sandbox.tenant': 'acme',
    },
  });
  t.like(containerSpec({ ...PLAN, hasNetwork: true }, 20), { HostConfig: { NetworkMode: 'bridge' } });
});

test('the code is in no field that can be listed, only its size in bytes is', (t) => {
  const spec = containerSpec(PLAN, 20);
  t.false(JSON.stringify(spec).includes('geheim'));
  t.deepEqual(spec.Cmd?.slice(0, 3), ['20', '20', '/sandbox/main.py']);
});

test('half of a surrogate pair does not shift what follows', (t) => {
  const job = { code: 'a\ud800b', stdin: '\udc00z' };
  const spec = containerSpec({ ...PLAN, job: { ...PLAN.job, ...job } }, 1);
  const codeBytes = Number(spec.Cmd![1]);
  t.is(containerInput(job).subarray(0, codeBytes).toString(), 'a\ufffdb');
  t.is(containerInput(job).subarray(codeBytes).toString(), '\ufffdz');
});

test('DOCKER_HOST is a socket or an address', (t) => {
  t.deepEqual(dockerOptions(undefined), { socketPath: '/var/run/docker.sock' });
  t.deepEqual(dockerOptions('unix:///run/user/1000/docker.sock'), {
    socketPath: '/run/user/1000/docker.sock',
  });
  t.deepEqual(dockerOptions('tcp://10.0.0.1:2376'), { host: '10.0.0.1', port: '2376' });
  t.deepEqual(dockerOptions('https://docker.example'), {
    protocol: 'https',
    host: 'docker.example',
    port: '443',
  });
  for (const host of ['ssh://x', 'nonsense', 'npipe:////./pipe/x']) {
    t.throws(() => dockerOptions(host), { instanceOf: TypeError, message: /DOCKER_HOST/ });
  }
});
