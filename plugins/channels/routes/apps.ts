import {
  access,
  fromWire,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  REFERENCE_FORMS,
  type Route,
  refusing,
  reply,
  requireSound,
  route,
  Timestamp,
  Type,
  type UnreadBody,
} from 'agent-gateway';
import { appProblems } from '../services/app-rules.ts';
import type { Channels } from '../services/open-channels.ts';
import { AppSchema, BindingSchema, PlatformName, toApp, toBinding } from '../services/records.ts';

const reference = (use: string) =>
  Type.Optional(
    Type.Union([Type.String({ maxLength: 1024 }), Type.Null()], {
      description: `${use}: ${REFERENCE_FORMS}; never the secret itself`,
    }),
  );

const References = {
  app_secret_ref: reference('Secret of the app'),
  oauth_secret_ref: reference('Secret to log in with, where it is another one'),
  webhook_secret_ref: reference('Secret of the app’s messages'),
};
const Enabled = Type.Optional(Type.Boolean({ description: 'Whether people can log in' }));

/** Members that are not known are refused: a misspelt reference would be none. */
const closed = { additionalProperties: false };

/** The body that makes an app. */
const NewAppBody = Type.Object(
  {
    platform: PlatformName,
    app_key: Type.String({
      minLength: 1,
      maxLength: 128,
      pattern: '^[!-~]+$',
      patternErrorMessage: 'must be letters, digits and signs of ASCII, without blanks',
      description: 'feishu: App ID; weixin: AppID; wecom: corpid or corpid:agentid',
    }),
    ...References,
    enabled: Enabled,
    tenant_id: Type.Optional(
      Type.String({ maxLength: 100, description: 'Default: your own tenant; others for operators' }),
    ),
  },
  {
    ...closed,
    examples: [{ platform: 'feishu', app_key: 'cli_a1b2c3', app_secret_ref: 'env:FEISHU_SECRET' }],
  },
);

/** The body that changes one. Platform and key stay: bindings are hashed with them. */
const AppChangesBody = Type.Object(
  { ...References, enabled: Enabled },
  { ...closed, examples: [{ enabled: false }] },
);

const OfTenant = Type.Optional(
  Type.String({ maxLength: 100, description: 'For operators: of this tenant alone' }),
);

const AppQuery = Type.Object({ ...pageQuery({ defaultLimit: 50 }).properties, tenant_id: OfTenant });
const BindingQuery = Type.Object({
  ...AppQuery.properties,
  channel_app_id: Type.Optional(Type.String({ maxLength: 100, description: 'Of this app alone' })),
});

const CHALLENGE = '2320387f2de177ff0303136bd06a90727a849d9e51a14b1a58bb34236a0b29f6';

/** A link for one login (decisions 1.10). */
const LinkSchema = Type.Object({
  url: Type.String({
    description: 'To be opened by a browser, once; &return_to=/path may be added',
    examples: [`https://gateway.example/auth/channel/feishu/start?app_key=cli_a1b2c3&challenge=${CHALLENGE}`],
  }),
  challenge: Type.String({ examples: [CHALLENGE] }),
  expires_at: Timestamp,
});

const toNewApp = fromWire(NewAppBody);
const toChanges = fromWire(AppChangesBody);

const newAppProblems = (body: UnreadBody) => appProblems(body, true);
const changeProblems = (body: UnreadBody) => appProblems(body, false);

const PATH = '/admin/v1/channel-apps';
const ONE = `${PATH}/{id}`;
/** Asks for `channel:read` or `channel:write`, by the method. */
const common = { access: access.governance(['channel:*']), tag: 'channels' } as const;

/** Channel apps, and links for logins through them (specification 1, Trusted channel login; decisions 1.10). */
export function appRoutes(channels: () => Promise<Pick<Channels, 'apps' | 'logins'>>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List channel apps: of all tenants for operators, of your own for others',
      schema: { query: AppQuery, responses: { 200: listOf('channel_apps', AppSchema) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query);
        const { apps, total } = await (await channels()).apps.list(identity, query.tenant_id, page);
        return { channel_apps: apps.map(toApp), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      failures: ['not-found'],
      summary: 'Make a channel app; of its secrets references alone',
      schema: { body: NewAppBody, responses: { 201: AppSchema } },
      refuse: refusing(newAppProblems),
      handle: async (call) => {
        requireSound(newAppProblems(call.body));
        const app = await (await channels()).apps.create(call.identity, toNewApp(call.body));
        call.audit({ changes: { channel_app_id: app.id, tenant_id: app.tenantId, enabled: app.enabled } });
        return reply.created(toApp(app));
      },
    }),
    route({
      ...common,
      method: 'PATCH',
      path: ONE,
      summary:
        'Change a channel app; absent fields stay as they are. One that is disabled ends its cookie sessions',
      schema: { params: IdParams, body: AppChangesBody, responses: { 200: AppSchema } },
      refuse: refusing(changeProblems),
      handle: async (call) => {
        requireSound(changeProblems(call.body));
        const app = await (await channels()).apps.update(call.identity, call.params.id, toChanges(call.body));
        const changed = Object.keys(call.body).join(',');
        call.audit({ changes: { channel_app_id: app.id, enabled: app.enabled, changed } });
        return toApp(app);
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: ONE,
      summary: 'Delete a channel app with its bindings, links and cookie sessions',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        const app = await (await channels()).apps.remove(call.identity, call.params.id);
        call.audit({ changes: { channel_app_id: app.id, tenant_id: app.tenantId, deleted: true } });
        return reply.empty();
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: `${ONE}/links`,
      summary: 'Make a link for one login within 10 minutes',
      schema: { params: IdParams, responses: { 201: LinkSchema } },
      handle: async (call) => {
        const { id } = call.params;
        const { url, challenge, expiresAt } = await (await channels()).logins.makeLink(call.identity, id);
        call.audit({ changes: { channel_app_id: id } });
        const link = { url, challenge, expires_at: expiresAt.toISOString() };
        return reply.created(link, { 'cache-control': 'no-store' });
      },
    }),
  ];
}

/** Who is bound to which app (decisions 1.10). */
export function bindingRoutes(channels: () => Promise<Pick<Channels, 'bindings'>>): readonly Route[] {
  const path = '/admin/v1/channel-bindings';
  return [
    route({
      ...common,
      method: 'GET',
      path,
      summary:
        'List channel bindings, revoked ones too: of all tenants for operators, of your own for others',
      schema: { query: BindingQuery, responses: { 200: listOf('channel_bindings', BindingSchema) } },
      handle: async ({ identity, query }) => {
        const page = pageOf(query);
        const filter = { tenantId: query.tenant_id, channelAppId: query.channel_app_id };
        const { bindings, total } = await (await channels()).bindings.list(identity, filter, page);
        return { channel_bindings: bindings.map(toBinding), total, ...page };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${path}/{id}`,
      summary: 'Revoke a channel binding, and end the cookie sessions of its user',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        const binding = await (await channels()).bindings.revoke(call.identity, call.params.id);
        call.audit({
          changes: { channel_binding_id: binding.id, tenant_id: binding.tenantId, revoked: true },
        });
        return reply.empty();
      },
    }),
  ];
}
