import { access, type Route, reply, route, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { DEFAULT_SANDBOX_POLICY as DEFAULT, type SandboxPolicy } from '../../agent-engine/contract.ts';
import type {
  PolicyInForce,
  SandboxPolicyAdministration,
} from '../services/sandbox-policy-administration.ts';
import { IdParams, nullable } from './common.ts';

const ToolName = Type.String({
  pattern: '^[a-zA-Z0-9_-]{1,64}$',
  patternErrorMessage: 'must have 1 to 64 of the characters A-Z a-z 0-9 _ -',
  description: 'The name of a tool',
});

const Policy = {
  enabled: Type.Boolean({ default: DEFAULT.enabled, description: 'False: no code runs' }),
  max_timeout_seconds: Type.Integer({ minimum: 1, maximum: 3600, default: DEFAULT.maxTimeoutSeconds }),
  allowed_tools: nullable(
    Type.Array(ToolName, {
      maxItems: 500,
      uniqueItems: true,
      default: null,
      description: 'The tools of every kind that are offered; null: all',
    }),
  ),
  allow_docker: Type.Boolean({ default: DEFAULT.allowDocker }),
  restrict_network: Type.Boolean({
    default: DEFAULT.restrictNetwork,
    description: 'True: code has no network',
  }),
  max_output_kb: Type.Integer({
    minimum: 1,
    maximum: 10_240,
    default: DEFAULT.maxOutputKb,
    description: 'Of stdout, and of stderr',
  }),
};

/** The body that gives a tenant a policy of its own: what is absent is as in the default policy. */
const ReplaceSandboxPolicy = Type.Partial(Type.Object(Policy));

/** A tenant's policy as clients see it (decisions 1.8). */
const SandboxPolicyView = Type.Object({
  tenant_id: Type.String(),
  sandbox_policy: Type.Object(Policy),
  using_default: Type.Boolean({ description: 'True where the tenant has no policy of its own' }),
});

/** The policy in a body. */
function toSandboxPolicy(body: Static<typeof ReplaceSandboxPolicy>): SandboxPolicy {
  return {
    enabled: body.enabled ?? DEFAULT.enabled,
    maxTimeoutSeconds: body.max_timeout_seconds ?? DEFAULT.maxTimeoutSeconds,
    allowedTools: body.allowed_tools ?? DEFAULT.allowedTools,
    allowDocker: body.allow_docker ?? DEFAULT.allowDocker,
    restrictNetwork: body.restrict_network ?? DEFAULT.restrictNetwork,
    maxOutputKb: body.max_output_kb ?? DEFAULT.maxOutputKb,
  };
}

/** A tenant's policy on the wire. */
function toSandboxPolicyView(
  tenantId: string,
  { policy, isDefault }: PolicyInForce,
): Static<typeof SandboxPolicyView> {
  return {
    tenant_id: tenantId,
    sandbox_policy: {
      enabled: policy.enabled,
      max_timeout_seconds: policy.maxTimeoutSeconds,
      allowed_tools: policy.allowedTools === null ? null : [...policy.allowedTools],
      allow_docker: policy.allowDocker,
      restrict_network: policy.restrictNetwork,
      max_output_kb: policy.maxOutputKb,
    },
    using_default: isDefault,
  };
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
      summary: 'Give a tenant a sandbox policy of its own; what is absent is as in the default policy',
      schema: { params: IdParams, body: ReplaceSandboxPolicy, responses: { 200: SandboxPolicyView } },
      handle: async ({ identity, params, body }) =>
        toSandboxPolicyView(params.id, await policies.replace(identity, params.id, toSandboxPolicy(body))),
    }),
    route({
      ...common,
      method: 'DELETE',
      summary: 'Take the tenant back to the default sandbox policy',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async ({ identity, params }) => {
        await policies.remove(identity, params.id);
        return reply.empty();
      },
    }),
  ];
}
