import { pageQuery } from 'agent-gateway';
import Type from 'typebox';

const Timestamp = Type.String({ format: 'date-time' });
const Data = Type.Object({}, { additionalProperties: true });

/** Which tasks are asked for. */
export const TaskQuery = Type.Object({
  ...pageQuery({ defaultLimit: 100 }).properties,
  all: Type.Boolean({ default: false, description: 'Those of everybody; for administrators of the tenant' }),
});

/** The `{step_run_id}` of a path. */
export const TaskParams = Type.Object({ step_run_id: Type.String() });

/** The bare list of the specification (specification 2, Endpoints). */
export const TaskList = Type.Array(
  Type.Object({
    step_run_id: Type.String(),
    run_id: Type.String(),
    node_id: Type.String(),
    node_name: Type.String(),
    status: Type.Literal('waiting'),
    created_at: Timestamp,
    definition_id: Type.String(),
    assignee: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    instructions: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    outcomes: Type.Array(Type.String(), { description: 'Those that lead on; empty where any will do' }),
    due_at: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
  }),
);

/** What a person says of a task. */
export const CompleteTask = Type.Object(
  {
    outcome: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: '^[^\\u0000\\p{Cs}]*$',
        patternErrorMessage: 'must not hold the character U+0000, or half of a surrogate pair',
        description: 'Decides which edge is taken',
      }),
    ),
    output: Type.Optional(Object.assign({ ...Data }, { description: 'Becomes the output of the step' })),
    variables: Type.Optional(
      Object.assign({ ...Data }, { description: 'Merged into the variables of the run, member by member' }),
    ),
  },
  { additionalProperties: false },
);
