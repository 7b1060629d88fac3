import test from 'ava';
import {
  jobManifest,
  loggedBytes,
} from '../../../../../../plugins/agent-engine/services/sandbox/kubernetes-job.ts';
import { sandboxJob } from '../../../../../support/sandbox.ts';

const PLAN = {
  job: sandboxJob('javascript', 'geheim', { stdin: 'auch', timeoutMs: 1500, maxOutputBytes: 1000 }),
  runId: 'r1',
  image: 'node:24-slim',
  hasNetwork: false,
  memoryBytes: 1024,
  deadline: 1234,
  activeMs: 71_500,
};

test('a pod has no rights, no token, a read-only image, and limits', (t) => {
  const { spec, metadata } = jobManifest(PLAN);
  t.like(spec, { backoffLimit: 0, activeDeadlineSeconds: 72, ttlSecondsAfterFinished: 60 });
  const pod = spec!.template.spec!;
  t.like(pod, {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 0,
    securityContext: { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } },
  });
  t.is(pod.hostNetwork, undefined);
  t.like(pod.containers[0], {
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      privileged: false,
      capabilities: { drop: ['ALL'] },
    },
    resources: { limits: { cpu: '1', memory: '1024' } },
  });
  t.is(pod.containers[0]!.command![4], '1001');
  t.is(pod.containers[0]!.command![5], '1.5');
  for (const volume of pod.volumes!.slice(1)) t.is(volume.emptyDir?.medium, 'Memory');
  t.is(metadata!.annotations!['svc.sandbox/deadline'], '1234');
});

test('the label for network policies says whether the pod may use the network', (t) => {
  const labelOf = (hasNetwork: boolean) =>
    jobManifest({ ...PLAN, hasNetwork }).spec!.template.metadata!.labels!['svc.sandbox/network'];
  t.is(labelOf(false), 'none');
  t.is(labelOf(true), 'allowed');
});

test('neither code nor stdin is shown with the job', (t) => {
  t.false(/geheim|auch/.test(JSON.stringify(jobManifest(PLAN))));
});

test('no more is asked for than a log holds', (t) => {
  t.is(loggedBytes(1000), 1000);
  t.is(loggedBytes(50_000_000), 2 * 1024 * 1024);
});
