import path from 'node:path';
import { isOfferName, type OfferName } from '../base/offers.ts';

/** Where objects are kept, as `OBJECT_STORE_URL` says (decisions 0.4). */
export type ObjectStoreUrl =
  | { readonly form: 'none' }
  | {
      readonly form: 'files';
      /** Relative to the working directory unless absolute. */
      readonly folder: string;
      /** Nobody has named the folder: other replicas may have a data folder, and so objects, of their own. */
      readonly isDefault?: boolean;
    }
  | {
      readonly form: 's3';
      readonly bucket: string;
      /** `undefined`: Amazon S3 itself. */
      readonly endpoint: string | undefined;
      /** `undefined`: what the AWS SDK finds (`AWS_REGION`, profiles). */
      readonly region: string | undefined;
      /** The bucket in the path instead of the host name. */
      readonly pathStyle: boolean;
    }
  | {
      readonly form: 'plugin';
      /** `plugin/<plugin>/<name>`. */
      readonly name: OfferName;
    };

/** A setting that was read, or why it cannot be used; the reason repeats no value, which might be a secret. */
export type ParsedObjectStoreUrl = { readonly url: ObjectStoreUrl } | { readonly problem: string };

const FORM = 'write file:/path, s3://bucket?endpoint=https://…&region=…, plugin://plugin/name, or none';
const PLUGIN = /^plugin:\/\/([^/]*\/[^/]*)$/i;
const S3_KEYS = ['endpoint', 'region', 'path_style'];
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION = /^[A-Za-z0-9-]{1,64}$/;

/** Stores that are not Amazon's have no regions, but signatures need one; this is what they take. */
const DEFAULT_REGION_AT_ENDPOINT = 'us-east-1';

/**
 * Reads `OBJECT_STORE_URL`. Unset: files in `objects` below the data folder. `file:relative`, `file:/absolute` or
 * `file:///absolute`; `s3://bucket` with `endpoint` (any S3-compatible store), `region` (default with an endpoint
 * `us-east-1`, else what the AWS SDK finds) and `path_style` (default: true with an endpoint); `plugin://plugin/name`,
 * a store that a plugin brings; `none`. Credentials are not part of it.
 */
export function parseObjectStoreUrl(text: string | undefined, dataDir: string): ParsedObjectStoreUrl {
  if (text === undefined)
    return { url: { form: 'files', folder: path.join(dataDir, 'objects'), isDefault: true } };
  if (text === 'none') return { url: { form: 'none' } };
  if (/^file:/i.test(text)) return fromFileUrl(text.slice('file:'.length));
  if (/^s3:\/\//i.test(text)) return fromS3Url(text);
  if (/^plugin:/i.test(text)) return fromPluginUrl(text);
  return { problem: `is not the URL of an object store, ${FORM}` };
}

function fromFileUrl(rest: string): ParsedObjectStoreUrl {
  if (/[?#]/.test(rest))
    return { problem: 'takes no query and no fragment after file:, escape ? as %3F and # as %23' };
  const written = rest.replace(/^\/\/(?=\/)/, '');
  if (written === '' || written.startsWith('//')) return { problem: 'names no folder, write file:/path' };
  let folder: string;
  try {
    folder = decodeURIComponent(written);
  } catch {
    return { problem: 'holds a % that escapes nothing, write %25' };
  }
  if (folder.includes('\0')) return { problem: 'holds a NUL character' };
  return { url: { form: 'files', folder } };
}

function fromPluginUrl(text: string): ParsedObjectStoreUrl {
  const name = `plugin/${PLUGIN.exec(text)?.[1] ?? ''}`;
  if (isOfferName(name)) return { url: { form: 'plugin', name } };
  return { problem: 'names no store of a plugin, write plugin://plugin/name in lower-case letters' };
}

function fromS3Url(text: string): ParsedObjectStoreUrl {
  const parsed = URL.parse(text);
  if (parsed === null) return { problem: `is not a complete URL, ${FORM}` };
  if (parsed.username !== '' || parsed.password !== '') {
    return { problem: 'holds credentials, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead' };
  }
  if (!BUCKET.test(parsed.hostname) || parsed.port !== '') {
    return {
      problem: 'names no bucket (3 to 63 lower-case letters, digits, dots and hyphens), write s3://bucket',
    };
  }
  if (!['', '/'].includes(parsed.pathname) || parsed.hash !== '') {
    return { problem: 'takes nothing but a query after the bucket' };
  }
  const problem = queryProblem(parsed.searchParams);
  if (problem !== undefined) return { problem };
  const endpoint = parsed.searchParams.get('endpoint') ?? undefined;
  const region = parsed.searchParams.get('region') ?? undefined;
  const pathStyle = parsed.searchParams.get('path_style');
  return {
    url: {
      form: 's3',
      bucket: parsed.hostname,
      endpoint,
      region: region ?? (endpoint === undefined ? undefined : DEFAULT_REGION_AT_ENDPOINT),
      pathStyle: pathStyle === null ? endpoint !== undefined : pathStyle === 'true',
    },
  };
}

function queryProblem(query: URLSearchParams): string | undefined {
  for (const key of query.keys()) {
    if (!S3_KEYS.includes(key)) return `has the unknown key "${key}", known are ${S3_KEYS.join(', ')}`;
    if (query.getAll(key).length > 1) return `has ${key} twice`;
  }
  const { endpoint, region, path_style: pathStyle } = Object.fromEntries(query);
  if (endpoint !== undefined && !isEndpoint(endpoint)) {
    return 'has an endpoint that is no http:// or https:// URL without credentials and query';
  }
  if (region !== undefined && !REGION.test(region)) return 'has a region that is no name of a region';
  if (pathStyle !== undefined && !['true', 'false'].includes(pathStyle)) {
    return 'has a path_style that is neither true nor false';
  }
  return undefined;
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}
