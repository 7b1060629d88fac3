import type { ExecutionContext } from 'ava';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import type { Platform } from '../../../plugins/channels/contract.ts';
import channels from '../../../plugins/channels/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { type FakeMessenger, startFakeMessenger } from '../../support/fake-messenger.ts';

export const APPS = '/admin/v1/channel-apps';
export const BINDINGS = '/admin/v1/channel-bindings';
export const HASH_SECRET = 'a-secret-of-at-least-32-characters!';
/** What browsers are told; nothing listens there. */
export const PUBLIC_URL = 'https://gateway.example';
export const PLATFORMS: readonly Platform[] = ['feishu', 'weixin', 'wecom'];

/** The variables of a gateway whose people log in at these messengers. */
export function channelEnv(messengers: Partial<Record<Platform, FakeMessenger>>): Record<string, string> {
  const env: Record<string, string> = {
    SVC_CHANNEL_HASH_SECRET: HASH_SECRET,
    SAAS_PUBLIC_URL: PUBLIC_URL,
    SVC_ANON_RATE_LIMIT_RPM: '100000',
    OBJECT_STORE_URL: 'none',
  };
  for (const [name, { url, secret }] of Object.entries(messengers)) {
    env[`SVC_CHANNEL_${name.toUpperCase()}_URL`] = url;
    env[`${name.toUpperCase()}_SECRET`] = secret;
  }
  return env;
}

/** A messenger that ends with the test. */
export async function messengerOf(
  t: ExecutionContext,
  of: Platform,
  options: { readonly appKey?: string } = {},
): Promise<FakeMessenger> {
  const messenger = await startFakeMessenger(of, options);
  t.teardown(messenger.close);
  return messenger;
}

/** A gateway with the core API and channels; it ends with the test. */
export async function startChannels(
  t: ExecutionContext,
  { plugins = [], ...options }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    ...options,
    plugins: [records, agentEngine, platform, channels, ...plugins],
  });
  t.teardown(gateway.stop);
  return gateway;
}

/** An app, as the API shows it. */
export interface App {
  readonly id: string;
  readonly tenant_id: string;
  readonly app_key: string;
  readonly platform: Platform;
}

/** Makes an app of a messenger. */
export async function makeApp(
  gateway: Pick<TestGateway, 'request'>,
  of: Platform,
  { appKey }: Pick<FakeMessenger, 'appKey'>,
  more: object = {},
): Promise<App> {
  const body = { platform: of, app_key: appKey, app_secret_ref: `env:${of.toUpperCase()}_SECRET`, ...more };
  const made = await gateway.request(APPS, { method: 'POST', body });
  if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
  return made.body;
}

/** The path and query of a new link of an app. */
export async function linkOf(
  gateway: Pick<TestGateway, 'request'>,
  { id }: Pick<App, 'id'>,
): Promise<string> {
  const { status, body } = await gateway.request(`${APPS}/${id}/links`, { method: 'POST' });
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.url.slice(PUBLIC_URL.length);
}

/** An answer that a browser got. */
export interface Page {
  readonly status: number;
  readonly headers: Headers;
  /** Where it leads, without the host of the gateway. */
  readonly location: string;
  readonly setCookies: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** A browser: it keeps cookies, and follows nothing by itself. */
export class Browser {
  readonly cookies = new Map<string, string>();

  /** Opens an address of the messenger, or a path of a gateway at `at`. */
  async open(address: string, at = '', init: RequestInit = {}): Promise<Page> {
    const isOwn = address.startsWith('/');
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(isOwn && cookie !== '' && { cookie }), ...init.headers };
    const response = await fetch(isOwn ? `${at}${address}` : address, {
      ...init,
      headers,
      redirect: 'manual',
    });
    const setCookies = response.headers.getSetCookie();
    for (const line of setCookies) this.#keep(line);
    const text = await response.text();
    const location = response.headers.get('location') ?? '';
    return {
      status: response.status,
      headers: response.headers,
      location: location.startsWith(PUBLIC_URL) ? location.slice(PUBLIC_URL.length) : location,
      setCookies,
      body: text && /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
    };
  }

  /** Opens a link, confirms at the messenger, and comes back; each step at the next of these gateways. */
  async logIn(link: string, ...gateways: readonly Pick<TestGateway, 'url'>[]): Promise<Page> {
    const began = await this.open(link, gateways[0]!.url);
    if (began.status !== 302) return began;
    const confirmed = await this.open(began.location);
    return this.open(confirmed.location, (gateways[1] ?? gateways[0]!).url);
  }

  /** The header that comes with what changes something. */
  get csrf(): Record<string, string> {
    return { 'x-svc-csrf': this.cookies.get('svc_csrf') ?? '' };
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const equals = pair.indexOf('=');
    if (/Max-Age=0\b/.test(line)) this.cookies.delete(pair.slice(0, equals));
    else this.cookies.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
}
