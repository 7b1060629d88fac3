import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  type BodyAuthenticator,
  type Clock,
  defineKind,
  isSecretReference,
  type ResourceView,
  type Secrets,
} from 'agent-gateway';
import Type, { type Static } from 'typebox';

/** How far the clock of a sender may be off. Inside of it the message's id tells a repetition. */
const REPLAY_WINDOW_MS = 5 * 60_000;

/** Where hooks are; nowhere else is their signature a credential. */
const PREFIX = '/hooks/teams/';

const HookSpec = Type.Object({
  tenant_id: Type.String({ format: 'uuid' }),
  secret: Type.String({ description: 'Where the shared secret is: `env:NAME` or `file:PATH`' }),
  callback_url: Type.String({ pattern: '^https?://', patternErrorMessage: 'is no http address' }),
  agent: Type.Optional(Type.String()),
});

/** A hook of agents.d: who may send, for which tenant, and where answers go. */
export type Hook = Static<typeof HookSpec>;

/** `kind: TeamsHook`. */
export const hookKind = defineKind({
  kind: 'TeamsHook',
  summary: 'A webhook of Teams, and the agent that answers',
  spec: HookSpec,
  check: ({ spec }) =>
    isSecretReference(spec.secret)
      ? []
      : [{ pointer: '/spec/secret', message: 'is no reference: write env:NAME or file:PATH' }],
  build: ({ spec }): Hook => spec,
});

/** The credential of a hook: `X-Teams-Signature` is the HMAC-SHA256 of `<X-Teams-Timestamp>.<body>` in hex. */
export function hookAuthenticator(
  hooks: ResourceView<Hook>,
  secrets: Secrets,
  clock: Clock,
): BodyAuthenticator {
  return {
    name: 'teams_hook',
    needsBody: true,
    places: [{ in: 'header', name: 'x-teams-signature' }],
    async authenticate({ header, path, body }) {
      if (!path.startsWith(PREFIX)) return undefined;
      const name = path.slice(PREFIX.length);
      const hook = hooks.get(name);
      if (hook === undefined) return { failure: 'unknown' };
      const timestamp = header('x-teams-timestamp') ?? '';
      const right = createHmac('sha256', await secrets.resolve(hook.secret, 'operator'))
        .update(`${timestamp}.`)
        .update(body)
        .digest();
      const given = Buffer.from(header('x-teams-signature') ?? '', 'hex');
      if (given.length !== right.length || !timingSafeEqual(given, right)) return { failure: 'invalid' };
      // NaN, of a timestamp that is none, is outside as well.
      if (!(Math.abs(clock.now() - Number(timestamp) * 1000) <= REPLAY_WINDOW_MS))
        return { failure: 'expired' };
      const identity = {
        id: `teams-bot.${name}`,
        tenantId: hook.tenant_id,
        roles: [],
        scopes: new Set<string>(),
      };
      return { identity: { ...identity, method: 'teams_hook' } };
    },
  };
}
