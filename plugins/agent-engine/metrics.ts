import type { Scope } from 'agent-gateway';
import type { ModelObserver } from './services/models/observed-model.ts';

/** Measures model calls: how many ended how, how long they took, and what they consumed. */
export function modelMetrics(metric: Scope['metric']): ModelObserver {
  const requests = metric.counter({
    name: 'svc_model_requests_total',
    help: 'Model calls that have ended, by outcome.',
    labels: ['model', 'outcome'],
  });
  const seconds = metric.histogram({
    name: 'svc_model_request_duration_seconds',
    help: 'Duration of model calls, streaming included.',
    labels: ['model'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  });
  const firstBytes = metric.histogram({
    name: 'svc_model_first_chunk_seconds',
    help: 'Time from the call to the first chunk of a stream.',
    labels: ['model'],
  });
  const tokens = metric.counter({
    name: 'svc_model_tokens_total',
    help: 'Tokens as the provider counted them.',
    labels: ['model', 'kind'],
  });
  const fallbacks = metric.counter({
    name: 'svc_model_fallbacks_total',
    help: 'Calls that went on with a fallback, since the model before it failed.',
    labels: ['model', 'fallback'],
  });
  const openCircuits = metric.gauge({
    name: 'svc_model_circuit_open',
    help: '1 while a provider that failed again and again is left alone.',
    labels: ['endpoint'],
  });
  return {
    circuit: (endpoint, isOpen) => openCircuits.set({ endpoint }, isOpen ? 1 : 0),
    fallback: (model, fallback) => fallbacks.inc({ model, fallback }),
    request: (model, outcome, duration) => {
      requests.inc({ model, outcome });
      seconds.observe({ model }, duration);
    },
    firstByte: (model, duration) => firstBytes.observe({ model }, duration),
    tokens: (model, usage) => {
      tokens.inc({ model, kind: 'input' }, usage.prompt_tokens);
      tokens.inc({ model, kind: 'output' }, usage.completion_tokens);
    },
  };
}
