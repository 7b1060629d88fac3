import type { Scope } from 'agent-gateway';
import { ExperiencePoint } from '../../agent-engine/contract.ts';
import type { EvolutionSettings } from '../config.ts';
import { GeneDecided, GenesLearned } from '../contract.ts';
import { createDistiller } from './learn/distiller.ts';
import { createEvolutionExperience } from './learn/experience.ts';
import { createPlaybooks } from './learn/playbooks.ts';
import { createTaskWriter } from './learn/task-writer.ts';

/**
 * The longest time, in milliseconds, after which a playbook in use is read again, so that advice is not outdated where
 * the distillation interval is long.
 */
const MAX_REFRESH_MS = 5_000;

/** Starts recording, distilling and advising, for as long as the plugin lives. */
export function startLearning(
  scope: Pick<
    Scope<EvolutionSettings>,
    'services' | 'config' | 'metric' | 'log' | 'contribute' | 'on' | 'defer' | 'drain' | 'every'
  >,
  onServed: (suggestions: number) => void,
): void {
  const { services, config: settings, metric, log } = scope;
  const signals = metric.counter({
    name: 'evolution_signals_total',
    help: 'Signals of runs of agents that learn.',
    labels: ['signal_type'],
  });
  const dropped = metric.counter({
    name: 'evolution_share_dropped_total',
    help: 'Runs that were not recorded, since too many waited.',
  });
  const failed = metric.counter({
    name: 'evolution_share_failed_total',
    help: 'Runs that were not recorded within 5 s, or at all.',
  });
  const writer = createTaskWriter({
    ...services,
    log,
    metrics: { dropped: (tasks) => dropped.inc(tasks), failed: (tasks) => failed.inc(tasks) },
  });
  scope.drain('recording', (signal) => writer.finish(signal));
  scope.defer(() => writer[Symbol.asyncDispose]());

  const playbooks = createPlaybooks(services, Math.min(settings.distill_interval, MAX_REFRESH_MS));
  scope.on(GeneDecided, ({ tenantId }) => playbooks.forget(tenantId));
  scope.on(GenesLearned, ({ tenantId, agent }) => playbooks.forget(tenantId, agent));
  scope.defer(services.events.onMissed(() => playbooks.clear()));
  scope.contribute(
    ExperiencePoint,
    createEvolutionExperience({
      ...services,
      playbooks,
      writer,
      settings,
      metrics: { signal: (signal_type) => signals.inc({ signal_type }), served: onServed },
    }),
  );

  const distiller = createDistiller({ ...services, log, settings });
  scope.every('distillation', settings.distill_interval, (signal) => distiller.run(signal));
}
