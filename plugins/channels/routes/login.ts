import { access, cookieOf, type Route, reply, route, setCookie, Type } from 'agent-gateway';
import { hasCsrf } from '../services/authenticator.ts';
import { CSRF_COOKIE, CSRF_HEADER, loginCookie, SESSION_COOKIE } from '../services/cookies.ts';
import { ChannelErrors } from '../services/errors.ts';
import type { Channels } from '../services/open-channels.ts';
import { hashOf, isSecret, LOGIN_SECONDS, SESSION_SECONDS } from '../services/secrets.ts';

/** A platform; an unsupported one is unknown, not malformed: 404. */
const params = Type.Object({ platform: Type.String({ description: 'feishu, weixin or wecom' }) });

/** Neither the gateway nor a provider makes longer values. */
const Short = Type.String({ maxLength: 1024 });

const StartQuery = Type.Object({
  app_key: Type.String({ minLength: 1, maxLength: 128 }),
  challenge: Type.String({ minLength: 1, maxLength: 1024, description: 'Out of the link' }),
  return_to: Type.Optional(
    Type.String({
      description:
        'A path of this host to which the login leads; anything else is the path of SAAS_PUBLIC_URL',
    }),
  ),
});

const CallbackQuery = Type.Object({
  code: Type.Optional(Short),
  state: Type.String({ minLength: 1, maxLength: 1024 }),
});

const Cookies = { cookie: Type.Optional(Type.String()) };
const CookieHeader = Type.Object(Cookies);
const LogoutHeaders = Type.Object({
  ...Cookies,
  [CSRF_HEADER]: Type.Optional(Type.String({ description: `What the cookie ${CSRF_COOKIE} holds` })),
});

const Redirected = Type.Object({
  location: Type.String(),
  'set-cookie': Type.String(),
  'referrer-policy': Type.String(),
});

/** The URLs of logins hold values for one browser: responses are not cached, and the next page receives no referrer. */
const PRIVATE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

const common = { access: access.public(), tag: 'channels' } as const;

/** The way in through a channel, and out again (specification 1, Trusted channel login; decisions 1.10). */
export function loginRoutes(
  channels: () => Promise<Pick<Channels, 'logins' | 'sessions'>>,
  { cookie_secure: secure }: { readonly cookie_secure: boolean },
): readonly Route[] {
  const gone = (name: string, readable = false) =>
    setCookie({ name, value: '', maxAge: 0, secure, readable });

  /** Ends the session of the cookie that a browser has, if it has one. */
  async function endSession(
    cookies: string | undefined,
    mayEnd: (csrfHash: { csrfHash: string }) => boolean,
  ) {
    const token = cookieOf(cookies, SESSION_COOKIE);
    if (token === undefined || !isSecret(token)) return;
    const { sessions } = await channels();
    const session = await sessions.find(hashOf(token));
    if (session === undefined) return;
    if (!mayEnd(session)) throw ChannelErrors.csrf();
    await sessions.end(hashOf(token), session);
  }

  return [
    route({
      ...common,
      method: 'GET',
      path: '/auth/channel/{platform}/start',
      summary: 'Begin a login with a link, at the provider',
      description:
        'A link works once, and HEAD, by which previews look at it, is 405 and uses nothing up. No tenant is named: the app has one.',
      head: false,
      schema: { params, query: StartQuery, responses: { 302: null }, answerHeaders: Redirected },
      handle: async ({ params: { platform }, query }) => {
        const wanted = { appKey: query.app_key, challenge: query.challenge, returnTo: query.return_to };
        const { location, state, browserSecret } = await (await channels()).logins.begin(platform, wanted);
        const bound = { name: loginCookie(state), value: browserSecret, maxAge: LOGIN_SECONDS, secure };
        return reply.empty(302, { ...PRIVATE, location, 'set-cookie': setCookie(bound) });
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/auth/channel/{platform}/callback',
      failures: ['forbidden', 'upstream', 'timeout'],
      summary: 'Come back from the provider; sets the session cookies',
      description:
        'Needs the cookie of the browser that began. HEAD is 405. `svc_session` cannot be read by scripts; what `svc_csrf` holds belongs into `X-Svc-CSRF` of ' +
        'calls that change something.',
      head: false,
      schema: {
        params,
        query: CallbackQuery,
        headers: CookieHeader,
        responses: { 302: null },
        answerHeaders: Redirected,
      },
      handle: async (call) => {
        const { platform } = call.params;
        const { code, state } = call.query;
        const { cookie } = call.headers;
        const { logins } = await channels();
        const browserSecret = cookieOf(cookie, loginCookie(state));
        const arrival = { code, state, browserSecret, signal: call.signal };
        const login = await logins.end(platform, arrival, (actor) => call.audit({ actor }));
        call.audit({ changes: { channel_binding_id: login.bindingId, platform } });
        // Ends the browser's previous session, so that it cannot be used any more.
        await endSession(cookie, () => true);
        const lasting = { maxAge: SESSION_SECONDS, secure };
        const cookies = [
          setCookie({ name: SESSION_COOKIE, value: login.token, ...lasting }),
          setCookie({ name: CSRF_COOKIE, value: login.csrf, ...lasting, readable: true }),
          gone(loginCookie(state)),
        ];
        return reply.empty(302, { ...PRIVATE, location: login.returnTo, 'set-cookie': cookies });
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/auth/logout',
      failures: ['forbidden'],
      summary: 'End the session of the cookies, and take them away',
      description: 'A live session needs `X-Svc-CSRF`. Without one there is nothing to end.',
      schema: {
        headers: LogoutHeaders,
        responses: { 204: null },
        answerHeaders: Type.Object({ 'set-cookie': Type.String() }),
      },
      handle: async ({ headers }) => {
        await endSession(headers.cookie, (session) => hasCsrf(session, headers[CSRF_HEADER]));
        // A form of another site comes without the cookie, and would take it from the browser nevertheless.
        if (cookieOf(headers.cookie, SESSION_COOKIE) === undefined) return reply.empty();
        const cookies = [gone(SESSION_COOKIE), gone(CSRF_COOKIE, true)];
        return reply.empty(204, { 'set-cookie': cookies });
      },
    }),
  ];
}
