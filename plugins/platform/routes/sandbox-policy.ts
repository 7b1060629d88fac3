import { access, type Route, reply, route } from 'agent-gateway';
import type { SandboxPolicyAdministration } from '../services/sandbox-policy-administration.ts';
import { IdParams } from './schemas/common.ts';
import {
  ReplaceSandboxPolicy,
  SandboxPolicyView,
  toSandboxPolicy,
  toSandboxPolicyView,
} from './schemas/sandbox-policy.ts';

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
