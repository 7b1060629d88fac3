import { randomUUID } from 'node:crypto';
import type { AllPlugins } from './all-plugins.ts';
import type { Input } from './inputs.ts';
import type { Step } from './step.ts';

const APPS = '/admin/v1/channel-apps';
const params = { platform: 'feishu' };
const none = () => ({});
const app = ({ app: id = '' }) => ({ params: { id } });

/** One success of each operation of channels. */
export function channelSuccesses({ request, messenger, url }: AllPlugins): readonly Step[] {
  function newApp(): Input {
    messenger.appKey = `cli_${randomUUID()}`;
    return { body: { platform: 'feishu', app_key: messenger.appKey, app_secret_ref: 'env:FEISHU_SECRET' } };
  }
  async function start({ app: id = '' }): Promise<Input & { readonly query: Record<string, string> }> {
    const { body } = await request(`${APPS}/${id}/links`, { method: 'POST' });
    return { params, query: { app_key: messenger.appKey, challenge: body.challenge, return_to: '/chat' } };
  }
  /** A browser that comes back from the messenger. */
  async function callback(known: Record<string, string>): Promise<Input> {
    const { query } = await start(known);
    const began = await open(`${url}/auth/channel/feishu/start?${new URLSearchParams(query)}`);
    const back = new URL((await open(began.headers.get('location')!)).headers.get('location')!);
    const [cookie = ''] = began.headers.getSetCookie();
    return {
      params,
      query: Object.fromEntries(back.searchParams),
      headers: { cookie: cookie.split(';')[0]! },
    };
  }
  return [
    ['POST /admin/v1/channel-apps', newApp, (known, { id }) => Object.assign(known, { app: id })],
    ['GET /admin/v1/channel-apps', none],
    [
      'PATCH /admin/v1/channel-apps/{id}',
      (known) => ({ ...app(known), body: { webhook_secret_ref: 'env:A' } }),
    ],
    ['POST /admin/v1/channel-apps/{id}/links', app],
    ['GET /auth/channel/{platform}/start', start],
    ['GET /auth/channel/{platform}/callback', callback],
    ['POST /auth/logout', none],
    [
      'GET /admin/v1/channel-bindings',
      none,
      (known, { channel_bindings: [binding] }) => Object.assign(known, { binding: binding.id }),
    ],
    ['DELETE /admin/v1/channel-bindings/{id}', ({ binding: id = '' }) => ({ params: { id } })],
    ['DELETE /admin/v1/channel-apps/{id}', app],
  ];
}

const open = (address: string) => fetch(address, { redirect: 'manual' });
