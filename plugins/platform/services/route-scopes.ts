import type { OpenApiDocument } from 'agent-gateway';

/** The scopes that the described routes ask for. Plugins may name scopes of their own, and those can be granted as well. */
export function routeScopes(document: OpenApiDocument): ReadonlySet<string> {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  return new Set(operations.flatMap((operation) => scopesOf(operation)));
}

function scopesOf(operation: unknown): readonly string[] {
  const access = (operation as { 'x-access'?: { scopes?: readonly string[] } })['x-access'];
  return access?.scopes ?? [];
}
