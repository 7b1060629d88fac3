import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Platform } from '../../plugins/channels/contract.ts';

/** What is sent instead of an answer of the API. `end: false` leaves the answer open. */
export interface WrongAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly end?: false;
}

/** A messenger with one app, as its public documentation describes it, all hosts in one. */
export interface FakeMessenger {
  readonly url: string;
  appKey: string;
  readonly secret: string;
  /** Who confirms logins, by the id that the messenger gives him; undefined: nobody does. */
  user: string | undefined;
  /** Answers the calls of this path of the API; undefined: as the messenger does. */
  instead: ((path: string) => WrongAnswer | undefined) | undefined;
  /** Calls of the API so far: path and query. */
  readonly calls: readonly string[];
  close(): Promise<void>;
}

interface Request {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly bearer: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what a client sends is anything
  readonly body: any;
}

/** A code that was given out, and the app token or the like that was. */
interface Issued {
  readonly code: (user: string) => string;
  /** Who has confirmed; a code works once. */
  redeem(code: unknown): string | undefined;
  readonly token: (of: string) => string;
  owner(token: string | undefined): string | undefined;
}

interface Reply {
  readonly type: string;
  readonly body: object;
}

const json = (body: object): Reply => ({ type: 'application/json; charset=utf-8', body });
/** Weixin says `text/plain`, of errors and of successes. */
const plain = (body: object): Reply => ({ type: 'text/plain', body });

/** The pages on which people log in: which parameter names the app, and what its value has to be. */
const PAGES: Readonly<Record<string, (query: URLSearchParams, appKey: string) => boolean>> = {
  '/open-apis/authen/v1/authorize': (query, appKey) =>
    query.get('client_id') === appKey && query.get('response_type') === 'code',
  '/connect/qrconnect': (query, appKey) =>
    query.get('appid') === appKey && query.get('scope') === 'snsapi_login',
  '/connect/oauth2/authorize': (query, appKey) =>
    query.get('appid') === appKey.split(':')[0] && query.get('scope') === 'snsapi_base',
  '/wwlogin/sso/login': (query, appKey) =>
    query.get('login_type') === 'CorpApp' && `${query.get('appid')}:${query.get('agentid')}` === appKey,
};

type Api = (
  request: Request,
  app: { readonly appKey: string; readonly secret: string },
  issued: Issued,
) => Reply;

const feishu: Readonly<Record<string, Api>> = {
  'POST /open-apis/auth/v3/app_access_token/internal': ({ body }, { appKey, secret }, { token }) =>
    body?.app_id === appKey && body?.app_secret === secret
      ? json({ code: 0, msg: 'ok', app_access_token: token('app'), expire: 7200, tenant_access_token: 't-1' })
      : json({ code: 10014, msg: `app secret invalid: ${body?.app_secret}` }),
  'POST /open-apis/authen/v1/oidc/access_token': ({ body, bearer }, _, { owner, redeem, token }) => {
    if (owner(bearer) !== 'app') return json({ code: 99991664, msg: 'app access token invalid' });
    const user = body?.grant_type === 'authorization_code' ? redeem(body.code) : undefined;
    if (user === undefined) return json({ code: 20003, msg: 'invalid code' });
    const data = { access_token: token(`user ${user}`), token_type: 'Bearer', expires_in: 7199 };
    return json({ code: 0, msg: 'success', data });
  },
  'GET /open-apis/authen/v1/user_info': ({ bearer }, _, { owner }) => {
    const user = owner(bearer);
    if (!user?.startsWith('user ')) return json({ code: 99991668, msg: 'Invalid access token' });
    return json({
      code: 0,
      msg: 'success',
      data: { name: 'Zhang San', open_id: user.slice(5), union_id: 'on_1' },
    });
  },
};

