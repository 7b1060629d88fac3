import Type, { type Static } from 'typebox';
import type { SkillSummary } from '../../../records/contract.ts';

/** A skill as lists show it (specification 1, Skill summary). */
export const SkillSchema = Type.Object({
  name: Type.String(),
  description: Type.String(),
  version: Type.String(),
  source: Type.Enum(['builtin', 'user']),
  user_modified: Type.Boolean({ description: 'True after an upload: synchronization leaves it alone' }),
});

/** The skills of a tenant, all of them. */
export const SkillList = Type.Object({
  tenant_id: Type.String(),
  skills: Type.Array(SkillSchema),
  total: Type.Integer(),
});

/** The `{name}` of a path; what is no name is told as `skill.invalid-name`. */
export const SkillParams = Type.Object({ name: Type.String() });

/** What an upload is answered with. */
export const Uploaded = Type.Object({ status: Type.Enum(['uploaded']), skill: Type.String() });

/** A skill on the wire. */
export function toSkill({ userModified, ...rest }: SkillSummary): Static<typeof SkillSchema> {
  return { ...rest, user_modified: userModified };
}
