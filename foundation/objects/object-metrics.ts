import { Counter, Histogram, type Registry } from 'prom-client';
import { GatewayError } from '../base/gateway-error.ts';

/** What was done. Reading a text is a `get`. */
export type ObjectOperation = 'put' | 'get' | 'head' | 'delete' | 'list' | 'delete_all';

/**
 * How it ended. `missing`: there was no such object; `refused`: the caller's mistake or a condition that did not hold;
 * `unavailable`: the store failed or has no room; `failed`: anything else, such as a body that broke off.
 */
export type ObjectResult = 'ok' | 'missing' | 'refused' | 'unavailable' | 'failed';

/** Told of every operation when it ends; of a `get` when the body begins. */
export type ObserveObjects = (operation: ObjectOperation, result: ObjectResult, seconds: number) => void;

/** Adds `svc_objects_operations_total{operation,result}` and `svc_objects_seconds{operation}` to the registry. */
export function createObjectMetrics(registry: Registry): ObserveObjects {
  const operations = new Counter({
    name: 'svc_objects_operations_total',
    help: 'Operations on object storage by how they ended.',
    labelNames: ['operation', 'result'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'svc_objects_seconds',
    help: 'Duration of operations on object storage; of reading until the content begins.',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  return (operation, result, took) => {
    operations.inc({ operation, result });
    seconds.observe({ operation }, took);
  };
}

/** How an operation ended that threw this. */
export function resultOf(error: unknown): ObjectResult {
  if (!(error instanceof GatewayError)) return 'failed';
  if (error.kind === 'unavailable') return 'unavailable';
  return error.kind === 'internal' || error.kind === 'timeout' ? 'failed' : 'refused';
}
