import {
  type Clock,
  ConfigurationError,
  type Ids,
  isOfferName,
  type Logger,
  type Scope,
} from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import { type OfferedSandboxEngine, type Sandbox, SandboxEnginesPoint } from '../../contract.ts';
import { watchOffer } from '../watch-offer.ts';
import type { SandboxEngine } from './engine.ts';
import { type SandboxSettings, sandboxProblems } from './sandbox-config.ts';
import { type SandboxMetrics, sandboxMetrics } from './sandbox-metrics.ts';
import { createSandboxRunner, disabledSandbox } from './sandbox-runner.ts';

/**
 * Opens the sandbox of the deployment; it ends with the plugin. Throws a ConfigurationError, which stops the start, for
 * a mode that is not allowed here.
 */
export async function startSandbox(scope: Scope<AgentEngineSettings>): Promise<Sandbox> {
  const { config, log, services, metric } = scope;
  const metrics = sandboxMetrics(metric);
  const engines = scope.contributions(SandboxEnginesPoint);
  // Replicas share the engine, and remove what others have left when its time is over: by one clock of all.
  const { clock } = services.database;
  const sandbox = await openSandbox({ ...services, clock, settings: config.sandbox, engines, log, metrics });
  watchOffer(scope, 'SANDBOX_MODE', sandbox.mode, engines);
  scope.defer(async () => {
    await sandbox[Symbol.asyncDispose]();
  });
  return sandbox;
}

/** What a sandbox is made of. */
interface SandboxOptions {
  readonly settings: SandboxSettings;
  /** True with `NODE_ENV=production`. */
  readonly production: boolean;
  /** The engines that plugins contribute now; none where absent. */
  readonly engines?: () => readonly OfferedSandboxEngine[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: SandboxMetrics;
}

/**
 * The sandbox that the deployment asked for. Only the engine that was chosen is loaded. With no mode every execution
 * throws `sandbox.disabled`: code never runs without an engine around it.
 *
 * @throws ConfigurationError that names the variable, where the mode is not allowed here
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox & AsyncDisposable> {
  const { settings, production, clock, metrics } = options;
  const problems = sandboxProblems(settings, production);
  if (problems.length > 0) throw new ConfigurationError(problems);
  if (settings.mode === undefined) return disabledSandbox();
  return createSandboxRunner({
    mode: settings.mode,
    engine: await openEngine(settings.mode, options),
    maxConcurrent: settings.max_concurrent,
    maxWaiting: settings.max_waiting,
    startTimeoutMs: settings.start_timeout,
    clock,
    metrics,
  });
}

async function openEngine(
  mode: NonNullable<Sandbox['mode']>,
  { settings, engines = () => [], clock, ids, log }: SandboxOptions,
): Promise<SandboxEngine> {
  if (mode === 'local') {
    const { openLocalEngine } = await import('./local-engine.ts');
    return openLocalEngine({ memoryBytes: settings.memory, log });
  }
  if (isOfferName(mode)) {
    const { openProvidedEngine } = await import('./provided-engine.ts');
    const { allow_network: allowNetwork, memory: memoryBytes } = settings;
    return openProvidedEngine({ name: mode, engines, allowNetwork, memoryBytes, log });
  }
  const common = {
    images: {
      python: settings.python_image,
      javascript: settings.javascript_image,
      shell: settings.shell_image,
    },
    allowNetwork: settings.allow_network,
    memoryBytes: settings.memory,
    startTimeoutMs: settings.start_timeout,
    clock,
    ids,
    log,
  };
  if (mode === 'docker') {
    const { openDockerEngine } = await import('./docker-engine.ts');
    return openDockerEngine({ ...common, host: settings.docker_host });
  }
  const { openKubernetesEngine } = await import('./kubernetes-engine.ts');
  return openKubernetesEngine({ ...common, namespace: settings.namespace });
}
