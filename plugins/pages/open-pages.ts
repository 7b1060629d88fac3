import type { Route, Scope } from 'agent-gateway';
import { pageRoutes } from './routes/pages.ts';
import { openFolder } from './services/folder.ts';
import { createRepresentations } from './services/representations.ts';

/**
 * The routes of the pages in a folder. @throws ConfigurationError, which stops the start, where there is no such folder
 */
export async function openPages(path: string, { services, log }: Scope): Promise<readonly Route[]> {
  const { clock } = services;
  const folder = await openFolder({ path, clock, log });
  return pageRoutes(createRepresentations({ folder, clock, log }));
}
