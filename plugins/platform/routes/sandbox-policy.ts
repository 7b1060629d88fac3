import { access, fromWire, Id, IdParams, nullable, type Route, route, Type, toWire } from 'agent-gateway';
import type { Static } from 'typebox';
import type { SandboxPolicy } from '../../agent-engine/contract.ts';
import type {
  PolicyInForce,
  SandboxPolicyAdministration,
} from '../services/sandbox-policy-administration.ts';
import { done } from './common.ts';

const ToolName = Type.String({
  pattern: '^[a-zA-Z0-9_-]{1,64}$',
  patternErrorMessage: 'must have 1 to 64 of the characters A-Z a-z 0-9 _ -',
  description: 'The name of a tool',
});

const Policy = {
  enabled: Type.Boolean({ description: 'False: no code runs', examples: [false] }),
  max_timeout_seconds: Type.Integer({ minimum: 1, maximum: 3600, examples: [30] }),
  allowed_tools: nullable(
    Type.Array(ToolName, {
      maxItems: 500,
      uniqueItems: true,
      description: 'The tools of every kind that are offered; null: all',
    }),
  ),
  allow_docker: Type.Boolean(),
  restrict_network: Type.Boolean({ description: 'True: code has no network' }),
  max_output_kb: Type.Integer({
    minimum: 1,
    maximum: 10_240,
    examples: [256],
    description: 'Of stdout, and of stderr',
  }),
};

/**
 * The body that changes a tenant's policy: absent members stay as they are, so that a change permits only what it
 * names. Unknown members are refused for the same reason: one may be a misspelt restriction.
 */
const ChangeSandboxPolicy = Type.Partial(Type.Object(Policy), {
  additionalProperties: false,
  examples: [{ enabled: false }],
});

/** A tenant's policy as clients see it (decisions 1.8). */
const SandboxPolicyView = Type.Object({
  tenant_id: Id,
  sandbox_policy: Type.Object(Policy),
  using_default: Type.Boolean({
    description: 'True where the tenant has no policy of its own',
    examples: [false],
  }),
});

const writePolicy = toWire(Type.Object(Policy));
const readChanges = fromWire(ChangeSandboxPolicy);

/** What a body changes. */
function toChanges(body: Static<typeof ChangeSandboxPolicy>): Partial<SandboxPolicy> {
  return Object.fromEntries(Object.entries(readChanges(body)).filter(([, value]) => value !== undefined));
}

/** A tenant's policy on the wire. */
function toSandboxPolicyView(
  tenantId: string,
  { policy, isDefault }: PolicyInForce,
): Static<typeof SandboxPolicyView> {
  return { tenant_id: tenantId, sandbox_policy: writePolicy(policy), using_default: isDefault };
}

/** Asks for the `read` or `write` of either family, by the method. */
const common = {
  path: '/admin/v1/tenants/{id}/sandbox-policy',
  access: access.governance(['ops:*', 'tenant:*']),
  tag: 'sandbox-policy',
} as const;

/** What a tenant's agents may do (specification 1, Admin governance routes; decisions 1.8). */
export function sandboxPolicyRoutes(policies: SandboxPolicyAdministration): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      summary: 'Read the sandbox policy that is in force for a tenant',
      schema: { params: IdParams, responses: { 200: SandboxPolicyView } },
      handle: async ({ identity, params }) =>
        toSandboxPolicyView(params.id, await policies.get(identity, params.id)),
    }),
    route({
      ...common,
      method: 'POST',
      summary:
        'Change the sandbox policy of a tenant, which gets one of its own; absent fields stay as they are',
      schema: { params: IdParams, body: ChangeSandboxPolicy, responses: { 200: SandboxPolicyView } },
      handle: async (call) => {
        const { identity, params, body } = call;
        const inForce = await policies.change(identity, params.id, toChanges(body));
        const { allowed_tools, ...policy } = writePolicy(inForce.policy);
        call.audit({ changes: { ...policy, allowed_tools: allowed_tools?.join(',') ?? null } });
        return toSandboxPolicyView(params.id, inForce);
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      summary: 'Take the tenant back to the default sandbox policy',
      schema: { params: IdParams, responses: { 204: null } },
      handle: ({ identity, params }) => done(policies.remove(identity, params.id)),
    }),
  ];
}
