import { access, KernelErrors, type Route, reply, route } from 'agent-gateway';
import type { HubGene } from '../rules/hub-gene.ts';
import { INBOX } from '../services/membership.ts';
import { EnvelopeHeaders, type Gate, HUB_LIMIT, signerOf } from './callers.ts';
import * as schemas from './schemas.ts';

const signed = {
  access: access.authenticated(),
  rawBody: true,
  bodyLimit: 256 * 1024,
  rateLimit: HUB_LIMIT,
} as const;
const tag = 'hub-events';

/** @throws request.invalid */
function requireGene(gene: HubGene | undefined): HubGene {
  if (gene !== undefined) return gene;
  const errors = [{ pointer: '/body/gene', message: 'must be a gene of 16 KiB at most' }];
  throw KernelErrors.invalidRequest(undefined, { errors });
}

/** What nodes report to the hub, and what hubs deliver to this gateway as a node. */
export function eventRoutes(gate: Gate): readonly Route[] {
  const { load } = gate;
  return [
    route({
      ...signed,
      method: 'POST',
      path: '/api/v1/events',
      tag,
      summary: 'Report that a gene was promoted or revoked; signed by its node',
      schema: {
        headers: EnvelopeHeaders,
        body: schemas.ReportEvent,
        responses: { 202: schemas.AcceptedEvent },
      },
      handle: async (call) => {
        const nodeId = await signerOf('node', 'POST', call, gate);
        const { nodes, events } = await load();
        await nodes.requireUncontested(nodeId);
        const { type, event_id: key } = call.body;
        const gene = requireGene(events.read(call.body.gene, nodeId));
        return reply.json(202, await events.accept(nodeId, { type, gene, key }));
      },
    }),
    route({
      ...signed,
      method: 'POST',
      path: INBOX,
      tag,
      summary: 'Take what a hub delivers to this gateway as its node; signed by the hub',
      schema: {
        headers: EnvelopeHeaders,
        body: schemas.DeliveredEvent,
        responses: { 202: schemas.AcceptedEvent },
      },
      handle: async (call) => {
        const hubId = await signerOf('hub', 'POST', call, gate);
        const { type, id: key, still_promoted } = call.body;
        const { events } = await load();
        const gene = requireGene(events.read(call.body.gene, hubId));
        return reply.json(
          202,
          await events.acceptOwn(hubId, { type, gene, key, stillPromoted: still_promoted }),
        );
      },
    }),
  ];
}
