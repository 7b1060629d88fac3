import { systemClock } from '../../foundation/base/clock.ts';
import { createIds } from '../../foundation/base/ids.ts';
import { createLogger } from '../../foundation/observability/logger.ts';
import type { SandboxJob, SandboxLanguage } from '../../plugins/agent-engine/contract.ts';
import { openSandbox } from '../../plugins/agent-engine/services/sandbox/open-sandbox.ts';
import type { SandboxSettings } from '../../plugins/agent-engine/services/sandbox/sandbox-config.ts';
import { sandboxMetrics } from '../../plugins/agent-engine/services/sandbox/sandbox-metrics.ts';
import { fakeMetrics } from '../plugins/agent-engine/fake-metrics.ts';

/** What tests set where they say nothing else: no mode. */
export const TEST_SETTINGS: SandboxSettings = {
  mode: undefined,
  allow_local: true,
  allow_network: false,
  max_concurrent: 4,
  max_waiting: 100,
  start_timeout: 60_000,
  memory: 256 * 1024 * 1024,
  python_image: 'python:test',
  javascript_image: 'node:test',
  shell_image: 'shell:test',
  docker_host: undefined,
  namespace: undefined,
};

/** A sandbox with the real engine of its mode. What it logs goes to `lines`. */
export function openTestSandbox(settings: Partial<SandboxSettings>, lines: string[] = []) {
  const { logger } = createLogger({
    level: 'debug',
    destination: { write: (line: string) => void lines.push(line) },
  });
  return openSandbox({
    settings: { ...TEST_SETTINGS, ...settings },
    production: false,
    clock: systemClock,
    ids: createIds(systemClock),
    log: logger,
    metrics: sandboxMetrics(fakeMetrics()),
  });
}

/** A job with what most tests want. */
export function sandboxJob(
  language: SandboxLanguage,
  code: string,
  overrides: Partial<SandboxJob> = {},
): SandboxJob {
  return {
    tenantId: 'acme',
    language,
    code,
    timeoutMs: 20_000,
    maxOutputBytes: 64 * 1024,
    allowNetwork: false,
    signal: new AbortController().signal,
    ...overrides,
  };
}
