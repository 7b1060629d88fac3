import { parseAddress } from './address.ts';
import { quoteValue } from './decode-field.ts';

/** Where traces go. */
export interface TracingSettings {
  /** `http://host:port` (no TLS) or `https://host:port`. */
  readonly endpoint: string;
  readonly serviceName: string;
}

/**
 * The trace receiver. A scheme decides about TLS; `insecure` does for an endpoint without one
 * (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). Undefined when there is no endpoint.
 */
export function tracingSettings(
  endpoint: string | undefined,
  insecure: boolean,
  serviceName: string,
): TracingSettings | { readonly problem: string } | undefined {
  if (endpoint === undefined) return undefined;
  const hasScheme = /^[a-z]+:\/\//i.test(endpoint);
  const written = hasScheme ? endpoint : `${insecure ? 'http' : 'https'}://${endpoint}`;
  const url = URL.parse(written);
  const isUsable = hasScheme
    ? url?.protocol === 'http:' || url?.protocol === 'https:'
    : parseAddress(endpoint) !== undefined && !endpoint.startsWith(':');
  if (url === null || !isUsable) {
    return { problem: `${quoteValue(endpoint)} is not an endpoint, write host:4317 or http://host:4317` };
  }
  return { endpoint: written, serviceName };
}