const weixin: Readonly<Record<string, Api>> = {
  'GET /sns/oauth2/access_token': ({ query }, { appKey, secret }, { redeem, token }) => {
    if (query.get('appid') !== appKey) return plain({ errcode: 40013, errmsg: 'invalid appid' });
    if (query.get('secret') !== secret) return plain({ errcode: 40125, errmsg: 'invalid appsecret' });
    const user = query.get('grant_type') === 'authorization_code' ? redeem(query.get('code')) : undefined;
    if (user === undefined) return plain({ errcode: 40029, errmsg: `invalid code, ${query.get('code')}` });
    return plain({
      access_token: token(user),
      expires_in: 7200,
      refresh_token: 'r',
      openid: user,
      scope: 'snsapi_login',
    });
  },
};

const wecom: Readonly<Record<string, Api>> = {
  'GET /cgi-bin/gettoken': ({ query }, { appKey, secret }, { token }) =>
    query.get('corpid') === appKey.split(':')[0] && query.get('corpsecret') === secret
      ? json({ errcode: 0, errmsg: 'ok', access_token: token('corp'), expires_in: 7200 })
      : json({ errcode: 40001, errmsg: 'invalid credential, hint: [1]' }),
  'GET /cgi-bin/auth/getuserinfo': ({ query }, _, { owner, redeem }) => {
    if (owner(query.get('access_token') ?? undefined) !== 'corp')
      return json({ errcode: 40014, errmsg: 'invalid access_token' });
    const user = redeem(query.get('code'));
    if (user === undefined) return json({ errcode: 40029, errmsg: 'invalid code' });
    const who = user.startsWith('guest ')
      ? { openid: user.slice(6) }
      : { userid: user, user_ticket: 'ticket' };
    return json({ errcode: 0, errmsg: 'ok', ...who });
  },
};

const APIS = { feishu, weixin, wecom };
const APP_KEYS = { feishu: 'cli_a5ca35a685b0x26e', weixin: 'wxbdc5610cc59c1631', wecom: 'wwCorpId:1000002' };

/** Starts one on the loopback interface. */
export async function startFakeMessenger(
  platform: Platform,
  { appKey = APP_KEYS[platform] }: { readonly appKey?: string } = {},
): Promise<FakeMessenger> {
  const codes = new Map<string, string>();
  const tokens = new Map<string, string>();
  const issue = (into: Map<string, string>) => (of: string) => {
    const made = randomBytes(16).toString('hex');
    into.set(made, of);
    return made;
  };
  const issued: Issued = {
    code: issue(codes),
    redeem(code) {
      const user = codes.get(String(code));
      codes.delete(String(code));
      return user;
    },
    token: issue(tokens),
    owner: (token) => (token === undefined ? undefined : tokens.get(token)),
  };
  const calls: string[] = [];

  const server = http.createServer(async (message, response) => {
    const url = new URL(message.url ?? '/', 'http://fake');
    const query = url.searchParams;
    const page = PAGES[url.pathname];
    if (page !== undefined) {
      const back = new URL(query.get('redirect_uri') ?? 'http://nowhere.invalid');
      if (!page(query, messenger.appKey))
        return void response.writeHead(400).end('<html>redirect_uri error</html>');
      if (messenger.user !== undefined) back.searchParams.set('code', issued.code(messenger.user));
      back.searchParams.set('state', query.get('state') ?? '');
      return void response.writeHead(302, { location: back.href }).end();
    }
    calls.push(`${url.pathname}${url.search}`);
    const wrong = messenger.instead?.(url.pathname);
    if (wrong !== undefined) {
      response.writeHead(wrong.status ?? 200, wrong.headers);
      response.write(wrong.body ?? '');
      if (wrong.end !== false) response.end();
      return;
    }
    const sent = await text(message);
    const request: Request = {
      path: url.pathname,
      query,
      bearer: /^Bearer (.+)$/.exec(message.headers.authorization ?? '')?.[1],
      body: sent === '' ? undefined : JSON.parse(sent),
    };
    const api = APIS[platform][`${message.method} ${url.pathname}`];
    if (api === undefined) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>');
    const { type, body } = api(request, messenger, issued);
    response.writeHead(200, { 'content-type': type }).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const messenger: FakeMessenger = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    appKey,
    secret: `secret-of-${platform}-0123456789`,
    user: 'ou_anna',
    instead: undefined,
    calls,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return messenger;
}
