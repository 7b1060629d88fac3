import type { ExecutionContext } from 'ava';
import pino from 'pino';
import { createManifests } from '../../../../../plugins/records/services/skills/manifests.ts';
import {
  createCatalog,
  type SkillCatalog,
} from '../../../../../plugins/records/services/skills/skill-text.ts';
import { createSkills, createSouls } from '../../../../../plugins/records/services/skills/skills.ts';
import { type FakeServices, fakeServices } from '../../../../../testing/index.ts';

export const TENANT = '01900000-0000-7000-8000-000000000001';
export const OTHER = '01900000-0000-7000-8000-000000000002';

/** A SKILL.md. */
export function skillText(name: string, body = 'Do it.', version = '1.0.0'): string {
  return `---\nname: ${name}\ndescription: About ${name}\nversion: ${version}\n---\n\n# ${name}\n\n${body}\n`;
}

/** A catalog of skills with these names; another body is another catalog. */
export function catalogOf(names: readonly string[], body?: string, version?: string): SkillCatalog {
  return createCatalog(
    new Map(names.map((name) => [name, skillText(name, body, version)])),
    '# Default soul\n',
  );
}

/**
 * Skills of one replica over object storage that others may share. No skill comes with the gateway, unless a catalog is
 * given.
 */
export function openSkills(
  t: ExecutionContext,
  given: Partial<Pick<FakeServices, 'objects' | 'leases' | 'events' | 'clock'>> = {},
  catalog: SkillCatalog = catalogOf([]),
) {
  const services = fakeServices(given);
  t.teardown(() => services[Symbol.asyncDispose]());
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const manifests = createManifests({ ...services, catalog, log });
  return {
    services,
    manifests,
    logged,
    log,
    catalog,
    skills: createSkills({ ...services, manifests, catalog, log }),
    souls: createSouls(services),
  };
}
