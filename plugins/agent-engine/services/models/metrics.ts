import type { PluginMetrics } from 'agent-gateway';

/** What is measured of model calls. Values of the label `model` are of bounded variety. */
export type ModelMetrics = ReturnType<typeof modelMetrics>;

/** Declares the metrics of model calls. */
export function modelMetrics(metric: PluginMetrics) {
  return {
    requests: metric.counter({
      name: 'svc_model_requests_total',
      help: 'Model calls that have ended, by outcome.',
      labels: ['model', 'outcome'],
    }),
    seconds: metric.histogram({
      name: 'svc_model_request_duration_seconds',
      help: 'Duration of model calls, streaming included.',
      labels: ['model'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    }),
    firstChunk: metric.histogram({
      name: 'svc_model_first_chunk_seconds',
      help: 'Time from the call to the first chunk of a stream.',
      labels: ['model'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300],
    }),
    tokens: metric.counter({
      name: 'svc_model_tokens_total',
      help: 'Tokens as the provider counted them.',
      labels: ['model', 'kind'],
    }),
    fallbacks: metric.counter({
      name: 'svc_model_fallbacks_total',
      help: 'Calls that went on with a fallback, since the model before it failed.',
      labels: ['model', 'fallback'],
    }),
    openCircuits: metric.gauge({
      name: 'svc_model_circuit_open',
      help: '1 while a model whose provider failed again and again is left alone.',
      labels: ['endpoint', 'model'],
    }),
  };
}
