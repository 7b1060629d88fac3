import {
  access,
  hasAnyScope,
  isOperator,
  pageOf,
  pageQuery,
  type Route,
  refusing,
  reply,
  requireSound,
  route,
} from 'agent-gateway';
import { HEARTBEAT_S, type NodeStatus, TTL_S } from '../rules/registration.ts';
import { HubErrors } from '../services/errors.ts';
import type { NodeRow } from '../store/tables.ts';
import {
  EnvelopeHeaders,
  findOwner,
  type Gate,
  HUB_LIMIT,
  operable,
  ownerOf,
  readable,
  signedBy,
  signerOf,
  writable,
} from './callers.ts';
import * as schemas from './schemas.ts';

const NODES = '/api/v1/nodes';
const tag = 'hub-nodes';
/** For routes on which the body counts only as a part of what is signed. */
const signed = {
  access: access.authenticated(),
  tag,
  rateLimit: HUB_LIMIT,
  bodyType: 'raw',
  bodyOptional: true,
  bodyLimit: 64 * 1024,
} as const;

const toRegistered = (node_id: string) => ({
  node_id,
  heartbeat_interval_seconds: HEARTBEAT_S,
  ttl_seconds: TTL_S,
});

function toNode(node: NodeRow, status: NodeStatus, caller: string | undefined) {
  const { publicKey, endpoint, rivalKey, rivalEndpoint } = node;
  const keys = [
    { public_key: publicKey, endpoint },
    { public_key: rivalKey, endpoint: rivalEndpoint },
  ];
  return {
    node_id: node.id,
    endpoint,
    public_key: publicKey,
    capabilities: node.capabilities,
    status,
    is_own: caller !== undefined && node.owner === caller,
    ...(rivalKey === null ? {} : { conflict: { keys } }),
    registered_at: node.registeredAt.toISOString(),
    last_seen_at: node.lastSeenAt.toISOString(),
  };
}

/** The registry of nodes (specification 3, Experience hub; decisions 3.6). */
export function nodeRoutes(gate: Gate): readonly Route[] {
  const nodes = async () => (await gate.load()).nodes;
  return [
    route({
      ...writable,
      method: 'POST',
      path: NODES,
      tag,
      rateLimit: HUB_LIMIT,
      rawBody: true,
      summary: 'Register a node, or see it again',
      description:
        'The first registration of an id is 201, the same key again 200. A node that has moved signs its registration with its key.',
      schema: {
        headers: EnvelopeHeaders,
        body: schemas.RegisterNode,
        responses: { 201: schemas.Registered, 200: schemas.Registered },
      },
      failures: ['upstream', 'timeout'],
      refuse: refusing(schemas.nodeProblems),
      handle: async (call) => {
        const owner = ownerOf(call, gate);
        const { node_id: id, public_key: publicKey, capabilities = [] } = call.body;
        requireSound(schemas.nodeProblems(call.body));
        const endpoint = schemas.storedBase(call.body.endpoint);
        const { envelopes } = await gate.load();
        const { request, header } = signedBy('POST', call);
        const prove = () => envelopes.holdsUnder(publicKey, id, request, header);
        const hasSignature = header('x-svc-signature') !== undefined;
        const claim = { id, endpoint, publicKey, capabilities };
        const outcome = await (await nodes()).register(claim, { owner, hasSignature, prove });
        call.audit({ changes: { node_id: id, registration: outcome } });
        return reply.json(outcome === 'new' ? 201 : 200, toRegistered(id));
      },
    }),
    route({
      ...readable,
      method: 'GET',
      path: NODES,
      tag,
      rateLimit: HUB_LIMIT,
      summary: 'List the nodes, those seen last first',
      schema: { query: pageQuery({ defaultLimit: 100 }), responses: { 200: schemas.Nodes } },
      handle: async (call) => {
        const page = pageOf(call.query);
        const registry = await nodes();
        const [rows, total] = await registry.list(page);
        const owner = findOwner(call, gate);
        return { nodes: rows.map((node) => toNode(node, registry.status(node), owner)), total, ...page };
      },
    }),
    route({
      ...signed,
      method: 'PUT',
      path: `${NODES}/{id}/heartbeat`,
      summary: 'Say that a node lives; signed by it',
      schema: {
        headers: EnvelopeHeaders,
        params: schemas.NodeParams,
        body: schemas.AnyBody,
        responses: { 200: schemas.Registered },
      },
      failures: ['conflict'],
      handle: async (call) => {
        const { id } = call.params;
        if ((await signerOf('node', 'PUT', call, gate)) !== id) throw HubErrors.foreignNode();
        await (await nodes()).heartbeat(id);
        return toRegistered(id);
      },
    }),
    route({
      ...signed,
      method: 'DELETE',
      path: `${NODES}/{id}`,
      summary: 'Deregister a node; signed by it, or by an operator',
      schema: {
        headers: EnvelopeHeaders,
        params: schemas.NodeParams,
        body: schemas.AnyBody,
        responses: { 204: null },
      },
      failures: ['conflict'],
      handle: async (call) => {
        const { id } = call.params;
        const isOperators = isOperator(call.identity) && hasAnyScope(call.identity.scopes, ['ops:write']);
        const isSigned = call.headers['x-svc-signature'] !== undefined;
        if ((isSigned || !isOperators) && (await signerOf('node', 'DELETE', call, gate)) !== id)
          throw HubErrors.foreignNode();
        await (await nodes()).remove(id, isSigned ? 'node' : 'operator');
        return reply.empty();
      },
    }),
    route({
      ...operable,
      method: 'POST',
      path: `${NODES}/{id}/confirm`,
      tag,
      summary: 'Say which of two keys is the node’s; for operators',
      schema: {
        params: schemas.NodeParams,
        body: schemas.ConfirmNode,
        responses: { 200: schemas.Node },
      },
      handle: async (call) => {
        const { id } = call.params;
        const { public_key: publicKey } = call.body;
        requireSound(schemas.keyProblems(call.body));
        const registry = await nodes();
        const node = await registry.confirm(id, publicKey);
        call.audit({ changes: { node_id: id, public_key: publicKey } });
        return toNode(node, registry.status(node), findOwner(call, gate));
      },
    }),
  ];
}
