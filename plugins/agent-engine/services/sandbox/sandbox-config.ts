import { type ConfigurationProblem, field, Type } from 'agent-gateway';
import type { Static } from 'typebox';

/** Settings of the sandbox for code. */
export const SandboxConfig = Type.Object({
  mode: field.choice(['local', 'docker', 'k8s-job'], {
    env: 'SANDBOX_MODE',
    offers: true,
    unset: 'code is not executed',
    description:
      'Where code of models runs: `docker`, `k8s-job`, `local` (for development only), or `plugin/<plugin>/<name>`, the engine of a plugin',
  }),
  allow_local: field.boolean({
    env: 'SVC_ALLOW_LOCAL_SANDBOX',
    default: false,
    description: 'Allows `SANDBOX_MODE=local` outside production',
  }),
  allow_network: field.boolean({
    env: 'SANDBOX_ALLOW_NETWORK',
    default: false,
    description: 'Lets code use the network where the policy of its tenant does too; never with `local`',
  }),
  max_concurrent: field.integer({
    env: 'SANDBOX_MAX_CONCURRENT',
    default: 4,
    min: 1,
    max: 1000,
    description: 'Executions at one time in one process',
  }),
  max_waiting: field.integer({
    env: 'SANDBOX_MAX_WAITING',
    default: 32,
    min: 0,
    max: 10_000,
    description: 'Executions that wait for their turn; one tenant gets half of these places at most',
  }),
  start_timeout: field.duration({
    env: 'SANDBOX_START_TIMEOUT',
    default: '60s',
    min: '1s',
    max: '10m',
    description: 'Time for the turn to come, and again for a container or pod to be ready',
  }),
  memory: field.size({
    env: 'SANDBOX_MEMORY',
    default: '512MiB',
    min: '128MiB',
    max: '64GiB',
    description: 'Memory of one execution',
  }),
  python_image: field.string({
    env: 'SANDBOX_PYTHON_IMAGE',
    default: 'python:3.13-slim',
    min: 1,
    max: 512,
    description: 'Image for Python, of `docker` and `k8s-job`; it needs `sh` and `python3`',
  }),
  javascript_image: field.string({
    env: 'SANDBOX_JAVASCRIPT_IMAGE',
    default: 'node:24-slim',
    min: 1,
    max: 512,
    description: 'Image for JavaScript, of `docker` and `k8s-job`; it needs `sh` and `node`',
  }),
  shell_image: field.string({
    env: 'SANDBOX_SHELL_IMAGE',
    default: 'debian:bookworm-slim',
    min: 1,
    max: 512,
    description: 'Image for shell scripts, of `docker` and `k8s-job`; without bash its `sh` runs them',
  }),
  docker_host: field.string({
    env: 'DOCKER_HOST',
    unset: '`unix:///var/run/docker.sock`',
    description: 'Docker engine of `docker`: `unix://` and a path, or `tcp://host:port`',
  }),
  namespace: field.string({
    env: 'SANDBOX_K8S_NAMESPACE',
    unset: "the one of the kubeconfig's context, or of the gateway's own pod",
    min: 1,
    max: 63,
    description: 'Namespace in which `k8s-job` makes its jobs',
  }),
});

/** The settings as they are read. */
export type SandboxSettings = Static<typeof SandboxConfig>;

/**
 * Why the gateway must not start with these settings (decisions 1.8): `local` shares the kernel with the gateway, so it
 * needs two settings, and is refused in production.
 */
export function sandboxProblems(
  { mode, allow_local }: Pick<SandboxSettings, 'mode' | 'allow_local'>,
  production: boolean,
): readonly ConfigurationProblem[] {
  if (mode !== 'local') return [];
  if (production) {
    return [{ name: 'SANDBOX_MODE', message: 'must not be local in production; use k8s-job or docker' }];
  }
  if (allow_local) return [];
  return [
    {
      name: 'SVC_ALLOW_LOCAL_SANDBOX',
      message: 'must be true for SANDBOX_MODE=local, which runs code of models on this machine',
    },
  ];
}

/** Milliseconds for ending what has run over its time, and for removing it. */
export const END_MS = 20_000;

/**
 * Milliseconds that an execution may take beyond the time of its code: the turn, the start of a container, and the end.
 */
export function overheadOf({ start_timeout }: Pick<SandboxSettings, 'start_timeout'>): number {
  return 2 * start_timeout + END_MS;
}
