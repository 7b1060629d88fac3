import type { RequestListener } from 'node:http';
import Koa, { type Middleware } from 'koa';
import type { RouteTable } from '../http/route-table.ts';
import { type ChainServices, chain } from './order.ts';
import type { RequestState } from './request-state.ts';

/** Makes the Koa application of one address; `table` gives the routes that are live there now. */
export function createApplication(services: ChainServices): (table: () => RouteTable) => RequestListener {
  return (table) => {
    const application = new Koa<RequestState>();
    for (const stage of chain(table, services)) application.use(stage as Middleware<RequestState>);
    // What the chain did not answer is a broken connection: streams that end early, clients that reset.
    application.on('error', (err: unknown) => services.log.debug({ err }, 'a connection failed'));
    return application.callback();
  };
}
