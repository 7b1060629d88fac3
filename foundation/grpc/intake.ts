import type { Socket } from 'node:net';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { AddressedRequest } from '../http/source-address.ts';
import { injectorOf } from './grpc-js-seams.ts';
import { logRefusedClients, type Tls } from './tls.ts';

/**
 * Calls that a client may cancel on one connection: at once, and in each second after that. One that cancels more is
 * disconnected. Node would take 1,000 at once, which occupy the process before anybody else is served.
 */
const RESETS = { streamResetBurst: 256, streamResetRate: 100 };
/**
 * No bound in effect. Some proxies bring the calls of all their clients on one connection: one of these that cancels
 * without end would end the calls of the others with its own.
 */
const RESETS_OF_PROXY = { streamResetBurst: 1e9, streamResetRate: 1e9 };

/** What of the chain's services decides how a connection is served, and hears of those that are refused. */
type Services = Parameters<typeof logRefusedClients>[1] & {
  isTrustedProxy(socket: AddressedRequest['socket']): boolean;
};

/**
 * Lets a server serve connections that were accepted elsewhere, with the returned function.
 *
 * @param tls without it they are not encrypted
 */
export function openIntake(
  server: Server,
  services: Services,
  tls: Tls | undefined,
): (socket: Socket) => void {
  const credentials = tls?.credentials ?? ServerCredentials.createInsecure();
  const ofProxies = injectorOf(server, credentials, RESETS_OF_PROXY);
  const ofClients = injectorOf(server, credentials, RESETS);
  if (tls !== undefined) logRefusedClients(server, services);
  return (socket) => {
    const intake = services.isTrustedProxy(socket) ? ofProxies : ofClients;
    intake.injectConnection(socket);
  };
}
