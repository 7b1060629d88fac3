import type { Clock, Ids, Logger } from 'agent-gateway';
import type { Sandbox } from '../../contract.ts';
import type { SandboxEngine } from './engine.ts';
import type { SandboxSettings } from './sandbox-config.ts';
import { sandboxProblems } from './sandbox-problems.ts';
import { createSandboxRunner, disabledSandbox, type SandboxObserver } from './sandbox-runner.ts';

/** What a sandbox is made of. */
export interface SandboxOptions {
  readonly settings: SandboxSettings;
  /** True with `NODE_ENV=production`. */
  readonly production: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly observer: SandboxObserver;
}

/**
 * The sandbox that the deployment asked for. Only the engine that was chosen is loaded. With no mode every execution throws
 * `sandbox.disabled`: code never runs without an engine around it.
 *
 * @throws Error that names the variable, where the mode is not allowed here
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox & AsyncDisposable> {
  const { settings, production, clock, observer } = options;
  const problem = sandboxProblems(settings, production)[0];
  if (problem !== undefined) throw new Error(`${problem.name}: ${problem.message}`);
  if (settings.mode === undefined) return disabledSandbox();
  return createSandboxRunner({
    mode: settings.mode,
    engine: await openEngine(settings.mode, options),
    maxConcurrent: settings.max_concurrent,
    maxWaiting: settings.max_waiting,
    startTimeoutMs: settings.start_timeout,
    clock,
    observer,
  });
}

async function openEngine(
  mode: NonNullable<Sandbox['mode']>,
  { settings, clock, ids, log }: SandboxOptions,
): Promise<SandboxEngine> {
  const common = { allowNetwork: settings.allow_network, memoryBytes: settings.memory, clock, ids, log };
  const images = {
    python: settings.python_image,
    javascript: settings.javascript_image,
    shell: settings.shell_image,
  };
  if (mode === 'local') {
    const { openLocalEngine } = await import('./local/local-engine.ts');
    return openLocalEngine({ memoryBytes: settings.memory, log });
  }
  if (mode === 'docker') {
    const { openDockerEngine } = await import('./docker/docker-engine.ts');
    return openDockerEngine({
      ...common,
      images,
      host: settings.docker_host,
      startTimeoutMs: settings.start_timeout,
    });
  }
  const { openKubernetesEngine } = await import('./k8s-job/kubernetes-engine.ts');
  return openKubernetesEngine({
    ...common,
    images,
    namespace: settings.namespace,
    startTimeoutMs: settings.start_timeout,
  });
}
